/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * baseline_compare: runs `bpfflame diff` with the runs of a baseline as its base, and passes on all
 * other arguments. Before that it reports how the machines differ, since then times and even shares
 * of the same program differ.
 */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/baseline.h"
#include "cmd/diff.h"
#include "cli/run_files.h"

/* The row of ours that @argument matches; *@ret_value: the part after its `=`, or NULL. */
static const struct option_row *row_of(const struct option_table *tables, size_t n_tables,
				       const char *argument, const struct option_table **ret_table,
				       const char **ret_value)
{
	size_t n = strcspn(argument, "=");

	*ret_value = argument[n] ? argument + n + 1 : NULL;
	for (size_t t = 0; t < n_tables; t++)
		for (size_t i = 0; i < tables[t].n_rows; i++) {
			const struct option_row *row = &tables[t].rows[i];
			bool is_letter = row->letter && argument[0] == '-' &&
					 argument[1] == row->letter && !argument[2];
			bool is_name = strncmp(argument, "--", 2) == 0 &&
				       strlen(row->name) == n - 2 &&
				       strncmp(argument + 2, row->name, n - 2) == 0;

			*ret_table = &tables[t];
			if (is_letter || is_name)
				return row;
		}
	return NULL;
}

/*
 * Only whole names are ours: an abbreviation may be one of diff's. Our options have no values that
 * begin with a dash. Options before the name must be ours: it is unknown here which of diff's take
 * a value.
 */
int baseline_take_compare(int argc, char **argv, const struct option_table *tables, size_t n_tables,
			  struct baseline_options *options, struct failure *failure)
{
	int n = 1;

	for (int i = 1; i < argc; i++) {
		const struct option_table *table;
		const char *value;
		const struct option_row *row = row_of(tables, n_tables, argv[i], &table, &value);
		int r;

		if (!row && n == 1 && argv[i][0] == '-') {
			failure_set(failure, -EINVAL, "%s comes before the name of the baseline",
				    argv[i]);
			return failure_fix(failure, -EINVAL,
					   "options of bpfflame diff come after it: bpfflame "
					   "baseline compare NAME NEW… %s …",
					   argv[i]);
		}
		if (!row) {
			argv[n++] = argv[i];
			continue;
		}
		if (row->argument && !value && ++i < argc)
			value = argv[i];
		if (!row->argument != !value)
			return failure_set(failure, -EINVAL, "--%s %s", row->name,
					   value ? "takes no value" : "needs a value");
		r = row->take(row, (char *)table->target + row->offset, value, failure);
		if (r < 0)
			return r;
	}
	options->arguments = argv + 1;
	options->n_arguments = n - 1;
	return 0;
}

/* Reasons against comparing the two. */
#define MAX_REMARKS 16

struct remarks {
	char lines[MAX_REMARKS][2 * BASELINE_TEXT_SIZE];
	size_t n;
};

__attribute__((format(printf, 2, 3))) static void remark(struct remarks *remarks,
							 const char *format, ...)
{
	va_list arguments;

	if (remarks->n == MAX_REMARKS)
		return;
	va_start(arguments, format);
	vsnprintf(remarks->lines[remarks->n++], sizeof remarks->lines[0], format, arguments);
	va_end(arguments);
}

/* Unknown facts are not compared. */
static void compare_texts(struct remarks *remarks, const char *what, const char *then,
			  const char *now)
{
	if (*then && *now && strcmp(then, now) != 0)
		remark(remarks, "%s differs: %s, now %s", what, then, now);
}

/* A frequency is restored from its period, a whole number of nanoseconds. */
static void compare_numbers(struct remarks *remarks, const char *what, double then, double now,
			    const char *unit)
{
	if (then && now && fabs(then - now) > 1e-4 * then)
		remark(remarks, "%s differs: %.6g%s, now %.6g%s", what, then, unit, now, unit);
}

static void compare_machines(struct remarks *remarks, const struct machine *then,
			     const struct machine *now)
{
	static const char *const virtual[] = {"", "not virtual", "virtual"};

	compare_texts(remarks, "CPU", then->cpu_model, now->cpu_model);
	compare_numbers(remarks, "number of CPUs", then->cpus, now->cpus, "");
	compare_texts(remarks, "architecture", then->architecture, now->architecture);
	compare_texts(remarks, "machine", virtual[then->is_virtual], virtual[now->is_virtual]);
	compare_numbers(remarks, "highest CPU frequency", then->max_kilohertz / 1e3,
			now->max_kilohertz / 1e3, " MHz");
	compare_texts(remarks, "CPU governor", then->governor, now->governor);
	compare_texts(remarks, "kernel", then->kernel, now->kernel);
	if (!*then->cpu_model && !then->cpus)
		remark(remarks, "the machine of the baseline is not known: it was saved on "
				"another one");
}

/* Compares the facts of the new recording; missing ones are this machine's. */
static void compare_facts(const struct stacks *stacks, const struct baseline *baseline,
			  const struct machine *here, struct remarks *remarks)
{
	const struct stacks_facts *facts = &stacks->facts[SIDE_NEW];
	const char *host = strings_get(&stacks->strings, facts->host);
	const char *kernel = strings_get(&stacks->strings, facts->kernel);
	struct machine now = *here;

	if (baseline_take_place(host, kernel, &now))
		remark(remarks, "the new recording is of another machine: its CPU is not known");
	compare_machines(remarks, &baseline->machine, &now);
	compare_texts(remarks, "event", baseline->event,
		      strings_get(&stacks->strings, facts->event));
	compare_numbers(remarks, "sampling frequency", baseline->frequency, facts->frequency,
			" Hz");
}

/* The callback's context, for when diff has read both sides. */
struct compare_job {
	const struct baseline_options *options;
	const struct baseline *baseline;
	struct machine here; /* read before: the process that compares opens nothing */
	char base_name[2 * BASELINE_KEY_SIZE];
	struct remarks remarks;
	const char *pointers[MAX_REMARKS + 1];
};

static int give_remarks(void *data, const struct stacks *stacks, const char *const **ret_remarks,
			struct failure *failure)
{
	struct compare_job *job = data;
	struct remarks *remarks = &job->remarks;

	compare_facts(stacks, job->baseline, &job->here, remarks);
	for (size_t i = 0; i < remarks->n; i++)
		job->pointers[i] = remarks->lines[i];
	*ret_remarks = job->pointers;
	if (!remarks->n || !job->options->same_machine)
		return 0;
	for (size_t i = 0; i < remarks->n; i++)
		baseline_say("%s", remarks->lines[i]);
	failure_set(failure, -EINVAL, "%s is not of this machine", job->base_name);
	return failure_fix(failure, -EINVAL, "save one here, or leave out --same-machine");
}

/*
 * Calls `diff --base RUN … [-q] NEW … OPTIONS`. @paths: of the runs. Without a baseline, it only
 * checks the options.
 */
static int call_diff(struct compare_job *job, char *const *paths, size_t n_paths)
{
	const struct baseline_options *options = job->options;
	const struct diff_caller caller = {job, job->base_name, give_remarks};
	char **argv = calloc(2 * n_paths + options->n_arguments + 3, sizeof *argv);
	size_t n = 0;
	int code;

	if (!argv)
		return cli_fail(&(struct failure){}, EXIT_FAILED);
	argv[n++] = "diff";
	for (size_t i = 0; i < n_paths; i++) {
		argv[n++] = "--base";
		argv[n++] = paths[i];
	}
	if (options->quiet)
		argv[n++] = "-q";
	for (size_t i = 1; i < options->n_arguments; i++)
		argv[n++] = options->arguments[i];
	code = job->baseline ? diff_run(n, argv, &caller) : diff_check(n, argv);
	free(argv);
	return code;
}

static int run_diff(const struct baseline_options *options, const struct baseline *baseline)
{
	struct compare_job job = {.options = options, .baseline = baseline};
	struct run_files runs = {.n = baseline->n_runs};
	int code;

	if (baselines_run_paths(options->folder, baseline, &runs.paths) < 0)
		return cli_fail(&(struct failure){}, EXIT_FAILED);
	machine_read("", &job.here);
	snprintf(job.base_name, sizeof job.base_name, "%s@%s", baseline->name, baseline->commit);
	code = call_diff(&job, runs.paths, runs.n);
	run_files_done(&runs);
	return code;
}

/* The first run of a pipeline has nothing to compare with; a wrong option shows in it already. */
static int say_missing(const struct baseline_options *options, int error,
		       const struct failure *failure)
{
	struct compare_job job = {.options = options};
	int code = call_diff(&job, NULL, 0);

	if (code != EXIT_DONE)
		return code;
	if (error != -ENOENT || !options->missing_ok)
		return cli_fail(failure, EXIT_FAILED);
	if (!options->quiet)
		cli_fail(failure, EXIT_DONE);
	return EXIT_DONE;
}

int baseline_compare(const struct baseline_options *options)
{
	const struct baseline *baseline;
	struct baseline_choice choice;
	struct failure failure = {};
	struct baselines_list list = {};
	int code;
	int r = baseline_parse_choice(options, options->arguments[0], &choice, &failure);

	if (r < 0)
		return cli_fail(&failure, EXIT_USAGE);
	r = baseline_choose(options, &choice, &list, &baseline, &failure);
	if (r < 0) {
		baselines_list_done(&list);
		return say_missing(options, r, &failure);
	}
	code = run_diff(options, baseline);
	baselines_list_done(&list);
	return code;
}
