/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * period: chooses the sampling period of off-CPU time while recording, so that keeping periods
 * never costs a CPU more than a fixed share of its time.
 *
 * Estimates stay unbiased: a change applies to stretches that have not begun (bpf/offcpu.bpf.h).
 */
#ifndef COLLECT_PERIOD_H
#define COLLECT_PERIOD_H

#include <stdint.h>

struct profiler;

/* The cost of kept periods on a CPU. */
struct period_cost {
	uint64_t n, nanoseconds;
};

struct period {
	struct profiler *skel; /* NULL: the period is fixed, or nothing is kept */
	double share;	       /* of a CPU's time that what is kept may cost */
	uint64_t most_ns;      /* the longest period */
	uint64_t last_ns;
	struct period_cost *costs; /* by CPU, up to then */
	int n_cpus;
};

/* The initial period. @wanted: the option's value. */
uint64_t period_first(uint64_t wanted);

/* Errors: -ENOMEM. */
int period_init(struct period *period, struct profiler *skel, uint64_t wanted);
void period_done(struct period *period);

/* Lets kept periods cost @factor (0 … 1) of the usual limit, and the period be four times as long. */
void period_spare(struct period *period, double factor);

/* Sets it, unless it is fixed; period_adapt() goes on from there. */
void period_set(struct period *period, uint64_t ns);

/* Call it often; it checks ten times a second. */
void period_adapt(struct period *period);

/*
 * The next period, given that with @now_ns the busiest CPU spent @share (0 … 1) of its time on kept
 * periods, where @most is allowed. The longest one is @most_ns.
 */
uint64_t period_next(uint64_t now_ns, double share, double most, uint64_t most_ns);

#endif
