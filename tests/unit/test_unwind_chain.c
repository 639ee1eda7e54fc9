/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The unwinder's step where there are no rules: frame pointers, whether they can be believed, and
 * trampolines without them.
 */
#include "unit/made_walk.h"

/* Code with frame pointers, called by code with rows and without frame pointers. */
static void test_chain(void **state)
{
	begin(machine(state));
	FUNCTION(0x100, SP(16), CALLED);
	FUNCTION(0x200, SP(24), CALLED);
	FUNCTION(0x300, ENTRY);
	thread_at(CODE + 0x150, 10, at(20));
	made.words[11] = GENERATED + 0x10;
	made.words[20] = at(30);
	made.words[21] = GENERATED + 0x20;
	made.words[30] = 0x1234; /* not a frame pointer */
	made.words[31] = CODE + 0x204;
	made.words[34] = CODE + 0x304;
	expect(BF_END_ENTRY, CODE + 0x150, GENERATED + 0x10, GENERATED + 0x20, CODE + 0x204,
	       CODE + 0x304);
	assert_int_equal(made.walk.guessed, 0);
}

/*
 * A frame pointer of 0 proves nothing, because code may use that register for anything; except in
 * Go.
 */
static void expect_chain_ends(uint16_t number, uint32_t flags, enum bf_end end, uint64_t caller)
{
	begin(number);
	made.flags |= flags;
	FUNCTION(0x100, SP(8), CALLED);
	thread_at(CODE + 0x150, 10, 0);
	made.words[10] = caller;
	expect(end, CODE + 0x150, caller);
	begin(number);
	made.flags |= flags;
	FUNCTION(0x100, SP(8), CALLED);
	thread_at(CODE + 0x150, 10, at(20));
	made.words[10] = caller;
	made.words[21] = 0; /* a record without a return address */
	expect(end, CODE + 0x150, caller);
}

static void test_chain_ends(void **state)
{
	expect_chain_ends(machine(state), 0, BF_END_NO_ROWS, CODE + 0x904);
	expect_chain_ends(machine(state), 0, BF_END_NO_ROWS, GENERATED + 0x10);
	expect_chain_ends(machine(state), BF_MAPPING_GO, BF_END_ENTRY, CODE + 0x904);
	/* Not even in Go, where nothing was followed yet. */
	begin(machine(state));
	made.flags |= BF_MAPPING_GO;
	thread_at(CODE + 0x904, 10, 0);
	made.memory.code = "\x90\x90\x90\x90";
	made.memory.code_at = CODE + 0x904;
	expect(BF_END_NO_ROWS, CODE + 0x904);
}

static void expect_bad_frame_pointer(uint16_t number, uint64_t fp, int end)
{
	begin(number);
	FUNCTION(0x100, SP(8), CALLED);
	thread_at(CODE + 0x150, 30, fp);
	made.words[21] = made.words[30] = GENERATED + 0x10;
	expect(end, CODE + 0x150, GENERATED + 0x10);
}

static void test_bad_frame_pointers(void **state)
{
	uint16_t number = machine(state);

	expect_bad_frame_pointer(number, at(20), BF_END_NO_ROWS);     /* below the stack pointer */
	expect_bad_frame_pointer(number, at(40) + 4, BF_END_NO_ROWS); /* not aligned */
	expect_bad_frame_pointer(number, at(N_WORDS), BF_END_MEMORY); /* none, where one may be */
	expect_bad_frame_pointer(number, at(N_WORDS - 1), BF_END_MEMORY); /* half of it */
	expect_bad_frame_pointer(number, at(31) + 65536, BF_END_NO_ROWS); /* none, too far */
	expect_bad_frame_pointer(number, 1, BF_END_NO_ROWS);
	expect_bad_frame_pointer(number, UINT64_MAX - 7, BF_END_NO_ROWS);
}

/* No frame is that large, whatever its words hold. */
static void test_far_frame_pointer(void **state)
{
	begin(machine(state));
	thread_at(at(100), 0, at(20));
	made.walk.sp -= 2ull << 30;
	made.words[100] = 0x9090909090909090;
	made.words[21] = GENERATED + 0x10;
	expect(BF_END_NO_ROWS, at(100));
}

/* A chain that leads to a place without code was no chain. */
static void test_chain_leads_nowhere(void **state)
{
	begin(machine(state));
	FUNCTION(0x100, SP(8), CALLED);
	thread_at(CODE + 0x150, 10, at(20));
	made.words[10] = GENERATED + 0x10;
	made.words[21] = 0x1234;
	expect(BF_END_NO_ROWS, CODE + 0x150, GENERATED + 0x10);
}

/* Go's chains lead from one stack to another, which may be lower. */
static void test_chain_of_go(void **state)
{
	begin(machine(state));
	made.flags |= BF_MAPPING_GO;
	FUNCTION(0x100, SP(8), CALLED);
	FUNCTION(0x300, ENTRY);
	thread_at(CODE + 0x150, 100, at(20));
	made.words[100] = CODE + 0x904;
	made.words[20] = 0;
	made.words[21] = CODE + 0x304;
	expect(BF_END_ENTRY, CODE + 0x150, CODE + 0x904, CODE + 0x304);
}

/* CPython's: call *%rcx; add $8,%rsp; ret. Placed on the made stack, which can be read as code. */
#define TRAMPOLINE 0x90c308c48348d1ff

static void test_trampoline(void **state)
{
	begin(EM_X86_64);
	FUNCTION(0x100, SP(16), SAVES_FP(-2), CALLED);
	FUNCTION(0x200, SP(16), SAVES_FP(-2), CALLED);
	FUNCTION(0x300, ENTRY);
	made.words[500] = TRAMPOLINE;
	thread_at(CODE + 0x150, 10, 0x1234);
	made.words[10] = 0x5678;
	made.words[11] = at(500) + 2; /* after the call; its frame is one arbitrary word */
	made.words[12] = at(40);
	made.words[13] = CODE + 0x204;
	made.words[15] = CODE + 0x304;
	expect(BF_END_ENTRY, CODE + 0x150, at(500) + 2, CODE + 0x204, CODE + 0x304);
	assert_int_equal(made.walk.guessed, 0);
}

/* The leaf is at the call, or after it. */
static void expect_leaf_in_trampoline(uint64_t pc)
{
	begin(EM_X86_64);
	FUNCTION(0x300, ENTRY);
	made.words[500] = TRAMPOLINE;
	thread_at(pc, 10, 0x1234);
	made.words[10] = at(40);
	made.words[11] = CODE + 0x304;
	expect(BF_END_ENTRY, pc, CODE + 0x304);
}

static void test_leaf_in_trampoline(void **state)
{
	expect_leaf_in_trampoline(at(500));
	expect_leaf_in_trampoline(at(500) + 2);
}

/* Other code with a frame pointer, which the chain continues through. */
static void test_no_trampoline(void **state)
{
	static const uint64_t codes[] = {0x90c308c48348d0ff, 0x90c310c48348d1ff,
					 0x905d08c48348d1ff};

	for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
		begin(EM_X86_64);
		FUNCTION(0x100, SP(8), CALLED);
		FUNCTION(0x300, ENTRY);
		made.words[500] = codes[i];
		thread_at(CODE + 0x150, 10, at(20));
		made.words[10] = at(500) + 2;
		made.words[12] = CODE + 0x204;
		made.words[21] = CODE + 0x304;
		expect(BF_END_ENTRY, CODE + 0x150, at(500) + 2, CODE + 0x304);
	}
}

/* Rows take precedence over a frame pointer: where they exist, no chain is followed. */
static void test_rows_come_first(void **state)
{
	begin(machine(state));
	FUNCTION(0x100, SP(8), CALLED);
	FUNCTION(0x200, ENTRY);
	thread_at(CODE + 0x150, 10, at(20));
	made.words[10] = CODE + 0x204;
	made.words[21] = GENERATED + 0x10;
	expect(BF_END_ENTRY, CODE + 0x150, CODE + 0x204);
}

/* At a function's first and last instructions the frame pointer is the caller's. */
static void expect_edge(uint64_t code, unsigned int return_word, uint64_t fp)
{
	begin(EM_X86_64);
	FUNCTION(0x200, AT_FP, CALLED);
	FUNCTION(0x300, ENTRY);
	thread_at(at(100), 10, at(30));
	made.words[100] = code;
	made.words[10] = at(40); /* pushed by `push %rbp`, if that ran */
	made.words[30] = at(50); /* saved in a frame of its own */
	made.words[return_word] = CODE + 0x204;
	made.words[(fp - STACK) / 8 + 1] = CODE + 0x304;
	expect(BF_END_ENTRY, at(100), CODE + 0x204, CODE + 0x304);
}

static void test_x86_edges(void **state)
{
	expect_edge(0x55, 10, at(30));		     /* push %rbp */
	expect_edge(0xfa1e0ff3, 10, at(30));	     /* endbr64 */
	expect_edge(0xc3, 10, at(30));		     /* ret */
	expect_edge(0x08ec8348, 10, at(30));	     /* sub $8,%rsp */
	expect_edge(0x4141e58948, 11, at(40));	     /* mov %rsp,%rbp; the caller's was pushed */
	expect_edge(0x41ec8b48, 11, at(40));	     /* the same, the other encoding */
	expect_edge(0x9090909090909090, 31, at(50)); /* none: a frame of its own */
}

/* On arm64 the frame pointer can be used without looking at the code. */
static void test_arm64_chain_from_the_leaf(void **state)
{
	begin(EM_AARCH64);
	FUNCTION(0x200, ENTRY);
	thread_at(at(100), 10, at(20));
	made.words[100] = 0x55;
	made.words[21] = CODE + 0x204;
	expect(BF_END_ENTRY, at(100), CODE + 0x204);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH(test_chain),
		BOTH(test_chain_ends),
		BOTH(test_bad_frame_pointers),
		BOTH(test_far_frame_pointer),
		BOTH(test_chain_leads_nowhere),
		BOTH(test_chain_of_go),
		cmocka_unit_test(test_trampoline),
		cmocka_unit_test(test_leaf_in_trampoline),
		cmocka_unit_test(test_no_trampoline),
		BOTH(test_rows_come_first),
		cmocka_unit_test(test_x86_edges),
		cmocka_unit_test(test_arm64_chain_from_the_leaf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
