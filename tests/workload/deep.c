/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * deep KILOBYTES MILLISECONDS: a thread with this much of its stack in use burns this much CPU
 * time.
 */
#include "workload.h"

static struct {
	size_t bytes;
	uint64_t cpu_ns;
} wanted;

static MARKED void deep_burn(void)
{
	uint64_t until = thread_cpu_ns() + wanted.cpu_ns;

	while (thread_cpu_ns() < until)
		;
}

/* Four frames of equal size, of which little is touched. */
static MARKED void deep_frame(int left)
{
	volatile char *room = __builtin_alloca(wanted.bytes / 4);

	room[0] = left;
	if (left > 1)
		deep_frame(left - 1);
	else
		deep_burn();
	KEEP_FRAME();
}

static void *deep_thread(void *argument)
{
	deep_frame(4);
	return argument;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	wanted.bytes = number_argument(argc, argv, 1, 40) * 1024;
	wanted.cpu_ns = number_argument(argc, argv, 2, 10) * MILLISECOND;
	start_thread(deep_thread, NULL, &thread);
	pthread_join(thread, NULL);
	return 0;
}
