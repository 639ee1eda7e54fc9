/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/unseen.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/process_stat.h"
#include "base/system.h"

#define LEAST_EXPECTED 20  /* samples: fewer say nothing */
#define LEAST_SHARE    0.8 /* of what is expected: steal and rounding take less */
#define MOST_SIGMAS    5.0

static int compare_pids(const void *a, const void *b)
{
	uint32_t pid_a = ((const struct unseen_process *)a)->pid;
	uint32_t pid_b = ((const struct unseen_process *)b)->pid;

	return pid_a < pid_b ? -1 : pid_a > pid_b;
}

/* Errors: -ENOMEM; an ended process is no error. */
static int add_process(uint32_t pid, struct unseen_process **processes, size_t *n, size_t *capacity)
{
	struct process_stat stat;
	int r;

	if (process_stat_read(pid, &stat) < 0)
		return 0;
	r = array_reserve(*processes, *capacity, *n, 1);
	if (r < 0)
		return r;
	(*processes)[*n] = (struct unseen_process){.pid = pid,
						   .start_ns = stat.start_ns,
						   .cpu_ns = stat.cpu_ns,
						   .n_threads = stat.n_threads};
	memcpy((*processes)[*n].comm, stat.comm, sizeof stat.comm);
	++*n;
	return 0;
}

static int read_processes(const uint32_t *pids, size_t n_pids, struct unseen_process **ret,
			  size_t *ret_n)
{
	struct unseen_process *processes = NULL;
	DIR *proc = n_pids ? NULL : opendir("/proc");
	int r = n_pids || proc ? 0 : -errno;
	size_t n = 0, capacity = 0;
	struct dirent *entry;

	while (proc && r == 0 && (entry = readdir(proc)))
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
			r = add_process(strtoul(entry->d_name, NULL, 10), &processes, &n,
					&capacity);
	for (size_t i = 0; i < n_pids && r == 0; i++)
		r = add_process(pids[i], &processes, &n, &capacity);
	if (proc)
		closedir(proc);
	if (r < 0) {
		free(processes);
		return r;
	}
	if (n)
		qsort(processes, n, sizeof *processes, compare_pids);
	*ret = processes;
	*ret_n = n;
	return 0;
}

int unseen_begin(struct unseen *unseen, const uint32_t *pids, size_t n_pids)
{
	unseen->began_ns = monotonic_ns();
	return read_processes(pids, n_pids, &unseen->before, &unseen->n_before);
}

static struct unseen_process *find_process(struct unseen_process *processes, size_t n, uint32_t pid)
{
	const struct unseen_process key = {.pid = pid};

	return n ? bsearch(&key, processes, n, sizeof key, compare_pids) : NULL;
}

int unseen_end(struct unseen *unseen, const uint32_t *pids, size_t n_pids)
{
	int r = unseen->before ? read_processes(pids, n_pids, &unseen->processes, &unseen->n)
			       : -ENOENT;

	unseen->ended_ns = monotonic_ns();
	for (size_t i = 0; i < unseen->n && r == 0; i++) {
		struct unseen_process *process = &unseen->processes[i];
		const struct unseen_process *before =
			find_process(unseen->before, unseen->n_before, process->pid);

		if (!before || before->start_ns != process->start_ns)
			continue;
		process->cpu_ns -=
			before->cpu_ns < process->cpu_ns ? before->cpu_ns : process->cpu_ns;
		if (before->n_threads > process->n_threads)
			process->n_threads = before->n_threads;
	}
	return r;
}

/* Samples of a time are at most as variable as Poisson's: with equal mean and variance. */
static bool is_unseen(const struct unseen_process *process)
{
	double expected = process->n_expected;

	return expected >= LEAST_EXPECTED && process->n_samples < LEAST_SHARE * expected &&
	       process->n_samples < expected - MOST_SIGMAS * sqrt(expected);
}

static int compare_missing(const void *a, const void *b)
{
	const struct unseen_process *of_a = a, *of_b = b;
	uint64_t missing_a = of_a->n_expected - of_a->n_samples;
	uint64_t missing_b = of_b->n_expected - of_b->n_samples;

	return missing_a > missing_b ? -1 : missing_a < missing_b;
}

/* The most CPU time that @process can have used in @outside_ns: all of its threads ran. */
static uint64_t most_used(const struct unseen_process *process, uint64_t outside_ns)
{
	uint64_t n_cpus = sysconf(_SC_NPROCESSORS_ONLN);

	return outside_ns * (process->n_threads < n_cpus ? process->n_threads : n_cpus);
}

/* Adds those that have ended, as one with pid 0, after the others. */
static int add_ended(struct unseen *unseen, const struct profile *profile, uint64_t ended_ns)
{
	struct unseen_process ended = {.comm = "[ended]", .cpu_ns = ended_ns};
	struct unseen_process *grown;

	for (size_t i = 0; i < profile->n_samples; i++) {
		const struct profile_sample *sample = &profile->samples[i];

		if (sample->pid && !find_process(unseen->processes, unseen->n, sample->pid) &&
		    !find_process(unseen->before, unseen->n_before, sample->pid))
			ended.n_samples += sample->count;
	}
	grown = reallocarray(unseen->processes, unseen->n + 1, sizeof *grown);
	if (!grown)
		return -ENOMEM;
	unseen->processes = grown;
	unseen->processes[unseen->n++] = ended;
	return 0;
}

int unseen_judge(struct unseen *unseen, const struct profile *profile, unsigned int frequency,
		 uint64_t ended_ns)
{
	uint64_t length = unseen->ended_ns - unseen->began_ns;
	uint64_t outside_ns = length > profile->duration_ns ? length - profile->duration_ns : 0;
	size_t n = 0;
	int r = 0;

	for (size_t i = 0; i < profile->n_samples; i++) {
		const struct profile_sample *sample = &profile->samples[i];
		struct unseen_process *process =
			find_process(unseen->processes, unseen->n, sample->pid);

		if (process)
			process->n_samples += sample->count;
	}
	if (ended_ns && unseen->n)
		r = add_ended(unseen, profile, ended_ns);
	for (size_t i = 0; i < unseen->n; i++) {
		struct unseen_process *process = &unseen->processes[i];
		uint64_t outside = process->pid ? most_used(process, outside_ns) : 0;

		process->cpu_ns -= process->cpu_ns < outside ? process->cpu_ns : outside;
		process->n_expected = process->cpu_ns / 1e9 * frequency;
		if (is_unseen(process))
			unseen->processes[n++] = *process;
	}
	unseen->n = n;
	if (n)
		qsort(unseen->processes, n, sizeof *unseen->processes, compare_missing);
	return r;
}

void unseen_done(struct unseen *unseen)
{
	free(unseen->before);
	free(unseen->processes);
	*unseen = (struct unseen){};
}
