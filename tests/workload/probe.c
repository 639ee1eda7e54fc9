/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * probe [FILE]: prints what a process inherits from whoever starts it, one item per line, to FILE
 * or standard output. Two programs that inherit the same print the same: process ids are printed
 * only in relation to the parent's.
 */
#include "workload.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

extern char **environ;

/* Runs before anything is opened, so that it lists only inherited descriptors. */
static void print_descriptors(char *text, size_t size)
{
	size_t n = 0;

	for (int fd = 0; fd < 1024; fd++) {
		char path[64], target[256] = "";
		int flags = fcntl(fd, F_GETFL);

		if (flags < 0)
			continue;
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		if (readlink(path, target, sizeof(target) - 1) < 0)
			strcpy(target, "?");
		if (n < size)
			n += snprintf(text + n, size - n, "descriptor %d: %s flags %o\n", fd,
				      target, flags);
	}
}

/*
 * Prints the lines of a file that begin with one of @wanted, which ends in NULL; all lines if it is
 * empty.
 */
static void tell_lines(FILE *out, const char *path, const char *const *wanted)
{
	char line[4096];
	FILE *file = fopen(path, "r");

	if (!file) {
		fprintf(out, "%s: %s\n", path, strerror(errno));
		return;
	}
	while (fgets(line, sizeof(line), file)) {
		for (const char *const *word = wanted; word && *word; word++)
			if (!strncmp(line, *word, strlen(*word)))
				fprintf(out, "%s: %s", path, line);
		if (!wanted)
			fprintf(out, "%s: %s", path, line);
	}
	fclose(file);
}

static void print_relations(FILE *out)
{
	pid_t parent = getppid();
	int terminal = open("/dev/tty", O_RDWR);

	fprintf(out, "group is the parent's: %d\n", getpgrp() == getpgid(parent));
	fprintf(out, "session is the parent's: %d\n", getsid(0) == getsid(parent));
	fprintf(out, "terminal: %d\n", terminal >= 0);
	if (terminal >= 0)
		fprintf(out, "in the foreground: %d\n", tcgetpgrp(terminal) == getpgrp());
}

static void print_scheduling(FILE *out)
{
	struct sched_param parameters = {0};
	cpu_set_t cpus;

	fprintf(out, "nice: %d\n", getpriority(PRIO_PROCESS, 0));
	fprintf(out, "policy: %d\n", sched_getscheduler(0));
	sched_getparam(0, &parameters);
	fprintf(out, "priority: %d\n", parameters.sched_priority);
	fprintf(out, "io priority: %ld\n", syscall(SYS_ioprio_get, 1, 0));
	fprintf(out, "timer slack: %d\n", prctl(PR_GET_TIMERSLACK));
	sched_getaffinity(0, sizeof(cpus), &cpus);
	fprintf(out, "CPUs: %d\n", CPU_COUNT(&cpus));
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void print_environment(FILE *out)
{
	size_t n = 0;

	while (environ[n])
		n++;
	qsort(environ, n, sizeof(*environ), by_text);
	for (size_t i = 0; i < n; i++)
		fprintf(out, "environment: %s\n", environ[i]);
}

int main(int argc, char **argv)
{
	static const char *const status[] = {
		"Uid:",	   "Gid:",    "Groups:", "SigBlk:", "SigIgn:", "SigCgt:",
		"CapInh:", "CapPrm:", "CapEff:", "CapBnd:", "CapAmb:", "Seccomp",
		"NoNewPr", "Threads", "Umask:",	 NULL};
	static char descriptors[1 << 16];
	char folder[4096];
	FILE *out = stdout;

	print_descriptors(descriptors, sizeof(descriptors));
	if (argc > 1)
		out = fopen(argv[1], "w");
	if (!out)
		return 1;
	fputs(descriptors, out);
	fprintf(out, "folder: %s\n", getcwd(folder, sizeof(folder)) ? folder : "?");
	tell_lines(out, "/proc/self/status", status);
	tell_lines(out, "/proc/self/limits", NULL);
	tell_lines(out, "/proc/self/oom_score_adj", NULL);
	tell_lines(out, "/proc/self/cgroup", NULL);
	tell_lines(out, "/proc/self/loginuid", NULL);
	tell_lines(out, "/proc/self/coredump_filter", NULL);
	print_relations(out);
	print_scheduling(out);
	print_environment(out);
	return fclose(out) ? 1 : 0;
}
