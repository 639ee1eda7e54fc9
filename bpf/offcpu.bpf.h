/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Off-CPU time. A thread's storage holds when it lost its CPU and when it was woken; the period is
 * counted when it runs again, with the stack it then has, which is the one it blocked with. So a
 * short period that no one asked for costs two timestamps, never a stack.
 *
 * Threads that are off when the recording starts or ends are met by task iterators: one stamps them
 * before the window opens, the other counts them after it has closed. off_at is taken by an atomic
 * exchange, so that a period is counted once.
 */
#ifndef BPF_OFFCPU_BPF_H
#define BPF_OFFCPU_BPF_H

#include "bpf/sample.bpf.h"

#define TASK_INTERRUPTIBLE   0x0001
#define TASK_UNINTERRUPTIBLE 0x0002
#define __TASK_STOPPED	     0x0004
#define __TASK_TRACED	     0x0008
#define TASK_DEAD	     0x0080
#define TASK_NOLOAD	     0x0400

static __always_inline u32 block_reason(u32 state, bool preempted)
{
	if (preempted || !state)
		return BF_REASON_PREEMPTED;
	if (state & (__TASK_STOPPED | __TASK_TRACED))
		return BF_REASON_STOPPED;
	if ((state & TASK_UNINTERRUPTIBLE) && !(state & TASK_NOLOAD))
		return BF_REASON_DISK;
	return BF_REASON_SLEEP;
}

static __always_inline u64 later(u64 a, u64 b)
{
	return a > b ? a : b;
}

static __always_inline u64 earlier(u64 a, u64 b)
{
	return a < b ? a : b;
}

/*
 * The scheduler charges CPU time by a clock that it reads before the switch, on a wake-up even
 * before an idle CPU is up: microseconds that make 5 % of a thread that blocks often. So that CPU
 * time plus off-CPU time is elapsed time, thread by thread, a period begins where the charged time
 * ends, if that is before the switch (the rest was charged to the next thread, or a hypervisor
 * stole it). If it is after, the thread was charged before it ran: that comes off its wait for the
 * CPU.
 */
static __always_inline void period_begin(struct thread *thread, struct task_struct *task, u64 now)
{
	u64 charged = thread->in_at + (task->se.sum_exec_runtime - thread->runtime);

	if (!thread->in_at)
		charged = now;
	thread->overcharged = charged > now ? charged - now : 0;
	thread->wake_at = 0;
	thread->off_at = earlier(charged, now);
}

static __always_inline void switch_out(void *ctx, struct task_struct *task, u32 state,
				       bool preempted, u64 now)
{
	struct thread *thread;
	struct scratch_stacks *stacks;

	if ((state & TASK_DEAD) || !wanted(task) || !on_wanted_cpu(bpf_get_smp_processor_id()))
		return;
	thread = thread_get(task);
	if (!thread)
		return;
	thread->reason = block_reason(state, preempted);
	if (config.capture_out) {
		stacks = scratch_get(SCRATCH_SWITCH);
		if (!stacks)
			return;
		capture_current(ctx, NULL, stacks);
		thread->kernel_stack = stacks->kernel.id;
		thread->user_stack = stacks->user.stack.id;
		publish_stacks(stacks);
	}
	period_begin(thread, task, now);
}

static __always_inline void wake(struct task_struct *task)
{
	struct thread *thread = thread_find(task);

	if (thread && thread->off_at)
		thread->wake_at = bpf_ktime_get_ns();
}

/* The part of an off-CPU period that lies in the window, cut at the wake-up. */
struct period {
	u64 blocked, queued; /* nanoseconds */
};

/*
 * Ends @thread's off-CPU period at @now. Returns whether it is to be counted.
 */
static __always_inline bool period_end(struct thread *thread, u64 now, struct period *period)
{
	u64 start = control.window_start, from, to, woken, length;

	from = __sync_lock_test_and_set(&thread->off_at, 0);
	if (!from || !start)
		return false;
	from = later(from, start);
	to = earlier(now, control.window_end);
	if (from >= to)
		return false;
	stat_add(BF_STAT_SWITCHES, 1);
	length = to - from;
	if (length < config.min_block || length > config.max_block)
		return false;
	woken = to;
	if (thread->wake_at)
		woken = earlier(later(thread->wake_at, from), to);
	period->queued = to - woken;
	period->blocked = woken - from;
	length = earlier(thread->overcharged, period->queued);
	period->queued -= length;
	period->blocked -= earlier(thread->overcharged - length, period->blocked);
	return true;
}

/* Returns whether the stacks may be new. */
static __always_inline bool count_period(struct task_struct *task, u32 reason,
					 const struct period *period, u64 kernel_stack,
					 u64 user_stack, u32 exec_id)
{
	struct bf_count_key key = {.kernel_stack = kernel_stack, .user_stack = user_stack};
	bool is_new = false;

	key_init(&key, task);
	key.exec_id = exec_id;
	if (period->blocked) {
		key.reason = reason;
		is_new |= count(&key, period->blocked);
	}
	if (period->queued) {
		key.reason = BF_REASON_RUNQUEUE;
		is_new |= count(&key, period->queued);
	}
	return is_new;
}

/*
 * @task runs again, since @at, when the scheduler had charged it for @runtime. It is current,
 * unless capture_out.
 */
static __always_inline void switch_in(void *ctx, struct task_struct *task, u64 at, u64 runtime)
{
	struct thread *thread;
	struct scratch_stacks *stacks;
	struct period period;

	if (!task->pid)
		return;
	thread = thread_find(task);
	if (!thread)
		return;
	/* Even if an iterator has counted the period: the next one begins after this. */
	thread->in_at = at;
	thread->runtime = runtime;
	if (!thread->off_at || !period_end(thread, at, &period))
		return;
	if (config.capture_out) {
		count_period(task, thread->reason, &period, thread->kernel_stack,
			     thread->user_stack, task->self_exec_id);
		return;
	}
	stacks = scratch_get(SCRATCH_SWITCH);
	if (!stacks)
		return;
	capture_current(ctx, NULL, stacks);
	if (count_period(task, thread->reason, &period, stacks->kernel.id, stacks->user.stack.id,
			 stacks->user.exec_id))
		publish_stacks(stacks);
}

/*
 * The hooks that run after a switch, as the thread that got the CPU. Not every switch is announced:
 * some threads of the host leave the CPU without a sched_switch.
 */
static __always_inline void switched(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct last_switch *last = last_switch();
	u64 at, runtime, charged = task->se.sum_exec_runtime;

	if (!last)
		return;
	at = last->at;
	runtime = last->runtime;
	/* Values to choose from, not addresses: the verifier allows one kind of pointer to a load.
	 */
	barrier_var(charged);
	barrier_var(runtime);
	if (last->tid != task->pid) {
		at = bpf_ktime_get_ns();
		runtime = charged;
	}
	switch_in(ctx, task, at, runtime);
}

/* A thread that is born waits for its first CPU. */
static __always_inline void thread_born(struct task_struct *task)
{
	struct thread *thread;

	if (!wanted(task) || !on_wanted_cpu(bpf_get_smp_processor_id()))
		return;
	thread = thread_get(task);
	if (!thread)
		return;
	thread->reason = BF_REASON_RUNQUEUE;
	thread->off_at = bpf_ktime_get_ns();
}

/* Both halves of the stack of a thread that is not running; the user half if @sleepable. */
static __always_inline void capture_blocked(struct task_struct *task, bool sleepable,
					    struct scratch_stacks *stacks)
{
	long bytes = 0;

	if (config.kernel_stacks)
		bytes = bpf_get_task_stack(task, stacks->kernel.frames,
					   sizeof stacks->kernel.frames, 0);
	finish_kernel(&stacks->kernel, bytes);
	stacks->user.stack.id = 0;
	stacks->user.exec_id = task->self_exec_id;
	if (!sleepable || !config.user_stacks || (task->flags & PF_KTHREAD))
		return;
	walk_begin_saved(&stacks->user.walk, task);
	unwind_blocked(&stacks->user, task);
	finish_user(&stacks->user, task, task);
}

/* A thread that was off its CPU before any program was attached. */
static __always_inline void stamp_blocked(struct task_struct *task, bool sleepable)
{
	u32 state = task_state(task);
	struct scratch_stacks *stacks;
	struct thread *thread;

	if ((state & TASK_DEAD) || task->on_cpu || !wanted(task) || !on_wanted_cpu(task_cpu(task)))
		return;
	thread = thread_get(task);
	if (!thread || thread->off_at)
		return;
	if (config.capture_out) {
		stacks = scratch_get(SCRATCH_ITERATOR);
		if (!stacks)
			return;
		capture_blocked(task, sleepable, stacks);
		publish_stacks(stacks);
		/* It may have run meanwhile: then what the switch left is right. */
		if (thread->off_at || task->on_cpu)
			return;
		thread->kernel_stack = stacks->kernel.id;
		thread->user_stack = stacks->user.stack.id;
	}
	thread->reason = block_reason(state, false);
	thread->off_at = bpf_ktime_get_ns();
}

#endif
