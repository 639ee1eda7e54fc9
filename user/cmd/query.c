/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * query: what a store says of a range of time: tables, any picture or file, a comparison of two
 * ranges, totals over time, or what there is.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cmd/cmd.h"
#include "cmd/confine.h"
#include "cmd/diff.h"
#include "cmd/query.h"
#include "cli/inputs.h"
#include "cli/moment.h"
#include "cli/outputs.h"
#include "cli/parse.h"
#include "cmd/store_series.h"
#include "base/system.h"
#include "report/report.h"

#define DEFAULT_FROM	"-1h"
#define DEFAULT_LIMIT	20
#define DEFAULT_GROUPS	10
#define DEFAULT_PERCENT 1
#define MOST_DIFF_WORDS (2 * MAX_OUTPUTS + 32)

struct query {
	const char *store, *from, *to, *diff_from, *diff_to;
	struct store_filter filter;
	uint32_t *pids; /* owned; the filter points at them */
	struct outputs outputs;
	const char *formats; /* -f, as it was given */
	struct view_options view;
	struct report_options report;
	struct series_options series;
	bool wants_series, wants_list, has_by, has_limit;
	bool json, csv, idle, quiet, help;
};

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
	{0, "store", NULL, "DIR", "where it is (" STORE_DEFAULT ")", "When", option_text,
	 FIELD(store)},
	{0, "from", NULL, "TIME", "-1h (default), 14:03, yesterday, '2026-11-17 14:03', …", NULL,
	 option_text, FIELD(from)},
	{0, "to", NULL, "TIME", "the same (now)", NULL, option_text, FIELD(to)},
	{0, "diff-from", NULL, "TIME", "compare: the base begins here", NULL, option_text,
	 FIELD(diff_from)},
	{0, "diff-to", NULL, "TIME", "and ends here (as long as the other range)", NULL,
	 option_text, FIELD(diff_to)},

	{0, "comm", NULL, "GLOB", "commands of this name", "What", option_text, FIELD(filter.comm)},
	{'p', "pid", NULL, "LIST", "processes", NULL, take_pids},
	OPTION_CGROUP(FIELD(filter.cgroup)),
	{0, "container", NULL, "ID", "a container, by how its id begins", NULL, option_text,
	 FIELD(filter.container)},
	{0, "unit", NULL, "GLOB", "units of systemd: nginx.service", NULL, option_text,
	 FIELD(filter.unit)},
	{0, "state", NULL, "STATE", "running, waiting, futex, disk, network, …", NULL, take_state,
	 FIELD(filter.reasons)},
	{0, "function", NULL, "REGEX", "stacks with such a function", NULL, option_expression,
	 FIELD(view.stacks.select.include)},
	{0, "idle", NULL, NULL, "with what only waits for work", NULL, option_set, FIELD(idle)},

	{'o', "output", NULL, "FILE", "svg, html, folded …, by its ending; repeatable", "Output",
	 option_output, FIELD(outputs)},
	{'f', "format", NULL, "LIST", "svg, folded, html …: overrides the ending", NULL,
	 take_formats},
	{0, "mode", NULL, "MODE", "of the files, as in chmod (600)", NULL, option_mode,
	 .wanted = OPTION_MODE_WANTED},
	{0, "title", NULL, "TEXT", "of pictures", NULL, option_text, FIELD(view.picture.title)},
	{0, "limit", NULL, "N", "rows of a table, groups of a series; 0: all", NULL, take_limit, 0,
	 0, 0, "a number"},
	{0, "series", NULL, NULL, "totals over time", NULL, option_set, FIELD(wants_series)},
	{0, "by", NULL, "WHAT", "of each comm, cgroup, unit, cause or function", NULL, take_by},
	{0, "step", NULL, "TIME", "so long each (some 60 of them)", NULL, take_step,
	 FIELD(series.step_ns), .wanted = "a time of 1s or more such as 5m"},
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

static int exclude(bool both, const char *one, const char *other, struct failure *failure)
{
	return both ? failure_set(failure, -EINVAL, "%s and %s exclude each other", one, other) : 0;
}

static int check(const struct query *query, struct failure *failure)
{
	bool tables = query->wants_series || query->wants_list;
	int r = exclude(query->wants_series && query->wants_list, "--series", "--list", failure);

	r = r < 0 ? r : exclude(query->json && query->csv, "--json", "--csv", failure);
	r = r < 0 ? r
		  : exclude(tables && query->diff_from, "--diff-from", "--series and --list",
			    failure);
	r = r < 0 ? r
		  : exclude(tables && query->outputs.n_paths, "-o", "--series and --list", failure);
	if (r == 0 && query->csv && !tables)
		r = failure_set(failure, -EINVAL, "--csv is of --series and --list");
	if (r == 0 && (query->has_by || query->series.step_ns) && !query->wants_series)
		r = failure_set(failure, -EINVAL, "--by and --step are of --series");
	if (r == 0 && query->diff_to && !query->diff_from)
		r = failure_set(failure, -EINVAL, "--diff-to wants --diff-from");
	if (r == 0 && query->wants_series && query->view.stacks.select.include)
		r = failure_set(failure, -EINVAL,
				"--function is not of --series: see --by function");
	return r < 0 ? r : view_options_check(&query->view, failure);
}

/* Formats have other names in comparisons, and are looked up while options are read. */
static bool asks_for_diff(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strncmp(argv[i], "--diff", 6) == 0)
			return true;
	return false;
}

static int parse(int argc, char **argv, struct query *ret, struct failure *failure)
{
	struct option_table table = {rows, sizeof rows / sizeof *rows, ret};
	int rest, r;

	*ret = (struct query){
		.store = STORE_DEFAULT,
		.from = DEFAULT_FROM,
		.view = VIEW_OPTIONS_OF_FILES,
		.report = {.tree_percent = DEFAULT_PERCENT,
			   .limit = DEFAULT_LIMIT,
			   .group_limit = DEFAULT_GROUPS},
		.series.limit = DEFAULT_LIMIT,
		.outputs.known = asks_for_diff(argc, argv) ? comparison_formats : profile_formats,
	};
	r = option_tables_parse(&table, 1, argc, argv, false, &rest, failure);
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
	if (!ret->has_limit && ret->json)
		ret->report.limit = ret->report.group_limit = ret->series.limit = 0;
	if (!ret->has_limit && ret->csv)
		ret->series.limit = 0;
	ret->view.stacks.no_idle = !ret->idle;
	return check(ret, failure);
}

/* The range as the name of an input; malloc'ed. */
static char *name_range(const struct query *query, const char *from, const char *to)
{
	char *name;

	return asprintf(&name, "%s@%s..%s", query->store, from, to ? to : "") < 0 ? NULL : name;
}

/* Tables and files */

static int write_tables(const struct query *query, struct profile *profile)
{
	struct report_options report = query->report;
	const char *no_colour = getenv("NO_COLOR");
	bool is_terminal = isatty(STDOUT_FILENO);
	struct stacks stacks = {};
	struct winsize size;
	int r = stacks_init(&stacks, &query->view.stacks);

	report.colour = is_terminal && !(no_colour && *no_colour);
	if (is_terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
		report.columns = size.ws_col;
	r = r < 0 ? r : stacks_add(&stacks, profile, SIDE_NEW);
	r = r < 0 ? r : stacks_finish(&stacks, SCALE_ABSOLUTE);
	if (r == 0)
		r = query->json ? report_json(&stacks, &report, stdout)
				: report_text(&stacks, &report, stdout);
	stacks_done(&stacks);
	return r;
}

static int write_range(struct query *query, struct output_files *files, struct failure *failure)
{
	char *name = name_range(query, query->from, query->to);
	struct profile_view view = {.options = &query->view};
	struct input input;
	int r = name ? inputs_read(&name, 1, &query->view.stacks, query->quiet, &input, failure)
		     : -ENOMEM;

	free(name);
	if (r < 0)
		return r;
	view.profile = input.profile;
	r = files->n ? output_files_write(files, write_profile, &view, failure)
		     : write_tables(query, input.profile);
	if (r < 0 && !failure->what[0] && r != -ENOMEM)
		failure_set(failure, r, "cannot report: %s", strerror(-r));
	profile_view_done(&view);
	input_done(&input);
	return r;
}

struct range_query {
	struct query *query;
	struct output_files files;
};

/* The confined process's work: returns its exit code. */
static int write_confined(void *data)
{
	struct range_query *range = data;
	struct failure failure = {};
	int r = write_range(range->query, &range->files, &failure);

	return cli_flush(r == 0 ? EXIT_DONE
				: cli_fail(&failure, r == -EINVAL ? EXIT_USAGE : EXIT_FAILED));
}

static int run_range(struct query *query, struct failure *failure)
{
	static const enum output_format defaults[] = {FORMAT_SVG, FORMAT_NONE};
	struct range_query range = {.query = query};
	const struct confine_files confined = {.store = query->store, .outputs = &range.files};
	int code, r = 0;

	if (query->outputs.n_paths || query->outputs.n_formats)
		r = outputs_plan(&query->outputs, NULL, defaults, &range.files, failure);
	code = r < 0 ? cli_fail(failure, EXIT_USAGE) : EXIT_DONE;
	if (r == 0) {
		r = range.files.n ? cli_write_as_caller(failure) : 0;
		r = r < 0 ? r : output_files_check(&range.files, failure);
		code = r < 0 ? cli_fail(failure, r == -EINVAL ? EXIT_USAGE : EXIT_FAILED)
			     : cmd_confine(&confined, write_confined, &range);
	}
	output_files_done(&range.files);
	return code;
}

/* Two ranges */

/* The end of the base: as long after its beginning as the other range is long. */
static int find_diff_end(const struct query *query, char text[static MOMENT_SIZE],
			 struct failure *failure)
{
	uint64_t now = realtime_ns(), from, to = now, base;
	int r = moment_parse(query->from, now, &from);

	r = r < 0 || !query->to ? r : moment_parse(query->to, now, &to);
	r = r < 0 ? r : moment_parse(query->diff_from, now, &base);
	if (r < 0 || from >= to)
		return failure_set(failure, -EINVAL,
				   "--from, --to and --diff-from give no two ranges");
	moment_utc(base + (to - from), text);
	return 0;
}

/* Runs `bpfflame diff BASE NEW` with both ranges. */
static int run_diff(struct query *query, struct failure *failure)
{
	char end[MOMENT_SIZE], limit[24], *words[MOST_DIFF_WORDS], *ranges[2];
	int n = 0, code;

	if (!query->diff_to) {
		if (find_diff_end(query, end, failure) < 0)
			return cli_fail(failure, EXIT_USAGE);
		query->diff_to = end;
	}
	ranges[0] = name_range(query, query->diff_from, query->diff_to);
	ranges[1] = name_range(query, query->from, query->to);
	words[n++] = "diff";
	words[n++] = "--per-second";
	for (size_t i = 0; i < query->outputs.n_paths; i++) {
		words[n++] = "-o";
		words[n++] = (char *)query->outputs.paths[i];
	}
	if (query->formats) {
		words[n++] = "-f";
		words[n++] = (char *)query->formats;
	}
	if (query->view.stacks.select.include) {
		words[n++] = "--include";
		words[n++] = (char *)query->view.stacks.select.include;
	}
	if (!query->idle)
		words[n++] = "--no-idle";
	if (query->view.picture.title) {
		words[n++] = "--title";
		words[n++] = (char *)query->view.picture.title;
	}
	if (query->has_limit) {
		snprintf(limit, sizeof limit, "%zu", query->report.limit);
		words[n++] = "--limit";
		words[n++] = limit;
	}
	if (query->json)
		words[n++] = "--json";
	if (query->quiet)
		words[n++] = "-q";
	words[n] = NULL;
	if (ranges[0] && ranges[1]) {
		words[n++] = ranges[0];
		words[n++] = ranges[1];
		words[n] = NULL;
		code = diff_run(n, words, NULL);
	} else {
		code = cli_fail(failure, EXIT_FAILED);
	}
	free(ranges[0]);
	free(ranges[1]);
	return code;
}

/* Totals, and what there is */

static enum series_format format_of(const struct query *query)
{
	return query->json ? SERIES_NDJSON : query->csv ? SERIES_CSV : SERIES_TEXT;
}

static int find_moments(struct query *query, struct failure *failure)
{
	uint64_t now = realtime_ns();
	struct series_options *series = &query->series;
	const char *bad = NULL;

	series->to = now;
	if (moment_parse(query->from, now, &series->from) < 0)
		bad = query->from;
	else if (query->to && moment_parse(query->to, now, &series->to) < 0)
		bad = query->to;
	if (bad) {
		failure_set(failure, -EINVAL, "'%s' is no point of time", bad);
		return failure_fix(failure, -EINVAL,
				   "such as -1h, 14:03, yesterday, '2026-11-17 14:03'");
	}
	return series->from < series->to
		       ? 0
		       : failure_set(failure, -EINVAL, "--to is not after --from");
}

static int print_series_of(struct query *query, FILE *stream, struct failure *failure)
{
	int r = find_moments(query, failure);

	query->series.store = query->store;
	query->series.format = format_of(query);
	query->series.filter = query->filter;
	query->series.quiet = query->quiet;
	return r < 0 ? r : store_series_print(&query->series, stream, failure);
}

/* The confined process's work: returns its exit code. */
static int print_series(void *data)
{
	struct query *query = data;
	struct failure failure = {};
	int r = print_series_of(query, stdout, &failure);

	return cli_flush(r == 0 ? EXIT_DONE
				: cli_fail(&failure, r == -EINVAL ? EXIT_USAGE : EXIT_FAILED));
}

/* The same. */
static int print_list(void *data)
{
	const struct query *query = data;
	struct failure failure = {};
	int r = store_list_print(query->store, format_of(query), stdout, &failure);

	return cli_flush(r == 0 ? EXIT_DONE : cli_fail(&failure, EXIT_FAILED));
}

/* Answers of the daemon */

/* Profiles of one kind hold what Go's runtime has there: `cpu`, exact, and not an estimate. */
static int make_cpu_profile(struct profile *profile)
{
	struct profile_event *event = &profile->events[0];
	int r = strings_add(&profile->strings, "cpu", &event->name);

	r = r < 0 ? r : strings_add(&profile->strings, "nanoseconds", &event->unit);
	if (r < 0)
		return r;
	event->is_counted = true;
	event->period = profile->frequency > 0 ? 1e9 / profile->frequency : 0;
	profile->n_events = 1;
	profile->mode = PROFILE_ONCPU;
	for (size_t i = 0; i < profile->n_samples; i++)
		profile->samples[i].reason = REASON_NONE;
	return 0;
}

static int write_answer(struct query *query, enum query_kind kind, FILE *stream,
			struct failure *failure)
{
	enum output_format format =
		kind != QUERY_PROFILE ? FORMAT_PPROF : query->outputs.formats[0];
	char *name = name_range(query, query->from, query->to);
	struct profile_view view = {.options = &query->view};
	struct input input;
	int r = name ? inputs_read(&name, 1, &query->view.stacks, true, &input, failure) : -ENOMEM;

	free(name);
	if (r < 0)
		return r;
	view.profile = input.profile;
	if (kind == QUERY_CPU)
		r = make_cpu_profile(input.profile);
	else if (kind == QUERY_WAITS)
		input.profile->mode = PROFILE_OFFCPU;
	if (r == 0)
		r = format == FORMAT_NONE ? write_tables(query, input.profile)
					  : write_profile(&view, format, stream);
	profile_view_done(&view);
	input_done(&input);
	return r;
}

int query_answer(enum query_kind kind, int argc, char **argv, FILE *stream, struct failure *failure)
{
	struct query query;
	int r = parse(argc, argv, &query, failure);

	if (r != 0)
		return r > 0 ? -EINVAL : r;
	if (kind == QUERY_CPU || kind == QUERY_WAITS)
		store_filter_state(kind == QUERY_CPU ? "running" : "waiting",
				   &query.filter.reasons);
	store_input_filter(&query.filter);
	query.series.quiet = true;
	switch (kind) {
	case QUERY_SERIES: r = print_series_of(&query, stream, failure); break;
	case QUERY_LIST:
		r = store_list_print(query.store, format_of(&query), stream, failure);
		break;
	default: r = write_answer(&query, kind, stream, failure); break;
	}
	store_input_filter(NULL);
	free(query.pids);
	return r;
}

int cmd_query(int argc, char **argv, uint64_t started_ns)
{
	struct failure failure = {};
	struct query query;
	int code, r = parse(argc, argv, &query, &failure);

	store_input_filter(&query.filter);
	if (r != 0)
		code = r > 0 ? EXIT_DONE : cli_fail(&failure, EXIT_USAGE);
	else if (query.wants_list)
		code = cmd_confine(&(struct confine_files){.store = query.store}, print_list,
				   &query);
	else if (query.wants_series)
		code = cmd_confine(&(struct confine_files){.store = query.store}, print_series,
				   &query);
	else if (query.diff_from)
		code = run_diff(&query, &failure);
	else
		code = run_range(&query, &failure);
	store_input_filter(NULL);
	free(query.pids);
	return code;
}
