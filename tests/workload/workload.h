/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * workload: shared by programs with a known truth: clocks in nanoseconds, functions that stay on
 * the stack, arithmetic that stays out of libc, and numbers from the command line.
 *
 * Every workload ends by printing its truth as one JSON object on stdout.
 */
#ifndef WORKLOAD_H
#define WORKLOAD_H

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define SECOND	    1000000000ULL
#define MILLISECOND 1000000ULL

/* A function that keeps its frame and its name, whatever the optimizer does. */
#define MARKED __attribute__((noinline, noclone, no_icf))
/* Goes before the end of a function: keeps the last call from becoming a jump. */
#define KEEP_FRAME() __asm__ volatile("" ::: "memory")

static inline uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * SECOND + now.tv_nsec;
}

static inline uint64_t wall_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static inline uint64_t thread_cpu_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* Field 2 of schedstat: how long a thread was runnable but not running; 0 where there is none. */
static inline uint64_t run_delay_of(const char *path)
{
	unsigned long long cpu, delay;
	FILE *file = fopen(path, "r");

	if (!file)
		return 0;
	if (fscanf(file, "%llu %llu", &cpu, &delay) != 2)
		delay = 0;
	fclose(file);
	return delay;
}

static inline uint64_t own_run_delay_ns(void)
{
	return run_delay_of("/proc/thread-self/schedstat");
}

/* Takes a few hundred µs, so that reading the clock between two of these costs next to nothing. */
static inline __attribute__((always_inline)) void spin(void)
{
	for (volatile unsigned int i = 0; i < 200000; i++)
		;
}

static inline void sleep_ns(uint64_t duration)
{
	struct timespec left = {duration / SECOND, duration % SECOND};

	while (nanosleep(&left, &left))
		;
}

/* A cheap pseudo-random sequence, so that no phase of a workload keeps in step with a sampler. */
static inline uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 16;
}

static inline void start_thread(void *(*body)(void *), void *argument, pthread_t *ret)
{
	if (pthread_create(ret, NULL, body, argument)) {
		perror("pthread_create");
		exit(1);
	}
}

/* Argument @i as a number, or @otherwise if it is missing. */
static inline double number_argument(int argc, char **argv, int i, double otherwise)
{
	return i < argc ? atof(argv[i]) : otherwise;
}

#endif
