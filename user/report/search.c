/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/search.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "core/matcher.h"
#include "report/ranking.h"

/* A process, or several of a command that have no pid. */
struct search_process {
	uint32_t pid, comm;
	uint64_t total, running; /* ns */
};

struct search {
	const struct search_options *options;
	const struct profile *profile;
	bool leaves_idle; /* the stacks are without waits for work */
	struct matcher matcher;
	struct ranking ranking; /* functions */
	struct search_process *processes;
	size_t n_processes;
};

/* Functions */

/* Keeps the rows whose name matches. Tests each by its own number: names of rows differ. */
static int keep_functions(struct search *search)
{
	struct matcher *matcher = &search->matcher;
	struct ranking *ranking = &search->ranking;
	size_t n = 0;

	for (size_t i = 0; i < ranking->n_rows; i++) {
		const struct ranking_row *row = &ranking->rows[i];
		int r = row->kind >= FRAME_NOTE ? 0
			: matcher->is_set	? matcher_test(matcher, i, row->name)
						: 1;

		if (r < 0)
			return r;
		if (r)
			ranking->rows[n++] = *row;
	}
	ranking->n_rows = n;
	ranking->has_idle = false;
	return 0;
}

/* Processes */

static bool is_running(const struct profile_sample *sample)
{
	return sample->reason == REASON_NONE || sample->reason == REASON_ONCPU;
}

static int compare_identity(const void *left, const void *right)
{
	const struct search_process *a = left, *b = right;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return (a->comm > b->comm) - (a->comm < b->comm);
}

static int compare_total(const void *left, const void *right)
{
	const struct search_process *a = left, *b = right;

	if (a->total != b->total)
		return a->total > b->total ? -1 : 1;
	return compare_identity(left, right);
}

/* A process for each sample whose command matches. */
static int list_processes(struct search *search)
{
	struct matcher *matcher = &search->matcher;
	const struct profile *profile = search->profile;

	search->processes = calloc(profile->n_samples + 1, sizeof *search->processes);
	if (!search->processes)
		return -ENOMEM;
	for (size_t i = 0; i < profile->n_samples; i++) {
		const struct profile_sample *sample = &profile->samples[i];
		int r = !matcher->is_set
				? 1
				: matcher_test(matcher, sample->comm,
					       strings_get(&profile->strings, sample->comm));

		if (r < 0)
			return r;
		if (!r || (search->leaves_idle && sample->is_idle))
			continue;
		search->processes[search->n_processes++] =
			(struct search_process){sample->pid, sample->comm, sample->nanoseconds,
						is_running(sample) ? sample->nanoseconds : 0};
	}
	return 0;
}

static void merge_processes(struct search *search)
{
	struct search_process *all = search->processes;
	size_t n = 0;

	qsort(all, search->n_processes, sizeof *all, compare_identity);
	for (size_t i = 0; i < search->n_processes; i++) {
		if (n && compare_identity(&all[n - 1], &all[i]) == 0) {
			all[n - 1].total += all[i].total;
			all[n - 1].running += all[i].running;
		} else {
			all[n++] = all[i];
		}
	}
	search->n_processes = n;
	qsort(all, n, sizeof *all, compare_total);
}

static int find(struct search *search, const struct report_source *source)
{
	int r = matcher_init(&search->matcher, search->options->expression);

	if (r < 0)
		return r;
	r = ranking_make(source, REPORT_FUNCTIONS, true, &search->ranking);
	if (r < 0)
		return r;
	r = keep_functions(search);
	if (r < 0)
		return r;
	matcher_forget(&search->matcher);
	r = list_processes(search);
	if (r < 0)
		return r;
	merge_processes(search);
	return 0;
}

/* Output */

static size_t shown_of(const struct search *search, size_t n)
{
	size_t limit = search->options->limit;

	return limit && limit < n ? limit : n;
}

static void write_function(struct json *json, const struct ranking_row *row)
{
	json_open(json, NULL, '{');
	json_text(json, "name", row->name);
	json_text(json, "module", row->module);
	json_text(json, "kind", ranking_kind_names[row->kind]);
	json_number(json, "self_seconds", row->self / 1e9, 6);
	json_number(json, "total_seconds", row->total / 1e9, 6);
	json_number(json, "running_seconds", row->total_running / 1e9, 6);
	json_close(json, '}');
}

static void write_process(const struct search *search, struct json *json,
			  const struct search_process *process)
{
	json_open(json, NULL, '{');
	if (process->pid)
		json_count(json, "pid", process->pid);
	else
		json_null(json, "pid");
	json_text(json, "comm", strings_get(&search->profile->strings, process->comm));
	json_number(json, "total_seconds", process->total / 1e9, 6);
	json_number(json, "running_seconds", process->running / 1e9, 6);
	json_close(json, '}');
}

static void write_json(const struct search *search, const struct report_source *source,
		       FILE *stream)
{
	size_t n_functions = shown_of(search, search->ranking.n_rows),
	       n_processes = shown_of(search, search->n_processes);
	struct json json = {.stream = stream};

	json_open(&json, NULL, '{');
	json_number(&json, "total_seconds", source->whole / 1e9, 6);
	json_open(&json, "functions", '[');
	for (size_t i = 0; i < n_functions; i++)
		write_function(&json, &search->ranking.rows[i]);
	json_close(&json, ']');
	json_count(&json, "functions_left_out", search->ranking.n_rows - n_functions);
	json_open(&json, "processes", '[');
	for (size_t i = 0; i < n_processes; i++)
		write_process(search, &json, &search->processes[i]);
	json_close(&json, ']');
	json_count(&json, "processes_left_out", search->n_processes - n_processes);
	json_close(&json, '}');
	fputc('\n', stream);
}

static void write_text(const struct search *search, FILE *stream)
{
	size_t n_functions = shown_of(search, search->ranking.n_rows),
	       n_processes = shown_of(search, search->n_processes);

	text_print(stream, "%12s %12s %12s  function, %zu of %zu\n", "self s", "total s",
		   "running s", n_functions, search->ranking.n_rows);
	for (size_t i = 0; i < n_functions; i++) {
		const struct ranking_row *row = &search->ranking.rows[i];

		text_print(stream, "%12.3f %12.3f %12.3f  %s%s%s\n", row->self / 1e9,
			   row->total / 1e9, row->total_running / 1e9, row->name,
			   *row->module ? "  " : "", row->module);
	}
	fputc('\n', stream);
	text_print(stream, "%12s %12s %12s  process, %zu of %zu\n", "", "total s", "running s",
		   n_processes, search->n_processes);
	for (size_t i = 0; i < n_processes; i++) {
		const struct search_process *process = &search->processes[i];
		const char *comm = strings_get(&search->profile->strings, process->comm);
		char pid[16] = "";

		if (process->pid)
			snprintf(pid, sizeof pid, "%u", process->pid);
		text_print(stream, "%12s %12.3f %12.3f  %s\n", pid, process->total / 1e9,
			   process->running / 1e9, comm);
	}
}

int search_write(const struct profile *profile, const struct stacks *stacks,
		 const struct search_options *options, FILE *stream)
{
	struct search search = {
		.options = options, .profile = profile, .leaves_idle = stacks->idle > 0};
	struct report_source source;
	int r = report_source_init(&source, stacks);

	if (r < 0)
		return r;
	r = find(&search, &source);
	if (r == 0 && options->json)
		write_json(&search, &source, stream);
	else if (r == 0)
		write_text(&search, stream);
	matcher_done(&search.matcher);
	ranking_done(&search.ranking);
	free(search.processes);
	report_source_done(&source);
	return r;
}
