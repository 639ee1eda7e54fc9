/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * burn [SECONDS [THREADS]]: each thread spends 60 % of its CPU time in burn_60(), 30 % in
 * burn_30() and 10 % in burn_10(), measured by its own CPU clock.
 *
 * A cycle has a random length, so that a sampler at any frequency sees all three fairly.
 */
#include "workload.h"

#define MAX_THREADS 64

enum { BURN_60, BURN_30, BURN_10, N_BURNS };

struct burner {
	pthread_t thread;
	int tid;
	uint32_t random;
	uint64_t until; /* CLOCK_MONOTONIC */
	uint64_t spent[N_BURNS], cpu, elapsed;
};

/* Each spins until the thread's CPU clock reaches @until, and returns its reading then. */
static MARKED uint64_t burn_60(uint64_t until)
{
	uint64_t now;

	do
		spin();
	while ((now = thread_cpu_ns()) < until);
	return now;
}

static MARKED uint64_t burn_30(uint64_t until)
{
	uint64_t now;

	do
		spin();
	while ((now = thread_cpu_ns()) < until);
	return now;
}

static MARKED uint64_t burn_10(uint64_t until)
{
	uint64_t now;

	do
		spin();
	while ((now = thread_cpu_ns()) < until);
	return now;
}

/* Gives each function its share of all CPU time up to the end of this cycle. */
static MARKED void burn_cycle(struct burner *burner, uint64_t *now)
{
	static uint64_t (*const burns[N_BURNS])(uint64_t) = {burn_60, burn_30, burn_10};
	static const uint64_t percent[N_BURNS] = {60, 30, 10};
	uint64_t total = 2 * MILLISECOND + next_random(&burner->random) % 8000 * 1000;

	for (int i = 0; i < N_BURNS; i++)
		total += burner->spent[i];
	for (int i = 0; i < N_BURNS; i++) {
		uint64_t due = total * percent[i] / 100, end;

		if (due <= burner->spent[i])
			continue;
		end = burns[i](*now + due - burner->spent[i]);
		burner->spent[i] += end - *now;
		*now = end;
	}
}

static void *burn_thread(void *argument)
{
	struct burner *burner = argument;
	uint64_t start = wall_ns(), now = thread_cpu_ns();

	burner->tid = gettid();
	while (wall_ns() < burner->until)
		burn_cycle(burner, &now);
	burner->cpu = now;
	burner->elapsed = wall_ns() - start;
	return NULL;
}

static void print_truth(const struct burner *burners, int n)
{
	uint64_t total = 0;

	printf("{\"threads\": [");
	for (int i = 0; i < n; i++) {
		const struct burner *b = &burners[i];

		printf("%s{\"name\": \"burn\", \"tid\": %d, \"elapsed_ns\": %ju, \"cpu_ns\": %ju, "
		       "\"burn_60_ns\": %ju, \"burn_30_ns\": %ju, \"burn_10_ns\": %ju}",
		       i ? ", " : "", b->tid, (uintmax_t)b->elapsed, (uintmax_t)b->cpu,
		       (uintmax_t)b->spent[BURN_60], (uintmax_t)b->spent[BURN_30],
		       (uintmax_t)b->spent[BURN_10]);
		total += b->cpu;
	}
	printf("], \"pid\": %d, \"cpu_seconds\": %.6f}\n", getpid(), total / 1e9);
}

int main(int argc, char **argv)
{
	static struct burner burners[MAX_THREADS];
	uint64_t until = wall_ns() + number_argument(argc, argv, 1, 10) * SECOND;
	int n = number_argument(argc, argv, 2, 4);

	if (n < 1 || n > MAX_THREADS)
		return 2;
	for (int i = 0; i < n; i++) {
		burners[i].until = until;
		burners[i].random = i * 7919 + 1;
		start_thread(burn_thread, &burners[i], &burners[i].thread);
	}
	for (int i = 0; i < n; i++)
		pthread_join(burners[i].thread, NULL);
	print_truth(burners, n);
	return 0;
}
