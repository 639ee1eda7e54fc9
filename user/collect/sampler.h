/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sampler: the perf events of every CPU: one that samples (on-CPU only), one that records mmaps and
 * execs. CPUs that come and go are followed.
 */
#ifndef COLLECT_SAMPLER_H
#define COLLECT_SAMPLER_H

#include "base/failure.h"
#include "base/system.h"
#include "collect/records.h"

struct bpf_program;

struct sampler {
	struct bpf_program *program; /* NULL: nothing is sampled */
	unsigned int frequency;
	bool use_cycles;
	const struct cpu_list *wanted; /* NULL: every CPU is sampled */
	int epoll_fd;		       /* the caller's; record rings are added to it */
	struct cpu_list online;
	struct sampler_cpu *cpus;
	size_t n_cpus; /* highest CPU + 1 */
	struct record_losses losses;
	int uevent_fd; /* or -1 */
};

/* Opens the events of all CPUs that are online. @sampler's first five fields are set. */
int sampler_open(struct sampler *sampler, struct failure *failure);
void sampler_close(struct sampler *sampler);

/* Opens and closes events as CPUs come and go. A CPU that can't be opened is tried again later. */
int sampler_follow_cpus(struct sampler *sampler);

int sampler_read_records(struct sampler *sampler, record_fn fn, void *context);

#endif
