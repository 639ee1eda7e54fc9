/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Who ended a wait: recorded at the wake-up, as the waker, and only if the period will be kept. The
 * blocked time is nearly over then, so that is known. If the waker was itself woken while the other
 * waited, its own waker is the next in the chain.
 */
#ifndef BPF_WAKERS_BPF_H
#define BPF_WAKERS_BPF_H

#include "bpf/thread.bpf.h"

/*
 * How much longer a wait of @blocked may last: it ends when the thread is put into a run queue,
 * perhaps after an interrupt to another CPU. In proportion, so that with short waits not every
 * waker near a point is recorded.
 */
static __always_inline u64 waking_takes(u64 blocked)
{
	return 1000 + earlier(blocked / 2, 100000);
}

/*
 * The number of frames up to and including the entry of an interrupt; 0: none. The interrupted code
 * is irrelevant. A global function, for the verifier's sake.
 */
__noinline u32 frames_of_interrupt(struct bf_stack_event *stack)
{
	if (!stack)
		return 0;
	for (u32 i = 0; i < BF_KERNEL_FRAMES && i < stack->n; i++) {
		if (stack->frames[i] >= config.interrupts &&
		    stack->frames[i] < config.interrupts_end)
			return i + 1;
	}
	return 0;
}

static __always_inline void waker_init(struct bf_waker *waker, struct task_struct *woken,
				       struct scratch_stacks *stacks)
{
	struct task_struct *task = bpf_get_current_task_btf();

	capture_user(NULL, stacks);
	waker->user_stack = stacks->user.stack.id;
	waker->process_start = BPF_CORE_READ(task, group_leader, start_boottime);
	waker->pid = process_id(task);
	waker->tid = config.waker_tid || waits_for_futex(woken) ? thread_id(task) : 0;
	waker->exec_id = stacks->user.exec_id;
	waker->kernel_thread = is_kernel_thread(task);
	BPF_CORE_READ_INTO(&waker->comm, task, comm);
}

/*
 * The current thread, or an interrupt that it serves, wakes @task. Returns the waker's id; sets
 * *@ret_is_thread.
 */
static __always_inline u64 publish_waker(void *ctx, struct task_struct *task, bool *ret_is_thread)
{
	struct scratch_stacks *stacks = scratch_get(SCRATCH_WAKING);
	struct bf_waker_event *event;
	u32 n;

	*ret_is_thread = false;
	if (!stacks)
		return 0;
	event = &stacks->waker;
	__builtin_memset(event, 0, sizeof *event);
	event->type = BF_EVENT_WAKER;
	capture_kernel(ctx, stacks);
	n = frames_of_interrupt(&stacks->kernel);
	if (n)
		finish_stack(&stacks->kernel, n, BF_END_ENTRY);
	*ret_is_thread = !n;
	event->waker.kernel_stack = stacks->kernel.id;
	if (*ret_is_thread) {
		waker_init(&event->waker, task, stacks);
		publish_stack(&stacks->user.stack);
	}
	publish_stack(&stacks->kernel);
	event->id =
		hash_words(BF_EVENT_WAKER, (u64 *)&event->waker, sizeof event->waker / sizeof(u64));
	publish_once(event->id, event, sizeof *event, false);
	return event->id;
}

/* @waker woke @woken. If it was woken itself since @since, adds its waker. */
static __always_inline void lengthen_chain(struct woken *woken, struct task_struct *waker,
					   u64 since)
{
	struct thread *thread = thread_find(waker);
	struct woken *before;

	if (config.waker_depth < 2 || !thread || thread->waking_at < since)
		return;
	before = bpf_task_storage_get(&wakings, waker, 0, 0);
	if (!before)
		return;
	for (u32 i = 1; i < BF_MAX_WAKERS; i++) {
		if (i >= config.waker_depth || i > before->n)
			break;
		woken->wakers[i] = before->wakers[i - 1];
		woken->n = i + 1;
	}
}

/* @task is about to be woken. */
static __always_inline void waking(void *ctx, struct task_struct *task)
{
	struct thread *thread = thread_find(task);
	u64 now, blocked, before, began;
	struct woken *woken;
	bool is_thread;

	if (!thread || !thread->in_at)
		return;
	thread->waking_at = 0;
	now = scheduler_now();
	blocked = off_for(thread, thread->in_at, now, task->se.sum_exec_runtime);
	before = counted_before(thread, thread->in_at);
	if ((s64)blocked <= 0 || now < control.switch_start || now >= control.switch_end ||
	    before + blocked < config.min_block ||
	    !may_be_kept(&thread->stretch, blocked + waking_takes(blocked)))
		return;
	/*
	 * Holding the lock of its wake-ups: allocating can wake kswapd, so not for kswapd itself.
	 */
	woken = bpf_task_storage_get(&wakings, task, 0,
				     task->flags & PF_KSWAPD ? 0 : BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!woken)
		return;
	began = bpf_ktime_get_ns();
	woken->wakers[0] = publish_waker(ctx, task, &is_thread);
	woken->n = 1;
	if (is_thread)
		lengthen_chain(woken, bpf_get_current_task_btf(), now - blocked - before);
	thread->waking_at = now;
	stat_add(BF_STAT_WAKINGS, 1);
	stat_add(BF_STAT_KEEPING_NS, bpf_ktime_get_ns() - began);
}

/* The id of the wakers of @task, which ran until after @in_at; 0: unknown. @event: room for them. */
static __always_inline u64 wakers_of(const struct thread *thread, struct task_struct *task,
				     u64 in_at, struct bf_wakers_event *event)
{
	struct woken *woken = NULL;

	if (thread->waking_at > in_at)
		woken = bpf_task_storage_get(&wakings, task, 0, 0);
	if (!woken || !woken->n) {
		stat_add(BF_STAT_UNKNOWN_WAKERS, 1);
		return 0;
	}
	*event = (struct bf_wakers_event){.type = BF_EVENT_WAKERS, .n = woken->n};
	for (u32 i = 0; i < BF_MAX_WAKERS; i++)
		event->wakers[i] = i < woken->n ? woken->wakers[i] : 0;
	event->id = hash_words(BF_EVENT_WAKERS, event->wakers, BF_MAX_WAKERS);
	publish_once(event->id, event, sizeof *event, false);
	return event->id;
}

#endif
