/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * layout: which nodes of a tree are drawn, row by row.
 *
 * @nodes holds the drawn ones grouped by depth, from left to right within a row; row d is
 * nodes[rows[d] … rows[d + 1]). A node too narrow to see takes all below it along.
 */
#ifndef RENDER_LAYOUT_H
#define RENDER_LAYOUT_H

#include "render/tree.h"

struct layout {
	uint32_t *nodes;
	size_t *rows; /* n_rows + 1 */
	size_t n_rows;
	double scale; /* pixels per unit of weight */
};

/* @tree is arranged; the root, @width pixels wide, is always drawn. Errors: -ENOMEM. */
int layout_make(const struct tree *tree, double width, double min_width, struct layout *ret);
void layout_done(struct layout *layout);

#endif
