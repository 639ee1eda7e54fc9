/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/unseen.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/budgets.h"
#include "base/foreign.h"
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

/* Whether the user of process @pid keeps us waiting for others, too. */
static bool may_ask(struct budgets *budgets, uint32_t pid)
{
	return !budgets->n_hung || budgets_may_ask(budgets, budgets_of_process(budgets, pid));
}

/* The processes that are read, and how. */
struct unseen_scan {
	struct budgets budgets;
	uint32_t pids[FOREIGN_MAX_STATS]; /* still to read */
	size_t n_pids;
	struct unseen_process *processes;
	size_t n, capacity;
};

static int add_process(struct unseen_scan *scan, const struct process_stat *stat)
{
	struct unseen_process process = {.pid = stat->pid,
					 .start_ns = stat->start_ns,
					 .cpu_ns = stat->cpu_ns,
					 .n_threads = stat->n_threads};

	memcpy(process.comm, stat->comm, sizeof stat->comm);
	return array_add(scan->processes, scan->capacity, scan->n, process);
}

/* One that does not answer is found by asking each by itself. */
static void read_each(struct unseen_scan *scan, struct process_stat *ret)
{
	for (size_t i = 0; i < scan->n_pids; i++) {
		uint32_t pid = scan->pids[i];

		if (may_ask(&scan->budgets, pid) && foreign_read_stat(pid, &ret[i]) == -ETIMEDOUT)
			budgets_hang(&scan->budgets, pid);
	}
}

/* Errors: -ENOMEM; an ended process is no error. */
static int read_some(struct unseen_scan *scan)
{
	struct process_stat stats[FOREIGN_MAX_STATS];

	if (foreign_read_stats(scan->pids, scan->n_pids, stats) < 0)
		read_each(scan, stats);
	for (size_t i = 0; i < scan->n_pids; i++) {
		int r = stats[i].pid ? add_process(scan, &stats[i]) : 0;

		if (r < 0)
			return r;
	}
	scan->n_pids = 0;
	return 0;
}

static int read_process(struct unseen_scan *scan, uint32_t pid)
{
	scan->pids[scan->n_pids++] = pid;
	return scan->n_pids == FOREIGN_MAX_STATS ? read_some(scan) : 0;
}

static int read_proc(struct unseen_scan *scan)
{
	DIR *proc = opendir("/proc");
	const struct dirent *entry;
	int r = 0;

	if (!proc)
		return -errno;
	while (r == 0 && (entry = readdir(proc)))
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
			r = read_process(scan, strtoul(entry->d_name, NULL, 10));
	closedir(proc);
	return r;
}

/* All processes, unless there are @pids. */
static int read_all(struct unseen_scan *scan, const uint32_t *pids, size_t n_pids)
{
	int r = n_pids ? 0 : read_proc(scan);

	if (r < 0)
		return r;
	for (size_t i = 0; i < n_pids; i++) {
		r = read_process(scan, pids[i]);
		if (r < 0)
			return r;
	}
	return read_some(scan);
}

static int read_processes(const uint32_t *pids, size_t n_pids, struct unseen_process **ret,
			  size_t *ret_n)
{
	struct unseen_scan scan = {};
	int r = read_all(&scan, pids, n_pids);

	budgets_done(&scan.budgets);
	if (r < 0) {
		free(scan.processes);
		return r;
	}
	if (scan.n)
		qsort(scan.processes, scan.n, sizeof *scan.processes, compare_pids);
	*ret = scan.processes;
	*ret_n = scan.n;
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
	if (r < 0)
		return r;
	for (size_t i = 0; i < unseen->n; i++) {
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
	return 0;
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

	for (size_t i = 0; i < profile->n_samples; i++) {
		const struct profile_sample *sample = &profile->samples[i];
		struct unseen_process *process =
			find_process(unseen->processes, unseen->n, sample->pid);

		if (process)
			process->n_samples += sample->count;
	}
	if (ended_ns && unseen->n) {
		int r = add_ended(unseen, profile, ended_ns);

		if (r < 0)
			return r;
	}
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
	return 0;
}

void unseen_done(struct unseen *unseen)
{
	free(unseen->before);
	free(unseen->processes);
	*unseen = (struct unseen){};
}
