/* SPDX-License-Identifier: GPL-2.0-or-later */
/* LuaJIT's frames and names, in memory made by hand. */
#include "tests/unit/cmocka_all.h"
#include "tests/unit/made_luajit.h"
#include "tests/unit/walked_range.h"

static void assert_frame(uint32_t i, const char *name, uint32_t line)
{
	struct runtime_code code;

	assert_int_equal(describe(i, &code), 0);
	assert_string_equal(code.name, name);
	assert_string_equal(code.file, "/lib/app.lua");
	assert_int_equal(runtime_line(&facts, code.lines, code.n_lines, code.first_line,
				      frame_at(i).detail),
			 line);
	assert_int_equal(code.is_compiled, frame_at(i).kind == LUAJIT_TRACE);
	runtime_code_done(&code);
}

/* The inner activation's, from @first on. */
static void assert_inner(uint32_t first, const struct bf_walk *walk)
{
	assert_frame(first, "app.lua:7", 8);
	assert_frame(first + 1, "app.lua:3", 4);
	assert_int_equal(end, BF_END_NONE);
	assert_int_equal(walk->pc, IN_NATIVE);
	assert_int_equal(walk->sp, AT(INNER + CFRAME));
	assert_int_equal(walk->fp, AT(INNER) + 0x100);
	assert_false(walk->exact);
}

/* The walk has come to the outer activation. */
static void assert_outer(struct bf_walk *walk)
{
	walk->pc = AT(IN_AREA);
	walk->sp = AT(OUTER);
	walk->built_in = 1;
	assert_int_equal(run_turn(walk, 1), 1);
	assert_frame(0, "<app.lua>", 1);
	assert_int_equal(end, BF_END_NONE);
	assert_int_equal(walk->pc, BELOW_OUTER);
	assert_int_equal(walk->sp, AT(OUTER + CFRAME));
}

static void functions_that_call_c_are_its_callers(void **state)
{
	struct bf_walk walk = in_native();

	make();
	assert_true(runtime_is_sound(&facts));
	assert_int_equal(run(&walk), 3);
	assert_frame(0, "app.lua:12", 13);
	assert_inner(1, &walk);
	assert_outer(&walk);
	/* C that does not get the state: where the frame is, rbp has. */
	make();
	walk = in_native();
	word(STATE + 32, AT(SORT_BASE));
	walk.fp = AT(NAP_BASE);
	assert_int_equal(run(&walk), 3);
	assert_inner(1, &walk);
	assert_outer(&walk);
}

static void leaves_are_functions_too(void **state)
{
	struct bf_walk walk;

	make();
	walk = in_leaf();
	assert_int_equal(run(&walk), 3);
	assert_int_equal(frame_at(0).detail, 12);
	assert_frame(0, "app.lua:12", 14);
	assert_inner(1, &walk);
	assert_outer(&walk);
	/* Within a function of the machine's own, which was called. */
	make();
	walk = in_leaf();
	walk.sp = AT(INNER) - 8;
	assert_int_equal(run(&walk), 3);
	assert_inner(1, &walk);
}

/* The base moves before the link is there. */
static void leaves_that_call_are_their_functions(void **state)
{
	const uint64_t stale[] = {0, place(MAIN, CALLS), 48 | VARIADIC, UINT64_MAX,
				  AT(CHUNK) | (uint64_t)0x1fffb << 47};

	for (size_t i = 0; i < sizeof stale / sizeof *stale; i++) {
		struct bf_walk walk;

		make();
		walk = in_leaf();
		word(LEAF_BASE - 8, stale[i]);
		walk.leaf[BF_REGISTER_BX] = place(MANY, CALLS);
		assert_int_equal(run(&walk), 3);
		assert_frame(0, "app.lua:12", 12);
		assert_inner(1, &walk);
		assert_outer(&walk);
	}
}

/* Results take the place of the function. */
static void leaves_that_return_are_their_callers(void **state)
{
	struct bf_walk walk;

	make();
	walk = in_leaf();
	word(LEAF_BASE - 16, 0x4059000000000000);
	walk.leaf[BF_REGISTER_BX] = place(MANY, CALLS);
	assert_int_equal(run(&walk), 2);
	assert_inner(0, &walk);
	assert_outer(&walk);
}

/* The interpreter is entered or left: its C frame is there, but no function. */
static void activations_without_functions_have_none(void **state)
{
	const struct {
		uint64_t rdx, rbx;
	} cases[] = {
		{2, 0x7fff12345678},			      /* the state's frame is a C function's */
		{AT(SORT_BASE), 1},			      /* entered */
		{AT(SORT_BASE), AT(COMPARE_BASE) + 1},	      /* */
		{AT(SORT_BASE), COMPARE_BASE - SORT_BASE + 1}, /* */
		{AT(COMPARE_BASE) + 8, AT(SORT_BASE)},	      /* left */
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct bf_walk walk;

		make();
		walk = in_leaf();
		walk.leaf[BF_REGISTER_DX] = cases[i].rdx;
		walk.leaf[BF_REGISTER_BX] = cases[i].rbx;
		assert_int_equal(run(&walk), 0);
		assert_int_equal(walk.pc, IN_NATIVE);
		assert_int_equal(walk.sp, AT(INNER + CFRAME));
		assert_outer(&walk);
	}
}

/* A leaf whose C frame the state does not have. */
static void leaves_that_make_their_c_frame_have_callers(void **state)
{
	static const struct {
		const char *code;
		uint32_t pushed;
	} cases[] = {
		{"\x55\x53\x41\x57", 0},     {"\x53\x41\x57\x41", 1}, {"\x41\x57\x41\x56", 2},
		{"\x41\x56\x48\x83", 3},     {"\x48\x83\xec\x28", 4}, {"\x41\x5e\x41\x5f", 4},
		{"\x41\x5f\x5b\x5d", 3},     {"\x5b\x5d\xc3\x90", 2}, {"\x5d\xc3\x90\x90", 1},
		{"\xc3\x90\x90\x90", 0},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct bf_walk walk;
		uint32_t sp = INNER + 0x40, at = sp + 8 * cases[i].pushed;

		make();
		walk = in_leaf();
		word(STATE + 80, AT(OUTER));
		memset(memory.bytes + INNER, 0, CFRAME);
		memcpy(memory.bytes + IN_AREA, cases[i].code, 4);
		word(at, IN_NATIVE);
		if (cases[i].pushed)
			word(at - 8, 0x1234);
		walk.sp = AT(sp);
		walk.fp = 0x1234;
		assert_int_equal(run(&walk), 0);
		assert_int_equal(walk.pc, IN_NATIVE);
		assert_int_equal(walk.sp, AT(at) + 8);
		assert_int_equal(walk.fp, 0x1234);
		assert_outer(&walk);
	}
	/* It has its state and what it follows, but the state does not have it yet, or no longer. */
	for (int i = 0; i < 2; i++) {
		struct bf_walk walk;

		make();
		walk = in_leaf();
		word(STATE + 80, i ? AT(OUTER) + 1 : AT(OUTER));
		assert_int_equal(run(&walk), 0);
		assert_int_equal(walk.pc, IN_NATIVE);
		assert_outer(&walk);
	}
}

static void traces_are_the_function_that_they_begin_in(void **state)
{
	struct bf_walk walk;

	for (int is_leaf = 0; is_leaf < 2; is_leaf++) {
		make();
		walk = in_leaf();
		walk.exact = is_leaf;
		walk.built_in = 0;
		walk.sp = AT(INNER) - 0x180; /* what it keeps on the stack */
		word(GLOBAL + facts.offsets[LUAJIT_TRACE_BASE], AT(LEAF_BASE));
		assert_int_equal(run(&walk), 3);
		assert_int_equal(frame_at(0).kind, LUAJIT_TRACE);
		assert_int_equal(frame_at(1).kind, LUAJIT_FUNCTION);
		assert_frame(0, "app.lua:12", 12);
		assert_inner(1, &walk);
		assert_outer(&walk);
	}
	/* In the second area; in none. */
	word(AREA + 8, 0x80);
	word(AREA, AT(AREA + 0x80));
	word(AREA + 0x80 + 8, 0x100);
	walk = in_leaf();
	walk.built_in = 0;
	assert_int_equal(run(&walk), 3);
	word(AREA + 0x80 + 8, 0x40);
	for (int i = 0; i < 2; i++) {
		walk = in_leaf();
		walk.built_in = 0;
		assert_int_equal(run(&walk), 0);
		assert_int_equal(walk.sp, AT(INNER));
		assert_int_equal(end, BF_END_NONE);
		word(AREA, AT(AREA)); /* a circle */
	}
}

/* C that is called with protection has no frame of Lua's. */
static void protected_calls_of_c_have_no_functions(void **state)
{
	struct bf_walk walk;

	make();
	make_cframe(INNER - 0x100, AT(INNER), IN_NATIVE);
	number(INNER - 0x100 + 8, -(NAP_BASE + 64 - STACK));
	word(STATE + 80, AT(INNER - 0x100));
	walk = in_native();
	walk.sp -= 0x100;
	assert_int_equal(run(&walk), 0);
	assert_int_equal(walk.sp, AT(INNER - 0x100 + CFRAME));
	walk.pc = AT(IN_AREA);
	walk.sp = AT(INNER);
	walk.fp = AT(STATE);
	assert_int_equal(run_turn(&walk, 1), 3);
	assert_inner(1, &walk);
	assert_outer(&walk);
	/* If nobody has walked through it. */
	walk = in_native();
	assert_int_equal(run(&walk), 3);
	/* What it has called in Lua has. */
	number(INNER - 0x100 + 8, -(COMPARE_BASE - STACK));
	walk = in_native();
	walk.sp -= 0x100;
	assert_int_equal(run(&walk), 3);
}

/* A coroutine's own frames, then those of what has resumed it. */
static void coroutines_are_called_by_what_resumes_them(void **state)
{
	struct bf_walk walk;

	make();
	make_state(OTHER_STATE, NAP_BASE, INNER + 1);
	word(INNER + 16, AT(OTHER_STATE));
	word(INNER + 32, 0);
	word(STATE + 32, AT(SORT_BASE));
	word(STATE + 80, AT(OUTER));
	walk = in_native();
	assert_int_equal(run(&walk), 3);
	assert_inner(1, &walk);
	assert_outer(&walk);
}

/* Metamethods, pcall(), and callbacks of C through ffi. */
static void frames_that_continue_have_their_callers(void **state)
{
	const uint32_t base = LEAF_BASE + 64;
	struct bf_walk walk;

	make();
	frame(base, LEAF, (base - MANY_BASE) | CONTINUES);
	frame(base + 8 * (2 + 2), NAP, place(LEAF, CALLS));
	word(STATE + 32, AT(base) + 8 * (2 + 2));
	word(base - 32, AT(0x5000));
	word(base - 24, place(MANY, CALLS));
	walk = in_native();
	assert_int_equal(run(&walk), 3);
	assert_inner(1, &walk);
	assert_outer(&walk);
	word(base - 8, (base - MANY_BASE) | PROTECTED);
	walk = in_native();
	assert_int_equal(run(&walk), 3);
	assert_frame(1, "app.lua:7", 7);
	word(base - 8, (base - MANY_BASE) | CONTINUES);
	word(base - 32, 1);
	walk = in_native();
	assert_int_equal(run(&walk), 1);
	assert_int_equal(walk.pc, IN_NATIVE);
}

/* The stack was taken before the memory is read. */
static void snapshots_have_native_frames(void **state)
{
	struct bf_walk walk;

	make();
	walk = in_leaf();
	machine.parameters[1] = 1;
	assert_int_equal(run(&walk), 0);
	assert_int_equal(end, BF_END_NONE);
	assert_int_equal(walk.sp, AT(INNER));
	machine.parameters[1] = 0;
}

static void code_that_is_not_ours_is_left_alone(void **state)
{
	struct bf_walk walk;

	make();
	walk = in_native();
	walk.sp = AT(0x9000);
	assert_int_equal(run(&walk), 0);
	assert_int_equal(walk.sp, AT(0x9000));
	memory.bytes[STATE + LUAJIT_TYPE] = 0;
	walk = in_native();
	assert_int_equal(run(&walk), 0);
	assert_int_equal(walk.sp, AT(INNER));
	assert_int_equal(end, BF_END_NONE);
	/* Another range's registers are not those of a new walk. */
	make();
	walk = in_native();
	memset(machine.registers, 0xee, sizeof machine.registers);
	assert_int_equal(run(&walk), 3);
}

/* Names. */

static void take_frames(void)
{
	struct bf_walk walk;

	make();
	walk = in_native();
	assert_int_equal(run(&walk), 3);
}

static void chunks_are_files_names_or_texts(void **state)
{
	static const struct {
		const char *chunk, *name, *file;
		uint32_t first_line;
	} cases[] = {
		{"@app.lua", "app.lua:5", "app.lua", 5},
		{"@/a/b/", "/a/b/:5", "/a/b/", 5},
		{"@", ":5", "", 5},
		{"=stdin", "stdin:5", "stdin", 5},
		{"=stdin", "<stdin>", "stdin", 0},
		{"return 1 -- @x", "[string]:5", "[string]", 5},
		{"return 1", "<[string]>", "[string]", 0},
		{"foreach", "foreach", "[builtin]", UINT32_MAX},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct bf_walk walk;
		struct runtime_code code;

		make();
		make_chunk(cases[i].chunk);
		number(prototype(LEAF) + LUAJIT_FIRST_LINE, cases[i].first_line);
		walk = in_native();
		assert_int_equal(run(&walk), 3);
		assert_int_equal(describe(0, &code), 0);
		assert_string_equal(code.name, cases[i].name);
		assert_string_equal(code.file, cases[i].file);
		runtime_code_done(&code);
	}
}

static void lines_of_any_size(void **state)
{
	static const uint32_t sizes[] = {1, 2, 4}, n_lines[] = {255, 65535, 65536};

	for (int i = 0; i < 3; i++) {
		struct runtime_code code;
		struct bf_walk walk;

		make();
		number(prototype(LEAF) + LUAJIT_N_LINES, n_lines[i]);
		memset(memory.bytes + LINES + 0x40 * LEAF, 0, 0x40);
		memory.bytes[LINES + 0x40 * LEAF + (CALLS - 1) * sizes[i]] = 99;
		walk = in_native();
		assert_int_equal(run(&walk), 3);
		assert_frame(0, "app.lua:12", 12 + 99);
		assert_int_equal(describe(0, &code), 0);
		for (uint32_t detail = 0; detail < 40; detail++)
			runtime_line(&facts, code.lines, code.n_lines, 12, detail);
		assert_int_equal(runtime_line(&facts, code.lines, code.n_lines, 12, 1), 12);
		assert_int_equal(runtime_line(&facts, code.lines, code.n_lines, 12, UINT32_MAX), 0);
		runtime_code_done(&code);
	}
	assert_int_equal(runtime_line(&facts, (const uint8_t *)"\3xx", 3, 12, 2), 0);
}

static void replace_leaf(struct made_memory *made)
{
	number(prototype(LEAF) + LUAJIT_FIRST_LINE, 99);
}

static void replace_chunk(struct made_memory *made)
{
	make_chunk("@/lib/other.lua");
	number(CHUNK + LUAJIT_STRING_HASH, 0x87654321);
}

static void free_leaf(struct made_memory *made)
{
	memset(memory.bytes + prototype(LEAF), 0, LUAJIT_PROTOTYPE);
}

/* Whenever it happens while the name is read. */
static void functions_that_change_have_no_other_names(void **state)
{
	static void (*const changes[])(struct made_memory *) = {replace_leaf, replace_chunk,
								free_leaf};
	uint64_t n_reads;

	for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
		struct runtime_code code;

		take_frames();
		assert_int_equal(describe(0, &code), 0);
		runtime_code_done(&code);
		n_reads = memory.n_reads;
		for (uint64_t k = 1; k <= n_reads; k++) {
			take_frames();
			memory.changes_at = k;
			memory.change = changes[i];
			if (describe(0, &code) == 0)
				assert_string_equal(code.name, "app.lua:12");
			runtime_code_done(&code);
			memory.changes_at = 0;
			assert_int_equal(describe(0, &code), -ESTALE);
		}
	}
}

static void what_makes_no_sense_has_no_name(void **state)
{
	static const struct {
		uint32_t at, value;
	} cases[] = {
		{CHUNK + LUAJIT_STRING_LENGTH, 0},
		{CHUNK + LUAJIT_STRING_LENGTH, UINT32_MAX},
		{CHUNK + LUAJIT_TYPE - 1, 0},
		{PROTOTYPES + 0x100 * LEAF + LUAJIT_CHUNK, 8},
		{PROTOTYPES + 0x100 * LEAF + LUAJIT_TYPE - 1, 0},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct bf_walk walk;
		struct runtime_code code;

		make();
		number(cases[i].at, cases[i].value);
		walk = in_native();
		run(&walk);
		assert_true(describe(0, &code) < 0);
	}
	/* Lines that make no sense are none. */
	for (int i = 0; i < 3; i++) {
		struct bf_walk walk;
		struct runtime_code code;

		make();
		if (i == 0)
			word(prototype(LEAF) + LUAJIT_LINES, 8);
		else
			number(prototype(LEAF) + LUAJIT_N_INSTRUCTIONS, i == 1 ? UINT32_MAX : 1);
		walk = in_native();
		run(&walk);
		assert_int_equal(describe(0, &code), 0);
		assert_int_equal(code.n_lines, 0);
		runtime_code_done(&code);
	}
}

/* Hostile memory. */

static void any_read_may_fail(void **state)
{
	const struct bf_walk walks[] = {in_native(), in_leaf()};

	for (size_t i = 0; i < 2; i++) {
		struct runtime_code code;
		uint64_t n_reads;

		make();
		for (uint64_t k = 1; k <= 200; k++) {
			struct bf_walk walk = walks[i];

			memory.fails_at = k;
			assert_true(run(&walk) <= 4);
			assert_true(walk.sp >= AT(INNER));
		}
		memory.fails_at = 0;
		take_frames();
		assert_int_equal(describe(0, &code), 0);
		runtime_code_done(&code);
		n_reads = memory.n_reads;
		for (uint64_t k = 1; k <= n_reads; k++) {
			memory.fails_at = k;
			if (describe(0, &code) == 0)
				assert_string_equal(code.name, "app.lua:12");
			runtime_code_done(&code);
		}
		memory.fails_at = 0;
	}
}

/* Each walk has so many operations, whatever it comes to. */
static void circles_cost_a_walk_no_more_than_its_turns(void **state)
{
	static const struct {
		uint32_t at;
		uint64_t value;
	} cases[] = {
		{INNER + 32, MADE_START + INNER}, /* C frames */
		{STATE + 80, MADE_START + INNER - 8},
		{NAP_BASE - 8, 0}, /* links that lead nowhere, to themselves, and up */
		{NAP_BASE - 8, C},
		{NAP_BASE - 8, VARIADIC},
		{NAP_BASE - 8, 1ull << 62 | VARIADIC},
		{NAP_BASE - 8, UINT64_MAX},
		{NAP_BASE - 8, UINT64_MAX - 3},
		{NAP_BASE - 8, 0x7ffffffffffc},
		{COMPARE_BASE - 8, 0x100000 | VARIADIC},
		{STATE + 56, 0}, /* stacks of any size */
		{STATE + 56, UINT64_MAX},
		{STATE + 48, UINT64_MAX},
		{STATE + 32, UINT64_MAX},
		{STATE + 32, 0},
		{INNER + 8, 0x80000000}, /* C frames with any results */
		{INNER + 8, UINT32_MAX},
		{FUNCTIONS + 0x40 * LEAF + 32, 8},
		{GLOBAL + 376, MADE_START + STACK + 8},
		{GLOBAL + 3776, 0},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		for (int k = 0; k < 4; k++) {
			struct bf_walk walk;
			uint64_t sp;

			make();
			walk = k & 1 ? in_leaf() : in_native();
			walk.built_in = k >> 1;
			word(cases[i].at, cases[i].value);
			sp = walk.sp;
			assert_true(run(&walk) < BF_MAX_FRAMES / 2);
			assert_true(walk.sp >= sp);
			assert_true(machine.turns <= BF_RANGE_TURNS);
			assert_true(memory.n_reads < 20000);
		}
}

/* Links that lead up again: the stack has an end. */
static void the_deepest_stacks_lose_their_root(void **state)
{
	struct bf_walk walk;
	uint32_t base = MAIN_BASE;

	make();
	word(STATE + 48, AT(0x1ffff));
	word(STATE + 56, AT(0x9000));
	base = 0x9000 + 32;
	frame(base, LEAF, 16 | C);
	for (int i = 0; i < 1100; i++) {
		base += 8 * (2 + 2);
		frame(base, LEAF, place(LEAF, CALLS));
	}
	word(STATE + 32, AT(base));
	walk = in_native();
	assert_true(run(&walk) >= 1020);
	assert_int_equal(end, BF_END_DEPTH);
	assert_frame(1020, "app.lua:12", 13);
}

static void only_sound_facts_are_used(void **state)
{
	struct runtime_facts changed = facts;

	for (uint32_t i = 0; i < N_LUAJIT_OFFSETS; i++) {
		changed = facts;
		changed.offsets[i] += 8;
		assert_false(runtime_is_sound(&changed));
	}
	changed = facts;
	changed.offsets[LUAJIT_AREAS] = 3792; /* another release */
	assert_true(runtime_is_sound(&changed));
	changed = facts;
	changed.generated_size = 0;
	assert_false(runtime_is_sound(&changed));
	changed.generated_size = 1ull << 40;
	assert_false(runtime_is_sound(&changed));
	changed = facts;
	changed.version++;
	assert_false(runtime_is_sound(&changed));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_that_call_c_are_its_callers),
		cmocka_unit_test(leaves_are_functions_too),
		cmocka_unit_test(leaves_that_call_are_their_functions),
		cmocka_unit_test(leaves_that_return_are_their_callers),
		cmocka_unit_test(activations_without_functions_have_none),
		cmocka_unit_test(leaves_that_make_their_c_frame_have_callers),
		cmocka_unit_test(traces_are_the_function_that_they_begin_in),
		cmocka_unit_test(protected_calls_of_c_have_no_functions),
		cmocka_unit_test(coroutines_are_called_by_what_resumes_them),
		cmocka_unit_test(frames_that_continue_have_their_callers),
		cmocka_unit_test(snapshots_have_native_frames),
		cmocka_unit_test(code_that_is_not_ours_is_left_alone),
		cmocka_unit_test(chunks_are_files_names_or_texts),
		cmocka_unit_test(lines_of_any_size),
		cmocka_unit_test(functions_that_change_have_no_other_names),
		cmocka_unit_test(what_makes_no_sense_has_no_name),
		cmocka_unit_test(any_read_may_fail),
		cmocka_unit_test(circles_cost_a_walk_no_more_than_its_turns),
		cmocka_unit_test(the_deepest_stacks_lose_their_root),
		cmocka_unit_test(only_sound_facts_are_used),
	};

	make_facts();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
