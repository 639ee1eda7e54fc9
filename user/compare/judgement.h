/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * judgement: how the two sides of a comparison are told apart, made once for all that shows them:
 * tables, pictures, the gate. What the runs tell of noise goes into each comparison, by gate.h: a
 * function's own runs where there are any, for its nodes of a tree as well.
 *
 * How many things are looked at together is what the tables' rows come to: a function that is at
 * one place has the same verdict in the table and in the picture.
 */
#ifndef COMPARE_JUDGEMENT_H
#define COMPARE_JUDGEMENT_H

#include "compare/gate.h"
#include "core/tree.h"

struct judgement {
	struct compare_options compare;
	/* What the runs tell; NULL: chance alone is known. The caller's. */
	struct gate_sums *sums;
	const struct gate *noise;
	const struct gate_options *options;
};

/*
 * The item of a function of the runs, by its name: what it weighs there; NULL: there is none, or
 * nobody knows of runs.
 */
const struct gate_item *judgement_function(const struct judgement *judgement, const char *name,
					   bool is_kernel);
/* The same of a frame of @stacks. */
const struct gate_item *judgement_frame(const struct judgement *judgement,
					const struct stacks *stacks, uint32_t frame);

/* Compares one weight of a thing; @own: the function that it is, or NULL. */
void judgement_compare(const struct judgement *judgement, const struct stacks *stacks,
		       const struct gate_item *own, const struct tree_side sides[N_SIDES],
		       enum gate_weight weight, struct change *ret);

/* One for a picture alone: of its nodes, as chance has them. */
void judgement_of_tree(const struct tree *tree, double confidence, struct judgement *ret);

#endif
