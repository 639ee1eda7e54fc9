/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sampler: the perf events of every CPU: those that sample (on-CPU only), and one that records
 * mmaps and execs. Follows CPUs that come and go.
 */
#ifndef COLLECT_SAMPLER_H
#define COLLECT_SAMPLER_H

#include <linux/perf_event.h>
#include <pthread.h>

#include "base/failure.h"
#include "base/system.h"
#include "collect/records.h"

struct bf_ticks;
struct bpf_program;
struct event_request;

#define SAMPLER_MAX_EVENTS 128

/* An event to open on each CPU. */
struct sampler_event {
	struct bpf_program *program;
	struct perf_event_attr attr;	     /* what is sampled, and how often */
	const struct event_request *request; /* NULL: not requested by name */
	uint32_t number;		     /* passed to the program with each sample */
	uint64_t mean_ns;		     /* between ticks that are drawn, see ticks.h; or 0 */
	uint32_t timer;			     /* which of the timers that do so */
};

struct sampler {
	const struct sampler_event *events; /* see sampler_start() */
	size_t n_events;
	unsigned int divisor;	       /* of the events' rates, see sampler_thin() */
	const struct cpu_list *wanted; /* NULL: every CPU is sampled */
	int epoll_fd;		       /* the caller's; record rings are added to it */
	struct bf_ticks *ticks;	       /* of each CPU, for the programs */
	struct cpu_list online;
	struct sampler_cpu *cpus;
	size_t n_cpus; /* highest CPU + 1 */
	struct record_losses losses;
	int uevent_fd;	 /* or -1 */
	uint64_t looked; /* when the online CPUs were last checked */
	/* While ticks are drawn, by a thread: it uses events, divisor, online and cpus, too. */
	pthread_t drawer;
	pthread_mutex_t lock;
	pthread_cond_t end;
	bool draws, is_ending;
	uint64_t began_ns;
};

/*
 * Opens the records of all online CPUs. @wanted and @epoll_fd are set. All are opened before the
 * first CPU samples: otherwise a sampled process could have had an unrecorded exec.
 */
int sampler_open(struct sampler *sampler, struct failure *failure);
/* Starts sampling. The caller keeps @events, which must outlive @sampler. */
int sampler_start(struct sampler *sampler, const struct sampler_event *events, size_t n_events,
		  struct failure *failure);
void sampler_close(struct sampler *sampler);

/* From now on takes a @divisor-th of the samples; 1: all. */
void sampler_thin(struct sampler *sampler, unsigned int divisor);

/*
 * From now on the moment of each tick is drawn by lot, by a thread without rights, until
 * sampler_let_tick() or sampler_close(). Without room for a thread, timers keep their periods.
 */
void sampler_draw_ticks(struct sampler *sampler);
void sampler_let_tick(struct sampler *sampler);

/* Opens and closes events as CPUs come and go. Tries again later if a CPU can't be opened. */
int sampler_follow_cpus(struct sampler *sampler);

int sampler_read_records(struct sampler *sampler, record_fn fn, void *context);

#endif
