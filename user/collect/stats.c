/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/stats.h"

#include <bpf/libbpf.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/system.h"
#include "collect/load.h"
#include "bpf/wire.h"
#include "profiler.skel.h"

#define TICK_NS 4000000 /* the scheduler's, usually */

/* Per thread: its struct bpf_local_storage and the element with our struct thread. */
#define THREAD_BYTES (192 + 256)

uint64_t stats_total(const struct profiler *skel, uint32_t stat)
{
	int n_cpus = libbpf_num_possible_cpus();
	uint64_t total = 0, values[n_cpus];

	if (bpf_map__lookup_elem(skel->maps.stats, &stat, sizeof stat, values, sizeof values, 0) <
	    0)
		return 0;
	for (int i = 0; i < n_cpus; i++)
		total += values[i];
	return total;
}

static uint64_t map_bytes(const struct bpf_map *map)
{
	char path[64], text[1024];
	const char *line;

	snprintf(path, sizeof path, "/proc/self/fdinfo/%d", bpf_map__fd(map));
	if (read_text_file(path, text, sizeof text) < 0)
		return 0;
	line = strstr(text, "memlock:");
	return line ? strtoull(line + strlen("memlock:"), NULL, 10) : 0;
}

uint64_t stats_kernel_bytes(const struct profiler *skel)
{
	uint64_t bytes = stats_total(skel, BF_STAT_THREADS) * THREAD_BYTES;
	const struct bpf_map *map;

	bpf_object__for_each_map(map, skel->obj) bytes += map_bytes(map);
	return bytes;
}

uint64_t stats_taken_ns(const struct loaded *loaded)
{
	unsigned long long irq = 0, softirq = 0, stolen = 0;
	char text[8192];

	if (read_text_file("/proc/stat", text, sizeof text) < 0 ||
	    sscanf(text, "cpu %*u %*u %*u %*u %*u %llu %llu %llu", &irq, &softirq, &stolen) != 3)
		return 0;
	return ((loaded->takes_interrupts ? irq + softirq : 0) +
		(loaded->takes_steal ? stolen : 0)) *
	       (NSEC_PER_SEC / sysconf(_SC_CLK_TCK));
}

struct stats_open stats_read_open(const struct profiler *skel)
{
	return (struct stats_open){
		.periods = stats_total(skel, BF_STAT_OPEN_PERIODS),
		.residue_ns = stats_total(skel, BF_STAT_OPEN_RESIDUE_NS),
		.variance_us2 = stats_total(skel, BF_STAT_OPEN_VARIANCE_US2),
	};
}

struct stats_open stats_open_since(const struct profiler *skel, const struct stats_open *before)
{
	struct stats_open now = stats_read_open(skel);

	now.periods -= before->periods;
	now.residue_ns -= before->residue_ns;
	now.variance_us2 -= before->variance_us2;
	return now;
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
 * 95 % of a normal distribution are within 1.96 standard deviations; a little more, since the
 * deviation is an estimate, too. Threads that run across an end of the window are charged by the
 * tick.
 */
static uint64_t interval_ns(double deviation_ns)
{
	return 2.2 * deviation_ns + sysconf(_SC_NPROCESSORS_ONLN) * TICK_NS;
}

/*
 * A stretch cut by a boundary is uncertain in both windows. Its point is the same for both: the
 * excess of one is missing in the other, so it cancels in the sum of windows, and the figure for
 * one window is a little too cautious.
 */
static void offcpu_between(const struct stats_mark *begin, const struct stats_mark *end,
			   const struct profile *profile, struct collect_stats *ret)
{
	double variance_us2 = end->ended_variance_us2 - begin->ended_variance_us2 +
			      end->open_variance_us2 + begin->open_variance_us2;

	ret->offcpu_measured_ns =
		counted_offcpu_ns(profile) + (end->residue_ns - begin->residue_ns);
	ret->offcpu_interval_ns =
		ret->offcpu_period_ns ? interval_ns(sqrt(variance_us2) * 1000) : 0;
}

/* What windows of a recording add up to. */
static const size_t counters[] = {
#define COUNTER(name) offsetof(struct collect_stats, name)
	COUNTER(samples),      COUNTER(periods),	COUNTER(kept),
	COUNTER(counts_full),  COUNTER(events_full),	COUNTER(storage_failed),
	COUNTER(targets_full), COUNTER(lost_stacks),	COUNTER(nested_events),
	COUNTER(lost_records), COUNTER(throttled),	COUNTER(unknown_processes),
	COUNTER(lost_wakers),  COUNTER(unknown_wakers), COUNTER(offcpu_measured_ns),
	COUNTER(drains),       COUNTER(snapshots),	COUNTER(snapshots_full),
	COUNTER(tables_built), COUNTER(tables_failed),	COUNTER(tables_refused),
	COUNTER(taken_ns),     COUNTER(evictions),	COUNTER(tables_unread),
	COUNTER(chains),       COUNTER(chains_empty),	COUNTER(chains_unread),
	COUNTER(chains_deep),  COUNTER(nameless_code),
#undef COUNTER
};

static void add_counters(struct collect_stats *stats, const struct collect_stats *other,
			 bool negate)
{
	for (size_t i = 0; i < sizeof counters / sizeof *counters; i++) {
		uint64_t *value = (uint64_t *)((char *)stats + counters[i]);
		uint64_t change = *(const uint64_t *)((const char *)other + counters[i]);

		*value += negate ? -change : change;
	}
}

void stats_add(struct collect_stats *stats, const struct collect_stats *other)
{
	add_counters(stats, other, false);
}

void stats_between(const struct stats_mark *begin, const struct stats_mark *end,
		   const struct profile *profile, struct collect_stats *ret)
{
	*ret = end->totals;
	add_counters(ret, &begin->totals, true);
	ret->distinct_stacks = profile->n_stacks;
	if (profile->mode != PROFILE_ONCPU)
		offcpu_between(begin, end, profile, ret);
}
