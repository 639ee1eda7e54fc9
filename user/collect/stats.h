/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stats: the programs' counters and their memory, and each window's part of them. */
#ifndef COLLECT_STATS_H
#define COLLECT_STATS_H

#include <stdint.h>

#include "collect/collect.h"

struct loaded;
struct profiler;

/* The sum over the CPUs of one enum bf_stat. */
uint64_t stats_total(const struct profiler *skel, uint32_t stat);

/* Bytes of kernel memory: the maps, and the storage of the threads. */
uint64_t stats_kernel_bytes(const struct profiler *skel);

/*
 * CPU time since boot of interrupts and the hypervisor, by /proc/stat, if the scheduler does not
 * charge it to the running thread. Includes idle CPUs.
 */
uint64_t stats_taken_ns(const struct loaded *loaded);

/* The state of all counters at a boundary. */
struct stats_mark {
	struct collect_stats totals; /* since the recording began; no off-CPU total and interval */
	/* Measured off-CPU time less its counted weight. */
	int64_t residue_ns;
	/* The variance of that, for threads that have ended and for those that go on. */
	double ended_variance_us2, open_variance_us2;
};

/* The sums over the threads that existed when a window closed. */
struct stats_open {
	uint64_t periods, residue_ns, variance_us2;
};

/*
 * Their current state. Read it before and after the iterator: the difference is the iterator's sum.
 */
struct stats_open stats_read_open(const struct profiler *skel);
struct stats_open stats_open_since(const struct profiler *skel, const struct stats_open *before);

/*
 * The stats of the window between two marks, recorded in @profile. Gauges have their values at its
 * end.
 */
void stats_between(const struct stats_mark *begin, const struct stats_mark *end,
		   const struct profile *profile, struct collect_stats *ret);

/* Adds the counters of @other to those of @stats. Leaves everything else alone. */
void stats_add(struct collect_stats *stats, const struct collect_stats *other);

#endif
