/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * unseen: holds samples against the scheduler's own books. A process that ran for longer than its
 * samples say sleeps at each tick, by design or by chance, or somebody took the time: the summary
 * says so, and no program can hide from a recording without a word.
 *
 * Processes are those of /proc that live from one look to the other, or were born in between. Their
 * CPU time is known to a clock tick (10 ms).
 */
#ifndef RECORD_UNSEEN_H
#define RECORD_UNSEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/profile.h"

#define UNSEEN_COMM_SIZE 64 /* kernel threads have long names */

struct unseen_process {
	uint32_t pid;
	char comm[UNSEEN_COMM_SIZE];
	uint64_t start_ticks; /* after boot; with pid names one process */
	uint64_t cpu_ns;      /* that it used between both looks */
	uint64_t n_samples, n_expected;
};

struct unseen {
	struct unseen_process *before; /* by pid: with the CPU time they had used until then */
	size_t n_before;
	struct unseen_process *processes; /* after unseen_judge(): the worst first */
	size_t n;
};

/*
 * Notes what each of @n_pids processes (0: of all) has used so far. Errors: -errno; then nothing is
 * judged.
 */
int unseen_begin(struct unseen *unseen, const uint32_t *pids, size_t n_pids);

/* Notes what each has used since. Errors: as above. */
int unseen_end(struct unseen *unseen, const uint32_t *pids, size_t n_pids);

/*
 * Keeps those whose samples, at @frequency a second of CPU time, are fewer than chance explains.
 * @profile: on-CPU, of the whole time between both looks, of all CPUs and threads.
 */
void unseen_judge(struct unseen *unseen, const struct profile *profile, unsigned int frequency);

void unseen_done(struct unseen *unseen);

#endif
