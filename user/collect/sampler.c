/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/sampler.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/netlink.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/foreign.h"
#include "base/sandbox.h"
#include "collect/event_find.h"
#include "collect/rights.h"
#include "collect/ticks.h"

#define RECORD_BYTES	  (512u << 10) /* per CPU, on small machines */
#define RECORD_BYTES_MANY (128u << 10) /* per CPU, if there are many */
/* Between two checks of the online CPUs: if the kernel reports changes, and if not. */
#define LOOK_NS	       1000000000
#define LOOK_UNTOLD_NS 100000000
#define MANY_CPUS      32

struct sampler_cpu {
	struct record_ring ring;
	struct bpf_link *links[SAMPLER_MAX_EVENTS];
	int fds[SAMPLER_MAX_EVENTS];		      /* the links' events */
	struct tick_timer timers[SAMPLER_MAX_EVENTS]; /* of those with a mean_ns */
};

static void close_cpu(struct sampler_cpu *cpu)
{
	for (size_t i = 0; i < SAMPLER_MAX_EVENTS; i++)
		bpf_link__destroy(cpu->links[i]); /* closes the event */
	records_close(&cpu->ring);
	*cpu = (struct sampler_cpu){};
}

/* Its period, or its frequency, for a @divisor-th of its samples. */
static uint64_t rate_of(const struct sampler_event *event, unsigned int divisor)
{
	uint64_t frequency = (event->attr.sample_freq + divisor / 2) / divisor;

	if (!event->attr.freq)
		return event->attr.sample_period * divisor;
	return frequency ? frequency : 1;
}

static int open_event(const struct sampler_event *event, unsigned int number, unsigned int divisor,
		      struct sampler_cpu *cpu, struct bpf_link **ret_link, int *ret_fd)
{
	LIBBPF_OPTS(bpf_perf_event_opts, options, .bpf_cookie = event->number);
	struct perf_event_attr attr = event->attr;
	int fd, r;

	attr.size = sizeof attr;
	attr.sample_period = rate_of(event, divisor); /* or the frequency: they share a field */
	attr.disabled = 1;
	attr.use_clockid = 1;
	attr.clockid = CLOCK_MONOTONIC;
	fd = foreign_open_event(&attr, number);
	if (fd < 0)
		return fd;
	/* Reports throttling there. */
	ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, cpu->ring.fd);
	*ret_link = bpf_program__attach_perf_event_opts(event->program, fd, &options);
	if (*ret_link) {
		*ret_fd = fd;
		return 0;
	}
	r = -errno;
	close(fd);
	return r;
}

/* It has just been set. */
static void begin_timer(const struct sampler *sampler, size_t event, struct sampler_cpu *cpu)
{
	uint64_t period = rate_of(&sampler->events[event], sampler->divisor);

	cpu->timers[event] = (struct tick_timer){monotonic_ns() + period, period};
}

/* *@ret_event: the one that failed. */
static int open_events(const struct sampler *sampler, unsigned int number, struct sampler_cpu *cpu,
		       const struct sampler_event **ret_event)
{
	for (size_t i = 0; i < sampler->n_events; i++) {
		int r = open_event(&sampler->events[i], number, sampler->divisor, cpu,
				   &cpu->links[i], &cpu->fds[i]);

		if (r < 0) {
			*ret_event = &sampler->events[i];
			return r;
		}
		begin_timer(sampler, i, cpu);
	}
	return 0;
}

static int open_ring(const struct sampler *sampler, struct sampler_cpu *cpu, unsigned int number)
{
	struct epoll_event event = {.events = EPOLLIN};
	int r = records_open(number,
			     cpu_list_count(&sampler->online) > MANY_CPUS ? RECORD_BYTES_MANY
									  : RECORD_BYTES,
			     &cpu->ring);

	if (r < 0)
		return r;
	return epoll_ctl(sampler->epoll_fd, EPOLL_CTL_ADD, cpu->ring.fd, &event) < 0 ? -errno : 0;
}

/*
 * A counter by frequency starts with the period 1. On an idle CPU of a virtual machine, one of
 * instructions or branches may never get beyond that: each interrupt causes the next, for minutes
 * (seen with 6.18 on an AMD EPYC, also without BPF). It can't happen while we run on the CPU.
 */
static bool starts_on_its_cpu(const struct sampler *sampler)
{
	for (size_t i = 0; i < sampler->n_events; i++)
		if (sampler->events[i].request && sampler->events[i].attr.freq)
			return true;
	return false;
}

static int start_cpu(const struct sampler *sampler, struct sampler_cpu *cpu, unsigned int number,
		     const struct sampler_event **ret_event)
{
	struct cpu_list ours;
	bool moved;
	int r;

	if (sampler->wanted && !cpu_list_has(sampler->wanted, number))
		return 0;
	moved = starts_on_its_cpu(sampler) && cpu_list_of_us(&ours) == 0 && cpu_run_on(number) == 0;
	r = open_events(sampler, number, cpu, ret_event);
	if (moved)
		cpu_list_run_on(&ours);
	return r;
}

static int open_cpu(const struct sampler *sampler, struct sampler_cpu *cpu, unsigned int number)
{
	const struct sampler_event *failed;
	int r = open_ring(sampler, cpu, number);

	if (r < 0)
		return r;
	return start_cpu(sampler, cpu, number, &failed);
}

/* Adds a CPU that came while we record. */
static int follow_cpu(struct sampler *sampler, unsigned int number)
{
	struct sampler_cpu *cpu = &sampler->cpus[number];
	int r = open_cpu(sampler, cpu, number);

	if (r < 0)
		close_cpu(cpu);
	return r;
}

/* @event: the one that failed to open; NULL: the event of the records. */
static int refuse(const struct sampler_event *event, unsigned int cpu, int error,
		  struct failure *failure)
{
	if (event && event->request)
		return event_refuse(event->request, error, failure);
	if (rights_explain(RIGHTS_PERF_EVENTS, error, failure))
		return -EPERM;
	failure_set(failure, error, "cannot open perf events on CPU %u: %s", cpu, strerror(-error));
	rights_explain_files(error, failure);
	return error;
}

/*
 * Listens to the kernel's own report of every CPU that goes. Its events are dead for good, even if
 * it comes back before anyone has looked. In a container there may be no reports; then a short
 * absence is missed.
 */
static int open_uevents(void)
{
	struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = 1};
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
			NETLINK_KOBJECT_UEVENT);

	if (fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Returns whether any CPU was reported. */
static bool find_gone(const struct sampler *sampler, struct cpu_list *ret)
{
	bool is_news = false;
	char text[4096];
	ssize_t n;

	*ret = (struct cpu_list){};
	while ((n = recv(sampler->uevent_fd, text, sizeof text - 1, 0)) > 0 || errno == ENOBUFS) {
		unsigned int cpu;

		is_news = true;
		text[n > 0 ? n : 0] = '\0';
		if (sscanf(text, "offline@/devices/system/cpu/cpu%u", &cpu) == 1 &&
		    cpu < sampler->n_cpus)
			ret->bits[cpu / 64] |= 1ULL << cpu % 64;
	}
	return is_news;
}

int sampler_open(struct sampler *sampler, struct failure *failure)
{
	int r;

	sampler->n_cpus = CPU_SET_WORDS * 64;
	sampler->cpus = calloc(sampler->n_cpus, sizeof *sampler->cpus);
	if (!sampler->cpus)
		return -ENOMEM;
	sampler->uevent_fd = open_uevents();
	r = cpu_list_online(&sampler->online);
	if (r < 0)
		return failure_set(failure, r, "cannot read which CPUs are online: %s",
				   strerror(-r));
	if (sampler->wanted) {
		for_each_cpu (cpu, sampler->wanted) {
			if (!cpu_list_has(&sampler->online, cpu))
				return failure_set(failure, -EINVAL, "-C: CPU %u is not online",
						   cpu);
		}
	}
	for_each_cpu (cpu, &sampler->online) {
		r = open_ring(sampler, &sampler->cpus[cpu], cpu);
		if (r < 0)
			return refuse(NULL, cpu, r, failure);
	}
	return 0;
}

int sampler_start(struct sampler *sampler, const struct sampler_event *events, size_t n_events,
		  struct failure *failure)
{
	const struct sampler_event *failed = NULL;

	sampler->events = events;
	sampler->n_events = n_events;
	sampler->divisor = 1;
	for_each_cpu (cpu, &sampler->online) {
		int r = start_cpu(sampler, &sampler->cpus[cpu], cpu, &failed);

		if (r < 0)
			return refuse(failed, cpu, r, failure);
	}
	return 0;
}

/* So that the thread that draws ticks sees whole changes. */
static void lock(struct sampler *sampler)
{
	if (sampler->draws)
		pthread_mutex_lock(&sampler->lock);
}

static void unlock(struct sampler *sampler)
{
	if (sampler->draws)
		pthread_mutex_unlock(&sampler->lock);
}

/* Sets a timer whose next tick was drawn, or an event's rate. */
static void set_event(const struct sampler *sampler, unsigned int number, size_t i, uint64_t rate)
{
	const struct sampler_event *event = &sampler->events[i];
	struct sampler_cpu *cpu = &sampler->cpus[number];

	if (sampler->draws && event->mean_ns && !event->request)
		__atomic_store_n(&sampler->ticks[number].at[event->timer], cpu->timers[i].at,
				 __ATOMIC_RELAXED);
	/* One that fails goes on as it was; a CPU that goes has no ticks. */
	ioctl(cpu->fds[i], PERF_EVENT_IOC_PERIOD, &rate);
}

/* Draws the first ticks, or else sets rates. */
static void begin_rates(struct sampler *sampler)
{
	sampler->began_ns = monotonic_ns();
	for_each_cpu (number, &sampler->online) {
		struct sampler_cpu *cpu = &sampler->cpus[number];
		uint32_t random[SAMPLER_MAX_EVENTS];
		bool draws = sampler->draws && random_bytes(random, sizeof random) == 0;

		for (size_t i = 0; i < sampler->n_events; i++) {
			const struct sampler_event *event = &sampler->events[i];
			struct tick_timer *timer = &cpu->timers[i];

			if (!cpu->links[i])
				continue;
			begin_timer(sampler, i, cpu);
			if (draws && event->mean_ns)
				ticks_begin(timer, monotonic_ns(),
					    event->mean_ns * sampler->divisor, random[i]);
			set_event(sampler, number, i, timer->period);
		}
	}
}

void sampler_thin(struct sampler *sampler, unsigned int divisor)
{
	lock(sampler);
	sampler->divisor = divisor;
	begin_rates(sampler);
	unlock(sampler);
}

/* Draws the next tick of those of a CPU's timers that have ticked. */
static void draw_of_cpu(const struct sampler *sampler, unsigned int number, const uint32_t *random)
{
	struct sampler_cpu *cpu = &sampler->cpus[number];

	for (size_t i = 0; i < sampler->n_events; i++) {
		const struct sampler_event *event = &sampler->events[i];
		struct tick_timer *timer = &cpu->timers[i];

		if (event->mean_ns && cpu->links[i] &&
		    ticks_draw(timer, monotonic_ns(), event->mean_ns * sampler->divisor, random[i]))
			set_event(sampler, number, i, timer->period);
	}
}

/* The shortest mean; 0: nothing is to be drawn. */
static uint64_t shortest_mean(const struct sampler *sampler)
{
	uint64_t shortest = 0;

	for (size_t i = 0; i < sampler->n_events; i++) {
		uint64_t mean = sampler->events[i].mean_ns;

		if (mean && (!shortest || mean < shortest))
			shortest = mean;
	}
	if (shortest < TICKS_LEAST_MEAN_NS ||
	    cpu_list_count(&sampler->online) * BF_TIMERS * NSEC_PER_SEC / shortest >
		    TICKS_MOST_DRAWN)
		return 0;
	return shortest;
}

/* Nothing is drawn any more: the programs don't know the next ticks. */
static void forget_ticks(struct sampler *sampler)
{
	for_each_cpu (number, &sampler->online)
		sampler->ticks[number] = (struct bf_ticks){};
}

static void *draw_ticks(void *context)
{
	struct sampler *sampler = context;
	bool is_restricted = sandbox_restrict(0) == 0;

	pthread_mutex_lock(&sampler->lock);
	if (!is_restricted)
		forget_ticks(sampler);
	while (!sampler->is_ending && is_restricted) {
		uint64_t now = monotonic_ns();
		uint64_t until = now + ticks_patience(shortest_mean(sampler) * sampler->divisor,
						      now - sampler->began_ns);
		struct timespec moment = {until / NSEC_PER_SEC, until % NSEC_PER_SEC};
		uint32_t random[SAMPLER_MAX_EVENTS];

		for_each_cpu (number, &sampler->online)
			if (random_bytes(random, sampler->n_events * sizeof *random) == 0)
				draw_of_cpu(sampler, number, random);
		pthread_cond_clockwait(&sampler->end, &sampler->lock, CLOCK_MONOTONIC, &moment);
	}
	pthread_mutex_unlock(&sampler->lock);
	return NULL;
}

/*
 * Real-time threads that keep all CPUs busy must not keep it from drawing: timers would go on with
 * the stretches that they have, and those of the first ticks are short. It runs for some
 * microseconds at a time. Without the right to, it has our priority.
 */
static void let_it_preempt(pthread_t thread)
{
	const struct sched_param param = {.sched_priority = sched_get_priority_max(SCHED_FIFO)};

	(void)pthread_setschedparam(thread, SCHED_FIFO, &param);
}

void sampler_draw_ticks(struct sampler *sampler)
{
	sigset_t all, ours;

	if (!shortest_mean(sampler))
		return;
	pthread_mutex_init(&sampler->lock, NULL);
	pthread_cond_init(&sampler->end, NULL);
	/* Signals are for the caller. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &ours);
	pthread_mutex_lock(&sampler->lock);
	sampler->draws = pthread_create(&sampler->drawer, NULL, draw_ticks, sampler) == 0;
	if (sampler->draws) {
		let_it_preempt(sampler->drawer);
		begin_rates(sampler);
	}
	pthread_mutex_unlock(&sampler->lock);
	pthread_sigmask(SIG_SETMASK, &ours, NULL);
}

void sampler_let_tick(struct sampler *sampler)
{
	if (!sampler->draws)
		return;
	pthread_mutex_lock(&sampler->lock);
	sampler->is_ending = true;
	pthread_cond_signal(&sampler->end);
	pthread_mutex_unlock(&sampler->lock);
	pthread_join(sampler->drawer, NULL);
	sampler->draws = false;
}

void sampler_close(struct sampler *sampler)
{
	if (!sampler->cpus)
		return;
	sampler_let_tick(sampler);
	for_each_cpu (cpu, &sampler->online)
		close_cpu(&sampler->cpus[cpu]);
	if (sampler->uevent_fd >= 0)
		close(sampler->uevent_fd);
	free(sampler->cpus);
	sampler->cpus = NULL;
}

int sampler_follow_cpus(struct sampler *sampler)
{
	struct cpu_list now, gone, any;
	uint64_t time = monotonic_ns();
	int r;

	if (!find_gone(sampler, &gone) &&
	    time < sampler->looked + (sampler->uevent_fd < 0 ? LOOK_UNTOLD_NS : LOOK_NS))
		return 0;
	sampler->looked = time;
	r = cpu_list_online(&now);
	if (r < 0)
		return r;
	for (size_t i = 0; i < CPU_SET_WORDS; i++)
		any.bits[i] = now.bits[i] | sampler->online.bits[i];
	lock(sampler);
	for_each_cpu (cpu, &any) {
		bool was = cpu_list_has(&sampler->online, cpu), is = cpu_list_has(&now, cpu);

		if (was && (!is || cpu_list_has(&gone, cpu))) {
			close_cpu(&sampler->cpus[cpu]);
			sampler->online.bits[cpu / 64] &= ~(1ULL << cpu % 64);
			was = false;
		}
		if (!was && is && follow_cpu(sampler, cpu) >= 0)
			sampler->online.bits[cpu / 64] |= 1ULL << cpu % 64;
	}
	unlock(sampler);
	return 0;
}

int sampler_read_records(struct sampler *sampler, record_fn fn, void *context)
{
	for_each_cpu (cpu, &sampler->online) {
		int r = records_read(&sampler->cpus[cpu].ring, &sampler->losses, fn, context);

		if (r < 0)
			return r;
	}
	return 0;
}
