/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/window.h"

#include <sched.h>
#include <unistd.h>

#define CALIBRATING_NAPS 20
#define NAP_US		 50
#define AHEAD_NS	 2000000 /* how early the ends of the window are set */

/*
 * The least that is seen at a few switches, of which our own naps make some, is off by what a
 * program needs to begin: less than a microsecond.
 */
void window_calibrate(struct bf_control *control)
{
	control->least_offset = INT64_MAX;
	__atomic_store_n(&control->calibrating, 1, __ATOMIC_SEQ_CST);
	for (int i = 0; i < CALIBRATING_NAPS; i++)
		usleep(NAP_US);
	__atomic_store_n(&control->calibrating, 0, __ATOMIC_SEQ_CST);
	if (control->least_offset != INT64_MAX)
		control->clock_offset = control->least_offset;
}

/* We go where others run: they are switched out for us and in again. */
void window_visit_cpus(const struct cpu_list *online)
{
	size_t size = CPU_ALLOC_SIZE(CPU_SET_WORDS * 64);
	cpu_set_t *ours = CPU_ALLOC(CPU_SET_WORDS * 64), *one = CPU_ALLOC(CPU_SET_WORDS * 64);

	if (ours && one && sched_getaffinity(0, size, ours) == 0) {
		for_each_cpu (cpu, online) {
			CPU_ZERO_S(size, one);
			CPU_SET_S(cpu, size, one);
			if (sched_setaffinity(0, size, one) == 0)
				usleep(NAP_US);
		}
		sched_setaffinity(0, size, ours);
	}
	CPU_FREE(ours);
	CPU_FREE(one);
}

/*
 * Sets one end of the window to a moment that is still to come when the programs see it, and waits
 * for it. Set to the present it would lie in the past for them whenever we are preempted in
 * between.
 */
static void set_in_time(struct bf_control *control, __u64 *for_samples, __u64 *for_switches)
{
	uint64_t moment;

	do {
		moment = monotonic_ns() + AHEAD_NS;
		__atomic_store_n(for_samples, moment, __ATOMIC_SEQ_CST);
		__atomic_store_n(for_switches, moment - control->clock_offset, __ATOMIC_SEQ_CST);
	} while (monotonic_ns() >= moment);
	sleep_until_ns(moment);
}

void window_open(struct bf_control *control, uint64_t duration_ns)
{
	set_in_time(control, &control->window_start, &control->switch_start);
	if (!duration_ns)
		return;
	control->window_end = control->window_start + duration_ns;
	control->switch_end = control->switch_start + duration_ns;
}

void window_close(struct bf_control *control, bool calibrate)
{
	if (monotonic_ns() >= control->window_end)
		return;
	if (calibrate)
		window_calibrate(control);
	set_in_time(control, &control->window_end, &control->switch_end);
}
