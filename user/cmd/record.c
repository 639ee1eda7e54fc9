/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The recording: options → collect → symbolize → files → summary.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/system.h"
#include "cmd/cmd.h"
#include "cmd/command.h"
#include "cmd/options.h"
#include "cmd/summary.h"

struct recording {
	struct record_options options;
	struct collector *collector;
	struct command command;
	int signal_fd;
	int *target_fds; /* a pidfd for each -p; -1: ended */
	uint64_t started_ns, window_ns, ended_ns;
	struct output_files files;
	bool progress; /* a progress line is on the terminal */
};

/* Which files, before anything is recorded: a name that can't be written fails here. */
static int plan_files(struct recording *recording, struct failure *failure)
{
	static const enum output_format defaults[] = {FORMAT_SVG, FORMAT_FOLDED, FORMAT_NONE};
	const struct record_options *options = &recording->options;
	int r = outputs_plan(&options->outputs, profile_mode_name(options->collect.mode), defaults,
			     &recording->files, failure);

	return r < 0 ? r : output_files_check(&recording->files, failure);
}

static int catch_signals(struct recording *recording)
{
	sigset_t signals;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	recording->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	return recording->signal_fd < 0 ? -errno : 0;
}

static int watch_targets(struct recording *recording)
{
	const struct collect_options *collect = &recording->options.collect;

	recording->target_fds = calloc(collect->n_pids + 1, sizeof *recording->target_fds);
	if (!recording->target_fds)
		return -ENOMEM;
	for (size_t i = 0; i < collect->n_pids; i++)
		recording->target_fds[i] = syscall(SYS_pidfd_open, collect->pids[i], 0);
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

/* Whether there is nothing left that could be recorded. */
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
	return gone || threads_are_gone(collect);
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
}

static void clear_progress(struct recording *recording)
{
	if (recording->progress)
		fputs("\r\033[K", stderr);
}

/* Files of short-lived processes must be opened while these live. */
#define STEP_NS (100 * 1000000ULL)

/* Sleeps until something happens, a step is over, or the deadline. */
static void wait_for_something(struct recording *recording, uint64_t deadline_ns)
{
	struct pollfd fds[3 + 16] = {
		{.fd = collect_fd(recording->collector), .events = POLLIN},
		{.fd = recording->signal_fd, .events = POLLIN},
		{.fd = recording->command.pid ? recording->command.pid_fd : -1, .events = POLLIN},
	};
	uint64_t now = monotonic_ns(), left = STEP_NS;
	struct timespec timeout;
	size_t n = 3;

	for (size_t i = 0; i < recording->options.collect.n_pids && n < 3 + 16; i++)
		if (recording->target_fds[i] >= 0)
			fds[n++] = (struct pollfd){recording->target_fds[i], POLLIN, 0};
	if (deadline_ns - now < left)
		left = deadline_ns - now;
	timeout = (struct timespec){left / NSEC_PER_SEC, left % NSEC_PER_SEC};
	ppoll(fds, n, &timeout, NULL);
}

static bool was_interrupted(const struct recording *recording)
{
	struct signalfd_siginfo info;

	return read(recording->signal_fd, &info, sizeof info) == sizeof info;
}

static int run_window(struct recording *recording, struct failure *failure)
{
	uint64_t length = recording->options.duration_ns;
	uint64_t deadline = length ? recording->window_ns + length : UINT64_MAX;

	for (;;) {
		uint64_t now = monotonic_ns();
		int r;

		if (now >= deadline || was_interrupted(recording) || targets_are_gone(recording))
			break;
		show_progress(recording, now);
		wait_for_something(recording, deadline);
		if (monotonic_ns() >= deadline)
			break;
		r = collect_step(recording->collector, failure);
		if (r < 0)
			return r;
	}
	clear_progress(recording);
	recording->ended_ns = monotonic_ns();
	return collect_stop(recording->collector, failure);
}

static int record(struct recording *recording, struct failure *failure)
{
	struct record_options *options = &recording->options;
	int r = catch_signals(recording);

	if (r < 0)
		return failure_set(failure, r, "cannot catch signals: %s", strerror(-r));
	if (options->command) {
		r = command_hold(options->command, &recording->command, failure);
		if (r < 0)
			return r;
		options->collect.command_pid = recording->command.pid;
	}
	options->collect.log = options->verbose ? stderr : NULL;
	r = collect_open(&options->collect, &recording->collector, failure);
	r = r < 0 ? r : watch_targets(recording);
	r = r < 0 ? r : collect_start(recording->collector, options->duration_ns, failure);
	if (r < 0)
		return r;
	recording->window_ns = collect_window_start(recording->collector);
	if (options->command) {
		r = command_release(&recording->command, options->command, failure);
		if (r < 0)
			return r;
	}
	return run_window(recording, failure);
}

static int describe(struct profile *profile, int argc, char **argv)
{
	struct utsname system;
	char line[1024];
	size_t n = 0;
	int r;

	line[0] = '\0';
	for (int i = 0; i < argc && n < sizeof line; i++)
		n += snprintf(line + n, sizeof line - n, "%s%s", i ? " " : "",
			      i ? argv[i] : "bpfflame");
	r = strings_add(&profile->strings, line, &profile->command_line);
	if (r < 0 || uname(&system) < 0)
		return r;
	r = strings_add(&profile->strings, system.nodename, &profile->host);
	return r < 0 ? r : strings_add(&profile->strings, system.release, &profile->kernel);
}

/* Names the profile and writes every file; one that fails does not keep the others back. */
static int write_files(struct recording *recording, int argc, char **argv,
		       struct symbol_stats *symbols, struct failure *failure)
{
	struct profile *profile = collect_profile(recording->collector);
	const struct mapping_source *sources = collect_mapping_sources(recording->collector);
	struct profile_view view;
	int r = sources ? symbolize(profile, sources, &recording->options.symbolize, symbols)
			: -ENOMEM;

	r = r < 0 ? r : describe(profile, argc, argv);
	r = r < 0 ? r : collect_finish_stacks(profile);
	profile->by_thread = recording->options.collect.threads;
	r = r < 0 ? r
		  : profile_select(profile, &recording->options.view.stacks.unfold,
				   &recording->options.view.stacks.select);
	if (r < 0)
		return failure_set(failure, r, "cannot name the stacks: %s", strerror(-r));
	view = (struct profile_view){.profile = profile, .options = &recording->options.view};
	r = output_files_write(&recording->files, write_profile, &view, failure);
	profile_view_done(&view);
	return r;
}

static int tell(struct recording *recording, const struct symbol_stats *symbols)
{
	struct summary summary = {
		.options = &recording->options,
		.profile = collect_profile(recording->collector),
		.source = collect_source(recording->collector),
		.hook = collect_hook(recording->collector),
		.symbols = *symbols,
		.command = recording->command,
		.files = &recording->files,
		.startup_seconds = (recording->window_ns - recording->started_ns) / 1e9,
		.write_seconds = (monotonic_ns() - recording->ended_ns) / 1e9,
	};

	collect_stats(recording->collector, &summary.stats);
	if (recording->options.json)
		summary_print_json(&summary, stdout);
	else if (!recording->options.quiet)
		summary_print(&summary, stderr);
	return summary_loss_percent(&summary) > recording->options.max_loss ? EXIT_LOSSES
									    : EXIT_DONE;
}

static void recording_done(struct recording *recording)
{
	command_done(&recording->command);
	collect_free(recording->collector);
	for (size_t i = 0; recording->target_fds && i < recording->options.collect.n_pids; i++)
		closep(&recording->target_fds[i]);
	free(recording->target_fds);
	output_files_done(&recording->files);
	options_done(&recording->options);
}

int cmd_record(int argc, char **argv, uint64_t started_ns)
{
	struct recording recording = {.started_ns = started_ns, .signal_fd = -1};
	struct symbol_stats symbols = {};
	struct failure failure = {};
	int r, code;

	r = options_parse(argc, argv, &recording.options, &failure);
	if (r != 0) {
		options_done(&recording.options);
		return r > 0 ? EXIT_DONE : cmd_fail(&failure, EXIT_USAGE);
	}
	recording.progress = !recording.options.quiet && isatty(STDERR_FILENO);
	r = plan_files(&recording, &failure);
	r = r < 0 ? r : record(&recording, &failure);
	if (r < 0) {
		code = cmd_fail(&failure, r == -EINVAL ? EXIT_USAGE : EXIT_FAILED);
	} else {
		r = write_files(&recording, argc, argv, &symbols, &failure);
		code = r < 0 ? cmd_fail(&failure, EXIT_FAILED) : tell(&recording, &symbols);
	}
	recording_done(&recording);
	return code;
}
