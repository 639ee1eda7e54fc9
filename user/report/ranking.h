/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ranking: the rows of a table, sorted.
 *
 * The self weights of all rows add up to the whole; those of waits to all waiting. A remainder
 * without a row of its own is one called `[no stack]`, for functions and modules, or `[no reason]`.
 * Idle waits, if folded, are the last row, `[idle]`.
 */
#ifndef REPORT_RANKING_H
#define REPORT_RANKING_H

#include "core/leaders.h"
#include "report/report.h"

/* The input of a report: the stacks, with idle waits set aside. */
struct report_source {
	const struct stacks *stacks;
	struct stacks active;	      /* not idle; borrows everything except its entries */
	struct stacks_entry *entries; /* owned; NULL: all stacks are active */
	uint64_t whole, idle;	      /* weights */
	size_t n_distinct;	      /* stacks */
};

/* Errors: -ENOMEM; -EINVAL for a comparison. */
int report_source_init(struct report_source *source, const struct stacks *stacks);
void report_source_done(struct report_source *source);

struct ranking_row {
	const char *name, *module; /* the ranking's or the stacks'; module: "" if unknown */
	enum frame_kind kind;
	uint64_t self, total;
	uint64_t self_running, total_running; /* the part on-CPU; only in PROFILE_WALL */
	const char *reason, *command;	      /* of a wait; else NULL */
};

struct ranking {
	struct strings names;
	struct leaders leaders; /* for waits: owns the rows' text */
	struct ranking_row *rows;
	size_t n_rows;
	bool has_idle; /* the last row is `[idle]` */
	/* The table is worth showing: it has more than one row, threads, or reasons. */
	bool is_telling;
};

/* Errors: -ENOMEM, -E2BIG. */
int ranking_make(const struct report_source *source, enum report_by by, bool by_total,
		 struct ranking *ret);
void ranking_done(struct ranking *ranking);

/* The number of rows that are functions; SIZE_MAX for a ranking that was not made. */
size_t ranking_functions(const struct ranking *ranking);

/* Sums of the rows from @first on, without the idle one. */
struct ranking_rest {
	size_t n;
	uint64_t self;
};
struct ranking_rest ranking_rest(const struct ranking *ranking, size_t first);

/* "user", "kernel", …, for programs. */
extern const char *const ranking_kind_names[N_FRAME_KINDS];

#endif
