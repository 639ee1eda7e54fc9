/* SPDX-License-Identifier: GPL-2.0-or-later */
/* picture_texts: the texts that all kinds of pictures show about a profile. */
#ifndef RENDER_PICTURE_TEXTS_H
#define RENDER_PICTURE_TEXTS_H

#include "core/tree.h"
#include "render/render.h"

#define PICTURE_TITLE_SIZE 256
/* @text is a buffer for it; the title may be elsewhere. */
const char *picture_title(const struct stacks *stacks, const struct picture_options *options,
			  char text[static PICTURE_TITLE_SIZE]);
/*
 * The name of what plain values count, if they are not samples: from an option, or their event;
 * else NULL.
 */
const char *picture_count_name(const struct stacks *stacks, const struct picture_options *options);

/* `12,345 samples`, `12.3 ms`, or as the options say; not escaped. */
#define PICTURE_WEIGHT_SIZE 256
void picture_weight(char text[static PICTURE_WEIGHT_SIZE], const struct stacks *stacks,
		    const struct picture_options *options, uint64_t weight);

/*
 * Where, when, how much, and what was left out: a line per fact, without newlines inside. The
 * caller frees it; NULL: no memory.
 */
char *picture_facts(const struct tree *tree, const struct picture_options *options);

#endif
