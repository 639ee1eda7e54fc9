/* SPDX-License-Identifier: GPL-2.0-or-later */
/* query_options: the words of `bpfflame query`. */
#ifndef CMD_QUERY_OPTIONS_H
#define CMD_QUERY_OPTIONS_H

#include "cli/outputs.h"
#include "cli/view_options.h"
#include "cmd/store_series.h"
#include "report/report.h"

#define QUERY_MOST_ALSO 16

struct query_ranges {
	const char *items[QUERY_MOST_ALSO]; /* FROM..TO */
	size_t n;
};

struct query {
	const char *store, *from, *to, *diff_from, *diff_to;
	struct store_filter filter;
	struct query_ranges also, diff_also; /* diff_also: of the base */
	uint32_t *pids;			     /* owned; the filter points at them */
	struct outputs outputs;
	const char *search;  /* an expression */
	const char *formats; /* -f, as it was given */
	struct view_options view;
	struct report_options report;
	struct series_options series;
	bool wants_series, wants_list, wants_worse, has_range, has_by, has_limit;
	bool json, csv, idle, quiet, help;
};

/*
 * Returns 0, or 1 if help was requested and printed. Errors: -EINVAL, explained.
 * query_options_done() is due in any case; strings are those of @argv.
 */
int query_options_parse(int argc, char **argv, struct query *ret, struct failure *failure);
void query_options_done(struct query *query);

#endif
