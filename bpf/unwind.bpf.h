/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * User stacks, however the code was built: from the registers, frame by frame, by the rows that the
 * loader made from .eh_frame, and by frame pointers where there are none (bpf/unwind_step.h).
 *
 * An unknown process, mapping or table ends a walk, see bpf/snapshot.bpf.h.
 */
#ifndef BPF_UNWIND_BPF_H
#define BPF_UNWIND_BPF_H

/* @memory: a task that does not run, for sleepable programs only; NULL: the current one. */
static __always_inline int walk_read(void *memory, void *to, u32 n, u64 from)
{
	if (memory)
		return bpf_copy_from_user_task(to, n, (void *)from, memory, 0);
	return bpf_probe_read_user(to, n, (void *)from);
}

/*
 * @to lies in a struct unwind's stack, and what follows that there is as large: checked by whoever
 * calls, not by the verifier.
 */
static __always_inline void chain_copy(u64 *to, const u64 *from, u32 n)
{
	barrier_var(n); /* newer compilers know that it is small, and leave the mask out */
	bpf_probe_read_kernel(to, (n & BF_MAX_FRAMES) * sizeof *to, from);
}

#include "bpf/machine.h"
#include "bpf/unwind_step.h"

#if defined(__TARGET_ARCH_x86)
#define WALK_MACHINE WALK_X86_64
#elif defined(__TARGET_ARCH_arm64)
#define WALK_MACHINE WALK_ARM64
#endif

/* A macro: a program's context may only be read at constant offsets. */
#if defined(__TARGET_ARCH_x86)
#define walk_begin(walk, registers)                                                                \
	do {                                                                                       \
		(walk)->pc = (registers)->ip;                                                      \
		(walk)->sp = (registers)->sp;                                                      \
		(walk)->fp = (registers)->bp;                                                      \
		(walk)->leaf[BF_REGISTER_AX] = (registers)->ax;                                    \
		(walk)->leaf[BF_REGISTER_DX] = (registers)->dx;                                    \
		(walk)->leaf[BF_REGISTER_CX] = (registers)->cx;                                    \
		(walk)->leaf[BF_REGISTER_BX] = (registers)->bx;                                    \
		(walk)->leaf[BF_REGISTER_SI] = (registers)->si;                                    \
		(walk)->leaf[BF_REGISTER_DI] = (registers)->di;                                    \
		(walk)->leaf[BF_REGISTER_R8] = (registers)->r8;                                    \
		(walk)->leaf[BF_REGISTER_R9] = (registers)->r9;                                    \
		(walk)->leaf[BF_REGISTER_R10] = (registers)->r10;                                  \
		(walk)->leaf[BF_REGISTER_R11] = (registers)->r11;                                  \
		(walk)->leaf[BF_REGISTER_R12] = (registers)->r12;                                  \
		(walk)->leaf[BF_REGISTER_R13] = (registers)->r13;                                  \
		(walk)->leaf[BF_REGISTER_R14] = (registers)->r14;                                  \
		(walk)->leaf[BF_REGISTER_R15] = (registers)->r15;                                  \
	} while (0)
#elif defined(__TARGET_ARCH_arm64)
#define walk_begin(walk, registers)                                                                \
	do {                                                                                       \
		(walk)->pc = (registers)->pc;                                                      \
		(walk)->sp = (registers)->sp;                                                      \
		(walk)->fp = (registers)->regs[29];                                                \
		(walk)->lr = (registers)->regs[30];                                                \
	} while (0)
#endif

/* The registers with which @task entered the kernel. @live: see user_registers(). */
static __always_inline void walk_begin_saved(struct unwind *unwind, struct task_struct *task,
					     struct saved_registers *live)
{
	user_registers(live, task, &unwind->registers);
	walk_begin(&unwind->walk, &unwind->registers);
	barrier(); /* not one code with a walk_begin() of a context */
}

static __always_inline u32 *segment_get(u32 segment)
{
	u32 zero = 0, *words;
	void *inner = bpf_map_lookup_elem(&segments, &segment);

	if (!inner)
		return NULL;
	words = bpf_map_lookup_elem(inner, &zero);
	if (words && words[0] != control.epoch)
		words[0] = control.epoch;
	return words;
}

/* Finds the mapping that contains @pc. Returns why there is none. */
static __always_inline int find_mapping(const struct unwind *unwind, u64 pc,
					const struct bf_mapping **ret)
{
	const struct bf_mapping *mapping;
	const u32 *words = segment_get(unwind->segment);

	if (!words || words[1] != unwind->emptied)
		return BF_END_PROCESS;
	mapping = bf_find_mapping(words, unwind->at, unwind->n_mappings, pc);
	if (mapping && mapping->flags & BF_MAPPING_INDEX) {
		words = segment_get(mapping->table);
		if (!words || words[1] << BF_INDEX_SHIFT >> BF_INDEX_SHIFT !=
				      mapping->flags >> BF_INDEX_SHIFT)
			return BF_END_PROCESS;
		mapping = bf_find_mapping(words, mapping->offset >> 32, mapping->offset, pc);
	}
	*ret = mapping;
	if (mapping)
		return BF_END_NONE;
	return walk_nowhere(&unwind->walk, unwind->is_whole);
}

/* Finds the rule for @offset of the file of @mapping. Returns why there is none. */
static __always_inline int find_rule(const struct bf_mapping *mapping, u64 offset,
				     const struct bf_rule **ret)
{
	u32 index = mapping->table + (offset >> BF_PART_SHIFT) - (mapping->offset >> BF_PART_SHIFT);
	const struct bf_table *part;
	const u32 *words;

	*ret = NULL;
	if (!mapping->table)
		return mapping->flags & BF_MAPPING_NO_ROOM ? BF_END_BUDGET : BF_END_NONE;
	part = bpf_map_lookup_elem(&tables, &index);
	if (!part || !part->segment)
		return BF_END_TABLE;
	if (!part->at)
		return part->segment == BF_NO_ROOM ? BF_END_BUDGET : BF_END_NONE;
	words = segment_get(part->segment);
	if (!words)
		return BF_END_TABLE;
	*ret = bf_find_rule(words, part->at, offset);
	return BF_END_NONE;
}

/* Functions probed at their return, one below the other. */
#define MAX_RETURNS 32

#if defined(__TARGET_ARCH_x86)
#define RETURN_ADDRESS_AT(sp) ((sp)-8) /* of a call, once it is undone */
#else
#define RETURN_ADDRESS_AT(sp) (sp)
#endif

/*
 * A return probe, ours or another tool's, makes the function return to a trampoline. The kernel
 * keeps the real addresses, innermost first, by their places on the stack
 * (kernel/events/uprobes.c).
 */
static __always_inline void find_returns(struct unwind *unwind, struct task_struct *task)
{
	struct uprobe_task *utask;

	unwind->trampoline = 0;
	if (!bpf_core_field_exists(task->utask)) /* CONFIG_UPROBES */
		return;
	utask = BPF_CORE_READ(task, utask);
	unwind->returns = utask ? (u64)BPF_CORE_READ(utask, return_instances) : 0;
	if (unwind->returns)
		unwind->trampoline = BPF_CORE_READ(task, mm, uprobes_state.xol_area, vaddr);
}

/*
 * Reads the next item of the list; 0 at its end. A global function: proved once instead of in each
 * turn.
 */
__noinline int next_return(struct unwind *unwind)
{
	struct return_instance *instance;

	if (!unwind || !unwind->returns)
		return 0;
	instance = (void *)unwind->returns;
	unwind->next.at = BPF_CORE_READ(instance, stack);
	unwind->next.to = BPF_CORE_READ(instance, orig_ret_vaddr);
	unwind->returns = (u64)BPF_CORE_READ(instance, next);
	return 1;
}

/* If the walk is at the trampoline, the function that returned is lower on the stack. */
__noinline int leave_trampoline(struct unwind *unwind)
{
	u64 at;

	if (!unwind || !unwind->trampoline || unwind->walk.pc != unwind->trampoline)
		return 0;
	at = RETURN_ADDRESS_AT(unwind->walk.sp);
	for (int i = 0; i < MAX_RETURNS && next_return(unwind); i++)
		if (unwind->next.at == at) {
			unwind->walk.pc = unwind->next.to;
			break;
		}
	return 0;
}

static __always_inline struct unwind_runtime *unwind_runtime(struct unwind *unwind, u32 i)
{
	return &unwind->runtimes[i & (BF_PROCESS_RUNTIMES - 1)];
}

/* Makes the machine that of runtime @i: words of others stay. Returns its row, or NULL. */
static __always_inline struct bf_runtime *machine_of(struct unwind *unwind, u32 i)
{
	struct bf_machine *machine = &unwind->machine;
	u32 number = unwind_runtime(unwind, i)->number;
	struct bf_runtime *runtime = number ? bpf_map_lookup_elem(&runtimes, &number) : NULL;

	if (!runtime)
		return NULL;
	machine->text = runtime->text;
	machine->owner = runtime->owner;
	machine->base = unwind->n_chained;
	__builtin_memcpy(machine->parameters, runtime->parameters, sizeof runtime->parameters);
	machine->parameters[0] = unwind_runtime(unwind, i)->bias;
	return runtime;
}

/*
 * Has the machine run the range of another runtime. A global function: proved once. It is not
 * called where that is found, which is too deep for it: see machine_some_ops().
 */
__noinline int range_switch(struct unwind *unwind)
{
	struct unwind_runtime *own;
	u32 i;

	if (!unwind)
		return 0;
	i = unwind->range_of;
	own = unwind_runtime(unwind, unwind->in_machine);
	if (unwind->in_machine != NO_RUNTIME)
		__builtin_memcpy(own->kept, unwind->machine.registers, sizeof own->kept);
	own = unwind_runtime(unwind, i);
	unwind->in_machine = i;
	machine_of(unwind, i);
	__builtin_memcpy(unwind->machine.registers, own->kept, sizeof own->kept);
	range_begin(&unwind->machine, &unwind->walk);
	return 0;
}

/*
 * Whether a text has to look at the code where the walk is: that of no file, which may have no
 * mapping yet (@end); @flags: of the mapping, 0 without. A global function: what is tested here
 * does not split the proof of what follows.
 */
__noinline int range_begins(struct unwind *unwind, int end, u32 flags)
{
	u32 i, tries;

	if (!unwind)
		return 0;
	tries = unwind->range_tries;
	unwind->range_tries = 0;
	if (unwind->walk.is_32 || end == BF_END_PROCESS || flags & BF_MAPPING_FILE)
		return 0;
	i = tries ? tries - 1 : unwind->range_last;
	if (i >= BF_PROCESS_RUNTIMES && !tries)
		i = 0;
	for (int k = 0; k < BF_PROCESS_RUNTIMES; k++)
		if (i < BF_PROCESS_RUNTIMES && (!unwind_runtime(unwind, i)->is_range ||
						(tries && i == unwind->range_last)))
			i++;
	if (i >= BF_PROCESS_RUNTIMES)
		return 0;
	unwind->walk.built_in = flags & BF_MAPPING_BUILT_IN ? flags >> BF_OWNER_SHIFT : 0;
	unwind->range_of = i;
	unwind->is_in_range = 1;
	if (i == unwind->in_machine)
		range_begin(&unwind->machine, &unwind->walk);
	return 1;
}

static __always_inline int step(struct unwind *unwind, void *memory)
{
	struct bf_walk *walk = &unwind->walk;
	u64 pc;
	const struct bf_mapping *mapping;
	const struct bf_rule *rule;
	u64 n = unwind->stack.n;
	int end;

	pc = walk->pc - !walk->exact;
	end = find_mapping(unwind, pc, &mapping);
	if (unwind->has_ranges && range_begins(unwind, end, end ? 0 : mapping->flags))
		return BF_END_NONE;
	if (end)
		return end;
	end = find_rule(mapping, pc - mapping->start + mapping->offset, &rule);
	if (end && end != BF_END_BUDGET)
		return end;
	barrier_var(n); /* one register, compared and used: before 6.2 copies are forgotten */
	if (n >= BF_MAX_FRAMES)
		return BF_END_DEPTH;
	unwind->stack.frames[n] = walk_frame(walk, rule);
	unwind->stack.n = n + 1;
	if (end || walk->is_32)
		return end ?: BF_END_32_BIT;
	if (rule)
		return walk_by_rule(walk, rule, memory, WALK_MACHINE);
	return walk_by_frame_pointer(walk, memory, mapping->flags, WALK_MACHINE);
}

static __always_inline struct bf_process *find_process(struct task_struct *task, bool sleepable)
{
	struct bf_process *process;

	if (!sleepable || !config.has_rcu_lock)
		return bpf_task_storage_get(&processes, task->group_leader, 0, 0);
	bpf_rcu_read_lock();
	process = bpf_task_storage_get(&processes, task->group_leader, 0, 0);
	bpf_rcu_read_unlock();
	return process;
}

/* Finds the mappings of @task's process. Returns why there are none. */
static __always_inline int find_mappings(struct task_struct *task, bool sleepable,
					 struct unwind *unwind)
{
	struct bf_process *process = find_process(task, sleepable);

	if (!process || process->exec_id != (u32)task->self_exec_id ||
	    process->start != BPF_CORE_READ(task, group_leader, start_boottime))
		return BF_END_PROCESS;
	if (process->segment == BF_NO_ROOM)
		return BF_END_BUDGET;
	unwind->segment = process->segment;
	unwind->at = process->at;
	unwind->n_mappings = process->n;
	unwind->emptied = process->emptied;
	for (int i = 0; i < BF_PROCESS_RUNTIMES; i++) {
		unwind->runtimes[i].number = process->runtimes[i];
		unwind->runtimes[i].bias = process->biases[i];
	}
	unwind->is_whole = process->is_whole;
	unwind->is_changing = process->is_changing;
	return BF_END_NONE;
}

/* --- frames of runtimes: bpf/machine.h --- */

/* Global functions: the verifier proves them once, not for each turn of a loop. */
__noinline int machine_op(struct bf_machine *machine)
{
	struct bf_text *text;
	u32 number;

	if (!machine)
		return 1;
	number = machine->text;
	text = bpf_map_lookup_elem(&texts, &number);
	return text ? machine_step(machine, text, NULL) : 1;
}

/*
 * Loops are nested, for the verifier goes through each turn of each loop once; but not deeply: on
 * Linux 6.1 each level takes 32 or more of the 512 bytes of stack that all share.
 */
#define OPS_AT_ONCE  32
#define MANY_AT_ONCE 64

__noinline int machine_some_ops(struct bf_machine *machine)
{
	for (int i = 0; machine && i < OPS_AT_ONCE; i++)
		if (machine_op(machine))
			return 1;
	return !machine;
}

__noinline int machine_many_ops(struct bf_machine *machine)
{
	for (int i = 0; machine && i < MANY_AT_ONCE; i++)
		if (machine_some_ops(machine))
			return 1;
	return !machine;
}

__noinline int machine_whole(struct bf_machine *machine)
{
	for (int i = 0; machine && i < BF_MACHINE_OPS / OPS_AT_ONCE / MANY_AT_ONCE; i++)
		if (machine_many_ops(machine))
			return 1;
	return !machine;
}

/* Nothing of any runtime is there yet. */
static __always_inline void chains_clear(struct unwind *unwind)
{
	unwind->anchor = NO_MORE_CHAIN;
	unwind->least = NO_RUNTIME;
	unwind->n_chained = 0;
	unwind->is_placed = 0;
	unwind->is_unread = 0;
	unwind->is_deep = 0;
	unwind->has_ranges = 0;
	unwind->is_in_range = 0;
	unwind->in_machine = NO_RUNTIME;
	unwind->range_last = NO_RUNTIME;
	unwind->range_tries = 0;
	unwind->n_ranges = 0;
	unwind->machine.end = BF_CHAIN_WHOLE;
	unwind->machine.is_cut = 0;
	unwind->machine.turns = 0;
	for (int i = 0; i < BF_PROCESS_RUNTIMES; i++) {
		unwind->runtimes[i].number = 0;
		unwind->runtimes[i].is_range = 0;
		unwind->runtimes[i].at = 0;
		unwind->runtimes[i].end = 0;
	}
}

/* Readies the machine for the thread's chain of runtime @i. Returns whether it has one. */
__noinline int chain_begin(struct unwind *unwind, u32 i)
{
	struct bf_runtime *runtime;
	struct unwind_runtime *own;

	if (!unwind)
		return 0;
	runtime = machine_of(unwind, i);
	if (!runtime)
		return 0;
	own = unwind_runtime(unwind, i);
	own->is_range = runtime->hook == BF_HOOK_RANGE;
	if (own->is_range) {
		__builtin_memset(own->kept, 0, sizeof own->kept);
		unwind->has_ranges = 1;
		return 0;
	}
	machine_begin(&unwind->machine, unwind->tls);
	return 1;
}

/* Finds the chain whose rest has the least anchor; of those without, the first. */
__noinline int chain_choose(struct unwind *unwind)
{
	u64 least = NO_MORE_CHAIN;
	u32 next = NO_RUNTIME;

	if (!unwind)
		return 0;
	for (int i = 0; i < BF_PROCESS_RUNTIMES; i++) {
		const struct unwind_runtime *own = &unwind->runtimes[i];

		if (own->at < own->end && (next == NO_RUNTIME || own->anchor < least)) {
			next = i;
			least = own->anchor;
		}
	}
	unwind->least = next;
	unwind->anchor = least;
	return 0;
}

/* The chain of runtime @i is there: whose it is follows from the walk. */
__noinline int chain_ready(struct unwind *unwind, u32 i)
{
	struct bf_machine *machine;
	struct unwind_runtime *own;

	if (!unwind)
		return 0;
	machine = &unwind->machine;
	own = unwind_runtime(unwind, i);
	machine_finish(machine);
	own->at = machine->base;
	own->end = machine->header;
	own->anchor = chain_anchor(machine->words, own->at, own->end);
	unwind->n_chained = machine->header;
	unwind->is_unread |= machine->end == BF_CHAIN_MEMORY;
	unwind->is_deep |= machine->is_cut || machine->end == BF_CHAIN_BUDGET;
	machine->end = BF_CHAIN_WHOLE;
	machine->is_cut = 0;
	return chain_choose(unwind);
}

/* Takes the chains of the current thread: one after the other. */
__noinline int chains_take(struct unwind *unwind)
{
	for (u32 i = 0; unwind && i < BF_PROCESS_RUNTIMES; i++) {
		if (!unwind->runtimes[i].number)
			return 0;
		if (!chain_begin(unwind, i))
			continue;
		machine_whole(&unwind->machine);
		chain_ready(unwind, i);
	}
	return 0;
}

/* The text has run in a range. Returns why the walk ends. */
static __always_inline int range_done(struct unwind *unwind)
{
	u64 sp = unwind->walk.sp;
	u32 count;
	int end;

	unwind->is_in_range = 0;
	count = range_end(&unwind->machine, &unwind->walk, unwind->stack.frames, unwind->stack.n,
			  &end);
	unwind->stack.n += count;
	unwind->n_ranges += count;
	if (end || count || sp != unwind->walk.sp) {
		unwind->range_last = unwind->in_machine;
		return end;
	}
	unwind->machine.end = BF_CHAIN_WHOLE;
	unwind->range_tries = unwind->in_machine == unwind->range_last ? 1 : unwind->in_machine + 2;
	return BF_END_NONE;
}

_Static_assert(BF_TURN_OPS == 2 * OPS_AT_ONCE, "what range_turn() does");

__noinline int range_over(struct unwind *unwind)
{
	return unwind ? range_done(unwind) : BF_END_PROCESS;
}

/*
 * Walks on in code that may be the runtime's. Returns why the walk ends. Without a loop of its own,
 * and inlined: it is called from a deep place, see machine_some_ops().
 */
static __always_inline int range_turn(struct unwind *unwind)
{
	struct bf_machine *machine = &unwind->machine;

	if (range_take_turn(machine) && !machine_some_ops(machine) && !machine_some_ops(machine))
		return BF_END_NONE;
	return range_over(unwind);
}

/* Adds the activation with the least anchor. @rest: the walk is over. chain_choose() is due then. */
__noinline int chain_merge(struct unwind *unwind, int rest)
{
	struct unwind_runtime *own;
	u32 count;

	if (!unwind || unwind->least >= NO_RUNTIME)
		return 0;
	own = unwind_runtime(unwind, unwind->least);
	count = chain_insert(unwind->machine.words, own->at, unwind->stack.frames, unwind->stack.n,
			     !rest);
	unwind->stack.n += count;
	if (count < chain_count(unwind->machine.words, own->at)) {
		unwind->is_deep = 1;
		own->at = own->end;
	} else {
		own->at += count + 1;
	}
	unwind->is_placed = 1;
	own->anchor = chain_anchor(unwind->machine.words, own->at, own->end);
	return 0;
}

#define ACTIVATIONS_AT_ONCE 3 /* of one native frame */

/* The walk has left a frame: the activations that have their anchors in it come before it. */
static __always_inline void chain_place(struct unwind *unwind)
{
	for (int i = 0; i < ACTIVATIONS_AT_ONCE && unwind->anchor < unwind->walk.sp; i++) {
		chain_merge(unwind, 0);
		chain_choose(unwind);
	}
}

/*
 * A global function: the verifier proves it once instead of for each frame; it refuses an inlined
 * step at 32 frames. (A callback of bpf_loop would also work, from 5.17 on.)
 */
__noinline int step_current(struct unwind *unwind)
{
	return unwind ? step(unwind, NULL) : BF_END_PROCESS;
}

#define STEPS_AT_ONCE 4
#define WALKS_AT_ONCE 32
/* One step more than there are frames, at least: it finds out whether that was all. */
#define MAX_STEPS (BF_MAX_FRAMES + 1 + BF_RANGE_TURNS)

__noinline int walk_some_steps(struct unwind *unwind)
{
	int end = BF_END_NONE;

	if (!unwind)
		return BF_END_PROCESS;
	for (int i = 0; i < STEPS_AT_ONCE && !end; i++) {
		if (unwind->is_in_range) {
			if (unwind->range_of != unwind->in_machine)
				range_switch(unwind);
			end = range_turn(unwind);
			continue;
		}
		if (unwind->trampoline)
			leave_trampoline(unwind);
		end = step_current(unwind);
		chain_place(unwind);
	}
	return end;
}

__noinline int walk_many_steps(struct unwind *unwind)
{
	int end = BF_END_NONE;

	if (!unwind)
		return BF_END_PROCESS;
	for (int i = 0; i < WALKS_AT_ONCE && !end; i++)
		end = walk_some_steps(unwind);
	return end;
}

/* The most activations of a stack: each has a frame of two words and a header. */
#define MAX_ACTIVATIONS (BF_CHAIN_WORDS / 3)
#define MERGES_AT_ONCE	32

__noinline int chain_merge_some(struct unwind *unwind)
{
	for (int i = 0; unwind && i < MERGES_AT_ONCE; i++) {
		if (unwind->least >= NO_RUNTIME)
			return 0;
		chain_merge(unwind, 1);
		chain_choose(unwind);
	}
	return 1;
}

#define NATIVE_AT_LEAST 128 /* frames */

/*
 * A chain without anchors follows all native frames. Where each of its functions has native frames,
 * too, these alone could fill the stack: the outermost leave.
 */
static __always_inline void chain_make_room(struct unwind *unwind)
{
	u32 words = unwind->n_chained, room = NATIVE_AT_LEAST;

	/* Frames of two words that are there already must not be cut in two. */
	if (unwind->is_placed || unwind->n_ranges || unwind->anchor != NO_MORE_CHAIN)
		return;
	if (words < BF_MAX_FRAMES - NATIVE_AT_LEAST)
		room = BF_MAX_FRAMES - words;
	if (unwind->stack.n <= room)
		return;
	unwind->stack.n = room;
	unwind->walk.end = BF_END_DEPTH;
}

/* What the walk did not reach follows where it ended. Says whether frames are missing. */
__noinline int chain_end(struct unwind *unwind)
{
	struct bf_machine *machine;

	if (!unwind || !config.runtimes || !unwind->runtimes[0].number)
		return 0;
	machine = &unwind->machine;
	/* Steps that find a range, or that it is none of the runtime's, give no frame. */
	if (!unwind->walk.end)
		unwind->walk.end = BF_END_DEPTH;
	chain_make_room(unwind);
	for (int i = 0; i < MAX_ACTIVATIONS / MERGES_AT_ONCE + 1; i++)
		if (!chain_merge_some(unwind))
			break;
	unwind->is_unread |= machine->end == BF_CHAIN_MEMORY;
	if (unwind->n_chained || unwind->n_ranges)
		stat_add(BF_STAT_CHAINS, 1);
	else if (!unwind->has_ranges && !unwind->is_unread) /* a thread may run no range's code */
		stat_add(BF_STAT_CHAINS_EMPTY, 1);
	if (unwind->is_unread)
		stat_add(BF_STAT_CHAINS_UNREAD, 1);
	else if (unwind->is_deep || machine->is_cut || machine->end == BF_CHAIN_BUDGET)
		stat_add(BF_STAT_CHAINS_DEEP, 1);
	else
		return 0;
	if (unwind->walk.end == BF_END_ENTRY)
		unwind->walk.end = unwind->is_unread ? BF_END_MEMORY : BF_END_DEPTH;
	return 0;
}

/* --- whole stacks --- */

static __always_inline void unwind_begin(struct unwind *unwind, struct task_struct *task)
{
	unwind->stack.n = 0;
	unwind->stack.sp = 0;
	unwind->walk.exact = 1;
	unwind->walk.is_leaf = 1;
	unwind->walk.guessed = 0;
	unwind->walk.n_stacks = 0;
	unwind->walk.is_32 = is_32_bit(task);
	unwind->walk.bx_at = BF_BX_IN_LEAF;
	unwind->is_changing = 0;
	unwind->walk.end = BF_END_NONE;
	chains_clear(unwind);
	unwind->tls = thread_data(task);
}

/* Walks up the user stack of the current thread, with its registers in @unwind->walk. */
static __always_inline void unwind_current(struct unwind *unwind, struct task_struct *task)
{
	int end;

	unwind_begin(unwind, task);
	find_returns(unwind, task);
	end = find_mappings(task, false, unwind);
	if (config.runtimes)
		chains_take(unwind);
	for (int i = 0; i <= MAX_STEPS / STEPS_AT_ONCE / WALKS_AT_ONCE && !end; i++)
		end = walk_many_steps(unwind);
	unwind->walk.end = end;
	if (unwind->walk.end < BF_END_PROCESS)
		chain_end(unwind);
}

#define RANGE_OPS (BF_RANGE_TURNS * BF_TURN_OPS)

struct blocked_walk {
	struct task_struct *task;
	struct unwind *unwind;
};

static long op_blocked(u32 index, struct blocked_walk *blocked)
{
	struct bf_machine *machine = &blocked->unwind->machine;
	u32 number = machine->text;
	struct bf_text *text = bpf_map_lookup_elem(&texts, &number);

	if (!blocked->task || !text)
		return 1;
	return machine_step(machine, text, blocked->task);
}

static long step_blocked(u32 index, struct blocked_walk *blocked)
{
	struct unwind *unwind = blocked->unwind;

	if (!blocked->task)
		return 1;
	if (unwind->is_in_range) {
		if (unwind->range_of != unwind->in_machine)
			range_switch(unwind);
		if (!op_blocked(index, blocked))
			return 0;
		unwind->walk.end = range_done(unwind);
		return unwind->walk.end != BF_END_NONE;
	}
	if (unwind->trampoline)
		leave_trampoline(unwind);
	unwind->walk.end = step(unwind, blocked->task);
	chain_place(unwind);
	return unwind->walk.end != BF_END_NONE;
}

/* The same for a thread that is not running; only from sleepable programs. */
static __always_inline void unwind_blocked(struct unwind *unwind, struct task_struct *task)
{
	struct blocked_walk blocked = {task, unwind};

	unwind_begin(unwind, task);
	find_returns(unwind, task);
	unwind->walk.end = find_mappings(task, true, unwind);
	for (u32 i = 0; config.runtimes && i < BF_PROCESS_RUNTIMES; i++)
		if (unwind->runtimes[i].number && chain_begin(unwind, i)) {
			bpf_loop(BF_MACHINE_OPS, op_blocked, &blocked, 0);
			chain_ready(unwind, i);
		}
	if (!unwind->walk.end)
		bpf_loop(BF_MAX_FRAMES + 1 + (unwind->has_ranges ? RANGE_OPS : 0), step_blocked,
			 &blocked, 0);
	if (unwind->is_in_range && unwind->range_of == unwind->in_machine)
		unwind->walk.end = range_done(unwind);
	if (unwind->walk.end < BF_END_PROCESS)
		chain_end(unwind);
}

#endif
