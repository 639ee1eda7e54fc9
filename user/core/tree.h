/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tree: stacks merged from their roots. What is drawn.
 *
 * Nodes lie in one array in depth-first order, the root, of which all stacks are below, first. So
 * the nodes below node i are those from i + 1 to its end, and walking is counting:
 *
 *	for (i = 0; i < n; i++)			all nodes, parents before children
 *	i = nodes[i].end			past all below i
 *
 * It is made in one sweep over sorted stacks. A node's total is known when the sweep leaves it, and
 * then it is the last one of the array: if it is too light to be kept, the array is cut back to
 * where it stood, and what it weighed is added to what its parent has elided. So memory follows
 * what is kept. A parent that elided something has one more child for it, the last one, of the
 * frame TREE_ELIDED: what is left out is seen, and widths add up.
 *
 * Children lie in the bytewise order of their names from their parent's start on, the parent's
 * self weight behind them.
 */
#ifndef CORE_TREE_H
#define CORE_TREE_H

#include "core/stacks.h"

#define TREE_NONE   UINT32_MAX
#define TREE_ROOT   UINT32_MAX	     /* the frame of the root */
#define TREE_ELIDED (UINT32_MAX - 1) /* the frame of what was left out of its parent */

/* What a node weighs on one side. */
struct tree_side {
	uint64_t self, total; /* weights as they were counted; total: self and all below */
	double self_variance, total_variance;
};

struct tree_node {
	uint64_t start; /* where it begins, the root being [0, width) */
	uint64_t width; /* drawn: of itself and everything below */
	uint64_t self_width;
	struct tree_side sides[N_SIDES];
	uint64_t n_elided; /* of TREE_ELIDED: how many nodes it stands for */
	uint32_t frame;	   /* a number of the stacks, TREE_ROOT or TREE_ELIDED */
	uint32_t parent;   /* of the root: TREE_NONE */
	uint32_t end;	   /* the first node behind those below it */
	uint32_t depth;	   /* of the root: 0 */
};

struct tree {
	const struct stacks *stacks;
	struct tree_node *nodes;
	size_t n_nodes, nodes_capacity;
	uint32_t max_depth;
	uint64_t least_width;  /* that was kept, after both limits */
	uint64_t n_elided;     /* nodes that are not there */
	uint64_t elided_width; /* of the stacks' ends they held */
};

struct tree_limits {
	uint64_t least_width; /* what is less wide is elided; 0: nothing is for this reason */
	size_t max_nodes;     /* of the tree, elided ones counted; 0: any number */
};

/*
 * The tree of @stacks, which are finished and must stay. If there would be more than
 * @limits->max_nodes, the widest ones are kept.
 * Errors: -ENOMEM; -E2BIG past 2^32 - 3 nodes. *@ret is untouched then.
 */
int tree_build(const struct stacks *stacks, const struct tree_limits *limits, struct tree *ret);
void tree_done(struct tree *tree);

/* "all", "[elided]", or the name of @node's frame. */
const char *tree_name(const struct tree *tree, const struct tree_node *node);
/* Its kind; of the root and what is elided: FRAME_NOTE. */
enum frame_kind tree_kind(const struct tree *tree, const struct tree_node *node);

/* On both sides together; what pictures of one profile tell of a node. */
static inline uint64_t tree_total(const struct tree_node *node)
{
	return node->sides[0].total + node->sides[1].total;
}
static inline uint64_t tree_self(const struct tree_node *node)
{
	return node->sides[0].self + node->sides[1].self;
}

#endif
