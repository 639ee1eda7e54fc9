/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Regular expressions that PCRE2 has compiled, in memory made by hand. */
#include "runtimes/pcre2.h"
#include "tests/unit/cmocka_all.h"
#include "tests/unit/made_library.h"
#include "tests/unit/made_machine.h"

static struct made_memory memory;
static const struct runtime_facts facts = {
	.runtime = 10, .version = 10 << 8, .offsets = {0x1234, 0x2345, 0x20}};

static inline struct runtime_memory reading(void)
{
	return (struct runtime_memory){made_read, &memory, MADE_START};
}

#include "tests/unit/walked_range.h"

#define AT(offset) (MADE_START + (offset))

enum {
	EXPRESSION = 0x3000,
	COMPILED = 0x3200,
	CODE = 0x4000,
	CODE_END = 0x4800,
	LEAVES = CODE + 0x400, /* where it restores registers */
	OTHER = 0x5000,	       /* generated code, too */
	STACK = 0x8000,
	RETURN = 0x8200, /* where the return address is */
	ARGUMENTS = RETURN + 8 + 0x20,
	ARGUMENTS_OF_OWN = 0x9000,
	CALLERS_RBP = 0x7788,
};

static const uint8_t saves[] = {0x53, 0x41, 0x57, 0x41, 0x56, 0x41, 0x55, 0x55};
static const uint8_t restores[] = {0x5d, 0x41, 0x5d, 0x41, 0x5e, 0x41, 0x5f, 0x5b, 0xc3};

static void word(uint32_t at, uint64_t value)
{
	made_word(&memory, AT(at), value);
}

/* Its second way to match runs; @returns to the library. */
static void make(uint32_t returns)
{
	memset(&memory, 0, sizeof memory);
	made_number(&memory, AT(EXPRESSION + PCRE2_MAGIC), PCRE2_MAGIC_VALUE);
	word(EXPRESSION + PCRE2_COMPILED, AT(COMPILED));
	word(COMPILED, AT(OTHER));
	word(COMPILED + PCRE2_SIZES, 16);
	word(COMPILED + 8, AT(CODE));
	word(COMPILED + PCRE2_SIZES + 8, CODE_END - CODE);
	memcpy(memory.bytes + CODE, saves, sizeof saves);
	memcpy(memory.bytes + LEAVES, restores, sizeof restores);
	word(RETURN, MADE_START + returns);
	word(RETURN - 8, AT(0x100));
	word(RETURN - 16, 5);
	word(RETURN - 24, AT(EXPRESSION));
	word(RETURN - 32, 0);
	word(RETURN - 40, CALLERS_RBP);
	word(ARGUMENTS_OF_OWN, AT(RETURN + 8));
}

/* A leaf that has 0x100 bytes of variables. */
static struct bf_walk in_leaf(uint32_t pc, uint32_t arguments)
{
	return (struct bf_walk){.pc = AT(pc),
				.sp = AT(RETURN - 40 - 0x100),
				.fp = AT(arguments),
				.exact = 1,
				.is_leaf = 1};
}

static void assert_found(struct bf_walk *walk, uint32_t returns)
{
	struct runtime_code code;

	assert_int_equal(run(walk), 1);
	assert_int_equal(end, BF_END_NONE);
	assert_int_equal(walk->pc, MADE_START + returns);
	assert_int_equal(walk->sp, AT(RETURN + 8));
	assert_int_equal(walk->fp, CALLERS_RBP);
	assert_false(walk->exact);
	assert_int_equal(describe(0, &code), 0);
	assert_string_equal(code.name, "PCRE2 JIT");
	assert_true(code.is_compiled);
	runtime_code_done(&code);
}

static void assert_not_ours(struct bf_walk walk)
{
	const struct bf_walk before = walk;

	assert_int_equal(run(&walk), 0);
	assert_int_equal(end, BF_END_NONE);
	assert_int_equal(walk.pc, before.pc);
	assert_int_equal(walk.sp, before.sp);
	assert_int_equal(walk.fp, before.fp);
}

static void arguments_lead_to_the_caller(void **state)
{
	struct bf_walk walk = in_leaf(CODE + 0x123, ARGUMENTS);

	make(facts.offsets[PCRE2_RETURN]);
	assert_true(runtime_is_sound(&facts));
	assert_found(&walk, facts.offsets[PCRE2_RETURN]);
	/* It has called a function in C, at its end. */
	walk = in_leaf(CODE_END, ARGUMENTS);
	walk.exact = walk.is_leaf = 0;
	assert_found(&walk, facts.offsets[PCRE2_RETURN]);
	/* On the thread's own stack. */
	make(facts.offsets[PCRE2_RETURN_OWN]);
	walk = in_leaf(CODE + 0x123, ARGUMENTS_OF_OWN);
	assert_found(&walk, facts.offsets[PCRE2_RETURN_OWN]);
}

/* 10.46: code begins with endbr64, and an expression has a word more. */
static void newer_versions_are_laid_out_differently(void **state)
{
	static const uint8_t branch_target[] = {0xf3, 0x0f, 0x1e, 0xfa};
	struct bf_walk walk = in_leaf(CODE + 0x123, ARGUMENTS);

	make(facts.offsets[PCRE2_RETURN]);
	memcpy(memory.bytes + CODE, branch_target, sizeof branch_target);
	assert_not_ours(walk);
	memcpy(memory.bytes + CODE + sizeof branch_target, saves, sizeof saves);
	assert_found(&walk, facts.offsets[PCRE2_RETURN]);
	made_number(&memory, AT(EXPRESSION + PCRE2_MAGIC), 128);
	made_number(&memory, AT(EXPRESSION + PCRE2_MAGIC + 8), PCRE2_MAGIC_VALUE);
	walk = in_leaf(CODE + 0x123, ARGUMENTS);
	assert_found(&walk, facts.offsets[PCRE2_RETURN]);
}

static void leaves_may_begin_or_end(void **state)
{
	/* Registers that are saved after the first N bytes, or still are; -1: in an instruction. */
	static const int after[] = {0, 1, -1, 2, -1, 3, -1, 4, 5};
	static const int before[] = {5, 4, -1, 3, -1, 2, -1, 1, 0};
	struct bf_walk walk = in_leaf(CODE + 0x20, CALLERS_RBP);

	make(facts.offsets[PCRE2_RETURN_OWN]);
	for (int i = 0; i < 9; i++) {
		if (after[i] < 0)
			continue;
		walk = in_leaf(CODE + i, 0);
		walk.fp = CALLERS_RBP;
		walk.sp = AT(RETURN - 8 * after[i]);
		assert_found(&walk, facts.offsets[PCRE2_RETURN_OWN]);
		walk = in_leaf(LEAVES + i, 0);
		walk.fp = before[i] == 5 ? AT(ARGUMENTS_OF_OWN) : CALLERS_RBP;
		walk.sp = AT(RETURN - 8 * before[i]);
		assert_found(&walk, facts.offsets[PCRE2_RETURN_OWN]);
	}
	/* It has made its frame, but still has the arguments in rbx only. */
	walk = in_leaf(CODE + 0x20, 0);
	walk.fp = CALLERS_RBP;
	walk.leaf[BF_REGISTER_BX] = AT(ARGUMENTS_OF_OWN);
	assert_found(&walk, facts.offsets[PCRE2_RETURN_OWN]);
	/* A caller can't be there. */
	walk.exact = walk.is_leaf = 0;
	walk.fp = CALLERS_RBP;
	walk.pc = AT(CODE + 0x20);
	walk.sp = AT(RETURN - 40 - 0x100);
	assert_not_ours(walk);
}

static void other_code_is_left_to_others(void **state)
{
	struct bf_walk walk;

	make(facts.offsets[PCRE2_RETURN]);
	/* Code that is not the expression's. */
	assert_not_ours(in_leaf(OTHER + 16, ARGUMENTS));
	assert_not_ours(in_leaf(CODE_END, ARGUMENTS));
	assert_not_ours(in_leaf(CODE - 1, ARGUMENTS));
	/* … which does not begin as that does. */
	assert_not_ours(in_leaf(OTHER + 4, ARGUMENTS));
	/* A frame that is below, or too far above. */
	walk = in_leaf(CODE + 0x123, ARGUMENTS);
	walk.sp = AT(RETURN + 8);
	assert_not_ours(walk);
	walk.sp = AT(RETURN) - 0x11000;
	assert_not_ours(walk);
	/* Another return address. */
	make(facts.offsets[PCRE2_RETURN] + 1);
	assert_not_ours(in_leaf(CODE + 0x123, ARGUMENTS));
	assert_not_ours(in_leaf(CODE, ARGUMENTS));
	/* No expression. */
	make(facts.offsets[PCRE2_RETURN]);
	made_number(&memory, AT(EXPRESSION + PCRE2_MAGIC), 0);
	assert_not_ours(in_leaf(CODE + 0x123, ARGUMENTS));
	/* Nothing can be read. */
	make(facts.offsets[PCRE2_RETURN]);
	walk = in_leaf(CODE + 0x123, ARGUMENTS);
	walk.fp = 8;
	assert_not_ours(walk);
}

/* As gcc makes pcre2_jit_match() and what it calls if there is no stack for matches. */
#define MATCH(call)                                                                                \
	"asm(\".text; .fill 64, 1, 0x90; own: sub $0x8038, %rsp; mov %rsp, (%rdi); call *%rsi;"    \
	" add $0x8038, %rsp; ret; .fill 200, 1, 0x90;"                                             \
	" .globl pcre2_jit_match_8; .type pcre2_jit_match_8, @function; pcre2_jit_match_8:"        \
	" sub $0x98, %rsp; call *%rax; lea 0x20(%rsp), %rdi; mov %rax, 0x20(%rsp); " call          \
	" ; lea 0x20(%rsp), %rdi; call own; add $0x98, %rsp; ret; .fill 32, 1, 0x90;"              \
	" .size pcre2_jit_match_8, . - pcre2_jit_match_8;\");"

static void its_library_says_where_calls_return_to(void **state)
{
#ifdef __x86_64__
	struct runtime_facts found =
		made_library_facts(MATCH("call *%rsi"), "-O1 -w -nostdlib -Wl,-z,noseparate-code");
	const uint32_t *o = found.offsets;
	char name[64];

	assert_int_equal(found.runtime, 10);
	assert_int_equal(found.problem, RUNTIME_FINE);
	assert_true(runtime_gives_way(&found));
	runtime_name(&found, name, sizeof name);
	assert_string_equal(name, "PCRE2 10");
	assert_int_equal(o[PCRE2_ARGUMENTS], 0x20);
	/* sub, mov, call; add, ret, others; sub, call, lea, mov, call. */
	assert_int_equal(o[PCRE2_RETURN] - o[PCRE2_RETURN_OWN], 7 + 1 + 200 + 7 + 2 + 5 + 5 + 2);
	/* Without a JIT, it calls no generated code. */
	assert_int_equal(made_library_facts(MATCH("nop"), "-O1 -w -nostdlib").runtime, 0);
	assert_int_equal(
		made_library_facts("int pcre2_jit_match_8(void) { return -45; }", "-O1").runtime,
		0);
#else
	skip();
#endif
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arguments_lead_to_the_caller),
		cmocka_unit_test(newer_versions_are_laid_out_differently),
		cmocka_unit_test(leaves_may_begin_or_end),
		cmocka_unit_test(other_code_is_left_to_others),
		cmocka_unit_test(its_library_says_where_calls_return_to),
	};

	return cmocka_run_group_tests(tests, made_setup, made_done);
}
