/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmd/daemon_recorder.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/broker.h"
#include "base/reader.h"
#include "base/sandbox.h"
#include "base/system.h"
#include "cli/cli.h"
#include "cmd/cmd.h"
#include "cmd/daemon_budget.h"
#include "cmd/daemon_clock.h"
#include "cmd/daemon_link.h"
#include "cmd/daemon_log.h"
#include "cmd/daemon_usage.h"
#include "cmd/daemon_who.h"
#include "record/windows.h"
#include "store/ledger_code.h"
#include "symbol/kernel_names.h"
#include "symbol/names_cache.h"
#include "symbol/names_job.h"
#include "symbol/names_later.h"

#define CACHE_BYTES (16 << 20) /* of names; used as it fills … */
#define CACHE_SHARE 6	       /* … at most this part of the memory's budget */
#define SCARCE	    0.8	       /* of the memory's budget */
#define MB	    1048576.0
#define SLICE_NS    (NSEC_PER_SEC / 10) /* the longest to sleep: children end meanwhile */

#define NAMING_END_NS	(2 * NSEC_PER_SEC) /* at the end, windows are named in full for so long */
#define ORPHAN_SECONDS	4		   /* for sending a window without the recorder */
#define SIGNAL_ORPHANED SIGUSR1

/* Between the recorder and the process that names a window, in memory that both see. */
struct naming_report {
	volatile bool is_sent; /* it may go on to read files */
	volatile int error;
	volatile bool is_ended; /* set while it names: end the search, send what has names */
};

/* What recorders before this one had used, as the board has it. */
struct recorder_base {
	uint64_t record_ns, names_ns, reader_ns, bpf_ns;
};

struct daemon_recorder {
	const struct daemon_options *options;
	struct record_options record; /* of the names */
	struct collect_options collect;
	struct collector *collector;
	struct reader reader;
	struct names_cache *cache;
	struct who who;
	struct naming_report *naming;
	pid_t namer, learner; /* 0: none */
	int windows, reports, signals;
	/* Of the last window: */
	struct daemon_clock clock;
	uint64_t own_ns;    /* our CPU time by then, and that of our programs */
	enum store_gap gap; /* before the next one */
	uint64_t n_recorded, n_lost;
	struct names_cache_stats names; /* when the last window was sent */
	struct daemon_budget budget;
	double ended_seconds; /* CPU time of children that have ended */
	struct daemon_board *board;
	struct recorder_base base;
	uint64_t broker_ns; /* CPU time of the one at hand, when it was last seen */
	uint64_t cut_at;    /* the last moment at which a window was to end early */
};

static uint64_t own_ns(const struct daemon_recorder *recorder)
{
	struct rusage self;

	getrusage(RUSAGE_SELF, &self);
	return (rusage_seconds(&self) + recorder->ended_seconds) * 1e9;
}

static unsigned int rate_divisor(const struct daemon_recorder *recorder)
{
	return recorder->budget.effort >= EFFORT_HALF_RATE ? 2 : 1;
}

static struct store_window stamp(struct daemon_recorder *recorder,
				 const struct collect_window *window)
{
	const struct collect_stats *stats = &window->stats;
	uint64_t own = own_ns(recorder) + collect_kernel_ns(recorder->collector);
	struct store_window stamped = {
		.windows = window->n,
		.millihertz = recorder->options->frequency * 1000 / rate_divisor(recorder),
		.lost = stats->counts_full + stats->events_full + stats->lost_stacks +
			stats->lost_records,
		.own_ns = own - recorder->own_ns,
		.effort = recorder->budget.effort,
	};
	struct daemon_moment now;

	daemon_moment_now(&now);
	daemon_clock_stamp(&recorder->clock, &now, window->end_ns, window->profile->duration_ns,
			   recorder->gap, &stamped);
	recorder->own_ns = own;
	recorder->gap = GAP_NONE;
	return stamped;
}

static uint64_t reader_ns(const struct daemon_recorder *recorder)
{
	uint64_t all = recorder->reader.cpu_seconds * 1e9;
	struct timespec used;
	clockid_t clock;

	if (recorder->reader.pid && clock_getcpuclockid(recorder->reader.pid, &clock) == 0 &&
	    clock_gettime(clock, &used) == 0)
		all += used.tv_sec * NSEC_PER_SEC + used.tv_nsec;
	return all;
}

static struct recorder_base read_base(const struct daemon_board *board)
{
	return (struct recorder_base){
		.record_ns = board_get(&board->cpu_ns[BOARD_RECORD]),
		.names_ns = board_get(&board->cpu_ns[BOARD_NAMES]),
		.reader_ns = board_get(&board->cpu_ns[BOARD_READER]),
		.bpf_ns = board_get(&board->bpf_ns),
	};
}

/* Puts on the board what a window has lost, and what all of them have cost. */
static void note_window(struct daemon_recorder *recorder, const struct collect_stats *stats)
{
	const struct recorder_base *base = &recorder->base;
	struct daemon_board *board = recorder->board;
	uint64_t names = recorder->ended_seconds * 1e9;

	daemon_board_lose(board, stats);
	board_set(&board->cpu_ns[BOARD_RECORD], base->record_ns + own_ns(recorder) - names);
	board_set(&board->cpu_ns[BOARD_NAMES], base->names_ns + names);
	board_set(&board->cpu_ns[BOARD_READER], base->reader_ns + reader_ns(recorder));
	board_set(&board->bpf_ns, base->bpf_ns + collect_kernel_ns(recorder->collector));
	board_set(&board->period_ns, stats->offcpu_period_ns);
	board_set(&board->millihertz, recorder->options->frequency * 1000 / rate_divisor(recorder));
	board_set(&board->effort, recorder->budget.effort);
}

/* Its workers end unseen, so its time is what was seen each minute. */
static void note_broker(struct daemon_recorder *recorder, uint64_t ns)
{
	uint64_t before = ns < recorder->broker_ns ? 0 : recorder->broker_ns;

	board_add(&recorder->board->cpu_ns[BOARD_BROKER], ns - before);
	recorder->broker_ns = ns;
}

/* Of the budget, this much is for stacks of waits, on all CPUs together. */
#define WAITS_SHARE 0.25
#define USUAL_SHARE 0.01 /* of each CPU: what they may cost elsewhere */

static void spare(struct daemon_recorder *recorder)
{
	static const double factors[N_EFFORTS] = {1, 1, 0.5, 0.25, 0.25, 0.25};
	struct daemon_budget *budget = &recorder->budget;
	double each = WAITS_SHARE * budget->share / sysconf(_SC_NPROCESSORS_ONLN);
	double factor = budget->share > 0 && each < USUAL_SHARE ? each / USUAL_SHARE : 1;
	int r;

	collect_spare(recorder->collector, factor * factors[budget->effort]);
	collect_thin(recorder->collector, rate_divisor(recorder));
	r = collect_poll(recorder->collector, budget->effort >= EFFORT_LOOKS);
	if (r >= 0)
		return;
	budget->effort = EFFORT_LOOKS; /* it is tried again as any step back */
	daemon_log(LOG_LEVEL_WARNING,
		   "cannot run a program at switches again: %s; threads are still looked at",
		   strerror(-r));
}

/*
 * What a storm of processes has left free goes back. Where memory grows scarce, what is kept for
 * speed goes first.
 */
static void save_memory(struct daemon_recorder *recorder)
{
	const struct daemon_budget *budget = &recorder->budget;

	if (budget->most_bytes && budget->had.bytes >= budget->most_bytes * SCARCE) {
		reader_stop(&recorder->reader);
		reader_prepare(recorder->collect.reader);
	}
	malloc_trim(0);
}

static void keep_budget(struct daemon_recorder *recorder)
{
	struct daemon_budget *budget = &recorder->budget;
	uint64_t now = monotonic_ns();
	struct daemon_usage usage;
	struct daemon_use use;
	int change;

	if (!daemon_budget_is_due(budget, now))
		return;
	usage = daemon_usage(getppid(), recorder->board);
	note_broker(recorder, usage.broker_ns);
	use = (struct daemon_use){.names_ns = recorder->ended_seconds * 1e9,
				  .programs_ns = collect_kernel_ns(recorder->collector),
				  .switches = daemon_usage_switches(),
				  .bytes = usage.bytes};
	use.cpu_ns = usage.cpu_ns + use.programs_ns;
	change = daemon_budget_look(budget, now, &use);
	save_memory(recorder);
	if (!change)
		return;
	recorder->record.symbolize.put_off = budget->effort >= EFFORT_NAMES_LATER;
	spare(recorder);
	daemon_log(LOG_LEVEL_INFO,
		   "recording took %.2f %% of a CPU in the last minute, of %.2f, and %.0f MB of "
		   "memory, of %.0f: %s",
		   100 * budget->used, 100 * budget->share, budget->had.bytes / MB,
		   budget->most_bytes / MB, daemon_effort_text(budget->effort));
}

/* The process that names a window */

static struct naming_report *orphans_report;

/* The recorder is gone: the window is still worth sending, but nobody waits for it. */
static void on_orphaned(int signal)
{
	orphans_report->is_ended = true;
	alarm(ORPHAN_SECONDS);
}

/* Ends soon after @recorder_pid. */
static void follow_recorder(struct naming_report *naming, pid_t recorder_pid)
{
	orphans_report = naming;
	signal(SIGNAL_ORPHANED, on_orphaned);
	prctl(PR_SET_PDEATHSIG, SIGNAL_ORPHANED);
	if (getppid() != recorder_pid)
		raise(SIGNAL_ORPHANED);
}

static int fill_ledger(const struct who *who, const struct profile *profile, struct ledger *ledger)
{
	_cleanup_free_ struct ledger_who *list = NULL;
	size_t n;
	int r = ledger_init(ledger);

	if (r < 0)
		return r;
	r = who_list(who, &list, &n);
	if (r < 0)
		return r;
	return ledger_add_profile(ledger, profile, list, n);
}

static int encode_window(const struct who *who, const struct collect_window *window,
			 const struct store_window *stamped, struct ledger_bytes *ret)
{
	struct ledger_marks marks = LEDGER_MARKS_NONE;
	struct ledger ledger;
	int r = fill_ledger(who, window->profile, &ledger);

	if (r == 0)
		r = ledger_encode(&ledger, stamped, &marks, ret);
	ledger_done(&ledger);
	return r;
}

static int name_and_send(struct daemon_recorder *recorder, struct collect_window *window,
			 const struct store_window *stamped, struct names_later *later)
{
	struct window_origin origin = {
		.options = &recorder->record,
		.is_ended = &recorder->naming->is_ended,
		.cache = recorder->cache,
		.later = later,
	};
	struct symbol_stats symbols = {};
	struct failure failure = {};
	struct ledger_bytes encoded;
	int r = window_name(window, &origin, &symbols, &failure);

	if (r < 0)
		return r;
	r = encode_window(&recorder->who, window, stamped, &encoded);
	if (r < 0)
		return r;
	r = daemon_link_send_window(recorder->windows, encoded.bytes, encoded.n);
	free(encoded.bytes);
	return r;
}

static void be_namer(struct daemon_recorder *recorder, pid_t recorder_pid,
		     struct collect_window *window, const struct store_window *stamped)
{
	struct names_later later = {};
	struct symbolize_options learn = recorder->record.symbolize;
	bool may_learn = learn.reader && !recorder->learner && !window->is_last;

	prctl(PR_SET_NAME, "bpfflame-names");
	follow_recorder(recorder->naming, recorder_pid);
	/* The recorder goes on with its own. */
	reader_detach(learn.reader);
	broker_detach();
	setpriority(PRIO_PROCESS, 0, 0);
	recorder->naming->error =
		name_and_send(recorder, window, stamped, may_learn ? &later : NULL);
	close(recorder->windows); /* its other end waits for the end of all that may send */
	signal(SIGNAL_ORPHANED, SIG_DFL);
	if (later.n) {
		__atomic_store_n(&recorder->naming->is_sent, true, __ATOMIC_RELEASE);
		learn.cache = recorder->cache;
		names_later_learn(&later, &learn);
	}
	reader_stop(learn.reader);
	_exit(EXIT_DONE);
}

static void report(struct daemon_recorder *recorder, enum daemon_report_kind kind)
{
	const struct daemon_report what = {.kind = kind,
					   .own_ns = own_ns(recorder),
					   .windows = recorder->n_recorded,
					   .lost = recorder->n_lost};

	daemon_link_report(recorder->reports, &what);
}

/* What the cache of names did for a window. */
static void note_names(struct daemon_recorder *recorder)
{
	struct daemon_board *board = recorder->board;
	struct names_cache_stats now, *before = &recorder->names;

	names_cache_stats(recorder->cache, &now);
	board_add(&board->names_hit, now.hits - before->hits);
	board_add(&board->names_missed, now.misses - before->misses);
	board_add(&board->names_evicted, now.evictions - before->evictions);
	if (now.n_given_up > before->n_given_up)
		daemon_log(LOG_LEVEL_WARNING,
			   "the debug information of %s takes too much time or memory to read: its "
			   "functions have the names of its symbols",
			   now.given_up);
	*before = now;
}

static void note_sent(struct daemon_recorder *recorder, int error)
{
	if (error < 0) {
		daemon_log(LOG_LEVEL_ERROR, "a window is lost: %s",
			   error == -EAGAIN ? "its writer does not take it" : strerror(-error));
		recorder->gap = GAP_LOST;
		recorder->n_lost++;
		board_add(&recorder->board->unsent, 1);
	} else {
		recorder->n_recorded++;
	}
	report(recorder, REPORT_RECORDED);
	note_names(recorder);
}

/* Takes up what has ended. Returns whether nobody names a window. */
static bool poll_namer(struct daemon_recorder *recorder, int options)
{
	struct rusage usage = {};
	int status;

	if (recorder->learner && wait4(recorder->learner, NULL, WNOHANG, &usage) > 0) {
		recorder->ended_seconds += rusage_seconds(&usage);
		recorder->learner = 0;
	}
	if (recorder->namer && !recorder->learner &&
	    __atomic_load_n(&recorder->naming->is_sent, __ATOMIC_ACQUIRE)) {
		recorder->learner = recorder->namer;
		recorder->namer = 0;
		note_sent(recorder, recorder->naming->error);
	}
	if (recorder->namer && wait4(recorder->namer, &status, options, &usage) > 0) {
		recorder->ended_seconds += rusage_seconds(&usage);
		recorder->namer = 0;
		note_sent(recorder, WIFEXITED(status) && WEXITSTATUS(status) == 0
					    ? recorder->naming->error
					    : -ECHILD);
	}
	return !recorder->namer;
}

static void start_namer(struct daemon_recorder *recorder, struct collect_window *window)
{
	const struct store_window stamped = stamp(recorder, window);
	pid_t self = getpid();

	*recorder->naming = (struct naming_report){};
	recorder->namer = fork();
	if (recorder->namer == 0)
		be_namer(recorder, self, window, &stamped);
	if (recorder->namer < 0) {
		recorder->namer = 0;
		note_sent(recorder, -errno);
	}
}

/* Takes a window that is over. Returns 1, or 0 if there is none. */
static int hand_over(struct daemon_recorder *recorder, struct failure *failure)
{
	struct collect_window window = {};
	int r = collect_take(recorder->collector, &window, failure);

	if (r > 0) {
		start_namer(recorder, &window);
		note_window(recorder, &window.stats);
		keep_budget(recorder);
		r = who_next(&recorder->who) < 0 ? -ENOMEM : r;
	}
	collect_window_done(&window);
	return r;
}

/* The recording */

static bool is_asked_to_end(const struct daemon_recorder *recorder)
{
	struct signalfd_siginfo info;

	return read(recorder->signals, &info, sizeof info) == sizeof info;
}

static void wait_for_something(const struct daemon_recorder *recorder)
{
	struct pollfd fds[] = {
		{.fd = collect_fd(recorder->collector), .events = POLLIN},
		{.fd = recorder->signals, .events = POLLIN},
	};
	uint64_t patience = collect_patience_ns(recorder->collector);
	struct timespec timeout = {0, patience < SLICE_NS ? patience : SLICE_NS};

	ppoll(fds, 2, &timeout, NULL);
}

/* The open window ends at the first moment that somebody asks for, or as usual. */
static void end_as_asked(struct daemon_recorder *recorder)
{
	uint64_t now = monotonic_ns();
	uint64_t next = daemon_board_next(recorder->board, now, now + recorder->options->window_ns);

	if (next && next != recorder->cut_at && collect_cut(recorder->collector, next) == 0)
		recorder->cut_at = next;
}

/* Where windows may end: whole seconds from the beginning, or windows where these are shorter. */
static void open_grid(struct daemon_recorder *recorder)
{
	uint64_t window_ns = recorder->options->window_ns;

	board_set(&recorder->board->grid_ns, collect_window_start(recorder->collector));
	board_set(&recorder->board->tick_ns, window_ns < NSEC_PER_SEC ? window_ns : NSEC_PER_SEC);
}

static int run(struct daemon_recorder *recorder, struct failure *failure)
{
	while (!is_asked_to_end(recorder)) {
		int r;

		wait_for_something(recorder);
		r = collect_step(recorder->collector, failure);
		if (r < 0)
			return r;
		end_as_asked(recorder);
		who_step(&recorder->who);
		if (!poll_namer(recorder, WNOHANG))
			continue;
		r = hand_over(recorder, failure);
		if (r < 0)
			return r;
	}
	return collect_stop(recorder->collector, failure);
}

/* The windows that are over and not sent yet. */
static int send_rest(struct daemon_recorder *recorder, struct failure *failure)
{
	uint64_t deadline = monotonic_ns() + NAMING_END_NS;
	int r;

	if (recorder->learner)
		kill(recorder->learner, SIGKILL);
	do {
		while (!poll_namer(recorder, WNOHANG)) {
			if (monotonic_ns() > deadline)
				recorder->naming->is_ended = true;
			usleep(5000);
		}
		r = hand_over(recorder, failure);
	} while (r > 0);
	return r;
}

/* As record.c has them, but for what writing files takes. */
#define FOR_RECORDING                                                                              \
	(SANDBOX_CAPABILITY(CAP_BPF) | SANDBOX_CAPABILITY(CAP_PERFMON) |                           \
	 SANDBOX_CAPABILITY(CAP_SYS_PTRACE) | SANDBOX_CAPABILITY(CAP_SYSLOG) |                     \
	 SANDBOX_CAPABILITY(CAP_IPC_LOCK) | SANDBOX_CAPABILITY(CAP_SYS_NICE) |                     \
	 SANDBOX_CAPABILITY(CAP_DAC_READ_SEARCH) | SANDBOX_CAPABILITY(CAP_KILL) |                  \
	 SANDBOX_CAPABILITY(CAP_SETUID) | SANDBOX_CAPABILITY(CAP_SETGID))

static int start(struct daemon_recorder *recorder, struct failure *failure)
{
	const struct daemon_options *options = recorder->options;
	struct collect_options *collect = &recorder->collect;
	int r;

	*collect = (struct collect_options){
		.mode = PROFILE_WALL,
		.frequency = options->frequency,
		.unwind_memory = options->unwind_memory,
		.offcpu_period_ns = PERIOD_AUTO,
		.every_ns = options->window_ns,
		.time_programs = true,
		.is_frugal = true,
		.reader = options->no_sandbox ? NULL : &recorder->reader,
		.stop_fd = recorder->signals,
		.debug = &names_job_debug,
		.on_process = who_note,
		.on_process_context = &recorder->who,
		.max_block_ns = UINT64_MAX,
		.log = options->verbose > 1 ? stderr : NULL,
	};
	recorder->record.symbolize.reader = collect->reader;
	recorder->record.symbolize.is_frugal = true;
	recorder->record.symbolize.no_inline = options->no_inline;
	recorder->record.view.stacks.unfold.no_inline = options->no_inline;
	r = collect_open(collect, &recorder->collector, failure);
	if (r < 0)
		return r;
	if (!options->no_sandbox)
		broker_start();
	reader_prepare(collect->reader);
	kernel_names_keep();
	mallopt(M_MMAP_THRESHOLD, 64 << 10);
	r = collect_start(recorder->collector, 0, failure);
	if (r < 0)
		return r;
	recorder->budget.most =
		collect_may_poll(recorder->collector) ? EFFORT_LOOKS : EFFORT_HALF_RATE;
	spare(recorder);
	open_grid(recorder);
	r = options->no_sandbox ? 0 : sandbox_restrict(FOR_RECORDING);
	return r < 0 ? failure_set(failure, r, "cannot give up rights: %s", strerror(-r)) : 0;
}

static size_t cache_bytes(const struct daemon_options *options)
{
	uint64_t most = options->memory_budget / CACHE_SHARE;

	return most && most < CACHE_BYTES ? most : CACHE_BYTES;
}

static int prepare(struct daemon_recorder *recorder)
{
	sigset_t signals;
	void *shared = mmap(NULL, sizeof *recorder->naming, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int r;

	if (shared == MAP_FAILED)
		return -ENOMEM;
	recorder->naming = shared;
	r = names_cache_new(cache_bytes(recorder->options), &recorder->cache);
	if (r < 0)
		return r;
	r = who_init(&recorder->who);
	if (r < 0)
		return r;
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	recorder->signals = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	return recorder->signals < 0 ? -errno : 0;
}

static int record(struct daemon_recorder *recorder, struct failure *failure)
{
	int r = prepare(recorder);

	if (r < 0)
		return r;
	r = start(recorder, failure);
	if (r < 0)
		return r;
	report(recorder, REPORT_RECORDING);
	r = run(recorder, failure);
	if (r < 0)
		return r;
	reader_stop(&recorder->reader);
	return send_rest(recorder, failure);
}

int daemon_record(const struct daemon_options *options, int windows, int reports,
		  struct daemon_board *board)
{
	struct daemon_recorder recorder = {
		.options = options,
		.windows = windows,
		.reports = reports,
		.reader = READER_NONE,
		.gap = GAP_STARTED,
		.board = board,
		.base = read_base(board),
		.budget = {.share = options->cpu_budget / 100,
			   .most_bytes = options->memory_budget,
			   .look_ns = DAEMON_BUDGET_WINDOWS * options->window_ns},
	};
	struct failure failure = {};
	int r = record(&recorder, &failure);

	reader_stop(&recorder.reader);
	broker_stop();
	kernel_names_done();
	collect_free(recorder.collector);
	if (r < 0)
		daemon_log(LOG_LEVEL_ERROR, "%s%s%s%s", *failure.what ? failure.what : strerror(-r),
			   *failure.fix ? " (" : "", failure.fix, *failure.fix ? ")" : "");
	return r < 0 ? EXIT_FAILED : EXIT_DONE;
}
