/* SPDX-License-Identifier: GPL-2.0-or-later */
/* made_sides: one item with weights on both sides of a comparison. */
#ifndef UNIT_MADE_SIDES_H
#define UNIT_MADE_SIDES_H

#include "compare/compare.h"

static inline struct stacks samples_of(uint64_t base_total, uint64_t new_total)
{
	return (struct stacks){.is_comparison = true,
			       .totals = {[SIDE_BASE] = base_total, [SIDE_NEW] = new_total}};
}

static inline struct stacks times_of(uint64_t base_total, uint64_t new_total)
{
	struct stacks stacks = samples_of(base_total, new_total);

	stacks.facts[SIDE_BASE].mode = stacks.facts[SIDE_NEW].mode = PROFILE_OFFCPU;
	return stacks;
}

static inline struct change compared(const struct stacks *stacks,
				     const struct compare_options *options, double base,
				     double new_, double base_variance, double new_variance)
{
	const struct tree_side sides[N_SIDES] = {
		[SIDE_BASE] = {.total = base, .total_variance = base_variance},
		[SIDE_NEW] = {.total = new_, .total_variance = new_variance},
	};
	struct change change;

	compare_totals(stacks, options, sides, &change);
	return change;
}

static inline struct change counts(const struct stacks *stacks,
				   const struct compare_options *options, uint64_t base,
				   uint64_t new_)
{
	return compared(stacks, options, base, new_, base, new_);
}

static const struct compare_options shares;
static const struct compare_options absolute = {.scale = SCALE_ABSOLUTE};

#endif
