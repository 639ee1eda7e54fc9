/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * unseen: compares samples with the scheduler's own books. If a process ran for longer than its
 * samples show, it sleeps at each tick, by design or by chance, or somebody took the time. The
 * summary says so: no program can hide from a recording unnoticed.
 *
 * Processes are those of /proc that live from one reading to the other, or were born in between.
 * Their CPU time is known to a clock tick (10 ms). Those that were born and ended in between are
 * judged together: otherwise, who forks often enough is in no reading.
 */
#ifndef RECORD_UNSEEN_H
#define RECORD_UNSEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/process_stat.h"
#include "core/profile.h"

struct unseen_process {
	uint32_t pid; /* 0: all that have ended */
	char comm[PROCESS_COMM_SIZE];
	uint64_t start_ns;  /* as process_stat has it */
	uint64_t cpu_ns;    /* used between both readings; once judged, at least in the window */
	uint32_t n_threads; /* at the reading that had more */
	uint64_t n_samples, n_expected;
};

struct unseen {
	uint64_t began_ns, ended_ns;   /* the readings: before the first, after the second */
	struct unseen_process *before; /* by pid: with the CPU time used until then */
	size_t n_before;
	struct unseen_process *processes; /* after unseen_judge(): worst first */
	size_t n;
};

/*
 * Notes the CPU time of each of @n_pids processes (0: of all) so far. Errors: -errno; then nothing
 * is judged.
 */
int unseen_begin(struct unseen *unseen, const uint32_t *pids, size_t n_pids);

/* Notes the CPU time used since. Errors: as above. */
int unseen_end(struct unseen *unseen, const uint32_t *pids, size_t n_pids);

/*
 * Keeps those with fewer samples, at @frequency per second of CPU time, than chance explains.
 * @profile: on-CPU, of a window that lies between both readings, of all CPUs and threads. What a
 * process may have used outside the window, on a slow machine, is not held against it. @ended_ns:
 * the CPU time of all processes that were born and ended in the window; 0: unknown. Errors:
 * -ENOMEM, then those are not judged.
 */
int unseen_judge(struct unseen *unseen, const struct profile *profile, unsigned int frequency,
		 uint64_t ended_ns);

void unseen_done(struct unseen *unseen);

#endif
