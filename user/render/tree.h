/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tree: stacks merged from their roots. What flame graphs and folded lines are made of.
 *
 * Nodes lie in one array and are linked by index; node 0 is the root, of which all stacks are
 * below. Frames of one parent with equal name and kind are one node: a table over (parent, name,
 * kind) finds it, so adding costs one look-up per frame, and memory follows the distinct
 * prefixes, not the text of all stacks. What stands behind a separator is a node of its own, too,
 * whatever its name: in a tree merged from the leaves, wakers and who waited may meet.
 */
#ifndef RENDER_TREE_H
#define RENDER_TREE_H

#include "core/profile.h"

#define TREE_NONE UINT32_MAX

struct tree_node {
	uint64_t self, total; /* total: self and everything below */
	uint64_t start;	      /* where it begins, the root being [0, total) */
	uint64_t running;     /* of the total, what threads did not wait */
	uint32_t name;	      /* string id; of the root: 0 */
	uint32_t parent, first_child, next;
	uint32_t depth; /* of the root: 0 */
	uint8_t kind;	/* enum frame_kind */
	bool is_waker;
};

struct tree {
	struct tree_node *nodes;
	size_t n_nodes, nodes_capacity;
	struct table index;
	uint32_t max_depth;
};

/* Errors: -ENOMEM. tree_done() is fine after a failure, and on a zeroed struct. */
int tree_init(struct tree *tree);
void tree_done(struct tree *tree);

/*
 * Adds a stack, root first; @is_running: of a thread that ran. Links and starts are not valid until
 * tree_arrange().
 * Errors: -ENOMEM; -E2BIG past 2^32 - 2 nodes; -EOVERFLOW if the weights' sum passes 64 bits.
 */
int tree_add(struct tree *tree, const struct named_frame *frames, size_t n, uint64_t weight,
	     bool is_running);

/*
 * Links children in the bytewise order of their names (then kinds), and places them: a node's
 * children lie one after the other from its start, its self weight behind them. Errors: -ENOMEM.
 */
int tree_arrange(struct tree *tree, const struct strings *strings);

/* A sample's frames, root first. The visitor may change them; they are gone when it returns. */
struct tree_stack {
	const struct profile_sample *sample;
	struct named_frame *frames;
	size_t n;
	uint64_t weight;
};

typedef int (*tree_visit_fn)(void *data, const struct tree_stack *stack);

/*
 * Calls @visit with every sample of a weight above 0, unfolded; weights are samples on-CPU and
 * nanoseconds otherwise. Stops at the first error and returns it. Errors: -ENOMEM, @visit's.
 */
int tree_visit_stacks(struct profile *profile, const struct unfold_options *unfold,
		      tree_visit_fn visit, void *data);

/*
 * The tree of a whole profile, arranged. @reverse: leaves become roots, but what is folded under
 * `[idle]` stays there. *@ret_tree needs tree_done() only on success. Errors: those of tree_add().
 */
int tree_build(struct profile *profile, const struct unfold_options *unfold, bool reverse,
	       struct tree *ret_tree);

/*
 * The node after @node in depth-first order, TREE_NONE at the end. @into: its children come
 * next; else they are passed over.
 */
uint32_t tree_walk(const struct tree *tree, uint32_t node, bool into);

#endif
