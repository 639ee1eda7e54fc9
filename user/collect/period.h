/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * period: chooses the sampling period of off-CPU time while recording, so that what is kept never
 * costs a CPU more than a fixed share of its time.
 *
 * Estimates stay unbiased: a change holds for stretches that have not begun (bpf/offcpu.bpf.h).
 */
#ifndef COLLECT_PERIOD_H
#define COLLECT_PERIOD_H

#include <stdint.h>

struct profiler;

/* What was kept on a CPU. */
struct period_cost {
	uint64_t n, nanoseconds;
};

struct period {
	struct profiler *skel; /* NULL: the period is fixed */
	uint64_t last_ns;
	struct period_cost *costs; /* by CPU, until then */
	int n_cpus;
};

/* What to begin with. @wanted: the option's value. */
uint64_t period_first(uint64_t wanted);

/* Errors: -ENOMEM. */
int period_init(struct period *period, struct profiler *skel, uint64_t wanted);
void period_done(struct period *period);

/* To be called often; looks ten times a second. */
void period_adapt(struct period *period);

/*
 * The period to go on with, for one of @now_ns under which the busiest CPU spent @share (0 … 1) of
 * its time on what was kept.
 */
uint64_t period_next(uint64_t now_ns, double share);

#endif
