/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The unwinder's step on stacks made by hand, for both machines: the effect of each rule, and every
 * way to end.
 */
#include "unit/made_walk.h"

static inline int walk_read(void *memory, void *to, __u32 n, __u64 from)
{
	return -1;
}

#include "bpf/unwind_step.h"

/* --- rows ------------------------------------------------------------------------------------ */

static void test_stack_pointer(void **state)
{
	begin(machine(state));
	FUNCTION(0x100, SP(24), CALLED);
	FUNCTION(0x200, SP(16), CALLED);
	FUNCTION(0x300, ENTRY);
	thread_at(CODE + 0x150, 10, 0x1234);
	made.words[12] = CODE + 0x204; /* CFA 13 */
	made.words[14] = CODE + 0x304; /* CFA 15 */
	expect(BF_END_ENTRY, CODE + 0x150, CODE + 0x204, CODE + 0x304);
	assert_int_equal(made.walk.fp, 0x1234);
	assert_int_equal(made.walk.sp, at(15));
}

static void test_frame_pointer(void **state)
{
	begin(machine(state));
	FUNCTION(0x100, AT_FP, SAVES_FP(-2), CALLED);
	FUNCTION(0x200, SP(8), CALLED, .fp = BF_SAVED_LOST);
	FUNCTION(0x300, AT_FP, SAVES_FP(-2), CALLED);
	FUNCTION(0x400, ENTRY);
	thread_at(CODE + 0x150, 10, at(20));
	made.words[20] = at(30);
	made.words[21] = CODE + 0x204;
	made.words[22] = CODE + 0x304;
	made.words[30] = 0;
	made.words[31] = CODE + 0x404;
	expect(BF_END_ENTRY, CODE + 0x150, CODE + 0x204, CODE + 0x304, CODE + 0x404);
}

/* A frame pointer that is not saved beside the return address. */
static void test_frame_pointer_apart(void **state)
{
	begin(machine(state));
	FUNCTION(0x100, SP(48), SAVES_FP(-4), CALLED);
	FUNCTION(0x200, AT_FP, CALLED);
	FUNCTION(0x300, ENTRY);
	thread_at(CODE + 0x150, 10, 0xdead);
	made.words[12] = at(40);
	made.words[15] = CODE + 0x204;
	made.words[41] = CODE + 0x304;
	expect(BF_END_ENTRY, CODE + 0x150, CODE + 0x204, CODE + 0x304);
}

/*
 * A caller is looked up by the byte before its return address, because the call may be its last
 * instruction.
 */
static void test_return_address_after_the_end(void **state)
{
	begin(machine(state));
	FUNCTION(0x100, SP(8), CALLED);
	FUNCTION(0x200, SP(8), CALLED);
	FUNCTION(0x300, SP(8192), CALLED);
	FUNCTION(0x400, ENTRY);
	thread_at(CODE + 0x100, 10, 0);
	made.words[10] = CODE + 0x300; /* the call was function 0x200's last instruction */
	made.words[11] = CODE + 0x500; /* and function 0x400's */
	expect(BF_END_ENTRY, CODE + 0x100, CODE + 0x300, CODE + 0x500);
}

static void test_cfa_stored_at_the_stack_pointer(void **state)
{
	begin(machine(state));
	FUNCTION(0x100, .cfa = BF_CFA_SP_DEREF, .cfa_offset = 16, .addend = 8, CALLED);
	FUNCTION(0x200, ENTRY);
	thread_at(CODE + 0x150, 10, 0);
	made.words[12] = at(29);
	made.words[29] = CODE + 0x204;
	expect(BF_END_ENTRY, CODE + 0x150, CODE + 0x204);
	assert_int_equal(made.walk.sp, at(30));
}

/* Saved below the stack pointer, which leaf functions may use. */
static void test_cfa_stored_below_the_stack_pointer(void **state)
{
	begin(machine(state));
	FUNCTION(0x100, .cfa = BF_CFA_SP_DEREF, .cfa_offset = -8, .addend = 8, CALLED);
	FUNCTION(0x200, ENTRY);
	thread_at(CODE + 0x150, 10, 0);
	made.words[9] = at(29);
	made.words[29] = CODE + 0x204;
	expect(BF_END_ENTRY, CODE + 0x150, CODE + 0x204);
}

/* A function that aligned its stack: the CFA and the caller's frame pointer are beside its own. */
static void test_aligned_stack(void **state)
{
	begin(machine(state));
	FUNCTION(0x100, .cfa = BF_CFA_FP_DEREF, .cfa_offset = -8, .fp = BF_SAVED_FP, CALLED);
	FUNCTION(0x200, AT_FP, CALLED);
	FUNCTION(0x300, ENTRY);
	thread_at(CODE + 0x150, 10, at(20));
	made.words[19] = at(30);
	made.words[20] = at(40);
	made.words[29] = CODE + 0x204;
	made.words[41] = CODE + 0x304;
	expect(BF_END_ENTRY, CODE + 0x150, CODE + 0x204, CODE + 0x304);
}

/* A return address that is undefined, or 0. */
static void test_entry(void **state)
{
	begin(machine(state));
	FUNCTION(0x100, ENTRY);
	thread_at(CODE + 0x150, 10, 0xdead);
	expect(BF_END_ENTRY, CODE + 0x150);
	begin(machine(state));
	FUNCTION(0x100, SP(8), CALLED);
	thread_at(CODE + 0x150, 10, 0xdead);
	expect(BF_END_ENTRY, CODE + 0x150);
}

static void test_unsupported(void **state)
{
	begin(machine(state));
	FUNCTION(0x100, SP(8), CALLED);
	FUNCTION(0x200, .cfa = BF_CFA_UNSUPPORTED);
	thread_at(CODE + 0x150, 10, at(20));
	made.words[10] = CODE + 0x204;
	expect(BF_END_UNSUPPORTED, CODE + 0x150, CODE + 0x204);
	begin(machine(state));
	FUNCTION(0x100, SP(8), .ra = BF_SAVED_LOST);
	thread_at(CODE + 0x150, 10, at(20));
	expect(BF_END_UNSUPPORTED, CODE + 0x150);
	begin(machine(state));
	FUNCTION(0x100, .cfa = N_BF_CFAS, CALLED);
	thread_at(CODE + 0x150, 10, at(20));
	expect(BF_END_UNSUPPORTED, CODE + 0x150);
}

/*
 * --- the leaf's registers ----------------------------------------------------------------------
 */

/* A CFA may be relative to any register. The leaf's are known, a caller's preserved are not. */
static void test_cfa_register(void **state)
{
	begin(machine(state));
	FUNCTION(0x100, .cfa = BF_CFA_REGISTER, .reg = BF_REGISTER_R12, .cfa_offset = -8, CALLED);
	FUNCTION(0x200, ENTRY);
	thread_at(CODE + 0x150, 10, 0);
	made.walk.leaf[BF_REGISTER_R12] = at(31);
	made.words[29] = CODE + 0x204;
	expect(BF_END_ENTRY, CODE + 0x150, CODE + 0x204);
	begin(machine(state));
	FUNCTION(0x100, SP(8), CALLED);
	FUNCTION(0x200, .cfa = BF_CFA_REGISTER, .reg = BF_REGISTER_R12, CALLED);
	thread_at(CODE + 0x150, 10, 0);
	made.walk.leaf[BF_REGISTER_R12] = at(31);
	made.words[10] = CODE + 0x204;
	expect(BF_END_UNSUPPORTED, CODE + 0x150, CODE + 0x204);
}

/* Hand-written code may rely on scratch registers while it calls its own kind (OpenSSL's AES). */
static void test_x86_scratch_registers(void **state)
{
	static const enum bf_register scratch[] = {
		BF_REGISTER_AX, BF_REGISTER_CX, BF_REGISTER_DX,	 BF_REGISTER_SI,  BF_REGISTER_DI,
		BF_REGISTER_R8, BF_REGISTER_R9, BF_REGISTER_R10, BF_REGISTER_R11,
	};

	for (size_t i = 0; i < sizeof scratch / sizeof *scratch; i++) {
		begin(EM_X86_64);
		FUNCTION(0x100, SP(8), CALLED);
		FUNCTION(0x200, SP(16), CALLED);
		FUNCTION(0x300, .cfa = BF_CFA_REGISTER, .reg = scratch[i], .cfa_offset = 8, CALLED);
		FUNCTION(0x400, ENTRY);
		thread_at(CODE + 0x150, 10, 0);
		made.walk.leaf[scratch[i]] = at(30);
		made.words[10] = CODE + 0x204;
		made.words[12] = CODE + 0x304;
		made.words[30] = CODE + 0x404;
		expect(BF_END_ENTRY, CODE + 0x150, CODE + 0x204, CODE + 0x304, CODE + 0x404);
	}
}

/* A return address that was taken off the stack, as by vfork(). */
static void test_return_address_in_a_register(void **state)
{
	const struct bf_rule rule = {SP(0), .ra = BF_SAVED_LEAF, .ra_offset = 5};

	begin(machine(state));
	function(0x100, 0x100, rule);
	FUNCTION(0x200, SP(8), CALLED);
	FUNCTION(0x300, ENTRY);
	thread_at(CODE + 0x150, 10, 0);
	made.walk.leaf[5] = CODE + 0x204;
	made.words[10] = CODE + 0x304;
	expect(BF_END_ENTRY, CODE + 0x150, CODE + 0x204, CODE + 0x304);
	begin(machine(state));
	function(0x100, 0x100, (struct bf_rule){SP(8), .ra = BF_SAVED_LEAF, .ra_offset = 5});
	FUNCTION(0x200, SP(8), CALLED);
	thread_at(CODE + 0x250, 10, 0);
	made.walk.leaf[5] = CODE + 0x204;
	made.words[10] = CODE + 0x104;
	expect(BF_END_UNSUPPORTED, CODE + 0x250, CODE + 0x104);
}

/*
 * rbx, which a function that aligns its stack uses as its base while it calls others (ld.so's
 * resolver): untouched since, saved by a callee, saved by one and untouched by the next.
 */
static void test_x86_rbx(void **state)
{
	const struct bf_rule aligns = {.cfa = BF_CFA_REGISTER,
				       .reg = BF_REGISTER_BX,
				       .cfa_offset = 32,
				       CALLED,
				       SAVES_BX(-4)};

	begin(EM_X86_64);
	FUNCTION(0x100, SP(8), CALLED);
	function(0x200, 0x100, aligns);
	FUNCTION(0x300, ENTRY);
	thread_at(CODE + 0x150, 10, 0);
	made.walk.leaf[BF_REGISTER_BX] = at(40);
	made.words[10] = CODE + 0x204;
	made.words[43] = CODE + 0x304;
	expect(BF_END_ENTRY, CODE + 0x150, CODE + 0x204, CODE + 0x304);

	begin(EM_X86_64);
	FUNCTION(0x100, SP(8), CALLED);
	FUNCTION(0x180, SP(24), CALLED, SAVES_BX(-3));
	FUNCTION(0x280, SP(8), CALLED);
	function(0x380, 0x80, aligns);
	function(0x400, 0x80, aligns);
	function(0x480, 0x80, (struct bf_rule){ENTRY});
	thread_at(CODE + 0x150, 10, 0);
	made.walk.leaf[BF_REGISTER_BX] = 0xdead;
	made.words[10] = CODE + 0x184;
	made.words[11] = at(40); /* the first one's rbx */
	made.words[13] = CODE + 0x284;
	made.words[14] = CODE + 0x384;
	made.words[40] = at(60); /* the second one's */
	made.words[43] = CODE + 0x404;
	made.words[63] = CODE + 0x484;
	expect(BF_END_ENTRY, CODE + 0x150, CODE + 0x184, CODE + 0x284, CODE + 0x384, CODE + 0x404,
	       CODE + 0x484);
}

static void test_x86_rbx_is_lost(void **state)
{
	begin(EM_X86_64);
	FUNCTION(0x100, SP(8), CALLED, .bx = BF_SAVED_LOST);
	FUNCTION(0x200, .cfa = BF_CFA_REGISTER, .reg = BF_REGISTER_BX, CALLED);
	thread_at(CODE + 0x150, 10, 0);
	made.walk.leaf[BF_REGISTER_BX] = at(40);
	made.words[10] = CODE + 0x204;
	expect(BF_END_UNSUPPORTED, CODE + 0x150, CODE + 0x204);
	/* Code without rows may have changed it. */
	begin(EM_X86_64);
	FUNCTION(0x200, .cfa = BF_CFA_REGISTER, .reg = BF_REGISTER_BX, CALLED);
	thread_at(at(100), 10, at(20));
	made.walk.leaf[BF_REGISTER_BX] = at(40);
	made.words[100] = 0x9090909090909090;
	made.words[21] = CODE + 0x204;
	expect(BF_END_UNSUPPORTED, at(100), CODE + 0x204);
}

/* --- signals ---------------------------------------------------------------------------------- */

/* The kernel's layouts: arch/x86/include/uapi/asm/sigcontext.h, arch/arm64/kernel/signal.c. */
static void put_signal_frame(unsigned int word, uint64_t fp, uint64_t sp, uint64_t pc)
{
	if (made.machine == EM_X86_64) {
		made.words[word + 15] = fp;
		made.words[word + 20] = sp;
		made.words[word + 21] = pc;
		return;
	}
	made.words[word + 68] = fp;
	made.words[word + 70] = sp;
	made.words[word + 71] = pc;
}

/*
 * An interrupted address is looked up as it is: it may be a function's first instruction, and is
 * not a return address; nor is the place that the handler returns to.
 */
static void test_signal(void **state)
{
	begin(machine(state));
	FUNCTION(0x100, SP(8), CALLED);
	FUNCTION(0x200, .cfa = BF_CFA_SIGNAL);
	FUNCTION(0x300, SP(8192), CALLED);
	FUNCTION(0x400, AT_FP, CALLED);
	FUNCTION(0x500, ENTRY);
	thread_at(CODE + 0x150, 10, 0);
	made.words[10] = CODE + 0x204;
	put_signal_frame(11, at(200), at(120), CODE + 0x400);
	made.words[201] = CODE + 0x504;
	expect(BF_END_ENTRY, CODE + 0x150, (CODE + 0x204) | BF_FRAME_EXACT,
	       (CODE + 0x400) | BF_FRAME_EXACT, CODE + 0x504);
}

/* A handler on a stack of its own, above or below the interrupted one. */
static void test_signal_on_alternate_stack(void **state)
{
	begin(machine(state));
	FUNCTION(0x100, SP(8), CALLED);
	FUNCTION(0x200, .cfa = BF_CFA_SIGNAL);
	FUNCTION(0x300, SP(16), CALLED);
	FUNCTION(0x400, ENTRY);
	thread_at(CODE + 0x150, 500, 0);
	made.words[500] = CODE + 0x204;
	put_signal_frame(501, 0, at(20), CODE + 0x350);
	made.words[21] = CODE + 0x404;
	expect(BF_END_ENTRY, CODE + 0x150, (CODE + 0x204) | BF_FRAME_EXACT,
	       (CODE + 0x350) | BF_FRAME_EXACT, CODE + 0x404);
}

static void test_signal_in_a_signal(void **state)
{
	begin(machine(state));
	FUNCTION(0x100, SP(8), CALLED);
	FUNCTION(0x200, .cfa = BF_CFA_SIGNAL);
	FUNCTION(0x300, ENTRY);
	thread_at(CODE + 0x204, 10, 0);
	put_signal_frame(10, 0, at(100), CODE + 0x100);
	made.words[100] = CODE + 0x204;
	put_signal_frame(101, 0, at(200), CODE + 0x300);
	expect(BF_END_ENTRY, CODE + 0x204, (CODE + 0x100) | BF_FRAME_EXACT,
	       (CODE + 0x204) | BF_FRAME_EXACT, (CODE + 0x300) | BF_FRAME_EXACT);
}

/* The signal frame has all registers of the interrupted code. */
static void test_x86_registers_above_a_signal(void **state)
{
	for (enum bf_register i = BF_REGISTER_R8; i <= BF_REGISTER_CX; i++) {
		begin(EM_X86_64);
		FUNCTION(0x200, .cfa = BF_CFA_SIGNAL);
		FUNCTION(0x300, .cfa = BF_CFA_REGISTER, .reg = i, CALLED);
		FUNCTION(0x400, ENTRY);
		thread_at(CODE + 0x204, 10, 0);
		made.walk.leaf[i] = 0xdead;
		put_signal_frame(10, 0, at(200), CODE + 0x350);
		made.words[10 + 5 + i] = at(301);
		made.words[300] = CODE + 0x404;
		expect(BF_END_ENTRY, CODE + 0x204, (CODE + 0x350) | BF_FRAME_EXACT, CODE + 0x404);
	}

	begin(EM_X86_64);
	FUNCTION(0x200, .cfa = BF_CFA_SIGNAL);
	FUNCTION(0x300, .cfa = BF_CFA_REGISTER, .reg = BF_REGISTER_BX, .cfa_offset = 8, CALLED);
	FUNCTION(0x400, ENTRY);
	thread_at(CODE + 0x204, 10, 0);
	put_signal_frame(10, 0, at(200), CODE + 0x350);
	made.words[10 + 16] = at(300);
	made.words[300] = CODE + 0x404;
	expect(BF_END_ENTRY, CODE + 0x204, (CODE + 0x350) | BF_FRAME_EXACT, CODE + 0x404);
}

static void test_signal_frame_is_cut_off(void **state)
{
	begin(machine(state));
	FUNCTION(0x200, .cfa = BF_CFA_SIGNAL);
	thread_at(CODE + 0x204, N_WORDS - 21, 0);
	expect(BF_END_MEMORY, CODE + 0x204);
}

/* --- linkage tables --------------------------------------------------------------------------- */

static void test_x86_linkage_table(void **state)
{
	for (unsigned int byte = 0; byte < 16; byte++) {
		begin(EM_X86_64);
		FUNCTION(0x100, .cfa = BF_CFA_PLT, .cfa_offset = 8, .addend = 11, CALLED);
		FUNCTION(0x200, ENTRY);
		thread_at(CODE + 0x140 + byte, 10, 0);
		made.words[byte >= 11 ? 11 : 10] = CODE + 0x204;
		expect(BF_END_ENTRY, CODE + 0x140 + byte, CODE + 0x204);
	}
}

/* --- ends ------------------------------------------------------------------------------------- */

static void test_memory_is_cut_off(void **state)
{
	begin(machine(state));
	FUNCTION(0x100, SP(8), CALLED);
	FUNCTION(0x200, SP(80), CALLED);
	thread_at(CODE + 0x150, N_WORDS - 5, 0);
	made.words[N_WORDS - 5] = CODE + 0x204;
	expect(BF_END_MEMORY, CODE + 0x150, CODE + 0x204);
	begin(machine(state));
	FUNCTION(0x100, SP(16), SAVES_FP(-2), CALLED);
	made.memory.n -= 8;
	thread_at(CODE + 0x150, N_WORDS - 2, 0);
	expect(BF_END_MEMORY, CODE + 0x150);
	begin(machine(state));
	FUNCTION(0x100, .cfa = BF_CFA_FP_DEREF, CALLED);
	thread_at(CODE + 0x150, 10, at(N_WORDS));
	expect(BF_END_MEMORY, CODE + 0x150);
}

/* Callers' frames are higher, so every walk ends. */
static void test_no_progress(void **state)
{
	begin(machine(state));
	FUNCTION(0x100, AT_FP, SAVES_FP(-2), CALLED);
	thread_at(CODE + 0x150, 30, at(20));
	expect(BF_END_STUCK, CODE + 0x150);
	begin(machine(state));
	FUNCTION(0x100, SP(8), CALLED);
	FUNCTION(0x200, SP(0), CALLED);
	thread_at(CODE + 0x150, 10, 0);
	made.words[10] = CODE + 0x204;
	expect(BF_END_STUCK, CODE + 0x150, CODE + 0x204);
	begin(machine(state));
	FUNCTION(0x100, SP(-8), CALLED);
	thread_at(CODE + 0x150, 10, 0);
	expect(BF_END_STUCK, CODE + 0x150);
	/* A cycle of two frames. */
	begin(machine(state));
	FUNCTION(0x100, AT_FP, SAVES_FP(-2), CALLED);
	thread_at(CODE + 0x150, 10, at(20));
	made.words[20] = at(10);
	made.words[21] = CODE + 0x104;
	made.words[10] = at(20);
	made.words[11] = CODE + 0x104;
	expect(BF_END_STUCK, CODE + 0x150, CODE + 0x104);
	/* A sum that wraps around the address space. */
	begin(machine(state));
	FUNCTION(0x100, .cfa = BF_CFA_FP, .cfa_offset = 64, CALLED);
	thread_at(CODE + 0x150, 10, UINT64_MAX - 7);
	expect(BF_END_STUCK, CODE + 0x150);
}

/* A function that moved to a higher stack, and whose CFA is relative to the old one. */
static void test_other_stack(void **state)
{
	begin(machine(state));
	FUNCTION(0x100, SP(8), CALLED);
	FUNCTION(0x200, AT_FP, SAVES_FP(-2), CALLED);
	FUNCTION(0x300, ENTRY);
	thread_at(CODE + 0x150, 900, at(20));
	made.words[900] = CODE + 0x204;
	made.words[21] = CODE + 0x304;
	expect(BF_END_ENTRY, CODE + 0x150, CODE + 0x204, CODE + 0x304);
	/* A CFA relative to the stack pointer stays on its stack. */
	begin(machine(state));
	FUNCTION(0x100, SP(-5000), CALLED);
	thread_at(CODE + 0x150, 900, 0);
	expect(BF_END_STUCK, CODE + 0x150);
}

/* Two stacks that lead to each other: the walk still ends. */
static void test_cycle_of_stacks(void **state)
{
	begin(machine(state));
	FUNCTION(0x100, AT_FP, SAVES_FP(-2), CALLED);
	thread_at(CODE + 0x150, 10, at(20));
	made.words[20] = at(900);
	made.words[900] = at(20);
	made.words[21] = made.words[901] = CODE + 0x104;
	assert_int_equal(table_writer_finish(&made.writer), 0);
	unwind_walk(&made.walk, made.frames, &made.n, made.machine, &made.memory, code_at, NULL);
	assert_int_equal(made.walk.end, BF_END_STUCK);
	assert_true(made.n < 40);
	table_writer_done(&made.writer);
	unwind_table_done(&made.table);
}

/* clone(2) returns twice: to its caller, and to the child, which has none. */
static void test_x86_clone(void **state)
{
	begin(EM_X86_64);
	FUNCTION(0x100, .cfa = BF_CFA_CLONE, .cfa_offset = 8, CALLED);
	FUNCTION(0x200, ENTRY);
	thread_at(CODE + 0x150, 10, 0);
	made.walk.leaf[BF_REGISTER_AX] = 1234;
	made.words[10] = CODE + 0x204;
	expect(BF_END_ENTRY, CODE + 0x150, CODE + 0x204);
	begin(EM_X86_64);
	FUNCTION(0x100, .cfa = BF_CFA_CLONE, .cfa_offset = 8, CALLED);
	FUNCTION(0x200, SP(8), CALLED);
	thread_at(CODE + 0x150, 10, 0);
	made.words[10] = CODE + 0x204;
	expect(BF_END_ENTRY, CODE + 0x150);
}

/*
 * Where a coroutine's first function would return to: neither it nor the code there was called.
 */
static void test_planted_return_address(void **state)
{
	begin(machine(state));
	FUNCTION(0x100, SP(8), CALLED);
	function(0x1ff, 1, (struct bf_rule){.cfa = BF_CFA_PLANTED});
	FUNCTION(0x200, SP(8), CALLED);
	thread_at(CODE + 0x150, 10, 0);
	made.words[10] = CODE + 0x200;
	expect(BF_END_ENTRY, CODE + 0x150, (CODE + 0x200) | BF_FRAME_EXACT);
}

static void test_not_mapped(void **state)
{
	begin(machine(state));
	FUNCTION(0x100, SP(8), CALLED);
	thread_at(CODE + 0x150, 10, 0);
	made.words[10] = 0x1234;
	expect(BF_END_UNMAPPED, CODE + 0x150);
	assert_int_equal(made.walk.pc, 0x1234);
	begin(machine(state));
	thread_at(0x1234, 10, 0);
	unwind_walk(&made.walk, made.frames, &made.n, made.machine, &made.memory, code_at, NULL);
	assert_int_equal(made.walk.end, BF_END_UNMAPPED);
	assert_int_equal(made.n, 0);
	table_writer_done(&made.writer);
}

/* Addresses that BPF sends to the loader, and impossible ones. */
static void test_nowhere(void **state)
{
	struct bf_walk walk = {.pc = CODE};

	assert_int_equal(walk_nowhere(&walk, 0), BF_END_MAPPING);
	assert_int_equal(walk_nowhere(&walk, 1), BF_END_UNMAPPED);
	walk.pc = 1;
	assert_int_equal(walk_nowhere(&walk, 0), BF_END_UNMAPPED);
	walk.pc = ~0x41ull;
	assert_int_equal(walk_nowhere(&walk, 0), BF_END_UNMAPPED);
	walk.guessed = 1;
	assert_int_equal(walk_nowhere(&walk, 0), BF_END_NO_ROWS);
}

static void test_32_bit_code(void **state)
{
	begin(machine(state));
	FUNCTION(0x100, SP(8), CALLED);
	thread_at(CODE + 0x150, 10, at(20));
	made.walk.is_32 = 1;
	made.words[10] = CODE + 0x204;
	expect(BF_END_32_BIT, CODE + 0x150);
}

static void test_no_room_for_the_table(void **state)
{
	begin(machine(state));
	made.no_room = true;
	thread_at(GENERATED + 0x10, 10, at(20));
	made.walk.is_leaf = made.walk.exact = 0;
	made.words[21] = CODE + 0x204;
	expect(BF_END_BUDGET, GENERATED + 0x10, CODE + 0x204);
}

/* @n frames of a function that calls itself, and the thread's entry. */
static void run(void)
{
	assert_int_equal(table_writer_finish(&made.writer), 0);
	unwind_walk(&made.walk, made.frames, &made.n, made.machine, &made.memory, code_at, NULL);
	table_writer_done(&made.writer);
	unwind_table_done(&made.table);
}

static void recurse(uint16_t number, unsigned int n)
{
	begin(number);
	FUNCTION(0x100, SP(8), CALLED);
	FUNCTION(0x200, ENTRY);
	thread_at(CODE + 0x150, 10, 0);
	for (unsigned int i = 0; i < n; i++)
		made.words[10 + i] = CODE + (i + 1 < n ? 0x104 : 0x204);
	run();
}

static void test_depth(void **state)
{
	recurse(machine(state), BF_MAX_FRAMES - 1);
	assert_int_equal(made.n, BF_MAX_FRAMES);
	assert_int_equal(made.walk.end, BF_END_ENTRY);
	assert_int_equal(made.frames[BF_MAX_FRAMES - 1], CODE + 0x204);
	recurse(machine(state), BF_MAX_FRAMES);
	assert_int_equal(made.n, BF_MAX_FRAMES);
	assert_int_equal(made.walk.end, BF_END_DEPTH);
	assert_int_equal(made.frames[BF_MAX_FRAMES - 1], CODE + 0x104);
	recurse(machine(state), 3 * BF_MAX_FRAMES);
	assert_int_equal(made.walk.end, BF_END_DEPTH);
}

/* A frame of a runtime, as machine_emit() writes it. */
#define RUNTIME_FRAME(n)       BF_FRAME_RUNTIME | (n), (n)
#define HEADER(anchor, frames) (anchor) | (uint64_t)(2 * (frames)) << BF_CHAIN_SHIFT

/* An activation precedes the frame that its anchor is in; without one it is last. */
static void test_activations(void **state)
{
	__u64 chain[BF_CHAIN_WORDS] = {
		HEADER(at(11), 1), RUNTIME_FRAME(1),	    HEADER(at(12), 2),
		RUNTIME_FRAME(2),  RUNTIME_FRAME(3),	    HEADER(at(13), 1),
		RUNTIME_FRAME(4),  HEADER(BF_NO_ANCHOR, 1), RUNTIME_FRAME(5)};

	begin(machine(state));
	FUNCTION(0x100, SP(16), CALLED);
	FUNCTION(0x200, SP(24), CALLED);
	FUNCTION(0x300, ENTRY);
	thread_at(CODE + 0x150, 10, 0);
	made.words[11] = CODE + 0x204; /* CFA 12 */
	made.words[14] = CODE + 0x304; /* CFA 15 */
	made.memory.chain = chain;
	made.memory.n_chain = 14;
	expect(BF_END_ENTRY, RUNTIME_FRAME(1), CODE + 0x150, RUNTIME_FRAME(2), RUNTIME_FRAME(3),
	       RUNTIME_FRAME(4), CODE + 0x204, CODE + 0x304, RUNTIME_FRAME(5));
}

/* Two runtimes call each other: each one's chain is in order. */
static void test_activations_of_two_runtimes(void **state)
{
	__u64 chain[BF_CHAIN_WORDS] = {
		HEADER(at(11), 1), RUNTIME_FRAME(1), HEADER(at(20), 1),	      RUNTIME_FRAME(2),
		HEADER(at(13), 1), RUNTIME_FRAME(3), HEADER(BF_NO_ANCHOR, 1), RUNTIME_FRAME(4)};

	begin(machine(state));
	FUNCTION(0x100, SP(16), CALLED);
	FUNCTION(0x200, SP(24), CALLED);
	FUNCTION(0x300, SP(56), CALLED);
	FUNCTION(0x400, ENTRY);
	thread_at(CODE + 0x150, 10, 0);
	made.words[11] = CODE + 0x204; /* CFA 12 */
	made.words[14] = CODE + 0x304; /* CFA 15 */
	made.words[21] = CODE + 0x404; /* CFA 22 */
	made.memory.chain = chain;
	made.memory.n_chain = 12;
	expect(BF_END_ENTRY, RUNTIME_FRAME(1), CODE + 0x150, RUNTIME_FRAME(3), CODE + 0x204,
	       RUNTIME_FRAME(2), CODE + 0x304, CODE + 0x404, RUNTIME_FRAME(4));
}

/* As many frames as fit stay, the innermost; what makes no sense is left out. */
static void test_activations_without_room(void **state)
{
	static __u64 chain[BF_CHAIN_WORDS];

	for (uint32_t i = 1; i < BF_CHAIN_WORDS; i++)
		chain[i] = i % 2 ? BF_FRAME_RUNTIME | i : i;
	for (int has_anchor = 0; has_anchor < 2; has_anchor++) {
		uint32_t first = has_anchor ? 2 : 4, count = BF_MAX_FRAMES - first - 1;

		chain[0] = HEADER(has_anchor ? at(10) : BF_NO_ANCHOR, BF_MAX_FRAMES / 2);
		begin(machine(state));
		FUNCTION(0x100, SP(8), CALLED);
		FUNCTION(0x200, ENTRY);
		thread_at(CODE + 0x150, 10, 0);
		made.words[10] = CODE + 0x204;
		made.memory.chain = chain;
		made.memory.n_chain = BF_CHAIN_WORDS;
		made.frames[0] = made.frames[1] = CODE + 0x150;
		made.n = 2;
		run();
		assert_int_equal(made.walk.end, BF_END_DEPTH);
		assert_int_equal(made.n, first + count + has_anchor);
		assert_memory_equal(made.frames + first, chain + 1, count * sizeof *chain);
	}
	begin(machine(state));
	FUNCTION(0x100, ENTRY);
	thread_at(CODE + 0x150, 10, 0);
	made.memory.chain = chain;
	made.memory.n_chain = 3; /* fewer than the header says */
	expect(BF_END_ENTRY, CODE + 0x150);
}

/* A walk that somebody else began: known frames stay, and count. */
static void test_walks_on(void **state)
{
	begin(machine(state));
	FUNCTION(0x100, SP(8), CALLED);
	FUNCTION(0x200, ENTRY);
	thread_at(CODE + 0x104, 10, 0);
	made.walk.is_leaf = made.walk.exact = 0;
	made.walk.end = BF_END_TABLE;
	made.frames[0] = GENERATED;
	made.frames[1] = GENERATED + 1;
	made.n = 2;
	made.words[10] = CODE + 0x204;
	expect(BF_END_ENTRY, GENERATED, GENERATED + 1, CODE + 0x104, CODE + 0x204);
}

/* --- arm64 ------------------------------------------------------------------------------------ */

/* A leaf function has its return address in the link register and may use no stack. */
static void test_arm64_link_register(void **state)
{
	begin(EM_AARCH64);
	FUNCTION(0x100, SP(0), .ra = BF_SAVED_SAME);
	FUNCTION(0x200, SP(32), SAVES_FP(-4), .ra = BF_SAVED_CFA, .ra_offset = -3);
	FUNCTION(0x300, ENTRY);
	thread_at(CODE + 0x150, 10, at(99));
	made.walk.lr = CODE + 0x204;
	made.words[10] = 0;
	made.words[11] = CODE + 0x304;
	expect(BF_END_ENTRY, CODE + 0x150, CODE + 0x204, CODE + 0x304);
	assert_int_equal(made.walk.fp, 0);
}

static void test_arm64_link_register_of_a_caller(void **state)
{
	begin(EM_AARCH64);
	FUNCTION(0x100, SP(16), .ra = BF_SAVED_CFA, .ra_offset = -1);
	FUNCTION(0x200, SP(16), .ra = BF_SAVED_SAME);
	thread_at(CODE + 0x150, 10, 0);
	made.walk.lr = CODE + 0x304;
	made.words[11] = CODE + 0x204;
	expect(BF_END_STUCK, CODE + 0x150, CODE + 0x204);
}

/* The signal frame has it, too. */
static void test_arm64_link_register_above_a_signal(void **state)
{
	begin(EM_AARCH64);
	FUNCTION(0x100, .cfa = BF_CFA_SIGNAL);
	FUNCTION(0x200, SP(0), .ra = BF_SAVED_SAME);
	FUNCTION(0x300, ENTRY);
	thread_at(CODE + 0x104, 10, 0);
	put_signal_frame(10, 0, at(200), CODE + 0x250);
	made.words[10 + 69] = CODE + 0x304;
	expect(BF_END_ENTRY, CODE + 0x104, (CODE + 0x250) | BF_FRAME_EXACT, CODE + 0x304);
}

/* Signed return addresses (pointer authentication): the signature is in the high bits. */
static void test_arm64_signed_addresses(void **state)
{
	begin(EM_AARCH64);
	FUNCTION(0x100, SP(0), .ra = BF_SAVED_SAME);
	FUNCTION(0x200, SP(16), SAVES_FP(-2), CALLED);
	FUNCTION(0x300, ENTRY);
	thread_at(CODE + 0x150, 10, 0);
	made.walk.lr = 0x5a5a000000000000 | (CODE + 0x204);
	made.words[10] = at(20);
	made.words[11] = 0xffff000000000000 | (GENERATED + 0x10);
	made.words[21] = 0x0001000000000000 | (CODE + 0x304);
	expect(BF_END_ENTRY, CODE + 0x150, CODE + 0x204, GENERATED + 0x10, CODE + 0x304);
}

/* On x86-64 no bits are removed: such an address is invalid there. */
static void test_x86_takes_whole_addresses(void **state)
{
	begin(EM_X86_64);
	FUNCTION(0x100, SP(8), CALLED);
	thread_at(CODE + 0x150, 10, 0);
	made.words[10] = 0x5a5a000000000000 | (CODE + 0x204);
	expect(BF_END_UNMAPPED, CODE + 0x150);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH(test_stack_pointer),
		BOTH(test_frame_pointer),
		BOTH(test_frame_pointer_apart),
		BOTH(test_return_address_after_the_end),
		BOTH(test_cfa_stored_at_the_stack_pointer),
		BOTH(test_cfa_stored_below_the_stack_pointer),
		BOTH(test_aligned_stack),
		BOTH(test_entry),
		BOTH(test_unsupported),
		BOTH(test_cfa_register),
		BOTH(test_return_address_in_a_register),
		cmocka_unit_test(test_x86_scratch_registers),
		cmocka_unit_test(test_x86_rbx),
		cmocka_unit_test(test_x86_rbx_is_lost),
		BOTH(test_signal),
		BOTH(test_signal_on_alternate_stack),
		BOTH(test_signal_in_a_signal),
		cmocka_unit_test(test_x86_registers_above_a_signal),
		BOTH(test_signal_frame_is_cut_off),
		cmocka_unit_test(test_x86_linkage_table),
		BOTH(test_memory_is_cut_off),
		BOTH(test_no_progress),
		BOTH(test_other_stack),
		BOTH(test_cycle_of_stacks),
		cmocka_unit_test(test_x86_clone),
		BOTH(test_planted_return_address),
		BOTH(test_not_mapped),
		cmocka_unit_test(test_nowhere),
		BOTH(test_32_bit_code),
		BOTH(test_no_room_for_the_table),
		BOTH(test_depth),
		BOTH(test_activations),
		BOTH(test_activations_of_two_runtimes),
		BOTH(test_activations_without_room),
		BOTH(test_walks_on),
		cmocka_unit_test(test_arm64_link_register),
		cmocka_unit_test(test_arm64_link_register_of_a_caller),
		cmocka_unit_test(test_arm64_link_register_above_a_signal),
		cmocka_unit_test(test_arm64_signed_addresses),
		cmocka_unit_test(test_x86_takes_whole_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
