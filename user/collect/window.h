/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * window: opens and closes what is recorded, by CLOCK_MONOTONIC for samples and by the scheduler's
 * clock for switches.
 */
#ifndef COLLECT_WINDOW_H
#define COLLECT_WINDOW_H

#include <stdbool.h>

#include "base/system.h"
#include "bpf/wire.h"

/* Finds how far the clocks are apart. The programs are attached. */
void window_calibrate(struct bf_control *control);

/*
 * Has each CPU switch threads, so that the scheduler books what has run there: it does so at
 * switches and ticks only.
 */
void window_visit_cpus(const struct cpu_list *online);

/* Returns when the window is open. It closes after @duration_ns; 0: when it is told. */
void window_open(struct bf_control *control, uint64_t duration_ns);

/* Returns when the window is closed. @calibrate: the clocks may have moved apart since. */
void window_close(struct bf_control *control, bool calibrate);

#endif
