/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * left SECONDS: the first thread ends at once; another runs on, 10 ms of every 20. Truth: its CPU
 * time.
 */
#include "workload.h"

static uint64_t duration;

static MARKED void stay_behind(void)
{
	uint64_t start = wall_ns();

	while (wall_ns() - start < 10 * MILLISECOND)
		spin();
	sleep_ns(10 * MILLISECOND);
	KEEP_FRAME();
}

static void *stay(void *argument)
{
	uint64_t end = wall_ns() + duration;

	while (wall_ns() < end)
		stay_behind();
	printf("{\"cpu_ns\": %llu}\n", (unsigned long long)thread_cpu_ns());
	exit(0);
	return argument;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	duration = number_argument(argc, argv, 1, 1) * SECOND;
	start_thread(stay, NULL, &thread);
	pthread_exit(NULL);
}
