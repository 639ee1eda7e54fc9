/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * store_series: totals of a store over time, and what a store has: what `bpfflame query` prints
 * with --series and --list.
 */
#ifndef CMD_STORE_SERIES_H
#define CMD_STORE_SERIES_H

#include <stdio.h>

#include "cli/store_input.h"

enum series_by {
	SERIES_ALL,
	SERIES_COMM,
	SERIES_CGROUP,
	SERIES_UNIT,
	SERIES_CAUSE,
	SERIES_FUNCTION, /* that ran or waited, without what it called */
	N_SERIES_BY,
};

enum series_format { SERIES_TEXT, SERIES_CSV, SERIES_NDJSON };

struct series_options {
	const char *store;
	uint64_t from, to; /* ns since 1970 */
	uint64_t step_ns;  /* 0: some 60 of them */
	enum series_by by;
	enum series_format format;
	size_t limit; /* groups, the heaviest; the others are one. 0: all */
	struct store_filter filter;
	const char *function; /* only stacks with such a one, a regular expression; NULL: all */
	bool with_empty;      /* zeros for steps that were recorded and have nothing of it */
	bool with_marks;      /* what was lost, and where the rate changed; not as CSV */
	bool quiet;
};

/* ns since 1970 */
struct list_range {
	uint64_t from, to;
};

/* Errors: those of store_read(). */
int store_series_print(const struct series_options *options, FILE *stream, struct failure *failure);

/* Files, levels, gaps that lie within @range or reach into it. Errors: of opening the folder. */
int store_list_print(const char *store, const struct list_range *range, enum series_format format,
		     FILE *stream, struct failure *failure);

#endif
