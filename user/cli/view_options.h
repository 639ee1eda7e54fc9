/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * view_options: what to show of a profile and how to draw it. Shared by all commands that make
 * pictures. Options have the names of flamegraph.pl and inferno-flamegraph where possible.
 */
#ifndef CLI_VIEW_OPTIONS_H
#define CLI_VIEW_OPTIONS_H

#include "cli/option_table.h"
#include "core/stacks.h"
#include "render/render.h"

struct view_options {
	struct stacks_options stacks;
	struct picture_options picture;
	bool gathers_idle; /* pictures have waits for work under [idle]; files in their place */
};

#define VIEW_OPTIONS_DEFAULT ((struct view_options){.picture = PICTURE_OPTIONS_DEFAULT})
/* For profiles from files, which have wakers or not. */
#define VIEW_OPTIONS_OF_FILES                                                                      \
	((struct view_options){.picture = PICTURE_OPTIONS_DEFAULT,                                 \
			       .stacks.unfold.waker_depth = UINT32_MAX})

/* How stacks are read: --threads, --no-inline … Recordings have their own. */
struct option_table view_unfold_options(struct view_options *view);
/* Which stacks, and their order: --include, --reverse …; their help is a list, or a line each. */
struct option_table view_stack_options(struct view_options *view, bool listed);
/* How they look: --title, --width … */
struct option_table view_picture_options(struct view_options *view, bool listed);

/* Refuses conflicting options. Errors: -EINVAL. */
int view_options_check(const struct view_options *view, struct failure *failure);

#endif
