/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/period.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/sysinfo.h>

#include "base/system.h"
#include "bpf/wire.h"
#include "collect/collect.h"
#include "profiler.skel.h"

#define LEAST_FIRST_NS 1000000
#define MOST_FIRST_NS  100000000
#define LEAST_NS       100000
#define MOST_NS	       1000000000
#define SPARED_MOST_NS 4000000000 /* a stretch has 32 bits */
#define BUDGET	       0.01  /* of a CPU's time */
#define MOST_EACH      20000 /* ns: a deep stack; more is time of others that came in between */
#define USUAL_EACH     6000  /* ns */
#define STEP_NS	       90000000

/*
 * If all threads waited only in short periods, a point in each would cost four times the budget,
 * until the first check of the real cost.
 */
uint64_t period_first(uint64_t wanted)
{
	struct sysinfo system;
	uint64_t first;

	if (wanted != PERIOD_AUTO)
		return wanted;
	if (sysinfo(&system) < 0)
		return LEAST_FIRST_NS;
	first = system.procs * USUAL_EACH / (4 * BUDGET * libbpf_num_possible_cpus());
	return first < LEAST_FIRST_NS  ? LEAST_FIRST_NS
	       : first > MOST_FIRST_NS ? MOST_FIRST_NS
				       : first;
}

int period_init(struct period *period, struct profiler *skel, uint64_t wanted)
{
	*period = (struct period){.share = BUDGET, .most_ns = MOST_NS, .n_cpus = libbpf_num_possible_cpus()};
	if (wanted != PERIOD_AUTO || !skel->rodata->config.offcpu)
		return 0;
	period->costs = calloc(period->n_cpus, sizeof *period->costs);
	if (!period->costs)
		return -ENOMEM;
	period->skel = skel;
	return 0;
}

void period_done(struct period *period)
{
	free(period->costs);
	*period = (struct period){};
}

void period_spare(struct period *period, double factor)
{
	period->share = factor * BUDGET;
	period->most_ns = SPARED_MOST_NS;
}

void period_set(struct period *period, uint64_t ns)
{
	if (period->skel)
		period->skel->bss->control.offcpu_period = ns;
}

/* Adapts slowly: one burst must not spoil the seconds after it. */
uint64_t period_next(uint64_t now_ns, double share, double most, uint64_t most_ns)
{
	uint64_t next = share > most ? 2 * now_ns : share < most / 4 ? now_ns / 2 : now_ns;

	return next < LEAST_NS ? LEAST_NS : next > most_ns ? most_ns : next;
}

static int read_stat(const struct period *period, uint32_t stat, uint64_t *values)
{
	return bpf_map__lookup_elem(period->skel->maps.stats, &stat, sizeof stat, values,
				    period->n_cpus * sizeof *values, 0);
}

void period_adapt(struct period *period)
{
	uint64_t periods[period->n_cpus + 1], wakings[period->n_cpus + 1], ns[period->n_cpus + 1];
	uint64_t now = monotonic_ns(), most = 0;
	struct bf_control *control;

	if (!period->skel || now - period->last_ns < STEP_NS ||
	    read_stat(period, BF_STAT_KEPT, periods) < 0 ||
	    read_stat(period, BF_STAT_WAKINGS, wakings) < 0 ||
	    read_stat(period, BF_STAT_KEEPING_NS, ns) < 0)
		return;
	for (int i = 0; i < period->n_cpus; i++) {
		struct period_cost *cost = &period->costs[i];
		uint64_t n = periods[i] + wakings[i], spent = ns[i] - cost->nanoseconds;
		uint64_t bound = (n - cost->n) * MOST_EACH;

		spent = spent < bound ? spent : bound;
		most = spent > most ? spent : most;
		*cost = (struct period_cost){n, ns[i]};
	}
	control = &period->skel->bss->control;
	if (period->last_ns)
		control->offcpu_period =
			period_next(control->offcpu_period, (double)most / (now - period->last_ns),
				    period->share, period->most_ns);
	period->last_ns = now;
}
