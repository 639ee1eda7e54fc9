/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What is kept of each thread between its switches, and the clock by which it is kept.
 */
#ifndef BPF_THREAD_BPF_H
#define BPF_THREAD_BPF_H

#include "bpf/sample.bpf.h"

static __always_inline u64 later(u64 a, u64 b)
{
	return a > b ? a : b;
}

static __always_inline u64 earlier(u64 a, u64 b)
{
	return a < b ? a : b;
}

/* The scheduler's clock can't be read, but is known from CLOCK_MONOTONIC within a microsecond. */
static __always_inline u64 scheduler_now(void)
{
	return bpf_ktime_get_ns() - control.clock_offset;
}

static __always_inline struct thread *thread_find(struct task_struct *task)
{
	return bpf_task_storage_get(&threads, task, 0, 0);
}

/* The thread if its periods are measured; new ones are zero. */
static __always_inline struct thread *thread_get(struct task_struct *task)
{
	struct thread *thread;

	if (config.by_pid || config.by_tid || config.by_cgroup) {
		thread = thread_find(task);
		if (thread || !measured(task))
			return thread;
	}
	thread = bpf_task_storage_get(&threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!thread)
		stat_add(BF_STAT_STORAGE_FAILED, 1);
	return thread;
}

/*
 * The CPU time @task had been charged as it got its CPU just now: a tick may have come since. The
 * fair class keeps it; a thread of another is in none of its run queues.
 */
static __always_inline u64 runtime_at_switch(struct task_struct *task)
{
	return task->se.on_rq ? task->se.prev_sum_exec_runtime : task->se.sum_exec_runtime;
}

/*
 * How long a thread has been off since it was at @in_at, if it was charged @runtime by now. May be
 * negative: it runs.
 */
static __always_inline u64 off_for(const struct thread *thread, u64 in_at, u64 now, u64 runtime)
{
	return now - in_at - (runtime - thread->runtime);
}

#endif
