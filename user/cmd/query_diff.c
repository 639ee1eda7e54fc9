/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/query_diff.h"

#include <errno.h>
#include <stdlib.h>

#include "base/system.h"
#include "cli/cli.h"
#include "cli/moment.h"
#include "cmd/diff.h"
#include "store/store_read.h"

#define DAYS		7
#define DAY_NS		(24 * 3600 * NSEC_PER_SEC)
#define MOST_DIFF_WORDS (2 * MAX_OUTPUTS + 2 * DAYS + 32)

/* Words of `bpfflame diff`: those of the query's, and the ranges. */
struct diff_line {
	char *words[MOST_DIFF_WORDS];
	int n;
	char end[MOMENT_SIZE], limit[24];
	char *ranges[DAYS + 1]; /* owned */
};

static void diff_line_done(struct diff_line *line)
{
	for (int i = 0; i <= DAYS; i++)
		free(line->ranges[i]);
}

char *query_range(const struct query *query, const char *from, const char *to)
{
	char *name;

	return asprintf(&name, "%s@%s..%s", query->store, from, to ? to : "") < 0 ? NULL : name;
}

int query_add_ranges(char **name, const struct query_ranges *more)
{
	for (size_t i = 0; i < more->n; i++) {
		char *all;

		if (asprintf(&all, "%s,%s", *name, more->items[i]) < 0)
			return -ENOMEM;
		free(*name);
		*name = all;
	}
	return 0;
}

/* The end of the base: as long after its beginning as the other range is long. */
static int find_diff_end(const struct query *query, char text[static MOMENT_SIZE],
			 struct failure *failure)
{
	uint64_t now = realtime_ns(), from, to = now, base;
	int r = moment_read(query->from, now, &from, failure);

	if (r < 0)
		return r;
	if (query->to) {
		r = moment_read(query->to, now, &to, failure);
		if (r < 0)
			return r;
	}
	r = moment_read(query->diff_from, now, &base, failure);
	if (r < 0)
		return r;
	r = moment_check_range(from, to, failure);
	if (r < 0)
		return r;
	moment_utc(base + (to - from), text);
	return 0;
}

static void add_word(struct diff_line *line, const char *word)
{
	line->words[line->n++] = (char *)word;
	line->words[line->n] = NULL;
}

static void add_option(struct diff_line *line, const char *name, const char *value)
{
	if (!value)
		return;
	add_word(line, name);
	add_word(line, value);
}

static void add_options(const struct query *query, struct diff_line *line)
{
	add_word(line, "diff");
	add_word(line, "--per-second");
	for (size_t i = 0; i < query->outputs.n_paths; i++)
		add_option(line, "-o", query->outputs.paths[i]);
	add_option(line, "-f", query->formats);
	add_option(line, "--include", query->view.stacks.select.include);
	add_option(line, "--title", query->view.picture.title);
	if (!query->idle)
		add_word(line, "--no-idle");
	if (query->has_limit) {
		snprintf(line->limit, sizeof line->limit, "%zu", query->report.limit);
		add_option(line, "--limit", line->limit);
	}
	if (query->json)
		add_word(line, "--json");
	if (query->quiet)
		add_word(line, "-q");
}

/* diff_line_done() is due in any case. */
static int make_line(const struct query *query, struct diff_line *line, struct failure *failure)
{
	const char *end = query->diff_to;
	int r;

	*line = (struct diff_line){};
	if (!end) {
		r = find_diff_end(query, line->end, failure);
		if (r < 0)
			return r;
		end = line->end;
	}
	line->ranges[0] = query_range(query, query->diff_from, end);
	line->ranges[1] = query_range(query, query->from, query->to);
	if (!line->ranges[0] || !line->ranges[1])
		return -ENOMEM;
	r = query_add_ranges(&line->ranges[0], &query->diff_also);
	if (r < 0)
		return r;
	r = query_add_ranges(&line->ranges[1], &query->also);
	if (r < 0)
		return r;
	add_options(query, line);
	add_word(line, line->ranges[0]);
	add_word(line, line->ranges[1]);
	return 0;
}

int query_diff_run(struct query *query, struct failure *failure)
{
	struct diff_line line;
	int r = make_line(query, &line, failure);
	int code = r == 0 ? diff_run(line.n, line.words, NULL)
			  : cli_fail(failure, r == -EINVAL ? EXIT_USAGE : EXIT_FAILED);

	diff_line_done(&line);
	return code;
}

int query_diff_answer(struct query *query, FILE *stream, struct failure *failure)
{
	struct diff_line line;
	int r = make_line(query, &line, failure);

	if (r == 0)
		r = diff_answer(line.n, line.words, stream, failure);
	diff_line_done(&line);
	return r;
}

/* What got worse */

struct worse {
	uint64_t from, to;
	uint64_t covered[DAYS]; /* of the range, a day earlier and so on; ns */
};

static int count_days(void *context, const struct ledger *ledger, const struct store_window *window,
		      bool is_first)
{
	struct worse *worse = context;
	uint64_t middle = window->start + window->span / 2;

	for (int day = 0; day < DAYS; day++) {
		uint64_t back = (day + 1) * DAY_NS;

		if (middle + back >= worse->from && middle + back < worse->to)
			worse->covered[day] += window->covered;
	}
	return 0;
}

static int find_days(const struct query *query, struct worse *worse, struct failure *failure)
{
	uint64_t now = realtime_ns();
	struct store_question question = {
		.path = query->store, .is_series = true, .on_window = count_days, .context = worse};
	struct store_answer answer;

	worse->to = now;
	if (moment_parse(query->from, now, &worse->from) < 0 ||
	    (query->to && moment_parse(query->to, now, &worse->to) < 0) ||
	    worse->from >= worse->to || worse->from < DAYS * DAY_NS ||
	    worse->to - worse->from > DAY_NS)
		return failure_set(failure, -EINVAL,
				   "--worse is of a range of time, --from to --to, up to a day");
	question.from = worse->from - DAYS * DAY_NS;
	question.to = worse->to - DAY_NS;
	return store_read(&question, &answer, failure);
}

static int add_days(const struct query *query, const struct worse *worse, struct diff_line *line)
{
	char from[MOMENT_SIZE], to[MOMENT_SIZE];
	size_t n = 0;

	for (int day = 0; day < DAYS; day++) {
		uint64_t back = (day + 1) * DAY_NS;

		if (worse->covered[day] < (worse->to - worse->from) / 2)
			continue;
		line->ranges[++n] = query_range(query, moment_utc(worse->from - back, from),
						moment_utc(worse->to - back, to));
		if (!line->ranges[n])
			return -ENOMEM;
		add_option(line, "--base", line->ranges[n]);
	}
	return n ? 0 : -ENODATA;
}

static int make_worse(const struct query *query, struct diff_line *line, struct failure *failure)
{
	char from[MOMENT_SIZE], to[MOMENT_SIZE];
	struct worse worse = {};
	int r = find_days(query, &worse, failure);

	if (r < 0)
		return r;
	add_options(query, line);
	add_word(line, "--grown");
	r = add_days(query, &worse, line);
	if (r == -ENODATA)
		return failure_set(failure, r,
				   "nothing was recorded at that time of the seven days before");
	if (r < 0)
		return r;
	line->ranges[0] =
		query_range(query, moment_utc(worse.from, from), moment_utc(worse.to, to));
	if (!line->ranges[0])
		return -ENOMEM;
	add_word(line, line->ranges[0]);
	return 0;
}

int query_worse_answer(struct query *query, FILE *stream, struct failure *failure)
{
	struct diff_line line = {};
	int r = make_worse(query, &line, failure);

	if (r == 0)
		r = diff_answer(line.n, line.words, stream, failure);
	diff_line_done(&line);
	return r;
}
