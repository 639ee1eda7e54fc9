/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gate_sums: how much each function, each module and the whole weigh in the runs of both sides, and
 * how much that differs from run to run.
 *
 * Runs are not kept. Four sums per item and side give the squared deviations of the runs: Σ (y - T
 * Σy / ΣT)² / T = Σ y²/T - (Σy)² / ΣT. Memory is that of one run and of the names, however many
 * runs there are.
 */
#ifndef COMPARE_GATE_SUMS_H
#define COMPARE_GATE_SUMS_H

#include "core/stacks.h"

enum gate_by { GATE_FUNCTION, GATE_MODULE, GATE_ALL, N_GATE_BY };
enum gate_weight { GATE_SELF, GATE_TOTAL, N_GATE_WEIGHTS };

/* A bit for a set of weights. */
#define GATE_BIT(weight) (1u << (weight))
#define GATE_BOTH	 (GATE_BIT(GATE_SELF) | GATE_BIT(GATE_TOTAL))

/* "function", "module", "total". */
extern const char *const gate_by_names[N_GATE_BY];

/* The module of code whose module is unknown. */
#define GATE_UNKNOWN "[unknown]"

/* One weight of an item in the runs of a side. */
struct gate_sum {
	double weight, variance;
	double squares;		 /* of the runs' weights */
	double squares_by_total; /* each divided by its run's total */
};

struct gate_item {
	enum gate_by by;
	bool is_kernel;	 /* a function of the kernel */
	uint32_t name;	 /* string id; "" for the whole */
	uint32_t module; /* whose code it is, a file's full name; 0: unknown */
	struct gate_sum sums[N_SIDES][N_GATE_WEIGHTS];
};

struct gate_side {
	size_t n_runs;
	size_t n_recordings;		 /* windows back to back belong to one */
	double total, variance, squares; /* of the runs' totals */
	uint64_t end_ns;		 /* of the latest run, since 1970; 0: unknown */
};

struct gate_sums {
	struct strings strings;
	struct gate_item *items; /* the first is the whole */
	size_t n_items, items_capacity;
	struct table index;
	struct gate_side sides[N_SIDES];
	enum profile_mode mode; /* of the runs */
};

/* Errors: -ENOMEM. gate_sums_done() is fine after a failure, and on a zeroed struct. */
int gate_sums_init(struct gate_sums *sums);
void gate_sums_done(struct gate_sums *sums);

/*
 * Adds a run. @run: the stacks of one profile, with separate modules, not finished, no comparison.
 * Functions are distinguished by name, and a kernel function from one outside; a module's code
 * without symbols is one function, `[MODULE]`. Modules are files without folders and without the
 * version after `.so`. Errors: -ENOMEM, -E2BIG.
 */
int gate_sums_add(struct gate_sums *sums, const struct stacks *run, enum stacks_side side);

/*
 * The steps of gate_sums_add(): find or add an item; add its weight in a run; add the run itself.
 * @when: its start, since 1970, and length, or 0.
 */
int gate_sums_item(struct gate_sums *sums, const struct gate_item *like, uint32_t *ret);
bool gate_sums_find(const struct gate_sums *sums, const struct gate_item *like, uint32_t *ret);
void gate_sums_weigh(struct gate_sums *sums, uint32_t item, enum stacks_side side,
		     enum gate_weight weight, double value, double variance, double run_total);
void gate_sums_end_run(struct gate_sums *sums, enum stacks_side side, double total, double variance,
		       const uint64_t when_ns[2]);

static inline const char *gate_name(const struct gate_sums *sums, uint32_t id)
{
	return strings_get(&sums->strings, id);
}

#endif
