/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * clones shared|forked MAPPINGS PROCESSES FILE SECONDS: a process with MAPPINGS executable mappings
 * of FILE, and PROCESSES more. "shared": they share its memory and exist from the start. "forked":
 * they are forked from it 2 s later and map one more each. They hardly run. Prints a line when
 * everything that exists at the start is there.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#define STACK_BYTES 8192

static int file;

static void map_code(void)
{
	if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0) == MAP_FAILED)
		exit(1);
}

static int live(void *context)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		for (volatile int i = 0; i < 200000; i++)
			;
		usleep(1000000);
	}
	return context != NULL;
}

static void start(int is_shared)
{
	if (is_shared) {
		char *stack = malloc(STACK_BYTES);

		if (!stack || clone(live, stack + STACK_BYTES, CLONE_VM | SIGCHLD, NULL) < 0)
			exit(1);
	} else if (fork() == 0) {
		map_code();
		live(NULL);
	}
}

int main(int argc, char **argv)
{
	int is_shared;

	if (argc != 6)
		return 2;
	is_shared = strcmp(argv[1], "shared") == 0;
	file = open(argv[4], O_RDONLY);
	for (int i = atoi(argv[2]); i > 0; i--)
		map_code();
	for (int i = is_shared ? atoi(argv[3]) : 0; i > 0; i--)
		start(1);
	puts("ready");
	fflush(stdout);
	alarm(atoi(argv[5]));
	sleep(is_shared ? 0 : 2);
	for (int i = is_shared ? 0 : atoi(argv[3]); i > 0; i--)
		start(0);
	pause();
	return 0;
}
