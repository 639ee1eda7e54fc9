/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * judgement: how to compare the two sides, decided once for all that show them: tables, pictures,
 * the gate. gate.h adds the noise of the runs to each comparison: for a function, and its nodes in
 * a tree, from its own runs where it has any.
 *
 * The number of things compared at once is the number of table rows. A function at one place
 * therefore gets the same verdict in the table and in the picture.
 */
#ifndef COMPARE_JUDGEMENT_H
#define COMPARE_JUDGEMENT_H

#include "compare/gate.h"
#include "core/tree.h"

struct judgement {
	struct compare_options compare;
	/* The runs; NULL: only chance is known. The caller's. */
	struct gate_sums *sums;
	const struct gate *noise;
	const struct gate_options *options;
};

/* Finds a function's item in the runs by its name; NULL: not there, or there are no runs. */
const struct gate_item *judgement_function(const struct judgement *judgement, const char *name,
					   bool is_kernel);
/* The same for a frame of @stacks. */
const struct gate_item *judgement_frame(const struct judgement *judgement,
					const struct stacks *stacks, uint32_t frame);

/* Compares one weight of a thing. @own: the function that it is, or NULL. */
void judgement_compare(const struct judgement *judgement, const struct stacks *stacks,
		       const struct gate_item *own, const struct tree_side sides[N_SIDES],
		       enum gate_weight weight, struct change *ret);

/* Makes one for a picture alone, whose nodes vary by chance only. */
void judgement_of_tree(const struct tree *tree, double confidence, struct judgement *ret);

#endif
