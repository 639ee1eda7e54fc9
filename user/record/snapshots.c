/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/snapshots.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/broker.h"
#include "base/reader.h"
#include "base/system.h"
#include "base/text.h"
#include "cli/cli.h"
#include "record/set_writer.h"
#include "record/signals.h"
#include "symbol/names_later.h"

/* How often to check whether the last set is written. */
#define POLL_MS 20

#define CACHE_BYTES (24 << 20) /* of names; used as it fills */

struct snapshots {
	const struct window_origin *origin;
	bool has_progress;
	int nice;      /* of writers: ours before the recording */
	pid_t writer;  /* 0: none */
	pid_t learner; /* has written, and reads large files; 0: nobody */
	struct names_cache *cache;
	int writer_fd;		   /* a pidfd; -1: none */
	uint64_t n_events;	   /* sets of a window */
	struct set_report *report; /* shared with the writer */
	int last_error;		   /* of earlier sets; a repeated one is reported once */
	struct totals totals;
	struct snapshots_counts counts;
	struct window_files lists;
	bool names_ended; /* asked to stop while the last set is written */
};

static int name_lists(struct snapshots *snapshots)
{
	static const char *const names[] = {SETS_PAGE, SETS_INDEX};
	const char *folder = set_folder_path(snapshots->origin->options);
	struct output_files *files = &snapshots->lists.events[0];

	snapshots->lists.n = 1;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (asprintf(&files->files[i].path, "%s/%s", folder, names[i]) < 0)
			return -ENOMEM;
		files->n++;
	}
	return 0;
}

static int prepare(struct snapshots *snapshots, struct failure *failure)
{
	int r = name_lists(snapshots);

	if (r < 0)
		return r;
	r = names_cache_new(CACHE_BYTES, &snapshots->cache);
	if (r < 0)
		return r;
	return set_prepare(snapshots->origin->options, failure);
}

int snapshots_open(const struct window_origin *origin, bool has_progress, struct snapshots **ret,
		   struct failure *failure)
{
	struct snapshots *snapshots = calloc(1, sizeof *snapshots);
	void *shared;
	int r;

	if (!snapshots)
		return -ENOMEM;
	shared = mmap(NULL, sizeof *snapshots->report, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED) {
		free(snapshots);
		return -ENOMEM;
	}
	snapshots->origin = origin;
	snapshots->has_progress = has_progress;
	snapshots->nice = getpriority(PRIO_PROCESS, 0);
	snapshots->writer_fd = -1;
	snapshots->report = shared;
	r = prepare(snapshots, failure);
	if (r < 0) {
		snapshots_free(snapshots);
		return r;
	}
	*ret = snapshots;
	return 0;
}

static void note_cost(struct snapshots_counts *counts, const struct rusage *usage)
{
	uint64_t peak = usage->ru_maxrss * 1024ULL;

	counts->cpu_seconds += rusage_seconds(usage);
	if (peak > counts->peak_memory_bytes)
		counts->peak_memory_bytes = peak;
}

/* Stops reading what nobody needs any more. */
static void end_learner(struct snapshots *snapshots)
{
	struct rusage usage = {};

	if (!snapshots->learner)
		return;
	kill(snapshots->learner, SIGKILL);
	if (wait4(snapshots->learner, NULL, 0, &usage) == snapshots->learner)
		note_cost(&snapshots->counts, &usage);
	snapshots->learner = 0;
}

void snapshots_free(struct snapshots *snapshots)
{
	if (!snapshots)
		return;
	end_learner(snapshots);
	if (snapshots->writer)
		waitpid(snapshots->writer, NULL, 0);
	names_cache_free(snapshots->cache);
	closep(&snapshots->writer_fd);
	munmap(snapshots->report, sizeof *snapshots->report);
	window_files_done(&snapshots->lists);
	free(snapshots);
}

int snapshots_fd(const struct snapshots *snapshots)
{
	return snapshots ? snapshots->writer_fd : -1;
}

const struct totals *snapshots_totals(const struct snapshots *snapshots)
{
	return &snapshots->totals;
}

const struct snapshots_counts *snapshots_counts(const struct snapshots *snapshots)
{
	return &snapshots->counts;
}

const struct window_files *snapshots_lists(const struct snapshots *snapshots)
{
	static const struct window_files none;

	return snapshots->counts.written ? &snapshots->lists : &none;
}

/* The result of a writer */

static void clear_line(const struct snapshots *snapshots)
{
	if (snapshots->has_progress)
		fputs("\r\033[K", stderr);
}

static void tell_written(const struct snapshots *snapshots)
{
	const struct set_report *report = snapshots->report;

	if (!snapshots->origin->options->verbose)
		return;
	clear_line(snapshots);
	text_print(stderr, "bpfflame: %s written: %" PRIu64 " samples, %.2f s", report->stamp,
		   snapshots->origin->options->collect.mode == PROFILE_OFFCPU
			   ? report->totals.samples.waiting
			   : report->totals.samples.running,
		   report->totals.duration_ns / 1e9);
	if (report->totals.joined)
		fprintf(stderr, " of %" PRIu64 " windows", report->totals.windows);
	if (report->removed)
		fprintf(stderr, "; %" PRIu64 " old sets removed", report->removed);
	fputc('\n', stderr);
}

static void report_failure(struct snapshots *snapshots, const struct failure *failure, int error)
{
	if (error == snapshots->last_error && !snapshots->origin->options->verbose)
		return;
	clear_line(snapshots);
	cli_fail(failure, EXIT_FAILED);
	snapshots->last_error = error;
}

/* It could not report what it died of. */
static void note_death(struct snapshots *snapshots, int status, bool given_up)
{
	struct set_report *report = snapshots->report;

	if (given_up)
		report->error = failure_set(&report->failure, -EINTR,
					    "the last set was given up: asked to stop twice");
	else if (WIFSIGNALED(status))
		report->error =
			failure_set(&report->failure, -ECHILD,
				    "cannot write a set: killed by signal %d", WTERMSIG(status));
	else
		report->error =
			failure_set(&report->failure, -ECHILD, "cannot write a set: exit status %d",
				    WEXITSTATUS(status));
	set_clean(snapshots->origin->options, report);
}

/* Reports which file was given up, once. */
static void note_names(struct snapshots *snapshots)
{
	uint64_t before = snapshots->counts.names.n_given_up;

	names_cache_stats(snapshots->cache, &snapshots->counts.names);
	if (snapshots->counts.names.n_given_up == before)
		return;
	clear_line(snapshots);
	text_print(stderr,
		   "bpfflame: the debug information of %s takes too much time or memory to read: "
		   "its functions have the names of its symbols\n",
		   snapshots->counts.names.given_up);
}

static void note_report(struct snapshots *snapshots)
{
	const struct set_report *report = snapshots->report;

	totals_add(&snapshots->totals, &report->totals);
	snapshots->counts.removed += report->removed;
	if (report->is_listed)
		snapshots->counts.written += snapshots->n_events;
	else
		snapshots->counts.failed += snapshots->n_events;
	if (report->is_listed)
		tell_written(snapshots);
	if (report->error < 0)
		report_failure(snapshots, &report->failure, report->error);
	else
		snapshots->last_error = 0;
	snapshots->counts.has_failed |= report->error < 0;
	note_names(snapshots);
}

static void note_end(struct snapshots *snapshots, int status, const struct rusage *usage,
		     bool given_up)
{
	snapshots->writer = 0;
	closep(&snapshots->writer_fd);
	snapshots->writer_fd = -1;
	note_cost(&snapshots->counts, usage);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		note_death(snapshots, status, given_up);
	note_report(snapshots);
}

/* The set is written: its writer goes on to learn, and the next one may write. */
static void note_complete(struct snapshots *snapshots)
{
	snapshots->learner = snapshots->writer;
	snapshots->writer = 0;
	closep(&snapshots->writer_fd);
	snapshots->writer_fd = -1;
	note_report(snapshots);
}

bool snapshots_poll(struct snapshots *snapshots)
{
	struct rusage usage = {};
	int status = 0;

	if (snapshots->learner &&
	    wait4(snapshots->learner, NULL, WNOHANG, &usage) == snapshots->learner) {
		snapshots->learner = 0;
		note_cost(&snapshots->counts, &usage);
		note_names(snapshots);
	}
	if (snapshots->writer && !snapshots->learner &&
	    __atomic_load_n(&snapshots->report->is_complete, __ATOMIC_ACQUIRE))
		note_complete(snapshots);
	if (snapshots->writer &&
	    wait4(snapshots->writer, &status, WNOHANG, &usage) == snapshots->writer)
		note_end(snapshots, status, &usage, false);
	return snapshots->writer == 0;
}

/* Writing */

static void be_writer(const struct snapshots *snapshots, struct collect_window *window,
		      const char *source)
{
	struct window_origin origin = *snapshots->origin;
	struct names_later later = {};
	struct symbolize_options learn = origin.options->symbolize;

	/* The recorder goes on with its own. */
	reader_detach(origin.options->symbolize.reader);
	broker_detach();
	origin.is_ended = learn.is_ended = &snapshots->report->names_ended;
	origin.cache = learn.cache = snapshots->cache;
	origin.later = learn.reader && !snapshots->learner ? &later : NULL;
	setpriority(PRIO_PROCESS, 0, snapshots->nice);
	set_write(&origin, window, source, snapshots->report);
	if (later.n) {
		__atomic_store_n(&snapshots->report->is_complete, true, __ATOMIC_RELEASE);
		names_later_learn(&later, &learn);
	}
	reader_stop(origin.options->symbolize.reader);
	_exit(EXIT_DONE);
}

void snapshots_write(struct snapshots *snapshots, struct collect_window *window, const char *source)
{
	struct set_report *report = snapshots->report;

	snapshots->n_events = window->profile->n_events ? window->profile->n_events : 1;
	*report = (struct set_report){.names_ended = snapshots->names_ended};
	totals_begin(window, &report->totals);
	snapshots->writer = fork();
	if (snapshots->writer == 0)
		be_writer(snapshots, window, source);
	if (snapshots->writer < 0) {
		report->error = failure_set(&report->failure, -errno,
					    "cannot write a set: cannot fork: %s", strerror(errno));
		snapshots->writer = 0;
		note_report(snapshots);
		return;
	}
	snapshots->writer_fd = syscall(SYS_pidfd_open, snapshots->writer, 0);
}

static void give_up(struct snapshots *snapshots)
{
	struct rusage usage = {};
	int status = 0;

	kill(snapshots->writer, SIGKILL);
	wait4(snapshots->writer, &status, 0, &usage);
	note_end(snapshots, status, &usage, true);
}

int snapshots_wait(struct snapshots *snapshots, struct signals *signals)
{
	if (snapshots->has_progress && snapshots->writer)
		fputs("\r\033[Kbpfflame: writing the last set; Ctrl-C ends the search for names ",
		      stderr);
	while (!snapshots_poll(snapshots)) {
		struct pollfd fds[] = {
			{.fd = signals->fd, .events = POLLIN},
			{.fd = snapshots->writer_fd, .events = POLLIN},
		};

		if (signals_take_wish(signals)) {
			if (snapshots->names_ended) {
				give_up(snapshots);
				return -EINTR;
			}
			snapshots->names_ended = snapshots->report->names_ended = true;
		}
		poll(fds, 2, POLL_MS);
	}
	end_learner(snapshots);
	clear_line(snapshots);
	return 0;
}
