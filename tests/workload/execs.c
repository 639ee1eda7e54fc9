/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * execs [SECONDS [PROGRAM [ARG…]]]: burns SECONDS of CPU time in burn_before_exec(), then execs
 * PROGRAM, or itself to burn as much in burn_after_exec(). The process id stays the same.
 */
#include "workload.h"

#include <string.h>

#define AFTER "--after"

static MARKED void burn_before_exec(uint64_t until)
{
	do
		spin();
	while (thread_cpu_ns() < until);
}

static MARKED void burn_after_exec(uint64_t until)
{
	do
		spin();
	while (thread_cpu_ns() < until);
}

/* The CPU clock continues across exec. */
static void print_truth(double seconds)
{
	printf("{\"threads\": [{\"name\": \"execs\", \"tid\": %d, \"cpu_ns\": %ju}], \"pid\": %d, "
	       "\"before_seconds\": %.6f, \"after_seconds\": %.6f}\n",
	       getpid(), (uintmax_t)thread_cpu_ns(), getpid(), seconds, seconds);
}

int main(int argc, char **argv)
{
	double seconds;

	if (argc > 2 && !strcmp(argv[1], AFTER)) {
		seconds = number_argument(argc, argv, 2, 1);
		burn_after_exec(thread_cpu_ns() + seconds * SECOND);
		print_truth(seconds);
		return 0;
	}
	seconds = number_argument(argc, argv, 1, 1);
	burn_before_exec(thread_cpu_ns() + seconds * SECOND);
	if (argc > 2) {
		execvp(argv[2], argv + 2);
	} else {
		char text[32];

		snprintf(text, sizeof(text), "%f", seconds);
		execl("/proc/self/exe", argv[0], AFTER, text, NULL);
	}
	perror("exec");
	return 1;
}
