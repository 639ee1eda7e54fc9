/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/collect.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>

#include "base/array.h"
#include "collect/drain.h"
#include "collect/load.h"
#include "collect/locate.h"
#include "collect/period.h"
#include "collect/runtimes.h"
#include "collect/sampler.h"
#include "collect/stats.h"
#include "collect/targets.h"
#include "collect/timeline.h"
#include "collect/unwinder.h"
#include "collect/wakers.h"
#include "collect/window.h"
#include "profiler.skel.h"

#define DRAIN_PERIOD_NS NSEC_PER_SEC
#define RECORDING_NICE	-10
#define TICK_NS		4000000 /* the scheduler's, usually */
#define SETTLE_NS	1000000 /* the longest an event takes from its time stamp into its ring */

struct collector {
	struct collect_options options;
	struct loaded loaded;
	struct profiler *skel; /* its */
	struct sampler sampler;
	struct ring_buffer *events;
	int epoll_fd;
	struct timeline timeline;
	struct processes processes;
	struct raw_stacks stacks;
	struct unwinder unwinder;
	struct wakers wakers;
	struct locator locator;
	struct drain drain;
	struct runtimes runtimes;
	struct period period;
	struct profile *profile;
	struct mapping_source *mapping_sources;
	uint64_t last_drain_ns, n_drains;
	int event_error; /* of the ring buffer's callback */
	int nice;	 /* ours, before the recording */
};

static int on_event(void *context, void *data, size_t size)
{
	struct collector *collector = context;
	const struct bf_stack_event *stack = data;
	int r = 0;

	switch (stack->type) {
	case BF_EVENT_STACK:
		r = raw_stacks_add(&collector->stacks, stack->id, stack->frames, stack->n,
				   stack->end);
		break;
	case BF_EVENT_SNAPSHOT: r = timeline_add_snapshot(&collector->timeline, data); break;
	case BF_EVENT_WAKER: r = wakers_add(&collector->wakers, data); break;
	case BF_EVENT_WAKERS: r = wakers_add_chain(&collector->wakers, data); break;
	case BF_EVENT_FORK:
	case BF_EVENT_EXIT: r = timeline_add_process(&collector->timeline, data); break;
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

	return unwinder_walk(&collector->unwinder, event);
}

/*
 * Reads the records before the BPF events: a fork is then always known when a record of the child
 * is.
 */
static int read_rings(struct collector *collector)
{
	int r = sampler_read_records(&collector->sampler, on_record, collector);

	if (r < 0)
		return r;
	r = ring_buffer__consume(collector->events);
	return r < 0 ? r : collector->event_error;
}

/* Building a table takes long: the rings must not run over meanwhile. What they held waits. */
static void breathe(void *context)
{
	struct collector *collector = context;
	int r = read_rings(collector);

	if (r < 0)
		collector->event_error = r;
}

/* Applies all that happened before @until. */
static int apply_until(struct collector *collector, uint64_t until)
{
	int r;

	if (monotonic_ns() < until + SETTLE_NS)
		sleep_until_ns(until + SETTLE_NS);
	r = read_rings(collector);
	r = r < 0 ? r
		  : timeline_apply(&collector->timeline, &collector->processes, until, on_snapshot,
				   collector);
	return r < 0 ? r : unwinder_sync(&collector->unwinder);
}

/* A snapshot is answered at once: until then every stack of its process is one. */
static int read_events(struct collector *collector)
{
	int r = apply_until(collector, monotonic_ns() - SETTLE_NS);

	if (r < 0 || !collector->timeline.n_snapshots)
		return r;
	return apply_until(collector, monotonic_ns());
}

static int add_row(struct collector *collector, const struct bf_count_key *key,
		   const struct bf_count *count)
{
	if (key->reason == BF_REASON_RUNTIME)
		return runtimes_add(&collector->runtimes, key, count->nanoseconds);
	return locate(&collector->locator, key, count);
}

static int drain_rows(struct collector *collector)
{
	uint32_t n;
	int r;

	drain_flip(&collector->drain);
	unwinder_reclaim(&collector->unwinder);
	r = apply_until(collector, monotonic_ns());
	r = r < 0 ? r : drain_read(&collector->drain, &n);
	for (uint32_t i = 0; r >= 0 && i < n; i++)
		r = add_row(collector, &collector->drain.keys[i], &collector->drain.counts[i]);
	r = r < 0 ? r : drain_seen_stacks(&collector->drain);
	jit_files_retry(&collector->processes.jit_files);
	r = r < 0 ? r : processes_sweep(&collector->processes);
	collector->last_drain_ns = monotonic_ns();
	collector->n_drains++;
	return r;
}

static int open_rings(struct collector *collector, struct failure *failure)
{
	struct epoll_event event = {.events = EPOLLIN};

	collector->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (collector->epoll_fd < 0)
		return -errno;
	collector->events = ring_buffer__new(bpf_map__fd(collector->skel->maps.events), on_event,
					     collector, NULL);
	if (!collector->events)
		return -errno;
	if (epoll_ctl(collector->epoll_fd, EPOLL_CTL_ADD, ring_buffer__epoll_fd(collector->events),
		      &event) < 0)
		return -errno;
	collector->sampler = (struct sampler){
		.program = collector->options.mode == PROFILE_OFFCPU
				   ? NULL
				   : collector->skel->progs.on_sample,
		.frequency = collector->options.frequency,
		.wanted = collector->options.cpus,
		.epoll_fd = collector->epoll_fd,
	};
	return sampler_open(&collector->sampler, failure);
}

/*
 * While events come in, we go first: we need little, and a busy machine would have the rings run
 * over before our turn. The command that we may have started keeps its own.
 */
static void go_first(struct collector *collector)
{
	collector->nice = getpriority(PRIO_PROCESS, 0);
	setpriority(PRIO_PROCESS, 0, collector->nice + RECORDING_NICE);
}

static void go_with_the_rest(const struct collector *collector)
{
	setpriority(PRIO_PROCESS, 0, collector->nice);
}

int collect_open(const struct collect_options *options, struct collector **ret,
		 struct failure *failure)
{
	struct collector *collector;
	int r = targets_check(options, failure);

	if (r < 0)
		return r;
	collector = calloc(1, sizeof *collector);
	if (!collector)
		return -ENOMEM;
	collector->options = *options;
	collector->epoll_fd = -1;
	go_first(collector);
	r = load_profiler(options, &collector->loaded, failure);
	collector->skel = collector->loaded.skel;
	r = r < 0 ? r : open_rings(collector, failure);
	r = r < 0 ? r : processes_init(&collector->processes);
	r = r < 0 ? r : profile_new(options->mode, &collector->profile);
	r = r < 0 ? r : drain_init(&collector->drain, collector->skel);
	r = r < 0 ? r : period_init(&collector->period, collector->skel, options->offcpu_period_ns);
	r = r < 0 ? r
		  : unwinder_init(&collector->unwinder, collector->skel, &collector->processes,
				  &collector->stacks, options->no_user ? 0 : options->unwind_memory,
				  breathe, collector);
	if (r < 0) {
		if (!failure->what[0])
			failure_set(failure, r, "cannot start recording: %s", strerror(-r));
		collect_free(collector);
		return r;
	}
	locator_init(&collector->locator, &collector->processes, &collector->stacks,
		     &collector->wakers, collector->profile, !options->no_user);
	*ret = collector;
	return 0;
}

void collect_free(struct collector *collector)
{
	if (!collector)
		return;
	go_with_the_rest(collector);
	sampler_close(&collector->sampler);
	unwinder_done(&collector->unwinder);
	ring_buffer__free(collector->events);
	if (collector->epoll_fd >= 0)
		close(collector->epoll_fd);
	loaded_done(&collector->loaded);
	drain_done(&collector->drain);
	locator_done(&collector->locator);
	period_done(&collector->period);
	runtimes_done(&collector->runtimes);
	wakers_done(&collector->wakers);
	raw_stacks_done(&collector->stacks);
	timeline_done(&collector->timeline);
	processes_done(&collector->processes);
	profile_free(collector->profile);
	free(collector->mapping_sources);
	free(collector);
}

/* Of two variants of a program, the one that load_profiler() chose. */
static struct bpf_program *loaded_one(struct bpf_program *a, struct bpf_program *b)
{
	return bpf_program__autoload(a) ? a : b;
}

/* Runs an iterator; @fn is given what it has written so far, after each step. */
static int iterate(struct bpf_program *program,
		   int (*fn)(struct collector *collector, const char *bytes, size_t n),
		   struct collector *collector)
{
	_cleanup_close_ int fd = -1;
	struct bpf_link *link = bpf_program__attach_iter(program, NULL);
	char bytes[4096];
	ssize_t n;
	int r = 0;

	if (!link)
		return -errno;
	fd = bpf_iter_create(bpf_link__fd(link));
	if (fd < 0)
		r = -errno;
	while (r >= 0 && (n = read(fd, bytes, sizeof bytes)) != 0) {
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			r = -errno;
		if (n > 0)
			r = fn(collector, bytes, n);
	}
	bpf_link__destroy(link);
	return r;
}

static int on_process(struct collector *collector, const char *bytes, size_t n)
{
	for (; n >= sizeof(struct bf_process_event); n -= sizeof(struct bf_process_event)) {
		struct bf_process_event event;
		uint32_t process;
		int r = 0;

		memcpy(&event, bytes, sizeof event);
		bytes += sizeof event;
		if (targets_have_process(&collector->options, event.pid))
			r = processes_add(&collector->processes, event.pid, event.start,
					  event.exec_id, &process);
		if (r < 0)
			return r;
	}
	return 0;
}

/* What is mapped now; what comes later arrives as records, which flow already. */
static int read_all_maps(struct collector *collector)
{
	for (size_t i = 0; i < collector->processes.n_processes; i++) {
		int r = processes_read_maps(&collector->processes, i);

		if (r < 0)
			return r;
	}
	return 0;
}

/* Of processes that were named, all is ready when the window opens. */
static int prepare_unwinding(struct collector *collector)
{
	if (collector->options.no_user)
		return 0;
	for (size_t i = 0; i < collector->processes.n_processes; i++) {
		int r;

		if (!targets_have_name(&collector->options, collector->processes.processes[i].pid))
			continue;
		r = unwinder_prepare(&collector->unwinder, i);

		if (r < 0)
			return r;
	}
	return 0;
}

int collect_start(struct collector *collector, uint64_t duration_ns, struct failure *failure)
{
	struct bf_control *control = &collector->skel->bss->control;
	bool offcpu = collector->options.mode != PROFILE_ONCPU;
	int r;

	if (offcpu)
		window_calibrate(control);
	r = iterate(loaded_one(collector->skel->progs.on_each_task_at_start,
			       collector->skel->progs.on_each_task_at_start_stacks),
		    on_process, collector);

	if (r < 0)
		return failure_set(failure, r, "cannot list the tasks: %s", strerror(-r));
	if (targets_are_named(&collector->options)) {
		r = read_all_maps(collector);
		r = r < 0 ? r : prepare_unwinding(collector);
	}
	if (offcpu)
		window_visit_cpus(&collector->sampler.online);
	window_open(control, duration_ns);
	collector->profile->start_realtime_ns =
		realtime_ns() - (monotonic_ns() - control->window_start);
	collector->profile->frequency = collector->options.frequency;
	collector->last_drain_ns = control->window_start;
	if (r >= 0 && !targets_are_named(&collector->options))
		r = read_all_maps(collector);
	if (r < 0)
		return failure_set(failure, r, "cannot read the mappings: %s", strerror(-r));
	return 0;
}

uint64_t collect_window_start(const struct collector *collector)
{
	return collector->skel->bss->control.window_start;
}

int collect_fd(const struct collector *collector)
{
	return collector->epoll_fd;
}

int collect_step(struct collector *collector, struct failure *failure)
{
	bool due = monotonic_ns() - collector->last_drain_ns >= DRAIN_PERIOD_NS;
	int r;

	if (due || collector->skel->bss->control.drain_wanted)
		r = drain_rows(collector);
	else
		r = read_events(collector);
	if (r < 0)
		return failure_set(failure, r, "cannot read from the kernel: %s", strerror(-r));
	period_adapt(&collector->period);
	/* Now that nothing is unread in the ring of a CPU that has gone. */
	sampler_follow_cpus(&collector->sampler);
	return 0;
}

static int after_blocked_step(struct collector *collector, const char *bytes, size_t n)
{
	return collector->skel->bss->control.drain_wanted ? drain_rows(collector)
							  : read_events(collector);
}

int collect_stop(struct collector *collector, struct failure *failure)
{
	struct bf_control *control = &collector->skel->bss->control;
	int r = 0;

	window_close(control, collector->options.mode != PROFILE_ONCPU);
	collector->profile->duration_ns = control->window_end - control->window_start;
	/* Those that were in the kernel as the window closed have counted what they saw. */
	load_wait_for_programs();
	if (collector->options.mode != PROFILE_ONCPU)
		r = iterate(loaded_one(collector->skel->progs.on_each_task_at_end,
				       collector->skel->progs.on_each_task_at_end_kernel_only),
			    after_blocked_step, collector);
	/* What was in flight at the window's end is in the map that the second flip makes quiet. */
	r = r < 0 ? r : drain_rows(collector);
	r = r < 0 ? r : drain_rows(collector);
	if (r >= 0 && collector->options.mode == PROFILE_WALL)
		r = runtimes_distribute(&collector->runtimes, collector->profile);
	go_with_the_rest(collector);
	if (r < 0)
		return failure_set(failure, r, "cannot read from the kernel: %s", strerror(-r));
	return 0;
}

struct profile *collect_profile(struct collector *collector)
{
	return collector->profile;
}

/* What @file of the files is read through. */
static void file_source(const struct files *files, const struct file *file,
			struct mapping_source *source)
{
	source->file = file->fd;
	if (file->root != UINT32_MAX)
		source->root = files->roots.items[file->root].fd;
}

const struct mapping_source *collect_mapping_sources(struct collector *collector)
{
	const struct files *files = &collector->processes.files;
	const struct profile *profile = collector->profile;
	struct jit_files *jit_files = &collector->processes.jit_files;
	struct mapping_source *sources;

	free(collector->mapping_sources);
	sources = malloc((profile->n_mappings + 1) * sizeof *sources);
	collector->mapping_sources = sources;
	if (!sources)
		return NULL;
	for (size_t i = 0; i < profile->n_mappings; i++)
		sources[i] = MAPPING_SOURCE_NONE;
	for (size_t i = 0; i < files->n_files; i++)
		if (files->files[i].profile_mapping != UINT32_MAX)
			file_source(files, &files->files[i],
				    &sources[files->files[i].profile_mapping]);
	jit_files_retry(jit_files);
	for (size_t i = 0; i < profile->n_mappings; i++) {
		const struct profile_mapping *mapping = &profile->mappings[i];
		const struct jit_image image = {mapping->pid, mapping->exec_id,
						mapping->process_start};

		if (mapping->kind == MAPPING_ANON)
			jit_files_source(jit_files, files, &image, &sources[i]);
	}
	return sources;
}

/* Off-CPU time of the profile. */
static uint64_t counted_offcpu_ns(const struct profile *profile)
{
	uint64_t total = 0;

	for (size_t i = 0; i < profile->n_samples; i++)
		if (profile->samples[i].reason != REASON_ONCPU)
			total += profile->samples[i].nanoseconds;
	return total;
}

/*
 * Of a normal distribution 95 % lie within 1.96 standard deviations; a little more, for the
 * deviation is an estimate too. What ran across an end of the window is charged by the tick.
 */
static uint64_t interval_ns(double deviation_ns)
{
	return 2.2 * deviation_ns + sysconf(_SC_NPROCESSORS_ONLN) * TICK_NS;
}

static void offcpu_stats(const struct collector *collector, struct collect_stats *ret)
{
	const struct profiler *skel = collector->skel;
	double variance_us2 = stats_total(skel, BF_STAT_VARIANCE_US2);

	ret->periods = stats_total(skel, BF_STAT_PERIODS);
	ret->kept = stats_total(skel, BF_STAT_KEPT);
	ret->unknown_wakers = stats_total(skel, BF_STAT_UNKNOWN_WAKERS);
	ret->offcpu_period_ns = skel->bss->control.offcpu_period;
	ret->offcpu_measured_ns =
		counted_offcpu_ns(collector->profile) + stats_total(skel, BF_STAT_RESIDUE_NS);
	ret->offcpu_interval_ns =
		ret->offcpu_period_ns ? interval_ns(sqrt(variance_us2) * 1000) : 0;
	ret->threads = stats_total(skel, BF_STAT_THREADS);
}

void collect_stats(struct collector *collector, struct collect_stats *ret)
{
	*ret = (struct collect_stats){
		.samples = stats_total(collector->skel, BF_STAT_SAMPLES),
		.counts_full = stats_total(collector->skel, BF_STAT_COUNTS_FULL),
		.events_full = stats_total(collector->skel, BF_STAT_EVENTS_FULL),
		.storage_failed = stats_total(collector->skel, BF_STAT_STORAGE_FAILED),
		.targets_full = stats_total(collector->skel, BF_STAT_TARGETS_FULL),
		.lost_stacks = collector->locator.lost_stacks,
		.lost_records = collector->sampler.losses.lost,
		.throttled = collector->sampler.losses.throttled,
		.unknown_processes = collector->locator.unknown_processes,
		.unopened_files = collector->processes.files.n_unopened,
		.drains = collector->n_drains,
		.distinct_stacks = collector->profile ? collector->profile->n_stacks : 0,
		.processes = collector->processes.n_processes,
		.snapshots = stats_total(collector->skel, BF_STAT_SNAPSHOTS),
		.snapshots_full = stats_total(collector->skel, BF_STAT_SNAPSHOTS_FULL),
		.tables_built = collector->unwinder.tables.n_built,
		.tables_failed = collector->unwinder.tables.n_damaged,
		.unwind_bytes = segments_bytes(&collector->unwinder.segments),
		.evictions = collector->unwinder.segments.n_evicted,
		.lost_wakers = collector->locator.lost_wakers,
		.kernel_bytes = stats_kernel_bytes(collector->skel),
	};
	if (collector->options.mode != PROFILE_ONCPU)
		offcpu_stats(collector, ret);
}

const char *collect_hook(const struct collector *collector)
{
	return collector->loaded.hook;
}

const char *collect_source(const struct collector *collector)
{
	if (collector->options.mode == PROFILE_OFFCPU)
		return collector->loaded.hook;
	return collector->sampler.use_cycles ? "cycles" : "cpu-clock";
}
