/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the programs themselves take, for those who have a budget: config.time_programs. The kernel's
 * own statistics would cost more than most programs, and others' programs as well. So one switch in
 * SWITCHES_TIMED is timed, and counts for all; of programs that run seldom, each run is. What
 * iterators take is CPU time of the loader, which has them run.
 */
#ifndef BPF_COST_BPF_H
#define BPF_COST_BPF_H

#define SWITCHES_TIMED 64     /* a power of two */
#define MOST_RUN_NS    100000 /* more is time of others that came in between */

/* A global function: the verifier proves it once. */
__noinline int timed_run_ends(u64 began, u32 weight)
{
	u64 took = bpf_ktime_get_ns() - began;

	stat_add(BF_STAT_PROGRAMS_NS, (took < MOST_RUN_NS ? took : MOST_RUN_NS) * weight);
	return 0;
}

/* Returns when a run began that is to be timed; 0: it is not. */
static __always_inline u64 run_begins(void)
{
	return config.time_programs ? bpf_ktime_get_ns() : 0;
}

/* @began: by run_begins(). */
static __always_inline void run_ends(u64 began)
{
	if (config.time_programs)
		timed_run_ends(began, 1);
}

/* The same for a switch; @at: a moment that is at hand, and differs from switch to switch. */
static __always_inline u64 switch_begins(u64 at)
{
	u64 began = 0;

	if (!config.time_programs)
		return 0;
	/* Multiplied, for the clock may be coarse (Knuth, TAOCP 6.4). */
	if ((u32)at * 0x9e3779b1 < (1ULL << 32) / SWITCHES_TIMED)
		began = bpf_ktime_get_ns();
	/* For the verifier, it is now one unknown number, and there are not two kinds of runs. */
	return began | *(volatile u64 *)&control.zero;
}

/* @began: by switch_begins(). */
static __always_inline void switch_ends(u64 began)
{
	if (config.time_programs && began)
		timed_run_ends(began, SWITCHES_TIMED);
}

#endif
