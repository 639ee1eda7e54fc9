/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Off-CPU time, measured at one hook: when a thread gets a CPU again, the time since it last did,
 * less the CPU time that it was charged since, is what it was off. Of that it waited for a CPU as
 * long as the scheduler says in its books (the delay of /proc/PID/schedstat); the rest it was
 * blocked. All three figures stand in the task, so a period that is not kept costs a look-up and a
 * few additions: no clock is read, no stack is taken, nothing is attached to where threads lose
 * their CPU or are woken. And CPU time and off-CPU time are elapsed time, by construction.
 *
 * The stack that a thread has when it runs again is the one that it blocked with.
 *
 * Threads that are off when the recording starts or ends are met by task iterators: one notes how
 * they stand before the window opens, the other counts what they wait for after it has closed.
 * Whoever exchanges in_at first then counts the period.
 */
#ifndef BPF_OFFCPU_BPF_H
#define BPF_OFFCPU_BPF_H

#include "bpf/wakers.bpf.h"

#define TASK_RUNNING   0
#define __TASK_STOPPED 0x0004
#define __TASK_TRACED  0x0008
#define TASK_DEAD      0x0080

/* The part of an off-CPU period that lies in the window. Nanoseconds. */
struct period {
	u64 blocked, queued;
};

/*
 * @task was off for @off until @now. It has waited @waited for CPUs in its life. Returns whether
 * any of it lies in the window.
 */
static __always_inline bool measure(struct thread *thread, struct task_struct *task, u64 off,
				    u64 now, u64 waited, struct period *period)
{
	u64 from, to, woken;

	if ((s64)off <= 0)
		return false;
	from = later(now - off, control.switch_start);
	to = earlier(now, control.switch_end);
	if (from >= to)
		return false;
	woken = from;
	if (task->nvcsw != thread->n_voluntary)
		woken = later(from, now - earlier(waited - thread->run_delay, off));
	woken = earlier(woken, to);
	period->blocked = woken - from;
	period->queued = to - woken;
	return true;
}

static __always_inline void thread_stands(struct thread *thread, struct task_struct *task,
					  u64 runtime)
{
	thread->runtime = runtime;
	thread->run_delay = task->sched_info.run_delay;
	thread->n_voluntary = task->nvcsw;
	if (config.by_cpu)
		thread->cpu = bpf_get_smp_processor_id();
}

/* How @task stands at @now, when it is seen for the first time. */
static __always_inline void thread_met(struct thread *thread, struct task_struct *task, u64 now)
{
	thread_stands(thread, task, task->se.sum_exec_runtime);
	stretch_begin(&thread->stretch);
	thread->since = now;
	thread->in_at = now;
	stat_add(BF_STAT_THREADS, 1);
}

/* Adds what is only known of the thread to the totals. What comes after its exit is kept, all. */
static __always_inline void settle(struct thread *thread)
{
	stat_add(BF_STAT_PERIODS, thread->n_periods);
	stat_add(BF_STAT_RESIDUE_NS, stretch_residue(&thread->stretch));
	stat_add(BF_STAT_VARIANCE_US2, stretch_variance(&thread->stretch));
	thread->n_periods = 0;
	thread->stretch.position = 0;
	stretch_begin(&thread->stretch);
	if (thread->is_exiting)
		thread->stretch.period = 0;
}

/* The exact CPU time of a thread that ends, or is there when the window has closed. */
static __always_inline void count_runtime(struct thread *thread, struct task_struct *task, u64 now)
{
	u64 since = __sync_lock_test_and_set(&thread->since, ~0ULL);
	u64 from = later(since, control.switch_start), to = earlier(now, control.switch_end);
	struct bf_count_key key = {.reason = BF_REASON_RUNTIME};

	if (from >= to || to - from <= thread->off || (config.by_comm && !comm_matches(task)))
		return;
	key_init(&key, task);
	count_row(&key, to - from - thread->off);
}

/*
 * Accounts for @period of @task. Returns whether any of it is kept: then, as what.
 */
static __always_inline bool account(struct thread *thread, struct task_struct *task,
				    const struct period *period, struct kept *kept)
{
	u64 length = period->blocked + period->queued;

	thread->off += length;
	if (length < config.min_block || length > config.max_block || !on_wanted_cpu(thread->cpu) ||
	    (config.by_comm && !comm_matches(task)))
		return false;
	thread->n_periods++;
	kept->blocked = weigh(&thread->stretch, period->blocked);
	kept->queued = weigh(&thread->stretch, period->queued);
	if (!kept->blocked && !kept->queued)
		return false;
	kept->blocked_reason = contributes_to_load(task) ? BF_REASON_DISK : BF_REASON_SLEEP;
	kept->queued_reason = BF_REASON_RUNQUEUE;
	if (task->nvcsw == thread->n_voluntary && !thread->is_newborn)
		kept->queued_reason = BF_REASON_PREEMPTED;
	kept->wakers = 0;
	stat_add(BF_STAT_KEPT, 1);
	return true;
}

/* Returns whether the stacks may be new. */
static __always_inline bool count_kept(struct task_struct *task, const struct kept *kept,
				       u64 kernel_stack, u64 user_stack, u32 exec_id)
{
	struct bf_count_key key = {.kernel_stack = kernel_stack, .user_stack = user_stack};
	bool is_new = false;

	key_init(&key, task);
	key.exec_id = exec_id;
	if (kept->queued) {
		key.reason = kept->queued_reason;
		is_new |= count(&key, kept->queued);
	}
	if (kept->blocked) {
		key.reason = kept->blocked_reason;
		key.wakers = kept->wakers;
		is_new |= count(&key, kept->blocked);
	}
	return is_new;
}

static __always_inline void keep(void *ctx, struct thread *thread, struct task_struct *task,
				 const struct kept *kept)
{
	struct scratch_stacks *stacks = scratch_get(SCRATCH_SWITCH);

	if (!stacks)
		return;
	if (config.capture_out) {
		count_kept(task, kept, thread->kernel_stack, thread->user_stack,
			   task->self_exec_id);
		return;
	}
	/* Where the verifier does not tell the values apart: it would try the walk with each. */
	stacks->kept = *kept;
	capture_current(ctx, NULL, stacks);
	if (count_kept(task, &stacks->kept, stacks->kernel.id, stacks->user.stack.id,
		       stacks->user.exec_id))
		publish_stacks(stacks);
}

/*
 * What nearly all periods are: inside the window, wanted and too short to be kept. In short what
 * measure() and account() come to for these. Returns whether it was one.
 */
static __always_inline bool pass_by(struct thread *thread, u64 off, u64 now)
{
	if (config.filters_periods || thread->is_newborn || now >= control.switch_end ||
	    now - off < control.switch_start || may_be_kept(&thread->stretch, off))
		return false;
	thread->in_at = now;
	thread->off += off;
	thread->n_periods++;
	thread->stretch.position += off;
	return true;
}

/*
 * @task runs again, since @now; it has waited @waited for CPUs in its life. It is current, unless
 * capture_out.
 */
static __always_inline void switch_in(void *ctx, struct thread *thread, struct task_struct *task,
				      u64 now, u64 waited)
{
	u64 runtime = runtime_at_switch(task), in_at = thread->in_at, off, began;
	struct period period;
	struct kept kept;
	bool is_kept;

	if (!in_at) {
		thread_met(thread, task, now);
		thread->runtime = runtime;
		return;
	}
	if ((s64)(now - in_at) <= 0) /* it did not lose its CPU */
		return;
	off = off_for(thread, in_at, now, runtime);
	if (pass_by(thread, off, now)) {
		thread_stands(thread, task, runtime);
		return;
	}
	if (now < control.switch_end) {
		thread->in_at = now;
	} else {
		in_at = __sync_lock_test_and_set(&thread->in_at, now);
		off = off_for(thread, in_at, now, runtime);
	}
	is_kept = measure(thread, task, off, now, waited, &period) &&
		  account(thread, task, &period, &kept);
	if (is_kept && config.waker_depth && kept.blocked)
		kept.wakers = wakers_of(thread, task, in_at);
	thread_stands(thread, task, runtime);
	thread->is_newborn = 0;
	if (thread->is_exiting)
		settle(thread);
	if (!is_kept)
		return;
	began = bpf_ktime_get_ns();
	keep(ctx, thread, task, &kept);
	stat_add(BF_STAT_KEEPING_NS, bpf_ktime_get_ns() - began);
}

static __always_inline void calibrate(u64 now)
{
	u64 offset = bpf_ktime_get_ns() - now;

	if ((s64)offset < (s64)control.least_offset)
		control.least_offset = offset;
}

/* The hooks that run after a switch, as the thread that got the CPU. */
static __always_inline void switched(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u64 now = task->sched_info.last_arrival;
	struct thread *thread;

	if (!task->pid) /* idle */
		return;
	if (control.calibrating)
		calibrate(now);
	thread = thread_get(task);
	if (thread)
		switch_in(ctx, thread, task, now, task->sched_info.run_delay);
}

/* capture_out: at the switch itself. The scheduler has not booked the wait of @next yet. */
static __always_inline void switching(void *ctx, struct task_struct *prev, struct task_struct *next)
{
	struct scratch_stacks *stacks = scratch_get(SCRATCH_SWITCH);
	u64 now = bpf_ktime_get_ns(), waited = 0;
	struct thread *thread;

	if (!stacks)
		return;
	thread = prev->pid ? thread_get(prev) : NULL;
	if (thread) {
		capture_current(ctx, NULL, stacks);
		thread->kernel_stack = stacks->kernel.id;
		thread->user_stack = stacks->user.stack.id;
		publish_stacks(stacks);
	}
	thread = next->pid ? thread_get(next) : NULL;
	if (!thread)
		return;
	if (thread->woken_at > thread->in_at)
		waited = now - thread->woken_at;
	switch_in(ctx, thread, next, now, thread->run_delay + waited);
}

static __always_inline void thread_woken(struct task_struct *task)
{
	struct thread *thread = thread_find(task);

	if (thread)
		thread->woken_at = bpf_ktime_get_ns();
}

/* A thread that is born waits for its first CPU. */
static __always_inline void thread_born(struct task_struct *task)
{
	struct thread *thread = thread_get(task);

	if (!thread || thread->in_at)
		return;
	thread->is_newborn = 1;
	thread_met(thread, task, scheduler_now());
}

/* The command is recorded from its exec on; it runs. */
static __always_inline void thread_execs(struct task_struct *task)
{
	struct thread *thread = thread_get(task);

	if (thread && !thread->in_at) {
		thread_met(thread, task, scheduler_now());
		if (!config.capture_out)
			thread->in_at = task->sched_info.last_arrival;
	}
}

static __always_inline void thread_exits(struct task_struct *task)
{
	struct thread *thread = thread_find(task);

	if (!thread)
		return;
	thread->is_exiting = 1;
	settle(thread);
}

/* It has lost its CPU for good. */
static __always_inline void thread_dead(struct task_struct *task)
{
	struct thread *thread = thread_find(task);

	if (thread)
		count_runtime(thread, task, scheduler_now());
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

/* A thread that was there before any program was attached. */
static __always_inline void thread_found(struct task_struct *task, bool sleepable)
{
	u32 state = task_state(task);
	struct scratch_stacks *stacks;
	struct thread *thread;

	if (state & TASK_DEAD)
		return;
	thread = thread_get(task);
	if (!thread || thread->in_at)
		return;
	thread_met(thread, task, scheduler_now());
	thread->cpu = task_cpu(task);
	if (task->on_cpu)
		return;
	/* What it waits for began before; so that it counts as a wait, not as a preemption. */
	if (state != TASK_RUNNING)
		thread->n_voluntary--;
	if (config.capture_out) {
		stacks = scratch_get(SCRATCH_ITERATOR);
		if (!stacks)
			return;
		capture_blocked(task, sleepable, stacks);
		publish_stacks(stacks);
		/* It may have run meanwhile: then what the switch left is right. */
		if (thread->kernel_stack || task->on_cpu)
			return;
		thread->kernel_stack = stacks->kernel.id;
		thread->user_stack = stacks->user.stack.id;
	}
}

/* What @task has waited for CPUs until @now, the wait that goes on included. */
static __always_inline u64 waited_until(struct thread *thread, struct task_struct *task, u64 now)
{
	u64 since = task->sched_info.last_queued;

	if (config.capture_out)
		since = thread->woken_at > thread->in_at ? thread->woken_at : 0;
	else if (task_state(task) != TASK_RUNNING)
		since = 0;
	return thread->run_delay + (since && since < now ? now - since : 0);
}

/*
 * The window has closed: what @task waits for, if it does. Returns whether it is kept.
 */
static __always_inline bool thread_waits(struct thread *thread, struct task_struct *task,
					 bool sleepable)
{
	u64 now = scheduler_now(), waited = waited_until(thread, task, now), in_at, off;
	struct scratch_stacks *stacks;
	struct period period;
	struct kept kept;
	u32 state = task_state(task);

	if ((state & TASK_DEAD) || task->on_cpu || now < control.switch_end)
		return false;
	in_at = __sync_lock_test_and_set(&thread->in_at, now);
	off = off_for(thread, in_at, now, task->se.sum_exec_runtime);
	if (!measure(thread, task, off, now, waited, &period) ||
	    !account(thread, task, &period, &kept))
		return false;
	if (state & (__TASK_STOPPED | __TASK_TRACED))
		kept.blocked_reason = BF_REASON_STOPPED;
	stacks = scratch_get(SCRATCH_ITERATOR);
	if (!stacks)
		return false;
	stacks->kept = kept;
	capture_blocked(task, sleepable, stacks);
	if (count_kept(task, &stacks->kept, stacks->kernel.id, stacks->user.stack.id,
		       stacks->user.exec_id))
		publish_stacks(stacks);
	return true;
}

#endif
