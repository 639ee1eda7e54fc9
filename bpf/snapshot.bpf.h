/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Snapshots: an unknown process, mapping or table does not cost the stack. The loader gets the walk
 * so far and the memory above, walks on, and adds the missing data to the maps. So a process is
 * unwound from its first sample on, and only needed data is loaded.
 */
#ifndef BPF_SNAPSHOT_BPF_H
#define BPF_SNAPSHOT_BPF_H

#include "bpf/unwind.bpf.h"

/*
 * Reads the memory above the stack pointer, page by page, up to the last readable one. Unreadable
 * pages in between were never touched: they are zero, here as there.
 */
static __always_inline void read_stack(struct bf_snapshot_event *event, void *memory, u32 n_pages)
{
	const u32 page = 4096;
	u32 first = event->walk.sp & (page - 1);

	event->memory_start = event->walk.sp - first;
	event->memory_bytes = page;
	event->memory_unread = first;
	/*
	 * The thread may be in the kernel because it touched a page of its stack for the first
	 * time.
	 */
	if (walk_read(memory, event->memory + first, page - first, event->walk.sp))
		event->memory_unread = page;
	for (u32 i = 1; i < n_pages; i++)
		if (!walk_read(memory, event->memory + i * page, page,
			       event->memory_start + i * page))
			event->memory_bytes = (i + 1) * page;
}

/*
 * The loader can't ask the kernel where a return trampoline leads: it gets the addresses that were
 * on the stack. On arm64 they are first in a register, and their place is unknown. A global
 * function: proved once instead of for each size.
 */
__noinline int rest_of_returns(struct unwind *unwind)
{
	u32 n = 0;

#if defined(__TARGET_ARCH_x86)
	for (; unwind && n < BF_SNAPSHOT_RETURNS && next_return(unwind); n++)
		unwind->rest[n] = unwind->next;
#endif
	return n;
}

static __always_inline u64 unique_id(u64 time)
{
	return ((time << 10) ^ bpf_get_smp_processor_id()) * 0x9e3779b97f4a7c15ULL | 1;
}

/* @bytes: a constant. */
static __always_inline u64 send_snapshot_of(struct unwind *unwind, struct task_struct *task,
					    void *memory, u32 bytes)
{
	struct bf_snapshot_event *event;
	u64 id;

	/* Test each once: Linux 6.1 forgets that it has tested them for NULL. */
	ring_enter(1);
	event = bpf_ringbuf_reserve(&events, sizeof *event + bytes, 0);
	if (!event) {
		event = bpf_ringbuf_reserve(&spare_events, sizeof *event + bytes, 0);
		if (!event) {
			ring_enter(-1);
			return 0;
		}
	}
	ring_enter(-1);
	event->type = BF_EVENT_SNAPSHOT;
	event->n = unwind->stack.n;
	event->walk = unwind->walk;
	bpf_probe_read_kernel(event->frames, sizeof event->frames, unwind->stack.frames);
	event->pid = process_id(task);
	event->exec_id = task->self_exec_id;
	event->process_start = BPF_CORE_READ(task, group_leader, start_boottime);
	event->time = bpf_ktime_get_ns();
	event->id = id = unique_id(event->time);
	event->n_returns = unwind->trampoline ? rest_of_returns(unwind) : 0;
	bpf_probe_read_kernel(event->returns, sizeof event->returns, unwind->rest);
	event->has_code = event->walk.exact &&
			  !walk_read(memory, &event->code, sizeof event->code, event->walk.pc);
	read_stack(event, memory, bytes / 4096);
	ring_enter(1);
	bpf_ringbuf_submit(event, BPF_RB_FORCE_WAKEUP);
	ring_enter(-1);
	return id;
}

/* The most stack that can be above the stack pointer. */
static __always_inline u64 stack_bytes(const struct unwind *unwind, struct task_struct *task)
{
	u64 sp = unwind->walk.sp, top;

	/* For the first thread, the kernel knows where its stack began. */
	top = task->pid == task->tgid ? BPF_CORE_READ(task, mm, start_stack) : thread_data(task);
	return top > sp ? top - sp : BF_SNAPSHOT_LARGE;
}

/* Hands the walk over to the loader. Returns the stack's id; 0: no room. */
static __always_inline u64 send_snapshot(struct unwind *unwind, struct task_struct *task,
					 void *memory)
{
	u64 bytes = stack_bytes(unwind, task) + 4096, id;

	/* The rest of the ring is for data that can't be had again. */
	if (bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) > config.snapshots_high)
		id = 0;
	else if (bytes <= BF_SNAPSHOT_SMALL)
		id = send_snapshot_of(unwind, task, memory, BF_SNAPSHOT_SMALL);
	else if (bytes <= BF_SNAPSHOT_MEDIUM)
		id = send_snapshot_of(unwind, task, memory, BF_SNAPSHOT_MEDIUM);
	else
		id = send_snapshot_of(unwind, task, memory, BF_SNAPSHOT_LARGE);
	stat_add(id ? BF_STAT_SNAPSHOTS : BF_STAT_SNAPSHOTS_FULL, 1);
	return id;
}

#endif
