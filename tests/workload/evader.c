/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * evader SECONDS HZ: hides from samplers. Learns from gaps in its own time when its CPU is sampled,
 * and sleeps through each moment at which it expects the next sample. It expects two timers, of
 * HZ/1.618 and HZ/2.618. Runs on one CPU.
 */
#include "workload.h"

#include <sched.h>
#include <stdbool.h>

#define GAP_NS	  2500	 /* an interrupt that takes a sample lasts longer … */
#define MARGIN_NS 150000 /* asleep this long before and after the moment */
#define GOLDEN	  1.6180339887498949

struct timer {
	double period;	/* ns */
	double next;	/* monotonic ns; 0: unknown */
};

static void sleep_until(double until)
{
	struct timespec at = {(time_t)(until / 1e9), (long)((uint64_t)until % SECOND)};

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

/* The timer that caused a gap at @now: the one whose last gap was a whole number of periods ago. */
static void learn(struct timer *timers, double now, double *last)
{
	for (int i = 0; i < 2; i++) {
		for (int k = 0; k < 64; k++) {
			double ago = (now - last[k]) / timers[i].period;
			double off = (ago - (uint64_t)(ago + 0.5)) * timers[i].period;

			if (last[k] && ago > 0.5 && ago < 20 && off > -20000 && off < 20000)
				timers[i].next = now + timers[i].period;
		}
	}
}

static MARKED void hide(uint64_t until, double hz)
{
	struct timer timers[2] = {{1e9 / hz * GOLDEN, 0}, {1e9 / hz * (GOLDEN + 1), 0}};
	double last[64] = {};
	unsigned int n = 0;
	uint64_t before = wall_ns();

	while (before < until) {
		uint64_t now = wall_ns();

		if (now - before > GAP_NS) {
			learn(timers, now, last);
			last[n++ % 64] = now;
		}
		for (int i = 0; i < 2; i++) {
			while (timers[i].next && timers[i].next < now - MARGIN_NS)
				timers[i].next += timers[i].period;
			if (timers[i].next && now > timers[i].next - MARGIN_NS) {
				sleep_until(timers[i].next + MARGIN_NS);
				timers[i].next += timers[i].period;
				now = wall_ns();
			}
		}
		before = now;
	}
}

int main(int argc, char **argv)
{
	double seconds = number_argument(argc, argv, 1, 1), hz = number_argument(argc, argv, 2, 99);
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(1, &one);
	sched_setaffinity(0, sizeof one, &one);
	hide(wall_ns() + seconds * SECOND, hz);
	printf("{\"threads\": [{\"name\": \"evader\", \"tid\": %d, \"cpu_ns\": %ju}], \"pid\": %d}\n",
	       getpid(), (uintmax_t)thread_cpu_ns(), getpid());
	return 0;
}
