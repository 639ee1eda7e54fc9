/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Threads that are off when a recording starts and when a window ends, as the task iterators see
 * them. At the start they are noted. At a boundary, their time off before it is counted, and taken
 * out of what their next switch will count. One exchange of in_at does that, so that each part is
 * counted exactly once, whoever is first. A second visit finds nothing left.
 *
 * Two cases remain inexact: with --min-block, a wait that is too short at the boundary is counted
 * whole where it ends, in the next window; with --max-block, the part of a wait counted at a
 * boundary stays, although the wait may become longer.
 */
#ifndef BPF_WAITING_BPF_H
#define BPF_WAITING_BPF_H

#include "bpf/offcpu.bpf.h"

/* Both halves of the stack of a thread that is not running; the user half only if @sleepable. */
static __always_inline void capture_blocked(struct task_struct *task, bool sleepable,
					    struct scratch_stacks *stacks)
{
	long bytes = 0;

	if (config.kernel_stacks)
		bytes = bpf_get_task_stack(task, stacks->kernel.frames,
					   BF_KERNEL_FRAMES * sizeof(u64), 0);
	finish_kernel(&stacks->kernel, bytes);
	stacks->user.stack.id = 0;
	stacks->user.exec_id = task->self_exec_id;
	if (!sleepable || !config.user_stacks || is_kernel_thread(task))
		return;
	walk_begin_saved(&stacks->user, task, NULL);
	unwind_blocked(&stacks->user, task);
	finish_user(&stacks->user, task, task);
}

/* Notes a thread that existed before any program was attached. */
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
	thread_first_seen(thread, task);
	thread_begins(thread, scheduler_now());
	thread->cpu = task_cpu(task);
	if (task->on_cpu)
		return;
	/* Its wait began before; make it count as a wait, not as a preemption. */
	if (state != TASK_RUNNING)
		thread->n_voluntary--;
	if (config.capture_out) {
		stacks = scratch_get(SCRATCH_ITERATOR);
		if (!stacks)
			return;
		capture_blocked(task, sleepable, stacks);
		publish_stacks(stacks);
		/* It may have run meanwhile: then the switch has left the right values. */
		if (thread->kernel_stack || task->on_cpu)
			return;
		thread->kernel_stack = stacks->kernel.id;
		thread->user_stack = stacks->user.stack.id;
	}
}

/* A new thread without a CPU so far has waited since it was queued. */
static __always_inline void newborn_waits(struct thread *thread, struct task_struct *task)
{
	u64 queued = task->sched_info.last_queued, before = task->sched_info.run_delay;

	if (thread->is_newborn && !thread->in_at && queued)
		thread_begins(thread, queued - before);
}

/* The time @task has waited for CPUs until @now, including the current wait. */
static __always_inline u64 waited_until(struct thread *thread, struct task_struct *task, u64 now)
{
	u64 since = task->sched_info.last_queued;

	if (config.capture_out)
		since = thread->woken_at > thread->in_at ? thread->woken_at : 0;
	else if (task_state(task) != TASK_RUNNING)
		since = 0;
	return thread->run_delay + (since && since < now ? now - since : 0);
}

/* A wait that is not kept now may be at the next visit: stacks of the wait before are not its own. */
static __always_inline void forget_stacks(struct thread *thread)
{
	if (!config.capture_out)
		thread->kernel_stack = 0;
}

/* The iterator's findings on a thread. */
struct found {
	u64 pending; /* off-CPU time of the window that is left to be counted with the rest */
	bool is_new; /* its stacks belong to this wait, not to the one before */
	bool raced;  /* it was switched in at that moment */
};

/* For a thread that left its cgroup at @in_at or before: time not to count. */
static __always_inline u64 time_outside(const struct thread *thread, struct task_struct *task,
					u64 in_at)
{
	u64 since = in_at;

	if (!is_outside(thread))
		since += task->se.sum_exec_runtime - thread->runtime;
	since = later(since, control.switch_start);
	return control.close_at > since ? control.close_at - since : 0;
}

/*
 * Takes the part of @task's wait, if any, before control.close_at out of what the switch will
 * count: the thread then looks as if it had got its CPU that much later. Whoever exchanges in_at
 * first has the part. Returns whether it is ours.
 */
static __always_inline bool take_part(struct thread *thread, struct task_struct *task,
				      struct period *period, u64 *ret_in_at, struct found *found)
{
	u64 now = scheduler_now(), in_at = *(volatile u64 *)&thread->in_at, runtime, waited, moved;
	u64 length, before = counted_before(thread, in_at);

	barrier();
	if (config.by_cgroup && (is_outside(thread) || !in_cgroup(task))) {
		found->pending = time_outside(thread, task, in_at);
		return false;
	}
	if ((task_state(task) & TASK_DEAD) || task->on_cpu || now < control.close_at)
		return false;
	barrier();
	runtime = task->se.sum_exec_runtime;
	waited = waited_until(thread, task, now);
	if (!measure(thread, task, off_for(thread, in_at, now, runtime), now, waited,
		     control.close_at, period))
		return false;
	length = period->to - period->from;
	/* Too short so far: the switch will see how long it gets. */
	if (before + length < config.min_block && control.close_at != control.switch_end) {
		found->pending = length;
		return false;
	}
	found->is_new = thread->moved_to != in_at;
	moved = control.close_at - (runtime - thread->runtime);
	thread->moved_to = moved;
	thread->before = before + length;
	found->raced = __sync_val_compare_and_swap(&thread->in_at, in_at, moved) != in_at;
	if (found->raced)
		return false;
	thread->off_visited += length;
	if (found->is_new)
		forget_stacks(thread);
	*ret_in_at = in_at;
	return is_wanted_period(thread, task, before + length);
}

/* With capture_out the switch has left the stacks. */
static __always_inline bool has_stacks(const struct thread *thread, const struct found *found)
{
	return thread->kernel_stack && (config.capture_out || !found->is_new);
}

/*
 * Returns whether @period of @task, which has waited in @state for @length, is kept, as what @kept
 * then says.
 */
static __always_inline bool weigh_waiting(struct thread *thread, struct task_struct *task, u32 state,
					  const struct period *period, u64 length,
					  struct kept *kept)
{
	*kept = (struct kept){.length = length};
	thread->n_periods++;
	if (!weigh_period(thread, period, control.close_window, &kept->last))
		return false;
	find_reasons(thread, task, period, kept);
	if (state & (__TASK_STOPPED | __TASK_TRACED))
		kept->blocked_reason = BF_REASON_STOPPED;
	return true;
}

/* Counts what @stacks->kept says. */
static __always_inline void count_waiting(struct thread *thread, struct task_struct *task,
					  bool sleepable, struct scratch_stacks *stacks,
					  const struct found *found)
{
	if (has_stacks(thread, found)) {
		count_kept(thread, task, stacks, thread->kernel_stack, thread->user_stack,
			   task->self_exec_id);
		return;
	}
	capture_blocked(task, sleepable, stacks);
	if (!config.capture_out) {
		thread->kernel_stack = stacks->kernel.id;
		thread->user_stack = stacks->user.stack.id;
	}
	if (count_kept(thread, task, stacks, stacks->kernel.id, stacks->user.stack.id,
		       stacks->user.exec_id))
		publish_stacks(stacks);
}

/*
 * Counts the wait of @task, if any, in the window that ends at control.close_at. Returns whether it
 * is kept.
 */
static __always_inline bool thread_waits(struct thread *thread, struct task_struct *task,
					 bool sleepable, struct found *found)
{
	u32 state = task_state(task);
	struct scratch_stacks *stacks = scratch_get(SCRATCH_ITERATOR);
	struct period period = {};
	u64 in_at;

	if (!stacks || !take_part(thread, task, &period, &in_at, found) ||
	    !weigh_waiting(thread, task, state, &period, thread->before, &stacks->kept))
		return false;
	count_waiting(thread, task, sleepable, stacks, found);
	return true;
}

#define ARRIVAL_LOOKS 224 /* some 9 us: longer than from the switch to its program's first part */

/* Returns whether the thread leaves the closing window by then. The verifier proves it once. */
__noinline int wait_until_left(struct thread *thread)
{
	if (!thread)
		return 0;
	for (int i = 0; i < ARRIVAL_LOOKS; i++) {
		if (has_left(thread))
			return 1;
		bpf_ktime_get_ns();
	}
	return 0;
}

/*
 * Waits for a thread that was switched in after the boundary, but has not counted its time off
 * before it. Returns whether it has now.
 */
static __always_inline bool has_arrived(struct thread *thread, struct task_struct *task,
					const struct found *found)
{
	bool is_arriving = !config.capture_out && task->on_cpu &&
			   task->sched_info.last_arrival > control.close_at;

	if (!config.every || (!is_arriving && !found->raced))
		return true;
	return wait_until_left(thread);
}

/*
 * Counts the CPU time of the thread in a closing window, which only the thread knows. If it can't
 * be determined now, it is counted in the next window.
 */
static __always_inline void runtime_until_close(struct thread *thread, struct task_struct *task,
						const struct found *found)
{
	u64 off;

	if (thread->is_dead || !has_arrived(thread, task, found))
		return;
	off = *(volatile u64 *)&thread->off;
	barrier();
	if (has_left(thread))
		off = thread->off_before;
	count_runtime(thread, task, control.close_at, off + thread->off_visited + found->pending,
		      control.close_window, 0);
}

#endif
