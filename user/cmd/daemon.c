/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * daemon: records the whole machine into a store, all year.
 *
 * What is here is the supervisor. It reads options, listens, starts the process that records, the
 * one that writes and the one that answers requests, starts one again that dies, with growing
 * pauses, and says to the service manager how things are. It parses nothing of others and writes no
 * file.
 *
 *	bpfflame-daemon (here) ─▶ bpfflame-record ─▶ bpfflame-names, -broker, -reader
 *	                       ├▶ bpfflame-write
 *	                       └▶ bpfflame-serve
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/notify.h"
#include "base/system.h"
#include "cli/cli.h"
#include "cmd/cmd.h"
#include "cmd/daemon_board.h"
#include "cmd/daemon_link.h"
#include "cmd/daemon_log.h"
#include "cmd/daemon_options.h"
#include "cmd/daemon_recorder.h"
#include "cmd/daemon_server.h"
#include "cmd/daemon_writer.h"

#define FIRST_PAUSE_NS	 NSEC_PER_SEC
#define LONGEST_PAUSE_NS (60 * NSEC_PER_SEC)
#define HEALTHY_NS	 (600 * NSEC_PER_SEC) /* after that, the pause is the first one again */
#define SLICE_MS	 200

enum daemon_role { ROLE_RECORDER, ROLE_WRITER, ROLE_SERVER, N_ROLES };

static const char *const role_names[N_ROLES] = {"bpfflame-record", "bpfflame-write",
						"bpfflame-serve"};
static const enum board_process role_places[N_ROLES] = {BOARD_RECORD, BOARD_WRITE, BOARD_SERVE};

/* For ending by themselves, one after the other; less than TimeoutStopSec= of the unit in all. */
static const uint64_t end_ns[N_ROLES] = {20 * NSEC_PER_SEC, 5 * NSEC_PER_SEC, NSEC_PER_SEC};

struct daemon_child {
	pid_t pid; /* 0: it does not run */
	bool has_started;
	uint64_t began_ns, pause_ns, start_at; /* monotonic; start_at: when it is started again */
};

struct settings {
	struct daemon_options options;
	struct listener listener;
};

struct daemon {
	int argc;
	char **argv; /* owned */
	char *title; /* where ps finds our name: all words of the command line */
	ptrdiff_t title_size;
	struct settings now, before; /* before: they worked; kept until those of now do */
	bool has_before;
	struct daemon_child children[N_ROLES];
	int windows[2], reports[2]; /* see daemon_link_make() */
	struct daemon_board *board;
	int board_fd;
	struct server_counts *counts; /* as the board: for all servers, one after the other */
	int signals;
	sigset_t mask; /* as it was */
	bool is_ready; /* said so */
	bool ends, reloads, reverts;
	int code;
	uint64_t recorded, lost;
};

/* What `ps` shows: the name alone takes the place of the words. */
static void set_title(const struct daemon *daemon, const char *title)
{
	ptrdiff_t n = strlen(title);

	prctl(PR_SET_NAME, title);
	if (daemon->title_size <= 0)
		return;
	memset(daemon->title, 0, daemon->title_size);
	memcpy(daemon->title, title, n < daemon->title_size ? n : daemon->title_size);
}

static bool is_wanted(const struct daemon *daemon, enum daemon_role role)
{
	return role != ROLE_SERVER || daemon->now.listener.fd >= 0;
}

static int run_role(struct daemon *daemon, enum daemon_role role)
{
	const struct server_setup setup = {.options = &daemon->now.options,
					   .listener = &daemon->now.listener,
					   .board = daemon->board,
					   .board_fd = daemon->board_fd,
					   .counts = daemon->counts,
					   .reports = daemon->reports[0]};

	switch (role) {
	case ROLE_RECORDER:
		return daemon_record(&daemon->now.options, daemon->windows[0], daemon->reports[0],
				     daemon->board);
	case ROLE_WRITER:
		return daemon_write(&daemon->now.options, daemon->windows[1], daemon->reports[0],
				    daemon->board);
	default: return daemon_serve(&setup);
	}
}

static void be_child(struct daemon *daemon, enum daemon_role role)
{
	set_title(daemon, role_names[role]);
	close(daemon->signals);
	/* Each has its own ends of the links alone. */
	if (role != ROLE_RECORDER)
		close(daemon->windows[0]);
	if (role != ROLE_WRITER)
		close(daemon->windows[1]);
	close(daemon->reports[1]);
	if (daemon->has_before)
		listener_done(&daemon->before.listener, false);
	if (role != ROLE_SERVER) {
		listener_done(&daemon->now.listener, false);
		close(daemon->board_fd);
		munmap(daemon->counts, sizeof *daemon->counts);
	}
	sigprocmask(SIG_SETMASK, &daemon->mask, NULL);
	/* The supervisor ends us; Ctrl-C is for it alone. */
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGTERM, role == ROLE_WRITER ? SIG_IGN : SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	if (role != ROLE_WRITER)
		prctl(PR_SET_PDEATHSIG, SIGTERM);
	_exit(run_role(daemon, role));
}

static void start_child(struct daemon *daemon, enum daemon_role role)
{
	struct daemon_child *child = &daemon->children[role];

	fflush(NULL);
	child->began_ns = monotonic_ns();
	child->start_at = 0;
	child->has_started = false;
	board_add(&daemon->board->starts[role_places[role]], 1);
	child->pid = fork();
	if (child->pid == 0)
		be_child(daemon, role);
	if (child->pid < 0) {
		child->pid = 0;
		child->start_at = child->began_ns + LONGEST_PAUSE_NS;
		daemon_log(LOG_LEVEL_ERROR, "cannot start %s: %s", role_names[role],
			   strerror(errno));
	}
}

static int make_links(struct daemon *daemon)
{
	int r = daemon_link_make(daemon->windows);

	if (r < 0)
		return r;
	return daemon_link_make(daemon->reports);
}

static void close_link(int fds[static 2])
{
	closep(&fds[0]);
	closep(&fds[1]);
	fds[0] = fds[1] = -1;
}

/* Children that end */

static void say_death(enum daemon_role role, int status, uint64_t pause_ns)
{
	double seconds = pause_ns / 1e9;

	if (WIFSIGNALED(status))
		daemon_log(LOG_LEVEL_ERROR, "%s was killed by signal %d%s; started again in %.0f s",
			   role_names[role], WTERMSIG(status),
			   WTERMSIG(status) == SIGKILL ? ", maybe for lack of memory" : "",
			   seconds);
	else
		daemon_log(LOG_LEVEL_ERROR, "%s ended with exit status %d; started again in %.0f s",
			   role_names[role], WEXITSTATUS(status), seconds);
}

static void note_death(struct daemon *daemon, enum daemon_role role, int status)
{
	struct daemon_child *child = &daemon->children[role];
	uint64_t now = monotonic_ns();
	bool was_healthy = child->has_started && now - child->began_ns > HEALTHY_NS;

	child->pid = 0;
	board_set(&daemon->board->runs[role_places[role]], false);
	if (daemon->ends)
		return;
	/* What never worked will not work the next time: who called us is to know. */
	if (!daemon->is_ready && WIFEXITED(status)) {
		daemon->reverts = daemon->has_before;
		if (!daemon->has_before) {
			daemon->ends = true;
			daemon->code = EXIT_FAILED;
		}
		return;
	}
	child->pause_ns = was_healthy || !child->pause_ns ? FIRST_PAUSE_NS : 2 * child->pause_ns;
	if (child->pause_ns > LONGEST_PAUSE_NS)
		child->pause_ns = LONGEST_PAUSE_NS;
	child->start_at = now + child->pause_ns;
	say_death(role, status, child->pause_ns);
}

static void reap(struct daemon *daemon)
{
	pid_t pid;
	int status;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		for (int role = 0; role < N_ROLES; role++)
			if (daemon->children[role].pid == pid)
				note_death(daemon, role, status);
}

/* What they say */

/* @other: those that are used. */
static void settings_done(struct settings *settings, const struct settings *other)
{
	const char *address = settings->listener.address, *others = other->listener.address;

	listener_done(&settings->listener, !address || !others || strcmp(address, others) != 0);
	daemon_options_done(&settings->options);
}

/* Those of now work, or everything ends. */
static void forget_before(struct daemon *daemon)
{
	if (daemon->has_before)
		settings_done(&daemon->before, &daemon->now);
	daemon->has_before = false;
}

static void say_ready(struct daemon *daemon)
{
	for (int role = 0; role < N_ROLES; role++)
		if (is_wanted(daemon, role) && !daemon->children[role].has_started)
			return;
	if (daemon->is_ready)
		return;
	daemon->is_ready = true;
	forget_before(daemon);
	notify_send("READY=1");
	daemon_log(LOG_LEVEL_INFO, "recording into %s at %u Hz, windows of %g s",
		   daemon->now.options.store, daemon->now.options.frequency,
		   daemon->now.options.window_ns / 1e9);
	if (daemon->now.listener.fd >= 0)
		daemon_log(LOG_LEVEL_INFO, "listening at %s%s", daemon->now.listener.text,
			   daemon->now.listener.identity ? " with TLS" : "");
}

static void note_start(struct daemon *daemon, enum daemon_role role)
{
	daemon->children[role].has_started = true;
	board_set(&daemon->board->runs[role_places[role]], true);
	say_ready(daemon);
}

static void note_report(struct daemon *daemon, const struct daemon_report *report)
{
	char status[128];

	switch (report->kind) {
	case REPORT_RECORDING: note_start(daemon, ROLE_RECORDER); break;
	case REPORT_WRITING: note_start(daemon, ROLE_WRITER); break;
	case REPORT_SERVING: note_start(daemon, ROLE_SERVER); break;
	case REPORT_WRITTEN:
		daemon->recorded++;
		notify_send("WATCHDOG=1");
		snprintf(status, sizeof status, "STATUS=%llu windows written, %llu lost",
			 (unsigned long long)daemon->recorded, (unsigned long long)daemon->lost);
		notify_send(status);
		break;
	case REPORT_LOST: daemon->lost++; break;
	default: break;
	}
}

static void note_own_cost(struct daemon *daemon)
{
	struct rusage self;

	getrusage(RUSAGE_SELF, &self);
	board_set(&daemon->board->cpu_ns[BOARD_DAEMON], rusage_seconds(&self) * 1e9);
}

static void take_reports(struct daemon *daemon)
{
	struct daemon_report report;

	while (daemon_link_take_report(daemon->reports[1], &report) > 0) {
		note_report(daemon, &report);
		note_own_cost(daemon);
	}
}

/* The end */

/* The recorder first: its last windows are for the writer, who ends when nobody can send. */
static void end_children(struct daemon *daemon)
{
	for (int role = 0; role < N_ROLES; role++) {
		uint64_t deadline = monotonic_ns() + end_ns[role];
		struct daemon_child *child = &daemon->children[role];

		if (role != ROLE_WRITER && child->pid)
			kill(child->pid, SIGTERM);
		if (role == ROLE_WRITER)
			closep(&daemon->windows[0]);
		while (child->pid) {
			if (waitpid(child->pid, NULL, WNOHANG) == child->pid) {
				child->pid = 0;
			} else if (monotonic_ns() > deadline) {
				daemon_log(LOG_LEVEL_ERROR, "%s does not end: killed",
					   role_names[role]);
				kill(child->pid, SIGKILL);
				waitpid(child->pid, NULL, 0);
				child->pid = 0;
			} else {
				usleep(10000);
			}
			take_reports(daemon);
		}
	}
	daemon->windows[0] = -1;
	take_reports(daemon);
}

static int start_all(struct daemon *daemon)
{
	int r = make_links(daemon);

	if (r < 0)
		return r;
	board_set(&daemon->board->window_ns, daemon->now.options.window_ns);
	board_set(&daemon->board->started_ns, monotonic_ns());
	for (int role = 0; role < N_ROLES; role++)
		if (is_wanted(daemon, role))
			start_child(daemon, role);
	return 0;
}

static int read_settings(const struct daemon *daemon, struct settings *ret, struct failure *failure)
{
	struct settings settings;
	int r = daemon_options_read(daemon->argc, daemon->argv, &settings.options, failure);

	if (r < 0)
		return r;
	r = listener_open(&settings.options.listen, &daemon->now.listener, &settings.listener,
			  failure);
	if (r < 0)
		daemon_options_done(&settings.options);
	else
		*ret = settings;
	return r;
}

/* Ends all processes: those that are started next have other settings. */
static void stop_all(struct daemon *daemon)
{
	daemon->reverts = false;
	end_children(daemon);
	close_link(daemon->windows);
	close_link(daemon->reports);
	daemon->is_ready = false;
}

/* The options are read again; wrong ones change nothing. */
static int reload(struct daemon *daemon)
{
	struct settings settings;
	struct failure failure = {};

	daemon->reloads = false;
	if (read_settings(daemon, &settings, &failure) < 0) {
		daemon_log(LOG_LEVEL_ERROR, "%s%s%s%s: the settings stay as they are",
			   *failure.what ? failure.what : "out of memory", *failure.fix ? " (" : "",
			   failure.fix, *failure.fix ? ")" : "");
		return 0;
	}
	notify_send("RELOADING=1");
	if (daemon->is_ready) {
		daemon->before = daemon->now;
		daemon->has_before = true;
	} else {
		settings_done(&daemon->now, &settings);
	}
	stop_all(daemon);
	daemon->now = settings;
	return start_all(daemon);
}

/* A process can't work with the new settings. */
static int revert(struct daemon *daemon)
{
	daemon_log(LOG_LEVEL_ERROR, "the new settings do not work: those before are used again");
	stop_all(daemon);
	settings_done(&daemon->now, &daemon->before);
	daemon->now = daemon->before;
	daemon->has_before = false;
	return start_all(daemon);
}

static void take_signals(struct daemon *daemon)
{
	struct signalfd_siginfo info;

	while (read(daemon->signals, &info, sizeof info) == sizeof info) {
		if (info.ssi_signo == SIGHUP)
			daemon->reloads = true;
		else if (info.ssi_signo != SIGCHLD)
			daemon->ends = true;
	}
}

static void start_again(struct daemon *daemon)
{
	for (int role = 0; role < N_ROLES; role++) {
		struct daemon_child *child = &daemon->children[role];

		if (is_wanted(daemon, role) && !child->pid && child->start_at &&
		    monotonic_ns() >= child->start_at)
			start_child(daemon, role);
	}
}

/* Waits a little for whatever happens, and does what is due. */
static int supervise_slice(struct daemon *daemon)
{
	struct pollfd fds[] = {{.fd = daemon->signals, .events = POLLIN},
			       {.fd = daemon->reports[1], .events = POLLIN}};
	int r = 0;

	poll(fds, 2, SLICE_MS);
	take_signals(daemon);
	take_reports(daemon);
	reap(daemon);
	if (daemon->reverts && !daemon->ends)
		r = revert(daemon);
	else if (daemon->reloads && !daemon->has_before && !daemon->ends)
		r = reload(daemon);
	if (r == 0)
		start_again(daemon);
	return r;
}

static int supervise(struct daemon *daemon)
{
	int r = start_all(daemon);

	while (r == 0 && !daemon->ends)
		r = supervise_slice(daemon);
	notify_send("STOPPING=1");
	end_children(daemon);
	return r;
}

static int catch_signals(struct daemon *daemon)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, &daemon->mask);
	daemon->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return daemon->signals < 0 ? -errno : 0;
}

/* Options point at their words, and are read again: what `ps` shows is written over. */
static char **copy_words(int argc, char **argv)
{
	char **words = calloc(argc + 1, sizeof *words);

	for (int i = 0; words && i < argc; i++)
		words[i] = strdup(argv[i]);
	return words;
}

static void free_words(char **words)
{
	for (int i = 0; words && words[i]; i++)
		free(words[i]);
	free(words);
}

static int run_daemon(struct daemon *daemon, struct failure *failure)
{
	int r;

	prctl(PR_SET_NAME, "bpfflame-daemon");
	r = listener_open(&daemon->now.options.listen, NULL, &daemon->now.listener, failure);
	if (r < 0)
		return r;
	r = daemon_board_new(&daemon->board, &daemon->board_fd);
	if (r < 0)
		return r;
	daemon->counts = mmap(NULL, sizeof *daemon->counts, PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (daemon->counts == MAP_FAILED)
		return -errno;
	r = catch_signals(daemon);
	if (r < 0)
		return r;
	return supervise(daemon);
}

static void daemon_done(struct daemon *daemon)
{
	close_link(daemon->windows);
	close_link(daemon->reports);
	closep(&daemon->signals);
	forget_before(daemon);
	listener_done(&daemon->now.listener, true);
	daemon_board_free(daemon->board);
	closep(&daemon->board_fd);
	daemon_options_done(&daemon->now.options);
	free_words(daemon->argv);
}

int cmd_daemon(int argc, char **argv, uint64_t started_ns)
{
	struct daemon daemon = {.argc = argc,
				.argv = copy_words(argc, argv),
				.title = program_invocation_name,
				.title_size = argv[argc - 1] + strlen(argv[argc - 1]) -
					      program_invocation_name,
				.windows = {-1, -1},
				.reports = {-1, -1},
				.now.listener = LISTENER_NONE,
				.board_fd = -1,
				.signals = -1};
	struct failure failure = {};
	int r = daemon.argv ? daemon_options_read(argc, daemon.argv, &daemon.now.options, &failure)
			    : -ENOMEM;

	if (r == 0)
		r = run_daemon(&daemon, &failure);
	daemon_done(&daemon);
	if (r < 0 && !*failure.what)
		failure_set(&failure, r, "cannot go on: %s", strerror(-r));
	if (r < 0)
		return cli_fail(&failure, r == -EINVAL ? EXIT_USAGE : EXIT_FAILED);
	return r > 0 ? EXIT_DONE : daemon.code;
}
