/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * measure FILE LIMIT COMMAND [ARG…]: runs COMMAND for at most LIMIT seconds, and writes the
 * resources that it used to FILE as JSON.
 *
 * A child's peak memory includes that before its exec, so a small program has to start it: a child
 * of an interpreter would never show less than the interpreter.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pid_t child;
static volatile sig_atomic_t gave_up;

static void give_up(int number)
{
	(void)number;
	gave_up = 1;
	kill(child, SIGKILL);
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

static double seconds(struct timeval time)
{
	return time.tv_sec + time.tv_usec / 1e6;
}

int main(int argc, char **argv)
{
	double start = now();
	struct rusage usage;
	int status;
	FILE *file;

	if (argc < 4)
		return 2;
	child = fork();
	if (child == 0) {
		execvp(argv[3], argv + 3);
		_exit(127);
	}
	signal(SIGALRM, give_up);
	signal(SIGTERM, give_up);
	alarm(atoi(argv[2]));
	while (wait4(child, &status, 0, &usage) != child)
		;
	file = fopen(argv[1], "w");
	if (!file)
		return 1;
	fprintf(file,
		"{\"wall\": %f, \"cpu\": %f, \"peak_rss\": %ld, \"status\": %d, "
		"\"gave_up\": %s}\n",
		now() - start, seconds(usage.ru_utime) + seconds(usage.ru_stime),
		usage.ru_maxrss * 1024, status, gave_up ? "true" : "false");
	return fclose(file) ? 1 : 0;
}
