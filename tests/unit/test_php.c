/* SPDX-License-Identifier: GPL-2.0-or-later */
/* PHP's frames and names, in memory made by hand, and their places among native frames. */

#include "collect/loop_frames.h"
#include "runtimes/php.h"
#include "tests/unit/cmocka_all.h"
#include "tests/unit/made_runtime.h"

#define BIAS	  MADE_START
#define GLOBALS	  0x1000		/* in the file */
#define FRAMES	  (MADE_START + 0x2000) /* 0x80 each */
#define FUNCTIONS (MADE_START + 0x3000) /* 0x100 each */
#define STRINGS	  (MADE_START + 0x5000) /* 0x40 each */
#define CLASS	  (MADE_START + 0x6000)
#define CODE	  (MADE_START + 0x7000) /* instructions */
#define DEPTH	  4 /* frames: a closure, that usort() calls, that a method calls, and the file */
#define TOP	  (1 << 17)

static struct made_runtime thread = {.bias = BIAS};

static struct runtime_facts made_facts(void)
{
	struct runtime_facts facts = {
		.runtime = 3, .version = PHP(8, 2), .loop = 0x100, .loop_size = 0x10};

	facts.offsets[PHP_GLOBALS] = GLOBALS;
	assert_true(php_known_offsets(&facts));
	assert_true(runtime_is_sound(&facts));
	return facts;
}

static void word(uint64_t address, uint64_t value)
{
	made_word(&thread.memory, address, value);
}

static uint64_t made_string(int i, const char *text)
{
	uint64_t at = STRINGS + 0x40 * i;

	word(at + PHP_STRING_LENGTH, strlen(text));
	memcpy(thread.memory.bytes + (at + PHP_STRING_VALUE - MADE_START), text, strlen(text));
	return at;
}

static void made_php(const struct runtime_facts *facts)
{
	static const char *const names[DEPTH] = {"{closure}", "usort", "sorted", NULL};
	const uint32_t *o = facts->offsets;

	memset(&thread.memory, 0, sizeof thread.memory);
	word(BIAS + GLOBALS + o[PHP_CURRENT], FRAMES);
	word(CLASS + 8, made_string(DEPTH, "Made\\Shape"));
	for (int i = 0; i < DEPTH; i++) {
		uint64_t frame = FRAMES + 0x80 * i, function = FUNCTIONS + 0x100 * i;

		word(frame, CODE + 0x20 * i);
		made_number(&thread.memory, CODE + 0x20 * i + 24, 10 + i);
		word(frame + 24, function);
		word(frame + 40, i == 0 || i == 3 ? TOP : 0);
		word(frame + 48, i + 1 < DEPTH ? frame + 0x80 : 0);
		word(function, i == 1 ? PHP_TYPE_INTERNAL : PHP_TYPE_USER);
		word(function + PHP_NAME, names[i] ? made_string(i, names[i]) : 0);
		word(function + PHP_SCOPE, i == 0 || i == 2 ? CLASS : 0);
		if (i == 1)
			continue;
		word(function + o[PHP_CODE], CODE + 0x20 * i);
		word(function + o[PHP_FILE], made_string(DEPTH + 1, "/srv/made.php"));
	}
}

static void names_and_lines(void **state)
{
	static const char *const names[DEPTH] = {"Made\\Shape::{closure}", "usort",
						 "Made\\Shape::sorted", "<main>"};
	struct runtime_facts facts = made_facts();
	uint32_t activations;

	made_php(&facts);
	made_find(&thread, &facts);
	assert_int_equal(thread.machine.end, BF_CHAIN_WHOLE);
	assert_int_equal(made_frames(&thread.machine, &activations), DEPTH);
	assert_int_equal(activations, 2); /* the closure; the others */
	assert_int_equal(thread.machine.header, 10);
	for (uint32_t i = 0; i < DEPTH; i++) {
		struct runtime_code code;

		assert_int_equal(made_frame_at(&thread, i).kind & RUNTIME_LAST,
				 i == 0 || i == 3 ? RUNTIME_LAST : 0);
		assert_int_equal(made_describe(&thread, &facts, i, &code), 0);
		assert_string_equal(code.name, names[i]);
		assert_string_equal(code.file, i == 1 ? "<php>" : "/srv/made.php");
		assert_int_equal(runtime_line(&facts, code.lines, code.n_lines, code.first_line,
					      made_frame_at(&thread, i).detail),
				 i == 1 ? 0 : 10 + i);
		free(code.lines);
	}
}

static void what_changed_has_no_name(void **state)
{
	struct runtime_facts facts = made_facts();
	const uint64_t at[] = {FUNCTIONS,
			       FUNCTIONS + PHP_NAME,
			       FUNCTIONS + PHP_SCOPE,
			       FUNCTIONS + facts.offsets[PHP_CODE],
			       STRINGS + PHP_STRING_LENGTH,
			       STRINGS + PHP_STRING_VALUE,
			       STRINGS + PHP_STRING_VALUE + 5};
	struct runtime_code code;

	for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
		made_php(&facts);
		made_find(&thread, &facts);
		thread.memory.bytes[at[i] - MADE_START] ^= 0x18;
		assert_true(made_describe(&thread, &facts, 0, &code) < 0);
	}
}

static void an_empty_name_is_none(void **state)
{
	struct runtime_facts facts = made_facts();
	struct runtime_code code;

	made_php(&facts);
	word(STRINGS + 0x40 + PHP_STRING_LENGTH, 0); /* of the function in C, which has no class */
	made_find(&thread, &facts);
	assert_true(made_describe(&thread, &facts, 1, &code) < 0);
}

static void a_fiber_has_its_own_frames(void **state)
{
	struct runtime_facts facts = made_facts();
	uint32_t activations;

	/* A frame of the interpreter's own. */
	made_php(&facts);
	word(FUNCTIONS + 0x200, PHP_TYPE_INTERNAL);
	word(FUNCTIONS + 0x200 + PHP_NAME, 0);
	word(FRAMES + 0x100 + 40, 1);
	made_find(&thread, &facts);
	assert_int_equal(made_frames(&thread.machine, &activations), DEPTH - 1);
	/* The one that a fiber begins with. */
	word(FRAMES + 0x100 + 40, 0);
	made_find(&thread, &facts);
	assert_int_equal(thread.machine.end, BF_CHAIN_WHOLE);
	assert_int_equal(made_frames(&thread.machine, &activations), 2);
}

static void a_fault_at_any_read(void **state)
{
	struct runtime_facts facts = made_facts();
	struct runtime_code code;
	uint64_t n_reads;

	made_php(&facts);
	made_faults(&thread, &facts, DEPTH);
	/* Its globals were never touched: it has not started. */
	thread.memory.fails_at = 1;
	made_find(&thread, &facts);
	assert_int_equal(thread.machine.end, BF_CHAIN_WHOLE);
	assert_int_equal(thread.machine.header, 0);
	thread.memory.fails_at = 0;
	made_find(&thread, &facts);
	assert_int_equal(made_describe(&thread, &facts, 2, &code), 0);
	free(code.lines);
	n_reads = thread.memory.n_reads;
	for (uint64_t i = 1; i <= n_reads; i++) {
		thread.memory.fails_at = i;
		assert_true(made_describe(&thread, &facts, 2, &code) < 0);
	}
}

#define RUNTIME_WORD(kind) (BF_FRAME_RUNTIME | (uint64_t)(kind) << BF_FRAME_KIND_SHIFT)

static void frames_come_before_their_loops(void **state)
{
	/* Two loops, at 0x100 (the leaf) and 0x108; activations of one and two frames. */
	const uint64_t words[] = {0x100,
				  0x50,
				  0x109,
				  0x60,
				  RUNTIME_WORD(RUNTIME_LAST),
				  1,
				  RUNTIME_WORD(0),
				  2,
				  RUNTIME_WORD(RUNTIME_LAST),
				  3};
	const uint64_t placed[] = {words[4], 1, 0x100, 0x50, words[6], 2, words[8], 3, 0x109, 0x60};
	const uint64_t outer[] = {0x100, 0x50, words[4], 1, 0x109, 0x60};
	uint64_t found[BF_MAX_FRAMES];
	uint32_t n = sizeof words / sizeof *words;

	assert_int_equal(
		loop_frames_place(words, n, &(struct loop_code){0x100, 0x109}, true, found), n);
	assert_memory_equal(found, placed, sizeof placed);
	/* The return address after the loop's end is in it, its first byte's is not. */
	assert_int_equal(
		loop_frames_place(words, n, &(struct loop_code){0x109, 0x110}, false, found), n);
	assert_memory_equal(found, words, sizeof words);
	/* A thread that runs no loop. */
	assert_int_equal(
		loop_frames_place(words, n, &(struct loop_code){0x200, 0x300}, true, found), 4);
	/* One activation: the inner loop has just left its own, unless an outer one is missing. */
	assert_int_equal(
		loop_frames_place(words, 6, &(struct loop_code){0x100, 0x109}, true, found), 6);
	assert_memory_equal(found, outer, sizeof outer);
	assert_int_equal(
		loop_frames_place(words, 6, &(struct loop_code){0x100, 0x109}, false, found), 6);
	assert_memory_equal(found, placed, 4 * sizeof *placed);
	/* An odd end. */
	assert_int_equal(
		loop_frames_place(words, 5, &(struct loop_code){0x100, 0x109}, true, found), 5);
}

static void only_sound_facts_are_used(void **state)
{
	struct runtime_facts facts = made_facts(), changed;

	made_other_facts(&thread, &facts, made_php, N_PHP_OFFSETS, 3000);
	changed = facts;
	changed.offsets[PHP_FILE] = 3;
	assert_false(runtime_is_sound(&changed));
	changed = facts;
	changed.loop_size = 0;
	assert_false(runtime_is_sound(&changed));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_and_lines),
		cmocka_unit_test(what_changed_has_no_name),
		cmocka_unit_test(an_empty_name_is_none),
		cmocka_unit_test(a_fiber_has_its_own_frames),
		cmocka_unit_test(a_fault_at_any_read),
		cmocka_unit_test(frames_come_before_their_loops),
		cmocka_unit_test(only_sound_facts_are_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
