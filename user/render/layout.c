/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/layout.h"

#include <errno.h>
#include <stdlib.h>

struct walk {
	const struct tree *tree;
	double scale, min_width;
};

static uint32_t next_drawn(const struct walk *walk, uint32_t node)
{
	bool into = true;

	do {
		node = tree_walk(walk->tree, node, into);
		into = false;
	} while (node != TREE_NONE &&
		 (walk->tree->nodes[node].total == 0 ||
		  walk->tree->nodes[node].total * walk->scale < walk->min_width));
	return node;
}

int layout_make(const struct tree *tree, double width, double min_width, struct layout *ret)
{
	uint64_t total = tree->nodes[0].total;
	struct walk walk = {tree, total ? width / total : 0, min_width};
	struct layout layout = {.scale = walk.scale};
	size_t n = 0;

	/* Counted one place to the right; the second pass moves each start to its row's end. */
	layout.rows = calloc((size_t)tree->max_depth + 3, sizeof *layout.rows);
	if (!layout.rows)
		return -ENOMEM;
	for (uint32_t i = 0; i != TREE_NONE; i = next_drawn(&walk, i), n++) {
		size_t depth = tree->nodes[i].depth;

		layout.rows[depth + 2]++;
		if (depth + 1 > layout.n_rows)
			layout.n_rows = depth + 1;
	}
	for (size_t d = 2; d < layout.n_rows + 2; d++)
		layout.rows[d] += layout.rows[d - 1];

	layout.nodes = calloc(n, sizeof *layout.nodes);
	if (!layout.nodes) {
		layout_done(&layout);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i != TREE_NONE; i = next_drawn(&walk, i))
		layout.nodes[layout.rows[tree->nodes[i].depth + 1]++] = i;
	*ret = layout;
	return 0;
}

void layout_done(struct layout *layout)
{
	free(layout->nodes);
	free(layout->rows);
	*layout = (struct layout){0};
}
