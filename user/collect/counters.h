/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * counters: the events counted by the kernel or the processor, and how to request them
 * (perf_event_open(2)): by perf's names, `rNNNN`, and `pmu/term=value,…/` or `pmu/name/` as
 * described in /sys/bus/event_source/devices.
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

/*
 * Whether samples of @name come by the clock and measure time: then samples are counted, not the
 * event.
 */
bool counter_is_time(const char *name);

/*
 * Finds counter @name. Errors: -ENOENT: no such name; -EINVAL, with *failure naming the fault in a
 * PMU's terms.
 */
int counter_find(const char *name, struct counter *ret, struct failure *failure);

/* Whether it can be opened here: 0 or -errno of perf_event_open(). */
int counter_try(const struct counter *counter);

#define PMU_FOLDER "/sys/bus/event_source/devices"
/* The type number of a PMU, or -ENOENT. */
int pmu_type(const char *pmu);

#endif
