/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * look: the meaning of a picture's colours: the kind of frame, and the part of the picture. Each
 * has a letter, which begins the classes of its frames; svg.js knows them, too.
 */
#ifndef RENDER_LOOK_H
#define RENDER_LOOK_H

#include "core/tree.h"
#include "render/palette.h"

#define LOOK(part, kind) ((part)*N_FRAME_KINDS + (kind))
#define LOOK_ELIDED	 LOOK(N_PALETTE_PARTS, 0) /* in no palette: pale and hatched */
#define N_LOOKS		 (LOOK_ELIDED + 1)

static inline enum palette_part look_part(unsigned int look)
{
	return look / N_FRAME_KINDS;
}

static inline enum frame_kind look_kind(unsigned int look)
{
	return look % N_FRAME_KINDS;
}

/*
 * The look of @node. If both running and waiting are drawn (PROFILE_WALL), the larger part of a
 * frame's time decides.
 */
unsigned int look_of(const struct tree *tree, const struct tree_node *node);

/* 0: no such look. */
char look_letter(unsigned int look);
unsigned int look_of_letter(char letter);

/* The text in the legend of a picture of @mode; NULL: not shown there. */
const char *look_text(unsigned int look, enum profile_mode mode);

#endif
