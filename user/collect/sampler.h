/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sampler: the perf events of every CPU: those that sample (on-CPU only), and one that records
 * mmaps and execs. Follows CPUs that come and go.
 */
#ifndef COLLECT_SAMPLER_H
#define COLLECT_SAMPLER_H

#include <linux/perf_event.h>

#include "base/failure.h"
#include "base/system.h"
#include "collect/records.h"

struct bpf_program;
struct event_request;

#define SAMPLER_MAX_EVENTS 32

/* An event to open on each CPU. */
struct sampler_event {
	struct bpf_program *program;
	struct perf_event_attr attr;	     /* what is sampled, and how often */
	const struct event_request *request; /* NULL: not requested by name */
	uint32_t number;		     /* passed to the program with each sample */
};

struct sampler {
	const struct sampler_event *events; /* see sampler_start() */
	size_t n_events;
	unsigned int divisor; /* of the events' rates, see sampler_thin() */
	const struct cpu_list *wanted; /* NULL: every CPU is sampled */
	int epoll_fd;		       /* the caller's; record rings are added to it */
	struct cpu_list online;
	struct sampler_cpu *cpus;
	size_t n_cpus; /* highest CPU + 1 */
	struct record_losses losses;
	int uevent_fd;	 /* or -1 */
	uint64_t looked; /* when the online CPUs were last checked */
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

/* Opens and closes events as CPUs come and go. Tries again later if a CPU can't be opened. */
int sampler_follow_cpus(struct sampler *sampler);

int sampler_read_records(struct sampler *sampler, record_fn fn, void *context);

#endif
