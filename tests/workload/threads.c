/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * threads [SECONDS [THREADS]]: THREADS (10 000) threads that sleep in sleep_long() from start to
 * end, plus the main one. Their stacks share one mapping, because a process can have only 65 530.
 */
#include "workload.h"

#include <sys/mman.h>

#define STACK_SIZE (32 << 10)

static MARKED void sleep_long(void)
{
	for (;;)
		pause();
}

static void *sleeper_thread(void *argument)
{
	sleep_long();
	return argument;
}

int main(int argc, char **argv)
{
	double seconds = number_argument(argc, argv, 1, 10);
	int n = number_argument(argc, argv, 2, 10000), started;
	uint64_t start = wall_ns();
	pthread_attr_t attributes;
	pthread_t thread;
	char *stacks;

	pthread_attr_init(&attributes);
	stacks = mmap(NULL, (size_t)n * STACK_SIZE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (stacks == MAP_FAILED || madvise(stacks, (size_t)n * STACK_SIZE, MADV_NOHUGEPAGE))
		return 1;
	for (started = 0; started < n; started++) {
		pthread_attr_setstack(&attributes, stacks + (size_t)started * STACK_SIZE,
				      STACK_SIZE);
		if (pthread_create(&thread, &attributes, sleeper_thread, NULL))
			break;
	}
	sleep_ns(seconds * SECOND);
	printf("{\"threads\": [], \"pid\": %d, \"sleeping\": %d, \"elapsed_ns\": %ju}\n", getpid(),
	       started, (uintmax_t)(wall_ns() - start));
	fflush(stdout);
	_exit(started == n ? 0 : 1);
}
