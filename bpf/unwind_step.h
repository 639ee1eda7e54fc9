/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One step up a user stack: find the rule for the code, apply it. Compiled into the BPF programs
 * and, for walking snapshots and for tests, for the host. No loop over frames here, no maps.
 *
 * The thread's memory is read only through walk_read(), which the includer defines:
 *
 *	static inline int walk_read(void *memory, void *to, __u32 n, __u64 from);	0: done
 *
 * The verifier requires masked indexes (BF_SEGMENT_WORDS is a power of two) and loops with constant
 * bounds.
 */
#ifndef BPF_UNWIND_STEP_H
#define BPF_UNWIND_STEP_H

#include "bpf/wire.h"

enum walk_machine { WALK_X86_64, WALK_ARM64 };

/*
 * Where the kernel keeps the interrupted registers, relative to the stack pointer of a signal
 * frame.
 */
#define X86_SIGNAL_REGISTERS 40	 /* struct ucontext: uc_mcontext.gregs, as enum bf_register */
#define ARM64_SIGNAL_FP	     544 /* struct rt_sigframe: uc.uc_mcontext.regs[29], [30], sp, pc */

#define ARM64_ADDRESS_BITS 48 /* above them is the signature of a signed return address */

#define WALK_LOWEST_CODE  65536 /* nothing is mapped below: a program starts with a number there */
#define WALK_HIGHEST_BITS 56	/* … nor above 2^56, on any machine */
#define WALK_MAX_JUMP	  (1ULL << 30) /* no frame is larger: a longer jump is wrong */
#define WALK_NEAR_FRAME	  65536	       /* a frame pointer that leads no further is one */
#define WALK_MIN_STACK	  4096	       /* nearer addresses are on the same stack */
#define WALK_MAX_STACKS	  16

/* Registers that calls may change (System V ABI, AMD64, 3.2.1). */
#define X86_SCRATCH                                                                                \
	(1u << BF_REGISTER_AX | 1u << BF_REGISTER_CX | 1u << BF_REGISTER_DX |                      \
	 1u << BF_REGISTER_SI | 1u << BF_REGISTER_DI | 1u << BF_REGISTER_R8 |                      \
	 1u << BF_REGISTER_R9 | 1u << BF_REGISTER_R10 | 1u << BF_REGISTER_R11)

static inline __attribute__((always_inline)) __u32 segment_word(const __u32 *words, __u32 at)
{
	return words[at & (BF_SEGMENT_WORDS - 1)];
}

/*
 * The rule for the code at file offset @offset, from the part that begins at word @at of segment
 * @words. NULL if nothing is known about it.
 */
static inline __attribute__((always_inline)) const struct bf_rule *
bf_find_rule(const __u32 *words, __u32 at, __u64 offset)
{
	__u32 page = (offset & ((1ULL << BF_PART_SHIFT) - 1)) >> BF_PAGE_SHIFT;
	__u32 in_page = offset & ((1 << BF_PAGE_SHIFT) - 1);
	__u32 key = in_page << BF_ROW_RULE_BITS | ((1u << BF_ROW_RULE_BITS) - 1);
	__u32 low, n, rule;

	if (page >= segment_word(words, at))
		return 0;
	low = segment_word(words, at + 1 + page);
	n = segment_word(words, at + 2 + page) - low;
	low += at;
	/* The last row not after @key; BF_PAGE_SHIFT halvings leave one of a page's rows. */
	if (!n || segment_word(words, low) > key)
		return 0;
	for (int i = 0; i <= BF_PAGE_SHIFT && n > 1; i++) {
		__u32 half = n >> 1;

		if (segment_word(words, low + half) <= key)
			low += half;
		n -= half;
	}
	rule = segment_word(words, low) & ((1u << BF_ROW_RULE_BITS) - 1);
	if (!rule)
		return 0;
	/* Words that end within the segment. */
	rule = (at + rule) & (BF_SEGMENT_WORDS - 1);
	if (rule > BF_SEGMENT_WORDS - BF_RULE_WORDS)
		return 0;
	return (const struct bf_rule *)(words + rule);
}

/* The mapping that contains @pc, of the @n at word @at of segment @words; NULL: none. */
static inline __attribute__((always_inline)) const struct bf_mapping *
bf_find_mapping(const __u32 *words, __u32 at, __u32 n, __u64 pc)
{
	const struct bf_mapping *mappings = (const struct bf_mapping *)words;
	const __u32 mask = BF_SEGMENT_WORDS * 4 / sizeof *mappings - 1;
	__u32 low = at * 4 / sizeof *mappings;

	for (int i = 0; i < 11 && n > 1; i++) { /* 2^10 = BF_MAX_MAPPINGS */
		__u32 half = n >> 1;

		if (mappings[(low + half) & mask].start <= pc)
			low += half;
		n -= half;
	}
	mappings += low & mask;
	return n && pc >= mappings->start && pc < mappings->end ? mappings : 0;
}

/*
 * The frame at @walk, in its stored form. An address that a signal interrupted is not a return
 * address. One that was never called, but put on the stack to be returned to, may be at a
 * function's first byte.
 */
static inline __attribute__((always_inline)) __u64 walk_frame(const struct bf_walk *walk,
							      const struct bf_rule *rule)
{
	if (walk->is_leaf)
		return walk->pc;
	if (walk->exact || (rule && (rule->cfa == BF_CFA_SIGNAL || rule->cfa == BF_CFA_PLANTED)))
		return walk->pc | BF_FRAME_EXACT;
	return walk->pc;
}

static inline __attribute__((always_inline)) int
leave_signal_frame(struct bf_walk *walk, void *memory, enum walk_machine machine)
{
	__u64 registers[4]; /* arm64: x29, x30, sp, pc */

	if (machine == WALK_X86_64) {
		if (walk_read(memory, walk->leaf, sizeof walk->leaf,
			      walk->sp + X86_SIGNAL_REGISTERS))
			return BF_END_MEMORY;
		walk->bx_at = BF_BX_IN_LEAF;
		walk->fp = walk->leaf[BF_REGISTER_BP];
		walk->sp = walk->leaf[BF_REGISTER_SP];
		walk->pc = walk->leaf[BF_REGISTER_IP];
	} else {
		if (walk_read(memory, registers, 32, walk->sp + ARM64_SIGNAL_FP))
			return BF_END_MEMORY;
		walk->fp = registers[0];
		walk->lr = registers[1];
		walk->sp = registers[2];
		walk->pc = registers[3];
	}
	walk->exact = 1;
	walk->is_leaf = 0;
	walk->guessed = 0;
	return BF_END_NONE;
}

/*
 * The value of register @reg in the frame at @walk. Code that relies on a register that calls may
 * change, while it calls, is hand-written, and so is its callee: that one keeps the register.
 */
static inline __attribute__((always_inline)) int read_register(const struct bf_walk *walk, __u8 reg,
							       void *memory, __u64 *ret)
{
	reg &= 15;
	if (walk->exact || (X86_SCRATCH >> reg & 1) ||
	    (reg == BF_REGISTER_BX && walk->bx_at == BF_BX_IN_LEAF))
		*ret = walk->leaf[reg];
	else if (reg != BF_REGISTER_BX || walk->bx_at == BF_BX_UNKNOWN)
		return BF_END_UNSUPPORTED;
	else if (walk_read(memory, ret, 8, walk->bx_at))
		return BF_END_MEMORY;
	return BF_END_NONE;
}

static inline __attribute__((always_inline)) int
find_cfa(const struct bf_walk *walk, const struct bf_rule *rule, void *memory, __u64 *ret)
{
	__u64 cfa;
	int end;

	switch (rule->cfa) {
	case BF_CFA_SP: *ret = walk->sp + (__s64)rule->cfa_offset; return BF_END_NONE;
	case BF_CFA_FP: *ret = walk->fp + (__s64)rule->cfa_offset; return BF_END_NONE;
	case BF_CFA_PLT:
		*ret = walk->sp + 8 + ((walk->pc & 15) >= rule->addend ? 8 : 0);
		return BF_END_NONE;
	case BF_CFA_SP_INDEXED:
		if (!walk->exact)
			return BF_END_UNSUPPORTED;
		cfa = walk->sp + 8 * walk->leaf[rule->reg & 15] + (__s64)rule->cfa_offset;
		if (walk_read(memory, &cfa, 8, cfa))
			return BF_END_MEMORY;
		*ret = cfa + 8;
		return BF_END_NONE;
	case BF_CFA_REGISTER:
		end = read_register(walk, rule->reg, memory, &cfa);
		if (end)
			return end;
		*ret = cfa + (__s64)rule->cfa_offset;
		return BF_END_NONE;
	case BF_CFA_SP_DEREF:
	case BF_CFA_FP_DEREF:
		cfa = rule->cfa == BF_CFA_SP_DEREF ? walk->sp : walk->fp;
		if (walk_read(memory, &cfa, 8, cfa + (__s64)rule->cfa_offset))
			return BF_END_MEMORY;
		*ret = cfa + rule->addend;
		return BF_END_NONE;
	case BF_CFA_CLONE:
		*ret = walk->sp + 8;
		return walk->exact && walk->leaf[BF_REGISTER_AX] ? BF_END_NONE : BF_END_ENTRY;
	case BF_CFA_ENTRY:
	case BF_CFA_PLANTED: return BF_END_ENTRY;
	default: return BF_END_UNSUPPORTED;
	}
}

static inline __attribute__((always_inline)) __u64 saved_at(const struct bf_walk *walk, __u8 saved,
							    __s16 offset, __u64 cfa)
{
	return (saved == BF_SAVED_FP ? walk->fp : cfa) + (__s64)offset * 8;
}

/* Reads the caller's frame pointer and program counter. */
static inline __attribute__((always_inline)) int read_saved(const struct bf_walk *walk,
							    const struct bf_rule *rule,
							    void *memory, __u64 cfa, __u64 *fp,
							    __u64 *pc)
{
	__u64 both[2];

	/* Side by side, as by `push %rbp` and `stp x29, x30`. */
	if (rule->fp == BF_SAVED_CFA && rule->ra == BF_SAVED_CFA &&
	    rule->ra_offset == rule->fp_offset + 1) {
		if (walk_read(memory, both, 16, cfa + (__s64)rule->fp_offset * 8))
			return BF_END_MEMORY;
		*fp = both[0];
		*pc = both[1];
		return BF_END_NONE;
	}
	if (rule->ra == BF_SAVED_SAME)
		*pc = walk->lr;
	else if (rule->ra == BF_SAVED_LEAF && walk->exact)
		*pc = walk->leaf[rule->ra_offset & 15];
	else if (rule->ra == BF_SAVED_LOST || rule->ra == BF_SAVED_LEAF)
		return BF_END_UNSUPPORTED;
	else if (walk_read(memory, pc, 8, saved_at(walk, rule->ra, rule->ra_offset, cfa)))
		return BF_END_MEMORY;
	*fp = walk->fp;
	if (rule->fp == BF_SAVED_CFA || rule->fp == BF_SAVED_FP) {
		if (walk_read(memory, fp, 8, saved_at(walk, rule->fp, rule->fp_offset, cfa)))
			return BF_END_MEMORY;
	}
	return BF_END_NONE;
}

/* The walk is now in the caller, after the call. */
static inline __attribute__((always_inline)) int
enter_caller(struct bf_walk *walk, __u64 pc, __u64 sp, __u64 fp, enum walk_machine machine)
{
	if (machine == WALK_ARM64)
		pc &= (1ULL << ARM64_ADDRESS_BITS) - 1;
	if (!pc)
		return BF_END_ENTRY;
	walk->pc = pc;
	walk->sp = sp;
	walk->fp = fp;
	walk->exact = 0;
	walk->is_leaf = 0;
	return BF_END_NONE;
}

/*
 * Whether the caller's frame may be at @cfa: above this one; or anywhere, if a function has
 * switched to another stack and kept the old place in a register. That is limited, so that every
 * walk ends.
 */
static inline __attribute__((always_inline)) int
may_be_caller(struct bf_walk *walk, const struct bf_rule *rule, __u64 cfa)
{
	if (cfa > walk->sp)
		return 1;
	if (cfa == walk->sp)
		return walk->exact; /* a leaf of arm64 needs no stack */
	return rule->cfa != BF_CFA_SP && rule->cfa != BF_CFA_PLT && cfa >= WALK_LOWEST_CODE &&
	       walk->sp - cfa >= WALK_MIN_STACK && walk->n_stacks++ < WALK_MAX_STACKS;
}

/* Leaves the frame at @walk, by @rule. */
static inline __attribute__((always_inline)) int walk_by_rule(struct bf_walk *walk,
							      const struct bf_rule *rule,
							      void *memory,
							      enum walk_machine machine)
{
	__u64 cfa = 0, fp = 0, pc = 0;
	int end;

	if (rule->cfa == BF_CFA_SIGNAL)
		return leave_signal_frame(walk, memory, machine);
	end = find_cfa(walk, rule, memory, &cfa);
	if (end)
		return end;
	if (!may_be_caller(walk, rule, cfa))
		return BF_END_STUCK;
	if (rule->ra == BF_SAVED_SAME && !walk->exact)
		return BF_END_STUCK; /* the link register of a caller is unknown */
	end = read_saved(walk, rule, memory, cfa, &fp, &pc);
	if (end)
		return end;
	walk->guessed = 0;
	if (rule->bx == BF_SAVED_CFA || rule->bx == BF_SAVED_FP)
		walk->bx_at = saved_at(walk, rule->bx, rule->bx_offset, cfa);
	else if (rule->bx != BF_SAVED_SAME)
		walk->bx_at = BF_BX_UNKNOWN;
	return enter_caller(walk, pc, cfa, fp, machine);
}

/*
 * Whether the leaf is at a function's first or last instruction, where the frame pointer is still,
 * or again, the caller's (x86-64). *@ret: the distance of the return address from the stack
 * pointer. Code that can't be read is about to be: a call into a page that was not in memory.
 */
static inline __attribute__((always_inline)) int is_at_edge(const struct bf_walk *walk,
							    void *memory, __u64 *ret)
{
	__u32 code;

	*ret = 0;
	if (walk_read(memory, &code, 4, walk->pc) || code == 0x08ec8348) /* sub $8,%rsp: _init */
		return 1;
	if ((code & 0xff) == 0x55 || (code & 0xff) == 0xc3 || code == 0xfa1e0ff3)
		return 1; /* push %rbp; ret; endbr64 */
	*ret = 8;
	return (code & 0xffffff) == 0xe58948 || (code & 0xffffff) == 0xec8b48; /* mov %rsp,%rbp */
}

/*
 * CPython's trampolines (-X perf): `sub $8,%rsp; call *%rcx; add $8,%rsp; ret`, generated for each
 * function to have a place that a perf map can name (Python/asm_trampoline.S). They have no frame
 * pointer, and the register holds anything. @ret: how far the return address is from the stack
 * pointer. Only asked of generated code that a row led to: that costs chains of frame pointers
 * nothing.
 */
static inline __attribute__((always_inline)) int
is_trampoline(const struct bf_walk *walk, void *memory, __u32 flags, __u64 *ret)
{
	const __u64 mask = (1ULL << 56) - 1;
	__u64 code, expected = 0xc308c48348d1ff; /* call *%rcx; add $8,%rsp; ret */

	*ret = 8;
	if ((flags & BF_MAPPING_FILE) || walk->guessed)
		return 0;
	if (!walk->is_leaf)
		return !walk_read(memory, &code, 8, walk->pc - 2) && (code & mask) == expected;
	/* At the call, or after it; before it is an edge (see above). */
	if (walk_read(memory, &code, 8, walk->pc))
		return 0;
	return (code & mask) == expected || (code & (mask >> 16)) == expected >> 16;
}

/*
 * Leaves a frame without a row (JIT, hand-made code) by the chain of frame pointers. @flags: of
 * the code's mapping.
 */
static inline __attribute__((always_inline)) int
walk_by_frame_pointer(struct bf_walk *walk, void *memory, __u32 flags, enum walk_machine machine)
{
	__u64 record[2] = {}, distance = 0; /* the caller's frame pointer, the return address */

	if (machine == WALK_X86_64 && is_trampoline(walk, memory, flags, &distance)) {
		if (walk_read(memory, &record[1], 8, walk->sp + distance))
			return BF_END_MEMORY;
		return enter_caller(walk, record[1], walk->sp + distance + 8, walk->fp, machine);
	}
	if (machine == WALK_X86_64 && walk->is_leaf && is_at_edge(walk, memory, &distance) &&
	    walk_read(memory, &record[1], 8, walk->sp + distance) == 0 &&
	    record[1] >= WALK_LOWEST_CODE) {
		if (distance && walk_read(memory, &walk->fp, 8, walk->sp))
			return BF_END_MEMORY;
		walk->guessed = 1;
		return enter_caller(walk, record[1], walk->sp + distance + 8, walk->fp, machine);
	}
	walk->bx_at = BF_BX_UNKNOWN; /* unless it was not touched, which is unknown */
	/* Elsewhere 0 may be any value of code without frame pointers. */
	if (!walk->fp)
		return (flags & BF_MAPPING_GO) && !walk->is_leaf ? BF_END_ENTRY : BF_END_NO_ROWS;
	if ((walk->fp < walk->sp || walk->fp - walk->sp > WALK_MAX_JUMP) &&
	    !(flags & BF_MAPPING_GO))
		return BF_END_NO_ROWS;
	if (walk->fp & 7)
		return BF_END_NO_ROWS;
	if (walk_read(memory, record, 16, walk->fp))
		return walk->fp - walk->sp < WALK_NEAR_FRAME ? BF_END_MEMORY : BF_END_NO_ROWS;
	if (!record[1] && !(flags & BF_MAPPING_GO))
		return BF_END_NO_ROWS;
	walk->guessed = 1;
	return enter_caller(walk, record[1], walk->fp + 16, record[0], machine);
}

/* The end of a walk that led to where no code is known. @is_known: there is none for certain. */
static inline __attribute__((always_inline)) int walk_nowhere(const struct bf_walk *walk,
							      int is_known)
{
	if (walk->guessed)
		return BF_END_NO_ROWS;
	return is_known || walk->pc < WALK_LOWEST_CODE || walk->pc >> WALK_HIGHEST_BITS
		       ? BF_END_UNMAPPED
		       : BF_END_MAPPING;
}

#endif
