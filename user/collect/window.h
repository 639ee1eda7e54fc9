/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * window: opens and closes what is recorded, and moves on from window to window, by CLOCK_MONOTONIC
 * for samples and by the scheduler's clock for switches.
 *
 * The boundaries of windows are every_ns apart on CLOCK_MONOTONIC, but where one is cut. By the
 * scheduler's clock, each is set during the window before it, since the clocks drift apart: by a
 * second in a day, and twenty times that while a daemon slews CLOCK_MONOTONIC to the right time.
 */
#ifndef COLLECT_WINDOW_H
#define COLLECT_WINDOW_H

#include <stdbool.h>

#include "base/system.h"
#include "bpf/wire.h"

/* Measures the distance of the clocks. The programs must be attached. */
void window_calibrate(struct bf_control *control);

/*
 * Makes each CPU switch threads, so that the scheduler books what ran there: it does so only at
 * switches and ticks.
 */
void window_visit_cpus(const struct cpu_list *online);

/*
 * Returns when the window is open. It closes after @duration_ns; 0: at window_close(). @every_ns:
 * the length of each window; 0: there is one.
 */
void window_open(struct bf_control *control, uint64_t duration_ns, uint64_t every_ns);

/*
 * Window @number has begun: the programs continue in it at once, and the iterator closes the
 * previous one.
 */
void window_advance(struct bf_control *control, uint64_t number, uint64_t every_ns);

/*
 * Measures the distance of the clocks again, since they drift apart, and sets the ends by the
 * scheduler's clock, unless they are near. @end: of the open window, CLOCK_MONOTONIC ns; 0: there
 * is one window. Takes milliseconds.
 */
void window_adjust(struct bf_control *control, uint64_t end);

/* The open window ends at @moment, which is yet to come. Later ones follow from there. */
void window_cut(struct bf_control *control, uint64_t moment);

/*
 * Returns when the window is closed; @number is the last one. @calibrate: the clocks may have
 * drifted since.
 */
void window_close(struct bf_control *control, bool calibrate);

/* Has the iterator close the last window, @number. */
void window_close_last(struct bf_control *control, uint64_t number);

#endif
