/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/query_options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/system.h"
#include "cli/parse.h"

#define DEFAULT_FROM	"-1h"
#define DEFAULT_LIMIT	20
#define DEFAULT_GROUPS	10
#define DEFAULT_PERCENT 1

#define FIELD(field) offsetof(struct query, field)

static int take_pids(const struct option_row *row, void *field, const char *value,
		     struct failure *failure)
{
	struct query *query = field;
	int r = parse_ids(value, &query->pids, &query->filter.n_pids);

	query->filter.pids = query->pids;
	return r == -EINVAL ? option_bad(row, value, "a list of process ids", failure) : r;
}

static int take_state(const struct option_row *row, void *field, const char *value,
		      struct failure *failure)
{
	return store_filter_state(value, field) < 0
		       ? option_bad(row, value, "running, waiting or a cause such as futex, disk",
				    failure)
		       : 0;
}

static int take_group(const struct option_row *row, void *field, const char *value,
		      struct failure *failure)
{
	return ledger_grouping_parse(value, field) < 0
		       ? option_bad(row, value,
				    "comm, unit, cgroup, container, cause, each once, with commas",
				    failure)
		       : 0;
}

static int take_also(const struct option_row *row, void *field, const char *value,
		     struct failure *failure)
{
	struct query_ranges *ranges = field;

	if (!strstr(value, "..") || strpbrk(value, "@,") || ranges->n == QUERY_MOST_ALSO)
		return option_bad(row, value, "FROM..TO, 16 times at most", failure);
	ranges->items[ranges->n++] = value;
	return 0;
}

static int take_by(const struct option_row *row, void *field, const char *value,
		   struct failure *failure)
{
	static const char *const names[N_SERIES_BY] = {"all",  "comm",	"cgroup",
						       "unit", "cause", "function"};
	struct query *query = field;

	for (int i = 0; i < N_SERIES_BY; i++)
		if (strcmp(value, names[i]) == 0) {
			query->series.by = i;
			query->has_by = true;
			return 0;
		}
	return option_bad(row, value, "comm, cgroup, unit, cause, function or all", failure);
}

static int take_step(const struct option_row *row, void *field, const char *value,
		     struct failure *failure)
{
	return parse_time(value, NSEC_PER_SEC, field) < 0 || *(uint64_t *)field < NSEC_PER_SEC
		       ? option_bad(row, value, row->wanted, failure)
		       : 0;
}

static int take_limit(const struct option_row *row, void *field, const char *value,
		      struct failure *failure)
{
	struct query *query = field;
	int r = option_size(row, &query->report.limit, value, failure);

	query->report.group_limit = query->series.limit = query->report.limit;
	query->has_limit = true;
	return r;
}

static int take_formats(const struct option_row *row, void *field, const char *value,
			struct failure *failure)
{
	struct query *query = field;

	query->formats = value;
	return option_formats(row, &query->outputs, value, failure);
}

static const struct option_row rows[] = {
	{0, "store", NULL, "DIR", "where it is (" STORE_DEFAULT ")", "When", option_filled,
	 FIELD(store), .wanted = "a folder"},
	{0, "from", NULL, "TIME", "-1h (default), 14:03, yesterday, '2026-11-17 14:03', …", NULL,
	 option_text, FIELD(from)},
	{0, "to", NULL, "TIME", "the same (now)", NULL, option_text, FIELD(to)},
	{0, "also", NULL, "FROM..TO", "one more range; they add up; repeatable", NULL, take_also,
	 FIELD(also)},
	{0, "diff-from", NULL, "TIME", "compare: the base begins here", NULL, option_text,
	 FIELD(diff_from)},
	{0, "diff-to", NULL, "TIME", "and ends here (as long as the other range)", NULL,
	 option_text, FIELD(diff_to)},
	{0, "diff-also", NULL, "FROM..TO", "one more range of the base; repeatable", NULL,
	 take_also, FIELD(diff_also)},
	{0, "worse", NULL, NULL, "what grew since the same time of the seven days before", NULL,
	 option_set, FIELD(wants_worse)},

	{0, "comm", NULL, "GLOB", "commands of this name", "What", option_filled,
	 FIELD(filter.comm), .wanted = "a name"},
	{'p', "pid", NULL, "LIST", "processes", NULL, take_pids},
	OPTION_CGROUP(FIELD(filter.cgroup)),
	{0, "container", NULL, "ID", "a container, by how its id begins", NULL, option_filled,
	 FIELD(filter.container), .wanted = "the beginning of an id"},
	{0, "unit", NULL, "GLOB", "units of systemd: nginx.service", NULL, option_filled,
	 FIELD(filter.unit), .wanted = "a name"},
	{0, "state", NULL, "STATE", "running, waiting, futex, disk, network, …", NULL, take_state,
	 FIELD(filter.reasons)},
	{0, "function", NULL, "REGEX", "stacks with such a function", NULL, option_expression,
	 FIELD(view.stacks.select.include)},
	{0, "idle", NULL, NULL, "with what only waits for work", NULL, option_set, FIELD(idle)},

	{0, "group", NULL, "LIST", "what stacks begin with: unit,comm; cgroup, container, cause",
	 NULL, take_group, FIELD(filter.grouping)},

	{'o', "output", NULL, "FILE", "svg, html, folded …, by its ending; repeatable", "Output",
	 option_output, FIELD(outputs)},
	{'f', "format", NULL, "LIST", "svg, folded, html …: overrides the ending", NULL,
	 take_formats},
	{0, "mode", NULL, "MODE", "of the files, as in chmod (600)", NULL, option_mode,
	 .wanted = OPTION_MODE_WANTED},
	{0, "title", NULL, "TEXT", "of pictures", NULL, option_text, FIELD(view.picture.title)},
	{0, "limit", NULL, "N", "rows of a table, groups of a series; 0: all", NULL, take_limit, 0,
	 0, 0, "a number"},
	{0, "search", NULL, "REGEX", "functions and processes of such a name", NULL,
	 option_expression, FIELD(search)},
	{0, "series", NULL, NULL, "totals over time", NULL, option_set, FIELD(wants_series)},
	{0, "by", NULL, "WHAT", "of each comm, cgroup, unit, cause or function", NULL, take_by},
	{0, "step", NULL, "TIME", "so long each (some 60 of them)", NULL, take_step,
	 FIELD(series.step_ns), .wanted = "a time of 1s or more such as 5m"},
	{0, "empty", NULL, NULL, "with steps that were recorded and have nothing of it", NULL,
	 option_set, FIELD(series.with_empty)},
	{0, "marks", NULL, NULL, "and what was lost, and where the rate changed", NULL, option_set,
	 FIELD(series.with_marks)},
	{0, "list", NULL, NULL, "what there is: files, levels, gaps", NULL, option_set,
	 FIELD(wants_list)},
	{0, "json", NULL, NULL, "JSON; of --series and --list, an object a line", NULL, option_set,
	 FIELD(json)},
	{0, "csv", NULL, NULL, "CSV, of --series and --list", NULL, option_set, FIELD(csv)},
	{'q', "quiet", NULL, NULL, "does not say what was read", NULL, option_set, FIELD(quiet)},
	OPTION_HELP(FIELD(help)),
};

static void print_help(FILE *stream)
{
	const struct option_table table = {rows, sizeof rows / sizeof *rows, NULL};

	fputs("Usage: bpfflame query [OPTIONS]\n"
	      "Says what bpfflame daemon recorded in a range of time. Without -o: tables. More\n"
	      "options have `bpfflame render|report|diff DIR@FROM..TO`.\n",
	      stream);
	option_tables_print(&table, 1, stream);
}

static int check(const struct query *query, struct failure *failure)
{
	const struct series_options *series = &query->series;
	bool tables = query->wants_series || query->wants_list || query->wants_worse;
	bool outputs = query->outputs.n_paths || query->outputs.n_formats;
	bool shapes_series =
		query->has_by || series->step_ns || series->with_empty || series->with_marks;
	const struct {
		bool applies;
		const char *text;
	} faults[] = {
		{query->wants_series + query->wants_list + query->wants_worse > 1,
		 "--series, --list and --worse exclude each other"},
		{query->also.n && tables,
		 "--also and --series, --list and --worse exclude each other"},
		{query->json && query->csv, "--json and --csv exclude each other"},
		{query->json && outputs && !query->diff_from,
		 "--json and -o, -f exclude each other"},
		{tables && query->diff_from,
		 "--diff-from and --series, --list and --worse exclude each other"},
		{tables && outputs, "-o, -f and --series, --list and --worse exclude each other"},
		{query->search && (tables || outputs || query->diff_from),
		 "--search and -o, -f, --series, --list, --worse and --diff-from exclude each "
		 "other"},
		{query->csv && !query->wants_series && !query->wants_list,
		 "--csv is of --series and --list"},
		{shapes_series && !query->wants_series,
		 "--by, --step, --empty and --marks are of --series"},
		{series->with_marks && query->csv, "--marks and --csv exclude each other"},
		{(query->diff_to || query->diff_also.n) && !query->diff_from,
		 "--diff-to and --diff-also want --diff-from"},
	};

	for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
		if (faults[i].applies)
			return failure_set(failure, -EINVAL, "%s", faults[i].text);
	return view_options_check(&query->view, failure);
}

/* Formats have other names in comparisons, and are looked up while options are read. */
static bool asks_for_diff(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strncmp(argv[i], "--diff", 6) == 0)
			return true;
	return false;
}

int query_options_parse(int argc, char **argv, struct query *ret, struct failure *failure)
{
	struct option_table table = {rows, sizeof rows / sizeof *rows, ret};
	int rest, r;

	*ret = (struct query){
		.store = STORE_DEFAULT,
		.view = VIEW_OPTIONS_OF_FILES,
		.report = {.tree_percent = DEFAULT_PERCENT,
			   .limit = DEFAULT_LIMIT,
			   .group_limit = DEFAULT_GROUPS},
		.series.limit = DEFAULT_LIMIT,
		.outputs.known = asks_for_diff(argc, argv) ? comparison_formats : profile_formats,
	};
	r = option_tables_parse(&table, 1, "query", argc, argv, &rest, failure);
	if (r != 0)
		return r;
	if (ret->help) {
		print_help(stdout);
		return 1;
	}
	if (rest < argc) {
		failure_set(failure, -EINVAL, "'%s' is no option", argv[rest]);
		return failure_fix(failure, -EINVAL, "name the store by --store");
	}
	ret->has_range = ret->from || ret->to;
	if (!ret->from)
		ret->from = DEFAULT_FROM;
	if (!ret->has_limit && ret->json)
		ret->report.limit = ret->report.group_limit = ret->series.limit = 0;
	if (!ret->has_limit && ret->csv)
		ret->series.limit = 0;
	ret->view.stacks.no_idle = !ret->idle;
	return check(ret, failure);
}

void query_options_done(struct query *query)
{
	free(query->pids);
	query->pids = NULL;
}
