/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * facts: what pictures say of a profile, whatever they are drawn with.
 */
#ifndef RENDER_FACTS_H
#define RENDER_FACTS_H

#include "core/tree.h"
#include "render/render.h"

#define PICTURE_TITLE_SIZE 256
/* @text is room for it; it may be elsewhere. */
const char *picture_title(const struct stacks *stacks, const struct picture_options *options,
			  char text[static PICTURE_TITLE_SIZE]);
/* What values are called that are plain numbers, and no samples: by an option, or by their event;
 * else NULL. */
const char *picture_count_name(const struct stacks *stacks, const struct picture_options *options);

/* `12,345 samples`, `12.3 ms`, or what the options make of it; not escaped. */
#define PICTURE_WEIGHT_SIZE 256
void picture_weight(char text[static PICTURE_WEIGHT_SIZE], const struct stacks *stacks,
		    const struct picture_options *options, uint64_t weight);

/*
 * Where, when, how much, and what was left out: a line for each fact, none with a newline. The
 * caller's to free; NULL: no memory.
 */
char *picture_facts(const struct tree *tree, const struct picture_options *options);

#endif
