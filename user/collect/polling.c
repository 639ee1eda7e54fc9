/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Looks at all threads now and then, in place of a program at each switch (bpf/polling.bpf.h). Sums
 * stay exact; stacks of waits are rough, and cost the same however often threads switch.
 */
#include <errno.h>

#include "base/system.h"
#include "collect/collector.h"
#include "profiler.skel.h"

/* Between two looks, on average. What repeats must not be seen always, or never. */
#define LOOK_NS	 NSEC_PER_SEC
#define LEAST_NS (LOOK_NS / 2)
/* Waits found by a look count in full if they are longer, shorter ones by lot. */
#define PERIOD_NS (LOOK_NS / 10)

static void draw_next(struct polling *polling)
{
	uint32_t random = 0;

	random_bytes(&random, sizeof random);
	polling->next_ns = monotonic_ns() + LEAST_NS + (LOOK_NS * random >> 32);
}

static int look(struct collector *collector)
{
	struct bf_control *control = &collector->skel->bss->control;

	draw_next(&collector->polling);
	control->close_at = monotonic_ns() - control->clock_offset;
	control->close_window = collector->windows.last;
	return collector_visit_threads(collector);
}

/* A last look: else the next switch of each thread would count all since the one before as one
 * wait. */
static int end(struct collector *collector)
{
	struct bf_control *control = &collector->skel->bss->control;
	int r = load_attach_hook(&collector->loaded);

	if (r < 0)
		return r;
	r = look(collector);
	collector->polling.is_on = false;
	__atomic_fetch_and(&control->at_switches, ~BF_SWITCHES_REST, __ATOMIC_SEQ_CST);
	return r;
}

int polling_set(struct collector *collector, bool on)
{
	struct bf_control *control = &collector->skel->bss->control;

	if (on == collector->polling.is_on)
		return 0;
	if (!on)
		return end(collector);
	if (!load_may_poll(&collector->loaded))
		return -EOPNOTSUPP;
	__atomic_fetch_or(&control->at_switches, BF_SWITCHES_REST, __ATOMIC_SEQ_CST);
	load_detach_hook(&collector->loaded);
	period_set(&collector->period, PERIOD_NS);
	collector->polling.is_on = true;
	draw_next(&collector->polling);
	return 0;
}

int polling_step(struct collector *collector)
{
	return collector->polling.is_on && monotonic_ns() >= collector->polling.next_ns
		       ? look(collector)
		       : 0;
}
