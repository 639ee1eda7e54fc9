/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/set_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/system.h"
#include "record/losses.h"
#include "render/sets_page.h"
#include "report/ranking.h"

/* Limit of names with the same stamp, after a clock was set back or from several recordings. */
#define MOST_NAMESAKES 1000

/* The allowed age of the page per byte of the list: about a millisecond per set. */
#define PAGE_NS_PER_BYTE 1000

struct set_job {
	const struct window_origin *origin;
	const struct record_options *options;
	struct collect_window *window;
	const char *source;
	struct set_report *report;
	struct set_folder folder;
	struct window_files files;
	struct sets sets; /* of this window */
};

const char *set_folder_path(const struct record_options *options)
{
	return options->outputs.folder ? options->outputs.folder : ".";
}

/* Names */

static bool any_is_there(const struct set_folder *folder, const struct window_files *files)
{
	for (size_t event = 0; event < files->n; event++)
		for (size_t i = 0; i < files->events[event].n; i++)
			if (set_folder_has(folder, basename(files->events[event].files[i].path)))
				return true;
	return false;
}

/* Chooses unused names: whatever the clock says, nothing is overwritten. */
static int choose_names(struct set_job *job, struct failure *failure)
{
	uint64_t start_ns = job->window->profile->start_realtime_ns;
	bool milliseconds = job->options->collect.every_ns % NSEC_PER_SEC != 0;
	char stamp[SET_STAMP_SIZE], *numbered = job->report->stamp;
	int r;

	set_stamp(start_ns, milliseconds, stamp);
	for (unsigned int i = 1; i <= MOST_NAMESAKES; i++) {
		if (i == 1)
			snprintf(numbered, sizeof job->report->stamp, "%s", stamp);
		else
			snprintf(numbered, sizeof job->report->stamp, "%s-%u", stamp, i);
		r = window_files_plan(job->options, numbered, &job->files, failure);
		if (r < 0 || !any_is_there(&job->folder, &job->files))
			return r;
		window_files_done(&job->files);
	}
	numbered[0] = '\0';
	return failure_set(failure, -EEXIST, "%s has files of %s already", job->folder.path, stamp);
}

static void remove_files(const struct set_folder *folder, const struct window_files *files)
{
	for (size_t event = 0; event < files->n; event++)
		for (size_t i = 0; i < files->events[event].n; i++)
			set_folder_unlink(folder, basename(files->events[event].files[i].path));
}

/* The list's facts about a set */

static uint64_t in_unit(const struct profile *profile, uint64_t weight)
{
	return profile->mode == PROFILE_ONCPU ? weight : (weight + 500) / 1000;
}

static int add_functions(struct sets *sets, const struct profile *profile,
			 const struct ranking *ranking)
{
	size_t n = ranking_functions(ranking);

	for (size_t i = 0; i < n && i < SET_MOST_FUNCTIONS; i++) {
		const struct ranking_row *row = &ranking->rows[i];
		char name[4096];
		int r;

		if (!row->self)
			break;
		snprintf(name, sizeof name, "%s%s", row->name, frame_kind_suffix(row->kind));
		r = sets_add_function(sets, name, row->module, in_unit(profile, row->self));
		if (r < 0)
			return r;
	}
	return 0;
}

static int add_commands(struct sets *sets, const struct profile *profile,
			const struct ranking *ranking)
{
	for (size_t i = 0, n = 0; i < ranking->n_rows && n < SET_MOST_COMMANDS; i++) {
		uint64_t total = in_unit(profile, ranking->rows[i].total);
		int r;

		if (!total || (ranking->has_idle && i == ranking->n_rows - 1))
			continue;
		r = sets_add_command(sets, ranking->rows[i].name, total);
		if (r < 0)
			return r;
		n++;
	}
	return 0;
}

/*
 * Sets the exact total, without earlier rounding, and the heaviest functions and commands of the
 * shown event.
 */
static int rank_functions(struct set_job *job)
{
	struct profile *profile = job->window->profile;
	struct stacks_options options = {.unfold = job->options->view.stacks.unfold};
	struct ranking functions = {}, commands = {};
	struct report_source source = {};
	struct stacks stacks = {};
	int r = stacks_init(&stacks, &options);

	if (r < 0)
		goto out;
	r = stacks_add(&stacks, profile, SIDE_NEW);
	if (r < 0)
		goto out;
	r = stacks_finish(&stacks, SCALE_ABSOLUTE);
	if (r < 0)
		goto out;
	job->sets.items[job->sets.n - 1].total =
		in_unit(profile, stacks.totals[0] + stacks.totals[1]);
	r = report_source_init(&source, &stacks);
	if (r < 0)
		goto out;
	r = ranking_make(&source, REPORT_FUNCTIONS, false, &functions);
	if (r < 0)
		goto out;
	r = add_functions(&job->sets, profile, &functions);
	if (r < 0)
		goto out;
	r = ranking_make(&source, REPORT_COMMANDS, true, &commands);
	if (r < 0)
		goto out;
	r = add_commands(&job->sets, profile, &commands);
out:
	ranking_done(&commands);
	ranking_done(&functions);
	report_source_done(&source);
	stacks_done(&stacks);
	return r;
}

static int add_losses(struct set_job *job)
{
	struct loss losses[N_LOSSES];

	losses_list(&job->report->totals, job->options->collect.mode, losses);
	for (size_t i = 0; i < N_LOSSES; i++) {
		int r = losses[i].n ? sets_add_loss(&job->sets, losses[i].key, losses[i].n) : 0;

		if (r < 0)
			return r;
	}
	return 0;
}

static int add_files(struct set_job *job, const struct output_files *files)
{
	for (size_t i = 0; i < files->n; i++) {
		const char *name = basename(files->files[i].path);
		struct stat st = {};
		int r;

		fstatat(job->folder.place.fd, name, &st, AT_SYMLINK_NOFOLLOW);
		r = sets_add_file(&job->sets, name, st.st_size);
		if (r < 0)
			return r;
	}
	return 0;
}

static const char *event_name(const struct set_job *job)
{
	const struct profile *profile = job->window->profile;

	return profile->n_events
		       ? strings_get(&profile->strings, profile->events[profile->event].name)
		       : job->source;
}

static const char *unit_name(const struct profile *profile)
{
	return profile->mode != PROFILE_ONCPU ? "microseconds"
	       : profile_is_counted(profile)  ? "events"
					      : "samples";
}

static double event_frequency(const struct profile *profile)
{
	return profile->mode == PROFILE_OFFCPU ? 0
	       : profile->n_events	       ? profile->events[profile->event].frequency
					       : profile->frequency;
}

static int add_texts(struct set_job *job, size_t event, struct set *set)
{
	const struct profile *profile = job->window->profile;
	const struct strings *strings = &profile->strings;
	char stem[WINDOW_STEM_SIZE], name[2 * WINDOW_STEM_SIZE];
	const struct {
		const char *text;
		uint32_t *ret_id;
	} texts[] = {
		{name, &set->name},
		{event_name(job), &set->event},
		{unit_name(profile), &set->unit},
		{BPFFLAME_VERSION, &set->version},
		{strings_get(strings, profile->host), &set->host},
		{strings_get(strings, profile->kernel), &set->kernel},
		{strings_get(strings, profile->command_line), &set->command_line},
	};

	window_stem(job->options, event, stem);
	snprintf(name, sizeof name, "%s-%s", job->report->stamp, stem);
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		int r = strings_add(&job->sets.strings, texts[i].text, texts[i].ret_id);

		if (r < 0)
			return r;
	}
	return 0;
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * part / whole : 0;
}

static int add_set(struct set_job *job, size_t event)
{
	struct profile *profile = job->window->profile;
	const struct totals *totals = &job->report->totals;
	const struct sample_totals *samples = &totals->events[event];
	struct set set = {
		.mode = profile->mode,
		.start_realtime_ns = profile->start_realtime_ns,
		.duration_ns = profile->duration_ns,
		.windows = totals->windows,
		.samples = profile->mode == PROFILE_OFFCPU ? samples->waiting : samples->running,
		.complete_percent = percent(samples->ends[STACK_COMPLETE], samples->weight),
		.loss_percent = losses_percent(totals, profile->mode),
	};
	int r;

	if (profile->n_events)
		profile_show_event(profile, event);
	set.frequency = event_frequency(profile);
	r = add_texts(job, event, &set);
	if (r < 0)
		return r;
	r = sets_add(&job->sets, &set);
	if (r < 0)
		return r;
	r = rank_functions(job);
	if (r < 0)
		return r;
	r = add_losses(job);
	if (r < 0)
		return r;
	return add_files(job, &job->files.events[event]);
}

static int fail(const struct set_job *job, int error, const char *name, struct failure *failure)
{
	return failure_set(failure, error, "cannot write %s/%s: %s", job->folder.path, name,
			   output_error(error));
}

static int list_sets(struct set_job *job)
{
	int r = sets_init(&job->sets);

	if (r < 0)
		return r;
	for (size_t event = 0; event < job->files.n; event++) {
		r = add_set(job, event);
		if (r < 0)
			return r;
	}
	return set_folder_append(&job->folder, &job->sets);
}

/* Files first, then their lines. */
static int write_sets(struct set_job *job, struct failure *failure)
{
	int r = choose_names(job, failure);

	if (r < 0)
		return r;
	r = window_files_put(&job->files, &job->folder.place, failure);
	if (r < 0)
		return r;
	r = window_write(job->window, job->options, &job->files, failure);
	if (r < 0)
		return r;
	r = list_sets(job);
	if (r < 0)
		return fail(job, r, SETS_INDEX, failure);
	job->report->is_listed = true;
	return 0;
}

/* The lists */

static int rotate(struct set_job *job, struct set_index *index)
{
	_cleanup_free_ bool *gone = calloc(index->sets.n + 1, sizeof *gone);
	size_t n_newest = job->sets.n ? job->sets.n : 1, n_gone;
	int r;

	if (!gone)
		return -ENOMEM;
	n_gone = sets_rotate(&index->sets, &job->options->keep, n_newest, realtime_ns(), gone);
	if (!n_gone)
		return 0;
	r = set_folder_remove(&job->folder, index, gone);
	if (r < 0)
		return r;
	job->report->removed = n_gone;
	set_index_done(index);
	return set_folder_read(&job->folder, index);
}

static int write_page(void *sets, FILE *stream)
{
	return render_sets_page(sets, stream);
}

/*
 * Whether to make the page again. A page of many sets takes long: with short ones, it is updated
 * only now and then, and at the end of the recording.
 */
static bool page_is_due(const struct set_job *job)
{
	uint64_t bytes = set_folder_index_bytes(&job->folder), now = realtime_ns(), then;
	struct stat st;

	if (job->window->is_last ||
	    fstatat(job->folder.place.fd, SETS_PAGE, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return true;
	then = st.st_mtim.tv_sec * NSEC_PER_SEC + st.st_mtim.tv_nsec;
	return now < then || now - then >= bytes * PAGE_NS_PER_BYTE;
}

static int write_lists(struct set_job *job, struct failure *failure)
{
	const struct set_limits *keep = &job->options->keep;
	bool limited = keep->sets || keep->age_ns || keep->bytes;
	bool due = page_is_due(job);
	struct set_index index = {};
	const char *name = SETS_INDEX;
	int r;

	if (!limited && !due)
		return 0;
	r = set_folder_read(&job->folder, &index);
	if (r < 0)
		goto out;
	if (limited) {
		r = rotate(job, &index);
		if (r < 0)
			goto out;
	}
	if (due) {
		name = SETS_PAGE;
		r = set_folder_write(&job->folder, SETS_PAGE, write_page, &index.sets);
	}
out:
	set_index_done(&index);
	return r < 0 ? fail(job, r, name, failure) : 0;
}

static int write_locked(struct set_job *job, struct failure *failure)
{
	struct failure later;
	int r = set_folder_lock(&job->folder), of_lists;

	if (r < 0)
		return set_folder_lock_failed(&job->folder, r, failure);
	r = write_sets(job, failure);
	if (r < 0)
		remove_files(&job->folder, &job->files);
	/* Even if there was no room: old sets may go. */
	of_lists = write_lists(job, r < 0 ? &later : failure);
	return r < 0 ? r : of_lists;
}

static int write_all(struct set_job *job, struct failure *failure)
{
	struct symbol_stats symbols = {};
	int r = window_name(job->window, job->origin, &symbols, failure);

	if (r < 0)
		return r;
	totals_of_window(job->window, &symbols, &job->report->totals);
	r = set_folder_open(set_folder_path(job->options), false, &job->folder, failure);
	if (r < 0)
		return r;
	r = write_locked(job, failure);
	set_folder_close(&job->folder);
	return r;
}

void set_write(const struct window_origin *origin, struct collect_window *window,
	       const char *source, struct set_report *report)
{
	struct set_job job = {
		.origin = origin,
		.options = origin->options,
		.window = window,
		.source = source,
		.report = report,
		.folder = SET_FOLDER_NONE,
	};

	report->error = write_all(&job, &report->failure);
	window_files_done(&job.files);
	sets_done(&job.sets);
}

void set_clean(const struct record_options *options, const struct set_report *report)
{
	struct window_files files = {};
	struct set_folder folder;
	struct failure failure;

	if (set_folder_open(set_folder_path(options), false, &folder, &failure) < 0)
		return;
	if (set_folder_try_lock(&folder) == 0) {
		set_folder_sweep(&folder);
		if (report->stamp[0] && !report->is_listed &&
		    window_files_plan(options, report->stamp, &files, &failure) == 0)
			remove_files(&folder, &files);
		window_files_done(&files);
	}
	set_folder_close(&folder);
}

/* A set whose files were removed by hand is removed. */
static void drop_missing(const struct set_folder *folder)
{
	struct set_index index = {};
	bool *gone;

	if (set_folder_read(folder, &index) < 0)
		return;
	gone = calloc(index.sets.n + 1, sizeof *gone);
	for (size_t i = 0; gone && i < index.sets.n; i++)
		gone[i] = !set_folder_has_any(folder, &index.sets, &index.sets.items[i]);
	if (gone)
		set_folder_remove(folder, &index, gone);
	free(gone);
	set_index_done(&index);
}

int set_prepare(const struct record_options *options, struct failure *failure)
{
	struct set_folder folder;
	int r = set_folder_open(set_folder_path(options), true, &folder, failure);

	if (r < 0)
		return r;
	r = set_folder_try_lock(&folder);
	if (r == 0) {
		set_folder_sweep(&folder);
		drop_missing(&folder);
	} else if (r == -EWOULDBLOCK) {
		r = 0; /* somebody else records there, too */
	} else {
		set_folder_lock_failed(&folder, r, failure);
	}
	set_folder_close(&folder);
	return r;
}
