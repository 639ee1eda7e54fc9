/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ticks: the moments at which the timers of a CPU sample it.
 *
 * Each CPU has BF_TIMERS timers. The stretch from one tick of a timer to its next is drawn by lot,
 * from 0.6 to 1.4 of the mean: whoever sees all ticks of a CPU can't know when the next one comes,
 * and nothing is in step with them. Their number varies by a quarter of what pure chance would do.
 *
 * The kernel's timers only have a period, which begins when it is set. So soon after a tick the
 * timer gets one that ends at the moment drawn.
 */
#ifndef COLLECT_TICKS_H
#define COLLECT_TICKS_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/wire.h"

/* Ticks that follow one another faster keep their periods: drawing would cost as much as they do.
 */
#define TICKS_LEAST_MEAN_NS 30000000
/* The same for machines with more ticks a second, of all CPUs. */
#define TICKS_MOST_DRAWN 20000

struct tick_timer {
	uint64_t at;	 /* CLOCK_MONOTONIC ns: the first tick since it was set, … */
	uint64_t period; /* … and the stretch between later ones */
};

/* Between two ticks of one timer, if all together tick at @frequency, Hz. */
uint64_t ticks_mean(unsigned int frequency);

/* The periods to begin with: random and unlike, with the same frequency in all. 0 or -errno. */
int ticks_periods(unsigned int frequency, uint64_t ret[BF_TIMERS]);

/*
 * Draws the first tick of a timer, whose period is to be set now: anywhere within the mean, as if
 * the timer had ticked always.
 */
void ticks_begin(struct tick_timer *timer, uint64_t now, uint64_t mean_ns, uint32_t random);

/*
 * Draws the next tick of a timer that has ticked by @now; @random: any number. Returns whether its
 * period is to be set, now.
 */
bool ticks_draw(struct tick_timer *timer, uint64_t now, uint64_t mean_ns, uint32_t random);

/* How long after one look for timers that have ticked the next one is due; @age: since they began.
 */
uint64_t ticks_patience(uint64_t mean_ns, uint64_t age);

#endif
