/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Perl's frames and names, in memory made by hand. */

#include "collect/loop_frames.h"
#include "tests/unit/cmocka_all.h"
#include "tests/unit/made_perl.h"

static struct runtime_facts made_facts(uint32_t version)
{
	struct runtime_facts facts = {
		.runtime = 6, .version = version, .loop = 0x100, .loop_size = 0x10};

	facts.offsets[PERL_KEY] = KEY;
	facts.offsets[PERL_FIRST] = FIRST;
	assert_true(perl_known_offsets(&facts));
	assert_true(runtime_is_sound(&facts));
	return facts;
}

#define DEPTH 6
static const char *const names[DEPTH] = {"Made::Shape::get", "<made.pl>",    "Made::Shape::area",
					 "<sort>",	     "main::sorted", "<made.pl>"};

static void names_and_lines(const struct runtime_facts *facts)
{
	uint32_t activations;

	made_perl(facts);
	made_find(&thread, facts);
	assert_int_equal(thread.machine.end, BF_CHAIN_WHOLE);
	assert_int_equal(made_frames(&thread.machine, &activations), DEPTH);
	assert_int_equal(activations, 3);
	for (uint32_t i = 0; i < DEPTH; i++) {
		struct runtime_code code;

		assert_int_equal(made_frame_at(&thread, i).kind & RUNTIME_LAST,
				 i == 0 || i == 3 || i == 5 ? RUNTIME_LAST : 0);
		assert_int_equal(made_describe(&thread, facts, i, &code), 0);
		assert_string_equal(code.name, names[i]);
		assert_string_equal(code.file, "/srv/made.pl");
		assert_int_equal(runtime_line(facts, code.lines, code.n_lines, code.first_line,
					      made_frame_at(&thread, i).detail),
				 DEPTH - i);
		free(code.lines);
	}
}

static void names_and_lines_of_each_version(void **state)
{
	const struct runtime_facts facts = made_facts(PERL(5, 36)), old = made_facts(PERL(5, 32));

	names_and_lines(&facts);
	names_and_lines(&old);
}

static void code_in_a_regular_expression(void **state)
{
	struct runtime_facts facts = made_facts(PERL(5, 40));
	struct runtime_code code;
	uint32_t activations;

	made_perl(&facts);
	made_stack(1, MAGIC, 2);
	made_context(1, 0, REGEX, FUNCTIONS, 0, made_place(2, 2));
	made_find(&thread, &facts);
	assert_int_equal(made_frames(&thread.machine, &activations), DEPTH - 1);
	assert_int_equal(activations, 3);
	assert_int_equal(made_describe(&thread, &facts, 2, &code), 0);
	assert_string_equal(code.name, "<regex>");
	runtime_code_done(&code);
}

static void a_program_that_is_compiled_does_not_run(void **state)
{
	struct runtime_facts facts = made_facts(PERL(5, 36));
	uint32_t activations;

	made_perl(&facts);
	word(INTERPRETER + facts.offsets[PERL_PROGRAM], 0);
	made_find(&thread, &facts);
	assert_int_equal(thread.machine.end, BF_CHAIN_WHOLE);
	assert_int_equal(made_frames(&thread.machine, &activations), DEPTH - 1);
}

static void a_thread_without_an_interpreter(void **state)
{
	struct runtime_facts facts = made_facts(PERL(5, 36));
	uint32_t activations;

	made_perl(&facts);
	word(TLS + 0x310 + 2 * 16 + 8, 0);
	made_find(&thread, &facts);
	assert_int_equal(made_frames(&thread.machine, &activations), 0);
	made_perl(&facts);
	number(BIAS + KEY, -1); /* it has none yet */
	made_find(&thread, &facts);
	assert_int_equal(made_frames(&thread.machine, &activations), 0);
}

/* The key of a Perl that was never started is 0: somebody else's, with anything in it. */
static void a_process_that_has_not_started_its_perl(void **state)
{
	struct runtime_facts facts = made_facts(PERL(5, 36));
	uint32_t activations;

	made_perl(&facts);
	number(BIAS + KEY, 0);
	word(BIAS + FIRST, 0);
	word(TLS + 0x310 + 8, INTERPRETER);
	word(INTERPRETER + facts.offsets[PERL_PLACE] + 16, 0x1111111111111110);
	made_find(&thread, &facts);
	assert_int_equal(thread.machine.end, BF_CHAIN_WHOLE);
	assert_int_equal(made_frames(&thread.machine, &activations), 0);
	facts.offsets[PERL_FIRST] = facts.offsets[PERL_KEY] = 1 << 30; /* no page was touched yet */
	made_find(&thread, &facts);
	assert_int_equal(thread.machine.end, BF_CHAIN_WHOLE);
}

static void a_function_that_begins_or_ends_is_left_out(void **state)
{
	struct runtime_facts facts = made_facts(PERL(5, 36));
	struct runtime_code code;
	uint32_t activations;

	made_perl(&facts);
	made_context(2, 0, FUNCTION, 0, 0, made_place(5, 5));
	made_find(&thread, &facts);
	assert_int_equal(thread.machine.end, BF_CHAIN_WHOLE);
	assert_int_equal(made_frames(&thread.machine, &activations), DEPTH - 1);
	assert_int_equal(made_describe(&thread, &facts, 0, &code), 0);
	assert_string_equal(code.name, names[1]);
	assert_int_equal(made_frame_at(&thread, 0).detail, 5);
	runtime_code_done(&code);
}

static void what_changed_has_no_name(void **state)
{
	struct runtime_facts facts = made_facts(PERL(5, 36));
	const uint64_t at[] = {FUNCTIONS + 0x100,
			       FUNCTIONS + 0x100 + PERL_FLAGS,
			       FUNCTIONS + 0x140 + PERL_FUNCTION_ROOT,
			       FUNCTIONS + 0x140 + PERL_FUNCTION_NAME,
			       GLOBS + 0x100 + PERL_FLAGS,
			       GLOBS + 0x140 + PERL_GLOB_NAME,
			       GLOBS + 0x140 + PERL_GLOB_PACKAGE,
			       PACKAGES + 0x200 + PERL_FLAGS,
			       WORDS + 5 * 0x40,
			       WORDS + 5 * 0x40 + PERL_WORD_LENGTH};
	struct runtime_code code;

	for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
		made_perl(&facts);
		made_find(&thread, &facts);
		thread.memory.bytes[at[i] - MADE_START] ^= 0x18;
		assert_true(made_describe(&thread, &facts, 2, &code) < 0 ||
			    at[i] == WORDS + 5 * 0x40 + PERL_WORD_LENGTH);
		runtime_code_done(&code);
	}
	made_perl(&facts);
	made_find(&thread, &facts);
	word(PLACES + 0xc0 + PERL_PLACE_FILE, FILES + 1);
	assert_true(made_describe(&thread, &facts, 3, &code) < 0);
}

static void a_thread_that_has_not_started_has_none(void **state)
{
	struct runtime_facts facts = made_facts(PERL(5, 36));

	made_perl(&facts);
	made_early(&thread, &facts);
}

static void a_fault_at_any_read(void **state)
{
	struct runtime_facts facts = made_facts(PERL(5, 36));
	struct runtime_code code;
	uint64_t n_reads;

	made_perl(&facts);
	made_faults(&thread, &facts, DEPTH);
	assert_int_equal(made_describe(&thread, &facts, 2, &code), 0);
	runtime_code_done(&code);
	n_reads = thread.memory.n_reads;
	for (uint64_t i = 1; i <= n_reads; i++) {
		thread.memory.fails_at = i;
		assert_true(made_describe(&thread, &facts, 2, &code) < 0);
	}
}

#define LAST_WORD (BF_FRAME_RUNTIME | (uint64_t)RUNTIME_LAST << BF_FRAME_KIND_SHIFT)

static void loops_of_one_activation_take_it_once(void **state)
{
	/* The inner loop, the eval that has started it, the outer loop of the same activation. */
	const uint64_t words[] = {0x100, 0x205, 0x108, 0x50, LAST_WORD, 1};
	const uint64_t placed[] = {LAST_WORD, 1, 0x100, 0x205, 0x108, 0x50};
	const struct loop_code code = {
		.start = 0x100, .end = 0x110, .again_start = 0x200, .again_end = 0x210};
	uint64_t found[BF_MAX_FRAMES];

	assert_int_equal(loop_frames_place(words, 6, &code, true, found), 6);
	assert_memory_equal(found, placed, sizeof placed);
}

/* Part of the loop is elsewhere; what runs there calls another loop, or is the leaf. */
static void cold_parts_are_the_loop(void **state)
{
	const uint64_t words[] = {0x900, 0x50,	    0x108, 0x60,      0x905, LAST_WORD,
				  1,	 LAST_WORD, 2,	   LAST_WORD, 3};
	const uint64_t placed[] = {LAST_WORD, 1,    0x900,     0x50, LAST_WORD, 2,
				   0x108,     0x60, LAST_WORD, 3,    0x905};
	const struct loop_code code = {
		.start = 0x100, .end = 0x110, .cold_start = 0x900, .cold_end = 0x910};
	uint64_t found[BF_MAX_FRAMES];

	assert_int_equal(loop_frames_place(words, 11, &code, true, found), 11);
	assert_memory_equal(found, placed, sizeof placed);
}

static void an_activation_that_does_not_run_is_left_out(void **state)
{
	/* sort compares in C: its block waits. */
	const uint64_t words[] = {0x50, 0x108, 0x60, LAST_WORD, 1, LAST_WORD, 2};
	const uint64_t placed[] = {0x50, LAST_WORD, 2, 0x108, 0x60};
	const struct loop_code code = {.start = 0x100, .end = 0x110};
	uint64_t found[BF_MAX_FRAMES];

	assert_int_equal(loop_frames_place(words, 7, &code, true, found), 5);
	assert_memory_equal(found, placed, sizeof placed);
}

/* In a program that Perl is part of, its own has ended: 0x305 would be perl_run(). */
static void a_program_that_is_over_is_left_out(void **state)
{
	const uint64_t program = LAST_WORD | (uint64_t)RUNTIME_KIND_PROGRAM << BF_FRAME_KIND_SHIFT;
	const uint64_t over[] = {0x50, 0x108, 0x60, LAST_WORD, 1, program, 2};
	const uint64_t runs[] = {0x50, 0x108, 0x305, 0x60, program, 2};
	const uint64_t of_over[] = {0x50, LAST_WORD, 1, 0x108, 0x60};
	const uint64_t of_runs[] = {0x50, program, 2, 0x108, 0x305, 0x60};
	const struct loop_code code = {
		.start = 0x100, .end = 0x110, .program_start = 0x300, .program_end = 0x310};
	uint64_t found[BF_MAX_FRAMES];

	assert_int_equal(loop_frames_place(over, 7, &code, true, found), 5);
	assert_memory_equal(found, of_over, sizeof of_over);
	assert_int_equal(loop_frames_place(runs, 6, &code, true, found), 6);
	assert_memory_equal(found, of_runs, sizeof of_runs);
}

/* Frames of another runtime stay between the native frames that they were put between. */
static void frames_of_others_keep_their_places(void **state)
{
	const uint64_t own = LAST_WORD | 6ULL << BF_FRAME_OWNER_SHIFT;
	const uint64_t other = LAST_WORD | 1ULL << BF_FRAME_OWNER_SHIFT;
	/* The second word of a frame may look like a first one. */
	const uint64_t words[] = {0x50, 0x108, other, own, 0x60,  0x108, 0x70,
				  own,	1,     own,   2,   other, 3};
	const uint64_t placed[] = {0x50, own, 1,     0x108, other, own, 0x60,
				   own,	 2,   0x108, 0x70,  other, 3};
	const struct loop_code code = {.start = 0x100, .end = 0x110, .owner = 6};
	uint64_t found[BF_MAX_FRAMES];

	assert_int_equal(loop_frames_place(words, 13, &code, true, found), 13);
	assert_memory_equal(found, placed, sizeof placed);
}

static void only_sound_facts_are_used(void **state)
{
	struct runtime_facts facts = made_facts(PERL(5, 36)), changed;

	made_other_facts(&thread, &facts, made_perl, N_PERL_OFFSETS, 3000);
	changed = facts;
	changed.offsets[PERL_PLACE] = 3;
	assert_false(runtime_is_sound(&changed));
	changed = facts;
	changed.loop_size = 0;
	assert_false(runtime_is_sound(&changed));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_and_lines_of_each_version),
		cmocka_unit_test(code_in_a_regular_expression),
		cmocka_unit_test(a_program_that_is_compiled_does_not_run),
		cmocka_unit_test(a_thread_without_an_interpreter),
		cmocka_unit_test(a_process_that_has_not_started_its_perl),
		cmocka_unit_test(a_function_that_begins_or_ends_is_left_out),
		cmocka_unit_test(what_changed_has_no_name),
		cmocka_unit_test(a_thread_that_has_not_started_has_none),
		cmocka_unit_test(a_fault_at_any_read),
		cmocka_unit_test(loops_of_one_activation_take_it_once),
		cmocka_unit_test(cold_parts_are_the_loop),
		cmocka_unit_test(an_activation_that_does_not_run_is_left_out),
		cmocka_unit_test(a_program_that_is_over_is_left_out),
		cmocka_unit_test(frames_of_others_keep_their_places),
		cmocka_unit_test(only_sound_facts_are_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
