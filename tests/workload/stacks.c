/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stacks [burn|block [SECONDS [STACKS [THREADS]]]]: visits STACKS distinct user stacks in turn.
 *
 * Stack i is the path that the bits of i select in a binary tree of two functions. At its leaf,
 * `burn` spends 20 µs of CPU time, `block` sleeps for 20 µs.
 */
#include "workload.h"

#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>

#define MAX_THREADS 64

struct visitor {
	pthread_t thread;
	int tid;
	uint32_t first, n_stacks;
	uint64_t until, visits, cpu_ns, elapsed_ns;
};

static bool block;

static MARKED void burn_leaf(void)
{
	for (volatile unsigned int i = 0; i < 10000; i++)
		;
}

static MARKED void block_leaf(void)
{
	sleep_ns(20000);
	KEEP_FRAME();
}

static void descend(uint32_t path, int depth);

static MARKED void f0(uint32_t path, int depth)
{
	descend(path, depth);
	KEEP_FRAME();
}

static MARKED void f1(uint32_t path, int depth)
{
	descend(path, depth);
	KEEP_FRAME();
}

static inline __attribute__((always_inline)) void descend(uint32_t path, int depth)
{
	if (depth == 0)
		(block ? block_leaf : burn_leaf)();
	else if (path & 1)
		f1(path >> 1, depth - 1);
	else
		f0(path >> 1, depth - 1);
}

static int tree_depth(uint32_t n_stacks)
{
	int depth = 1;

	while (1U << depth < n_stacks)
		depth++;
	return depth;
}

static void *visit_thread(void *argument)
{
	struct visitor *visitor = argument;
	int depth = tree_depth(visitor->n_stacks);
	uint32_t i = visitor->first;
	uint64_t start = wall_ns();

	visitor->tid = gettid();
	prctl(PR_SET_TIMERSLACK, 1);
	while (wall_ns() < visitor->until) {
		descend(i, depth);
		i = (i + 1) % visitor->n_stacks;
		visitor->visits++;
	}
	visitor->cpu_ns = thread_cpu_ns();
	visitor->elapsed_ns = wall_ns() - start;
	return NULL;
}

static void print_truth(const struct visitor *visitors, int n)
{
	uint64_t visits = 0, cpu = 0;

	printf("{\"threads\": [");
	for (int i = 0; i < n; i++) {
		const struct visitor *v = &visitors[i];

		printf("%s{\"name\": \"stacks\", \"tid\": %d, \"elapsed_ns\": %ju, "
		       "\"cpu_ns\": %ju, \"visits\": %ju}",
		       i ? ", " : "", v->tid, (uintmax_t)v->elapsed_ns, (uintmax_t)v->cpu_ns,
		       (uintmax_t)v->visits);
		visits += v->visits;
		cpu += v->cpu_ns;
	}
	printf("], \"pid\": %d, \"stacks\": %u, \"visits\": %ju, \"cpu_seconds\": %.6f}\n",
	       getpid(), visitors->n_stacks, (uintmax_t)visits, cpu / 1e9);
}

int main(int argc, char **argv)
{
	static struct visitor visitors[MAX_THREADS];
	uint64_t until = wall_ns() + number_argument(argc, argv, 2, 10) * SECOND;
	uint32_t n_stacks = number_argument(argc, argv, 3, 20000);
	int n = number_argument(argc, argv, 4, 2);

	block = argc > 1 && !strcmp(argv[1], "block");
	if (n < 1 || n > MAX_THREADS || n_stacks < 1)
		return 2;
	for (int i = 0; i < n; i++) {
		visitors[i].first = (uint64_t)n_stacks * i / n;
		visitors[i].n_stacks = n_stacks;
		visitors[i].until = until;
		start_thread(visit_thread, &visitors[i], &visitors[i].thread);
	}
	for (int i = 0; i < n; i++)
		pthread_join(visitors[i].thread, NULL);
	print_truth(visitors, n);
	return 0;
}
