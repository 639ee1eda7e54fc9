/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Events that -e names: counters, tracepoints, probes. Each comes with the number of its event as
 * cookie, is counted down to its period, and goes the way of every sample.
 *
 * They arise anywhere, in the middle of each other and of what this very code does. So a stack is
 * put together in one of a few places a CPU, whichever is free: programs at uprobes can be
 * preempted. And while a program is in the ring buffer, whose lock a tracepoint of locks would want
 * once more, what comes on that CPU is lost, and counted as such.
 */
#ifndef BPF_EVENTS_BPF_H
#define BPF_EVENTS_BPF_H

/* Events seen, from a random start below the period: a CPU's every period-th one is taken. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, BF_MAX_EVENTS);
	__type(key, u32);
	__type(value, u64);
} events_seen SEC(".maps");

/* The idle thread too: it switches, takes interrupts, wakes others. */
static __always_inline bool event_wanted(struct task_struct *task)
{
	return passes(task) && (!config.by_comm || comm_matches(task)) &&
	       on_wanted_cpu(bpf_get_smp_processor_id());
}

/* Not a load and a store: on its way an event can be interrupted by the next. */
static __always_inline bool event_is_due(u32 event, u64 period)
{
	u64 *seen = bpf_map_lookup_elem(&events_seen, &event);

	return seen && __sync_fetch_and_add(seen, 1) % period == period - 1;
}

/* Claims a free place: returns its count of uses, odd from now on, and the place; or NULL. */
static __always_inline u64 *event_scratch_claim(struct scratch_stacks **ret_scratch)
{
	for (u32 i = 0; i < N_EVENT_SCRATCHES; i++) {
		u32 which = i;
		u64 *uses = bpf_map_lookup_elem(&event_uses, &which), before;

		*ret_scratch = bpf_map_lookup_elem(&event_scratches, &which);
		if (!uses || !*ret_scratch)
			return NULL;
		before = *(volatile u64 *)uses;
		if (before % 2 == 0 &&
		    __sync_val_compare_and_swap(uses, before, before + 1) == before)
			return uses;
	}
	return NULL;
}

/*
 * What an event weighs, 0: it is not taken. @own: what the counter says that this sample stands
 * for, or 0.
 */
static __always_inline u64 event_weight(u32 event, u64 own)
{
	u64 period = config.event_periods[event];

	if (period == BF_PERIOD_OWN)
		return own;
	return period == BF_PERIOD_NONE || event_is_due(event, period) ? period : 0;
}

/* An event that is taken: when, and what it weighs. */
struct taken {
	u64 time, weight;
};

static __always_inline bool event_begins(struct task_struct *task, u32 event, u64 own,
					 struct taken *taken)
{
	if (!control.window_start || !event_wanted(task))
		return false;
	taken->time = bpf_ktime_get_ns();
	if (taken->time < control.window_start || taken->time >= control.window_end)
		return false;
	taken->weight = event_weight(event, own);
	return taken->weight;
}

static __always_inline void event_count(struct task_struct *task, struct scratch_stacks *stacks,
					u32 event, const struct taken *taken)
{
	struct bf_count_key key = {};

	key_init(&key, task);
	key.kernel_stack = stacks->kernel.id;
	key.user_stack = stacks->user.stack.id;
	key.exec_id = stacks->user.exec_id;
	key.event = event;
	key.window = window_of_sample(taken->time);
	if (count(&key, taken->weight == BF_PERIOD_NONE ? 0 : taken->weight))
		publish_stacks(stacks);
}

/* A macro: @registers may be the program's context, see walk_begin(). */
#define take_event(ctx, registers, own)                                                            \
	do {                                                                                       \
		u32 event = bpf_get_attach_cookie(ctx) & (BF_MAX_EVENTS - 1);                      \
		struct task_struct *task = bpf_get_current_task_btf();                             \
		struct scratch_stacks *scratch = NULL;                                             \
		u64 *uses;                                                                         \
		struct taken taken;                                                                \
                                                                                                   \
		if (!event_begins(task, event, own, &taken))                                       \
			break;                                                                     \
		uses = ring_is_busy() ? NULL : event_scratch_claim(&scratch);                      \
		if (!uses) {                                                                       \
			stat_add(BF_STAT_EVENTS_NESTED, 1);                                        \
			break;                                                                     \
		}                                                                                  \
		capture_current(ctx, registers, scratch);                                          \
		event_count(task, scratch, event, &taken);                                         \
		__sync_fetch_and_add(uses, 1);                                                     \
	} while (0)

#endif
