/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/store_series.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json.h"
#include "base/system.h"
#include "base/text.h"
#include "cli/moment.h"
#include "cmd/daemon_budget.h"
#include "cmd/series_function.h"
#include "store/cgroup_words.h"

#define WANTED_STEPS 60
#define MOST_STEPS   100000
#define ALL	     "all" /* the group of everything */
#define OTHERS	     "(others)"

struct cell {
	uint64_t running, waiting, idle; /* microseconds; idle: of those that waited, for work */
};

/* How a step was recorded. */
struct step_facts {
	bool is_recorded;
	uint64_t lost;	     /* samples and stacks */
	uint64_t millihertz; /* the lowest rate … */
	uint64_t effort;     /* … and the highest effort (cmd/daemon_budget.h) */
};

/* Groups are numbered by @names; cells lie group by group. */
struct series {
	const struct series_options *options;
	uint64_t begin, step_ns;
	size_t n_steps;
	struct strings names;
	struct series_function function;
	struct step_facts *facts;    /* by step */
	struct cell *cells, *totals; /* n_steps and one for each group */
	size_t n_groups, cells_capacity, totals_capacity;
	uint32_t *known; /* groups by key_of() of the ledger at hand; UINT32_MAX: not known */
	size_t n_known, known_capacity;
};

static uint64_t choose_step(uint64_t length)
{
	static const uint32_t seconds[] = {10,	 30,	60,    300,   600,  1800,
					   3600, 10800, 21600, 43200, 86400};

	for (size_t i = 0; i < sizeof seconds / sizeof *seconds; i++)
		if (length / (seconds[i] * NSEC_PER_SEC) <= WANTED_STEPS)
			return seconds[i] * NSEC_PER_SEC;
	return 7 * 86400 * NSEC_PER_SEC;
}

static int add_group(struct series *series, const char *name, uint32_t *ret)
{
	uint32_t id;
	int r = strings_add(&series->names, *name ? name : "(none)", &id);

	if (r < 0)
		return r;
	while (series->n_groups <= id) {
		size_t n = series->n_groups * series->n_steps;

		r = array_reserve(series->cells, series->cells_capacity, n, series->n_steps);
		if (r < 0)
			return r;
		memset(series->cells + n, 0, series->n_steps * sizeof *series->cells);
		r = array_add(series->totals, series->totals_capacity, series->n_groups,
			      (struct cell){});
		if (r < 0)
			return r;
	}
	*ret = id;
	return 0;
}

/* How a leaf without a stack is called. */
static const char *name_of_node(const struct ledger *ledger, uint32_t node)
{
	return node ? strings_get(&ledger->strings,
				  ledger->frames[ledger->nodes[node].frame].function)
		    : "";
}

static int name_group(struct series *series, const struct ledger *ledger,
		      const struct ledger_row *row, uint32_t *ret)
{
	const struct ledger_process *process = &ledger->processes[row->process];
	const char *cgroup = strings_get(&ledger->strings, process->cgroup);
	char word[CGROUP_WORD_SIZE];

	switch (series->options->by) {
	case SERIES_COMM:
		return add_group(series, strings_get(&ledger->strings, process->comm), ret);
	case SERIES_CGROUP: return add_group(series, cgroup, ret);
	case SERIES_UNIT: cgroup_unit(cgroup, word); return add_group(series, word, ret);
	case SERIES_CAUSE:
		return add_group(series,
				 row->reason == REASON_NONE ? "[on-cpu]"
							    : off_reason_text(row->reason),
				 ret);
	case SERIES_FUNCTION: return add_group(series, name_of_node(ledger, row->node), ret);
	default: return add_group(series, ALL, ret);
	}
}

/* Rows of a ledger with the same one are of the same group. */
static uint32_t key_of(const struct series *series, const struct ledger_row *row)
{
	switch (series->options->by) {
	case SERIES_COMM:
	case SERIES_CGROUP:
	case SERIES_UNIT: return row->process;
	case SERIES_CAUSE: return row->reason;
	case SERIES_FUNCTION: return row->node;
	default: return 0;
	}
}

static int find_group(struct series *series, const struct ledger *ledger,
		      const struct ledger_row *row, uint32_t *ret)
{
	uint32_t key = key_of(series, row);
	int r;

	if (key >= series->n_known) {
		size_t n = key + 1 - series->n_known;

		r = array_reserve(series->known, series->known_capacity, series->n_known, n);
		if (r < 0)
			return r;
		memset(series->known + series->n_known, 0xff, n * sizeof *series->known);
		series->n_known += n;
	}
	if (series->known[key] == UINT32_MAX) {
		r = name_group(series, ledger, row, &series->known[key]);
		if (r < 0)
			return r;
	}
	*ret = series->known[key];
	return 0;
}

static void add_to(struct cell *cell, const struct ledger_row *row, uint64_t microseconds)
{
	if (row->reason == REASON_ONCPU || row->reason == REASON_NONE)
		cell->running += microseconds;
	else
		cell->waiting += microseconds;
	if (row->is_idle)
		cell->idle += microseconds;
}

static void note_facts(struct step_facts *facts, const struct store_window *window)
{
	if (!facts->is_recorded || window->millihertz < facts->millihertz)
		facts->millihertz = window->millihertz;
	if (window->effort > facts->effort)
		facts->effort = window->effort;
	facts->is_recorded = true;
}

/* The step of a moment, or the one that is nearest. */
static size_t step_at(const struct series *series, uint64_t moment)
{
	size_t step = moment > series->begin ? (moment - series->begin) / series->step_ns : 0;

	return step < series->n_steps ? step : series->n_steps - 1;
}

/* The steps of a window, from first to last. */
struct steps {
	const struct store_window *window;
	size_t first, last;
};

/* Whether a step is as long as so many windows: each lies in one, wherever it begins. */
static bool holds_windows(uint64_t step_ns, uint64_t span)
{
	uint64_t rest = step_ns % span, jitter = span / 50;

	return step_ns + jitter >= span && (rest <= jitter || span - rest <= jitter);
}

static struct steps find_steps(const struct series *series, const struct store_window *window)
{
	size_t middle = step_at(series, window->start + window->span / 2);

	if (!window->span || holds_windows(series->step_ns, window->span))
		return (struct steps){window, middle, middle};
	return (struct steps){window, step_at(series, window->start),
			      step_at(series, window->start + window->span - 1)};
}

/* How much of a window's time comes before the end of @step: all of it, of its last one. */
static uint64_t share_until(const struct series *series, const struct steps *steps, size_t step,
			    uint64_t microseconds)
{
	uint64_t end = series->begin + (step + 1) * series->step_ns;

	if (step == steps->last)
		return microseconds;
	return (unsigned __int128)microseconds * (end - steps->window->start) / steps->window->span;
}

static void count_row(struct series *series, const struct steps *steps, uint32_t group,
		      const struct ledger_row *row)
{
	struct cell *cells = &series->cells[group * series->n_steps];
	uint64_t before = 0;

	for (size_t step = steps->first; step <= steps->last; step++) {
		uint64_t until = share_until(series, steps, step, row->microseconds);

		add_to(&cells[step], row, until - before);
		before = until;
	}
	add_to(&series->totals[group], row, row->microseconds);
}

static int count_window(void *context, const struct ledger *ledger,
			const struct store_window *window, bool is_first)
{
	struct series *series = context;
	const struct steps steps = find_steps(series, window);
	int r = series_function_read(&series->function, ledger, is_first);

	if (r < 0)
		return r;
	if (is_first)
		series->n_known = 0;
	for (size_t step = steps.first; step <= steps.last; step++)
		note_facts(&series->facts[step], window);
	series->facts[steps.first].lost += window->lost;
	for (size_t i = 0; i < ledger->n_rows; i++) {
		const struct ledger_row *row = &ledger->rows[i];
		uint32_t group;

		if (!store_filter_wants((void *)&series->options->filter, ledger, row))
			continue;
		r = series_function_test(&series->function, ledger, row);
		if (r < 0)
			return r;
		if (r == 0)
			continue;
		r = find_group(series, ledger, row, &group);
		if (r < 0)
			return r;
		count_row(series, &steps, group, row);
	}
	return 0;
}

/* The heaviest groups, and the rest as one */

struct ranked {
	uint32_t group;
	uint64_t weight;
};

static int compare_ranked(const void *left, const void *right)
{
	const struct ranked *a = left, *b = right;

	if (a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	return (a->group > b->group) - (a->group < b->group);
}

/* Groups are ranked by time that is not idle. */
static struct ranked *rank(const struct series *series, size_t *ret_n)
{
	struct ranked *ranked = malloc((series->n_groups + 1) * sizeof *ranked);

	*ret_n = 0;
	for (size_t i = 0; ranked && i < series->n_groups; i++) {
		const struct cell *total = &series->totals[i];

		if (total->running || total->waiting)
			ranked[(*ret_n)++] =
				(struct ranked){i, total->running + total->waiting - total->idle};
	}
	if (ranked && *ret_n)
		qsort(ranked, *ret_n, sizeof *ranked, compare_ranked);
	return ranked;
}

/* A quoted field. A terminal obeys nothing of it, and it has no line of its own. */
static void put_csv(FILE *stream, const char *text)
{
	uint32_t code;

	fputc('"', stream);
	while ((code = text_next(&text))) {
		if (code == '"')
			fputc('"', stream);
		text_put(stream, code);
	}
	fputc('"', stream);
}

static void put_cell(const struct series *series, uint64_t start, const char *group,
		     const struct cell *cell, FILE *stream)
{
	char when[MOMENT_SIZE];
	double running = cell->running / 1e6, waiting = cell->waiting / 1e6,
	       idle = cell->idle / 1e6, step = series->step_ns / 1e9;
	struct json json = {.stream = stream};

	switch (series->options->format) {
	case SERIES_TEXT:
		text_print(stream, "%s  %12.3f %14.3f %14.3f  %s\n", moment_text(start, when),
			   running, waiting, idle, group);
		break;
	case SERIES_CSV:
		fprintf(stream, "%s,%g,", moment_utc(start, when) /* ours */, step);
		put_csv(stream, group);
		fprintf(stream, ",%.6f,%.6f,%.6f\n", running, waiting, idle);
		break;
	case SERIES_NDJSON:
		json_open(&json, NULL, '{');
		json_text(&json, "start", moment_utc(start, when));
		json_number(&json, "seconds", step, 3);
		json_text(&json, "group", group);
		json_number(&json, "running_seconds", running, 6);
		json_number(&json, "waiting_seconds", waiting, 6);
		json_number(&json, "idle_seconds", idle, 6);
		json_close(&json, '}');
		fputc('\n', stream);
		break;
	}
}

static void put_step(const struct series *series, size_t step, const struct ranked *ranked,
		     size_t n, size_t shown, FILE *stream)
{
	uint64_t start = series->begin + step * series->step_ns;
	bool is_empty = series->options->with_empty && series->facts[step].is_recorded;
	struct cell others = {};

	for (size_t i = 0; i < n; i++) {
		const struct cell *cell = &series->cells[ranked[i].group * series->n_steps + step];

		if (!cell->running && !cell->waiting)
			continue;
		is_empty = false;
		if (i < shown) {
			put_cell(series, start, strings_get(&series->names, ranked[i].group), cell,
				 stream);
		} else {
			others.running += cell->running;
			others.waiting += cell->waiting;
			others.idle += cell->idle;
		}
	}
	if (others.running || others.waiting || is_empty)
		put_cell(series, start, series->options->by == SERIES_ALL ? ALL : OTHERS, &others,
			 stream);
}

/* Of steps where something was lost; and of the first one, and where the rate is another one. */
static void put_mark(const struct series *series, size_t step, const struct step_facts *before,
		     FILE *stream)
{
	const struct step_facts *facts = &series->facts[step];
	uint64_t start = series->begin + step * series->step_ns;
	bool is_change = !before || facts->millihertz != before->millihertz ||
			 facts->effort != before->effort;
	const char *saving = facts->effort && facts->effort < N_EFFORTS
				     ? daemon_effort_text(facts->effort)
				     : NULL;
	struct json json = {.stream = stream};
	char when[MOMENT_SIZE];

	if (!facts->lost && !is_change)
		return;
	if (series->options->format == SERIES_TEXT) {
		moment_text(start, when);
		if (facts->lost)
			fprintf(stream, "%s  %" PRIu64 " samples or stacks are lost\n",
				when /* ours */, facts->lost);
		if (is_change)
			fprintf(stream, "%s  the rate is %g Hz%s%s\n", when /* ours */,
				facts->millihertz / 1e3, saving ? ", " : "",
				saving ? saving : "" /* ours */);
		return;
	}
	json_open(&json, NULL, '{');
	json_text(&json, "start", moment_utc(start, when));
	json_number(&json, "seconds", series->step_ns / 1e9, 3);
	if (facts->lost)
		json_count(&json, "lost", facts->lost);
	if (is_change)
		json_number(&json, "hertz", facts->millihertz / 1e3, 3);
	if (is_change && saving)
		json_text(&json, "saving", saving);
	json_close(&json, '}');
	fputc('\n', stream);
}

static void put_marks(const struct series *series, FILE *stream)
{
	const struct step_facts *before = NULL;

	for (size_t step = 0; step < series->n_steps; step++) {
		if (!series->facts[step].is_recorded)
			continue;
		put_mark(series, step, before, stream);
		before = &series->facts[step];
	}
}

static int put_series(const struct series *series, FILE *stream)
{
	static const char *const heads[] = {
		[SERIES_TEXT] =
			"start                  running s      waiting s    of it idle  group\n",
		[SERIES_CSV] = "start,seconds,group,running_seconds,waiting_seconds,idle_seconds\n",
		[SERIES_NDJSON] = "",
	};
	size_t n, shown = series->options->limit;
	struct ranked *ranked = rank(series, &n);

	if (!ranked)
		return -ENOMEM;
	if (!shown || shown > n)
		shown = n;
	fputs(heads[series->options->format] /* ours */, stream);
	for (size_t step = 0; step < series->n_steps; step++)
		put_step(series, step, ranked, n, shown, stream);
	if (series->options->with_marks)
		put_marks(series, stream);
	free(ranked);
	return 0;
}

static void say_damage(const struct store_answer *answer)
{
	if (answer->n_damaged)
		text_print(stderr, "bpfflame: %zu damaged file%s, the first is %s\n",
			   answer->n_damaged, answer->n_damaged == 1 ? "" : "s", answer->damaged);
	store_input_say_unread(answer->n_unread, answer->unread);
	if (!answer->end)
		store_input_say_nothing(answer);
}

static void set_step(struct series *series, struct store_question *question, uint64_t step_ns)
{
	series->step_ns = question->step_ns = step_ns;
	series->begin = question->from - question->from % step_ns;
	series->n_steps = (question->to - series->begin + step_ns - 1) / step_ns;
	/* Minutes do not fit into shorter steps. */
	question->is_finest = step_ns < store_level_ns(LEVEL_MINUTE);
}

/* By steps of our choice, which are longer where what was recorded is not kept any more. */
static int read_steps(struct series *series, struct store_question *question,
		      struct store_answer *answer, struct failure *failure)
{
	int r = store_read(question, answer, failure);

	if (r < 0 || series->options->step_ns || !question->is_finest || !answer->coarser_ns)
		return r;
	set_step(series, question, store_level_ns(LEVEL_MINUTE));
	return store_read(question, answer, failure);
}

static int print_answer(struct series *series, struct store_question *question, FILE *stream,
			struct failure *failure)
{
	const struct series_options *options = series->options;
	struct store_answer answer;
	int r;

	series->facts = calloc(series->n_steps, sizeof *series->facts);
	if (!series->facts)
		return -ENOMEM;
	r = strings_init(&series->names);
	if (r < 0)
		return r;
	r = series_function_init(&series->function, options->function);
	if (r < 0)
		return r;
	r = read_steps(series, question, &answer, failure);
	if (r < 0)
		return r;
	if (!options->quiet)
		say_damage(&answer);
	return put_series(series, stream);
}

int store_series_print(const struct series_options *options, FILE *stream, struct failure *failure)
{
	uint64_t length = options->to - options->from;
	struct series series = {.options = options};
	struct store_question question = {
		.path = options->store,
		.from = options->from,
		.to = options->to,
		.is_series = options->by != SERIES_FUNCTION && !options->function &&
			     !options->filter.n_pids,
		.wants_pids = options->filter.n_pids,
		.on_window = count_window,
		.context = &series,
	};
	int r;

	set_step(&series, &question, options->step_ns ? options->step_ns : choose_step(length));
	if (series.n_steps > MOST_STEPS)
		return failure_set(failure, -EINVAL, "--step: the range has more than %d of them",
				   MOST_STEPS);
	r = print_answer(&series, &question, stream, failure);
	strings_done(&series.names);
	series_function_done(&series.function);
	free(series.facts);
	free(series.known);
	free(series.cells);
	free(series.totals);
	return r;
}

/* What there is */

static const char *const gap_texts[N_STORE_GAPS] = {
	[GAP_NONE] = "unknown",	   [GAP_STARTED] = "not recording", [GAP_SUSPENDED] = "suspended",
	[GAP_CLOCK] = "clock set", [GAP_LOST] = "not written",
};

static void list_file(const struct store_file *file, enum series_format format, FILE *stream)
{
	char level[32], begin[MOMENT_SIZE], end[MOMENT_SIZE];
	struct json json = {.stream = stream};

	store_level_name(file->header.level, file->header.kind, level);
	switch (format) {
	case SERIES_TEXT:
		text_print(stream, "%-8s %s  %s  %7" PRIu64 " windows %10" PRIu64 " bytes  %s%s\n",
			   level, moment_text(file->begin, begin), moment_text(file->end, end),
			   file->n_blocks, file->bytes, file->name,
			   file->rest ? "  (ends within a window)" : "");
		break;
	case SERIES_CSV:
		fprintf(stream, "%s,%s,%s,%" PRIu64 ",%" PRIu64 ",", level /* ours */,
			moment_utc(file->begin, begin) /* ours */,
			moment_utc(file->end, end) /* ours */, file->n_blocks, file->bytes);
		put_csv(stream, file->name);
		fputc('\n', stream);
		break;
	case SERIES_NDJSON:
		json_open(&json, NULL, '{');
		json_text(&json, "level", level);
		json_text(&json, "begin", moment_utc(file->begin, begin));
		json_text(&json, "end", moment_utc(file->end, end));
		json_count(&json, "windows", file->n_blocks);
		json_count(&json, "bytes", file->bytes);
		json_text(&json, "file", file->name);
		json_close(&json, '}');
		fputc('\n', stream);
		break;
	}
}

static void list_gap(uint64_t begin, uint64_t end, enum store_gap gap, enum series_format format,
		     FILE *stream)
{
	char from[MOMENT_SIZE], to[MOMENT_SIZE];
	struct json json = {.stream = stream};

	switch (format) {
	case SERIES_TEXT:
		fprintf(stream, "gap      %s  %s  %s\n", moment_text(begin, from) /* ours */,
			moment_text(end, to) /* ours */, gap_texts[gap] /* ours */);
		break;
	case SERIES_CSV:
		fprintf(stream, "gap,%s,%s,,,%s\n", moment_utc(begin, from) /* ours */,
			moment_utc(end, to) /* ours */, gap_texts[gap] /* ours */);
		break;
	case SERIES_NDJSON:
		json_open(&json, NULL, '{');
		json_text(&json, "gap", gap_texts[gap]);
		json_text(&json, "begin", moment_utc(begin, from));
		json_text(&json, "end", moment_utc(end, to));
		json_close(&json, '}');
		fputc('\n', stream);
		break;
	}
}

static bool reaches(const struct list_range *range, uint64_t begin, uint64_t end)
{
	return begin < range->to && end > range->from;
}

/* The windows of the finest level. */
struct list_windows {
	struct segment_block *items;
	size_t n, capacity;
};

static int add_windows(struct list_windows *windows, struct segment_reader *reader)
{
	struct segment_block block;
	int r = 0;

	while (r == 0 && segment_peek(reader, &block) > 0) {
		r = array_add(windows->items, windows->capacity, windows->n, block);
		segment_pass(reader, &block);
	}
	return r;
}

static int find_windows(const struct store_files *files, struct list_windows *windows)
{
	for (size_t i = 0; i < files->n; i++) {
		const struct store_file *file = &files->items[i];
		struct segment_reader reader;
		int fd, r;

		if (file->level != LEVEL_FINEST)
			continue;
		fd = store_file_open(files, file);
		if (fd < 0 || segment_open(&reader, fd) < 0)
			continue;
		r = add_windows(windows, &reader);
		segment_reader_done(&reader);
		if (r < 0)
			return r;
	}
	return 0;
}

static int compare_starts(const void *a, const void *b)
{
	uint64_t start_a = ((const struct segment_block *)a)->start;
	uint64_t start_b = ((const struct segment_block *)b)->start;

	return (start_a > start_b) - (start_a < start_b);
}

/*
 * Where no window lies. Windows lie side by side where the clock was set back: a gap that another
 * one covers is a moment.
 */
static void list_gaps(const struct list_windows *windows, const struct list_range *range,
		      enum series_format format, FILE *stream)
{
	uint64_t end = windows->n ? windows->items[0].start : 0;

	for (size_t i = 0; i < windows->n; i++) {
		const struct segment_block *window = &windows->items[i];
		uint64_t begin = end < window->start ? end : window->start;
		uint64_t window_end = window->start + window->span;

		if (i && (window->start > end + NSEC_PER_SEC / 2 || window->gap) &&
		    reaches(range, begin, window->start))
			list_gap(begin, window->start, window->gap, format, stream);
		end = window_end > end ? window_end : end;
	}
}

static int list_files(const struct store_files *files, const struct list_range *range,
		      enum series_format format, FILE *stream)
{
	struct list_windows windows = {};
	int r = find_windows(files, &windows);

	if (r == 0 && format == SERIES_CSV)
		fputs("level,begin,end,windows,bytes,file\n", stream);
	for (size_t i = 0; r == 0 && i < files->n; i++) {
		const struct store_file *file = &files->items[i];

		/* A file whose first window is still open says nothing to a person. */
		if ((file->n_blocks || file->rest || format != SERIES_TEXT) &&
		    reaches(range, file->begin, file->end))
			list_file(file, format, stream);
	}
	if (r == 0 && windows.n) {
		qsort(windows.items, windows.n, sizeof *windows.items, compare_starts);
		list_gaps(&windows, range, format, stream);
	}
	free(windows.items);
	return r;
}

int store_list_print(const char *store, const struct list_range *range, enum series_format format,
		     FILE *stream, struct failure *failure)
{
	struct store_files files;
	int r = store_files_read(store, &files);

	if (r < 0)
		store_fail(r, store, failure);
	else
		r = list_files(&files, range, format, stream);
	if (files.n_unknown)
		text_print(stderr, "bpfflame: %zu file%s of another version, the first is %s\n",
			   files.n_unknown, files.n_unknown == 1 ? "" : "s", files.unknown);
	store_input_say_unread(files.n_unread, files.unread);
	if (files.n_damaged)
		text_print(stderr,
			   "bpfflame: %zu file%s can't be read as segments, the first is %s\n",
			   files.n_damaged, files.n_damaged == 1 ? "" : "s", files.damaged);
	store_files_done(&files);
	return r;
}
