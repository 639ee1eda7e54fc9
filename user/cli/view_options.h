/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * view_options: what is shown of a profile and how it is drawn. Shared by all commands that make
 * pictures. Names are those of flamegraph.pl and inferno-flamegraph, where they have one.
 */
#ifndef CLI_VIEW_OPTIONS_H
#define CLI_VIEW_OPTIONS_H

#include "cli/option_table.h"
#include "core/stacks.h"
#include "render/render.h"

struct view_options {
	struct stacks_options stacks;
	struct picture_options picture;
	bool gathers_idle; /* pictures have what waits for work under [idle]; files keep it in place
			    */
};

#define VIEW_OPTIONS_DEFAULT ((struct view_options){.picture = PICTURE_OPTIONS_DEFAULT})
/* Of what is read from files: wakers are in them or not. */
#define VIEW_OPTIONS_OF_FILES                                                                      \
	((struct view_options){.picture = PICTURE_OPTIONS_DEFAULT,                                 \
			       .stacks.unfold.waker_depth = UINT32_MAX})

/* How stacks are read: --threads, --no-inline … A recording has these of its own. */
struct option_table view_unfold_options(struct view_options *view);
/* Which stacks, in what order: --include, --reverse …; their help is a list, or one line each. */
struct option_table view_stack_options(struct view_options *view, bool listed);
/* How they look: --title, --width … */
struct option_table view_picture_options(struct view_options *view, bool listed);

/* Refuses what does not go together, and expressions that are none. Errors: -EINVAL. */
int view_options_check(const struct view_options *view, struct failure *failure);

#endif
