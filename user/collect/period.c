/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/period.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/system.h"
#include "bpf/wire.h"
#include "collect/collect.h"
#include "profiler.skel.h"

#define FIRST_NS 1000000
#define LEAST_NS 100000
#define MOST_NS	 4000000000 /* BPF multiplies it by 32 random bits */
#define BUDGET	 0.01	    /* of a CPU's time */
#define LOOK_NS	 90000000

uint64_t period_first(uint64_t wanted)
{
	return wanted == PERIOD_AUTO ? FIRST_NS : wanted;
}

int period_init(struct period *period, struct profiler *skel, uint64_t wanted)
{
	*period = (struct period){.n_cpus = libbpf_num_possible_cpus()};
	if (wanted != PERIOD_AUTO)
		return 0;
	period->keeping_ns = calloc(period->n_cpus, sizeof *period->keeping_ns);
	if (!period->keeping_ns)
		return -ENOMEM;
	period->skel = skel;
	return 0;
}

void period_done(struct period *period)
{
	free(period->keeping_ns);
	*period = (struct period){};
}

/* Above the budget as far up as it takes, but for one step not too far; well below it down. */
uint64_t period_next(uint64_t now_ns, double share)
{
	double factor = 1, next;

	if (share > BUDGET)
		factor = 1.5 * share / BUDGET < 8 ? 1.5 * share / BUDGET : 8;
	else if (share < BUDGET / 4)
		factor = 0.5;
	next = now_ns * factor;
	return next < LEAST_NS ? LEAST_NS : next > MOST_NS ? MOST_NS : next;
}

void period_adapt(struct period *period)
{
	uint32_t stat = BF_STAT_KEEPING_NS;
	uint64_t now = monotonic_ns(), keeping_ns[period->n_cpus + 1], most = 0;

	if (!period->skel || now - period->last_ns < LOOK_NS ||
	    bpf_map__lookup_elem(period->skel->maps.stats, &stat, sizeof stat, keeping_ns,
				 period->n_cpus * sizeof *keeping_ns, 0) < 0)
		return;
	for (int i = 0; i < period->n_cpus; i++) {
		uint64_t spent = keeping_ns[i] - period->keeping_ns[i];

		most = spent > most ? spent : most;
		period->keeping_ns[i] = keeping_ns[i];
	}
	if (period->last_ns)
		period->skel->bss->control.offcpu_period =
			period_next(period->skel->bss->control.offcpu_period,
				    (double)most / (now - period->last_ns));
	period->last_ns = now;
}
