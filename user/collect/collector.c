/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/collector.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "collect/rights.h"
#include "collect/targets.h"
#include "collect/window.h"
#include "profiler.skel.h"

#define DRAIN_PERIOD_NS	 NSEC_PER_SEC
/* Files of short-lived processes must be opened while these live. */
#define STEP_NS (NSEC_PER_SEC / 10)
/*
 * Until new libraries are known, they are unwound by those that were at their place before. And
 * after a snapshot, which new processes cause, what they go on to map may be gone within STEP_NS.
 */
#define CHANGING_STEP_NS (NSEC_PER_SEC / 100)
#define GENERATION_BYTES (2 << 20) /* of frames and wakers, at least; see raw_stacks.h */
#define RECORDING_NICE	 -10
#define SETTLE_NS	 1000000 /* the longest delay of an event between its time stamp and its ring */

/*
 * A process from before the records may have had an exec since: like all existing ones, it is read
 * from /proc when first seen. No child has one of the threads of -t.
 */
static int on_process_event(struct collector *collector, const struct bf_process_event *event)
{
	if (event->type == BF_EVENT_FORK &&
	    (event->time < collector->records_since || collector->options.n_tids))
		return 0;
	return timeline_add_process(&collector->timeline, event);
}

/* Its names are read once all that happened before it was applied. */
static int on_stack(struct collector *collector, const struct bf_stack_event *stack)
{
	const struct unread_stack unread = {
		.id = stack->id,
		.process_start = stack->process_start,
		.pid = stack->pid,
		.exec_id = stack->exec_id,
		.sp = stack->sp,
		.tls = stack->tls,
	};
	int r = raw_stacks_add(&collector->stacks, stack->id, stack->time, stack->frames, stack->n,
			       stack->end);

	if (r < 0 || !stack->pid)
		return r;
	return code_names_note(&collector->code_names, &unread);
}

static int on_event(void *context, void *data, size_t size)
{
	struct collector *collector = context;
	const struct bf_stack_event *stack = data;
	int r = 0;

	switch (stack->type) {
	case BF_EVENT_STACK: r = on_stack(collector, stack); break;
	case BF_EVENT_SNAPSHOT: r = timeline_add_snapshot(&collector->timeline, data); break;
	case BF_EVENT_WAKER: r = wakers_add(&collector->wakers, data); break;
	case BF_EVENT_WAKERS: r = wakers_add_chain(&collector->wakers, data); break;
	case BF_EVENT_FORK:
	case BF_EVENT_EXIT: r = on_process_event(collector, data); break;
	case BF_EVENT_DRAIN: /* control.drain_wanted says the same */ break;
	}
	if (r < 0)
		collector->event_error = r;
	return 0;
}

static int on_record(void *context, const struct record *record)
{
	struct collector *collector = context;

	return timeline_add_record(&collector->timeline, &collector->processes, record);
}

static int on_snapshot(void *context, const struct bf_snapshot_event *event)
{
	struct collector *collector = context;
	const struct unread_stack unread = {event->id, event->process_start, event->pid,
					    event->exec_id};
	int r = unwinder_walk(&collector->unwinder, event);

	if (r < 0)
		return r;
	return code_names_note(&collector->code_names, &unread);
}

static int read_names_of(struct collector *collector, const struct unread_stack *unread)
{
	struct stack_frames frames;
	uint32_t process;
	int r = raw_stacks_find(&collector->stacks, unread->id, &frames);

	if (r <= 0)
		return r;
	r = processes_see(&collector->processes, unread->pid, unread->process_start,
			  unread->exec_id, &process);
	if (r < 0)
		return r;
	if (unread->sp)
		missing_memory_read(&collector->missing_memory, &collector->unwinder, process,
				    unread->sp, unread->tls);
	return code_names_read(&collector->code_names, process,
			       raw_stacks_addresses(&collector->stacks, &frames), frames.n);
}

/* A process whose fork or exec is not applied yet would be taken for another. */
static int read_names(struct collector *collector)
{
	struct code_names *names = &collector->code_names;
	size_t n = names->n_unread;

	names->n_unread = 0;
	for (size_t i = 0; i < n; i++) {
		int r;

		if (timeline_awaits_image(&collector->timeline, names->unread[i].pid)) {
			names->unread[names->n_unread++] = names->unread[i];
			continue;
		}
		r = read_names_of(collector, &names->unread[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Reads the records before the BPF events: a fork is then known before any record of the child. */
static int read_rings(struct collector *collector)
{
	int r = sampler_read_records(&collector->sampler, on_record, collector);

	if (r < 0)
		return r;
	r = ring_buffer__consume(collector->events);
	if (r < 0)
		return r;
	return collector->event_error;
}

/* Building a table takes long, and the rings must not overflow meanwhile. Their contents wait. */
static void yield(void *context)
{
	struct collector *collector = context;
	int r = read_rings(collector);

	if (r < 0)
		collector->event_error = r;
}

#define PATIENCE_NS	 (5 * NSEC_PER_SEC)
#define LAST_PATIENCE_NS (NSEC_PER_SEC * 3 / 10)
#define OVERTIME_NS	 (2 * NSEC_PER_SEC)

static bool is_over(const struct collector *collector)
{
	struct pollfd stop = {collector->options.stop_fd, POLLIN, 0};
	uint64_t end = collector->skel->bss->control.window_end;

	return poll(&stop, 1, 0) > 0 || (end && monotonic_ns() >= end);
}

/* Waits for the reader, but not for long once the recording is over. */
static bool wait_for_reader(void *context, uint64_t quiet_ns)
{
	struct collector *collector = context;

	yield(collector);
	/* If one file makes us wait, many may. */
	if (!is_over(collector)) {
		collector->over_at = 0;
		return quiet_ns <
		       (collector->unwinder.tables.n_unread ? NSEC_PER_SEC : PATIENCE_NS);
	}
	if (!collector->over_at)
		collector->over_at = monotonic_ns();
	return quiet_ns < LAST_PATIENCE_NS && monotonic_ns() - collector->over_at < OVERTIME_NS;
}

/* Applies everything that happened before @until. */
static int apply_until(struct collector *collector, uint64_t until)
{
	struct bf_control *control = &collector->skel->bss->control;
	size_t n_snapshots;
	int r;

	if (monotonic_ns() < until + SETTLE_NS)
		sleep_until_ns(until + SETTLE_NS);
	r = read_rings(collector);
	if (r < 0)
		return r;
	n_snapshots = collector->timeline.n_snapshots;
	r = timeline_apply(&collector->timeline, &collector->processes, until, on_snapshot,
			   collector);
	if (r < 0)
		return r;
	r = read_names(collector);
	if (r < 0)
		return r;
	r = unwinder_sync(&collector->unwinder);
	if (r < 0)
		return r;
	/* An unknown one is worth another attempt. */
	if (n_snapshots) {
		__atomic_store_n(&control->answers, control->answers + 1, __ATOMIC_RELAXED);
		collector->answered_ns = monotonic_ns();
	}
	return 0;
}

/*
 * Answers a snapshot at once: until then every stack of its process is one. What names are read of
 * may soon be gone.
 */
int collector_read_events(struct collector *collector)
{
	int r = apply_until(collector, monotonic_ns() - SETTLE_NS);

	if (r < 0 || (!collector->timeline.n_snapshots && !collector->code_names.n_unread))
		return r;
	return apply_until(collector, monotonic_ns());
}

/*
 * Identifies the program image of a row by its executable, the lowest mapping. A number; 0:
 * unknown.
 */
static uint64_t executable_of(const struct processes *processes, const struct bf_count_key *key)
{
	uint32_t found = processes_find(processes, key->pid, key->process_start, key->exec_id);
	const struct mapping_list *list;
	const struct file *file;

	if (found == TABLE_NONE)
		return 0;
	list = processes->processes[found].mappings;
	if (!list || !list->n)
		return 0;
	file = &processes->files.files[list->items[0].file];
	return hash_mix(file->mapped_device, file->mapped_inode);
}

/* Says whose a row is. */
static void announce(const struct collector *collector, const struct bf_count_key *key)
{
	const struct processes *processes = &collector->processes;
	uint32_t found = processes_latest(processes, key->pid);
	struct collect_process process = {.pid = key->pid, .start = key->process_start, .exe = ""};

	if (found != TABLE_NONE && processes->processes[found].start == key->process_start) {
		const struct process *image = &processes->processes[found];

		process.parent_pid = image->parent_pid;
		process.has_ended = image->ended;
		if (image->mappings && image->mappings->n)
			process.exe = processes->files.files[image->mappings->items[0].file].path;
	}
	collector->options.on_process(collector->options.on_process_context, &process);
}

int collector_add_row(struct collector *collector, const struct bf_count_key *key,
		      const struct bf_count *count)
{
	struct windows *windows = &collector->windows;

	if (windows_is_after(windows, key->window))
		return windows_set_aside(windows, key, count);
	if (collector->options.on_process)
		announce(collector, key);
	if (key->reason == BF_REASON_RUNTIME)
		return cpu_times_add(&collector->cpu_times, key,
				     executable_of(&collector->processes, key), count->nanoseconds);
	return locate(&collector->locator, key, count);
}

int collector_read_rows(struct collector *collector)
{
	struct drain *drain = &collector->drain;
	uint32_t n;
	int r;

	drain_flip(drain);
	r = unwinder_reclaim(&collector->unwinder);
	if (r < 0)
		return r;
	r = apply_until(collector, monotonic_ns());
	if (r < 0)
		return r;
	r = drain_read(drain, &n);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < n; i++) {
		r = collector_add_row(collector, &drain->keys[i], &drain->counts[i]);
		if (r < 0)
			return r;
	}
	collector->last_drain_ns = monotonic_ns();
	collector->n_drains++;
	return drain_seen_stacks(drain, false);
}

/* Arrays are up to twice as long as their contents: the carried part, and as much again. */
#define BYTES_PER_CARRIED 4

/*
 * Drops frames, wakers and names that no row referred to while as many others came. The programs
 * then send everything again, since rows may still refer to them: a generation lasts longer when
 * more of it is in use.
 */
static int age(struct collector *collector)
{
	size_t bytes = raw_stacks_bytes(&collector->stacks) + wakers_bytes(&collector->wakers) +
		       locator_bytes(&collector->locator) +
		       code_names_bytes(&collector->code_names);
	size_t carried = collector->stacks.carried + collector->code_names.carried;

	if (bytes < GENERATION_BYTES + BYTES_PER_CARRIED * carried)
		return 0;
	raw_stacks_age(&collector->stacks);
	wakers_age(&collector->wakers);
	code_names_age(&collector->code_names);
	locator_forget(&collector->locator);
	malloc_trim(0); /* names are small: their pages would stay ours */
	return drain_seen_stacks(&collector->drain, true);
}

int collector_tidy(struct collector *collector)
{
	int r;

	jit_files_retry(&collector->processes.jit_files);
	r = processes_sweep(&collector->processes);
	if (r < 0)
		return r;
	r = timeline_catch_up(&collector->timeline, &collector->processes);
	if (r < 0)
		return r;
	return age(collector);
}

static int drain_rows(struct collector *collector)
{
	int r = collector_read_rows(collector);

	if (r < 0)
		return r;
	return collector_tidy(collector);
}

/* A timer for the boundaries of windows. */
static int open_timer(struct collector *collector)
{
	struct epoll_event event = {.events = EPOLLIN};

	if (!collector->options.every_ns)
		return 0;
	collector->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (collector->timer_fd < 0 ||
	    epoll_ctl(collector->epoll_fd, EPOLL_CTL_ADD, collector->timer_fd, &event) < 0)
		return -errno;
	return 0;
}

static int open_rings(struct collector *collector, struct failure *failure)
{
	struct epoll_event event = {.events = EPOLLIN};
	int r;

	collector->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (collector->epoll_fd < 0)
		return -errno;
	collector->events = ring_buffer__new(bpf_map__fd(collector->skel->maps.events), on_event,
					     collector, NULL);
	if (!collector->events)
		return -errno;
	r = ring_buffer__add(collector->events, bpf_map__fd(collector->skel->maps.spare_events),
			     on_event, collector);
	if (r < 0)
		return r;
	if (epoll_ctl(collector->epoll_fd, EPOLL_CTL_ADD, ring_buffer__epoll_fd(collector->events),
		      &event) < 0)
		return -errno;
	collector->sampler = (struct sampler){
		.wanted = collector->options.cpus,
		.epoll_fd = collector->epoll_fd,
		.ticks = collector->skel->bss->ticks,
	};
	r = sampler_open(&collector->sampler, failure);
	collector->records_since = monotonic_ns();
	return r;
}

/*
 * While events come in, we run first: we need little, and on a busy machine the rings would
 * overflow before our turn. The command that we may have started keeps its own priority.
 */
static void go_first(struct collector *collector)
{
	collector->nice = getpriority(PRIO_PROCESS, 0);
	setpriority(PRIO_PROCESS, 0, collector->nice + RECORDING_NICE);
}

/* … unless somebody floods us with events: then only the recording pays for that. */
static void pace(struct collector *collector)
{
	uint64_t elapsed = monotonic_ns() - collector->paced_ns, cpu;
	struct timespec used;

	if (elapsed < NSEC_PER_SEC)
		return;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	cpu = used.tv_sec * NSEC_PER_SEC + used.tv_nsec;
	setpriority(PRIO_PROCESS, 0,
		    collector->nice +
			    (cpu - collector->paced_cpu_ns > elapsed / 2 ? 0 : RECORDING_NICE));
	collector->paced_ns += elapsed;
	collector->paced_cpu_ns = cpu;
}

static void go_with_the_rest(const struct collector *collector)
{
	setpriority(PRIO_PROCESS, 0, collector->nice);
}

/* Mappings, our own helpers and outputs all need it. */
static int check_proc(struct failure *failure)
{
	if (access("/proc/self/maps", R_OK) == 0)
		return 0;
	failure_set(failure, -errno, "/proc is not mounted here");
	return failure_fix(failure, -ENOENT, "mount -t proc proc /proc");
}

static int open_all(struct collector *collector, const struct collect_options *options,
		    struct failure *failure)
{
	int r = events_find(&collector->sampled, options, failure);

	if (r < 0)
		return r;
	r = load_profiler(options, &collector->loaded, failure);
	if (r < 0)
		return r;
	collector->skel = collector->loaded.skel;
	r = events_attach(&collector->sampled, options, collector->skel, failure);
	if (r < 0)
		return r;
	r = open_rings(collector, failure);
	if (r < 0)
		return r;
	r = sampler_start(&collector->sampler, collector->sampled.sampled,
			  collector->sampled.n_sampled, failure);
	if (r < 0)
		return r;
	r = open_timer(collector);
	if (r < 0)
		return r;
	r = profile_new(options->mode, &collector->profile);
	if (r < 0)
		return r;
	r = closing_describe(collector);
	if (r < 0)
		return r;
	r = drain_init(&collector->drain, collector->skel);
	if (r < 0)
		return r;
	r = period_init(&collector->period, collector->skel, options->offcpu_period_ns);
	if (r < 0)
		return r;
	return unwinder_init(&collector->unwinder, collector->skel, &collector->processes,
			     &collector->stacks, options->no_user ? 0 : options->unwind_memory,
			     yield, collector);
}

int collect_open(const struct collect_options *options, struct collector **ret,
		 struct failure *failure)
{
	struct collector *collector;
	int r = check_proc(failure);

	if (r < 0)
		return r;
	r = targets_check(options, failure);
	if (r < 0)
		return r;
	collector = calloc(1, sizeof *collector);
	if (!collector)
		return -ENOMEM;
	collector->options = *options;
	collector->epoll_fd = collector->timer_fd = -1;
	processes_init(&collector->processes);
	go_first(collector);
	r = open_all(collector, options, failure);
	if (r < 0) {
		if (!failure->what[0])
			failure_set(failure, r, "cannot start recording: %s", strerror(-r));
		if (!failure->fix[0])
			rights_explain_files(r, failure);
		rights_explain_memory(r, failure);
		collect_free(collector);
		return r;
	}
	collector->unwinder.tables.debug = options->debug;
	collector->unwinder.tables.reader = options->reader;
	collector->unwinder.tables.wait = wait_for_reader;
	collector->unwinder.no_runtimes = options->no_runtimes;
	code_names_init(&collector->code_names, &collector->processes, &collector->unwinder.tables);
	locator_init(&collector->locator, &collector->processes, &collector->stacks,
		     &collector->wakers, collector->profile, !options->no_user);
	collector->locator.code_names = &collector->code_names;
	collector->locator.native_frames = options->native_frames;
	*ret = collector;
	return 0;
}

void collect_free(struct collector *collector)
{
	if (!collector)
		return;
	go_with_the_rest(collector);
	sampler_close(&collector->sampler);
	events_done(&collector->sampled);
	locator_done(&collector->locator);
	code_names_done(&collector->code_names);
	unwinder_done(&collector->unwinder);
	ring_buffer__free(collector->events);
	closep(&collector->timer_fd);
	closep(&collector->epoll_fd);
	loaded_done(&collector->loaded);
	drain_done(&collector->drain);
	period_done(&collector->period);
	cpu_times_done(&collector->cpu_times);
	wakers_done(&collector->wakers);
	raw_stacks_done(&collector->stacks);
	timeline_done(&collector->timeline);
	processes_done(&collector->processes);
	windows_done(&collector->windows);
	profile_free(collector->profile);
	free(collector);
}

/* Makes collect_fd() wake the caller at the next boundary. */
static void ring_at_next(struct collector *collector)
{
	const struct windows *windows = &collector->windows;
	uint64_t next = windows_begin(windows, windows->number + 1);
	struct itimerspec timer = {.it_value = {next / NSEC_PER_SEC, next % NSEC_PER_SEC}};

	if (next >= collector->skel->bss->control.window_end)
		timer.it_value = (struct timespec){};
	if (collector->timer_fd >= 0)
		timerfd_settime(collector->timer_fd, TFD_TIMER_ABSTIME, &timer, NULL);
}

int collect_start(struct collector *collector, uint64_t duration_ns, struct failure *failure)
{
	struct bf_control *control = &collector->skel->bss->control;
	bool offcpu = collector->options.mode != PROFILE_ONCPU;
	int r;

	if (offcpu)
		window_calibrate(control);
	r = collector_read_existing(collector, failure);
	if (r < 0)
		return r;
	if (offcpu)
		window_visit_cpus(&collector->sampler.online);
	collector->begin.totals.taken_ns = offcpu ? stats_taken_ns(&collector->loaded) : 0;
	sampler_draw_ticks(&collector->sampler);
	window_open(control, duration_ns, collector->options.every_ns);
	collector->start_realtime_ns = realtime_ns() - (monotonic_ns() - control->window_start);
	collector->windows.base.start = collector->windows.begin_ns = control->window_start;
	collector->windows.every_ns = collector->options.every_ns;
	ring_at_next(collector);
	collector->last_drain_ns = collector->last_adjusted_ns = control->window_start;
	return load_end(&collector->loaded, &collector->options, failure);
}

uint64_t collect_window_start(const struct collector *collector)
{
	return collector->skel->bss->control.window_start;
}

int collect_fd(const struct collector *collector)
{
	return collector->epoll_fd;
}

uint64_t collect_patience_ns(const struct collector *collector)
{
	bool is_changing =
		collector->code_names.n_again || monotonic_ns() - collector->answered_ns < STEP_NS;

	return (is_changing && !collector->options.is_frugal) || collector->processes.n_past
		       ? CHANGING_STEP_NS
		       : STEP_NS;
}

uint64_t collector_window_now(const struct collector *collector)
{
	uint64_t now = monotonic_ns(), end = collector->skel->bss->control.window_end;

	return windows_at(&collector->windows, now < end ? now : end - 1);
}

#define LEAD_NS	   (20 * (NSEC_PER_SEC / 1000)) /* that a window's end is set before it comes */
#define MIN_CUT_NS (NSEC_PER_SEC / 10)

int collect_cut(struct collector *collector, uint64_t moment_ns)
{
	struct windows *windows = &collector->windows;
	uint64_t now = monotonic_ns();

	if (!windows->every_ns || moment_ns < now + LEAD_NS ||
	    moment_ns < windows->begin_ns + MIN_CUT_NS ||
	    collector_window_now(collector) != windows->number ||
	    moment_ns + LEAD_NS > windows_begin(windows, windows->number + 1))
		return -EAGAIN;
	window_cut(&collector->skel->bss->control, moment_ns);
	windows->base = (struct bf_base){moment_ns, windows->number + 1};
	ring_at_next(collector);
	return 0;
}

static int step(struct collector *collector)
{
	bool due = monotonic_ns() - collector->last_drain_ns >= DRAIN_PERIOD_NS;
	uint64_t window = collector_window_now(collector);
	int r;

	windows_forget_taken(&collector->windows);
	if (window > collector->windows.number) {
		r = closing_close_before(collector, window);
		ring_at_next(collector);
	} else if (due || collector->skel->bss->control.drain_wanted) {
		r = drain_rows(collector);
	} else {
		r = collector_read_events(collector);
	}
	if (r < 0)
		return r;
	r = polling_step(collector);
	if (r < 0)
		return r;
	return code_names_retry(&collector->code_names);
}

int collect_step(struct collector *collector, struct failure *failure)
{
	int r = step(collector);

	if (r < 0)
		return failure_set(failure, r, "cannot read from the kernel: %s", strerror(-r));
	if (!collector->polling.is_on)
		period_adapt(&collector->period);
	closing_adjust_clock(collector);
	pace(collector);
	/* Now that a removed CPU has nothing unread in its ring. */
	sampler_follow_cpus(&collector->sampler);
	return 0;
}

/* Frees what only the recording needs: writing it takes memory, too. */
static void let_go(struct collector *collector)
{
	segments_done(&collector->unwinder.segments);
	ring_buffer__free(collector->events);
	collector->events = NULL;
}

static int close_all(struct collector *collector)
{
	uint64_t end = collector->skel->bss->control.window_end;
	uint64_t last = windows_at(&collector->windows, end - 1);

	if (last > collector->windows.number) {
		int r = closing_close_before(collector, last);

		if (r < 0)
			return r;
	}
	return closing_close_last(collector);
}

int collect_stop(struct collector *collector, struct failure *failure)
{
	int r;

	sampler_let_tick(&collector->sampler);
	windows_forget_taken(&collector->windows);
	window_close(&collector->skel->bss->control, collector->options.mode != PROFILE_ONCPU);
	r = close_all(collector);
	let_go(collector);
	go_with_the_rest(collector);
	if (collector->options.log)
		fprintf(collector->options.log,
			"programs counted %" PRIu64 " samples; processes that began and ended ran "
			"%.3f s\n",
			stats_total(collector->skel, BF_STAT_SAMPLES),
			stats_total(collector->skel, BF_STAT_ENDED_NS) / 1e9);
	if (r < 0)
		return failure_set(failure, r, "cannot read from the kernel: %s", strerror(-r));
	return 0;
}

void collect_spare(struct collector *collector, double factor)
{
	period_spare(&collector->period, factor);
}

void collect_thin(struct collector *collector, unsigned int divisor)
{
	sampler_thin(&collector->sampler, divisor);
}

bool collect_may_poll(const struct collector *collector)
{
	return load_may_poll(&collector->loaded);
}

int collect_poll(struct collector *collector, bool on)
{
	return polling_set(collector, on);
}

uint64_t collect_kernel_ns(const struct collector *collector)
{
	return stats_total(collector->skel, BF_STAT_PROGRAMS_NS);
}

const char *collect_hook(const struct collector *collector)
{
	return collector->loaded.hook;
}

const char *collect_source(const struct collector *collector)
{
	if (collector->options.mode == PROFILE_OFFCPU)
		return collector->loaded.hook;
	return collector->sampled.source;
}

const char *collect_event_path(const struct collector *collector, size_t number)
{
	return number < collector->sampled.n ? collector->sampled.items[number].file.path : NULL;
}
