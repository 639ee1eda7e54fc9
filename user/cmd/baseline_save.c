/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * baseline_save: reads runs one after another, each in a confined process, and keeps each as pprof
 * without loss: memory is that of one run.
 *
 * The facts describe the machine that saves, since a profile does not name its CPU. If a profile
 * names another host or kernel, it is from elsewhere, and this machine's facts don't apply.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/array.h"
#include "base/system.h"
#include "base/text.h"
#include "base/utf8.h"
#include "base/output.h"
#include "cmd/baseline.h"
#include "cmd/cmd.h"
#include "cmd/confine.h"
#include "cli/inputs.h"
#include "cli/run_files.h"
#include "cli/view_options.h"
#include "export/export.h"
#include "store/checkout.h"

/* The first of the environment variables with a value. */
static const char *first_of(const char *const *names)
{
	for (; *names; names++) {
		const char *value = getenv(*names);

		if (value && *value)
			return value;
	}
	return NULL;
}

static int refuse_commit(int error, struct failure *failure)
{
	failure_set(failure, -EINVAL,
		    error == -ENOENT	? "no commit to save it under: this is no git repository, "
					  "or one that git refuses"
		    : error == -ENOPKG	? "no commit to save it under: git is not installed"
		    : error == -ENODATA ? "no commit to save it under: git's HEAD names none"
					: "no commit to save it under: cannot run git: %s",
		    strerror(-error));
	return failure_fix(failure, -EINVAL, "add --commit ID");
}

/* From the options, the CI job, or the checkout, in this order. */
static int find_commit(const struct baseline_options *options, struct baseline *baseline,
		       struct failure *failure)
{
	static const char *const commits[] = {"GITHUB_SHA", "CI_COMMIT_SHA", NULL};
	static const char *const branches[] = {"GITHUB_HEAD_REF", "GITHUB_REF_NAME",
					       "CI_COMMIT_REF_NAME", NULL};
	const char *commit = options->commit ? options->commit : first_of(commits);
	const char *branch = options->branch ? options->branch : first_of(branches);
	struct checkout checkout = {};
	int r = commit && branch ? 0 : checkout_read(".", &checkout);

	if (!commit && r < 0)
		return refuse_commit(r, failure);
	if (!commit)
		commit = checkout.commit;
	/* The branch belongs to the commit that is checked out, and to no other. */
	if (!branch && strcmp(commit, checkout.commit) == 0)
		branch = checkout.branch;
	r = baselines_check_key("commit", commit, failure);
	if (r < 0)
		return r;
	baseline_copy(baseline->commit, commit);
	baseline_copy(baseline->branch, branch ? branch : "");
	return 0;
}

/* Accepts one line of text that terminals and tables can show. */
static int check_text(const char *option, const char *text, size_t size, struct failure *failure)
{
	if (!text)
		return 0;
	if (strlen(text) >= size)
		return failure_set(failure, -EINVAL, "%s is longer than %zu bytes", option,
				   size - 1);
	if (utf8_span(text) != strlen(text))
		return failure_set(failure, -EINVAL, "%s is not UTF-8", option);
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			return failure_set(failure, -EINVAL, "%s contains a control character",
					   option);
	return 0;
}

/* The baseline while it is saved. */
struct save {
	const struct baseline_options *options;
	struct baseline baseline;
	size_t capacity; /* of its runs */
	struct baselines_saving saving;
	bool is_elsewhere, mixes_frequencies;
	bool is_said;			/* the reason for the failure was printed */
	char first[BASELINE_TEXT_SIZE]; /* the path of the first run */
};

/* The findings of the process that reads a run: limited, and as untrusted as the run. */
struct run_facts {
	enum profile_mode mode;
	double frequency;
	char event[BASELINE_TEXT_SIZE], host[BASELINE_TEXT_SIZE], kernel[BASELINE_TEXT_SIZE];
	struct baseline_run run;
};

static void find_facts(const struct profile *profile, struct run_facts *ret)
{
	const struct profile_event *event = profile_event(profile);

	*ret = (struct run_facts){.mode = profile->mode,
				  .frequency = profile->frequency,
				  .run = {.start_realtime_ns = profile->start_realtime_ns,
					  .duration_ns = profile->duration_ns}};
	if (event)
		baseline_copy(ret->event, strings_get(&profile->strings, event->name));
	baseline_copy(ret->host, strings_get(&profile->strings, profile->host));
	baseline_copy(ret->kernel, strings_get(&profile->strings, profile->kernel));
	for (size_t i = 0; i < profile->n_samples; i++) {
		ret->run.samples += profile->samples[i].count;
		/* On-CPU it is events, if anything. */
		if (profile->mode != PROFILE_ONCPU)
			ret->run.nanoseconds += profile->samples[i].nanoseconds;
	}
}

struct run_reader {
	struct save *save;
	char *path;
	FILE *stream;		 /* its destination */
	struct run_facts *facts; /* shared with the process that reads */
};

static int write_input(const struct run_reader *reader, const struct input *input,
		       const struct unfold_options *unfold, struct failure *failure)
{
	const struct baseline_run *run = &reader->facts->run;
	int r;

	find_facts(input->profile, reader->facts);
	if (input->base)
		return failure_set(failure, -EINVAL,
				   "%s has two columns of values: it is a comparison",
				   reader->path);
	if (!run->samples && !run->nanoseconds)
		return failure_set(failure, -EINVAL, "%s has no samples in it: nothing to compare",
				   reader->path);
	r = export_pprof(input->profile, unfold, reader->stream);
	if (r < 0)
		return r;
	r = output_flush(reader->stream);
	return r < 0 ? output_fail(failure, r, "write", reader->save->options->folder) : 0;
}

/* Errors: -EINVAL if it is not a profile, or an empty one. */
static int convert(const struct run_reader *reader, struct failure *failure)
{
	const struct view_options everything = VIEW_OPTIONS_OF_FILES;
	struct input input;
	int r = inputs_read(&reader->path, 1, &everything.stacks, reader->save->options->quiet,
			    &input, failure);

	if (r < 0)
		return r;
	r = write_input(reader, &input, &everything.stacks.unfold, failure);
	input_done(&input);
	return r;
}

/* The confined process's work: returns its exit code. */
static int read_run(void *data)
{
	struct failure failure = {};

	return convert(data, &failure) < 0 ? cli_fail(&failure, EXIT_FAILED) : EXIT_DONE;
}

static int write_run(void *data, FILE *stream)
{
	struct run_reader *reader = data;
	const struct confine_files files = {.inputs = {{&reader->path, 1}}};

	reader->stream = stream;
	if (cmd_confine(&files, read_run, reader) == EXIT_DONE)
		return 0;
	reader->save->is_said = true;
	return -ECANCELED;
}

/* The first run sets the kind of all. */
static int check_kind(struct save *save, const struct run_facts *facts, const char *path,
		      struct failure *failure)
{
	struct baseline *baseline = &save->baseline;

	if (!baseline->n_runs) {
		baseline->mode = facts->mode;
		baseline->frequency = facts->frequency;
		baseline_copy(baseline->event, facts->event);
		baseline_copy(save->first, path);
		save->is_elsewhere =
			baseline_take_place(facts->host, facts->kernel, &baseline->machine);
		return 0;
	}
	if (facts->mode != baseline->mode)
		return failure_set(failure, -EINVAL,
				   "%s is %s and %s is %s: save them under two names", save->first,
				   profile_mode_name(baseline->mode), path,
				   profile_mode_name(facts->mode));
	if (strcmp(facts->event, baseline->event) != 0)
		return failure_set(failure, -EINVAL,
				   "%s and %s are of two events: save them under two names",
				   save->first, path);
	save->mixes_frequencies |= facts->frequency != baseline->frequency;
	return 0;
}

/* Copies them: the other process has ended, but checked values must not change. */
static int check_facts(const struct run_facts *shared, struct run_facts *ret)
{
	*ret = *shared;
	ret->event[sizeof ret->event - 1] = ret->host[sizeof ret->host - 1] =
		ret->kernel[sizeof ret->kernel - 1] = '\0';
	return ret->mode > PROFILE_WALL ? -EPROTO : 0;
}

static int save_run(struct save *save, char *path, struct run_facts *shared,
		    struct failure *failure)
{
	struct baseline *baseline = &save->baseline;
	struct run_reader reader = {.save = save, .path = path, .facts = shared};
	struct run_facts facts;
	uint64_t bytes;
	int r = baselines_saving_add(&save->saving, write_run, &reader, &bytes, failure);

	if (r < 0)
		return r;
	r = check_facts(shared, &facts);
	if (r < 0)
		return r;
	r = check_kind(save, &facts, path, failure);
	if (r < 0)
		return r;
	facts.run.bytes = bytes;
	baseline_copy(facts.run.source, strcmp(path, "-") == 0 ? "standard input" : path);
	return array_add(baseline->runs, save->capacity, baseline->n_runs, facts.run);
}

static int find_files(const struct baseline_options *options, struct run_files *files,
		      struct failure *failure)
{
	int r = inputs_check(options->arguments + 1, options->n_arguments - 1, failure);

	if (r < 0)
		return r;
	for (size_t i = 1; i < options->n_arguments; i++) {
		r = run_files_add(files, options->arguments[i], failure);
		if (r < 0)
			return r;
	}
	if (files->n > BASELINE_MAX_RUNS)
		return failure_set(failure, -EINVAL,
				   "%zu files are more than a baseline can hold, %d", files->n,
				   BASELINE_MAX_RUNS);
	return 0;
}

static int save_runs(struct save *save, const struct run_files *files, struct run_facts *shared,
		     struct failure *failure)
{
	struct baseline *baseline = &save->baseline;
	int r = baselines_saving_begin(save->options->folder, baseline->name, baseline->commit,
				       save->options->replace, &save->saving, failure);

	if (r < 0)
		return r;
	for (size_t i = 0; i < files->n; i++) {
		r = save_run(save, files->paths[i], shared, failure);
		if (r < 0)
			return r;
	}
	baseline->saved_ns = realtime_ns();
	return baselines_saving_commit(&save->saving, baseline, failure);
}

static int save_files(struct save *save, const struct run_files *files, struct failure *failure)
{
	struct run_facts *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
					MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int r;

	if (shared == MAP_FAILED)
		return -ENOMEM;
	r = save_runs(save, files, shared, failure);
	munmap(shared, sizeof *shared);
	baselines_saving_abort(&save->saving);
	return r;
}

static void warn(const struct save *save)
{
	const struct machine *machine = &save->baseline.machine;

	if (save->is_elsewhere)
		baseline_say("%s was recorded on another machine (%s%s%s): its CPU is not known; "
			     "save where you record",
			     save->first, machine->host,
			     *machine->host && *machine->kernel ? ", " : "", machine->kernel);
	if (save->mixes_frequencies)
		baseline_say("the runs were sampled at different frequencies");
}

static void say_saved(const struct save *save, size_t n_removed)
{
	const struct baseline *baseline = &save->baseline;
	char total[TEXT_FIGURE_SIZE];
	bool is_counted = baseline->mode == PROFILE_ONCPU;

	if (is_counted)
		text_count(total, baseline_total(baseline));
	else
		text_time(total, baseline_total(baseline));
	baseline_say("saved %s@%s%s%s%s: %zu run%s, %s%s, in %s", baseline->name, baseline->commit,
		     *baseline->branch ? " (" : "", baseline->branch, *baseline->branch ? ")" : "",
		     baseline->n_runs, baseline->n_runs == 1 ? "" : "s", total,
		     is_counted ? " samples" : "", save->options->folder);
	if (n_removed)
		baseline_say("removed %zu older", n_removed);
}

static int prepare(struct save *save, struct failure *failure)
{
	const struct baseline_options *options = save->options;
	struct baseline *baseline = &save->baseline;
	int r = baselines_check_key("name", options->arguments[0], failure);

	if (r < 0)
		return r;
	r = check_text("--branch", options->branch, sizeof baseline->branch, failure);
	if (r < 0)
		return r;
	r = check_text("--note", options->note, sizeof baseline->note, failure);
	if (r < 0)
		return r;
	r = find_commit(options, baseline, failure);
	if (r < 0)
		return r;
	r = check_text("the name of the branch", baseline->branch, sizeof baseline->branch,
		       failure);
	if (r < 0)
		return r;
	baseline_copy(baseline->name, options->arguments[0]);
	baseline_copy(baseline->note, options->note ? options->note : "");
	baseline_copy(baseline->version, BPFFLAME_VERSION);
	machine_read("", &baseline->machine);
	return 0;
}

static int save_and_rotate(struct save *save, struct run_files *files, struct failure *failure)
{
	const struct baseline_options *options = save->options;
	size_t n_removed = 0;
	int r = find_files(options, files, failure);

	if (r < 0)
		return r;
	r = save_files(save, files, failure);
	if (r < 0)
		return r;
	if (options->keep) {
		r = baselines_rotate(options->folder, &save->baseline, options->keep, &n_removed,
				     failure);
		if (r < 0)
			return r;
	}
	if (!options->quiet) {
		warn(save);
		say_saved(save, n_removed);
	}
	return 0;
}

int baseline_save(const struct baseline_options *options)
{
	struct save save = {.options = options, .saving = BASELINES_SAVING_NONE};
	struct run_files files = {};
	struct failure failure = {};
	int r = prepare(&save, &failure);

	if (r < 0)
		return cli_fail(&failure, EXIT_USAGE);
	r = save_and_rotate(&save, &files, &failure);
	run_files_done(&files);
	baseline_done(&save.baseline);
	if (r == 0)
		return EXIT_DONE;
	return save.is_said ? EXIT_FAILED : cli_fail(&failure, EXIT_FAILED);
}
