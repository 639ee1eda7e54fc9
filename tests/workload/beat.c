/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * beat [SECONDS [HZ]]: keeps in step with a clock: HZ times a second, evenly spaced, it spends a
 * third of the time in beat_first(), as much in beat_second(), and sleeps until the next beat.
 */
#include "workload.h"

/* Each spins until the clock reaches @until. Returns the CPU time that this took. */
static MARKED uint64_t beat_first(uint64_t until)
{
	uint64_t start = thread_cpu_ns();

	while (wall_ns() < until)
		;
	return thread_cpu_ns() - start;
}

static MARKED uint64_t beat_second(uint64_t until)
{
	uint64_t start = thread_cpu_ns();

	while (wall_ns() < until)
		;
	return thread_cpu_ns() - start;
}

static void sleep_until(uint64_t moment)
{
	struct timespec absolute = {moment / SECOND, moment % SECOND};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &absolute, NULL))
		;
}

int main(int argc, char **argv)
{
	uint64_t end = wall_ns() + number_argument(argc, argv, 1, 5) * SECOND;
	uint64_t period = SECOND / number_argument(argc, argv, 2, 100), first = 0, second = 0;

	for (uint64_t beat = wall_ns(); beat < end; beat += period) {
		sleep_until(beat);
		first += beat_first(beat + period / 3);
		second += beat_second(beat + 2 * period / 3);
	}
	printf("{\"beat_first_ns\": %ju, \"beat_second_ns\": %ju, \"cpu_seconds\": %.6f}\n",
	       (uintmax_t)first, (uintmax_t)second, thread_cpu_ns() / 1e9);
	return 0;
}
