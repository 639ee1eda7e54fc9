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

#include "base/system.h"
#include "cli/cli.h"
#include "cli/inputs.h"
#include "cli/moment.h"
#include "cmd/cmd.h"
#include "cmd/confine.h"
#include "cmd/query.h"
#include "cmd/query_diff.h"
#include "report/search.h"

/* Tables and files */

static int write_found(const struct query *query, const struct profile *profile,
		       const struct stacks *stacks, FILE *stream)
{
	const struct search_options options = {
		.expression = query->search, .limit = query->report.limit, .json = query->json};

	return search_write(profile, stacks, &options, stream);
}

static int write_report(const struct query *query, const struct stacks *stacks, FILE *stream)
{
	struct report_options report = query->report;
	const char *no_colour = getenv("NO_COLOR");
	bool is_terminal = isatty(STDOUT_FILENO);
	struct winsize size;

	report.colour = is_terminal && !(no_colour && *no_colour);
	if (is_terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
		report.columns = size.ws_col;
	return query->json ? report_json(stacks, &report, stream)
			   : report_text(stacks, &report, stream);
}

static int write_stacks(const struct query *query, struct profile *profile, struct stacks *stacks,
			FILE *stream)
{
	int r = stacks_init(stacks, &query->view.stacks);

	if (r < 0)
		return r;
	r = stacks_add(stacks, profile, SIDE_NEW);
	if (r < 0)
		return r;
	r = stacks_finish(stacks, SCALE_ABSOLUTE);
	if (r < 0)
		return r;
	return query->search ? write_found(query, profile, stacks, stream)
			     : write_report(query, stacks, stream);
}

static int write_tables(const struct query *query, struct profile *profile, FILE *stream)
{
	struct stacks stacks;
	int r = write_stacks(query, profile, &stacks, stream);

	stacks_done(&stacks);
	return r;
}

static int read_ranges(struct query *query, struct input *input, struct failure *failure)
{
	_cleanup_free_ char *name = query_range(query, query->from, query->to);
	int r;

	if (!name)
		return -ENOMEM;
	r = query_add_ranges(&name, &query->also);
	if (r < 0)
		return r;
	return inputs_read(&name, 1, &query->view.stacks, query->quiet, input, failure);
}

/* Pictures, tables and folded lines name no processes, and do not depend on the rows' order. */
static bool needs_pids(const struct query *query, enum output_format format)
{
	switch (format) {
	case FORMAT_SVG:
	case FORMAT_HTML:
	case FORMAT_FOLDED: return false;
	case FORMAT_NONE: return query->search != NULL;
	default: return true;
	}
}

static int write_range(struct query *query, struct output_files *files, struct failure *failure)
{
	struct profile_view view = {.options = &query->view};
	struct input input;
	int r;

	query->filter.no_pids = files->n || !needs_pids(query, FORMAT_NONE);
	for (size_t i = 0; i < files->n; i++)
		query->filter.no_pids &= !needs_pids(query, files->files[i].format);
	r = read_ranges(query, &input, failure);
	if (r < 0)
		return r;
	view.profile = input.profile;
	r = files->n ? output_files_write(files, write_profile, &view, failure)
		     : write_tables(query, input.profile, stdout);
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

static int check_files(struct output_files *files, struct failure *failure)
{
	int r = files->n ? cli_write_as_caller(failure) : 0;

	if (r < 0)
		return r;
	return output_files_check(files, failure);
}

static int run_planned(struct range_query *range, struct failure *failure)
{
	const struct confine_files confined = {.store = range->query->store,
					       .outputs = &range->files};
	int r = check_files(&range->files, failure);

	if (r < 0)
		return cli_fail(failure, r == -EINVAL ? EXIT_USAGE : EXIT_FAILED);
	return cmd_confine(&confined, write_confined, range);
}

static int run_range(struct query *query, struct failure *failure)
{
	static const enum output_format defaults[] = {FORMAT_SVG, FORMAT_NONE};
	struct range_query range = {.query = query};
	int code, r = 0;

	if (query->outputs.n_paths || query->outputs.n_formats)
		r = outputs_plan(&query->outputs, NULL, defaults, &range.files, failure);
	code = r < 0 ? cli_fail(failure, EXIT_USAGE) : run_planned(&range, failure);
	output_files_done(&range.files);
	return code;
}

/* Totals, and what there is */

static enum series_format format_of(const struct query *query)
{
	return query->json ? SERIES_NDJSON : query->csv ? SERIES_CSV : SERIES_TEXT;
}

static int find_moments(struct query *query, struct failure *failure)
{
	uint64_t now = realtime_ns(), base;
	struct series_options *series = &query->series;
	const struct {
		const char *text; /* NULL: not asked for */
		uint64_t *ret;
	} moments[] = {
		{query->from, &series->from},
		{query->to, &series->to},
		{query->diff_from, &base},
		{query->diff_to, &base},
	};

	series->to = now;
	for (size_t i = 0; i < sizeof moments / sizeof *moments; i++) {
		const char *text = moments[i].text;
		int r = text ? moment_read(text, now, moments[i].ret, failure) : 0;

		if (r < 0)
			return r;
	}
	return moment_check_range(series->from, series->to, failure);
}

static int print_series_of(struct query *query, FILE *stream, struct failure *failure)
{
	int r = find_moments(query, failure);

	if (r < 0)
		return r;
	query->series.store = query->store;
	query->series.format = format_of(query);
	query->series.filter = query->filter;
	query->series.function = query->view.stacks.select.include;
	query->series.quiet = query->quiet;
	return store_series_print(&query->series, stream, failure);
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
static int print_worse(void *data)
{
	struct failure failure = {};
	int r = query_worse_answer(data, stdout, &failure);

	return cli_flush(r == 0 ? EXIT_DONE
				: cli_fail(&failure, r == -EINVAL ? EXIT_USAGE : EXIT_FAILED));
}

/* Of all times, unless some are asked for. */
static int print_list_of(struct query *query, FILE *stream, struct failure *failure)
{
	struct list_range range = {.to = UINT64_MAX};
	int r = find_moments(query, failure);

	if (r < 0)
		return r;
	if (query->has_range)
		range = (struct list_range){query->series.from, query->series.to};
	return store_list_print(query->store, &range, format_of(query), stream, failure);
}

/* The same. */
static int print_list(void *data)
{
	struct failure failure = {};
	int r = print_list_of(data, stdout, &failure);

	return cli_flush(r == 0 ? EXIT_DONE : cli_fail(&failure, EXIT_FAILED));
}

/* Answers of the daemon */

/* Profiles of one kind hold what Go's runtime has there: `cpu`, exact, and not an estimate. */
static int make_cpu_profile(struct profile *profile)
{
	struct profile_event *event = &profile->events[0];
	int r = strings_add(&profile->strings, "cpu", &event->name);

	if (r < 0)
		return r;
	r = strings_add(&profile->strings, "nanoseconds", &event->unit);
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
		kind == QUERY_CPU || kind == QUERY_WAITS ? FORMAT_PPROF : query->outputs.formats[0];
	struct profile_view view = {.options = &query->view};
	struct input input;
	int r;

	query->filter.no_pids = !needs_pids(query, format);
	r = read_ranges(query, &input, failure);
	if (r < 0)
		return r;
	view.profile = input.profile;
	if (kind == QUERY_CPU)
		r = make_cpu_profile(input.profile);
	else if (kind == QUERY_WAITS)
		input.profile->mode = PROFILE_OFFCPU;
	if (r == 0)
		r = format == FORMAT_NONE ? write_tables(query, input.profile, stream)
					  : write_profile(&view, format, stream);
	profile_view_done(&view);
	input_done(&input);
	return r;
}

/* @name: of the parameter, where the user of a command line has an option. */
static int check_range(const char *name, const char *from, const char *to, struct failure *failure)
{
	uint64_t now = realtime_ns(), begin, end = now;
	const char *bad = moment_parse(from, now, &begin) < 0	  ? from
			  : to && moment_parse(to, now, &end) < 0 ? to
								  : NULL;

	if (bad)
		return failure_set(failure, -EINVAL, "%sfrom, %sto: '%.64s' is no point of time",
				   name, name, bad);
	return begin < end ? 0
			   : failure_set(failure, -EINVAL, "%sto is not after %sfrom", name, name);
}

/* What a command line may have and a request may not. */
static int check_answer(const struct query *query, enum query_kind kind, struct failure *failure)
{
	int r = check_range("", query->from, query->to, failure);

	if (r < 0)
		return r;
	if (query->outputs.n_formats > 1)
		return failure_set(failure, -EINVAL, "format: one at a time");
	if (kind == QUERY_DIFF && !query->diff_from)
		return failure_set(failure, -EINVAL, "diff-from: where the base begins");
	if (!query->diff_from)
		return 0;
	return check_range("diff-", query->diff_from, query->diff_to, failure);
}

static int answer(struct query *query, enum query_kind kind, FILE *stream, struct failure *failure)
{
	int r = check_answer(query, kind, failure);

	if (r < 0)
		return r;
	if (kind == QUERY_CPU || kind == QUERY_WAITS)
		store_filter_state(kind == QUERY_CPU ? "running" : "waiting",
				   &query->filter.reasons);
	store_input_filter(&query->filter);
	query->series.quiet = true;
	switch (kind) {
	case QUERY_SERIES: r = print_series_of(query, stream, failure); break;
	case QUERY_LIST: r = print_list_of(query, stream, failure); break;
	case QUERY_WORSE: r = query_worse_answer(query, stream, failure); break;
	case QUERY_DIFF: r = query_diff_answer(query, stream, failure); break;
	default: r = write_answer(query, kind, stream, failure); break;
	}
	store_input_filter(NULL);
	return r;
}

int query_answer(enum query_kind kind, int argc, char **argv, FILE *stream, struct failure *failure)
{
	struct query query;
	int r = query_options_parse(argc, argv, &query, failure);

	if (r == 0)
		r = answer(&query, kind, stream, failure);
	query_options_done(&query);
	return r > 0 ? -EINVAL : r;
}

int cmd_query(int argc, char **argv, uint64_t started_ns)
{
	struct failure failure = {};
	struct query query;
	int code, r = query_options_parse(argc, argv, &query, &failure);

	store_input_filter(&query.filter);
	if (r == 0)
		r = find_moments(&query, &failure);
	if (r != 0)
		code = r > 0 ? EXIT_DONE : cli_fail(&failure, EXIT_USAGE);
	else if (query.wants_list)
		code = cmd_confine(&(struct confine_files){.store = query.store}, print_list,
				   &query);
	else if (query.wants_series)
		code = cmd_confine(&(struct confine_files){.store = query.store}, print_series,
				   &query);
	else if (query.wants_worse)
		code = cmd_confine(&(struct confine_files){.store = query.store}, print_worse,
				   &query);
	else if (query.diff_from)
		code = query_diff_run(&query, &failure);
	else
		code = run_range(&query, &failure);
	store_input_filter(NULL);
	query_options_done(&query);
	return code;
}
