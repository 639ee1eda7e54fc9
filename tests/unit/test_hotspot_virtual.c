/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Virtual threads of Java: frames in chunks on the heap, in memory made by hand. */
#include <errno.h>

#include "cmocka_all.h"
#include "tests/unit/made_hotspot.h"

static struct bf_machine machine;

/* Where things are, beside those of made_hotspot.h. */
enum {
	BASE = 0x20,
	SHIFT = 0x28,
	FIRST_CLASS = 0x30, /* the first word of an array */
	STUBS = SEGMENTS + 0x1000,
	BARRIER = STUBS + 0x100,
	INTERPRETER = SEGMENTS + 0x1800,
	INTERPRETED_AT = INTERPRETER + 0x100,
	PAUSE = SEGMENTS + 0x800,
	STUBS_NAME = 0x1140,
	PAUSE_NAME = 0x1160,
	INTERPRETER_NAME = 0x1180,
	ENTRY = STACK + 0x100,
	CONTINUATION = 0xa000,
	CHUNK = 0xa100,
	PARENT = 0xa400,
	CLASSES_AT = 0xb000,
	CLASS_BYTES = 0x400,
	CLASS_ARRAY = 0xc000,
	LISTS = 0xc100,
};
enum { TAIL = 32, OWNER = 44, UP = 40, FROM = 24, TO = 28, RESUMES = 16, WORDS_AT = 48 };

static void use(size_t i, bool has_chunks)
{
	facts = made_facts[i];
	facts.offsets[OOPS_BASE] = BASE;
	facts.offsets[OOPS_SHIFT] = SHIFT;
	facts.offsets[CLASSES] = CLASS_ARRAY;
	facts.offsets[CLASS_LAYOUT] = 8;
	facts.offsets[CLASS_POOL] = 224;
	facts.offsets[CLASS_FIELDS] = 448;
	if (!has_chunks)
		return;
	facts.offsets[CONTINUATION_TAIL] = TAIL;
	facts.offsets[CHUNK_CONTINUATION] = OWNER;
	facts.offsets[CHUNK_PARENT] = UP;
	facts.offsets[CHUNK_SP] = FROM;
	facts.offsets[CHUNK_BOTTOM] = TO;
	facts.offsets[CHUNK_PC] = RESUMES;
	facts.offsets[CHUNK_STACK] = WORDS_AT;
	facts.offsets[REFERENCE_BYTES] = 4;
}

/* A piece of code of @segments, called @name. */
static void make_code(uint32_t at, uint32_t segments, uint32_t name_at, const char *name)
{
	uint32_t blob = at + OFFSET(BLOCK_SIZE);

	for (uint32_t i = 0; i < segments; i++)
		memory.bytes[MAP + (at - SEGMENTS) / 128 + i] = i;
	bytes(name_at, name, strlen(name) + 1);
	word(blob + OFFSET(BLOB_NAME), AT(name_at));
	if (facts_are(23))
		number(blob + OFFSET(BLOB_CODE_OFFSET), 0x40);
	else
		word(blob + OFFSET(BLOB_CODE), AT(blob + 0x40));
}

/* A chunk from @parent's frames on; all references are compressed. */
static void make_chunk(uint32_t at, uint32_t parent, uint32_t from, uint32_t to)
{
	number(at + OWNER, CONTINUATION >> 3);
	number(at + UP, parent >> 3);
	number(at + FROM, from);
	number(at + TO, to);
	word(at + RESUMES, AT(CODE + CALL));
}

/* A thread at the call in its innermost frame, which returns to the barrier; two are in a chunk. */
static struct bf_walk make_virtual(void)
{
	static const uint8_t barrier[] = {0x49, 0x8b, 0xa7};

	make();
	make_code(STUBS, 4, STUBS_NAME,
		  facts_are(25) ? "StubRoutines (continuationstubs)"
				: "StubRoutines (continuation stubs)");
	make_code(INTERPRETER, 4, INTERPRETER_NAME, "Interpreter");
	bytes(BARRIER, barrier, sizeof barrier);
	word(BASE, MADE_START);
	number(SHIFT, 3);
	word(STACK + FRAME - 8, AT(BARRIER));
	word(STACK + FRAME - 16, AT(ENTRY + 64));
	word(ENTRY + 16, AT(CONTINUATION));
	word(ENTRY + 64, 0x777);
	word(ENTRY + 72, CALLER);
	number(CONTINUATION + TAIL, CHUNK >> 3);
	make_chunk(CHUNK, 0, 3, 3 + 2 * FRAME / 8);
	word(CHUNK + WORDS_AT + 8 * 3 + FRAME - 8, AT(CODE + CALL));
	return at_call();
}

/* The same, with references that are not compressed, which the caller writes. */
static struct bf_walk make_wide(void)
{
	struct bf_walk walk = make_virtual();

	facts.offsets[REFERENCE_BYTES] = 8;
	facts.offsets[CHUNK_CONTINUATION] = 64;
	facts.offsets[CHUNK_PARENT] = 56;
	facts.offsets[CHUNK_STACK] = 72;
	word(CHUNK + 72 + 8 * 3 + FRAME - 8, AT(CODE + CALL));
	return walk;
}

/* Returns how many frames there are. */
static uint32_t run(struct bf_walk *walk, int *ret_end)
{
	struct runtime_memory process = reading();
	__u64 frames[BF_MAX_FRAMES] = {};
	struct bf_text text;

	memory.n_reads = 0;
	machine.turns = 0;
	assert_int_equal(hotspot_write(&facts, &text), 0);
	return machine_run_range(&machine, &text, walk, &process, frames, 0, ret_end) / 2;
}

static void assert_below(const struct bf_walk *walk)
{
	assert_int_equal(walk->pc, CALLER);
	assert_int_equal(walk->sp, AT(ENTRY + 80));
	assert_int_equal(walk->fp, 0x777);
}

static void frames_in_chunks_follow_those_on_the_stack(void **state)
{
	struct bf_walk walk = make_virtual();
	int end;

	assert_int_equal(run(&walk, &end), 3);
	assert_int_equal(end, BF_END_NONE);
	assert_below(&walk);
	/* The innermost chunk is empty, and the next one has the frames. */
	walk = make_virtual();
	number(CONTINUATION + TAIL, PARENT >> 3);
	make_chunk(PARENT, CHUNK, 5, 5);
	assert_int_equal(run(&walk, &end), 3);
	assert_int_equal(end, BF_END_NONE);
	assert_below(&walk);
	/* References that are not compressed. */
	walk = make_wide();
	word(CONTINUATION + TAIL, AT(CHUNK));
	word(CHUNK + 64, AT(CONTINUATION));
	word(CHUNK + 56, 0);
	assert_int_equal(run(&walk, &end), 3);
	assert_int_equal(end, BF_END_NONE);
}

/* Compiled code has anything in the frame pointer; the entry lies above its arguments. */
static void the_entry_is_found_above_the_frame(void **state)
{
	static const uint32_t arguments[] = {0, 1, 8, 15};
	struct bf_walk walk;
	int end;

	for (size_t i = 0; i < sizeof arguments / sizeof *arguments; i++) {
		walk = make_virtual();
		word(STACK + FRAME - 16, AT(CONTINUATION)); /* what is there leads nowhere */
		for (uint32_t k = 0; k < 6 + arguments[i]; k++)
			word(STACK + FRAME + 8 * k, AT(CHUNK + 8 * k));
		word(ENTRY + 16, 0);
		word(STACK + FRAME + 8 * arguments[i] + 16, AT(CONTINUATION));
		word(STACK + FRAME + 8 * arguments[i] + 64, 0x777);
		word(STACK + FRAME + 8 * arguments[i] + 72, CALLER);
		assert_int_equal(run(&walk, &end), 3);
		assert_int_equal(end, BF_END_NONE);
		assert_int_equal(walk.pc, CALLER);
		assert_int_equal(walk.sp, AT(STACK + FRAME + 8 * arguments[i] + 80));
		assert_int_equal(walk.fp, 0x777);
	}
	walk = make_virtual();
	word(STACK + FRAME - 16, AT(CONTINUATION));
	run(&walk, &end);
	assert_int_not_equal(end, BF_END_NONE);
}

/*
 * ZGC's references, of which those of former phases have another colour, and as many bits of it: what they led
 * to may have moved. A chunk's continuation often has, for only a collector reads that field.
 */
static void references_may_be_coloured(void **state)
{
	enum { VARIABLES = 0xd000, POINTERS = 0xd010, SHIFT_IS = 0xd040, BAD_IS = 0xd048 };
	struct bf_walk walk;
	int end;

	for (uint32_t shift = 13; shift <= 16; shift++)
		for (uint32_t other = 13; other <= 16; other++)
			for (int is_tail_old = 0; is_tail_old < 2; is_tail_old++) {
				uint64_t colour = 1u << (shift - 1), old = 1u << (other - 1);

				walk = make_wide();
				facts.offsets[Z_VARIABLES] = VARIABLES;
				facts.offsets[Z_SHIFT] = 8;
				facts.offsets[Z_BAD_COLOURS] = 16;
				word(VARIABLES, AT(POINTERS));
				word(POINTERS + 8, AT(SHIFT_IS));
				word(POINTERS + 16, AT(BAD_IS));
				word(SHIFT_IS, shift);
				word(BAD_IS, 0xf000 & ~colour);
				word(CONTINUATION + TAIL, is_tail_old ? AT(CHUNK) << other | old
								      : AT(CHUNK) << shift | colour);
				word(CHUNK + 64,
				     AT(CONTINUATION + (old == colour ? 0 : 4096)) << other | old);
				word(CHUNK + 56, old);
				run(&walk, &end);
				assert_int_equal(end == BF_END_NONE, !is_tail_old || old == colour);
			}
}

/* Those of ZGC without generations have it in the address. */
static void addresses_may_be_coloured(void **state)
{
	enum { VARIABLES = 0xd000, POINTERS = 0xd010, BAD_IS = 0xd040 };
	const uint64_t bad = UINT64_C(1) << 60;
	struct bf_walk walk;
	int end;

	for (int is_tail_old = 0; is_tail_old < 2; is_tail_old++) {
		walk = make_wide();
		facts.offsets[X_VARIABLES] = VARIABLES;
		facts.offsets[X_BAD_COLOURS] = 16;
		word(VARIABLES, AT(POINTERS));
		word(POINTERS + 16, AT(BAD_IS));
		word(BAD_IS, bad);
		word(CONTINUATION + TAIL, is_tail_old ? AT(CHUNK) | bad : AT(CHUNK));
		word(CHUNK + 64, AT(CONTINUATION + 4096) | bad);
		word(CHUNK + 56, 0);
		run(&walk, &end);
		assert_int_equal(end == BF_END_NONE, !is_tail_old);
	}
}

/* Of the interpreter, which says in words how far it is to the next one. */
static void links_of_the_interpreter_are_relative(void **state)
{
	enum { AT_FRAME = CHUNK + WORDS_AT + 8 * 20 };
	struct bf_walk walk = make_virtual();
	int end;

	make_chunk(CHUNK, 0, 12, 32);
	word(CHUNK + RESUMES, AT(INTERPRETED_AT));
	word(CHUNK + WORDS_AT + 8 * 12 - 16, 10); /* from the link, two words below the frames */
	word(AT_FRAME - 24, AT(OUTER));
	word(AT_FRAME - 8, 8); /* where its caller's frame begins */
	word(AT_FRAME + 8, AT(CODE + CALL));
	assert_int_equal(run(&walk, &end), 3);
	assert_int_equal(end, BF_END_NONE);
	assert_below(&walk);
}

static void break_owner(void)
{
	number(CHUNK + OWNER, CHUNK >> 3);
}
static void break_place(void)
{
	number(CHUNK + FROM, 100);
}
static void break_size(void)
{
	number(CHUNK + TO, 3 + FRAME / 8 + 1);
}
static void break_caller(void)
{
	word(CHUNK + WORDS_AT + 8 * 3 + FRAME - 8, CALLER);
}
static void break_stub(void)
{
	word(CHUNK + WORDS_AT + 8 * 3 + FRAME - 8, AT(BARRIER));
}
static void break_memory(void)
{
	word(ENTRY + 16, 16);
}
static void break_loop(void)
{
	number(CHUNK + UP, CHUNK >> 3);
	number(CHUNK + FROM, 3 + 2 * FRAME / 8);
}

/* What a collector or a pause just moves, and what lies: the stack is cut off, and says so. */
static void frames_that_are_on_their_way_end_the_stack(void **state)
{
	static void (*const breaks[])(void) = {
		break_owner, break_place,  break_size, break_caller,
		break_stub,  break_memory, break_loop,
	};

	for (size_t i = 0; i < sizeof breaks / sizeof *breaks; i++) {
		struct bf_walk walk = make_virtual();
		int end;

		breaks[i]();
		run(&walk, &end);
		assert_int_not_equal(end, BF_END_NONE);
	}
}

/* At the machine's call to move the frames that have called @pause. */
static struct bf_walk make_pause(void)
{
	struct bf_walk walk = make_virtual();

	make_code(PAUSE, 4, PAUSE_NAME, "native nmethod");
	number(PAUSE + OFFSET(BLOCK_SIZE) + OFFSET(BLOB_FRAME_SIZE), 2);
	word(STACK - 8, AT(CODE + CALL));
	walk.pc = AT(PAUSE + 0x180);
	walk.sp = AT(STACK - 16);
	return walk;
}

/* Chunks have the callers of those on the stack, until the first begins where the pause returns to. */
static void a_pause_is_called_by_frames_in_chunks(void **state)
{
	struct bf_walk walk = make_pause();
	int end;

	word(CHUNK + RESUMES, AT(CODE + CALL + 4));
	assert_int_equal(run(&walk, &end), 4);
	assert_int_equal(end, BF_END_NONE);
	assert_below(&walk);
	walk = make_pause();
	run(&walk, &end);
	assert_int_not_equal(end, BF_END_NONE);
}

/* What brings frames back was called by what has entered the thread. */
static void frames_that_come_back_are_brought_to_the_stack(void **state)
{
	struct bf_walk walk;
	int end;

	for (int i = 0; i < 3; i++) {
		static const uint32_t below[] = {0x80, 16, 0x80};

		walk = make_virtual();
		walk.pc = AT(STUBS + 0x180);
		walk.sp = AT(ENTRY - below[i]);
		walk.fp = i ? AT(CHUNK) : AT(ENTRY + 64);
		if (i < 2) {
			assert_int_equal(run(&walk, &end), 1);
			assert_int_equal(end, BF_END_NONE);
			assert_below(&walk);
		} else {
			run(&walk, &end); /* too far below */
			assert_int_not_equal(end, BF_END_NONE);
		}
	}
}

/* What a method calls when it is entered, to ask a collector, has a word below its return address. */
static void the_word_below_a_return_address_is_passed_over(void **state)
{
	struct bf_walk walk = at_call();
	int end;

	make();
	make_code(STUBS, 4, STUBS_NAME, "StubRoutines (final stubs)");
	walk.pc = AT(STUBS + 0x180);
	walk.fp = AT(STACK + 0x40);
	word(STACK + 0x40, AT(STACK + 0x100));
	word(STACK + 0x48, UINT64_MAX);
	word(STACK + 0x50, CALLER);
	assert_int_equal(run(&walk, &end), 1);
	assert_int_equal(end, BF_END_NONE);
	assert_int_equal(walk.pc, CALLER);
	assert_int_equal(walk.sp, AT(STACK + 0x58));
	assert_int_equal(walk.fp, AT(STACK + 0x100));
}

/* A stub that is making its frame has the frame pointer in it already. */
static void frames_of_stubs_are_found_before_they_are_made(void **state)
{
	enum { STUB_FRAME = 160 };
	static const uint32_t links[] = {8, 48, STUB_FRAME - 16};
	struct bf_walk walk;
	int end;

	for (size_t i = 0; i < sizeof links / sizeof *links; i++)
		for (int is_mine = 0; is_mine < 2; is_mine++) {
			uint32_t bytes = is_mine ? links[i] + 16 : STUB_FRAME;

			walk = at_call();
			make();
			make_code(STUBS, 4, STUBS_NAME, "monitorenter Runtime1 stub");
			number(STUBS + OFFSET(BLOCK_SIZE) + OFFSET(BLOB_FRAME_SIZE), STUB_FRAME / 8);
			walk.pc = AT(STUBS + 0x180);
			walk.exact = walk.is_leaf = 1;
			walk.fp = is_mine ? AT(STACK + links[i]) : AT(STACK + STUB_FRAME);
			word(STACK + bytes - 8, CALLER);
			assert_int_equal(run(&walk, &end), 1);
			assert_int_equal(end, BF_END_NONE);
			assert_int_equal(walk.pc, CALLER);
			assert_int_equal(walk.sp, AT(STACK + bytes));
		}
}

/* Before it is known where chunks have their fields, and when they were read too late. */
static void chunks_that_can_not_be_read_end_the_stack(void **state)
{
	struct bf_walk walk = make_virtual();
	int end;

	machine.parameters[1] = 1;
	assert_int_equal(run(&walk, &end), 2); /* and the stub */
	assert_int_equal(end, BF_END_STUCK);
	machine.parameters[1] = 0;
	walk = make_virtual();
	facts.offsets[CHUNK_STACK] = 0;
	assert_int_equal(run(&walk, &end), 2);
	assert_int_equal(end, BF_END_STUCK);
}

/* --- lists of fields --- */

static void class(uint32_t i, uint32_t name, const uint8_t *list, uint32_t n)
{
	uint32_t at = CLASSES_AT + CLASS_BYTES * i, list_at = LISTS + 0x80 * i;

	word(CLASS_ARRAY + 8 * i, AT(at));
	word(at + OFFSET(CLASS_NAME), AT(SYMBOLS + 64 * name));
	word(at + 224, AT(POOL));
	word(at + 448, AT(list_at));
	number(at + 8, WORDS_AT | 1);
	number(list_at, n);
	numbers(list_at + 4, list, n);
}

static void make_classes(void)
{
	/* Fields, injected ones; of each: name, signature, offset, access, flags and what these
	 * ask for. */
	static const uint8_t continuation[] = {3, 0, 7, 1, 8, 8, 0,    6, 1, 28,
					       2, 5, 9, 4, 5, 1, TAIL, 0, 0};
	static const uint8_t chunk[] = {3,  3,	7, 1,  UP, 2, 0,  8,  1,       FROM,  2,
					16, 0,	9, 1,  TO, 2, 0,  20, 1,       OWNER, 0,
					2,  21, 1, 36, 0,  2, 22, 1,  RESUMES, 0,     2};

	make();
	symbol(5, "tail");
	symbol(6, "child");
	symbol(7, "parent");
	symbol(8, "sp");
	symbol(9, "bottom");
	symbol(10, "java/lang/Object");
	symbol(11, "jdk/internal/vm/Continuation");
	symbol(12, "jdk/internal/vm/StackChunk");
	class(0, 10, NULL, 0);
	class(1, 11, continuation, sizeof continuation);
	class(2, 12, chunk, sizeof chunk);
}

static void classes_say_where_their_fields_are(void **state)
{
	struct runtime_memory process = reading();
	struct runtime_facts found, wanted;

	wanted = facts;
	for (uint32_t i = CONTINUATION_TAIL; i < N_HOTSPOT_OFFSETS; i++)
		facts.offsets[i] = 0;
	found = facts;
	make_classes();
	hotspot_find_chunks(&found, &process);
	assert_memory_equal(&found, &wanted, sizeof found);
	/* Each read fails in turn: all of it is known, or nothing. */
	for (uint64_t i = 1; i < 40; i++) {
		found = facts;
		memory.n_reads = 0;
		memory.fails_at = i;
		hotspot_find_chunks(&found, &process);
		assert_true(memcmp(&found, &wanted, sizeof found) == 0 ||
			    memcmp(&found, &facts, sizeof found) == 0);
	}
}

static void processes_that_have_no_classes_yet_are_asked_again(void **state)
{
	struct runtime_memory process = reading();
	struct runtime_facts found, wanted = facts;

	for (uint32_t i = CONTINUATION_TAIL; i < N_HOTSPOT_OFFSETS; i++)
		facts.offsets[i] = 0;
	found = facts;
	make();
	hotspot_find_chunks(&found, &process);
	assert_true(found.is_early);
	make_classes();
	assert_int_equal(runtime_complete(&found, &process), 0);
	assert_memory_equal(&found, &wanted, sizeof found);
}

static void fields_that_make_no_sense_are_not_used(void **state)
{
	struct runtime_memory process = reading();
	struct runtime_facts found;

	for (uint32_t i = CONTINUATION_TAIL; i < N_HOTSPOT_OFFSETS; i++)
		facts.offsets[i] = 0;
	for (uint32_t i = 0; i < 33; i++) {
		make_classes();
		memory.bytes[LISTS + 0x100 + 4 + i] = 255;
		memset(memory.bytes + LISTS + 0x100 + 5 + i, 255, 40);
		found = facts;
		hotspot_find_chunks(&found, &process);
		assert_true(hotspot_is_sound(&found));
	}
	make_classes();
	number(LISTS + 0x80, 100000);
	found = facts;
	hotspot_find_chunks(&found, &process);
	assert_memory_equal(&found, &facts, sizeof found);
}

static int use_21(void **state)
{
	use(1, true);
	return 0;
}

static int use_25(void **state)
{
	use(2, true);
	return 0;
}

#define BOTH(test) cmocka_unit_test_setup(test, use_21), cmocka_unit_test_setup(test, use_25)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOTH(frames_in_chunks_follow_those_on_the_stack),
		BOTH(the_entry_is_found_above_the_frame),
		BOTH(references_may_be_coloured),
		BOTH(addresses_may_be_coloured),
		BOTH(links_of_the_interpreter_are_relative),
		BOTH(frames_that_are_on_their_way_end_the_stack),
		BOTH(a_pause_is_called_by_frames_in_chunks),
		BOTH(frames_that_come_back_are_brought_to_the_stack),
		BOTH(the_word_below_a_return_address_is_passed_over),
		BOTH(frames_of_stubs_are_found_before_they_are_made),
		BOTH(chunks_that_can_not_be_read_end_the_stack),
		BOTH(classes_say_where_their_fields_are),
		BOTH(processes_that_have_no_classes_yet_are_asked_again),
		BOTH(fields_that_make_no_sense_are_not_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
