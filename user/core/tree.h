/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tree: stacks merged from their roots, as they are drawn.
 *
 * Nodes are in one array in depth-first order; the root of all comes first. The nodes below node i
 * are those from i + 1 to its end, and walking is counting:
 *
 *	for (i = 0; i < n; i++)		all nodes, parents before children
 *	i = nodes[i].end		past all below i
 *
 * One sweep over sorted stacks builds the tree. When the sweep leaves a node, its total is known
 * and it is the last one of the array. If it is too light to be kept, the array is cut back to
 * where it began, and its weight is added to what its parent has elided. Memory follows the nodes
 * that are kept. A parent that elided something gets one more child, its last one, with the frame
 * TREE_ELIDED: the gap is visible, and widths add up.
 *
 * Children are in the bytewise order of their names, from their parent's start on; the parent's
 * self weight follows them.
 */
#ifndef CORE_TREE_H
#define CORE_TREE_H

#include "core/stacks.h"

#define TREE_NONE   UINT32_MAX
#define TREE_ROOT   UINT32_MAX	     /* the frame of the root */
#define TREE_ELIDED (UINT32_MAX - 1) /* the frame of what its parent elided */

/* What a node weighs on one side. */
struct tree_side {
	uint64_t self, total; /* as counted; total: self and all below */
	double self_variance, total_variance;
};

struct tree_node {
	uint64_t start; /* where it begins; the root is [0, width) */
	uint64_t width; /* as drawn, with everything below */
	uint64_t self_width;
	struct tree_side sides[N_SIDES];
	uint64_t n_elided; /* nodes that TREE_ELIDED replaces */
	uint32_t frame;	   /* a number of the stacks, TREE_ROOT or TREE_ELIDED */
	uint32_t parent;   /* of the root: TREE_NONE */
	uint32_t end;	   /* the first node past those below it */
	uint32_t depth;	   /* of the root: 0 */
};

struct tree {
	const struct stacks *stacks;
	struct tree_node *nodes;
	size_t n_nodes, nodes_capacity;
	uint32_t max_depth;
	uint64_t least_width;  /* of the kept nodes, after both limits */
	uint64_t n_elided;     /* nodes that were left out */
	uint64_t elided_width; /* of the stacks that end in them */
};

struct tree_limits {
	uint64_t least_width; /* elide narrower nodes; 0: none */
	size_t max_nodes;     /* of the tree, with elided ones; 0: any number */
};

/*
 * Builds the tree of @stacks, which must be finished and must stay. If there would be more than
 * @limits->max_nodes, the widest ones are kept. Errors: -ENOMEM; -E2BIG past 2^32 - 3 nodes; *@ret
 * is untouched then.
 */
int tree_build(const struct stacks *stacks, const struct tree_limits *limits, struct tree *ret);
void tree_done(struct tree *tree);

/* "all", "[elided]", or the name of @node's frame. */
const char *tree_name(const struct tree *tree, const struct tree_node *node);
/* The kind of its frame; FRAME_NOTE for the root and elided nodes. */
enum frame_kind tree_kind(const struct tree *tree, const struct tree_node *node);

/* Both sides together, as pictures of one profile show it. */
static inline uint64_t tree_total(const struct tree_node *node)
{
	return node->sides[0].total + node->sides[1].total;
}
static inline uint64_t tree_self(const struct tree_node *node)
{
	return node->sides[0].self + node->sides[1].self;
}

#endif
