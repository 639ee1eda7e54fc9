/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "compare/judgement.h"

const struct gate_item *judgement_function(const struct judgement *judgement, const char *name,
					   bool is_kernel)
{
	struct gate_item like = {.by = GATE_FUNCTION, .is_kernel = is_kernel};
	struct gate_sums *sums = judgement->sums;
	uint32_t found;

	if (!judgement->noise || strings_add(&sums->strings, name, &like.name) < 0 ||
	    !gate_sums_find(sums, &like, &found))
		return NULL;
	return &sums->items[found];
}

const struct gate_item *judgement_frame(const struct judgement *judgement,
					const struct stacks *stacks, uint32_t frame)
{
	const struct stacks_frame *this;

	if (frame >= TREE_ELIDED)
		return NULL;
	this = &stacks->frames[frame];
	if (this->kind >= FRAME_NOTE || this->is_waker)
		return NULL;
	return judgement_function(judgement, stacks_name(stacks, frame),
				  this->kind == FRAME_KERNEL);
}

static struct dispersion dispersion_of(const struct judgement *judgement,
				       const struct gate_item *own,
				       const struct tree_side sides[N_SIDES],
				       enum gate_weight weight)
{
	struct gate_item item = {.by = GATE_FUNCTION};

	if (!judgement->noise)
		return (struct dispersion){.factor = 1};
	for (int side = 0; side < N_SIDES; side++)
		item.sums[side][weight] =
			weight == GATE_SELF
				? (struct gate_sum){.weight = sides[side].self,
						    .variance = sides[side].self_variance}
				: (struct gate_sum){.weight = sides[side].total,
						    .variance = sides[side].total_variance};
	return gate_dispersion(judgement->sums, judgement->noise, &item, own, weight,
			       judgement->options);
}

void judgement_compare(const struct judgement *judgement, const struct stacks *stacks,
		       const struct gate_item *own, const struct tree_side sides[N_SIDES],
		       enum gate_weight weight, struct change *ret)
{
	struct compare_options options = judgement->compare;
	struct dispersion dispersion = dispersion_of(judgement, own, sides, weight);

	options.dispersion = dispersion.factor;
	options.freedom = dispersion.freedom;
	if (weight == GATE_SELF)
		compare_selfs(stacks, &options, sides, ret);
	else
		compare_totals(stacks, &options, sides, ret);
}

void judgement_of_tree(const struct tree *tree, double confidence, struct judgement *ret)
{
	const struct stacks *stacks = tree->stacks;
	struct compare_family family = {};
	struct compare_options *compare = &ret->compare;

	*ret = (struct judgement){
		.compare = {.confidence = confidence > 0 ? confidence : COMPARE_CONFIDENCE,
			    .scale = stacks->scale}};
	compare_read_variances(stacks, compare);
	for (size_t i = 0; i < tree->n_nodes; i++)
		compare_family_add(&family, stacks, compare, tree->nodes[i].sides);
	compare->n_compared = compare_family_size(&family, compare->confidence);
}
