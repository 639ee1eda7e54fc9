/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Waits without a program at each switch, for those to whom it costs too much: an iterator looks at
 * all threads at random moments, about a second apart. The scheduler's books say how long a thread
 * was off since the last look, and how much of that it waited for a CPU. All of it counts for the
 * stack that the thread waits with now. A wait is found as often as it is long (work sampling), and
 * sums are those of the books.
 *
 * A thread that is found running shows no wait: its time off is left for the next look. The same
 * for the time that one was blocked that now waits for a CPU: its stack says nothing about that.
 * What a thread waited between the last look and its end has no stack.
 */
#ifndef BPF_POLLING_BPF_H
#define BPF_POLLING_BPF_H

#include "bpf/waiting.bpf.h"

/* The CPU time of @task until @now. One that runs is charged at ticks only. */
static __always_inline u64 runtime_until(struct task_struct *task, u64 now)
{
	u64 since = task->sched_info.last_arrival;

	if (!task->on_cpu || !task->se.on_rq || since > now)
		return task->se.sum_exec_runtime;
	return later(task->se.sum_exec_runtime, task->se.prev_sum_exec_runtime + (now - since));
}

/* A thread that was born since the hook rests has been off, or running, all its life. */
static __always_inline void live_from_birth(struct thread *thread, struct task_struct *task)
{
	if (thread->is_newborn && !thread->in_at)
		thread_begins(thread, task->start_time - control.clock_offset);
}

/* What a look finds in the books of a thread. */
struct look {
	u64 runtime, waited;
	bool is_queued;	  /* waits for a CPU, … */
	bool was_blocked; /* … and was blocked since the last look */
};

static __always_inline void look_at_books(struct thread *thread, struct task_struct *task, u64 now,
					  struct look *look)
{
	u64 since = task->sched_info.last_queued;

	look->runtime = runtime_until(task, now);
	look->waited = task->sched_info.run_delay;
	look->is_queued = task_state(task) == TASK_RUNNING && !task->on_cpu;
	if (look->is_queued && since && since < now)
		look->waited += now - since;
}

/*
 * Later looks count from here, also what is left. A wait that goes on is still one, and no
 * preemption.
 */
static __always_inline void note_look(struct thread *thread, struct task_struct *task,
				      const struct look *look)
{
	thread->run_delay = look->waited;
	if (look->was_blocked)
		return;
	thread->runtime = look->runtime;
	thread->n_voluntary = task->nvcsw - !look->is_queued;
	thread->queue = 0; /* how long it is throttled in all this is not known */
	if (look->runtime)
		thread->is_newborn = 0;
}

/*
 * Notes how long @task's wait is so far, if it took @off since the last look. One that began since
 * is likely to be as long as the others since then: it is not known when any of them began.
 */
static __always_inline void note_length(struct thread *thread, struct task_struct *task, u64 off,
					bool is_new)
{
	u32 n_new = task->nvcsw - thread->n_voluntary - 1;

	if (!is_new)
		off += thread->before;
	else if ((s32)n_new > 1)
		off /= n_new;
	thread->before = off;
}

/*
 * Takes the time that @task was off since the last look, until control.close_at, and that belongs
 * to the wait that it is in. Returns whether any does.
 */
static __always_inline bool take_time(struct thread *thread, struct task_struct *task,
				      struct look *look, struct period *period,
				      struct found *found)
{
	u64 in_at = *(volatile u64 *)&thread->in_at, now = scheduler_now(), moved = control.close_at;

	barrier();
	if ((task_state(task) & TASK_DEAD) || now < control.close_at)
		return false;
	look_at_books(thread, task, now, look);
	if (!measure(thread, task, off_for(thread, in_at, now, look->runtime), now, look->waited,
		     control.close_at, period))
		return false;
	if (task->on_cpu) {
		found->pending = period->to - period->from;
		return false;
	}
	look->was_blocked = look->is_queued && (u32)task->nvcsw != thread->n_voluntary;
	if (look->was_blocked) {
		found->pending = period->woken - period->from;
		period->from = period->woken;
		moved = in_at + (period->to - period->from);
	}
	found->is_new = thread->moved_to != in_at || thread->runtime != look->runtime;
	found->raced = __sync_val_compare_and_swap(&thread->in_at, in_at, moved) != in_at;
	if (found->raced)
		return false;
	if (found->is_new)
		forget_stacks(thread);
	thread->moved_to = moved;
	thread->off_visited += period->to - period->from;
	note_length(thread, task, period->to - period->from, found->is_new);
	return true;
}

/* Like thread_waits(), of all waits since the last look. */
static __always_inline bool thread_waited(struct thread *thread, struct task_struct *task,
					  struct found *found)
{
	u32 state = task_state(task);
	struct scratch_stacks *stacks = scratch_get(SCRATCH_ITERATOR);
	struct period period = {};
	struct look look = {};
	bool is_kept;

	if (!stacks || !take_time(thread, task, &look, &period, found))
		return false;
	if (thread->stretch.period > sampling_period())
		stretch_restart(&thread->stretch);
	is_kept = weigh_waiting(thread, task, state, &period, thread->before, &stacks->kept);
	note_look(thread, task, &look);
	if (is_kept)
		count_waiting(thread, task, true, stacks, found);
	return is_kept;
}

/* Counts what @task, which ends, was off since the last look. */
static __always_inline void thread_polled_last(struct task_struct *task)
{
	struct thread *thread = thread_find(task);
	struct bf_count_key key;
	struct period period = {};
	struct look look = {};
	struct kept_part part;
	struct place place;
	u64 now;

	if (!thread)
		return;
	live_from_birth(thread, task);
	now = scheduler_now();
	look_at_books(thread, task, now, &look);
	if (!thread->in_at ||
	    !measure(thread, task, off_for(thread, thread->in_at, now, look.runtime), now,
		     look.waited, control.switch_end, &period))
		return;
	thread->in_at = now;
	thread->off += period.to - period.from;
	find_place(period.to, &place);
	if (weigh_period(thread, &period, place.window, &part)) {
		key_init(&key, task);
		key_keep_ids(&key, thread);
		key.window = part.window;
		key.reason = BF_REASON_RUNQUEUE;
		if (part.queued)
			count(&key, part.queued, 0);
		key.reason = BF_REASON_SLEEP;
		if (part.blocked)
			count(&key, part.blocked, 0);
	}
	note_look(thread, task, &look);
}

static __always_inline void look_at(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct found found = {};
	struct thread *thread;
	u32 word = 0;

	if (!task || !task->pid)
		return;
	thread = thread_find(task);
	if (!thread)
		return;
	live_from_birth(thread, task);
	if (!thread->in_at)
		return;
	if ((task_state(task) & TASK_DEAD) && !task->on_cpu)
		thread_dead(task);
	if (thread_waited(thread, task, &found))
		bpf_seq_write(ctx->meta->seq, &word, sizeof word);
	sum_up(thread, task);
	if (!thread->is_dead)
		count_runtime(thread, task, control.close_at,
			      thread->off + thread->off_visited + found.pending,
			      control.close_window, 0);
}

#endif
