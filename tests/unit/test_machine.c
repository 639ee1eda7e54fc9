/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The machine that runs frame programs (bpf/machine.h): its operations; any text is safe to run. */
#include <stdlib.h>

#include "runtimes/text.h"
#include "tests/unit/cmocka_all.h"
#include "tests/unit/made_machine.h"

static struct made_memory memory;
static struct bf_machine machine;
static struct bf_text text;
static struct text_writer writer;

#define TLS (MADE_START + 0x8000)

static void begin(void)
{
	memset(&memory, 0, sizeof memory);
	memset(&machine, 0, sizeof machine);
	text_begin(&writer, &text);
}

static void run(void)
{
	assert_int_equal(text_end(&writer), 0);
	made_run(&machine, &text, TLS, &memory);
}

#define OP(...) text_op(&writer, __VA_ARGS__)

/* The value that each operation leaves in register 1. */
static void operations(void **state)
{
	static const struct {
		struct bf_op op;
		uint64_t result;
	} cases[] = {
		{{BF_OP_SET, 1, 0, 0, -2}, -2ULL},
		{{BF_OP_PARAMETER, 1, 0, 0, 3}, 33},
		{{BF_OP_ADDI, 1, 2, 0, -5}, 95},
		{{BF_OP_ANDI, 1, 2, 0, -4}, 100},
		{{BF_OP_MULI, 1, 2, 0, 3}, 300},
		{{BF_OP_SHL, 1, 2, 0, 60}, 4ULL << 60},
		{{BF_OP_SHR, 1, 2, 0, 2}, 25},
		{{BF_OP_ADD, 1, 2, 3, 0}, 107},
		{{BF_OP_SUB, 1, 3, 2, 0}, -93ULL},
		{{BF_OP_XOR, 1, 2, 3, 0}, 100 ^ 7},
		{{BF_OP_LOAD, 1, 0, 3, 8}, 0x8877665544332211},
		{{BF_OP_LOAD, 1, 0, 3, 15}, 0x8877665544332211}, /* aligned */
		{{BF_OP_LOAD, 1, 0, 2, 12}, 0x88776655},
		{{BF_OP_LOAD, 1, 0, 1, 10}, 0x4433},
		{{BF_OP_LOAD, 1, 0, 0, 9}, 0x22},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		begin();
		made_word(&memory, MADE_START + 64, 0x8877665544332211);
		machine.parameters[3] = 33;
		OP(BF_OP_SET, 2, 0, 0, 100);
		OP(BF_OP_SET, 3, 0, 0, 7);
		OP(BF_OP_ADDI, 4, BF_REGISTER_TLS, 0, -0x8000);
		OP(BF_OP_READ, 1, 4, 0, 64);
		text.ops[writer.n++] = cases[i].op;
		OP(BF_OP_END, 0, 0, 0, 0);
		run();
		assert_int_equal(machine.end, BF_CHAIN_WHOLE);
		assert_int_equal(machine.registers[1], cases[i].result);
	}
}

static void conditions(void **state)
{
	static const struct {
		int32_t x;
		enum bf_relation relation;
		int32_t y;
		bool holds;
	} cases[] = {
		{1, BF_EQ, 1, true},   {1, BF_EQ, 2, false},   {1, BF_NE, 2, true},
		{1, BF_NE, 1, false},  {1, BF_LT, 2, true},    {2, BF_LT, 2, false},
		{-1, BF_LT, 2, false}, {2, BF_GE, 2, true},    {-1, BF_GE, 2, true},
		{1, BF_GE, 2, false},  {5, BF_ANY, 4, true},   {5, BF_ANY, 2, false},
		{5, BF_NONE, 2, true}, {5, BF_NONE, 4, false},
	};

	for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
		bool by_register = i % 2;
		size_t k = i / 2;

		begin();
		OP(BF_OP_SET, 2, 0, 0, cases[k].x);
		OP(BF_OP_SET, 3, 0, 0, cases[k].y);
		OP(by_register ? BF_OP_IFR : BF_OP_IF, 2, cases[k].relation, 0,
		   by_register ? 3 : cases[k].y);
		text_to(&writer, 0);
		OP(BF_OP_SET, 1, 0, 0, 1);
		text_label(&writer, 0);
		OP(BF_OP_END, 0, 0, 0, 0);
		run();
		assert_int_equal(machine.registers[1], !cases[k].holds);
	}
}

/* Two frames with an anchor; one frame without. */
static void the_chain(void **state)
{
	static const uint64_t first = BF_FRAME_RUNTIME | 5ULL << BF_FRAME_KIND_SHIFT | 0x1000;

	begin();
	OP(BF_OP_SET, 1, 0, 0, 0x1000);
	OP(BF_OP_SET, 2, 0, 0, 0x22);
	OP(BF_OP_SET, 3, 0, 0, 0x33);
	OP(BF_OP_SET, 4, 0, 0, 0x7000);
	OP(BF_OP_STOP, 4, 0, 0, 0); /* no frames, so nothing to keep */
	OP(BF_OP_EMIT, 1, 2, 3, 5);
	OP(BF_OP_EMIT, 4, 2, 3, 0);
	OP(BF_OP_STOP, 4, 0, 0, 0);
	OP(BF_OP_EMIT, 2, 3, 3, 0);
	OP(BF_OP_END, 0, 0, 0, 0);
	run();
	assert_int_equal(machine.header, 8);
	assert_int_equal(machine.words[0], 0x7000 | 4ULL << BF_CHAIN_SHIFT);
	assert_int_equal(machine.words[1], first);
	assert_int_equal(machine.words[2], 0x22 | 0x33ULL << 32);
	assert_int_equal(machine.words[3], BF_FRAME_RUNTIME | 0x7000);
	assert_int_equal(machine.words[5], BF_NO_ANCHOR | 2ULL << BF_CHAIN_SHIFT);
	assert_false(machine.is_cut);
}

/* A list whose elements are frames, @n_each per activation. */
static void write_list(int n_each)
{
	enum { NEXT, END };

	OP(BF_OP_ADDI, 1, BF_REGISTER_TLS, 0, 0);
	text_label(&writer, NEXT);
	OP(BF_OP_IF, 1, BF_EQ, 0, 0);
	text_to(&writer, END);
	OP(BF_OP_READ, 0, 1, 1, 0);
	for (int i = 0; i < n_each; i++)
		OP(BF_OP_EMIT, 1, 2, 3, 0);
	OP(BF_OP_STOP, 1, 0, 0, 0);
	OP(BF_OP_LOAD, 1, 0, 3, 0);
	OP(BF_OP_JUMP, 0, 0, 0, 0);
	text_to(&writer, NEXT);
	text_label(&writer, END);
	OP(BF_OP_END, 0, 0, 0, 0);
}

static void make_list(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		made_word(&memory, TLS + 16 * i, i + 1 < n ? TLS + 16 * (i + 1) : 0);
}

/* A failing read ends the chain; the activations of the frames before it are known. */
static void faults_at_every_read(void **state)
{
	enum { N = 20 };

	for (uint32_t at = 1; at <= N + 1; at++) {
		uint32_t activations;

		begin();
		write_list(2);
		make_list(N);
		memory.fails_at = at;
		run();
		assert_int_equal(made_frames(&machine, &activations), 2 * (at - 1));
		assert_int_equal(activations, at - 1);
		assert_int_equal(machine.end, at <= N ? BF_CHAIN_MEMORY : BF_CHAIN_WHOLE);
	}
}

static void frames_without_an_anchor_are_left_out_when_the_chain_breaks(void **state)
{
	begin();
	OP(BF_OP_EMIT, 1, 2, 3, 0);
	OP(BF_OP_READ, 0, 1, 0, 0); /* address 0 */
	OP(BF_OP_END, 0, 0, 0, 0);
	run();
	assert_int_equal(machine.end, BF_CHAIN_MEMORY);
	assert_int_equal(machine.header, 0);
	/* A failed try reads as 0. */
	begin();
	OP(BF_OP_SET, 1, 0, 0, 5);
	OP(BF_OP_TRY, 0, 2, 0, 0);
	OP(BF_OP_LOAD, 1, 0, 3, 0);
	OP(BF_OP_END, 0, 0, 0, 0);
	run();
	assert_int_equal(machine.end, BF_CHAIN_WHOLE);
	assert_int_equal(machine.registers[1], 0);
}

static void loops_end(void **state)
{
	uint32_t activations;

	begin();
	write_list(1);
	made_word(&memory, TLS, TLS); /* points to itself */
	run();
	assert_int_equal(machine.end, BF_CHAIN_BUDGET);
	assert_true(machine.is_cut);
	assert_true(made_frames(&machine, &activations) > 300);
}

/* More frames than fit: the first ones stay, with the anchor of their activation. */
static void deep_activations_keep_their_anchor(void **state)
{
	uint32_t activations;

	begin();
	OP(BF_OP_SET, 5, 0, 0, 1600);
	text_label(&writer, 0);
	OP(BF_OP_EMIT, 5, 2, 3, 0);
	OP(BF_OP_ADDI, 5, 5, 0, -1);
	OP(BF_OP_IF, 5, BF_NE, 0, 0);
	text_to(&writer, 0);
	OP(BF_OP_SET, 4, 0, 0, 0x7777);
	OP(BF_OP_STOP, 4, 0, 0, 0);
	OP(BF_OP_EMIT, 4, 2, 3, 0);
	OP(BF_OP_STOP, 5, 0, 0, 0);
	OP(BF_OP_END, 0, 0, 0, 0);
	run();
	assert_int_equal(machine.end, BF_CHAIN_WHOLE);
	assert_true(machine.is_cut);
	assert_int_equal(made_frames(&machine, &activations), BF_MAX_FRAMES / 2);
	assert_int_equal(activations, 1);
	assert_int_equal(machine.words[0] & BF_FRAME_CODE, 0x7777);
	assert_int_equal(machine.words[1] & BF_FRAME_CODE, 1600);
}

/* Runs the text as that of a range, at a call with the stack at MADE_START + 64. */
static uint32_t run_range(struct bf_walk *walk, __u64 frames[static BF_MAX_FRAMES], int *ret_end)
{
	const struct runtime_memory reading = {made_read, &memory, MADE_START};

	machine.turns = 0;
	*walk = (struct bf_walk){.pc = 0x1000, .sp = MADE_START + 64, .fp = 3, .is_leaf = 1};
	assert_int_equal(text_end(&writer), 0);
	return machine_run_range(&machine, &text, walk, &reading, frames, 1, ret_end);
}

static void ranges_move_the_walk(void **state)
{
	__u64 frames[BF_MAX_FRAMES] = {0x99};
	struct bf_walk walk;
	int end;

	begin();
	OP(BF_OP_EMIT, BF_REGISTER_WALK_PC, BF_REGISTER_WALK_FP, 0, 5);
	OP(BF_OP_SET, 1, 0, 0, 0x2000);
	OP(BF_OP_PARAMETER, 2, 0, 0, 0);
	OP(BF_OP_ADDI, 2, 2, 0, 80);
	OP(BF_OP_CALLER, 1, 2, 1, 0);
	OP(BF_OP_END, 0, 0, 0, 0);
	assert_int_equal(run_range(&walk, frames, &end), 2);
	assert_int_equal(end, BF_END_NONE);
	assert_int_equal(walk.pc, 0x2000);
	assert_int_equal(walk.sp, MADE_START + 80);
	assert_int_equal(walk.fp, 0x2000);
	assert_false(walk.exact || walk.is_leaf);
	assert_int_equal(frames[0], 0x99);
	assert_int_equal(frames[1], BF_FRAME_RUNTIME | 5ULL << BF_FRAME_KIND_SHIFT | 0x1000);
	assert_int_equal(frames[2], 3);
}

static void ranges_keep_what_they_found(void **state)
{
	__u64 frames[BF_MAX_FRAMES] = {};
	struct bf_walk walk;
	int end;

	begin(); /* a caller that is not above */
	OP(BF_OP_EMIT, 1, 1, 1, 0);
	OP(BF_OP_CALLER, 1, BF_REGISTER_WALK_SP, 1, 0);
	assert_int_equal(run_range(&walk, frames, &end), 2);
	assert_int_equal(end, BF_END_STUCK);
	assert_int_equal(walk.sp, MADE_START + 64);
	begin();
	OP(BF_OP_EMIT, 1, 1, 1, 0);
	OP(BF_OP_READ, 0, 1, 0, 0);
	assert_int_equal(run_range(&walk, frames, &end), 2);
	assert_int_equal(end, BF_END_MEMORY);
	begin(); /* not the runtime's: the walk is as it was */
	OP(BF_OP_END, 0, 0, 0, 0);
	assert_int_equal(run_range(&walk, frames, &end), 0);
	assert_int_equal(walk.pc, 0x1000);
	assert_true(walk.is_leaf);
	begin(); /* without end */
	OP(BF_OP_EMIT, 1, 1, 1, 0);
	OP(BF_OP_JUMP, 0, 0, 0, -2);
	assert_int_equal(run_range(&walk, frames, &end), BF_MAX_FRAMES - 1);
	assert_int_equal(end, BF_END_DEPTH);
}

/* Memory decides how long a text runs: what it costs a walk is bounded all the same. */
static void ranges_share_the_turns_of_a_walk(void **state)
{
	const struct runtime_memory reading = {made_read, &memory, MADE_START};
	const uint32_t turns_each = BF_MACHINE_OPS / BF_TURN_OPS;
	struct bf_walk walk = {.sp = MADE_START};
	__u64 frames[BF_MAX_FRAMES];
	uint32_t n = 0;
	int end;

	begin();
	OP(BF_OP_JUMP, 0, 0, 0, -1);
	assert_int_equal(text_end(&writer), 0);
	machine.turns = 0;
	for (uint32_t i = 1; i <= BF_RANGE_TURNS / turns_each + 1; i++) {
		n += machine_run_range(&machine, &text, &walk, &reading, frames, n, &end);
		assert_int_equal(end, BF_END_DEPTH);
		assert_int_equal(machine.turns,
				 i * turns_each < BF_RANGE_TURNS ? i * turns_each : BF_RANGE_TURNS);
	}
	assert_int_equal(n, 0);
	begin();
	machine.turns = BF_RANGE_TURNS - 1; /* a range takes one at least */
	OP(BF_OP_END, 0, 0, 0, 0);
	assert_int_equal(text_end(&writer), 0);
	machine_run_range(&machine, &text, &walk, &reading, frames, n, &end);
	assert_int_equal(end, BF_END_NONE);
	machine_run_range(&machine, &text, &walk, &reading, frames, n, &end);
	assert_int_equal(end, BF_END_DEPTH);
}

static void texts_are_checked(void **state)
{
	begin();
	for (int i = 0; i < BF_TEXT_OPS + 1; i++)
		OP(BF_OP_END, 0, 0, 0, 0);
	assert_int_equal(text_end(&writer), -EINVAL);
	begin();
	OP(BF_OP_JUMP, 0, 0, 0, 0);
	text_to(&writer, 3);
	assert_int_equal(text_end(&writer), -EINVAL); /* to nowhere */
	begin();
	OP(BF_OP_IF, 0, 0, 0, 0);
	text_to(&writer, 0);
	for (int i = 0; i < 200; i++)
		OP(BF_OP_SET, 0, 0, 0, 0);
	text_label(&writer, 0);
	assert_int_equal(text_end(&writer), -EINVAL); /* too far */
}

static void any_text_is_safe(void **state)
{
	uint32_t activations;

	srandom(1);
	for (int turn = 0; turn < 2000; turn++) {
		begin();
		for (size_t i = 0; i < sizeof memory.bytes; i += 4)
			made_number(&memory, MADE_START + i,
				    random() & 1 ? (uint64_t)random() : MADE_START >> (i & 4) * 8);
		for (int i = 0; i < BF_TEXT_OPS; i++)
			text.ops[i] = (struct bf_op){random() % (N_BF_OPS + 1), random(), random(),
						     random(), random() % 64 - 20};
		for (int i = 0; i < BF_PARAMETERS; i++)
			machine.parameters[i] = MADE_START + random() % MADE_BYTES;
		made_run(&machine, &text, TLS, &memory);
		assert_int_not_equal(machine.end, BF_CHAIN_GOES_ON);
		assert_int_not_equal(made_frames(&machine, &activations), UINT32_MAX);
		assert_true(machine.header <= BF_CHAIN_WORDS);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(operations),
		cmocka_unit_test(conditions),
		cmocka_unit_test(the_chain),
		cmocka_unit_test(faults_at_every_read),
		cmocka_unit_test(frames_without_an_anchor_are_left_out_when_the_chain_breaks),
		cmocka_unit_test(loops_end),
		cmocka_unit_test(deep_activations_keep_their_anchor),
		cmocka_unit_test(ranges_move_the_walk),
		cmocka_unit_test(ranges_keep_what_they_found),
		cmocka_unit_test(ranges_share_the_turns_of_a_walk),
		cmocka_unit_test(texts_are_checked),
		cmocka_unit_test(any_text_is_safe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
