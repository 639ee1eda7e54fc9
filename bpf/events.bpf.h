/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Events named by -e: counters, tracepoints, probes. Each carries its event's number as the cookie,
 * is counted down to its period, and is then handled like every sample.
 *
 * Events happen anywhere, even inside each other and inside this code. So a CPU has several buffers
 * for building a stack, and uses a free one; programs at uprobes can be preempted. While a program
 * is in the ring buffer, whose lock a tracepoint of locks would take again, events on that CPU are
 * lost, and counted as lost.
 */
#ifndef BPF_EVENTS_BPF_H
#define BPF_EVENTS_BPF_H

/* Events seen, from a random start below the period: a CPU takes every period-th one. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, BF_MAX_EVENTS);
	__type(key, u32);
	__type(value, u64);
} events_seen SEC(".maps");

/* The idle thread counts, too: it switches, takes interrupts, wakes others. */
static __always_inline bool event_wanted(struct task_struct *task)
{
	return passes(task) && (!config.by_comm || comm_matches(task)) &&
	       on_wanted_cpu(bpf_get_smp_processor_id());
}

/* Atomic: the next event can interrupt this one. */
static __always_inline bool event_is_due(u32 event, u64 period)
{
	u64 *seen = bpf_map_lookup_elem(&events_seen, &event);

	return seen && __sync_fetch_and_add(seen, 1) % period == period - 1;
}

/* Claims a free buffer. Returns its use count, odd from now on, and the buffer; or NULL. */
static __always_inline u64 *event_scratch_claim(struct scratch_stacks **ret_scratch)
{
	u32 first = bpf_get_smp_processor_id() * BF_EVENT_SCRATCHES;

	for (u32 i = 0; i < BF_EVENT_SCRATCHES; i++) {
		u32 which = i, at = first + i;
		u64 *uses = bpf_map_lookup_elem(&event_uses, &which), before;

		*ret_scratch = bpf_map_lookup_elem(&event_scratches, &at);
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
 * The weight of an event, 0: don't take it. @own: the events that this sample covers by the
 * counter's own account, or 0.
 */
static __always_inline u64 event_weight(u32 event, u64 own)
{
	u64 period = config.event_periods[event];

	if (period == BF_PERIOD_OWN)
		return own;
	return period == BF_PERIOD_NONE || event_is_due(event, period) ? period : 0;
}

/* An event to take: its time and weight. */
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
	key_of_sample(stacks, task, window_of_sample(taken->time));
	stacks->key.event = event;
	if (count(&stacks->key, taken->weight == BF_PERIOD_NONE ? 0 : taken->weight, 0))
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
