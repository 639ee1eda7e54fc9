/* SPDX-License-Identifier: GPL-2.0-or-later */
/* made_runs: sums of invented runs, for the gate. */
#ifndef UNIT_MADE_RUNS_H
#define UNIT_MADE_RUNS_H

#include "compare/gate.h"

static const uint64_t no_time[2];

static inline uint32_t made_item(struct gate_sums *sums, enum gate_by by, const char *name,
				 const char *module)
{
	struct gate_item like = {.by = by};
	uint32_t item;

	assert_int_equal(strings_add(&sums->strings, name, &like.name), 0);
	assert_int_equal(strings_add(&sums->strings, module, &like.module), 0);
	assert_int_equal(gate_sums_item(sums, &like, &item), 0);
	return item;
}

static inline uint32_t made_function(struct gate_sums *sums, const char *name)
{
	return made_item(sums, GATE_FUNCTION, name, "app");
}

/* A function's samples, self and total, in a run with this total. */
static inline void made_weight(struct gate_sums *sums, uint32_t item, enum stacks_side side,
			       double samples, double run_total)
{
	for (int weight = 0; weight < N_GATE_WEIGHTS; weight++)
		gate_sums_weigh(sums, item, side, weight, samples, samples, run_total);
}

static inline void made_end(struct gate_sums *sums, enum stacks_side side, double total)
{
	gate_sums_end_run(sums, side, total, total, no_time);
}

#endif
