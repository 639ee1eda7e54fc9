/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Code that PHP's JIT makes, in the frame of the loop, in memory made by hand. */
#include "runtimes/php.h"
#include "tests/unit/cmocka_all.h"
#include "tests/unit/made_library.h"
#include "tests/unit/made_machine.h"

static struct made_memory memory;
static struct runtime_facts facts;

static inline struct runtime_memory reading(void)
{
	return (struct runtime_memory){made_read, &memory, MADE_START};
}

#include "tests/unit/walked_range.h"

#define AT(offset) (MADE_START + (offset))

enum {
	TEXT = 0x1000,
	LOOP = 0x1800,
	RETURN = 0x2345, /* where the loop returns to */
	TEXT_SIZE = 0x2000,
	GENERATED = 0x5000,
	STACK = 0x8000,
	FRAME = 0x98,
	SAVED = 24,
	SLOT = STACK + FRAME, /* of the return address */
	CALLERS_RBP = 0x7788,
};

/* A frame of 0x98 bytes, found by the stack pointer or the frame pointer. */
static void make(bool by_frame_pointer)
{
	facts = (struct runtime_facts){
		.runtime = 3, .version = PHP(8, 2), .loop = LOOP, .loop_size = 0x100};
	assert_true(php_known_offsets(&facts));
	facts.offsets[PHP_FRAME] = by_frame_pointer ? 8 : FRAME;
	facts.offsets[PHP_BY_FRAME_POINTER] = by_frame_pointer;
	facts.offsets[PHP_SAVED] = by_frame_pointer ? 8 : SAVED;
	facts.offsets[PHP_TEXT] = TEXT;
	facts.offsets[PHP_TEXT_SIZE] = TEXT_SIZE;
	assert_true(runtime_is_sound(&facts));
	memset(&memory, 0, sizeof memory);
	memset(memory.bytes + TEXT, 0x90, TEXT_SIZE);
	made_word(&memory, AT(SLOT), AT(RETURN));
	made_word(&memory, AT(SLOT - facts.offsets[PHP_SAVED]), CALLERS_RBP);
	memory.bytes[RETURN - 5] = 0xe8;
	made_number(&memory, AT(RETURN - 4), LOOP - RETURN);
}

static struct bf_walk in_code(int moved, bool is_leaf)
{
	return (struct bf_walk){.pc = AT(GENERATED),
				.sp = AT(STACK - moved),
				.fp = AT(SLOT - 8),
				.exact = is_leaf,
				.is_leaf = is_leaf};
}

/* The walk goes on as if the loop had just been called. */
static void assert_found(struct bf_walk walk)
{
	assert_int_equal(run(&walk), 0);
	assert_int_equal(end, BF_END_NONE);
	assert_int_equal(walk.pc, AT(LOOP + 1));
	assert_int_equal(walk.sp, AT(SLOT));
	assert_int_equal(walk.fp, CALLERS_RBP);
	assert_false(walk.exact);
	assert_false(walk.is_leaf);
}

static void assert_not_ours(struct bf_walk walk)
{
	const struct bf_walk before = walk;

	assert_int_equal(run(&walk), 0);
	assert_int_equal(end, BF_END_NONE);
	assert_memory_equal(&walk, &before, sizeof walk);
}

static void set_code(uint32_t at, const char *bytes, size_t n)
{
	memcpy(memory.bytes + at, bytes, n);
}

static void code_runs_in_the_frame_of_the_loop(void **state)
{
	make(false);
	assert_found(in_code(0, true));
	assert_found(in_code(0, false));
	/* In a subroutine. */
	assert_found(in_code(8, true));
	assert_found(in_code(16, true));
	assert_found(in_code(16, false));
	assert_not_ours(in_code(24, false));
	/* Where a trace is left: its end says how far. */
	assert_found(in_code(0x100, true));
	assert_not_ours(in_code(0x100, false));
	set_code(GENERATED, "\x48\x81\xc4\x00\x01\x00\x00", 7); /* add $0x100,%rsp */
	assert_found(in_code(0x100, false));
	assert_found(in_code(0x100, true));
	assert_not_ours(in_code(0x108, true));
}

static void a_frame_pointer_leads_there(void **state)
{
	struct bf_walk walk;

	make(true);
	assert_found(in_code(0, true));
	assert_found(in_code(0x110, true));
	assert_found(in_code(0x110, false));
	walk = in_code(0, true);
	walk.fp = AT(STACK - 0x10); /* below */
	made_word(&memory, AT(STACK - 8), AT(RETURN));
	assert_not_ours(walk);
	walk.fp = 1;
	assert_not_ours(walk);
}

static void calls_by_a_pointer_count(void **state)
{
	static const char *const calls[] = {"\xff\x10", "\xff\xd0", "\xff\x55\x00",
					    "\xff\x15\x10\x20\x30\x40"};
	static const int lengths[] = {2, 2, 3, 6};

	for (int i = 0; i < 4; i++) {
		make(false);
		set_code(RETURN - 5, "\x90\x90\x90\x90\x90", 5);
		assert_not_ours(in_code(0, true));
		set_code(RETURN - lengths[i], calls[i], lengths[i]);
		assert_found(in_code(0, true));
	}
	/* A jump. */
	set_code(RETURN - 6, "\x90\x90\x90\x90\xff\xe0", 6);
	assert_not_ours(in_code(0, true));
	/* A call of another function. */
	make(false);
	made_number(&memory, AT(RETURN - 4), LOOP - RETURN + 1);
	assert_not_ours(in_code(0, true));
}

static void other_code_is_left_to_others(void **state)
{
	/* A return address that is not PHP's, though it follows a call. */
	make(false);
	made_word(&memory, AT(SLOT), AT(GENERATED + 0x100));
	set_code(GENERATED + 0x100 - 2, "\xff\xd0", 2);
	assert_not_ours(in_code(0, true));
	/* PHP's code is not in memory: it is believed. */
	make(false);
	memset(memory.bytes + TEXT, 0, TEXT_SIZE);
	assert_found(in_code(0, true));
	/* Nothing can be read. */
	assert_not_ours((struct bf_walk){.pc = 8, .sp = 8, .exact = 1, .is_leaf = 1});
	/* Builds whose generated code has frames. */
	facts.offsets[PHP_FRAME] = 0;
	assert_int_equal(php_write_range(&facts, &(struct bf_text){}), -ENOENT);
}

/* As gcc makes a loop, before and since it keeps a frame pointer; and which kind it is. */
#define PROGRAM(first, kind)                                                                       \
	"char executor_globals[2000]; const char header[] = \"X-Powered-By: PHP/8.2.36\";"         \
	"asm(\".text; .globl execute_ex; .type execute_ex, @function; execute_ex: " first          \
	" ; .fill 200, 1, 0x90; .size execute_ex, . - execute_ex;"                                 \
	" .globl zend_vm_kind; .type zend_vm_kind, @function; zend_vm_kind: " kind                 \
	" ; ret; .size zend_vm_kind, . - zend_vm_kind; .fill 16, 1, 0x90;\");"
#define PUSHES "push %r13; push %r12; push %rbp; push %rbx;"
#define HYBRID "mov $4, %eax"

static const uint32_t *offsets_of(const char *source)
{
	static struct runtime_facts found;

	found = made_library_facts(source, "-O1 -w -nostdlib");
	assert_int_equal(found.runtime, 3);
	assert_int_equal(found.problem, RUNTIME_FINE);
	return found.offsets;
}

static void its_first_instructions_say_how_large_the_frame_is(void **state)
{
#ifdef __x86_64__
	const uint32_t *o = offsets_of(PROGRAM(PUSHES "sub $0x78, %rsp", HYBRID));

	assert_int_equal(o[PHP_FRAME], 0x98);
	assert_int_equal(o[PHP_SAVED], 24);
	assert_false(o[PHP_BY_FRAME_POINTER]);
	assert_true(o[PHP_TEXT_SIZE]);
	o = offsets_of(PROGRAM("endbr64; push %rbx; sub $0x128, %rsp", "endbr64;" HYBRID));
	assert_int_equal(o[PHP_FRAME], 0x130);
	assert_int_equal(o[PHP_SAVED], 0);
	o = offsets_of(PROGRAM("endbr64; push %rbp; mov %rsp, %rbp; push %r13", HYBRID));
	assert_int_equal(o[PHP_FRAME], 8);
	assert_int_equal(o[PHP_SAVED], 8);
	assert_true(o[PHP_BY_FRAME_POINTER]);
	/* Its code is called. */
	o = offsets_of(PROGRAM(PUSHES "sub $0x78, %rsp", "mov $1, %eax"));
	assert_int_equal(o[PHP_FRAME], 0);
	/* It begins in another way. */
	o = offsets_of(PROGRAM(PUSHES "mov %rdi, %rax", HYBRID));
	assert_int_equal(o[PHP_FRAME], 0);
#else
	skip();
#endif
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_runs_in_the_frame_of_the_loop),
		cmocka_unit_test(a_frame_pointer_leads_there),
		cmocka_unit_test(calls_by_a_pointer_count),
		cmocka_unit_test(other_code_is_left_to_others),
		cmocka_unit_test(its_first_instructions_say_how_large_the_frame_is),
	};

	return cmocka_run_group_tests(tests, made_setup, made_done);
}
