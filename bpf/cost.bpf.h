/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the programs themselves take, for those who have a budget: config.time_programs. The kernel's
 * own statistics would cost more than most programs, and others' programs as well. So one switch in
 * SWITCHES_TIMED is timed, and counts for all; of programs that run seldom, each run is.
 */
#ifndef BPF_COST_BPF_H
#define BPF_COST_BPF_H

#define SWITCHES_TIMED 64     /* a power of two */
#define MOST_RUN_NS    100000 /* more is time of others that came in between */

/* Global functions, so that the verifier sees one unknown number, and not two kinds of runs. */
__noinline u64 timed_run_begins(u32 number)
{
	return number % SWITCHES_TIMED ? 0 : bpf_ktime_get_ns();
}

__noinline int timed_run_ends(u64 began, u32 weight)
{
	u64 took;

	if (!began)
		return 0;
	took = bpf_ktime_get_ns() - began;
	stat_add(BF_STAT_PROGRAMS_NS, (took < MOST_RUN_NS ? took : MOST_RUN_NS) * weight);
	return 0;
}

/* Returns when a run began that is to be timed; 0: it is not. */
static __always_inline u64 run_begins(u32 number)
{
	return config.time_programs ? timed_run_begins(number) : 0;
}

/* @began: by run_begins(); the run counts for @weight of them. */
static __always_inline void run_ends(u64 began, u32 weight)
{
	if (config.time_programs)
		timed_run_ends(began, weight);
}

/* By its id, threads with few switches are not all timed at the same one. */
static __always_inline u64 switch_begins(void)
{
	struct task_struct *task;

	if (!config.time_programs)
		return 0;
	task = bpf_get_current_task_btf();
	return timed_run_begins(task->nvcsw + task->nivcsw + task->pid);
}

#endif
