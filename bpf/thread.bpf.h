/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The state of each thread between its switches, and its clock. */
#ifndef BPF_THREAD_BPF_H
#define BPF_THREAD_BPF_H

#include "bpf/sample.bpf.h"
#include "bpf/window.bpf.h"

static __always_inline u64 later(u64 a, u64 b)
{
	return a > b ? a : b;
}

static __always_inline u64 earlier(u64 a, u64 b)
{
	return a < b ? a : b;
}

/* The scheduler's clock can't be read, but follows from CLOCK_MONOTONIC within a microsecond. */
static __always_inline u64 scheduler_now(void)
{
	return bpf_ktime_get_ns() - control.clock_offset;
}

/* Switches are not measured (polling.bpf.h). */
static __always_inline bool is_polling(void)
{
	return config.ends_at_free && control.at_switches & BF_SWITCHES_REST;
}

static __always_inline struct thread *thread_find(struct task_struct *task)
{
	return bpf_task_storage_get(&threads, task, 0, 0);
}

/* Call while there are ids: a reaped task has none. */
static __always_inline void thread_keep_ids(struct thread *thread, struct task_struct *task)
{
	if (!config.in_pid_namespace)
		return;
	thread->pid = process_id(task);
	thread->tid = thread_id(task);
}

static __always_inline void key_keep_ids(struct bf_count_key *key, const struct thread *thread)
{
	if (!config.in_pid_namespace)
		return;
	if (!key->pid)
		key->pid = thread->pid;
	if (!key->tid && config.keep_tid)
		key->tid = thread->tid;
}

static __always_inline bool in_recording(u64 now)
{
	return control.switch_start && now >= control.switch_start && now < control.switch_end;
}

/*
 * The thread, if its periods are measured; new ones are zero. NULL without memory, and while this
 * CPU is inside another task's storage, where an iterator can be preempted; before the recording
 * that loses nothing, since the iterator visits all.
 */
static __always_inline struct thread *thread_get(struct task_struct *task)
{
	struct thread *thread;

	if (config.by_pid || config.by_tid || config.by_cgroup || config.in_pid_namespace) {
		thread = thread_find(task);
		if (thread || !(config.holds_queue ? has_wanted_id(task) : measured(task)))
			return thread;
	}
	thread = bpf_task_storage_get(&threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!thread && in_recording(scheduler_now()))
		stat_add(BF_STAT_STORAGE_FAILED, 1);
	return thread;
}

/*
 * The same at a switch. The holder of a run queue must not allocate, since the kernel may wake a
 * thread to get memory: the storage was made when the thread was born or visited by the iterator,
 * even if it enters the cgroup only later.
 */
static __always_inline struct thread *thread_switched(struct task_struct *task)
{
	return config.holds_queue ? thread_find(task) : thread_get(task);
}

/*
 * The CPU time charged to @task when it just got its CPU: a tick may have come since. The fair
 * class keeps it; a thread of another class is in none of its run queues.
 */
static __always_inline u64 runtime_at_switch(struct task_struct *task)
{
	return task->se.on_rq ? task->se.prev_sum_exec_runtime : task->se.sum_exec_runtime;
}

/*
 * How long a thread has been off since @in_at, if it was charged @runtime by now. Negative if it
 * runs.
 */
static __always_inline u64 off_for(const struct thread *thread, u64 in_at, u64 now, u64 runtime)
{
	return now - in_at - (runtime - thread->runtime);
}

/* The time in earlier windows of the current, or just ended, period since @in_at. */
static __always_inline u64 counted_before(const struct thread *thread, u64 in_at)
{
	return config.every && thread->moved_to == in_at ? thread->before : 0;
}

/*
 * From here on the thread's sums belong to @window. The old values are kept for the iterator, which
 * comes later. The sums are first: the iterator reads in the opposite order.
 */
static __always_inline void enter_window(struct thread *thread, u64 window)
{
	if (!config.every || (s32)((u32)window - thread->window) <= 0)
		return;
	thread->off_before = thread->off;
	thread->residue_before = stretch_residue(&thread->stretch);
	barrier();
	*(volatile u32 *)&thread->window = window;
	barrier();
}

/* Whether the thread has sums of a window after the closing one. */
static __always_inline bool has_left(const struct thread *thread)
{
	return config.every &&
	       (s32)(*(volatile u32 *)&thread->window - (u32)control.close_window) > 0;
}

#endif
