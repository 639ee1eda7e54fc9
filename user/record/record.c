/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The recording: options → collect → windows → files → summary.
 *
 * Without --every there is one window, which is written here once it is over. With it, a separate
 * process writes each finished window (snapshots.h), and the recording goes on.
 */
#include "record/record.h"

#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/broker.h"
#include "base/foreign.h"
#include "base/owner.h"
#include "base/process_stat.h"
#include "base/sandbox.h"
#include "base/system.h"
#include "base/text.h"
#include "cli/cli.h"
#include "collect/filter.h"
#include "collect/rights.h"
#include "collect/targets.h"
#include "record/command.h"
#include "record/losses.h"
#include "record/options.h"
#include "record/relay.h"
#include "record/snapshots.h"
#include "record/subject.h"
#include "record/summary.h"
#include "record/unnamed.h"
#include "record/unseen.h"

#define LARGE_BLOCK (64 << 10)

struct recording {
	struct record_options options;
	struct window_origin origin;
	char subject[SUBJECT_SIZE];
	struct collector *collector;
	struct command command;
	struct account account; /* the user it runs as … */
	bool has_account;	/* … if not ours */
	struct signals signals;
	struct reader reader;
	int *target_fds; /* a pidfd for each -p; -1: ended */
	int cgroup_fd;	 /* of -G; or negative */
	uint64_t started_ns, window_ns, ended_ns;
	uint64_t window_boottime_ns; /* window_ns on the clock of processes' starts */
	uint64_t start_delay_ns;     /* until window_ns, in which we waited for a CPU */
	bool came_too_late;	     /* the targets had ended by then */
	struct window_files files;   /* without --every */
	struct snapshots *snapshots; /* with it */
	struct totals totals;
	char files_fix[RIGHTS_FIX_SIZE]; /* by the rights that it began with */
	struct unseen unseen;	   /* without --every */
	struct unnamed unnamed;	   /* the same */
	struct stacks top;	   /* the same: for the summary's last lines */
	bool progress;		   /* the terminal shows a progress line */
	volatile bool names_ended; /* asked to stop while names are searched */
};

/*
 * Finds the user a command runs as, who owns the files, too. Without a command, the files are the
 * caller's.
 */
static int find_account(struct recording *recording, struct failure *failure)
{
	const struct record_options *options = &recording->options;
	struct account *account = &recording->account;
	int r;

	if (!options->command)
		return cli_write_as_caller(failure);
	r = account_choose(options->user, options->as_root, account, &recording->has_account,
			   failure);
	if (r < 0 || !recording->has_account)
		return r;
	return owner_set(account->uid, account->gid, account->groups, account->n_groups);
}

static int plan_files(struct recording *recording, struct failure *failure)
{
	int r;

	if (recording->options.collect.every_ns)
		return snapshots_open(&recording->origin, recording->progress,
				      &recording->snapshots, failure);
	r = window_files_plan(&recording->options, NULL, &recording->files, failure);
	if (r < 0)
		return r;
	return window_files_check(&recording->files, failure);
}

/* Plans the files before anything is recorded: a name that can't be written fails here. */
static int plan(struct recording *recording, struct failure *failure)
{
	const struct account *account = &recording->account;
	int r = find_account(recording, failure);

	if (r < 0)
		return r;
	r = plan_files(recording, failure);
	if (r == -EACCES && recording->has_account)
		return failure_fix(failure, r,
				   "it is written as %s, as whom COMMAND runs; see --as-root",
				   *account->name ? account->name : "the user");
	if (r == -EACCES && owner_is_set())
		return failure_fix(failure, r, "it is written as user %u, who called sudo",
				   owner_uid(true));
	return r;
}

/*
 * Those of several targets that have ended are left out and named. Where none is left, all stay in
 * the list: opening the collector says that they are gone.
 */
static void leave_out_ended(const char *kind, uint32_t *ids, size_t *n_ids, bool quiet)
{
	size_t alive = 0;

	for (size_t i = 0; i < *n_ids; i++) {
		uint32_t id = ids[i];

		if (targets_has_ended(id))
			continue;
		ids[i] = ids[alive];
		ids[alive++] = id;
	}
	if (!alive)
		return;
	for (size_t i = alive; i < *n_ids && !quiet; i++)
		fprintf(stderr, "bpfflame: no %s %" PRIu32 ": it has ended; records the others\n",
			kind /* ours */, ids[i]);
	*n_ids = alive;
}

static int watch_targets(struct recording *recording)
{
	const struct collect_options *collect = &recording->options.collect;

	recording->target_fds = calloc(collect->n_pids + 1, sizeof *recording->target_fds);
	if (!recording->target_fds)
		return -ENOMEM;
	for (size_t i = 0; i < collect->n_pids; i++)
		recording->target_fds[i] = syscall(SYS_pidfd_open, collect->pids[i], 0);
	if (collect->cgroup)
		recording->cgroup_fd = cgroup_open(collect->cgroup);
	return 0;
}

static bool threads_are_gone(const struct collect_options *collect)
{
	char path[64];

	for (size_t i = 0; i < collect->n_tids; i++) {
		snprintf(path, sizeof path, "/proc/%u", collect->tids[i]);
		if (access(path, F_OK) == 0)
			return false;
	}
	return collect->n_tids > 0;
}

/* Whether nothing is left to record. */
static bool targets_are_gone(struct recording *recording)
{
	const struct collect_options *collect = &recording->options.collect;
	bool gone = collect->n_pids > 0;

	if (recording->command.pid)
		return command_poll(&recording->command);
	for (size_t i = 0; i < collect->n_pids; i++) {
		struct pollfd target = {.fd = recording->target_fds[i], .events = POLLIN};

		if (target.fd < 0)
			continue;
		if (poll(&target, 1, 0) > 0) {
			close(target.fd);
			recording->target_fds[i] = -1;
		} else {
			gone = false;
		}
	}
	return gone || threads_are_gone(collect) ||
	       (recording->cgroup_fd >= 0 && cgroup_is_removed(recording->cgroup_fd));
}

static void show_progress(struct recording *recording, uint64_t now)
{
	double seconds = (now - recording->window_ns) / 1e9;
	double all = recording->options.duration_ns / 1e9;

	if (!recording->progress)
		return;
	if (recording->options.duration_ns)
		fprintf(stderr, "\rbpfflame: recording %.0f of %.0f s ", seconds, all);
	else
		fprintf(stderr, "\rbpfflame: recording %.0f s, Ctrl-C ends it ", seconds);
	if (recording->snapshots)
		fprintf(stderr, "(%" PRIu64 " sets written) ",
			snapshots_counts(recording->snapshots)->written);
}

static void clear_progress(struct recording *recording)
{
	if (recording->progress)
		fputs("\r\033[K", stderr);
}

#define N_OTHER_FDS   4
#define N_WATCHED_FDS (N_OTHER_FDS + 16)

/* Sleeps until something happens, a step is over, or the deadline. */
static void wait_for_something(struct recording *recording, uint64_t deadline_ns)
{
	struct pollfd fds[N_WATCHED_FDS] = {
		{.fd = collect_fd(recording->collector), .events = POLLIN},
		{.fd = recording->signals.fd, .events = POLLIN},
		{.fd = recording->command.pid ? recording->command.pid_fd : -1, .events = POLLIN},
		{.fd = snapshots_fd(recording->snapshots), .events = POLLIN},
	};
	uint64_t now = monotonic_ns(), left = collect_patience_ns(recording->collector);
	struct timespec timeout;
	size_t n = N_OTHER_FDS;

	for (size_t i = 0; i < recording->options.collect.n_pids && n < N_WATCHED_FDS; i++)
		if (recording->target_fds[i] >= 0)
			fds[n++] = (struct pollfd){recording->target_fds[i], POLLIN, 0};
	if (deadline_ns - now < left)
		left = deadline_ns - now;
	timeout = (struct timespec){left / NSEC_PER_SEC, left % NSEC_PER_SEC};
	ppoll(fds, n, &timeout, NULL);
}

/* Takes a finished window, and has it written. Returns 1, or 0 if there is none. */
static int hand_over(struct recording *recording, struct failure *failure)
{
	struct collect_window window = {};
	int r = collect_take(recording->collector, &window, failure);

	if (r > 0)
		snapshots_write(recording->snapshots, &window,
				collect_source(recording->collector));
	collect_window_done(&window);
	return r;
}

/* Whether every sample of a process's CPU time would be here. */
static bool can_be_unseen(const struct record_options *options)
{
	const struct collect_options *collect = &options->collect;

	return collect->mode == PROFILE_ONCPU && !collect->n_events && !collect->every_ns &&
	       !collect->n_tids && !collect->comm && !collect->cgroup && !collect->cpus &&
	       !options->command;
}

/* Until the deadline, a signal, or the end of the targets. */
static int run_until(struct recording *recording, uint64_t deadline, struct failure *failure)
{
	for (;;) {
		uint64_t now = monotonic_ns();
		int r;

		if (now >= deadline || targets_are_gone(recording) ||
		    relay_signals(&recording->signals, &recording->command))
			return 0;
		show_progress(recording, now);
		wait_for_something(recording, deadline);
		if (monotonic_ns() >= deadline)
			return 0;
		r = collect_step(recording->collector, failure);
		if (r < 0)
			return r;
		if (!recording->snapshots || !snapshots_poll(recording->snapshots))
			continue;
		r = hand_over(recording, failure);
		if (r < 0)
			return r;
	}
}

static int run_window(struct recording *recording, struct failure *failure)
{
	uint64_t length = recording->options.duration_ns;
	uint64_t deadline = length ? recording->window_ns + length : UINT64_MAX;
	const struct collect_options *collect = &recording->options.collect;
	int r;

	recording->came_too_late = !recording->command.pid && targets_are_gone(recording);
	if (can_be_unseen(&recording->options))
		unseen_begin(&recording->unseen, collect->pids, collect->n_pids);
	r = run_until(recording, deadline, failure);
	clear_progress(recording);
	if (can_be_unseen(&recording->options))
		unseen_end(&recording->unseen, collect->pids, collect->n_pids);
	recording->ended_ns = monotonic_ns();
	if (r == 0)
		r = collect_stop(recording->collector, failure);
	reader_stop(recording->options.collect.reader);
	return r;
}

/* Forks the command, which waits for command_release(). */
static int hold_command(struct recording *recording, struct failure *failure)
{
	struct record_options *options = &recording->options;
	const struct command_start start = {
		.argv = options->command,
		.account = recording->has_account ? &recording->account : NULL,
		.environment = options->environment,
		.signals = &recording->signals,
	};
	int r = command_hold(&start, &recording->command, failure);

	options->collect.command_pid = recording->command.pid;
	return r;
}

/*
 * Returns large blocks to the kernel when they are freed, and lets arrays grow without copying.
 * Otherwise glibc would, after the first free, put blocks of that size into the heap, where they
 * leave holes.
 */
static void map_large_blocks(void)
{
	mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK);
}

/*
 * Capabilities for a running recording: its maps and rings, processes in /proc, a reader that is
 * another user, files to write, and signals for COMMAND.
 */
#define FOR_RUNNING                                                                                \
	(SANDBOX_FOR_FILES | SANDBOX_CAPABILITY(CAP_BPF) | SANDBOX_CAPABILITY(CAP_PERFMON) |       \
	 SANDBOX_CAPABILITY(CAP_SYS_PTRACE) | SANDBOX_CAPABILITY(CAP_SYSLOG) |                     \
	 SANDBOX_CAPABILITY(CAP_IPC_LOCK) | SANDBOX_CAPABILITY(CAP_SYS_NICE) |                     \
	 SANDBOX_CAPABILITY(CAP_KILL))

static int give_up_rights(const struct recording *recording, struct failure *failure)
{
	int r = recording->options.no_sandbox ? 0 : sandbox_restrict(FOR_RUNNING);

	return r < 0 ? failure_set(failure, r, "cannot give up rights: %s", strerror(-r)) : 0;
}

static bool has_file_probes(const struct collect_options *collect)
{
	for (size_t i = 0; i < collect->n_events; i++) {
		enum event_kind kind = collect->events[i].kind;

		if (kind == EVENT_UPROBE || kind == EVENT_URETPROBE || kind == EVENT_USDT)
			return true;
	}
	return false;
}

/* Probed files are opened and read like those that run, before there is anything to record. */
static int open_collector(struct recording *recording, struct failure *failure)
{
	const struct record_options *options = &recording->options;
	bool has_helpers = !options->no_sandbox && has_file_probes(&options->collect);
	int r;

	if (has_helpers)
		broker_start();
	r = collect_open(&options->collect, &recording->collector, failure);
	if (has_helpers) {
		reader_stop(options->collect.reader);
		recording->reader.cpu_seconds += broker_stop();
	}
	return r;
}

static int start_collector(struct recording *recording, struct failure *failure)
{
	struct record_options *options = &recording->options;
	int r;

	options->collect.log = options->verbose ? stderr : NULL;
	options->collect.reader = options->no_sandbox ? NULL : &recording->reader;
	options->collect.stop_fd = recording->signals.fd;
	options->symbolize.reader = options->collect.reader;
	r = open_collector(recording, failure);
	if (r < 0)
		return r;
	/* They run with our raised priority until the recording is over. */
	if (!options->no_sandbox)
		broker_start();
	reader_prepare(options->collect.reader);
	map_large_blocks();
	r = watch_targets(recording);
	if (r < 0)
		return r;
	return collect_start(recording->collector, options->duration_ns, failure);
}

static int record(struct recording *recording, struct failure *failure)
{
	struct record_options *options = &recording->options;
	int r = signals_catch(&recording->signals, options->command != NULL);

	if (r < 0)
		return failure_set(failure, r, "cannot catch signals: %s", strerror(-r));
	if (options->command) {
		r = hold_command(recording, failure);
		if (r < 0)
			return r;
	}
	r = start_collector(recording, failure);
	if (r < 0)
		return r;
	recording->window_ns = collect_window_start(recording->collector);
	recording->start_delay_ns = own_run_delay_ns();
	recording->window_boottime_ns = boottime_ns() - (monotonic_ns() - recording->window_ns);
	if (options->command) {
		r = command_release(&recording->command, options->command, failure);
		if (r < 0)
			return r;
	}
	rights_fix_for_files(recording->files_fix, sizeof recording->files_fix);
	r = give_up_rights(recording, failure);
	if (r < 0)
		return r;
	return run_window(recording, failure);
}

/* The recording is over */

static void clear_line(void)
{
	if (isatty(STDERR_FILENO))
		(void)!write(STDERR_FILENO, "\r\033[K", 4);
}

/* Asked to stop twice since: gives up unwritten files. Runs in a signal handler. */
static void leave(void)
{
	static const char text[] = "bpfflame: asked to stop twice: not all files are written\n";

	output_leave();
	clear_line();
	(void)!write(STDERR_FILENO, text, sizeof text - 1);
	_exit(EXIT_FAILED);
}

static void show_file(const char *path)
{
	fputs("\r\033[K", stderr);
	text_print(stderr, "bpfflame: names of %.39s; Ctrl-C ends the search ", basename(path));
}

static void begin_writing(struct recording *recording)
{
	const struct command *command = &recording->command;

	recording->progress = !recording->options.quiet && isatty(STDERR_FILENO) &&
			      (!command->pid || command->ended);
	recording->origin.is_ended = &recording->names_ended;
	recording->origin.begin_file = recording->progress ? show_file : NULL;
	signals_divert(&recording->signals, &recording->names_ended, leave);
}

static void end_writing(struct recording *recording)
{
	signals_rejoin();
	clear_progress(recording);
}

/*
 * Gives @process the name that it has now; samples have names of threads. Only if it began before
 * the recording: another one may have its number by now.
 */
static void name_process(const struct recording *recording, struct unnamed_process *process)
{
	struct process_stat stat;

	if (foreign_read_stat(process->pid, &stat) == 0 &&
	    stat.start_ns < recording->window_boottime_ns)
		memcpy(process->comm, stat.comm, sizeof process->comm);
}

/* Looks for what lacks names, unless none were wanted. */
static int find_unnamed(struct recording *recording, const struct profile *profile)
{
	struct unnamed *unnamed = &recording->unnamed;
	char os_release[4096] = "";
	int r;

	if (recording->options.symbolize.addresses)
		return 0;
	read_text_file("/etc/os-release", os_release, sizeof os_release);
	r = unnamed_find(profile, getenv("DEBUGINFOD_URLS"), os_release, unnamed);
	if (r < 0)
		return r;
	for (size_t i = 0; i < unnamed->n; i++)
		name_process(recording, &unnamed->processes[i]);
	return 0;
}

/* Names and writes it, and finds what the summary says about it. */
static int finish_window(struct recording *recording, struct collect_window *window,
			 struct failure *failure)
{
	struct record_options *options = &recording->options;
	struct symbol_stats symbols = {};
	int r = window_name(window, &recording->origin, &symbols, failure);

	if (r < 0)
		return r;
	if (recording->progress)
		fputs("\r\033[Kbpfflame: writing the files ", stderr);
	r = window_write(window, options, &recording->files, failure);
	if (r < 0)
		return r;
	totals_of_window(window, &symbols, &recording->totals);
	if (options->top) {
		r = window_top(window, options, &recording->top, failure);
		if (r < 0)
			return r;
	}
	r = find_unnamed(recording, window->profile);
	if (r < 0)
		return r;
	return unseen_judge(&recording->unseen, window->profile, options->collect.frequency,
			    window->stats.ended_ns);
}

/* The only window. */
static int write_window(struct recording *recording, struct failure *failure)
{
	struct collect_window window = {};
	int r = collect_take(recording->collector, &window, failure);

	begin_writing(recording);
	if (r >= 0)
		r = finish_window(recording, &window, failure);
	end_writing(recording);
	collect_window_done(&window);
	return r;
}

/* The unwritten windows: one that ended before, and the last one. */
static int write_rest(struct recording *recording, struct failure *failure)
{
	int r;

	do {
		r = snapshots_wait(recording->snapshots, &recording->signals);
		if (r < 0)
			break;
		r = hand_over(recording, failure);
	} while (r > 0);
	recording->totals = *snapshots_totals(recording->snapshots);
	return r == -EINTR ? 0 : r;
}

static int report(struct recording *recording)
{
	struct record_options *options = &recording->options;
	struct summary summary = {
		.options = options,
		.source = collect_source(recording->collector),
		.hook = collect_hook(recording->collector),
		.totals = recording->totals,
		.reader = &recording->reader,
		.command = recording->command,
		.files = &recording->files,
		.files_fix = recording->files_fix,
		.unseen = &recording->unseen,
		.unnamed = &recording->unnamed,
		.top = recording->snapshots ? NULL : &recording->top,
		.startup_seconds = (recording->window_ns - recording->started_ns) / 1e9,
		.start_delay_seconds = recording->start_delay_ns / 1e9,
		.came_too_late = recording->came_too_late,
		.write_seconds = (monotonic_ns() - recording->ended_ns) / 1e9,
	};

	for (size_t i = 0; i < options->collect.n_events; i++)
		summary.event_paths[i] = collect_event_path(recording->collector, i);
	if (recording->snapshots) {
		summary.files = snapshots_lists(recording->snapshots);
		summary.sets = snapshots_counts(recording->snapshots);
	}
	reader_stop(&recording->reader);
	recording->reader.cpu_seconds += broker_stop();
	if (options->json)
		summary_print_json(&summary, stdout);
	else if (!options->quiet)
		summary_print(&summary, stderr);
	if (summary.sets && summary.sets->has_failed)
		return EXIT_FAILED;
	return losses_percent(&summary.totals, options->collect.mode) > options->max_loss
		       ? EXIT_LOSSES
		       : EXIT_DONE;
}

/* Everything except the command. */
static void recording_done(struct recording *recording)
{
	reader_stop(&recording->reader);
	snapshots_free(recording->snapshots);
	broker_stop();
	collect_free(recording->collector);
	for (size_t i = 0; recording->target_fds && i < recording->options.collect.n_pids; i++)
		closep(&recording->target_fds[i]);
	free(recording->target_fds);
	closep(&recording->cgroup_fd);
	unseen_done(&recording->unseen);
	stacks_done(&recording->top);
	window_files_done(&recording->files);
	options_done(&recording->options);
}

/*
 * A command may go on after its recording; we wait if its exit status is wanted. Returns our exit
 * code: @code, or the command's if that is wanted and we have not failed.
 */
static int finish_command(struct recording *recording, int code)
{
	const struct record_options *options = &recording->options;
	struct command *command = &recording->command;
	bool has_failed = code != EXIT_DONE && code != EXIT_LOSSES;

	if (options->exit_status && command->released && !command_poll(command)) {
		relay_until_end(&recording->signals, command);
		if (!options->quiet)
			summary_print_command(command, stderr);
	}
	if (options->exit_status && command->released && has_failed)
		fprintf(stderr, "bpfflame: exit status %d is its own; COMMAND's is %d\n", code,
			command_exit_code(command));
	else if (options->exit_status && command->released && command_exit_code(command))
		code = command_exit_code(command);
	command_done(command);
	account_done(&recording->account);
	return code;
}

/* Returns our exit code. */
static int run(struct recording *recording, struct failure *failure)
{
	int r = plan(recording, failure);

	if (r == 0)
		r = record(recording, failure);
	if (r < 0)
		return cli_fail(failure, r == -EINVAL ? EXIT_USAGE : EXIT_FAILED);
	r = recording->snapshots ? write_rest(recording, failure)
				 : write_window(recording, failure);
	if (r < 0)
		return cli_fail(failure, EXIT_FAILED);
	return cli_flush(report(recording));
}

int record_run(int argc, char **argv, uint64_t started_ns, offer_commands_fn offer_commands)
{
	struct recording recording = {
		.started_ns = started_ns, .cgroup_fd = -1, .signals.fd = -1, .reader = READER_NONE};
	struct failure failure = {};
	int r, code;

	r = options_parse(argc, argv, offer_commands, &recording.options, &failure);
	if (r != 0) {
		options_done(&recording.options);
		return r > 0 ? EXIT_DONE : cli_fail(&failure, EXIT_USAGE);
	}
	leave_out_ended("process", recording.options.pids, &recording.options.collect.n_pids,
			recording.options.quiet);
	leave_out_ended("thread", recording.options.tids, &recording.options.collect.n_tids,
			recording.options.quiet);
	if (recording.options.collect.mode == PROFILE_OFFCPU && recording.options.has_frequency &&
	    !recording.options.quiet)
		fputs("bpfflame: -F changes nothing with --offcpu, which samples waits by their "
		      "time: --offcpu-period\n",
		      stderr);
	subject_find(&recording.options, recording.subject);
	recording.options.view.picture.subject = recording.subject;
	recording.origin = (struct window_origin){&recording.options, argc, argv};
	/* The terminal belongs to the command. */
	recording.progress =
		!recording.options.quiet && !recording.options.command && isatty(STDERR_FILENO);
	code = run(&recording, &failure);
	recording_done(&recording);
	return finish_command(&recording, code);
}
