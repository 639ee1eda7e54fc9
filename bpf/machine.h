/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The machine that runs frame programs (bpf/wire.h): 16 registers, a window that memory is read
 * into, the process's parameters, and the chain of frames that it puts out. It gives the frames of
 * a runtime in the order of their calls; where they belong among the native frames is said by
 * anchors, so that no symbol and no range of the interpreter's code is needed.
 *
 * Compiled into the BPF programs and for the host. Any text is safe to run over any memory: every
 * index is masked, and who runs it bounds the operations. There is no operation that writes to the
 * thread's memory.
 *
 * The includer defines walk_read(), as for bpf/unwind_step.h, which leaves zeros if it fails, and
 *
 *	static inline void chain_copy(__u64 *to, const __u64 *from, __u32 n);	n: words
 */
#ifndef BPF_MACHINE_H
#define BPF_MACHINE_H

#include "bpf/wire.h"

#define MACHINE_INLINE static inline __attribute__((always_inline))

#define CHAIN_MASK    (BF_CHAIN_WORDS - 1)
#define NO_MORE_CHAIN (~0ULL) /* above every stack pointer */

/* All but its parameters, its text's number, owner and base. @tls: the thread pointer. */
MACHINE_INLINE void machine_begin(struct bf_machine *machine, __u64 tls)
{
	machine->registers[BF_REGISTER_TLS] = tls;
	machine->at = 0;
	machine->header = machine->base;
	machine->n = machine->base + 1;
	machine->end = BF_CHAIN_GOES_ON;
	machine->is_cut = 0;
}

/* Closes the open activation, if it has frames. */
MACHINE_INLINE void machine_stop(struct bf_machine *machine, __u64 anchor)
{
	__u32 header = machine->header, n = machine->n;

	if (n <= header + 1)
		return;
	machine->words[header & CHAIN_MASK] = (anchor & BF_FRAME_CODE) | (__u64)(n - header - 1)
										 << BF_CHAIN_SHIFT;
	machine->header = n;
	machine->n = n + 1;
}

/* A frame that has no room is left out: the anchor of its activation is found all the same. */
MACHINE_INLINE void machine_emit(struct bf_machine *machine, __u64 code, __u64 detail, __u64 check,
				 __u32 kind)
{
	__u32 n = machine->n;

	if (n > BF_CHAIN_WORDS - 3) {
		machine->is_cut = 1;
		return;
	}
	machine->words[n & CHAIN_MASK] =
		BF_FRAME_RUNTIME | (__u64)(kind & (BF_FRAME_KINDS - 1)) << BF_FRAME_KIND_SHIFT |
		(__u64)(machine->owner & (BF_FRAME_OWNERS - 1)) << BF_FRAME_OWNER_SHIFT |
		(code & BF_FRAME_CODE);
	machine->words[(n + 1) & CHAIN_MASK] = (detail & 0xffffffff) | check << 32;
	machine->n = n + 2;
}

MACHINE_INLINE __u64 machine_load(const struct bf_machine *machine, __u32 log, __u32 at)
{
	at &= BF_WINDOW_BYTES - 1;
	switch (log & 3) {
	case 3: return *(const __u64 *)&machine->window[at & ~7u];
	case 2: return *(const __u32 *)&machine->window[at & ~3u];
	case 1: return *(const __u16 *)&machine->window[at & ~1u];
	default: return machine->window[at];
	}
}

MACHINE_INLINE int machine_compare(__u64 x, __u32 relation, __u64 y)
{
	switch (relation) {
	case BF_EQ: return x == y;
	case BF_NE: return x != y;
	case BF_LT: return x < y;
	case BF_GE: return x >= y;
	case BF_ANY: return (x & y) != 0;
	default: return (x & y) == 0;
	}
}

/* Moves the walk on. Stacks grow downwards: one that does not lead up has no end. */
MACHINE_INLINE int machine_caller(struct bf_machine *machine, __u64 pc, __u64 sp, __u64 fp)
{
	if (sp <= machine->registers[BF_REGISTER_WALK_SP]) {
		machine->end = BF_CHAIN_STUCK;
		return 1;
	}
	machine->registers[BF_REGISTER_WALK_PC] = pc;
	machine->registers[BF_REGISTER_WALK_SP] = sp;
	machine->registers[BF_REGISTER_WALK_FP] = fp;
	machine->registers[BF_REGISTER_WALK_EXACT] = 0;
	return 0;
}

/* Runs one operation. Returns 1 once machine->end says why there are no more. */
MACHINE_INLINE int machine_step(struct bf_machine *machine, const struct bf_text *text,
				void *memory)
{
	const struct bf_op *op = &text->ops[machine->at & (BF_TEXT_OPS - 1)];
	__u32 a = op->a & (BF_REGISTERS - 1), b = op->b & (BF_REGISTERS - 1);
	__u32 c = op->c & (BF_REGISTERS - 1);
	__u64 *to = &machine->registers[a];
	__u64 x = machine->registers[b], y = machine->registers[c];
	__s64 value = op->value;

	machine->at++;
	switch (op->code) {
	case BF_OP_READ:
		if (walk_read(memory, &machine->window[a * 8], c * 8 + 8, x + value)) {
			machine->end = BF_CHAIN_MEMORY;
			return 1;
		}
		return 0;
	case BF_OP_TRY: walk_read(memory, &machine->window[a * 8], c * 8 + 8, x + value); return 0;
	case BF_OP_LOAD: *to = machine_load(machine, op->c, value); return 0;
	case BF_OP_SET: *to = value; return 0;
	case BF_OP_PARAMETER: *to = machine->parameters[value & (BF_PARAMETERS - 1)]; return 0;
	case BF_OP_ADDI: *to = x + value; return 0;
	case BF_OP_ANDI: *to = x & value; return 0;
	case BF_OP_MULI: *to = x * value; return 0;
	case BF_OP_SHL: *to = x << (value & 63); return 0;
	case BF_OP_SHR: *to = x >> (value & 63); return 0;
	case BF_OP_ADD: *to = x + y; return 0;
	case BF_OP_SUB: *to = x - y; return 0;
	case BF_OP_XOR: *to = x ^ y; return 0;
	case BF_OP_JUMP: machine->at += value; return 0;
	case BF_OP_IF:
	case BF_OP_IFR:
		if (op->code == BF_OP_IFR)
			value = machine->registers[value & (BF_REGISTERS - 1)];
		if (machine_compare(*to, op->b, value))
			machine->at += (__s32)((__u32)op->c << 24) >> 24;
		return 0;
	case BF_OP_EMIT: machine_emit(machine, *to, x, y, value); return 0;
	case BF_OP_STOP: machine_stop(machine, *to); return 0;
	case BF_OP_CALLER: return machine_caller(machine, *to, x, y);
	case BF_OP_END: machine->end = BF_CHAIN_WHOLE; return 1;
	default: machine->end = BF_CHAIN_TEXT; return 1;
	}
}

/*
 * What follows the last anchor has none if the chain is whole. If it is cut off, nobody knows where
 * those frames belong: they are left out; unless they are the innermost ones, more than have room.
 */
MACHINE_INLINE void machine_finish(struct bf_machine *machine)
{
	if (machine->end == BF_CHAIN_GOES_ON)
		machine->end = BF_CHAIN_BUDGET;
	if (machine->end == BF_CHAIN_WHOLE || (machine->is_cut && machine->header == machine->base))
		machine_stop(machine, BF_NO_ANCHOR);
}

/* The anchor of the activation whose header is words[@at], of @n words. */
MACHINE_INLINE __u64 chain_anchor(const __u64 *words, __u32 at, __u32 n)
{
	__u64 anchor;

	if (at >= n)
		return NO_MORE_CHAIN;
	anchor = words[at & CHAIN_MASK] & BF_FRAME_CODE;
	return anchor == BF_NO_ANCHOR ? NO_MORE_CHAIN : anchor;
}

/* How many words of frames follow the header words[@at]. */
MACHINE_INLINE __u32 chain_count(const __u64 *words, __u32 at)
{
	return words[at & CHAIN_MASK] >> BF_CHAIN_SHIFT & CHAIN_MASK;
}

/*
 * Puts the activation whose header is words[@at] into @frames, of which there are @n; before the
 * last one if @is_before. @frames has room for BF_MAX_FRAMES, and @words for as many after its
 * header. Returns how many words it has put there: the innermost, if there is no room for all.
 */
MACHINE_INLINE __u32 chain_insert(const __u64 *words, __u32 at, __u64 *frames, __u32 n,
				  int is_before)
{
	__u32 count = chain_count(words, at), to;
	__u64 last = 0;

	if (n > BF_MAX_FRAMES || (is_before && !n))
		return 0;
	if (count > BF_MAX_FRAMES - n)
		count = (BF_MAX_FRAMES - n) & ~1U; /* a frame has two */
	if (!count)
		return 0;
	if (is_before)
		last = frames[(n - 1) & CHAIN_MASK];
	to = n - (is_before != 0);
	/* Newer compilers know that the mask changes nothing, and leave it out; the verifier
	 * doesn't. */
	__asm__ volatile("" : "+r"(to));
	chain_copy(frames + (to & CHAIN_MASK), words + ((at + 1) & CHAIN_MASK), count);
	if (is_before)
		frames[(n - 1 + count) & CHAIN_MASK] = last;
	return count;
}

/* --- ranges --- */

/* Readies the machine for a range that @walk has come to. */
MACHINE_INLINE void range_begin(struct bf_machine *machine, const struct bf_walk *walk)
{
	machine_begin(machine, 0);
	for (int i = 0; i < BF_REGISTERS_KEPT && !machine->turns; i++)
		machine->registers[i] = 0;
	machine->registers[BF_REGISTER_WALK_BUILT_IN] =
		walk->built_in && (!machine->owner || walk->built_in == machine->owner);
	machine->registers[BF_REGISTER_WALK_PC] = walk->pc;
	machine->registers[BF_REGISTER_WALK_SP] = walk->sp;
	machine->registers[BF_REGISTER_WALK_FP] = walk->fp;
	machine->registers[BF_REGISTER_WALK_EXACT] = walk->exact;
	machine->registers[BF_REGISTER_WALK_LEAF] = walk->leaf[BF_REGISTER_R13];
	machine->registers[BF_REGISTER_WALK_LEAF_DX] = walk->leaf[BF_REGISTER_DX];
	machine->registers[BF_REGISTER_WALK_LEAF_BX] = walk->leaf[BF_REGISTER_BX];
}

/* Takes one of the turns of the walk. Returns whether there was one left. */
MACHINE_INLINE int range_take_turn(struct bf_machine *machine)
{
	if (machine->turns >= BF_RANGE_TURNS)
		return 0;
	machine->turns++;
	return 1;
}

MACHINE_INLINE int range_reason(const struct bf_machine *machine)
{
	switch (machine->end) {
	case BF_CHAIN_WHOLE: return machine->is_cut ? BF_END_DEPTH : BF_END_NONE;
	case BF_CHAIN_MEMORY: return BF_END_MEMORY;
	case BF_CHAIN_BUDGET: return BF_END_DEPTH;
	default: return BF_END_STUCK;
	}
}

/*
 * The machine has run: puts its frames into @frames, of which there are @n, and moves @walk.
 * Returns how many words it has put there. *@ret: why the walk ends there, or BF_END_NONE; then the
 * range was none of the runtime's if there are no words and @walk->sp is as before.
 */
MACHINE_INLINE __u32 range_end(struct bf_machine *machine, struct bf_walk *walk, __u64 *frames,
			       __u32 n, int *ret)
{
	__u32 count = 0;

	if (machine->end == BF_CHAIN_GOES_ON)
		machine->end = BF_CHAIN_BUDGET;
	machine_stop(machine, BF_NO_ANCHOR);
	if (machine->header > machine->base) {
		count = chain_insert(machine->words, machine->base, frames, n, 0);
		machine->is_cut |= count < chain_count(machine->words, machine->base);
	}
	machine->header = machine->base;
	*ret = range_reason(machine);
	if (!count && machine->registers[BF_REGISTER_WALK_SP] == walk->sp) {
		if (*ret != BF_END_DEPTH)
			*ret = BF_END_NONE;
		return 0;
	}
	walk->pc = machine->registers[BF_REGISTER_WALK_PC];
	walk->sp = machine->registers[BF_REGISTER_WALK_SP];
	walk->fp = machine->registers[BF_REGISTER_WALK_FP];
	walk->exact = machine->registers[BF_REGISTER_WALK_EXACT] != 0;
	walk->is_leaf = 0;
	walk->guessed = 0;
	walk->bx_at = BF_BX_UNKNOWN;
	return count;
}

#endif
