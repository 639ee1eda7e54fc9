/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * counters: the events that the kernel or the processor counts, and how they are asked for
 * (perf_event_open(2)): by the names that perf gave them, `rNNNN`, and `pmu/term=value,…/` or
 * `pmu/name/` as /sys/bus/event_source/devices describes them.
 */
#ifndef COLLECT_COUNTERS_H
#define COLLECT_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/failure.h"

struct counter {
	uint32_t type; /* as in perf_event_attr */
	uint64_t config, config1, config2;
};

/* A counter with a name of its own. The last row has none. */
struct counter_row {
	const char *name, *alias;
	uint32_t type;
	uint64_t config;
	const char *help;
};
extern const struct counter_row counter_rows[];

bool counter_is_known(const char *name);

/* Samples that come by the clock stand for time; they are counted, not what they were sampled by.
 */
bool counter_is_time(const char *name);

/*
 * What counter @name is. Errors: -ENOENT: there is none of that name; -EINVAL with *failure saying
 * what is wrong with a PMU's terms.
 */
int counter_find(const char *name, struct counter *ret, struct failure *failure);

/* Whether it can be opened here: 0 or -errno of perf_event_open(). */
int counter_try(const struct counter *counter);

#define PMU_FOLDER "/sys/bus/event_source/devices"
/* The type number of a PMU, or -ENOENT. */
int pmu_type(const char *pmu);

#endif
