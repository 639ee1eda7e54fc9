/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Snapshots: an unknown process, mapping or table does not cost the stack. The loader gets the walk
 * so far and the memory above, walks on, and adds the missing data to the maps. So a process is
 * unwound from its first sample on, and only needed data is loaded.
 *
 * Until the loader answers, a program that waits often comes again with the same stacks. They are
 * recognized by what decides a walk, and share the one snapshot that is on its way.
 */
#ifndef BPF_SNAPSHOT_BPF_H
#define BPF_SNAPSHOT_BPF_H

#include "bpf/unwind.bpf.h"

/*
 * Wakes the loader only for large amounts, for it polls ten times a second anyway; or if it
 * @is_urgent.
 */
static __always_inline u64 wakeup_flags(bool is_urgent)
{
	return is_urgent || control.drain_wanted ||
			       bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) > config.events_high
		       ? BPF_RB_FORCE_WAKEUP
		       : BPF_RB_NO_WAKEUP;
}

/* Below the stack pointer, where functions keep what they use at once: a caller's sp, too. */
#define RED_ZONE 128

/*
 * Reads the memory from the red zone on, page by page, up to the last readable one. Unreadable
 * pages in between were never touched: they are zero, here as there.
 */
static __always_inline void read_stack(struct bf_snapshot_event *event, void *memory, u32 n_pages)
{
	const u32 page = 4096;
	u64 from = event->walk.sp - RED_ZONE;
	u32 first = from & (page - 1);

	event->memory_start = from - first;
	event->memory_bytes = page;
	event->memory_unread = first;
	/*
	 * The thread may be in the kernel because it touched a page of its stack for the first
	 * time.
	 */
	if (walk_read(memory, event->memory + first, page - first, from))
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

/* Of a snapshot that is not recognized; no two are the same. */
static __always_inline u64 unique_id(u64 time)
{
	return ((time << 10) ^ bpf_get_smp_processor_id()) * 0x9e3779b97f4a7c15ULL | 1;
}

/* Whether what has @id is on its way to the loader, or there. */
static __always_inline bool was_sent(u64 id)
{
	return bpf_map_lookup_elem(&seen_stacks, &id);
}

/* Without room it is sent once more, the loader recognizes it. */
static __always_inline void note_sent(u64 id)
{
	u32 one = 1;

	if (!bpf_map_update_elem(&seen_stacks, &id, &one, BPF_NOEXIST))
		__sync_fetch_and_add(&control.seen_used, 1);
}

#define PAGE_WORDS (4096 / sizeof(u64))
#define WALK_WORDS (sizeof(struct bf_walk) / sizeof(u64))
#define HASH_BLOCK 8 /* words in each turn: more are a long way for the verifier */
#define PAGE_TURNS (PAGE_WORDS / HASH_BLOCK)

_Static_assert(WALK_WORDS < PAGE_WORDS, "the walk is hashed as a page is");

/* All ones if @x is below @n, which is below 2^63. No branch: the verifier would go both ways. */
static __always_inline u64 below(u64 x, u64 n)
{
	return -(((x - n) & ~x) >> 63);
}

#if defined(__TARGET_ARCH_arm64)
#define ADDRESS(word)	    ((word) & (BIT_ABOVE_ADDRESSES - 1)) /* signatures are above */
#define BIT_ABOVE_ADDRESSES (1ULL << 48)
#else
#define ADDRESS(word)	    (word)
#define BIT_ABOVE_ADDRESSES (1ULL << 56)
#endif
#define FIRST_32_BIT_CODE (1ULL << 30) /* of JITs, by MAP_32BIT */

/*
 * What of a word may decide a walk: addresses, of code and of the stack, and whether it is 0. The
 * counters and times that lie between them differ from one wait to the next. @first: where the
 * program's code begins; but for MAP_32BIT, addresses are above.
 */
static __always_inline u64 decisive(u64 word, u64 first)
{
	u64 address = ADDRESS(word);
	u64 is_address = below(address - first, BIT_ABOVE_ADDRESSES - first) |
			 below(address - FIRST_32_BIT_CODE, (1ULL << 32) - FIRST_32_BIT_CODE);

	return (address & is_address) | (below(word, 1) & 1);
}

/* Where a loop keeps what it works on: its context has to be on the stack, which is short. */
struct hash_loop {
	struct unwind *unwind;
};

/* Adds a block of unwind->page, without the words before the stack pointer, to unwind->id. */
static __always_inline void hash_block(struct unwind *unwind, u32 turn, u64 first)
{
	struct hash_sums sums;

	hash_begin(&sums, BF_EVENT_SNAPSHOT, turn, unwind->id);
	for (u64 i = 0; i < HASH_BLOCK; i++) {
		u64 at = (turn * HASH_BLOCK + i) % PAGE_WORDS;

		hash_word(&sums, i, decisive(unwind->page[at], unwind->code) & ~below(at, first));
	}
	unwind->id = hash_end(&sums);
}

/* The stack, page by page. */
static long hash_turn(u32 turn, struct hash_loop *loop)
{
	struct unwind *unwind = loop->unwind;
	u64 sp;

	if (!unwind)
		return 1;
	sp = unwind->walk.sp;
	/* What can't be read is 0: it was never touched. */
	if (turn % PAGE_TURNS == 0)
		bpf_probe_read_user(unwind->page, sizeof unwind->page,
				    (void *)(sp / 4096 * 4096 + turn / PAGE_TURNS * 4096));
	hash_block(unwind, turn, turn < PAGE_TURNS ? sp % 4096 / sizeof(u64) : 0);
	return 0;
}

static long hash_walk(u32 turn, struct hash_loop *loop)
{
	if (!loop->unwind)
		return 1;
	hash_block(loop->unwind, turn, 0);
	return 0;
}

__noinline u64 hash_pair(u64 a, u64 b)
{
	const u64 words[] = {a, b};

	return hash_words(BF_EVENT_SNAPSHOT, words, 2);
}

/*
 * The id of the current thread's walk from its current frame, the first @n_pages of the stack from
 * there considered: the same as that of another, if the loader has answered neither. unwind->id:
 * the hash of the frames so far. A global function: proved once.
 */
__noinline u64 recognize(struct unwind *unwind, u32 n_pages)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct hash_loop loop = {unwind};

	if (!unwind)
		return 0;
	unwind->code = BPF_CORE_READ(task, mm, start_code);
	unwind->id = hash_pair(unwind->id, BPF_CORE_READ(task, group_leader, start_boottime));
	unwind->id = hash_pair(unwind->id, (u64)task->tgid << 32 | (u32)task->self_exec_id);
	unwind->id = hash_pair(unwind->id, (u64)control.answers << 32 | unwind->walk.exact << 16 |
						   unwind->walk.guessed);
	for (u32 i = 0; i < HASH_BLOCK; i++)
		unwind->page[WALK_WORDS + i] = 0;
	bpf_probe_read_kernel(unwind->page, sizeof unwind->walk, &unwind->walk);
	bpf_loop((WALK_WORDS + HASH_BLOCK - 1) / HASH_BLOCK, hash_walk, &loop, 0);
	bpf_loop(n_pages * PAGE_TURNS, hash_turn, &loop, 0);
	return unwind->id;
}

/*
 * The rest of the chains, one after the other, after the frames so far: the loader has no memory of
 * the runtimes'. Too long ones, and what has no anchors, are left out. Returns how many words.
 */
__noinline int append_chains(struct unwind *unwind)
{
	u32 n, total = 0;

	if (!unwind || unwind->anchor == NO_MORE_CHAIN)
		return 0;
	n = unwind->stack.n;
	for (int i = 0; i < BF_PROCESS_RUNTIMES; i++) {
		const struct unwind_runtime *own = &unwind->runtimes[i];
		u32 at = own->at, count = own->end - at, to = n + total;

		if (at >= own->end || own->anchor == NO_MORE_CHAIN)
			continue;
		if (to > BF_SNAPSHOT_WORDS || count > BF_SNAPSHOT_WORDS - to)
			continue;
		chain_copy(unwind->stack.frames + (to & CHAIN_MASK),
			   unwind->machine.words + (at & CHAIN_MASK), count);
		total += count;
	}
	return total;
}

/* @n_chain: words after the stack's. @bytes: a constant. Returns @id, 0 when there is no room. */
static __always_inline u64 send_snapshot_of(struct unwind *unwind, struct task_struct *task,
					    void *memory, u32 n_chain, u32 bytes, u64 id)
{
	struct bf_snapshot_event *event;

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
	event->n_chain = n_chain;
	event->walk = unwind->walk;
	bpf_probe_read_kernel(event->words, sizeof event->words, unwind->stack.frames);
	event->pid = process_id(task);
	event->exec_id = task->self_exec_id;
	event->process_start = BPF_CORE_READ(task, group_leader, start_boottime);
	event->time = bpf_ktime_get_ns();
	event->id = id;
	event->n_returns = unwind->trampoline ? rest_of_returns(unwind) : 0;
	bpf_probe_read_kernel(event->returns, sizeof event->returns, unwind->rest);
	event->has_code = event->walk.exact &&
			  !walk_read(memory, &event->code, sizeof event->code, event->walk.pc);
	read_stack(event, memory, bytes / 4096);
	ring_enter(1);
	bpf_ringbuf_submit(event, wakeup_flags(!config.is_frugal));
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

/* A chain that is not in the stack yet is in none of what recognizes it. */
static __always_inline bool is_recognizable(const struct unwind *unwind, void *memory)
{
	return config.has_loop && !memory && unwind->anchor == NO_MORE_CHAIN;
}

/* Hands the walk over to the loader. Returns the stack's id; 0: no room. */
static __always_inline u64 send_snapshot(struct unwind *unwind, struct task_struct *task,
					 void *memory)
{
	u64 need = stack_bytes(unwind, task) + RED_ZONE + 4096, id;
	u32 bytes = need <= BF_SNAPSHOT_SMALL	 ? BF_SNAPSHOT_SMALL
		    : need <= BF_SNAPSHOT_MEDIUM ? BF_SNAPSHOT_MEDIUM
						 : BF_SNAPSHOT_LARGE;
	u32 n_chain;

	if (is_recognizable(unwind, memory)) {
		unwind->stack.end = unwind->walk.end;
		unwind->stack.time = 0;
		unwind->id = hash_frames(&unwind->stack);
		id = recognize(unwind, bytes / 4096);
		if (was_sent(id))
			return id;
	} else {
		id = unique_id(bpf_ktime_get_ns());
	}
	/* The rest of the ring is for what can't be had again. */
	if (unwind->stack.n > BF_SNAPSHOT_WORDS ||
	    bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) > config.snapshots_high) {
		stat_add(BF_STAT_SNAPSHOTS_FULL, 1);
		return 0;
	}
	n_chain = append_chains(unwind);
	if (bytes == BF_SNAPSHOT_SMALL)
		id = send_snapshot_of(unwind, task, memory, n_chain, BF_SNAPSHOT_SMALL, id);
	else if (bytes == BF_SNAPSHOT_MEDIUM)
		id = send_snapshot_of(unwind, task, memory, n_chain, BF_SNAPSHOT_MEDIUM, id);
	else
		id = send_snapshot_of(unwind, task, memory, n_chain, BF_SNAPSHOT_LARGE, id);
	/* Asked again: with the answer kept, the verifier would go both ways through all above. */
	if (id && is_recognizable(unwind, memory))
		note_sent(id);
	stat_add(id ? BF_STAT_SNAPSHOTS : BF_STAT_SNAPSHOTS_FULL, 1);
	return id;
}

#endif
