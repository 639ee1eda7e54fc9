/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nofp_musl SECONDS: typical work in musl, whose code has no call frame information. Each thread
 * repeatedly calls one function: musl-sort a callback of qsort(), musl-print snprintf(), musl-copy
 * memmove() and malloc(), musl-signal a signal handler; musl-sleep, musl-poll and musl-lock wait
 * about a millisecond each time. The main thread, musl-main, does some of it, too.
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define KEPT __attribute__((noinline, noclone))
#define MANY 64

static volatile unsigned int sink;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static time_t until;

static int is_over(void)
{
	return time(NULL) >= until;
}

KEPT int compare(const void *a, const void *b)
{
	for (int i = 0; i < 2000; i++)
		sink++;
	return *(const int *)a - *(const int *)b;
}

KEPT void sort(void)
{
	int numbers[MANY];

	for (int i = 0; i < MANY; i++)
		numbers[i] = rand();
	qsort(numbers, MANY, sizeof *numbers, compare);
	sink += numbers[0];
}

KEPT void print(void)
{
	char text[512];

	for (int i = 0; i < MANY; i++)
		sink += snprintf(text, sizeof text, "%s %.20g %d", "text", sink * 1.1e200 / 3, i);
}

KEPT void copy(void)
{
	static char bytes[1 << 20];
	char *blocks[MANY];

	memset(bytes, sink, sizeof bytes);
	memmove(bytes + 1, bytes, sizeof bytes - 1);
	for (int i = 0; i < MANY; i++)
		blocks[i] = malloc(100 + i * 50);
	for (int i = 0; i < MANY; i++)
		free(blocks[i]);
	sink += bytes[sink % sizeof bytes];
}

KEPT void handle(int number)
{
	for (int i = 0; i < 1000000; i++)
		sink++;
}

KEPT void interrupt(void)
{
	raise(SIGUSR1);
	sink++;
}

KEPT void nap(void)
{
	usleep(1000);
	sink++;
}

KEPT void wait_for_nothing(void)
{
	poll(NULL, 0, 1);
	sink++;
}

KEPT void take_turns(void)
{
	pthread_mutex_lock(&lock);
	usleep(500);
	pthread_mutex_unlock(&lock);
	sink++;
}

struct job {
	const char *name;
	void (*call)(void);
};

KEPT void *work(void *argument)
{
	const struct job *job = argument;

	prctl(PR_SET_NAME, job->name);
	while (!is_over())
		job->call();
	return NULL;
}

int main(int argc, char **argv)
{
	static struct job jobs[] = {
		{"musl-sort", sort},
		{"musl-print", print},
		{"musl-copy", copy},
		{"musl-sleep", nap},
		{"musl-poll", wait_for_nothing},
		{"musl-signal", interrupt},
		{"musl-lock", take_turns},
		{"musl-lock", take_turns},
	};
	enum { N_JOBS = sizeof jobs / sizeof *jobs };
	pthread_t threads[N_JOBS];

	until = time(NULL) + (argc > 1 ? atoi(argv[1]) : 10);
	signal(SIGUSR1, handle);
	prctl(PR_SET_NAME, "musl-main");
	for (int i = 0; i < N_JOBS; i++)
		pthread_create(&threads[i], NULL, work, &jobs[i]);
	while (!is_over()) {
		sort();
		nap();
	}
	for (int i = 0; i < N_JOBS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
