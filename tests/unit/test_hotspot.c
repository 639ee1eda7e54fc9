/* SPDX-License-Identifier: GPL-2.0-or-later */
/* HotSpot's frames and names, in memory made by hand: as version 17 has them, and newer ones. */
#include <errno.h>
#include <stdlib.h>

#include "tests/unit/made_library.h"
#include "tests/unit/made_hotspot.h"

static struct bf_machine machine;

/* An array of fields, as the serviceability agent has it. */
enum { FIELDS = 0x9000, FIELD_BYTES = 48 };

/* Walks from the call in the compiled method; the frame is in @ret. Returns the words of frames. */
static uint32_t run(struct bf_walk *walk, struct runtime_frame *ret, int *ret_end)
{
	struct runtime_memory process = reading();
	__u64 frames[BF_MAX_FRAMES] = {};
	struct bf_text text;
	uint32_t n;

	memory.n_reads = 0;
	assert_int_equal(hotspot_write(&facts, &text), 0);
	n = machine_run_range(&machine, &text, walk, &process, frames, 0, ret_end);
	*ret = (struct runtime_frame){frames[0] & BF_FRAME_CODE,
				      frames[0] >> BF_FRAME_KIND_SHIFT & (BF_FRAME_KINDS - 1),
				      frames[1], frames[1] >> 32};
	return n;
}

static void compiled_frames_are_left_by_their_size(void **state)
{
	struct bf_walk walk = at_call();
	struct runtime_frame frame;
	int end;

	make();
	assert_true(hotspot_is_sound(&facts));
	assert_int_equal(run(&walk, &frame, &end), 2);
	assert_int_equal(end, BF_END_NONE);
	assert_int_equal(walk.pc, CALLER);
	assert_int_equal(walk.sp, AT(STACK + FRAME));
	assert_int_equal(walk.fp, 0x777);
	assert_int_equal(frame.kind, HOTSPOT_COMPILED);
	assert_int_equal(frame.code, AT(BLOB));
	assert_int_equal(frame.detail, CALL);
}

/* At the ends of a method, less than its frame is there: a leaf is known by its instructions. */
static void leaves_are_known_by_their_instructions(void **state)
{
	enum { COMPLETE = 16 };
	static const struct {
		uint32_t offset;  /* of pc */
		uint8_t code[16]; /* around it: pc is at the eighth byte */
		uint32_t bytes;	  /* of the frame, with the return address */
	} cases[] = {
		{0, {[8] = 0x89, 0x84, 0x24}, 8},
		{8, {[7] = 0x55, 0x48, 0x83, 0xec, 0x10}, 16},
		{11, {[4] = 0x55, 0x48, 0x8b, 0xec, 0x48, 0x83}, 16},
		{12, {[3] = 0x55, 0x48, 0x83, 0xec, 0x10, 0x90}, FRAME},
		{15, {[0] = 0x55, 0x48, 0x81, 0xec, 0x10, 0, 0, 0, 0x90}, FRAME},
		{14, {[7] = 0x10, 0x41, 0x81, 0x7f, 0x20, 1}, FRAME},
		{15, {0x41, 0x81, 0x7f, 0x20, 1, [8] = 0x0f, 0x85}, FRAME},
		{14, {[7] = 0x10, 0x41, 0x83, 0x7f, 0x20, 0}, FRAME},
		{15, {[3] = 0x41, 0x83, 0x7f, 0x20, 0, 0x0f, 0x85}, FRAME},
		{12, {[7] = 0x10, 0x48, 0x8b, 0xec}, FRAME},
		{15, {[5] = 0x48, 0x8b, 0xec, 0x48, 0x83, 0xc5, 0x10}, FRAME},
		{15, {[5] = 0x48, 0x8b, 0xec, 0x48, 0x81, 0xc5, 0x10}, FRAME},
		{15, {[4] = 0x48, 0x83, 0xc5, 0x10, 0x90}, FRAME},
		{15, {[1] = 0x48, 0x81, 0xc5, 0, 1, 0, 0, 0x90}, FRAME},
		{15, {[3] = 0x48, 0x89, 0x6c, 0x24, 0x10, 0x66, 0x90}, FRAME},
		{15, {[0] = 0x48, 0x89, 0xac, 0x24, 0, 1, 0, 0, 0x90}, FRAME},
		{64, {[7] = 0x90, 0x90}, FRAME},
		{64, {[8] = 0x5d}, 16},
		{64, {[7] = 0x5d, 0x49, 0x3b, 0x67, 0x10}, 8},
		{64, {[7] = 0x90, 0x49, 0x3b, 0x67, 0x10}, FRAME},
		{64, {[8] = 0x0f, 0x87, 1, 0, 0, 0, 0xc3}, 8},
		{64, {[8] = 0x0f, 0x87, 1, 0, 0, 0, 0x90}, FRAME},
		{64, {[7] = 0x5d, 0xc3}, 8},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct bf_walk walk = at_call();
		struct runtime_frame frame;
		int end;

		make();
		number(BLOB + OFFSET(BLOB_COMPLETE), COMPLETE);
		bytes(CODE + cases[i].offset - 8, cases[i].code, sizeof cases[i].code);
		walk.pc = AT(CODE + cases[i].offset);
		walk.exact = walk.is_leaf = 1;
		word(STACK + cases[i].bytes - 8, CALLER);
		assert_int_equal(run(&walk, &frame, &end), 2);
		assert_int_equal(frame.kind, HOTSPOT_COMPILED_LEAF);
		assert_int_equal(walk.pc, CALLER);
		assert_int_equal(walk.sp, AT(STACK + cases[i].bytes));
		assert_false(walk.exact);
	}
}

/* Stubs without a size have pushed words, or keep where their frame is. */
static void leaves_in_stubs_have_their_callers(void **state)
{
	static const struct {
		uint8_t code[16];  /* around it: pc is at the eighth byte */
		uint32_t size, at; /* of the frame; where the return address is */
		uint32_t link, fp; /* where a word leads to; the register in the caller */
	} cases[] = {
		{{[7] = 0x90, 0x90}, FRAME, FRAME - 8},
		{{[8] = 0xc3}, FRAME, 0, .fp = 1},
		{{[8] = 0x5d, 0xc3}, FRAME, 8},
		{{[7] = 0x5d, 0xc3}, FRAME, 0, .fp = 1},
		{{[8] = 0x5a, 0x41, 0xff, 0xe2}, FRAME, 0, .fp = 1},
		{{[7] = 0x52, 0x48, 0x83, 0xec, 8}, FRAME, 0, .fp = 1},
		{{[7] = 0x5a, 0x41, 0xff, 0xe2}, FRAME, -8, .fp = 1},
		{{[8] = 0x52, 0x48, 0x83, 0xec, 8}, FRAME, -8, .fp = 1},
		{{[8] = 0x48, 0x8f, 0x04, 0x24}, FRAME, FRAME},
		{{[7] = 0x90, 0x90}, 0, 16, .fp = 1},
		{{[7] = 0x90, 0x90}, 0, 0x108, .link = 0xe0},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const uint64_t caller = AT(SEGMENTS + 0x1000); /* free: the walk ends there */
		struct bf_walk walk = at_call();
		struct runtime_frame frame;
		int end;

		make();
		bytes(NAME, "C2 Runtime stub", 16);
		number(BLOB + OFFSET(BLOB_FRAME_SIZE), cases[i].size / 8);
		bytes(CODE + 64 - 8, cases[i].code, sizeof cases[i].code);
		walk.pc = AT(CODE + 64);
		walk.exact = walk.is_leaf = 1;
		word(STACK + FRAME - 8, 0);
		word(STACK + cases[i].at - 8, 0x666);
		word(STACK + cases[i].at, caller);
		if (cases[i].link)
			word(STACK + cases[i].link, AT(STACK + cases[i].at - 8));
		assert_int_equal(run(&walk, &frame, &end), 2);
		assert_int_equal(frame.kind, HOTSPOT_STUB);
		assert_int_equal(walk.pc, caller);
		assert_int_equal(walk.sp, AT(STACK + cases[i].at + 8));
		assert_int_equal(walk.fp, cases[i].fp ? cases[i].fp : 0x666);
	}
}

/* While a method is entered, the word for it in its frame is another's. */
static void methods_that_are_entered_are_not_another(void **state)
{
	enum { LINK = STACK + 0x100, CALLER_SP = STACK + 0x140 };
	static const struct {
		uint32_t made;
		bool is_exact;
		uint32_t kind, code;
	} cases[] = {
		{0, false, HOTSPOT_INTERPRETED, OUTER},
		{0, true, HOTSPOT_STUB},
		{8, true, HOTSPOT_STUB},
		{16, true, HOTSPOT_STUB},
		{24, true, HOTSPOT_INTERPRETED, OUTER},
		{96, true, HOTSPOT_INTERPRETED, OUTER},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct bf_walk walk = at_call();
		struct runtime_frame frame;
		int end;

		make();
		bytes(NAME, "Interpreter", 12);
		walk.exact = walk.is_leaf = cases[i].is_exact;
		walk.fp = AT(LINK);
		walk.sp = AT(LINK - cases[i].made);
		word(LINK - 24, AT(OUTER));
		if (cases[i].made || !cases[i].is_exact)
			word(LINK - 8, AT(CALLER_SP));
		else
			walk.leaf[BF_REGISTER_R13] = AT(CALLER_SP);
		word(LINK, 0x777);
		word(LINK + 8, CALLER);
		assert_int_equal(run(&walk, &frame, &end), 2);
		assert_int_equal(frame.kind, cases[i].kind);
		assert_int_equal(frame.code, cases[i].code ? AT(cases[i].code) : AT(BLOB));
		assert_int_equal(walk.pc, CALLER);
		assert_int_equal(walk.sp, AT(CALLER_SP));
		assert_int_equal(walk.fp, 0x777);
	}
}

static void code_that_is_not_ours_is_left_alone(void **state)
{
	struct bf_walk walk = at_call();
	struct runtime_frame frame;
	int end;

	make();
	walk.pc = AT(SEGMENTS_END);
	assert_int_equal(run(&walk, &frame, &end), 0);
	assert_int_equal(walk.sp, AT(STACK));
	walk.pc = AT(SEGMENTS + 0x1000); /* a free segment */
	assert_int_equal(run(&walk, &frame, &end), 0);
	assert_int_equal(walk.sp, AT(STACK));
	make();
	word(HEAPS, 0); /* the machine has not begun */
	walk.pc = AT(CODE + CALL);
	assert_int_equal(run(&walk, &frame, &end), 0);
	assert_int_equal(walk.sp, AT(STACK));
}

static void names_are_those_of_all_inlined_methods(void **state)
{
	struct bf_walk walk = at_call();
	struct runtime_memory process = reading();
	struct runtime_code code = {};
	struct runtime_frame frame;
	int end;

	make();
	run(&walk, &frame, &end);
	assert_int_equal(hotspot_describe(&facts, &process, &frame, &code), 0);
	assert_true(code.is_compiled);
	assert_string_equal(code.name, "a.B.outer");
	assert_string_equal(code.file, "a/B.java");
	assert_int_equal(code.line, 43); /* bytecode 5 */
	assert_int_equal(code.n_inlined, 1);
	assert_string_equal(code.inlined[0].name, "a.B.inner");
	assert_int_equal(code.inlined[0].line, 40); /* bytecode 2 */
	runtime_inlined_free(code.inlined, code.n_inlined);
	/* Where nothing is known of a place, its method is. */
	code = (struct runtime_code){};
	frame.detail = CALL - 1;
	assert_int_equal(hotspot_describe(&facts, &process, &frame, &code), 0);
	assert_string_equal(code.name, "a.B.outer");
	assert_int_equal(code.n_inlined, 0);
	assert_int_equal(code.line, 0);
}

/* Another method at the same address, one that is going, names that are none. */
static void what_is_not_the_frame_has_no_name(void **state)
{
	struct bf_walk walk = at_call();
	struct runtime_memory process = reading();
	struct runtime_code code = {};
	struct runtime_frame frame;
	int end;

	make();
	run(&walk, &frame, &end);
	number(BLOB + OFFSET(COMPILED_ID), COMPILE_ID + 1);
	assert_int_equal(hotspot_describe(&facts, &process, &frame, &code), -ESTALE);
	number(BLOB + OFFSET(COMPILED_ID), COMPILE_ID);
	memory.bytes[BLOB + OFFSET(COMPILED_STATE)] = 5;
	assert_int_equal(hotspot_describe(&facts, &process, &frame, &code), -ESTALE);
	memory.bytes[BLOB + OFFSET(COMPILED_STATE)] = 0;
	memory.bytes[SYMBOLS + 64 + 6] = '\n';
	assert_int_equal(hotspot_describe(&facts, &process, &frame, &code), -ESTALE);
	assert_null(code.inlined);
}

/* Methods inlined into each other, each with a table of lines of @words. */
enum { N_SCOPES = 64 };
static void make_inlined(uint32_t words)
{
	make();
	for (uint32_t i = 1; i <= N_SCOPES; i++) {
		const uint8_t scope[] = {3 * (i - 1), i == 1 ? 1 : 2, 1};

		numbers(SCOPES + 3 * i, scope, sizeof scope);
	}
	number(PCS + 20, 3 * N_SCOPES);
	number(INNER + 0x40 + OFFSET(CONST_WORDS), words);
}

static void what_is_read_for_a_frame_is_limited(void **state)
{
	struct bf_walk walk = at_call();
	struct runtime_memory process = reading();
	struct runtime_code code = {};
	struct runtime_frame frame;
	int end;

	make_inlined(9);
	run(&walk, &frame, &end);
	memory.n_reads = 0;
	assert_int_equal(runtime_describe(&facts, &process, &frame, &code), 0);
	assert_string_equal(code.name, "a.B.outer");
	assert_int_equal(code.n_inlined, N_SCOPES - 1);
	assert_true(memory.n_reads < 1024);
	runtime_inlined_free(code.inlined, code.n_inlined);
	code = (struct runtime_code){};
	make_inlined(0xb000 / 8);
	assert_int_equal(runtime_describe(&facts, &process, &frame, &code), -E2BIG);
	assert_null(code.inlined);
}

/* Scopes that end in another method are not those of the compiled one. */
static void scopes_of_another_method_are_not_believed(void **state)
{
	struct bf_walk walk = at_call();
	struct runtime_memory process = reading();
	struct runtime_code code = {};
	struct runtime_frame frame;
	int end;

	make();
	word(METADATA, AT(INNER));
	run(&walk, &frame, &end);
	assert_int_equal(runtime_describe(&facts, &process, &frame, &code), 0);
	assert_string_equal(code.name, "a.B.outer");
	assert_int_equal(code.n_inlined, 0);
}

static void any_read_may_fail(void **state)
{
	struct runtime_memory process = reading();
	struct runtime_frame frame;
	int end;

	for (uint64_t i = 1; i < 40; i++) {
		struct bf_walk walk = at_call();
		struct runtime_code code = {};

		make();
		memory.fails_at = i;
		run(&walk, &frame, &end);
		memory.fails_at = 0;
		make();
		walk = at_call();
		run(&walk, &frame, &end);
		memory.n_reads = 0;
		memory.fails_at = i;
		if (hotspot_describe(&facts, &process, &frame, &code) == 0)
			assert_string_equal(code.name, "a.B.outer");
		else
			assert_null(code.inlined);
		runtime_inlined_free(code.inlined, code.n_inlined);
		memory.fails_at = 0;
	}
}

static void numbers_are_compressed_as_the_version_does(void **state)
{
	static const uint8_t old[] = {191, 192, 1, 255, 255, 255, 255, 255};
	static const uint8_t new[] = {191, 192, 1};
	uint32_t at = 0;

	assert_int_equal(hotspot_number(HOTSPOT(17), old, sizeof old, &at), 191);
	assert_int_equal(hotspot_number(HOTSPOT(17), old, sizeof old, &at), 192 + (1 << 6));
	assert_int_equal(at, 3);
	hotspot_number(HOTSPOT(17), old, sizeof old, &at);
	assert_int_equal(at, 8); /* five bytes at most */
	assert_int_equal(hotspot_number(HOTSPOT(17), old, sizeof old, &at), 0);
	at = 0;
	assert_int_equal(hotspot_number(HOTSPOT(21), new, sizeof new, &at), 190);
	assert_int_equal(hotspot_number(HOTSPOT(21), new, sizeof new, &at), 191);
}

/* --- what a process says of its structures --- */

/* The array of fields in a process, relocated or not, with the offsets of the facts above. */
static struct runtime_facts make_fields(bool is_relocated)
{
	struct runtime_facts partial = facts;

	memset(&memory, 0, sizeof memory);
	partial.type = FIELDS;
	partial.is_partial = 1;
	for (uint32_t i = CACHE_HEAPS + 1; i < N_HOTSPOT_OFFSETS; i++) {
		if (i == BLOCK_SIZE || i == PC_DESC_SIZE || i == CONST_SIZE || i == POOL_SIZE ||
		    !facts.offsets[i])
			continue;
		word(FIELDS + FIELD_BYTES * i, is_relocated);
		word(FIELDS + FIELD_BYTES * i + 32, facts.offsets[i]);
		partial.offsets[i] = i + 1;
	}
	return partial;
}

static void processes_say_where_things_are(void **state)
{
	struct runtime_memory process = reading();
	struct runtime_facts found = make_fields(true);
	struct bf_text text;

	found.offsets[SYMBOL_HASH] = SYMBOL_HASH + 1;
	word(FIELDS + FIELD_BYTES * SYMBOL_HASH, 1);
	assert_true(runtime_is_sound(&found));
	assert_int_equal(runtime_write(&found, BF_HOOK_RANGE, &text), -EINVAL);
	assert_int_equal(runtime_complete(&found, &process), 0);
	assert_int_equal(found.problem, RUNTIME_FINE);
	assert_false(found.is_partial);
	assert_memory_equal(found.offsets, facts.offsets, sizeof facts.offsets);
	assert_int_equal(runtime_write(&found, BF_HOOK_RANGE, &text), 0);
}

static void processes_that_have_not_begun_are_asked_again(void **state)
{
	struct runtime_memory process = reading();
	struct runtime_facts found = make_fields(false), before = found;

	assert_int_equal(runtime_complete(&found, &process), -EAGAIN);
	assert_memory_equal(&found, &before, sizeof found);
	memory.n_reads = 0;
	memory.fails_at = 1;
	assert_int_equal(runtime_complete(&found, &process), -EFAULT);
	assert_memory_equal(&found, &before, sizeof found);
}

/* Each field in turn lies far outside of its structure, or at an odd place. */
static void what_makes_no_sense_is_not_used(void **state)
{
	static const uint64_t values[] = {4097, UINT32_MAX, UINT64_MAX, 1ULL << 32};
	struct runtime_memory process = reading();
	struct runtime_code code;
	struct runtime_frame frame = {.code = AT(BLOB), .kind = HOTSPOT_INTERPRETED};
	struct bf_text text;

	for (uint32_t i = CACHE_HEAPS + 1; i < N_HOTSPOT_OFFSETS; i++)
		for (size_t k = 0; k < sizeof values / sizeof *values; k++) {
			struct runtime_facts found = make_fields(true);

			if (found.offsets[i] != i + 1)
				continue;
			word(FIELDS + FIELD_BYTES * i + 32, values[k]);
			assert_int_equal(runtime_complete(&found, &process), 0);
			assert_int_equal(found.problem, RUNTIME_LAYOUT);
			assert_int_equal(runtime_describe(&found, &process, &frame, &code),
					 -EINVAL);
			assert_int_equal(runtime_write(&found, BF_HOOK_RANGE, &text), -EINVAL);
		}
}

/* --- files --- */

/* The arrays that libjvm.so has, with a version only. */
static const char made_library[] = "static int version = VERSION;"
				   "static struct { const char *type, *field, *kind; int "
				   "is_static, pad; long offset; void *at; }"
				   "	fields[] = {{\"Abstract_VM_Version\", "
				   "\"_vm_major_version\", \"int\", 1, 0, 0, &version},"
				   "		    {0}};"
				   "static struct { const char *type, *super; int is[4]; long "
				   "size; } types[1] = {{0, 0, {0}, 1}};"
				   "void *gHotSpotVMStructs = fields, *OTHER = types;";

static void versions_that_are_not_known_are_named(void **state)
{
	const struct runtime_frame frame = {.code = AT(BLOB), .kind = HOTSPOT_COMPILED};
	struct runtime_memory process = reading();
	struct runtime_facts found;
	struct runtime_code code;
	struct bf_text text;
	char name[64];

	found = made_library_facts(made_library, "-DVERSION=99 -DOTHER=gHotSpotVMTypes");
	assert_true(runtime_is_sound(&found));
	runtime_name(&found, name, sizeof name);
	assert_string_equal(name, "HotSpot 99.0");
	assert_string_equal(runtime_problem_text(&found), "this version is not known");
	assert_int_equal(runtime_write(&found, BF_HOOK_RANGE, &text), -EINVAL);
	/* Even if a process says what is missing, nothing is read by it. */
	found.is_partial = 0;
	assert_int_equal(runtime_describe(&found, &process, &frame, &code), -EINVAL);
}

static void files_that_lack_structures_are_not_believed(void **state)
{
	struct runtime_facts found;

	found = made_library_facts(made_library, "-DVERSION=17 -DOTHER=gHotSpotVMTypes");
	assert_true(runtime_is_sound(&found));
	assert_int_equal(found.problem, RUNTIME_LAYOUT);
	found = made_library_facts(made_library, "-DVERSION=17 -DOTHER=others");
	assert_int_equal(found.runtime, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(compiled_frames_are_left_by_their_size),
		cmocka_unit_test(leaves_are_known_by_their_instructions),
		cmocka_unit_test(leaves_in_stubs_have_their_callers),
		cmocka_unit_test(methods_that_are_entered_are_not_another),
		cmocka_unit_test(code_that_is_not_ours_is_left_alone),
		cmocka_unit_test(names_are_those_of_all_inlined_methods),
		cmocka_unit_test(what_is_not_the_frame_has_no_name),
		cmocka_unit_test(what_is_read_for_a_frame_is_limited),
		cmocka_unit_test(scopes_of_another_method_are_not_believed),
		cmocka_unit_test(any_read_may_fail),
		cmocka_unit_test(numbers_are_compressed_as_the_version_does),
		cmocka_unit_test(processes_say_where_things_are),
		cmocka_unit_test(processes_that_have_not_begun_are_asked_again),
		cmocka_unit_test(what_makes_no_sense_is_not_used),
		cmocka_unit_test(versions_that_are_not_known_are_named),
		cmocka_unit_test(files_that_lack_structures_are_not_believed),
	};
	int n_failed = 0;

	for (size_t i = 0; i < N_MADE_FACTS; i++) {
		facts = made_facts[i];
		n_failed += cmocka_run_group_tests(tests, made_setup, made_done);
	}
	return n_failed;
}
