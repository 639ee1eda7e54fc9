/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * made_walk: a stack made by hand, and the code that its thread runs, for either machine.
 *
 * A file of code is mapped at CODE, with rules given by made functions; generated code is at
 * GENERATED; the stack begins at STACK. Return addresses point after the first instruction of a
 * function, 4 bytes long, unless noted otherwise.
 */
#ifndef UNIT_MADE_WALK_H
#define UNIT_MADE_WALK_H

#include "unit/cmocka_all.h"

#include <elf.h>
#include <string.h>

#include "unwind/table_part.h"
#include "unwind/walk.h"

#define CODE	  0x400000ull
#define GENERATED 0x7f0000000000ull
#define STACK	  0x7ffd00000000ull
#define N_WORDS	  8192
#define N_CODE	  0x10000

static struct {
	uint16_t machine;
	struct unwind_table table;
	struct table_writer writer;
	uint64_t words[N_WORDS]; /* the stack */
	struct walk_memory memory;
	uint32_t flags; /* of the file's mapping */
	bool no_room;
	struct bf_walk walk;
	__u64 frames[BF_MAX_FRAMES];
	uint32_t n;
} made;

static void begin(uint16_t machine)
{
	memset(&made, 0, sizeof made);
	made.machine = machine;
	made.flags = BF_MAPPING_FILE;
	made.memory = (struct walk_memory){(uint8_t *)made.words, STACK, sizeof made.words};
	assert_int_equal(table_writer_init(&made.writer, &made.table), 0);
}

/* Functions are made in order of their offsets. */
static void function(uint64_t offset, uint64_t size, struct bf_rule rule)
{
	assert_int_equal(table_writer_row(&made.writer, offset, &rule), 0);
	assert_int_equal(table_writer_gap(&made.writer, offset + size), 0);
}

#define FUNCTION(offset, ...) function(offset, 0x100, (struct bf_rule){__VA_ARGS__})

/* The return address is in the word below the CFA, where a call puts it. */
#define CALLED	    .ra = BF_SAVED_CFA, .ra_offset = -1
#define SP(offset)  .cfa = BF_CFA_SP, .cfa_offset = (offset)
#define AT_FP	    .cfa = BF_CFA_FP, .cfa_offset = 16
#define SAVES_FP(n) .fp = BF_SAVED_CFA, .fp_offset = (n)
#define SAVES_BX(n) .bx = BF_SAVED_CFA, .bx_offset = (n)
#define ENTRY	    .cfa = BF_CFA_ENTRY

static bool code_at(void *context, uint64_t pc, struct walk_code *ret)
{
	if (pc - CODE < N_CODE) {
		*ret = (struct walk_code){.table = &made.table,
					  .offset = pc - CODE,
					  .flags = made.flags,
					  .no_room = made.no_room};
		return true;
	}
	return pc - GENERATED < N_CODE || pc - STACK < sizeof made.words;
}

static uint64_t at(unsigned int word)
{
	return STACK + word * 8;
}

/* A thread at @pc with its stack pointer at @word. */
static void thread_at(uint64_t pc, unsigned int word, uint64_t fp)
{
	made.walk = (struct bf_walk){.pc = pc,
				     .sp = at(word),
				     .fp = fp,
				     .bx_at = BF_BX_IN_LEAF,
				     .exact = 1,
				     .is_leaf = 1};
}

/* Walks, and compares the end and the frames. */
static void expect_walk(enum bf_end end, const uint64_t *frames, size_t n, int line)
{
	assert_int_equal(table_writer_finish(&made.writer), 0);
	unwind_walk(&made.walk, made.frames, &made.n, made.machine, &made.memory, code_at, NULL);
	if (made.walk.end != end)
		fail_msg("line %d: ended by %d, not %d", line, made.walk.end, end);
	for (size_t i = 0; i < n && i < made.n; i++)
		if (made.frames[i] != frames[i])
			fail_msg("line %d: frame %zu is %#llx", line, i,
				 (unsigned long long)made.frames[i]);
	if (made.n != n)
		fail_msg("line %d: %u frames, not %zu", line, made.n, n);
	table_writer_done(&made.writer);
	unwind_table_done(&made.table);
}

#define expect(end, ...)                                                                           \
	expect_walk(end, (uint64_t[]){__VA_ARGS__}, sizeof((uint64_t[]){__VA_ARGS__}) / 8, __LINE__)

/* Every function listed in main() runs for both machines unless its name has a machine. */
static uint16_t machine(void **state)
{
	return *(const uint16_t *)*state;
}

/* Runs a test for one machine, or for both. */
static uint16_t x86 = EM_X86_64, arm64 = EM_AARCH64;
#define ON(machine, test) cmocka_unit_test_prestate(test, &machine)
#define BOTH(test)	  ON(x86, test), ON(arm64, test)

#endif
