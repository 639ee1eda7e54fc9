/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CPython's frames and names, in memory made by hand; and which files are Python, on real files. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/elf_file.h"
#include "tests/unit/cmocka_all.h"
#include "tests/unit/made_python.h"
#include "tests/unit/made_runtime.h"

static struct made_runtime thread = {.tls = PYTHON_TLS, .bias = PYTHON_BIAS};
static const uint32_t versions[] = {CPYTHON(3, 9), CPYTHON(3, 10), CPYTHON(3, 11), CPYTHON(3, 12)};
#define N_VERSIONS (sizeof versions / sizeof *versions)

static struct runtime_facts facts_of(uint32_t version)
{
	struct runtime_facts facts = {.runtime = 1, .version = version, .type = PYTHON_TYPE};

	assert_true(cpython_known_offsets(&facts));
	if (!cpython_has_anchors(&facts)) {
		facts.loop = 0x100;
		facts.loop_size = 0x10;
	}
	assert_true(runtime_is_sound(&facts));
	return facts;
}

static void made_thread(const struct runtime_facts *facts)
{
	made_python(&thread.memory, facts);
}

static void all_frames_are_found_in_order(void **state)
{
	for (size_t v = 0; v < N_VERSIONS; v++) {
		struct runtime_facts facts = facts_of(versions[v]);
		bool has_anchors = cpython_has_anchors(&facts);
		uint32_t activations, at = 0, wanted = PYTHON_DEPTH / 2;

		if (versions[v] <= CPYTHON(3, 10)) /* each is one; in 3.9, marks say so */
			wanted = has_anchors ? PYTHON_DEPTH : 1;

		made_thread(&facts);
		made_find(&thread, &facts);
		assert_int_equal(thread.machine.end, BF_CHAIN_WHOLE);
		assert_int_equal(made_frames(&thread.machine, &activations), PYTHON_DEPTH);
		assert_int_equal(activations, wanted);
		for (uint32_t i = 0; i < PYTHON_DEPTH; i++) {
			assert_int_equal(made_frame_at(&thread, i).code, PYTHON_CODE + 0x200 * i);
			assert_int_equal(made_frame_at(&thread, i).kind,
					 has_anchors ? 0 : RUNTIME_LAST);
		}
		for (uint32_t i = 0; i < activations; i++) {
			uint64_t anchor = versions[v] == CPYTHON(3, 12)
						  ? PYTHON_FRAMES + 0x400 * i + 0x300
					  : has_anchors ? PYTHON_RECORDS + 0x40 * i
							: BF_NO_ANCHOR;

			assert_int_equal(thread.machine.words[at] & BF_FRAME_CODE, anchor);
			at += (thread.machine.words[at] >> BF_CHAIN_SHIFT) + 1;
		}
	}
}

/* Without anchors, frames come by sixteens: the others stay when the next can't be read. */
static void a_chain_without_anchors_or_an_end(void **state)
{
	struct runtime_facts facts = facts_of(CPYTHON(3, 9));
	uint64_t outermost = PYTHON_FRAMES + 0x200 * (PYTHON_DEPTH - 1);
	bool has_sixteen = false;
	uint32_t activations;

	made_thread(&facts);
	made_word(&thread.memory, outermost + facts.offsets[FRAME_PREVIOUS], PYTHON_FRAMES);
	made_find(&thread, &facts);
	assert_int_equal(thread.machine.end, BF_CHAIN_BUDGET);
	assert_int_equal(thread.machine.is_cut, 1);
	assert_int_equal(thread.machine.words[0] >> BF_CHAIN_SHIFT, 32);
	assert_in_range(made_frames(&thread.machine, &activations), 490, BF_CHAIN_WORDS / 2);
	for (uint64_t i = 1; i < 100; i++) {
		uint32_t n;

		thread.memory.fails_at = i;
		made_find(&thread, &facts);
		n = made_frames(&thread.machine, &activations);
		if (thread.machine.end == BF_CHAIN_MEMORY)
			assert_int_equal(n % 16, 0);
		has_sixteen |= n == 16;
	}
	thread.memory.fails_at = 0;
	assert_true(has_sixteen);
}

/* Another thread's state, or memory that only looks like a state, is refused. */
static void other_threads_are_not_taken(void **state)
{
	struct runtime_facts facts = facts_of(CPYTHON(3, 11));

	made_thread(&facts);
	made_word(&thread.memory, PYTHON_STATE + facts.offsets[THREAD_IDENT], PYTHON_TLS + 64);
	made_find(&thread, &facts);
	assert_int_equal(thread.machine.end, BF_CHAIN_WHOLE);
	assert_int_equal(thread.machine.header, 0);
}

static void a_thread_that_has_not_started_has_none(void **state)
{
	for (size_t v = 0; v < N_VERSIONS; v++) {
		struct runtime_facts facts = facts_of(versions[v]);

		made_thread(&facts);
		made_early(&thread, &facts);
	}
}

#define HEAD	     0x1800 /* in the made file */
#define INTERPRETER  (MADE_START + 0x1900)
#define ANOTHER	     (MADE_START + 0x1a00)
#define FOREIGN	     (MADE_START + 0x1c00) /* another thread's state */
#define WITHOUT	     (MADE_START + 0x1d00) /* this thread's, without frames */
#define EMPTY_RECORD (MADE_START + 0x1f00)

/* Two interpreters: this thread's state with frames is the last one of the second. */
static void made_interpreters(struct runtime_facts *facts, uint64_t specific)
{
	uint32_t *o = facts->offsets;

	made_thread(facts);
	o[INTERPRETERS] = HEAD;
	made_word(&thread.memory, MADE_START + HEAD, INTERPRETER);
	made_word(&thread.memory, INTERPRETER, ANOTHER);
	made_word(&thread.memory, INTERPRETER + o[INTERPRETER_THREADS], FOREIGN);
	made_word(&thread.memory, ANOTHER + o[INTERPRETER_THREADS], WITHOUT);
	made_word(&thread.memory, FOREIGN + o[THREAD_IDENT], PYTHON_TLS + 64);
	made_word(&thread.memory, WITHOUT + o[THREAD_IDENT], PYTHON_TLS);
	made_word(&thread.memory, WITHOUT + o[THREAD_NEXT], PYTHON_STATE);
	if (o[THREAD_RECORD])
		made_word(&thread.memory, WITHOUT + o[THREAD_RECORD], EMPTY_RECORD);
	made_word(&thread.memory, PYTHON_TLS + 0x328, specific);
}

static void states_of_all_interpreters_are_searched(void **state)
{
	static const uint64_t specifics[] = {WITHOUT, 0, FOREIGN, PYTHON_STATE};

	thread.bias = MADE_START;
	for (size_t v = 0; v < N_VERSIONS; v++) {
		struct runtime_facts facts = facts_of(versions[v]);
		uint32_t n, *o = facts.offsets;

		if (!o[INTERPRETERS])
			continue;
		for (size_t i = 0; i < sizeof specifics / sizeof *specifics; i++) {
			made_interpreters(&facts, specifics[i]);
			made_find(&thread, &facts);
			assert_int_equal(thread.machine.end, BF_CHAIN_WHOLE);
			assert_int_equal(made_frames(&thread.machine, &n), PYTHON_DEPTH);
			assert_int_equal(made_frame_at(&thread, 0).code, PYTHON_CODE);
		}
		/* Of another thread, and a list without an end. */
		made_interpreters(&facts, WITHOUT);
		made_word(&thread.memory, PYTHON_STATE + o[THREAD_IDENT], PYTHON_TLS + 64);
		made_find(&thread, &facts);
		assert_int_equal(thread.machine.end, BF_CHAIN_WHOLE);
		assert_int_equal(thread.machine.header, 0);
		made_interpreters(&facts, WITHOUT);
		made_word(&thread.memory, FOREIGN + o[THREAD_NEXT], FOREIGN);
		made_find(&thread, &facts);
		assert_int_equal(thread.machine.end, BF_CHAIN_WHOLE);
		assert_int_equal(thread.machine.header, 0);
	}
	thread.bias = PYTHON_BIAS;
}

static void a_fault_at_any_read_ends_the_chain(void **state)
{
	for (size_t v = 0; v < N_VERSIONS; v++) {
		struct runtime_facts facts = facts_of(versions[v]);

		made_thread(&facts);
		made_faults(&thread, &facts, PYTHON_DEPTH);
	}
}

static void names_files_and_lines(void **state)
{
	for (size_t v = 0; v < N_VERSIONS; v++) {
		struct runtime_facts facts = facts_of(versions[v]);
		struct runtime_code code;

		made_thread(&facts);
		made_find(&thread, &facts);
		for (uint32_t i = 0; i < PYTHON_DEPTH; i++) {
			char name[32];

			snprintf(name, sizeof name, "pack.Made.made_%u", i);
			assert_int_equal(made_describe(&thread, &facts, i, &code), 0);
			assert_string_equal(code.name, name);
			assert_string_equal(code.file,
					    "/usr/lib/python3/dist-packages/pack/__init__.py");
			assert_int_equal(code.first_line, 100 + i);
			assert_false(code.is_hidden);
			if (versions[v] > CPYTHON(3, 10))
				assert_int_equal(runtime_line(&facts, code.lines, code.n_lines,
							      code.first_line,
							      made_frame_at(&thread, i).detail),
						 100 + i + 1 + 2);
			free(code.lines);
		}
	}
}

/* 3.9 and 3.10 have pairs of bytes of code and lines; a frame counts bytes, or pairs of them. */
static void lines_by_pairs(void **state)
{
	static const uint8_t old[] = {0, 1, 6, 2, 4, 0xff}, new[] = {6, 1, 4, 2, 2, 0x80, 2, 1};
	struct runtime_facts facts = facts_of(CPYTHON(3, 9));
	const struct {
		uint32_t detail, old, new;
	} cases[] = {{UINT32_MAX, 10, 0}, {0, 11, 11}, {2, 11, 11}, {3, 11, 13}, {5, 11, 0},
		     {6, 13, 14},	  {9, 13, 0},  {10, 12, 0}, {400, 12, 0}};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_int_equal(runtime_line(&facts, old, sizeof old, 10, cases[i].detail),
				 cases[i].old);
	/* A function of one line. */
	assert_int_equal(runtime_line(&facts, old, 0, 10, 8), 10);
	facts = facts_of(CPYTHON(3, 10));
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_int_equal(runtime_line(&facts, new, sizeof new, 10, cases[i].detail),
				 cases[i].new);
}

/* If anything changed between the frame and the reading, there is no name. */
static void changed_objects_have_no_name(void **state)
{
	struct runtime_facts facts = facts_of(CPYTHON(3, 12));
	const uint32_t *o = facts.offsets;
	const uint64_t at[] = {
		PYTHON_CODE + CPYTHON_OBJECT_TYPE, PYTHON_CODE + o[CODE_FIRST_LINE],
		PYTHON_CODE + o[CODE_VERSION],	   PYTHON_CODE + o[CODE_NAME],
		PYTHON_CODE + o[CODE_FILE],	   PYTHON_STRINGS + CPYTHON_STRING_HASH};
	struct runtime_code code;

	for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
		made_thread(&facts);
		made_find(&thread, &facts);
		thread.memory.bytes[at[i] - MADE_START] ^= 0x40;
		thread.memory.bytes[at[i] + 1 - MADE_START] ^= 0x10;
		assert_true(made_describe(&thread, &facts, 0, &code) < 0);
	}
	made_thread(&facts);
	made_find(&thread, &facts);
	thread.memory.bytes[PYTHON_STRINGS + o[STRING_STATE] - MADE_START] ^=
		1 << 5; /* not compact */
	assert_true(made_describe(&thread, &facts, 0, &code) < 0);
	thread.memory.bytes[PYTHON_STRINGS + o[STRING_STATE] - MADE_START] ^= 1 << 5;
	for (uint64_t i = 1; i <= 9; i++) {
		thread.memory.fails_at = i;
		assert_true(made_describe(&thread, &facts, 0, &code) < 0);
	}
}

static void the_interpreters_own_code_is_hidden(void **state)
{
	struct runtime_facts facts = facts_of(CPYTHON(3, 12));
	struct runtime_code code;

	made_thread(&facts);
	made_word(&thread.memory, PYTHON_LINES + facts.offsets[BYTES_SIZE], 0);
	made_find(&thread, &facts);
	assert_int_equal(made_describe(&thread, &facts, 0, &code), 0);
	assert_true(code.is_hidden);
	free(code.lines);
	/* In 3.9, functions of one line have an empty table, too. */
	facts = facts_of(CPYTHON(3, 9));
	made_thread(&facts);
	made_word(&thread.memory, PYTHON_LINES + facts.offsets[BYTES_SIZE], 0);
	made_find(&thread, &facts);
	assert_int_equal(made_describe(&thread, &facts, 0, &code), 0);
	assert_false(code.is_hidden);
	free(code.lines);
}

static void names_in_any_script(void **state)
{
	struct runtime_facts facts = facts_of(CPYTHON(3, 11));
	const uint32_t *o = facts.offsets;
	static const uint16_t wide[] = {0x4e2d, 0xd800, 'x'};
	struct runtime_code code;

	made_thread(&facts);
	made_number(&thread.memory, PYTHON_STRINGS + o[STRING_STATE], 2 << 2 | 1 << 5);
	made_word(&thread.memory, PYTHON_STRINGS + o[STRING_LENGTH], 3);
	memcpy(thread.memory.bytes + (PYTHON_STRINGS + o[STRING_WIDE] - MADE_START), wide,
	       sizeof wide);
	made_find(&thread, &facts);
	assert_int_equal(made_describe(&thread, &facts, 0, &code), 0);
	assert_string_equal(code.name, "pack.\u4e2d?x");
	free(code.lines);
}

static void only_sound_facts_are_used(void **state)
{
	struct runtime_facts facts = facts_of(CPYTHON(3, 11)), changed;

	made_other_facts(&thread, &facts, made_thread, RUNTIME_OFFSETS, 5000);
	changed = facts;
	changed.runtime = 9;
	assert_false(runtime_is_sound(&changed));
	changed = facts;
	changed.offsets[FRAME_CODE] = 33;
	assert_false(runtime_is_sound(&changed));
	changed.offsets[FRAME_CODE] = 5000;
	assert_false(runtime_is_sound(&changed));
	/* Either anchors or a loop. */
	changed = facts;
	changed.loop_size = 0x10;
	assert_false(runtime_is_sound(&changed));
	facts = facts_of(CPYTHON(3, 9));
	made_other_facts(&thread, &facts, made_thread, RUNTIME_OFFSETS, 5000);
	facts.loop_size = 0;
	assert_false(runtime_is_sound(&facts));
}

/* This program is not Python; the distribution's interpreter is, if it is installed. */
static void files_are_recognized(void **state)
{
	static const char *const paths[] = {"/proc/self/exe", "/usr/bin/python3"};

	for (int i = 0; i < 2; i++) {
		int fd = open(paths[i], O_RDONLY | O_CLOEXEC);
		struct runtime_facts facts;
		struct elf_file elf;
		char name[64];

		if (fd < 0)
			continue;
		assert_int_equal(elf_file_open(&elf, fd), 0);
		assert_int_equal(runtime_examine(&elf, &facts), 0);
		assert_int_equal(facts.runtime != 0, i);
		if (i) {
			assert_true(runtime_is_sound(&facts));
			runtime_name(&facts, name, sizeof name);
			assert_memory_equal(name, "CPython 3.", 10);
		}
		elf_file_done(&elf);
		close(fd);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_frames_are_found_in_order),
		cmocka_unit_test(a_chain_without_anchors_or_an_end),
		cmocka_unit_test(other_threads_are_not_taken),
		cmocka_unit_test(a_thread_that_has_not_started_has_none),
		cmocka_unit_test(states_of_all_interpreters_are_searched),
		cmocka_unit_test(a_fault_at_any_read_ends_the_chain),
		cmocka_unit_test(names_files_and_lines),
		cmocka_unit_test(lines_by_pairs),
		cmocka_unit_test(changed_objects_have_no_name),
		cmocka_unit_test(the_interpreters_own_code_is_hidden),
		cmocka_unit_test(names_in_any_script),
		cmocka_unit_test(only_sound_facts_are_used),
		cmocka_unit_test(files_are_recognized),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
