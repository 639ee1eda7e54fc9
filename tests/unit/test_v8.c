/* SPDX-License-Identifier: GPL-2.0-or-later */
/* V8's frames and names, in memory made by hand: as version 10.2 has them, and later ones. */
#include <stdlib.h>

#include "collect/range_walk.h"
#include "tests/unit/made_library.h"
#include "tests/unit/made_v8.h"

static struct bf_machine machine;
static const struct runtime_facts *known = &facts; /* what is known of the version that is made */

/* Walks on from @walk; the frame is in @ret. Returns the words of frames. */
static uint32_t run(struct bf_walk *walk, struct runtime_frame *ret)
{
	struct runtime_memory process = reading();
	__u64 frames[BF_MAX_FRAMES] = {};
	struct bf_text text;
	uint32_t n;
	int end;

	memory.n_reads = 0;
	machine.turns = 0;
	assert_int_equal(v8_write(known, &text), 0);
	n = machine_run_range(&machine, &text, walk, &process, frames, 0, &end);
	assert_int_equal(end, BF_END_NONE);
	*ret = (struct runtime_frame){frames[0] & BF_FRAME_CODE,
				      frames[0] >> BF_FRAME_KIND_SHIFT & (BF_FRAME_KINDS - 1),
				      frames[1], frames[1] >> 32};
	return n;
}

/* Walks on from @pc, a return address, in memory as it is; describes the frame that is there. */
static int describe(uint64_t pc, bool is_leaf, struct runtime_code *ret)
{
	struct runtime_memory process = reading();
	struct bf_walk walk = at_pc(pc);
	struct runtime_frame frame;

	walk.exact = is_leaf;
	assert_int_equal(run(&walk, &frame), 2);
	assert_int_equal(walk.pc, CALLER);
	assert_int_equal(walk.sp, AT(FRAME + 16));
	assert_int_equal(walk.fp, 0x777);
	return runtime_describe(known, &process, &frame, ret);
}

static void interpreted_functions_are_where_their_frame_says(void **state)
{
	struct runtime_code code;

	make();
	assert_true(runtime_is_sound(&facts));
	assert_int_equal(describe(AT(GENERATED + 0x100), false, &code), 0);
	assert_false(code.is_compiled);
	assert_string_equal(code.name, "outer");
	assert_string_equal(code.file, "/a/app.js");
	assert_int_equal(code.first_line, 3);
	assert_int_equal(runtime_line(&facts, code.lines, code.n_lines, code.first_line, 8), 4);
	assert_int_equal(runtime_line(&facts, code.lines, code.n_lines, code.first_line, 7), 3);
	runtime_code_done(&code);
}

static void functions_without_a_table_of_lines_have_their_first(void **state)
{
	struct runtime_code code;

	make();
	word(BYTECODE + 32, TAGGED(FUNCTION)); /* undefined, as long as nobody asked for it */
	assert_int_equal(describe(AT(GENERATED + 0x100), false, &code), 0);
	assert_null(code.lines);
	assert_int_equal(code.line, 3);
	runtime_code_done(&code);
}

static void baseline_code_is_what_the_function_says_is_its(void **state)
{
	struct runtime_code code;

	make();
	word(OUTER + 8, TAGGED(BASELINE));
	assert_int_equal(describe(AT(BASELINE + 128 + 0x10), false, &code), 0);
	assert_true(code.is_compiled);
	assert_string_equal(code.name, "outer");
	assert_int_equal(code.n_inlined, 0);
	assert_int_equal(code.line, 3);
	runtime_code_done(&code);
}

static void optimized_code_names_what_is_inlined_at_its_calls(void **state)
{
	struct runtime_code code;

	make();
	assert_int_equal(describe(AT(OPTIMIZED + 128 + CALL), false, &code), 0);
	assert_true(code.is_compiled);
	assert_string_equal(code.name, "outer");
	assert_int_equal(code.line, 4);
	assert_int_equal(code.n_inlined, 1);
	assert_string_equal(code.inlined[0].name, "inner");
	assert_string_equal(code.inlined[0].file, "/a/app.js");
	assert_int_equal(code.inlined[0].line, 1);
	runtime_code_done(&code);
	/* A leaf may be anywhere, even in code that has no frame yet: the function is certain. */
	object(OPTIMIZED, MAP_STRING);
	assert_int_equal(describe(AT(OPTIMIZED + 128 + CALL), true, &code), 0);
	assert_string_equal(code.name, "outer");
	assert_int_equal(code.n_inlined, 0);
	assert_int_equal(code.line, 3);
	runtime_code_done(&code);
}

static void tables_of_places_may_have_flags_below_offsets(void **state)
{
	struct runtime_facts later = facts;
	struct runtime_code code;

	later.offsets[PLACE_FLAGS] = 1;
	known = &later;
	place_flags = 1;
	make();
	assert_int_equal(describe(AT(OPTIMIZED + 128 + CALL), false, &code), 0);
	assert_int_equal(code.n_inlined, 1);
	assert_string_equal(code.inlined[0].name, "inner");
	assert_int_equal(code.line, 4);
	runtime_code_done(&code);
	assert_int_equal(describe(AT(GENERATED + 0x100), false, &code), 0);
	assert_int_equal(runtime_line(known, code.lines, code.n_lines, code.first_line, 7), 3);
	assert_int_equal(runtime_line(known, code.lines, code.n_lines, code.first_line, 8), 4);
	runtime_code_done(&code);
	place_flags = 0;
	known = &facts;
}

/* From 12 on, a function's start and end are before the names of its variables. */
static void scope_of_later_versions(uint32_t at, uint64_t name, int32_t start, int32_t end)
{
	object(at, MAP_SCOPE);
	word(at + 24, SMALL(1));
	word(at + 32, SMALL(start));
	word(at + 40, SMALL(end));
	word(at + 48, string(0, "variable"));
	word(at + 56, SMALL(0));
	word(at + 64, name);
	word(at + 72, SMALL(3));
	word(at + 80, TAGGED(FUNCTION)); /* undefined: the compiler has no name for it */
	word(at + 88, TAGGED(MAPS));	 /* the next object */
}

/* … and, from 13 on, the function of optimized code is in an object of its own. */
static void functions_of_later_versions_have_their_names(void **state)
{
	const uint64_t pcs[] = {AT(GENERATED + 0x100), AT(OPTIMIZED + 128 + CALL)};
	struct runtime_memory process = reading();
	struct runtime_facts later = facts;

	later.offsets[SCOPE_NAMES] = 5;
	known = &later;
	assert_true(runtime_is_sound(known));
	for (uint32_t i = 0; i < 2; i++) {
		struct bf_walk walk = at_pc(pcs[i]);
		struct runtime_frame frame;
		struct runtime_code code;

		make();
		scope_of_later_versions(SCOPE_OUTER, string(3, "outer"), 10, 40);
		scope_of_later_versions(SCOPE_INNER, string(4, "inner"), 0, 5);
		object(WRAPPER, MAP_ARRAY);
		word(WRAPPER + 8, TAGGED(OUTER));
		word(KNOWN + 16 + 8 * 6, TAGGED(WRAPPER));
		assert_int_equal(run(&walk, &frame), 2);
		assert_int_equal(runtime_describe(known, &process, &frame, &code), 0);
		assert_string_equal(code.name, "outer");
		assert_int_equal(code.n_inlined, i);
		if (i)
			assert_string_equal(code.inlined[0].name, "inner");
		else
			assert_int_equal(code.first_line, 3);
		runtime_code_done(&code);
		/* Another function in its place. */
		word(SCOPE_OUTER + 40, SMALL(41));
		assert_int_equal(runtime_describe(known, &process, &frame, &code), -ESTALE);
	}
	known = &facts;
}

static void built_in_functions_have_their_names(void **state)
{
	struct runtime_code code;

	make();
	word(FUNCTION + 24, TAGGED(BUILT_IN));
	assert_int_equal(describe(AT(GENERATED + 0x100), false, &code), 0);
	assert_true(code.is_compiled);
	assert_string_equal(code.name, "map");
	assert_string_equal(code.file, "");
	runtime_code_done(&code);
}

static void frames_of_no_function_are_left_to_the_walk(void **state)
{
	struct bf_walk walk;
	struct runtime_frame frame;

	make();
	word(FRAME - 8, SMALL(9)); /* a kind of frame */
	walk = at_pc(AT(GENERATED + 0x100));
	assert_int_equal(run(&walk, &frame), 0);
	assert_int_equal(walk.sp, AT(STACK));
	make();
	word(FRAME - 16, TAGGED(SCRIPT)); /* no function */
	walk = at_pc(AT(GENERATED + 0x100));
	assert_int_equal(run(&walk, &frame), 0);
	make();
	walk = at_pc(AT(GENERATED + 0x100));
	walk.fp = AT(STACK) - 8; /* below the stack */
	assert_int_equal(run(&walk, &frame), 0);
	walk = at_pc(AT(GENERATED + 0x100));
	walk.fp = 1 << 20; /* nowhere */
	assert_int_equal(run(&walk, &frame), 0);
	assert_int_equal(walk.pc, AT(GENERATED + 0x100));
}

#define ANYTHING "\x90\x90\x90\x90"

/* Instructions at the ends of functions, before the leaf's address and from there on. */
static void leaves_that_have_no_frame_lead_to_their_caller(void **state)
{
	static const struct {
		const char *before, *after;
		uint32_t bytes; /* on the stack, of the frame */
	} ends[] = {
		{ANYTHING ANYTHING, "\x55", 8},
		{ANYTHING ANYTHING, "\xc3", 8},
		{ANYTHING ANYTHING, "\xc2\x10", 8},
		{ANYTHING "\x48\x8b\xe5\x5d", "\x59", 8},
		{"\x48\x8b\xe5\x5d\x48\x83\xf9\x01", "\x7f\x03", 8},
		{ANYTHING ANYTHING, "\x48\x8b\x59\xd0", 8},
		{ANYTHING "\x48\x8b\x59\xd0", "\xf6\x43\x1b\x01", 8},
		{"\x48\x8b\x59\xd0\xf6\x43\x1b\x01", "\x0f\x85", 8},
		{ANYTHING "\x90\x90\x90\x55", "\x48\x89\xe5", 16},
	};

	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
		struct bf_walk walk = at_pc(AT(OPTIMIZED + 0x100));
		struct runtime_frame frame;

		make();
		memcpy(memory.bytes + OPTIMIZED + 0xf8, ends[i].before, 8);
		memcpy(memory.bytes + OPTIMIZED + 0x100, ends[i].after, strlen(ends[i].after));
		word(STACK, ends[i].bytes == 8 ? CALLER : 0x888);
		word(STACK + 8, CALLER);
		walk.exact = 1;
		assert_int_equal(run(&walk, &frame), 0);
		assert_int_equal(walk.pc, CALLER);
		assert_int_equal(walk.sp, AT(STACK) + ends[i].bytes);
		assert_int_equal(walk.fp, ends[i].bytes == 8 ? AT(FRAME) : 0x888);
		/* A caller is in the middle of its code, whatever that looks like. */
		walk = at_pc(AT(OPTIMIZED + 0x100));
		assert_int_equal(run(&walk, &frame), 2);
	}
}

/* What looks like the ends of functions, in the middle of one. */
static void leaves_that_have_a_frame_are_named(void **state)
{
	static const char *const after[] = {
		"\x48\x8b\xe5\x5d", /* all of it is to come */
		"\x48\x8b\x59\xff", /* reads an object's type */
	};

	for (size_t i = 0; i < sizeof after / sizeof *after; i++) {
		struct bf_walk walk = at_pc(AT(OPTIMIZED + 0x100));
		struct runtime_frame frame;

		make();
		memcpy(memory.bytes + OPTIMIZED + 0x100, after[i], 4);
		walk.exact = 1;
		assert_int_equal(run(&walk, &frame), 2);
		assert_int_equal(frame.kind, V8_FUNCTION);
	}
}

/* A frame that is about to be left is above the stack's end; it is still there. */
static void frames_that_are_about_to_go_are_read(void **state)
{
	struct bf_walk walk = at_pc(AT(OPTIMIZED + 0x100));
	struct runtime_frame frame;

	make();
	memcpy(memory.bytes + OPTIMIZED + 0xfd, "\x48\x8b\xe5\x5d", 4);
	walk.sp = AT(FRAME);
	walk.exact = 1;
	assert_int_equal(run(&walk, &frame), 2);
	assert_int_equal(walk.pc, CALLER);
}

/* V8 has a copy of its built-in code near the code that it generates. */
static void built_in_code_is_known_by_its_mapping(void **state)
{
	struct runtime_memory process = reading();
	struct bf_walk walk = at_pc(AT(OPTIMIZED + 0x100));
	struct runtime_frame frame;
	struct runtime_code code;

	make();
	walk.built_in = 1;
	assert_int_equal(run(&walk, &frame), 2);
	assert_int_equal(frame.kind, V8_INTERPRETED);
	make();
	word(FRAME - 32, SMALL(1)); /* no bytecode: it runs for a function that is compiled */
	walk = at_pc(AT(OPTIMIZED + 0x100));
	walk.built_in = walk.exact = 1;
	assert_int_equal(run(&walk, &frame), 2);
	assert_int_equal(frame.kind, V8_FUNCTION);
	assert_int_equal(runtime_describe(&facts, &process, &frame, &code), 0);
	assert_string_equal(code.name, "outer");
	runtime_code_done(&code);
}

static void frames_that_are_not_written_yet_are_not_read(void **state)
{
	struct bf_walk walk = at_pc(AT(OPTIMIZED + 0x100));
	struct runtime_frame frame;

	make();
	walk.sp = AT(FRAME) - 8;
	walk.exact = 1;
	assert_int_equal(run(&walk, &frame), 0);
	assert_int_equal(walk.pc, CALLER);
	assert_int_equal(walk.fp, 0x777);
}

static void another_function_in_the_same_place_has_no_name(void **state)
{
	struct runtime_memory process = reading();
	struct bf_walk walk = at_pc(AT(GENERATED + 0x100));
	struct runtime_frame frame;
	struct runtime_code code;

	make();
	run(&walk, &frame);
	number(OUTER + 52, 5);
	assert_int_equal(runtime_describe(&facts, &process, &frame, &code), -ESTALE);
	number(OUTER + 52, 3);
	word(SCRIPT + 64, SMALL(ID + 1));
	assert_int_equal(runtime_describe(&facts, &process, &frame, &code), -ESTALE);
	word(SCRIPT + 64, SMALL(ID));
	object(OUTER, MAP_STRING);
	assert_int_equal(runtime_describe(&facts, &process, &frame, &code), -ESTALE);
}

/* What the collector has freed is there until its place is used, each object for itself. */
static void another_name_in_the_place_of_its_own_is_not_believed(void **state)
{
	struct runtime_memory process = reading();
	const uint64_t pcs[] = {AT(GENERATED + 0x100), AT(OPTIMIZED + 128 + CALL)};

	for (size_t i = 0; i < 2; i++) {
		struct bf_walk walk = at_pc(pcs[i]);
		struct runtime_frame frame;
		struct runtime_code code;

		make();
		run(&walk, &frame);
		scope(SCOPE_OUTER, string(6, "other"), 10, 40);
		assert_int_equal(runtime_describe(&facts, &process, &frame, &code), -ESTALE);
		make();
		string(3, "other");
		assert_int_equal(runtime_describe(&facts, &process, &frame, &code), -ESTALE);
		make();
		scope(SCOPE_OUTER, SMALL(0), 10, 40);
		assert_int_equal(runtime_describe(&facts, &process, &frame, &code), -ESTALE);
	}
}

/* Of a function that has no name, the compiler's, if any; variables of many are in a table. */
static void functions_are_known_by_any_name(void **state)
{
	static const struct {
		const char *name, *inferred, *wanted;
	} names[] = {
		{"outer", "other", "outer"}, {"", "a.b", "a.b"},	{NULL, "a.b", "a.b"},
		{NULL, NULL, "(anonymous)"}, {"", NULL, "(anonymous)"},
	};

	for (size_t i = 0; i < 2 * sizeof names / sizeof *names; i++) {
		uint32_t n = i % 2 ? V8_SCOPE_MOST_NAMES : 2, at = SCOPE_MANY + 32;
		struct runtime_code code;

		make();
		object(SCOPE_MANY, MAP_SCOPE);
		word(SCOPE_MANY + 24, SMALL(n));
		at += 8 * (i % 2 ? n + 1 : 2 * n);
		word(at, names[i / 2].name ? string(6, names[i / 2].name) : SMALL(0));
		word(at + 8, SMALL(3));
		word(at + 16, names[i / 2].inferred ? string(7, names[i / 2].inferred)
						    : TAGGED(FUNCTION)); /* undefined */
		word(at + 24, SMALL(10));
		word(at + 32, SMALL(40));
		word(at + 40, TAGGED(MAPS));
		word(OUTER + 16, TAGGED(SCOPE_MANY));
		assert_int_equal(describe(AT(GENERATED + 0x100), false, &code), 0);
		assert_string_equal(code.name, names[i / 2].wanted);
		runtime_code_done(&code);
	}
}

static void other_code_at_the_same_address_has_no_name(void **state)
{
	struct runtime_memory process = reading();
	struct bf_walk walk = at_pc(AT(OPTIMIZED + 128 + CALL));
	struct runtime_frame frame;
	struct runtime_code code;

	make();
	run(&walk, &frame);
	word(KNOWN + 16 + 8 * 6, TAGGED(INNER)); /* another function's */
	assert_int_equal(runtime_describe(&facts, &process, &frame, &code), -ESTALE);
	make();
	word(OPTIMIZED + 128 + CALL - 8, 0x1234567890abcdee); /* another call */
	assert_int_equal(runtime_describe(&facts, &process, &frame, &code), -ESTALE);
	make();
	number(OPTIMIZED + 48, 11); /* not optimized */
	assert_int_equal(runtime_describe(&facts, &process, &frame, &code), -ESTALE);
	make();
	number(OPTIMIZED + 40, CALL - 1); /* too small for it */
	assert_int_equal(runtime_describe(&facts, &process, &frame, &code), -ESTALE);
	make();
	word(INLININGS + 24, 1); /* a function that is not there: at least its own name */
	assert_int_equal(runtime_describe(&facts, &process, &frame, &code), 0);
	assert_string_equal(code.name, "outer");
	assert_int_equal(code.n_inlined, 0);
	runtime_code_done(&code);
}

/* Each inlined function says that it was called from itself. */
static void inlinings_that_lead_nowhere_end(void **state)
{
	struct runtime_code code;

	make();
	word(INLININGS + 16, position(31, 0));
	assert_int_equal(describe(AT(OPTIMIZED + 128 + CALL), false, &code), 0);
	assert_string_equal(code.name, "outer");
	assert_int_equal(code.n_inlined, 0);
	runtime_code_done(&code);
}

static void any_read_may_fail(void **state)
{
	const uint64_t pcs[] = {AT(GENERATED + 0x100), AT(OPTIMIZED + 128 + CALL)};
	struct runtime_memory process = reading();

	for (size_t k = 0; k < 2; k++)
		for (uint64_t i = 1; i < 90; i++) {
			struct bf_walk walk = at_pc(pcs[k]);
			struct runtime_frame frame;
			struct runtime_code code;

			make();
			memory.fails_at = i;
			run(&walk, &frame);
			memory.fails_at = 0;
			walk = at_pc(pcs[k]);
			run(&walk, &frame);
			memory.n_reads = 0;
			memory.fails_at = i;
			if (runtime_describe(&facts, &process, &frame, &code) == 0) {
				assert_string_equal(code.name, "outer");
				runtime_code_done(&code);
			} else {
				assert_null(code.lines);
				assert_null(code.inlined);
			}
		}
	memory.fails_at = 0;
}

/* Where the collector moves things to. */
enum { MOVED = 0x5800 };

static void move_scope(struct made_memory *moving)
{
	scope(MOVED, string(3, "outer"), 10, 40);
	word(OUTER + 16, TAGGED(MOVED));
	scope(SCOPE_OUTER, string(6, "other"), 0, 5);
}

static void move_string(struct made_memory *moving)
{
	word(SCOPE_OUTER + 48, string(7, "outer"));
	string(3, "other");
}

static void move_inlined(struct made_memory *moving)
{
	shared(MOVED, TAGGED(BYTECODE), SCOPE_INNER, 4);
	word(LITERALS + 16, TAGGED(MOVED) | 2);
	shared(INNER, TAGGED(BYTECODE), MOVED + 0x100, 9);
	scope(MOVED + 0x100, string(6, "other"), 0, 5);
}

static void what_moves_while_it_is_read_has_no_other_name(void **state)
{
	static void (*const moves[])(struct made_memory *) = {move_scope, move_string,
							      move_inlined};
	const uint64_t pcs[] = {AT(GENERATED + 0x100), AT(OPTIMIZED + 128 + CALL)};
	struct runtime_memory process = reading();
	uint32_t named = 0;

	for (size_t k = 0; k < 6; k++)
		for (uint64_t i = 1; i < 200; i++) {
			struct bf_walk walk = at_pc(pcs[k % 2]);
			struct runtime_frame frame;
			struct runtime_code code;

			make();
			run(&walk, &frame);
			memory.n_reads = 0;
			memory.changes_at = i;
			memory.change = moves[k / 2];
			if (runtime_describe(&facts, &process, &frame, &code) < 0)
				continue;
			assert_string_equal(code.name, "outer");
			for (uint32_t n = 0; n < code.n_inlined; n++)
				assert_string_equal(code.inlined[n].name, "inner");
			runtime_code_done(&code);
			named++;
		}
	assert_true(named > 0);
}

/* Each read is a call to another process; objects that lie close together need few. */
static void few_reads_describe_a_frame(void **state)
{
	const uint64_t pcs[] = {AT(GENERATED + 0x100), AT(OPTIMIZED + 128 + CALL)};
	struct runtime_memory process = reading();

	for (size_t i = 0; i < 2; i++) {
		struct bf_walk walk = at_pc(pcs[i]);
		struct runtime_frame frame;
		struct runtime_code code;

		make();
		run(&walk, &frame);
		memory.n_calls = 0;
		assert_int_equal(runtime_describe(&facts, &process, &frame, &code), 0);
		assert_in_range(memory.n_calls, 1, 6);
		runtime_code_done(&code);
	}
}

/* --- strings --- */

static void assert_string(uint64_t pointer, const char *wanted)
{
	struct runtime_memory process = reading();
	struct v8_blocks blocks = {};
	const struct v8_heap heap = {facts.offsets, &process, .blocks = &blocks};
	char text[RUNTIME_NAME_MAX];
	int r = v8_string(&heap, pointer, text, sizeof text);

	if (!wanted) {
		assert_int_equal(r, -ESTALE);
		return;
	}
	assert_int_equal(r, 0);
	assert_string_equal(text, wanted);
}

/* A string of two others, of a part of one, or of one. */
static uint64_t compound(uint32_t at, int map, uint32_t n, uint64_t first, uint64_t second)
{
	object(at, map);
	number(at + 12, n);
	word(at + 16, first);
	word(at + 24, second);
	return TAGGED(at);
}

static void strings_of_all_kinds_are_read(void **state)
{
	static const uint16_t wide[] = {'k', 0xfc, 0x4e2d, 0xd83d, 0xde00, 0xd83d, 'x', 0xde00};
	uint64_t cons;

	make();
	assert_string(string(8, "k\xfcnstlich"), "k\xc3\xbcnstlich");
	cons = compound(0x5000, MAP_CONS, 9, string(8, "get "), string(9, "width"));
	assert_string(cons, "get width");
	assert_string(compound(0x5040, MAP_CONS, 13, cons, string(10, "_all")), "get width_all");
	assert_string(compound(0x5080, MAP_SLICED, 3, string(9, "width"), SMALL(1)), "idt");
	assert_string(compound(0x50c0, MAP_THIN, 9, cons, 0), "get width");
	memcpy(memory.bytes + 0x5200, "outside", 7);
	assert_string(compound(0x5100, MAP_EXTERNAL, 7, 0, AT(0x5200)), "outside");
	object(0x5300, MAP_WIDE);
	number(0x530c, 8);
	memcpy(memory.bytes + 0x5310, wide, sizeof wide);
	assert_string(TAGGED(0x5300), "k\xc3\xbc\xe4\xb8\xad\xf0\x9f\x98\x80?x?");
}

static void strings_that_make_no_sense_are_none(void **state)
{
	make();
	assert_string(TAGGED(FUNCTION), NULL);
	assert_string(SMALL(1), NULL);
	assert_string(compound(0x5000, MAP_THIN, 4, TAGGED(0x5000), 0), NULL); /* of itself */
	assert_string(compound(0x5000, MAP_CONS, 400, TAGGED(0x5000), TAGGED(0x5000)), NULL);
	assert_string(compound(0x5000, MAP_SLICED, 3, string(9, "width"), SMALL(100)), NULL);
}

/* --- files --- */

static const char made_library[] = "int major __asm__(\"_ZN2v88internal7Version6major_E\") = MAJOR;"
				   "int minor __asm__(\"_ZN2v88internal7Version6minor_E\") = 2;";

static void versions_that_are_not_known_are_named(void **state)
{
	struct runtime_facts found;
	struct bf_text text;
	char name[64];

	found = made_library_facts(made_library, "-DMAJOR=99");
	assert_true(runtime_is_sound(&found));
	runtime_name(&found, name, sizeof name);
	assert_string_equal(name, "V8 99.2");
	assert_string_equal(runtime_problem_text(&found), "this version is not known");
	assert_int_equal(runtime_write(&found, BF_HOOK_RANGE, &text), -EINVAL);
	found = made_library_facts(made_library,
				   "-DMAJOR=10"); /* known, but says nothing of itself */
	assert_int_equal(found.problem, RUNTIME_BUILD);
}

/* Builds load the address of the code, or have it in a variable. */
static void built_in_code_is_where_a_function_says(void **state)
{
	static const char library[] =
		"int major __asm__(\"_ZN2v88internal7Version6major_E\") = 10;"
		"static const char code[64] = {1};"
		"static const char *const volatile variable = code;"
		"const char *first(void) __asm__(\"_ZN2v88internal23DefaultEmbeddedBlobCodeEv\");"
		"const char *first(void) { return FIRST; }"
		"int size(void) __asm__(\"_ZN2v88internal27DefaultEmbeddedBlobCodeSizeEv\");"
		"int size(void) { return sizeof code; }";
	const struct runtime_facts direct = made_library_facts(library, "-O2 -DFIRST=code"),
				   loaded = made_library_facts(library, "-O2 -DFIRST=variable");

	assert_int_equal(direct.generated_size, 64);
	assert_int_equal(loaded.generated_size, 64);
	assert_true(direct.generated && loaded.generated);
}

/* Each offset in turn is far away, or odd. */
static void offsets_that_make_no_sense_are_not_used(void **state)
{
	for (uint32_t i = 0; i < N_V8_OFFSETS; i++) {
		struct runtime_facts found = facts;

		found.offsets[i] = 1u << 20;
		assert_false(runtime_is_sound(&found));
	}
}

/* Objects have moved since the stack was taken: what is in their places is not believed. */
static void frames_of_snapshots_have_no_names(void **state)
{
	static struct range_walk range;
	const uint64_t pcs[] = {AT(GENERATED + 0x100), AT(OPTIMIZED + 128 + CALL)};
	const struct runtime_memory process = reading();
	const struct walk_memory stack = {};

	for (size_t i = 0; i < 2; i++) {
		struct bf_walk walk = at_pc(pcs[i]), same = walk;
		__u64 frames[BF_MAX_FRAMES] = {BF_FRAME_RUNTIME, UINT64_MAX};
		struct runtime_frame frame;
		struct runtime_code code;
		int end;

		make();
		range_walk_init(&range, &process);
		assert_true(range_walk_add(&range, &facts, process.bias));
		walk.built_in = walk.built_in ? facts.runtime : 0;
		assert_int_equal(range_walk_on(&range, &walk, &stack, frames, 2, &end), 2);
		run(&same, &frame);
		assert_int_equal(frames[1], UINT64_MAX);
		assert_int_equal(frames[2] & BF_FRAME_CODE, frame.code);
		assert_int_equal(frames[3], frame.detail);
		frame.check = 0;
		assert_int_equal(runtime_describe(&facts, &process, &frame, &code), -ESTALE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(interpreted_functions_are_where_their_frame_says),
		cmocka_unit_test(functions_without_a_table_of_lines_have_their_first),
		cmocka_unit_test(baseline_code_is_what_the_function_says_is_its),
		cmocka_unit_test(optimized_code_names_what_is_inlined_at_its_calls),
		cmocka_unit_test(tables_of_places_may_have_flags_below_offsets),
		cmocka_unit_test(functions_of_later_versions_have_their_names),
		cmocka_unit_test(built_in_functions_have_their_names),
		cmocka_unit_test(frames_of_no_function_are_left_to_the_walk),
		cmocka_unit_test(leaves_that_have_no_frame_lead_to_their_caller),
		cmocka_unit_test(leaves_that_have_a_frame_are_named),
		cmocka_unit_test(frames_that_are_about_to_go_are_read),
		cmocka_unit_test(built_in_code_is_known_by_its_mapping),
		cmocka_unit_test(frames_that_are_not_written_yet_are_not_read),
		cmocka_unit_test(another_function_in_the_same_place_has_no_name),
		cmocka_unit_test(another_name_in_the_place_of_its_own_is_not_believed),
		cmocka_unit_test(functions_are_known_by_any_name),
		cmocka_unit_test(frames_of_snapshots_have_no_names),
		cmocka_unit_test(other_code_at_the_same_address_has_no_name),
		cmocka_unit_test(inlinings_that_lead_nowhere_end),
		cmocka_unit_test(any_read_may_fail),
		cmocka_unit_test(what_moves_while_it_is_read_has_no_other_name),
		cmocka_unit_test(few_reads_describe_a_frame),
		cmocka_unit_test(strings_of_all_kinds_are_read),
		cmocka_unit_test(strings_that_make_no_sense_are_none),
		cmocka_unit_test(versions_that_are_not_known_are_named),
		cmocka_unit_test(built_in_code_is_where_a_function_says),
		cmocka_unit_test(offsets_that_make_no_sense_are_not_used),
	};

	return cmocka_run_group_tests(tests, made_setup, made_done);
}
