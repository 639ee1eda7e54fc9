/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From an event to a row of the profile: captures both halves of the stack, identifies each by the
 * hash of its frames, and counts. Frames travel to the loader once per stack; a sample whose row
 * exists costs one lookup and two additions.
 */
#ifndef BPF_SAMPLE_BPF_H
#define BPF_SAMPLE_BPF_H

#define hash_keys() config.hash_keys
#define HASH_PROVED __noinline
#include "bpf/hash.h"
#include "bpf/snapshot.bpf.h"

static __always_inline bool send_now(void *event, u64 size, bool is_urgent)
{
	long r;

	ring_enter(1);
	r = bpf_ringbuf_output(&events, event, size, wakeup_flags(is_urgent));
	if (r)
		r = bpf_ringbuf_output(&spare_events, event, size, BPF_RB_FORCE_WAKEUP);
	ring_enter(-1);
	if (!r)
		return true;
	stat_add(BF_STAT_EVENTS_FULL, 1);
	return false;
}

static __always_inline bool send(void *event, u64 size)
{
	return send_now(event, size, false);
}

static __always_inline void finish_stack(struct bf_stack_event *stack, u32 n, u32 end)
{
	stack->type = BF_EVENT_STACK;
	stack->n = n > BF_MAX_FRAMES ? BF_MAX_FRAMES : n;
	stack->end = end;
	stack->id = n || end > BF_END_ENTRY ? hash_frames(stack) : 0;
}

/* Sends @event with id @id, unless it was sent before. */
static __always_inline void publish_once(u64 id, void *event, u64 size, bool is_urgent)
{
	if (was_sent(id))
		return;
	if (send_now(event, size, is_urgent))
		note_sent(id);
	else
		control.unsent = 1;
}

static __always_inline void publish_stack(struct bf_stack_event *stack)
{
	u32 n = stack->n & BF_MAX_FRAMES /* for the verifier */;

	/* Names of a runtime's frames are in memory that may be gone soon. */
	if (stack->id && stack->type == BF_EVENT_STACK)
		publish_once(stack->id, stack,
			     __builtin_offsetof(struct bf_stack_event, frames) + n * sizeof(u64),
			     stack->pid);
}

static __always_inline struct scratch_stacks *scratch_get(u32 which)
{
	u32 at = bpf_get_smp_processor_id() * BF_SCRATCHES + which;

	return bpf_map_lookup_elem(&scratch, &at);
}

#define PF_KSWAPD 0x00020000

static __always_inline void finish_kernel(struct bf_stack_event *stack, long bytes)
{
	u32 n = bytes > 0 ? bytes / sizeof(u64) : 0;

	stack->time = 0;
	stack->process_start = 0;
	stack->pid = stack->exec_id = 0;
	stack->sp = 0;
	finish_stack(stack, n, n < config.kernel_depth ? BF_END_ENTRY : BF_END_DEPTH);
}

static __always_inline void publish_last_stack(struct last_stack *last)
{
	struct bf_stack_event *stack = (void *)last->stack;
	u32 n = stack->n & LAST_FRAMES;

	if (stack->id && stack->type == BF_EVENT_STACK)
		publish_once(stack->id, stack,
			     __builtin_offsetof(struct bf_stack_event, frames) + n * sizeof(u64),
			     stack->pid);
}

/* The stack of @task from when it began to exec or exit, if it is still in there. */
static __always_inline struct last_stack *last_stack(struct task_struct *task, u64 pc, u64 sp)
{
	struct last_stack *last = bpf_task_storage_get(&last_stacks, task, 0, 0);

	return last && last->pc == pc && last->sp == sp ? last : NULL;
}

static __always_inline void name_owner(struct bf_stack_event *stack, struct task_struct *task,
				       bool has_owner)
{
	stack->process_start = stack->pid = stack->exec_id = 0;
	if (!has_owner)
		return;
	stack->process_start = BPF_CORE_READ(task, group_leader, start_boottime);
	stack->pid = process_id(task);
	stack->exec_id = task->self_exec_id;
}

/* What the loader needs to have memory brought back that was missing: of each thread, for many wait
 * in one place. No branch, see below(). */
static __always_inline u64 name_missing(struct unwind *unwind)
{
	u64 is_missing = below(unwind->walk.end ^ BF_END_MEMORY, 1);

	unwind->stack.sp = unwind->walk.sp & is_missing;
	unwind->stack.tls = unwind->tls;
	return is_missing;
}

/* @memory: as for walk_read(). */
static __always_inline void finish_user(struct unwind *unwind, struct task_struct *task,
					void *memory)
{
	u64 id = 0;

	unwind->exec_id = task->self_exec_id;
	if (unwind->walk.end >= BF_END_PROCESS) {
		id = send_snapshot(unwind, task, memory);
		/* A single address says more than nothing. */
		if (!id && !unwind->stack.n)
			unwind->stack.frames[unwind->stack.n++] = unwind->walk.pc;
		if (!id)
			chain_end(unwind);
	}
	if (!id) {
		unwind->stack.time =
			unwind->is_changing ? bpf_ktime_get_ns() & ~(BF_SLICE_NS - 1) : 0;
		name_owner(&unwind->stack, task,
			   unwind->n_chained | unwind->n_ranges | name_missing(unwind));
		finish_stack(&unwind->stack, unwind->stack.n, unwind->walk.end);
		return;
	}
	unwind->stack.type = BF_EVENT_SNAPSHOT;
	unwind->stack.id = id;
}

/* The current thread's user stack; @unwind->walk has its registers. */
static __always_inline void capture_walk(struct unwind *unwind, struct task_struct *task)
{
	u64 pc = unwind->walk.pc, sp = unwind->walk.sp;
	struct last_stack *last;

	unwind_current(unwind, task);
	if (unwind->walk.end != BF_END_ENTRY) {
		last = last_stack(task, pc, sp);
		if (last) {
			publish_last_stack(last);
			unwind->exec_id = last->exec_id;
			unwind->stack.type = BF_EVENT_SNAPSHOT; /* nothing to publish */
			unwind->stack.id = ((struct bf_stack_event *)last->stack)->id;
			return;
		}
	}
	finish_user(unwind, task, NULL);
}

/*
 * How long an exec or exit takes, on a busy machine. One that takes longer than QUICK_LEAVING_NS
 * by itself belongs to a process large enough to be known.
 */
#define LEAVING_NS 16000000
#define QUICK_LEAVING_NS 4000000
/* A timer is set somewhat later than its moment is drawn, on a busy machine. */
#define TICK_LATE_NS 1000000

/* Whether this CPU may be sampled within @ns. */
static __always_inline bool sample_is_near(u64 ns)
{
	const struct bf_ticks *of_cpu = &ticks[bpf_get_smp_processor_id() & (BF_MAX_CPUS - 1)];
	u64 now = bpf_ktime_get_ns();

	for (u32 i = 0; i < BF_TIMERS; i++) {
		u64 at = of_cpu->at[i];

		/* After a tick that has passed, the next one is further away. */
		if (!at || at + TICK_LATE_NS - now < ns + TICK_LATE_NS)
			return true;
	}
	return false;
}

/* Anything that interrupts this finds no stack. */
static __always_inline void keep_last_stack(struct task_struct *task, u64 pc, u64 sp,
					    const struct unwind *unwind)
{
	struct last_stack *last =
		bpf_task_storage_get(&last_stacks, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	struct bf_stack_event *stack;

	if (!last)
		return;
	stack = (void *)last->stack;
	last->pc = 0;
	barrier();
	last->sp = sp;
	last->exec_id = unwind->exec_id;
	bpf_probe_read_kernel(stack, sizeof last->stack, &unwind->stack);
	if (stack->n > LAST_FRAMES) {
		stack->n = LAST_FRAMES;
		stack->end = BF_END_DEPTH;
	}
	barrier();
	last->pc = pc;
}

/* The current thread is about to lose its memory, by exec or exit. */
static __always_inline void remember_stack(struct task_struct *task)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct last_walk *last = bpf_map_lookup_elem(&last_walks, &cpu);
	u64 pc, sp;

	/* The command may have the wanted name only after the exec. */
	if (!last || !config.user_stacks || is_kernel_thread(task) || !measured(task) ||
	    last->is_busy)
		return;
	last->is_busy = 1;
	barrier();
	walk_begin_saved(&last->user, task, NULL);
	pc = last->user.walk.pc;
	sp = last->user.walk.sp;
	unwind_current(&last->user, task);
	/* A snapshot is too large to take of every process for the few that are sampled. */
	if (last->user.walk.end < BF_END_PROCESS || sample_is_near(QUICK_LEAVING_NS)) {
		finish_user(&last->user, task, NULL);
		keep_last_stack(task, pc, sp, &last->user);
	}
	barrier();
	last->is_busy = 0;
}

static __always_inline void capture_kernel(void *ctx, struct scratch_stacks *stacks)
{
	long bytes = 0;

	if (config.kernel_stacks)
		bytes = bpf_get_stack(ctx, stacks->kernel.frames, BF_KERNEL_FRAMES * sizeof(u64),
				      0);
	finish_kernel(&stacks->kernel, bytes);
}

/*
 * The current thread's user half. @registers: those that a sample interrupted, which may be the
 * kernel's; NULL: the thread is in the kernel.
 */
static __always_inline void capture_user(struct saved_registers *registers,
					 struct scratch_stacks *stacks)
{
	struct task_struct *task = bpf_get_current_task_btf();

	stacks->user.stack.id = 0;
	stacks->user.exec_id = task->self_exec_id;
	if (!config.user_stacks || !task->pid || is_kernel_thread(task))
		return;
	if (registers && in_user_mode(registers))
		walk_begin(&stacks->user.walk, registers);
	else
		walk_begin_saved(&stacks->user, task, registers);
	capture_walk(&stacks->user, task);
}

/* Both halves of the current thread's stack. */
static __always_inline void capture_current(void *ctx, struct saved_registers *registers,
					    struct scratch_stacks *stacks)
{
	capture_kernel(ctx, stacks);
	capture_user(registers, stacks);
}

static __always_inline void key_init(struct bf_count_key *key, struct task_struct *task)
{
	*key = (struct bf_count_key){};
	key->process_start = BPF_CORE_READ(task, group_leader, start_boottime);
	key->pid = process_id(task);
	key->tid = config.keep_tid ? thread_id(task) : 0;
	key->exec_id = task->self_exec_id;
	key->kernel_thread = is_kernel_thread(task);
	BPF_CORE_READ_INTO(&key->comm, task, comm);
}

static __always_inline bool count_existing(void *map, struct bf_count_key *key, u64 nanoseconds,
					   u64 waits)
{
	struct bf_count *count = bpf_map_lookup_elem(map, key);

	if (!count)
		return false;
	__sync_fetch_and_add(&count->samples, 1);
	if (nanoseconds)
		__sync_fetch_and_add(&count->nanoseconds, nanoseconds);
	if (waits)
		__sync_fetch_and_add(&count->waits, waits);
	return true;
}

static __always_inline void row_added(u32 which)
{
	u32 used = __sync_fetch_and_add(&control.counts_used[which], 1), type = BF_EVENT_DRAIN;

	if (used != config.counts_high)
		return;
	control.drain_wanted = 1;
	send(&type, sizeof type);
}

/* Returns whether the row is new. */
static __always_inline bool count_in(void *map, u32 which, struct bf_count_key *key,
				     u64 nanoseconds, u64 waits)
{
	struct bf_count first = {.samples = 1, .nanoseconds = nanoseconds, .waits = waits};

	if (count_existing(map, key, nanoseconds, waits))
		return false;
	first.since = bpf_ktime_get_ns();
	if (!bpf_map_update_elem(map, key, &first, BPF_NOEXIST)) {
		row_added(which);
		return true;
	}
	/* Another CPU was first, or the map is full. */
	if (!count_existing(map, key, nanoseconds, waits))
		stat_add(BF_STAT_COUNTS_FULL, 1);
	return false;
}

/* The row of a sample of the current thread, whose stacks are captured. */
static __always_inline void key_of_sample(struct scratch_stacks *stacks, struct task_struct *task,
					  u32 window)
{
	key_init(&stacks->key, task);
	stacks->key.kernel_stack = stacks->kernel.id;
	stacks->key.user_stack = stacks->user.stack.id;
	stacks->key.exec_id = stacks->user.exec_id;
	stacks->key.window = window;
}

/* Adds to the row @key. Returns whether it is new. */
static __always_inline bool count_row(struct bf_count_key *key, u64 nanoseconds, u64 waits)
{
	if (control.epoch & 1)
		return count_in(&counts_b, 1, key, nanoseconds, waits);
	return count_in(&counts_a, 0, key, nanoseconds, waits);
}

/*
 * Adds one sample to the row @key. Returns whether its stacks may be new: while some could not be
 * sent, each sample is another attempt.
 */
static __always_inline bool count(struct bf_count_key *key, u64 nanoseconds, u64 waits)
{
	stat_add(BF_STAT_SAMPLES, 1);
	return count_row(key, nanoseconds, waits) || *(volatile u32 *)&control.unsent;
}

static __always_inline void publish_stacks(struct scratch_stacks *stacks)
{
	publish_stack(&stacks->kernel);
	publish_stack(&stacks->user.stack);
}

#endif
