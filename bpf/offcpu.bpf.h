/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Off-CPU time, measured at one hook. When a thread gets a CPU again, it was off for the time since
 * it last got one, less the CPU time charged since. The scheduler's books (the delay of
 * /proc/PID/schedstat) say how much of that it waited for a CPU; the rest it was blocked. All three
 * figures are in the task, so a period that is not kept costs a look-up and a few additions: no
 * clock is read, no stack is taken, and no program is attached to where threads lose their CPU or
 * are woken. CPU time and off-CPU time add up to elapsed time by construction.
 *
 * The stack of a thread that runs again is the one it blocked with.
 *
 * If a period spans a boundary between windows, each part counts in its window. A task iterator
 * visits threads that are still off at a boundary (waiting.bpf.h). Whoever exchanges in_at first
 * counts the part before it.
 */
#ifndef BPF_OFFCPU_BPF_H
#define BPF_OFFCPU_BPF_H

#include "bpf/wakers.bpf.h"

#define TASK_RUNNING   0
#define __TASK_STOPPED 0x0004
#define __TASK_TRACED  0x0008
#define TASK_DEAD      0x0080

/* The recorded part of an off-CPU period: blocked from @from to @woken, then queued. */
struct period {
	u64 from, woken, to;
	u64 wait; /* all its queued time, also outside the recording */
};

/*
 * @task was off for @off until @now, and has waited @waited for CPUs in its life. Returns whether
 * any of it is in the recording before @end.
 */
static __always_inline bool measure(struct thread *thread, struct task_struct *task, u64 off,
				    u64 now, u64 waited, u64 end, struct period *period)
{
	if ((s64)off <= 0)
		return false;
	period->from = later(now - off, control.switch_start);
	period->to = earlier(now, end);
	if (period->from >= period->to)
		return false;
	period->wait = off;
	if ((u32)task->nvcsw != thread->n_voluntary)
		period->wait = earlier(waited - thread->run_delay, off);
	period->woken = earlier(later(period->from, now - period->wait), period->to);
	return true;
}

static __always_inline bool is_outside(const struct thread *thread)
{
	return config.by_cgroup && thread->is_outside;
}

static __always_inline bool is_skipped(const struct thread *thread)
{
	return config.by_cgroup && thread->is_skipped;
}

/*
 * Whether @task has left the recorded cgroup. A period in which it left or came is skipped, and so
 * is all time outside, including running.
 */
static __always_inline void look_at_cgroup(struct thread *thread, struct task_struct *task)
{
	bool was_outside = thread->is_outside;

	if (!config.by_cgroup)
		return;
	if (thread->cgroups != (u32)(u64)task->cgroups) {
		thread->cgroups = (u64)task->cgroups;
		thread->is_outside = !in_cgroup(task);
	}
	thread->is_skipped = was_outside || thread->is_outside;
}

/*
 * Ticks often enough: throttling lasts longer, and does not happen while a thread of the queue
 * runs.
 */
#define QUOTA_CLOCK(ns) ((u32)((ns) >> 20))

static __always_inline void look_at_quota(struct thread *thread, struct task_struct *task)
{
	struct cfs_rq *queue = quota_queue(task);

	thread->quota_at = QUOTA_CLOCK(thread->in_at);
	thread->queue = (u64)queue;
	if (queue)
		thread->throttled = throttled_time(queue) / 1000;
}

static __always_inline void thread_note(struct thread *thread, struct task_struct *task,
					u64 runtime)
{
	thread->runtime = runtime;
	thread->run_delay = task->sched_info.run_delay;
	thread->n_voluntary = task->nvcsw;
	if (config.by_cpu)
		thread->cpu = bpf_get_smp_processor_id();
	if (QUOTA_CLOCK(thread->in_at) != thread->quota_at)
		look_at_quota(thread, task);
}

/* Measures from @at on, unless another CPU came first. Returns the start. */
static __always_inline u64 thread_begins(struct thread *thread, u64 at)
{
	u64 before = __sync_val_compare_and_swap(&thread->in_at, 0, at);

	if (before)
		return before;
	thread->since = at;
	return at;
}

/* Notes the state of @task when it is first seen. */
static __always_inline void thread_first_seen(struct thread *thread, struct task_struct *task)
{
	thread_keep_ids(thread, task);
	thread->is_outside = config.by_cgroup && !in_cgroup(task);
	thread_note(thread, task, task->se.sum_exec_runtime);
	look_at_quota(thread, task);
	stretch_begin(&thread->stretch);
	stat_add(BF_STAT_THREADS, 1);
}

/*
 * A thread exits: adds its own sums to the totals. Each period after that is in a stretch of its
 * own, and settled at once.
 */
static __always_inline void settle(struct thread *thread)
{
	stat_add(BF_STAT_PERIODS, thread->n_periods);
	stat_add(BF_STAT_RESIDUE_NS, stretch_residue(&thread->stretch));
	stat_add(BF_STAT_VARIANCE_US2, stretch_variance(&thread->stretch));
	thread->n_periods = 0;
	stretch_restart(&thread->stretch);
}

/*
 * The same for a thread that goes on when a window closes: its stretch goes on, too. One that exits
 * may be settling just now.
 */
static __always_inline void sum_up(const struct thread *thread, struct task_struct *task)
{
	s64 residue = stretch_residue(&thread->stretch);

	/* One branch: the verifier tries what follows after each. */
	if (thread->is_exiting & (u32)task->on_cpu)
		return;
	barrier();
	if (has_left(thread))
		residue = thread->residue_before;
	stat_add(BF_STAT_OPEN_PERIODS, thread->n_periods);
	stat_add(BF_STAT_OPEN_RESIDUE_NS, residue);
	stat_add(BF_STAT_OPEN_VARIANCE_US2, stretch_variance(&thread->stretch));
}

/*
 * Counts, in @window, the CPU time of a thread up to @end that is not counted yet; it was off for
 * @off since it was first seen. It works by sums since then, so that anything counted in the wrong
 * place is corrected later, and concurrent counters count different parts. @tid: an earlier id of
 * the thread to count for; or 0.
 */
static __always_inline void count_runtime(struct thread *thread, struct task_struct *task, u64 end,
					  u64 off, u64 window, u32 tid)
{
	u64 from = later(thread->since, control.switch_start), total = end - from - off;
	struct bf_count_key key;
	s64 new = total - thread->counted;

	if (end <= from || new <= 0)
		return;
	new = total - __sync_lock_test_and_set(&thread->counted, total);
	if (new <= 0 || (config.by_comm && !comm_matches(task)))
		return;
	key_init(&key, task);
	key.reason = BF_REASON_RUNTIME;
	key.window = window;
	if (tid)
		key.tid = tid;
	key_keep_ids(&key, thread);
	count_row(&key, new, 0);
}

/*
 * The same up to @end, while the thread may have changed windows: the one with @end may not be the
 * first to count.
 */
static __always_inline void count_runtime_until(struct thread *thread, struct task_struct *task,
						u64 end, u32 tid)
{
	struct place place;
	u64 off;

	end = earlier(end, control.switch_end);
	find_place(end, &place);
	if (config.every && place.start > thread->since) {
		off = thread->window == (u32)place.window ? thread->off_before : thread->off;
		count_runtime(thread, task, place.start, off + thread->off_visited,
			      place.window - 1, tid);
	}
	count_runtime(thread, task, end, thread->off + thread->off_visited, place.window, tid);
}

static __always_inline bool is_wanted_period(const struct thread *thread, struct task_struct *task,
					     u64 length)
{
	return !is_skipped(thread) && length >= config.min_block && length <= config.max_block &&
	       on_wanted_cpu(thread->cpu) && (!config.by_comm || comm_matches(task));
}

/* Like weigh(). A global function: the verifier proves it once. */
__noinline u64 weigh_part(struct stretch *stretch, u64 length)
{
	return stretch ? weigh(stretch, length) : 0;
}

static __always_inline bool weigh_period(struct thread *thread, const struct period *period,
					 u64 window, struct kept_part *part)
{
	part->blocked = weigh_part(&thread->stretch, period->woken - period->from);
	part->queued = weigh_part(&thread->stretch, period->to - period->woken);
	part->wakers = 0;
	part->window = window;
	return part->blocked || part->queued;
}

/*
 * How long the queue that @task waits in was throttled since @task last had a CPU, until @now. 0
 * for a queue it has joined since: unknown.
 */
static __always_inline u64 throttled_for(const struct thread *thread, struct task_struct *task,
					 u64 now)
{
	struct cfs_rq *queue = quota_queue(task);
	u32 before = thread->throttled, throttled;
	u64 since;

	if (!queue || (u32)(u64)queue != thread->queue)
		return 0;
	since = throttled_since(queue);
	throttled = (u32)(throttled_time(queue) / 1000) - before;
	return throttled * 1000ULL + (since && since < now ? now - since : 0);
}

static __always_inline void find_reasons(const struct thread *thread, struct task_struct *task,
					 const struct period *period, struct kept *kept)
{
	u64 throttled = throttled_for(thread, task, period->to);

	kept->blocked_reason = contributes_to_load(task) ? BF_REASON_DISK
			       : sleeps_by_poll(task)	 ? BF_REASON_TIMER
							 : BF_REASON_SLEEP;
	kept->queued_reason = BF_REASON_RUNQUEUE;
	if ((u32)task->nvcsw == thread->n_voluntary && !thread->is_newborn)
		kept->queued_reason = BF_REASON_PREEMPTED;
	kept->throttled = THROTTLED_ALL;
	if (throttled < period->wait)
		kept->throttled = throttled * THROTTLED_ALL / period->wait;
	stat_add(BF_STAT_KEPT, 1);
}

/* Cuts the part of @period before @boundary; @period keeps the rest. */
static __always_inline void cut_period(struct period *period, u64 boundary, struct period *before)
{
	before->from = period->from;
	before->woken = earlier(period->woken, boundary);
	before->to = boundary;
	period->from = boundary;
	period->woken = later(period->woken, boundary);
}

/*
 * Accounts for @period of @task; earlier windows have @counted already. A boundary within it
 * divides it. Returns whether any part is kept, and as what.
 */
static __always_inline bool account(struct thread *thread, struct task_struct *task,
				    struct period *period, u64 counted, struct kept *kept)
{
	bool wanted = is_wanted_period(thread, task, counted + period->to - period->from);
	bool is_kept = false;
	struct period before;
	struct place place;

	find_place(period->to, &place);
	kept->length = counted + period->woken - period->from;
	kept->before = (struct kept_part){};
	if (config.every && period->from < place.start) {
		cut_period(period, place.start, &before);
		if (wanted)
			is_kept = weigh_period(thread, &before, place.window - 1, &kept->before);
		thread->off += before.to - before.from;
	}
	enter_window(thread, place.window);
	thread->off += period->to - period->from;
	if (!wanted)
		return false;
	thread->n_periods++;
	is_kept |= weigh_period(thread, period, place.window, &kept->last);
	if (is_kept)
		find_reasons(thread, task, period, kept);
	return is_kept;
}

/*
 * Whether @task, which is about to exec or exit, may be sampled within LEAVING_NS, or a short wait
 * of it kept.
 */
static __always_inline bool is_sampled_soon(struct task_struct *task)
{
	struct thread *thread;

	if (sample_is_near(LEAVING_NS))
		return true;
	if (!config.offcpu || is_polling())
		return false;
	thread = thread_find(task);
	return !thread || may_be_kept(&thread->stretch, LEAVING_NS);
}

/* After a switch at @now, whatever it counted for; also into the time after the recording. */
static __always_inline void enter_window_at(struct thread *thread, u64 now)
{
	struct place place;

	if (!config.every || now <= control.switch_start)
		return;
	find_place(earlier(now, control.switch_end), &place);
	enter_window(thread, place.window + (now >= control.switch_end));
}

/* How many waits like the kept one last @blocked: of BF_WAIT each, never none. Without a branch. */
static __always_inline u64 waits_in(const struct kept *kept, u64 blocked)
{
	return blocked * BF_WAIT / (kept->length | 1) + 1;
}

/* Returns whether the stacks may be new. */
static __always_inline bool count_part(struct bf_count_key *key, const struct kept *kept,
				       const struct kept_part *part)
{
	u64 throttled = part->queued * kept->throttled / THROTTLED_ALL;
	bool is_new = false;

	key->window = part->window;
	key->wakers = 0;
	if (part->queued > throttled) {
		key->reason = kept->queued_reason;
		is_new |= count(key, part->queued - throttled, 0);
	}
	if (throttled) {
		key->reason = BF_REASON_THROTTLED;
		is_new |= count(key, throttled, 0);
	}
	if (part->blocked) {
		key->reason = kept->blocked_reason;
		key->wakers = part->wakers;
		is_new |= count(key, part->blocked, waits_in(kept, part->blocked));
	}
	return is_new;
}

/* Returns whether the stacks may be new. */
static __always_inline bool count_kept(const struct thread *thread, struct task_struct *task,
				       struct scratch_stacks *stacks, u64 kernel_stack,
				       u64 user_stack, u32 exec_id)
{
	const struct kept *kept = &stacks->kept;
	struct bf_count_key *key = &stacks->key;
	bool is_new;

	key_init(key, task);
	key_keep_ids(key, thread);
	key->kernel_stack = kernel_stack;
	key->user_stack = user_stack;
	key->exec_id = exec_id;
	is_new = count_part(key, kept, &kept->last);
	if (config.every)
		is_new |= count_part(key, kept, &kept->before);
	return is_new;
}

/* Counts what @stacks->kept says. */
static __always_inline void keep(void *ctx, struct thread *thread, struct task_struct *task,
				 struct scratch_stacks *stacks)
{
	if (config.capture_out) {
		count_kept(thread, task, stacks, thread->kernel_stack, thread->user_stack,
			   task->self_exec_id);
		return;
	}
	capture_current(ctx, NULL, stacks);
	if (count_kept(thread, task, stacks, stacks->kernel.id, stacks->user.stack.id,
		       stacks->user.exec_id))
		publish_stacks(stacks);
}

/* Sets the wakers of the part in which the wait ended; the part before has none. */
static __always_inline void find_wakers(struct thread *thread, struct task_struct *task, u64 in_at,
					const struct period *last, struct scratch_stacks *stacks)
{
	struct kept *kept = &stacks->kept;
	bool is_last = !config.every || last->woken > last->from;

	if (!config.waker_depth || !(is_last ? kept->last.blocked : kept->before.blocked))
		return;
	if (is_last)
		kept->last.wakers = wakers_of(thread, task, in_at, &stacks->wakers);
	else
		kept->before.wakers = wakers_of(thread, task, in_at, &stacks->wakers);
}

/* Whether the time off, from @from until @now, is in the open window. */
static __always_inline bool in_open_window(const struct thread *thread, u64 from, u64 now)
{
	const struct bf_window *open;

	if (!config.every)
		return now < control.switch_end && from >= control.switch_start;
	open = open_window();
	return now < open->end && from >= open->start && thread->window == (u32)open->number;
}

/*
 * The fast path for nearly all periods: inside the window, wanted and too short to be kept. Short
 * for measure() and account() in that case. Returns whether the period was one.
 */
static __always_inline bool pass_by(struct thread *thread, u64 off, u64 now)
{
	if (config.filters_periods || thread->is_newborn || thread->is_exiting ||
	    is_skipped(thread) ||
	    !in_open_window(thread, now - off, now) || may_be_kept(&thread->stretch, off))
		return false;
	thread->in_at = now;
	thread->off += off;
	thread->n_periods++;
	thread->stretch.position += off;
	return true;
}

/*
 * A thread's first switch. A new thread has waited for it all its life, as the books say; all
 * others run. Returns the start of measuring.
 */
static __always_inline u64 first_seen(struct thread *thread, struct task_struct *task, u64 now,
				      u64 waited)
{
	if (!thread->is_newborn)
		thread_first_seen(thread, task);
	return thread_begins(thread, thread->is_newborn ? now - waited : now);
}

/*
 * @task runs again since @now; it has waited @waited for CPUs in its life. It is current, unless
 * capture_out.
 */
static __always_inline void switch_in(void *ctx, struct thread *thread, struct task_struct *task,
				      u64 now, u64 waited)
{
	u64 runtime = runtime_at_switch(task), in_at = thread->in_at, off, began;
	struct period period = {}; /* compilers move reads of it ahead of its setting */
	struct scratch_stacks *stacks;
	bool is_kept, was_outside;

	if (!in_at) {
		in_at = first_seen(thread, task, now, waited);
		thread->runtime = runtime;
	}
	if ((s64)(now - in_at) <= 0) { /* it did not lose its CPU */
		thread->is_newborn = 0;
		return;
	}
	was_outside = is_outside(thread);
	look_at_cgroup(thread, task);
	off = was_outside ? now - in_at : off_for(thread, in_at, now, runtime);
	if (pass_by(thread, off, now)) {
		thread_note(thread, task, runtime);
		return;
	}
	/* Not on the stack: the verifier would try the walk with each value. */
	stacks = scratch_get(SCRATCH_SWITCH);
	if (!stacks)
		return;
	if (!config.every && now < control.switch_end) {
		thread->in_at = now;
	} else {
		in_at = __sync_lock_test_and_set(&thread->in_at, now);
		off = was_outside ? now - in_at : off_for(thread, in_at, now, runtime);
	}
	is_kept = measure(thread, task, off, now, waited, control.switch_end, &period) &&
		  account(thread, task, &period, counted_before(thread, in_at), &stacks->kept);
	enter_window_at(thread, now);
	if (is_kept)
		find_wakers(thread, task, in_at, &period, stacks);
	thread_note(thread, task, runtime);
	thread->is_newborn = 0;
	if (thread->is_exiting)
		settle(thread);
	if (!is_kept)
		return;
	began = bpf_ktime_get_ns();
	keep(ctx, thread, task, stacks);
	stat_add(BF_STAT_KEEPING_NS, bpf_ktime_get_ns() - began);
}

static __always_inline void calibrate(u64 now)
{
	u64 offset = bpf_ktime_get_ns() - now;

	if ((s64)offset < (s64)control.least_offset)
		control.least_offset = offset;
}

/* Hooks that run after a switch, as @task, the thread that got the CPU. */
static __always_inline void switched(void *ctx, struct task_struct *task)
{
	u64 now = task->sched_info.last_arrival;
	struct thread *thread;

	if (!task->pid) /* idle */
		return;
	if (control.at_switches & BF_SWITCHES_CALIBRATE)
		calibrate(now);
	if (control.at_switches & BF_SWITCHES_REST)
		return;
	thread = thread_switched(task);
	if (thread)
		switch_in(ctx, thread, task, now, task->sched_info.run_delay);
}

/* capture_out: at the switch itself, before the scheduler books the wait of @next. */
static __always_inline void switching(void *ctx, struct task_struct *prev, struct task_struct *next)
{
	struct scratch_stacks *stacks = scratch_get(SCRATCH_SWITCH);
	u64 now = bpf_ktime_get_ns(), waited = 0;
	struct thread *thread;

	if (!stacks)
		return;
	thread = prev->pid ? thread_switched(prev) : NULL;
	if (thread) {
		capture_current(ctx, NULL, stacks);
		thread->kernel_stack = stacks->kernel.id;
		thread->user_stack = stacks->user.stack.id;
		publish_stacks(stacks);
	}
	thread = next->pid ? thread_switched(next) : NULL;
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

/* A new thread waits for its first CPU; the scheduler is about to book since when. */
static __always_inline void thread_born(struct task_struct *task)
{
	struct thread *thread = thread_get(task);

	if (!thread || thread->in_at)
		return;
	thread->is_newborn = 1;
	thread_first_seen(thread, task);
	if (config.capture_out)
		thread_begins(thread, bpf_ktime_get_ns());
}

/* The command is recorded from its exec on; it runs. */
static __always_inline void thread_execs(struct task_struct *task)
{
	struct thread *thread = thread_get(task);

	if (thread && !thread->in_at) {
		thread_first_seen(thread, task);
		thread_begins(thread, config.capture_out ? scheduler_now()
							 : task->sched_info.last_arrival);
		thread->since = scheduler_now();
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

/* It has lost its CPU for good, and has run since it got it. */
static __always_inline void thread_dead(struct task_struct *task)
{
	struct thread *thread = thread_find(task);
	u64 end;

	/* Its process's first thread may be gone before it. */
	if (!thread || thread->is_dead || BPF_CORE_READ(task, group_leader, tgid) != task->tgid)
		return;
	thread->is_dead = 1;
	end = thread->in_at;
	if (!is_outside(thread))
		end += task->se.sum_exec_runtime - thread->runtime;
	count_runtime_until(thread, task, end, 0);
}

/*
 * @task changes its name, or id: its CPU time so far belongs to the old one. @tid: that, if known.
 */
static __always_inline void thread_renamed(struct task_struct *task, u32 tid)
{
	struct thread *thread = thread_find(task);
	u64 end;

	if (!thread || !thread->in_at || is_outside(thread))
		return;
	end = scheduler_now();
	if (!task->on_cpu)
		end = thread->in_at + task->se.sum_exec_runtime - thread->runtime;
	count_runtime_until(thread, task, end, tid);
}

/* An exec gives @task its process's id. @old_tid: as the machine has it. */
static __always_inline void thread_takes_over(struct task_struct *task, u32 old_tid)
{
	struct thread *thread = thread_find(task);

	if (!thread)
		return;
	thread_renamed(task, config.in_pid_namespace ? thread->tid : old_tid);
	thread_keep_ids(thread, task);
}

#endif
