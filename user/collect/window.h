/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * window: opens and closes what is recorded, and moves on from window to window, by CLOCK_MONOTONIC
 * for samples and by the scheduler's clock for switches.
 *
 * The boundaries of windows are every_ns apart on CLOCK_MONOTONIC. By the scheduler's clock each is
 * set anew in the window before it, for the clocks drift apart: by a second in a day, and by twenty
 * times that where a daemon slews CLOCK_MONOTONIC to the right time.
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

/*
 * Returns when the window is open. It closes after @duration_ns; 0: when it is told. @every_ns: the
 * length of each window; 0: there is one.
 */
void window_open(struct bf_control *control, uint64_t duration_ns, uint64_t every_ns);

/*
 * Window @number has begun: the programs go on in it at once, and the iterator closes the one
 * before.
 */
void window_advance(struct bf_control *control, uint64_t number, uint64_t every_ns);

/*
 * The clocks drift apart: finds how far they are now, and sets the ends by the scheduler's, unless
 * they are near. @every_ns as above. Takes milliseconds.
 */
void window_adjust(struct bf_control *control, uint64_t every_ns);

/*
 * Returns when the window is closed, the last one being @number. @calibrate: the clocks may have
 * moved apart since.
 */
void window_close(struct bf_control *control, bool calibrate);

/* The iterator closes the last window, @number. */
void window_close_last(struct bf_control *control, uint64_t number);

#endif
