/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the programs themselves take, for those who have a budget. The kernel's own statistics would
 * cost more than most programs, and others' programs as well. So one switch in SWITCHES_TIMED is
 * timed, and counts for all; of programs that run seldom, each run is.
 *
 * Global functions, so that the verifier sees one unknown number, and not two kinds of runs.
 */
#ifndef BPF_COST_BPF_H
#define BPF_COST_BPF_H

#define SWITCHES_TIMED 64     /* a power of two */
#define MOST_RUN_NS    100000 /* more is time of others that came in between */

/* Returns when a run began that is to be timed; 0: it is not. */
__noinline u64 run_begins(u32 number)
{
	return number % SWITCHES_TIMED ? 0 : bpf_ktime_get_ns();
}

/* @began: by run_begins(); the run counts for @weight of them. */
__noinline int run_ends(u64 began, u32 weight)
{
	u64 took;

	if (!began)
		return 0;
	took = bpf_ktime_get_ns() - began;
	stat_add(BF_STAT_PROGRAMS_NS, (took < MOST_RUN_NS ? took : MOST_RUN_NS) * weight);
	return 0;
}

/* By its id, threads with few switches are not all timed at the same one. */
static __always_inline u64 switch_begins(struct task_struct *task)
{
	return run_begins(task->nvcsw + task->nivcsw + task->pid);
}

#endif
