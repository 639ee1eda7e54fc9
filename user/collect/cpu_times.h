/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cpu_times: the exact CPU time of each thread in a --wall recording, and its distribution over
 * samples of the thread, or of a similar one.
 */
#ifndef COLLECT_CPU_TIMES_H
#define COLLECT_CPU_TIMES_H

#include "bpf/wire.h"
#include "core/profile.h"

struct cpu_times {
	struct cpu_time *items;
	size_t n, capacity;
	struct table by_thread;
};

void cpu_times_done(struct cpu_times *cpu_times);

/*
 * Adds a row of BF_REASON_RUNTIME. @executable: any number that identifies it; 0: unknown. Errors:
 * -ENOMEM.
 */
int cpu_times_add(struct cpu_times *cpu_times, const struct bf_count_key *key, uint64_t executable,
		  uint64_t nanoseconds);

/*
 * Gives the samples of REASON_ONCPU their time. A thread that was never sampled gets the stack of
 * one with the same command and executable, with the frequency of each stack; if there is none, a
 * sample without a stack, STACK_UNSAMPLED. Errors: -ENOMEM, -E2BIG.
 */
int cpu_times_distribute(struct cpu_times *cpu_times, struct profile *profile);

#endif
