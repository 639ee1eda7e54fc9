/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/events.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/array.h"
#include "base/system.h"
#include "bpf/wire.h"
#include "collect/ticks.h"
#include "profiler.skel.h"

_Static_assert(PROFILE_MAX_EVENTS <= BF_MAX_EVENTS, "each event has a number");
_Static_assert(BF_TIMERS *PROFILE_MAX_EVENTS <= SAMPLER_MAX_EVENTS, "each may have its timers");

static const struct counter cycles = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES};

void events_configure(const struct collect_options *options, struct bf_config *config)
{
	config->events = options->n_events > 0;
	for (size_t i = 0; i < options->n_events; i++)
		config->event_periods[i] = event_bpf_period(&options->events[i]);
}

void events_choose_programs(struct profiler *skel, const struct collect_options *options)
{
	bool has[N_EVENT_KINDS] = {};

	for (size_t i = 0; i < options->n_events; i++)
		has[options->events[i].kind] = true;
	bpf_program__set_autoload(skel->progs.on_sample,
				  options->mode != PROFILE_OFFCPU && !options->n_events);
	bpf_program__set_autoload(skel->progs.on_counter, has[EVENT_COUNTER]);
	bpf_program__set_autoload(skel->progs.on_tracepoint, has[EVENT_TRACEPOINT]);
	bpf_program__set_autoload(skel->progs.on_probe,
				  has[EVENT_UPROBE] || has[EVENT_URETPROBE] || has[EVENT_USDT] ||
					  has[EVENT_KPROBE] || has[EVENT_KRETPROBE]);
}

/* Names the events of -e for the summary. */
static int name_source(struct events *events)
{
	size_t size = 1;

	for (size_t i = 0; i < events->n; i++)
		size += strlen(events->items[i].request->name) + 2;
	events->source = calloc(1, size);
	if (!events->source)
		return -ENOMEM;
	for (size_t i = 0; i < events->n; i++) {
		if (i)
			strcat(events->source, ", ");
		strcat(events->source, events->items[i].request->name);
	}
	return 0;
}

int events_find(struct events *events, const struct collect_options *options,
		struct failure *failure)
{
	uint32_t pid = options->n_pids ? options->pids[0] : 0;

	if (!options->n_events)
		return 0;
	events->items = calloc(options->n_events, sizeof *events->items);
	if (!events->items)
		return -ENOMEM;
	for (size_t i = 0; i < options->n_events; i++) {
		int r = event_find(&options->events[i], options->frequency, pid, options->reader,
				   &events->items[events->n], failure);

		if (r < 0)
			return r;
		events->n++;
	}
	return name_source(events);
}

void events_done(struct events *events)
{
	for (size_t i = 0; i < events->n_links; i++)
		bpf_link__destroy(events->links[i]);
	for (size_t i = 0; i < events->n; i++)
		event_done(&events->items[i]);
	free(events->links);
	free(events->items);
	free(events->source);
	*events = (struct events){};
}

/*
 * Starts each CPU at a random part of the period: otherwise sums would always be too low, by half a
 * period per CPU.
 */
static int begin_periods(const struct events *events, struct profiler *skel)
{
	int n_cpus = libbpf_num_possible_cpus();
	_cleanup_free_ uint64_t *starts = calloc(n_cpus, sizeof *starts);

	if (!starts)
		return -ENOMEM;
	for (uint32_t i = 0; i < events->n; i++) {
		uint64_t period = events->items[i].bpf_period;
		int r;

		if (period == BF_PERIOD_NONE || period == BF_PERIOD_OWN ||
		    random_bytes(starts, n_cpus * sizeof *starts) < 0)
			continue;
		for (int cpu = 0; cpu < n_cpus; cpu++)
			starts[cpu] %= period;
		r = bpf_map_update_elem(bpf_map__fd(skel->maps.events_seen), &i, starts, BPF_ANY);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Errors: see random_bytes(). */
static int sample_clock(struct events *events, struct sampler_event sampled, unsigned int frequency)
{
	uint64_t periods[BF_TIMERS];
	int r = ticks_periods(frequency, periods);

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < BF_TIMERS; i++) {
		sampled.attr.sample_period = periods[i];
		sampled.mean_ns = ticks_mean(frequency);
		sampled.timer = i;
		events->sampled[events->n_sampled++] = sampled;
	}
	return 0;
}

static int sample_counter(struct events *events, struct profiler *skel, uint32_t number)
{
	const struct event *event = &events->items[number];
	bool is_time = counter_is_time(event->request->target);
	struct sampler_event sampled = {
		.program = skel->progs.on_counter,
		.request = event->request,
		.number = number,
		.attr = {.type = event->counter.type,
			 .config = event->counter.config,
			 .config1 = event->counter.config1,
			 .config2 = event->counter.config2,
			 .exclude_user = event->request->kernel_only,
			 .exclude_kernel = event->request->user_only,
			 .exclude_hv = event->request->user_only,
			 .exclude_idle = is_time},
	};

	if (event->frequency && event->counter.type == PERF_TYPE_SOFTWARE && is_time)
		return sample_clock(events, sampled, event->frequency);
	if (event->frequency) {
		sampled.attr.freq = 1;
		sampled.attr.sample_freq = event->frequency;
	} else {
		sampled.attr.sample_period = event->sample_period;
	}
	events->sampled[events->n_sampled++] = sampled;
	return 0;
}

/* Samples time, by cycles if the processor counts them. */
static int sample_time(struct events *events, const struct collect_options *options,
		       struct profiler *skel)
{
	struct sampler_event sampled = {.program = skel->progs.on_sample,
					.attr = {.exclude_idle = 1}};
	int r = 0;

	if (counter_try(&cycles) == 0) {
		sampled.attr.type = PERF_TYPE_HARDWARE;
		sampled.attr.config = PERF_COUNT_HW_CPU_CYCLES;
		sampled.attr.exclude_guest = 1;
		sampled.attr.freq = 1;
		sampled.attr.sample_freq = options->frequency;
		events->sampled[events->n_sampled++] = sampled;
		events->source = strdup("cycles");
	} else {
		sampled.attr.type = PERF_TYPE_SOFTWARE;
		sampled.attr.config = PERF_COUNT_SW_CPU_CLOCK;
		r = sample_clock(events, sampled, options->frequency);
		events->source = strdup("cpu-clock");
	}
	return events->source ? r : -ENOMEM;
}

/* The kernel does not check it for timers. */
static int check_frequency(const struct collect_options *options, struct failure *failure)
{
	uint64_t most = read_number_file("/proc/sys/kernel/perf_event_max_sample_rate", 0);

	if (!most || options->frequency <= most)
		return 0;
	return failure_set(failure, -EINVAL,
			   "-F %u is above this machine's limit of %llu Hz "
			   "(kernel.perf_event_max_sample_rate)",
			   options->frequency, (unsigned long long)most);
}

/* @attr: of a tracepoint or a probe, which is opened on any CPU. */
static int attach_event(struct events *events, struct bpf_program *program,
			struct perf_event_attr *attr, uint32_t number)
{
	LIBBPF_OPTS(bpf_perf_event_opts, options, .bpf_cookie = number);
	struct bpf_link *link;
	struct cpu_list online;
	unsigned int cpu = 0;
	int fd, r = array_reserve(events->links, events->links_capacity, events->n_links, 1);

	if (r < 0)
		return r;
	r = cpu_list_online(&online);
	if (r < 0)
		return r;
	while (!cpu_list_has(&online, cpu) && cpu + 1 < CPU_SET_WORDS * 64)
		cpu++;
	attr->size = sizeof *attr;
	attr->sample_period = 1;
	attr->wakeup_events = 1;
	fd = syscall(SYS_perf_event_open, attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -errno;
	link = bpf_program__attach_perf_event_opts(program, fd, &options);
	if (!link) {
		r = -errno;
		close(fd);
		return r;
	}
	events->links[events->n_links++] = link; /* owns the descriptor */
	return 0;
}

/* The upper half of the configuration has the place of the listeners' counter. */
static int attach_places(struct events *events, struct profiler *skel, uint32_t number)
{
	const struct event *event = &events->items[number];
	char path[64];

	snprintf(path, sizeof path, "/proc/self/fd/%d", event->file.fd);
	for (size_t i = 0; i < event->places->n; i++) {
		struct perf_event_attr attr = {
			.type = event->counter.type,
			.config = event->counter.config | event->places->items[i].counter << 32,
			.config1 = (uintptr_t)path,
			.config2 = event->places->items[i].offset,
		};
		int r = attach_event(events, skel->progs.on_probe, &attr, number);

		if (r < 0)
			return r;
	}
	return 0;
}

static int attach_one(struct events *events, struct profiler *skel, uint32_t number)
{
	const struct event *event = &events->items[number];
	struct perf_event_attr attr = {.type = event->counter.type,
				       .config = event->counter.config,
				       .config1 = event->counter.config1,
				       .config2 = event->counter.config2};

	switch (event->request->kind) {
	case EVENT_COUNTER: return sample_counter(events, skel, number);
	case EVENT_TRACEPOINT:
		return attach_event(events, skel->progs.on_tracepoint, &attr, number);
	case EVENT_KPROBE:
	case EVENT_KRETPROBE: return attach_event(events, skel->progs.on_probe, &attr, number);
	default: return attach_places(events, skel, number);
	}
}

int events_attach(struct events *events, const struct collect_options *options,
		  struct profiler *skel, struct failure *failure)
{
	int r;

	if (options->mode == PROFILE_OFFCPU)
		return 0;
	r = check_frequency(options, failure);
	if (r < 0)
		return r;
	if (!events->n)
		return sample_time(events, options, skel);
	r = begin_periods(events, skel);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < events->n; i++) {
		r = attach_one(events, skel, i);
		if (r < 0)
			return event_refuse(events->items[i].request, r, failure);
	}
	return 0;
}

int events_describe(const struct events *events, struct profile *profile)
{
	for (size_t i = 0; i < events->n; i++) {
		const struct event *event = &events->items[i];
		struct profile_event *noted = &profile->events[i];
		int r = strings_add(&profile->strings, event->request->name, &noted->name);

		if (r < 0)
			return r;
		noted->is_counted = event->is_counted;
		noted->frequency = event->frequency;
		noted->period = event_period(event->request);
	}
	profile->n_events = events->n;
	if (events->n)
		profile->frequency = profile->events[profile->event].frequency;
	return 0;
}

uint64_t events_missed(const struct profiler *skel)
{
	struct bpf_program *const programs[] = {skel->progs.on_counter, skel->progs.on_tracepoint,
						skel->progs.on_probe};
	uint64_t missed = 0;

	for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
		struct bpf_prog_info info = {};
		__u32 size = sizeof info;

		if (bpf_program__autoload(programs[i]) &&
		    bpf_obj_get_info_by_fd(bpf_program__fd(programs[i]), &info, &size) == 0)
			missed += info.recursion_misses;
	}
	return missed;
}
