/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Snapshots of stacks that lead through a runtime's code, which lies in memory made by hand. */
#include "collect/range_walk.h"
#include "tests/unit/cmocka_all.h"
#include "tests/unit/made_hotspot.h"

/* Native code, without rows, that calls the compiled method; and the stack above that. */
enum { NATIVE = 0x123000, WORDS = 64 };

static struct range_walk range;
static uint64_t stack[WORDS];
static __u64 frames[BF_MAX_FRAMES];
static uint32_t n_frames;

static bool code_at(void *context, uint64_t pc, struct walk_code *ret)
{
	if (pc - NATIVE < 0x1000) {
		*ret = (struct walk_code){.flags = BF_MAPPING_FILE};
		return true;
	}
	return pc - AT(SEGMENTS) < SEGMENTS_END - SEGMENTS;
}

static void walk_on(struct bf_walk *walk)
{
	const struct runtime_memory process = reading();
	struct walk_memory memory = {(uint8_t *)stack, AT(STACK), sizeof stack};

	n_frames = 0;
	range_walk_init(&range, &process);
	assert_true(range_walk_add(&range, &facts, process.bias));
	memory.range = range_walk_on;
	memory.range_context = &range;
	unwind_walk(walk, frames, &n_frames, EM_X86_64, &memory, code_at, NULL);
}

/* The stack is the snapshot's, even if the thread has gone on. */
static void make_stack(void)
{
	make();
	memset(memory.bytes + STACK, 0xee, sizeof stack);
	memset(stack, 0, sizeof stack);
	stack[FRAME / 8 - 1] = CALLER;
	stack[FRAME / 8 - 2] = AT(STACK + FRAME);
}

static void snapshots_lead_through_generated_code(void **state)
{
	struct bf_walk walk = at_call();

	make_stack();
	walk_on(&walk);
	assert_true(n_frames >= 3);
	assert_true(frames[0] & BF_FRAME_RUNTIME);
	assert_int_equal(frames[0] & BF_FRAME_CODE, AT(BLOB));
	assert_int_equal((uint32_t)frames[1], CALL);
	assert_int_equal(frames[2] & BF_FRAME_CODE, CALLER);
}

/* Code of nobody's is left by its frame pointer, as without a runtime. */
static void other_generated_code_is_walked_natively(void **state)
{
	struct bf_walk walk = at_call();

	make_stack();
	word(HEAPS, 0);
	walk.fp = AT(STACK + FRAME - 16);
	walk_on(&walk);
	assert_int_equal(n_frames, 2);
	assert_int_equal(frames[0] & BF_FRAME_CODE, AT(CODE + CALL));
	assert_int_equal(frames[1] & BF_FRAME_CODE, CALLER);
}

/* A map of segments that leads back one by one takes the longest; each walk has as much of that. */
static void hostile_memory_costs_a_walk_no_more_than_its_turns(void **state)
{
	make_stack();
	memset(memory.bytes + MAP, 1, 0x1000);
	for (int i = 0; i < 3; i++) {
		struct bf_walk walk = at_call();

		walk.pc = AT(SEGMENTS_END) - 8;
		walk_on(&walk);
		assert_true(range.turns > 0 && range.turns <= BF_RANGE_TURNS);
	}
}

enum { CHAIN = 0x8400, CHAIN_BYTES = 88, N_CHAIN = 340 };

/* Frames of the interpreter, one above the other, whose methods are where nothing is mapped. */
static void make_chain(void)
{
	make();
	bytes(NAME, "Interpreter", 12);
	for (uint32_t i = 0; i < N_CHAIN; i++) {
		uint32_t at = CHAIN + CHAIN_BYTES * i;

		word(at - 24, 8 + i);
		word(at - 8, AT(at + 16));
		word(at, AT(at + CHAIN_BYTES));
		word(at + 8, AT(CODE + CALL));
	}
}

static void hostile_memory_is_read_so_often_only(void **state)
{
	struct bf_walk walk = at_call();

	make_chain();
	walk.fp = AT(CHAIN);
	walk_on(&walk);
	assert_int_equal(walk.end, BF_END_MEMORY);
	assert_true(memory.n_reads <= RANGE_READS);
	assert_true(n_frames >= 2 * (RANGE_READS / 8) && n_frames < 2 * N_CHAIN);
}

/* What can't be walked by a text is said at once. */
static void runtimes_without_ranges_have_no_walk(void **state)
{
	const struct runtime_memory process = reading();
	struct runtime_facts other = facts;

	range_walk_init(&range, &process);
	other.problem = RUNTIME_VERSION;
	assert_false(range_walk_add(&range, &other, process.bias));
	other.problem = RUNTIME_FINE;
	other.is_partial = 1;
	assert_false(range_walk_add(&range, &other, process.bias));
	other = (struct runtime_facts){.runtime = 1};
	assert_false(range_walk_add(&range, &other, process.bias));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(snapshots_lead_through_generated_code),
		cmocka_unit_test(other_generated_code_is_walked_natively),
		cmocka_unit_test(hostile_memory_costs_a_walk_no_more_than_its_turns),
		cmocka_unit_test(hostile_memory_is_read_so_often_only),
		cmocka_unit_test(runtimes_without_ranges_have_no_walk),
	};

	facts = made_facts[0];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
