/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stats: what the programs have counted, and the memory that they use; what of it belongs to a
 * window.
 */
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
 * CPU time since boot that interrupts and the hypervisor took, by /proc/stat, where the scheduler
 * does not charge it to the thread that runs. Of idle CPUs, too.
 */
uint64_t stats_taken_ns(const struct loaded *loaded);

/* How all counters stand at a boundary. */
struct stats_mark {
	struct collect_stats totals; /* since the recording began; no off-CPU total and interval */
	/* Measured off-CPU time less what was counted for it. */
	int64_t residue_ns;
	/* The variance of that, of threads that have ended and of those that go on. */
	double ended_variance_us2, open_variance_us2;
};

/* The sums over the threads that were there as a window closed. */
struct stats_open {
	uint64_t periods, residue_ns, variance_us2;
};

/* As they stand. Read before and after the iterator, the difference is what it has summed up. */
struct stats_open stats_read_open(const struct profiler *skel);
struct stats_open stats_open_since(const struct profiler *skel, const struct stats_open *before);

/*
 * The stats of the window between two marks, in which @profile was recorded. Of gauges, what they
 * say at its end.
 */
void stats_between(const struct stats_mark *begin, const struct stats_mark *end,
		   const struct profile *profile, struct collect_stats *ret);

#endif
