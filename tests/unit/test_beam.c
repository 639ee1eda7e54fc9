/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Erlang's frames and names, in memory made by hand, as OTP 25, 27 and 29 have it. */
#include "tests/unit/cmocka_all.h"
#include "tests/unit/made_beam.h"
#include "tests/unit/walked_range.h"

static const uint32_t releases[] = {25, 27, 29};

static void assert_frame(uint32_t i, const char *name, const char *file, uint32_t line)
{
	struct runtime_code code;

	assert_int_equal(describe(i, &code), 0);
	assert_true(code.is_compiled);
	assert_string_equal(code.name, name);
	assert_string_equal(code.file, file);
	assert_int_equal(code.line, line);
	runtime_code_done(&code);
}

/* The frames of the made process, from @first on. */
static void assert_frames(uint32_t first)
{
	assert_frame(first, "sort:merge/3", "src/sort.yrl", 77);
	assert_frame(first + 1, "app:-run/2-fun-0-/1", "app.erl", 12);
	assert_frame(first + 2, "app:run/2", "app.erl", 10);
}

/* The walk is in what has called process_main. */
static void assert_at_caller(const struct bf_walk *walk, uint32_t more)
{
	assert_int_equal(end, BF_END_NONE);
	assert_int_equal(walk->pc, CALLER);
	assert_int_equal(walk->sp, AT(THREAD) + facts.offsets[BEAM_MAIN_FRAME] + 16 + 16 * more);
	assert_false(walk->exact);
}

static void functions_that_call_native_code_are_its_callers(void **state)
{
	for (size_t i = 0; i < sizeof releases / sizeof *releases; i++) {
		struct bf_walk walk = in_native();

		make_facts(releases[i]);
		assert_true(runtime_is_sound(&facts));
		make();
		assert_int_equal(run(&walk), MADE_DEPTH);
		assert_at_caller(&walk, 0);
		assert_frames(0);
	}
	make_facts(25);
}

/* Such as what lets another process run, to which functions jump. */
static void code_before_the_first_function_is_nobodys(void **state)
{
	struct bf_walk walk = in_leaf(MERGE - 0x10);

	make();
	assert_int_equal(run(&walk), MADE_DEPTH);
	assert_at_caller(&walk, 0);
	assert_frames(0);
}

static void leaves_are_functions_too(void **state)
{
	struct bf_walk walk = in_leaf(MERGE + 0x30);

	make();
	assert_int_equal(run(&walk), MADE_DEPTH + 1);
	assert_at_caller(&walk, 0);
	assert_frame(0, "sort:merge/3", "sort.erl", 1);
	assert_frames(1);
	/* At a function's first instruction, which no return leads to. */
	walk = in_leaf(FUN);
	assert_int_equal(run(&walk), MADE_DEPTH + 1);
	assert_int_equal(frame_at(0).code, AT(FUN));
	assert_frame(0, "app:-run/2-fun-0-/1", "", 0);
}

/* What generated code calls may use the thread's stack, or return to any address. */
static void leaves_of_no_function_have_callers(void **state)
{
	struct bf_walk walk = in_leaf(OTHER_CODE);

	make();
	walk.sp = AT(THREAD) - 0x100;
	assert_int_equal(run(&walk), MADE_DEPTH);
	assert_at_caller(&walk, 0);
	assert_frames(0);
	walk = in_leaf(OTHER_CODE);
	word(STACK, AT(IN_FUN + 1));
	assert_int_equal(run(&walk), MADE_DEPTH);
	memory.bytes[IN_FUN + 1 - 5] = 0xe8; /* a call */
	walk = in_leaf(OTHER_CODE);
	assert_int_equal(run(&walk), MADE_DEPTH + 1);
	assert_frame(0, "app:-run/2-fun-0-/1", "app.erl", 12);
	assert_frames(1);
	/* Only there. */
	walk = in_native();
	assert_int_equal(run(&walk), MADE_DEPTH);
}

#define FROM_RBP     "\x48\x89\xec"
#define FROM_PROCESS "\x49\x8b\x65\x58"

/* Code that does not let C look at the process's stack keeps where that is to itself. */
static void stack_pointers_are_where_code_gets_them_back_from(void **state)
{
	static const struct {
		const char *code;
		uint32_t frames;
	} cases[] = {
		{FROM_RBP FROM_PROCESS, MADE_DEPTH - 1},
		{FROM_PROCESS FROM_RBP, MADE_DEPTH},
		{"\x85\xc0\x74\x07" FROM_RBP, MADE_DEPTH - 1},
		{"\x4c\x29\xc6" FROM_PROCESS, MADE_DEPTH},
		{"\xc3", MADE_DEPTH},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		for (int is_leaf = 0; is_leaf < 2; is_leaf++) {
			struct bf_walk walk = is_leaf ? in_leaf(OTHER_CODE) : in_native();

			make();
			memcpy(memory.bytes + OTHER_CODE, cases[i].code, strlen(cases[i].code));
			walk.sp = AT(THREAD) - 16;
			walk.fp = AT(STACK + 16);
			assert_int_equal(run(&walk), cases[i].frames);
			assert_at_caller(&walk, 0);
			assert_frame(cases[i].frames - 1, "app:run/2", "app.erl", 10);
		}
}

/* That code may be called from any address, too. */
static void returns_of_any_bits_are_known_by_their_calls(void **state)
{
	struct bf_walk walk = in_native();

	make();
	memcpy(memory.bytes + OTHER_CODE, FROM_RBP, 3);
	walk.fp = AT(STACK);
	word(STACK, AT(OTHER_CODE + 0x31));
	memory.bytes[OTHER_CODE + 0x31 - 5] = 0xe8;
	word(STACK + 8, AT(IN_FUN + 1));
	memory.bytes[IN_FUN + 1 - 5] = 0xe8;
	word(STACK + 16, AT(IN_RUN + 1));
	memory.bytes[IN_RUN + 1 - 5] = 0xe8;
	assert_int_equal(run(&walk), MADE_DEPTH);
	assert_int_equal(frame_at(0).code, AT(IN_FUN));
	assert_int_equal(frame_at(1).code, AT(IN_FUN) - 1);
}

/* Frames of a stack that was freed are none of the process's. */
static void stacks_that_move_end_where_they_end(void **state)
{
	const uint64_t ends[] = {AT(HEAP_TOP), AT(STACK), AT(0x9000), UINT64_MAX};

	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
		struct bf_walk walk = in_native();

		make();
		word(STACK_END, AT(IN_RUN));
		word(PROCESS + BEAM_PROCESS_HEAP_TOP, i < 2 ? AT(HEAP_TOP) - 0x100 : AT(0x8f00));
		word(PROCESS + facts.offsets[BEAM_PROCESS_STACK_END], ends[i]);
		assert_int_equal(run(&walk), MADE_DEPTH);
		assert_at_caller(&walk, 0);
		assert_frames(0);
	}
}

static void stack_pointers_that_are_in_no_stack_end_the_walk(void **state)
{
	const uint64_t others[] = {0, AT(HEAP_TOP) - 8, AT(STACK_END), UINT64_MAX};

	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		struct bf_walk walk = in_native();

		make();
		memcpy(memory.bytes + OTHER_CODE, FROM_RBP, 3);
		walk.fp = others[i];
		assert_int_equal(run(&walk), 0);
		assert_int_equal(end, BF_END_STUCK);
	}
}

static void process_main_is_left_wherever_its_frame_begins(void **state)
{
	for (uint32_t more = 0; more < 4; more++) {
		struct bf_walk walk = in_native();

		make();
		word(THREAD + facts.offsets[BEAM_MAIN_FRAME] + 8, 0);
		make_main(more);
		assert_int_equal(run(&walk), MADE_DEPTH);
		assert_at_caller(&walk, more);
		/* A return from another function. */
		number(NATIVE + 1, 0x100);
		walk = in_native();
		assert_int_equal(run(&walk), MADE_DEPTH);
		assert_int_equal(end, BF_END_STUCK);
	}
}

static void schedulers_without_a_process_have_native_frames(void **state)
{
	struct bf_walk walk = in_native();

	make();
	word(scheduler(1) + facts.offsets[BEAM_SCHEDULER_PROCESS], 0);
	assert_int_equal(run(&walk), 0);
	assert_at_caller(&walk, 0);
}

static void code_that_is_not_ours_is_left_alone(void **state)
{
	struct bf_walk walk = in_native();

	make();
	walk.sp -= 0x1000; /* of another thread */
	assert_int_equal(run(&walk), 0);
	assert_int_equal(end, BF_END_NONE);
	assert_int_equal(walk.sp, AT(THREAD) - 16 - 0x1000);
	assert_int_equal(walk.pc, AT(OTHER_CODE));
	walk = in_leaf(IN_MERGE);
	word(scheduler(1) + facts.offsets[BEAM_SCHEDULER_PROCESS], AT(PROCESS) + 8);
	assert_int_equal(run(&walk), 0); /* r13 is something else */
	assert_int_equal(walk.sp, AT(STACK));
	walk = in_leaf(IN_MERGE);
	make();
	walk.sp = AT(APP); /* in no stack that is known */
	assert_int_equal(run(&walk), 0);
	assert_int_equal(walk.sp, AT(APP));
}

/* The thread's stack was taken before the process's is read. */
static void snapshots_end_where_a_process_begins(void **state)
{
	const struct bf_walk walks[] = {in_native(), in_leaf(IN_MERGE)};

	make();
	machine.parameters[1] = 1;
	for (size_t i = 0; i < 2; i++) {
		struct bf_walk walk = walks[i];

		assert_int_equal(run(&walk), 0);
		assert_int_equal(end, BF_END_STUCK);
	}
	machine.parameters[1] = 0;
}

static void take_frames(void)
{
	struct bf_walk walk = in_native();

	make();
	assert_int_equal(run(&walk), MADE_DEPTH);
}

static void unload_sort(struct made_memory *made)
{
	word(RANGES + 32 + 8, 1);
}

static void replace_sort(struct made_memory *made)
{
	word(CHECKSUMS + 16, 0x5555666677778889);
	make_atom(ATOM_MERGE, "other");
}

/* Whenever it happens while the name is read. */
static void modules_that_change_have_no_other_names(void **state)
{
	static void (*const changes[])(struct made_memory *) = {unload_sort, replace_sort};
	uint64_t n_reads;

	for (size_t i = 0; i < 2; i++) {
		struct runtime_code code;

		take_frames();
		assert_int_equal(describe(0, &code), 0);
		n_reads = memory.n_reads;
		for (uint64_t k = 1; k <= n_reads; k++) {
			take_frames();
			memory.changes_at = k;
			memory.change = changes[i];
			if (describe(0, &code) == 0)
				assert_string_equal(code.name, "sort:merge/3");
			memory.changes_at = 0;
			assert_int_equal(describe(0, &code), -ESTALE);
			/* The other module is as it was. */
			assert_frame(2, "app:run/2", "app.erl", 10);
		}
	}
}

static void modules_whose_code_others_have_now(void **state)
{
	take_frames();
	assert_int_not_equal(frame_at(0).check, frame_at(1).check);
	assert_int_equal(frame_at(1).check, frame_at(2).check);
	word(MODULES + 8, AT(FUN)); /* its last function is no longer its */
	assert_frame(2, "app:run/2", "app.erl", 10);
	assert_int_equal(describe(1, &(struct runtime_code){}), -ESTALE);
}

static void what_makes_no_sense_has_no_name(void **state)
{
	static const struct {
		uint32_t at;
		uint64_t value;
	} cases[] = {
		{RANGES + 32 + 8, 1ull << 40},			     /* modules */
		{RANGES + 32, 1},				     /* … nowhere */
		{SORT, 0},					     /* functions */
		{SORT, 1ull << 40},				     /* */
		{MERGE + BEAM_FUNCTION_NAME, 0x3b},		     /* no atom */
		{MERGE + BEAM_FUNCTION_NAME, UINT64_MAX},	     /* */
		{MERGE + BEAM_FUNCTION_NAME + 8, (1ull << 40) | 11}, /* an atom that is nowhere */
		{MERGE + BEAM_FUNCTION_NAME + 16, 256},		     /* arguments */
		{ATOMS + 0x40 * ATOM_MERGE + 24, 0},		     /* characters */
		{ATOMS + 0x40 * ATOM_MERGE + 24, 1021},		     /* */
		{ATOMS + 0x40 * ATOM_MERGE + 24, UINT16_MAX},	     /* */
		{ATOMS + 0x40 * ATOM_MERGE + 32, 8},		     /* … nowhere */
		{ATOM_TABLE + 120, 8},				     /* */
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct runtime_code code;

		take_frames();
		word(cases[i].at, cases[i].value);
		if (cases[i].at == SORT && cases[i].value)
			word(SORT + facts.offsets[BEAM_MODULE_FUNCTIONS] + 8, AT(SORT));
		assert_true(describe(0, &code) < 0);
		assert_true(memory.n_reads < 100);
	}
}

/* What an atom's text is from OTP 29 on. */
static void binaries_that_make_no_sense_are_no_names(void **state)
{
	static const struct {
		uint32_t at;
		uint64_t value;
	} cases[] = {
		{ATOMS + 0x40 * ATOM_FUN + 32, AT(TEXTS + 0x40 * ATOM_FUN)}, /* no term */
		{ATOMS + 0x40 * ATOM_FUN + 32, 2},			     /* … nowhere */
		{TEXTS + 0x40 * ATOM_FUN, 4 << 6 | 0x18},		     /* another one */
		{TEXTS + 0x40 * ATOM_FUN + 8, 1},			     /* text nowhere */
		{TEXTS + 0x40 * ATOM_FUN + 16, 3},			     /* not of bytes */
	};

	make_facts(29);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct runtime_code code;

		take_frames();
		assert_frame(1, "app:-run/2-fun-0-/1", "app.erl", 12);
		word(cases[i].at, cases[i].value);
		assert_true(describe(1, &code) < 0);
	}
	make_facts(25);
}

static void names_of_any_bytes_are_whole(void **state)
{
	struct runtime_code code;

	take_frames();
	number(ATOMS + 0x40 * ATOM_MERGE + 24, 7); /* two zeros more */
	assert_frame(0, "sort:merge?\?/3", "src/sort.yrl", 77);
	/* The longest. */
	memset(memory.bytes + 0x9000, 'x', 1020);
	for (uint32_t i = ATOM_SORT; i <= ATOM_MERGE; i += ATOM_MERGE - ATOM_SORT) {
		number(ATOMS + 0x40 * i + 24, 1020);
		word(ATOMS + 0x40 * i + 32, AT(0x9000));
	}
	assert_int_equal(describe(0, &code), 0);
	assert_int_equal(strlen(code.name), 500 + 1 + 500 + 2);
}

static void lines_that_make_no_sense_are_none(void **state)
{
	const uint32_t table = LINES + 0x100;
	const struct {
		uint32_t at;
		uint64_t value;
	} cases[] = {
		{SORT + BEAM_MODULE_LINES, 0},
		{SORT + BEAM_MODULE_LINES, 8},
		{table, 8},
		{table + 8, 3},
		{table + 16, 8},
		{table + 24, UINT64_MAX},
		{table + 32, UINT64_MAX},
		{table + 32, 0},
		{FILE_NAME, 0x3c},
		{FILE_NAME, AT(FILE_NAME)},
		{FILE_NAME + 24, AT(FILE_NAME + 16) + 1}, /* a circle */
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		take_frames();
		word(cases[i].at, cases[i].value);
		assert_frame(0, "sort:merge/3", "", 0);
		assert_true(memory.n_reads < 400);
	}
}

static void any_read_may_fail(void **state)
{
	struct runtime_code code;
	uint64_t n_reads;

	take_frames();
	n_reads = memory.n_reads;
	for (uint64_t i = 1; i <= n_reads; i++) {
		struct bf_walk walk = in_native();

		memory.fails_at = i;
		assert_true(run(&walk) <= MADE_DEPTH);
	}
	memory.fails_at = 0;
	take_frames();
	assert_int_equal(describe(0, &code), 0);
	n_reads = memory.n_reads;
	for (uint64_t i = 1; i <= n_reads; i++) {
		memory.fails_at = i;
		if (describe(0, &code) == 0)
			assert_string_equal(code.name, "sort:merge/3");
	}
	memory.fails_at = 0;
}

/* Each walk has so many operations. */
static void hostile_memory_costs_a_walk_no_more_than_its_turns(void **state)
{
	struct bf_walk walk = in_native();

	make();
	word(N_SCHEDULERS, UINT64_MAX);
	word(scheduler(1), 0);
	assert_int_equal(run(&walk), 0);
	assert_int_equal(end, BF_END_DEPTH);
	assert_true(machine.turns <= BF_RANGE_TURNS);
	make();
	word(PROCESS + facts.offsets[BEAM_PROCESS_STACK_END], UINT64_MAX);
	word(EXIT, 0); /* no stack ends */
	walk = in_native();
	assert_true(run(&walk) >= MADE_DEPTH);
	assert_int_equal(end, BF_END_DEPTH);
	make();
	word(RANGES + 32 + 8, UINT64_MAX); /* modules */
	walk = in_native();
	assert_true(run(&walk) <= MADE_DEPTH);
	assert_true(machine.turns <= BF_RANGE_TURNS);
}

static void the_deepest_stacks_lose_their_root(void **state)
{
	struct bf_walk walk = in_native();

	make();
	word(PROCESS + BEAM_PROCESS_STACK, AT(0x9000));
	word(PROCESS + facts.offsets[BEAM_PROCESS_STACK_END], AT(0xb000));
	for (uint32_t at = 0x9000; at < 0xb000; at += 8)
		word(at, AT(IN_RUN));
	assert_true(run(&walk) >= 500);
	assert_int_equal(end, BF_END_DEPTH);
	assert_frame(499, "app:run/2", "app.erl", 10);
}

static void only_sound_facts_are_used(void **state)
{
	for (uint32_t i = 0; i < N_BEAM_OFFSETS; i++) {
		const uint32_t values[] = {0, facts.offsets[i] + 8, UINT32_MAX};

		for (size_t k = 0; k < 3; k++) {
			struct runtime_facts changed = facts;

			changed.offsets[i] = values[k];
			assert_int_equal(runtime_is_sound(&changed),
					 (i <= BEAM_MAIN && k == 1) ||
						 values[k] == facts.offsets[i]);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_that_call_native_code_are_its_callers),
		cmocka_unit_test(leaves_are_functions_too),
		cmocka_unit_test(code_before_the_first_function_is_nobodys),
		cmocka_unit_test(leaves_of_no_function_have_callers),
		cmocka_unit_test(stack_pointers_are_where_code_gets_them_back_from),
		cmocka_unit_test(returns_of_any_bits_are_known_by_their_calls),
		cmocka_unit_test(stacks_that_move_end_where_they_end),
		cmocka_unit_test(stack_pointers_that_are_in_no_stack_end_the_walk),
		cmocka_unit_test(process_main_is_left_wherever_its_frame_begins),
		cmocka_unit_test(schedulers_without_a_process_have_native_frames),
		cmocka_unit_test(code_that_is_not_ours_is_left_alone),
		cmocka_unit_test(snapshots_end_where_a_process_begins),
		cmocka_unit_test(modules_that_change_have_no_other_names),
		cmocka_unit_test(modules_whose_code_others_have_now),
		cmocka_unit_test(what_makes_no_sense_has_no_name),
		cmocka_unit_test(binaries_that_make_no_sense_are_no_names),
		cmocka_unit_test(names_of_any_bytes_are_whole),
		cmocka_unit_test(lines_that_make_no_sense_are_none),
		cmocka_unit_test(any_read_may_fail),
		cmocka_unit_test(hostile_memory_costs_a_walk_no_more_than_its_turns),
		cmocka_unit_test(the_deepest_stacks_lose_their_root),
		cmocka_unit_test(only_sound_facts_are_used),
	};

	make_facts(25);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
