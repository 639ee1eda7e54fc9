/* SPDX-License-Identifier: GPL-2.0-or-later */
/* .NET's frames and names, in memory made by hand, as versions 9 and 10 have it. */
#include "tests/unit/cmocka_all.h"
#include "tests/unit/made_dotnet.h"
#include "tests/unit/made_library.h"
#include "tests/unit/walked_range.h"

static const uint32_t majors[] = {9, 10};

static void assert_frame(uint32_t i, const char *name)
{
	struct runtime_code code;

	assert_int_equal(describe(i, &code), 0);
	assert_true(code.is_compiled);
	assert_string_equal(code.name, name);
	assert_string_equal(code.file, "made.dll");
	runtime_code_done(&code);
}

static void assert_nameless(uint32_t i)
{
	struct runtime_code code;

	assert_int_not_equal(describe(i, &code), 0);
	runtime_code_done(&code);
}

/* The callers of the leaf, from frame @first on, up to native code. */
static void assert_callers(const struct bf_walk *walk, uint32_t first)
{
	assert_frame(first, "Space.Outer.Inner.second");
	assert_frame(first + 1, "Space.Outer.first");
	assert_int_equal(end, BF_END_NONE);
	assert_int_equal(walk->pc, NATIVE);
	assert_int_equal(walk->sp, AT(FIRST_RETURN + 8));
	assert_int_equal(walk->fp, 0x7788);
	assert_false(walk->exact);
}

static void methods_are_followed_and_named(void **state)
{
	for (size_t i = 0; i < sizeof majors / sizeof *majors; i++) {
		struct bf_walk walk = in_leaf(THIRD + 0x10);

		make_facts(majors[i]);
		assert_true(runtime_is_sound(&facts));
		make();
		assert_int_equal(run(&walk), 3);
		assert_frame(0, "Space.Outer.Inner.third");
		assert_callers(&walk, 1);
	}
}

/* Before version 10, numbers in the middle of a method are 0. */
static void methods_may_be_longer_than_a_unit_of_starts(void **state)
{
	struct bf_walk walk = in_leaf(THIRD + 0x3a0);

	make();
	assert_int_equal(run(&walk), 3);
	assert_frame(0, "Space.Outer.Inner.third");
	for (uint32_t unit = 3; unit < 5; unit++)
		number(STARTS + 4 * unit, (0x204 & ~15) + (4 >> 2) + DOTNET_FIRST_POINTER);
	walk = in_leaf(THIRD + 0x3a0);
	assert_int_equal(run(&walk), 3);
	assert_frame(0, "Space.Outer.Inner.third");
	assert_callers(&walk, 1);
}

/* Where the leaf is at its begin or end, its frame is there in part. */
static void leaves_may_be_at_their_ends(void **state)
{
	static const struct {
		uint32_t at, popped; /* bytes of the frame that are not there */
		const char *code;
	} cases[] = {
		{0, 0x30, "\x55\x53\x48\x83"},
		{1, 0x28, "\x53\x48\x83\xec"},
		{2, 0x20, "\x48\x83\xec\x20"},
		{6, 0, "\x90"},
		{0x80, 0, "\x48\x83\xc4\x20\x5b\x5d\xc3"},
		{0x80, 0x20, "\x5b\x5d\xc3"},
		{0x80, 0x28, "\x5d\xc3"},
		{0x80, 0x30, "\xc3"},
		{0x80, 0x20, "\x5b\x5d\x48\xff\xe0"},
		{0x80, 0, "\x5b\x5d\x90"}, /* no end */
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct bf_walk walk = in_leaf(THIRD + cases[i].at);

		make();
		bytes(THIRD + cases[i].at, cases[i].code, strlen(cases[i].code));
		walk.sp += cases[i].popped;
		if (cases[i].popped == 0x30) /* the caller's is in the register */
			walk.fp = AT(LEAF_RETURN + 8 + 0x40);
		assert_int_equal(run(&walk), 3);
		assert_frame(0, "Space.Outer.Inner.third");
		assert_callers(&walk, 1);
	}
	/* After the last register was popped. */
	struct bf_walk walk = in_leaf(THIRD + 0x80);

	make();
	bytes(THIRD + 0x7f, "\x5d\xff\x25", 3);
	walk.sp += 0x30;
	walk.fp = AT(LEAF_RETURN + 8 + 0x40);
	assert_int_equal(run(&walk), 3);
	assert_callers(&walk, 1);
}

/* Pages of files that nobody has needed. */
static void first_instructions_do_for_unwind_information_that_is_not_in_memory(void **state)
{
	static const struct {
		const char *code;
		uint32_t n, bytes,
			bp_at; /* bytes of code; of the frame, without the return address */
	} cases[] = {
		{"\x48\x83\xec\x28\x90", 5, 0x28, 0},
		{"\x50\xff\x15", 3, 8, 0},
		{"\x55\x41\x57\x53\x48\x8d\x6c\x24\x10", 9, 0x18, 0x10},
		{"\x55\x41\x56\x48\x81\xec\x08\x01\x00\x00\x48\x8d", 12, 0x118, 0x110},
		{"\x55\x48\x8b\xec\x90", 5, 8, 0},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct bf_walk walk = {.pc = AT(FIRST + 0x40), .sp = AT(STACK), .fp = 0x3344};

		make();
		memset(memory.bytes + LIBRARY_UNWIND, 0, 0x100);
		bytes(FIRST, cases[i].code, cases[i].n);
		memset(memory.bytes + STACK, 0, 0x200);
		word(STACK + cases[i].bytes, NATIVE);
		if (*cases[i].code == 0x55)
			word(STACK + cases[i].bp_at, 0x5566);
		assert_int_equal(run(&walk), 1);
		assert_frame(0, "Space.Outer.first");
		assert_int_equal(walk.pc, NATIVE);
		assert_int_equal(walk.sp, AT(STACK + cases[i].bytes + 8));
		assert_int_equal(walk.fp, *cases[i].code == 0x55 ? 0x5566 : 0x3344);
	}
}

/* Those whose first instructions set it; in a leaf, it may not be set yet. */
static void functions_that_set_the_frame_pointer_are_left_by_it(void **state)
{
	static const struct {
		const char *code;
		uint32_t n, prolog;
		bool sets;
	} cases[] = {
		{"\x55\x53\x50\x48\x8d\x6c\x24\x10", 8, 3, true},
		{"\x55\x48\x81\xec\x00\x01\x00\x00\x48\x8d\xac\x24", 12, 8, true},
		{"\x55\x48\x8b\xec", 4, 1, true},
		{"\x53\x55\x50\x48\x8d\x6c\x24\x10", 8, 3, false},
		{"\x55\x53\x50\x90", 4, 3, false},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct bf_walk walk = {
			.pc = AT(FIRST + 0x40), .sp = AT(STACK), .fp = AT(STACK + 0x100)};
		const char head[4] = {1, cases[i].prolog, 0, 0};

		make();
		memset(memory.bytes + STACK, 0, 0x200);
		memset(memory.bytes + LIBRARY_UNWIND + 0x40, 0, 0x40);
		bytes(LIBRARY_UNWIND + 0x40, head, sizeof head); /* no codes */
		bytes(FIRST, cases[i].code, cases[i].n);
		word(STACK, NATIVE);
		word(STACK + 0x100, 0x5566);
		word(STACK + 0x108, NATIVE);
		assert_int_equal(run(&walk), 1);
		assert_int_equal(walk.pc, NATIVE);
		assert_int_equal(walk.sp, cases[i].sets ? AT(STACK + 0x110) : AT(STACK + 8));
		assert_int_equal(walk.fp, cases[i].sets ? 0x5566 : AT(STACK + 0x100));
	}
}

static void handlers_are_of_their_method(void **state)
{
	struct bf_walk walk = {.pc = AT(HANDLER + 0x20), .sp = AT(STACK), .fp = 0x3344};

	make();
	memset(memory.bytes + STACK, 0, 0x200);
	bytes(UNWIND + 0x100, "\x01\x02\x02\x00\x02\x30\x01\x50", 8);
	word(STACK + 8, 0x5566);
	word(STACK + 16, AT(FINALLY + 0x20));
	word(STACK + 24 + 8, NATIVE);
	assert_int_equal(run(&walk), 2);
	assert_frame(0, "Space.Outer.Inner.second");
	assert_frame(1, "Space.Outer.first");
	assert_int_equal(walk.pc, NATIVE);
	assert_int_equal(walk.fp, 0x5566);
}

/* Stubs and write barriers have no frames: what they return to must be a method. */
static void leaves_of_no_method_have_callers(void **state)
{
	const uint32_t places[] = {STUB + 4, STUBS + 0x10, 0xd800};

	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		struct bf_walk walk = in_leaf(places[i]);

		make();
		walk.sp = AT(LEAF_RETURN);
		walk.fp = AT(LEAF_RETURN + 8 + 0x40);
		/* Not after a call. */
		assert_int_equal(run(&walk), 0);
		assert_int_equal(end, BF_END_NONE);
		assert_int_equal(walk.sp, AT(LEAF_RETURN));
		memory.bytes[SECOND + 0x20 - 5] = 0xe8;
		walk = in_leaf(places[i]);
		walk.sp = AT(LEAF_RETURN);
		walk.fp = AT(LEAF_RETURN + 8 + 0x40);
		assert_int_equal(run(&walk), 2);
		assert_callers(&walk, 0);
		/* It has pushed a word. */
		walk = in_leaf(places[i]);
		walk.sp = AT(LEAF_RETURN - 8);
		walk.fp = AT(LEAF_RETURN + 8 + 0x40);
		assert_int_equal(run(&walk), 2);
		assert_callers(&walk, 0);
	}
}

static void metadata_may_be_as_in_the_file(void **state)
{
	struct bf_walk walk = in_leaf(THIRD + 0x10);

	make();
	make_image(true);
	assert_int_equal(run(&walk), 3);
	assert_frame(0, "Space.Outer.Inner.third");
	assert_frame(2, "Space.Outer.first");
}

/* Methods without an assembly have a name of their own, of which the check is. */
static void methods_made_at_run_time_have_their_own_names(void **state)
{
	struct bf_walk walk = in_leaf(THIRD + 0x10);
	struct runtime_code code;

	for (uint32_t flags = 2; flags < 4; flags++) {
		make();
		number(SECTIONS + facts.offsets[SECTION_FLAGS], flags);
		memory.bytes[method(METHOD_THIRD) + facts.offsets[METHOD_FLAGS]] =
			DOTNET_KIND_DYNAMIC;
		word(method(METHOD_THIRD) + facts.offsets[METHOD_NAME], AT(NAME));
		bytes(NAME, "made_7", 7);
		walk = in_leaf(THIRD + 0x10);
		assert_int_equal(run(&walk), 3);
		assert_int_equal(describe(0, &code), 0);
		assert_string_equal(code.name, "made_7");
		assert_string_equal(code.file, "");
		bytes(NAME, "made_8", 7); /* another one, at the same place */
		assert_int_equal(describe(0, &code), flags & DOTNET_COLLECTIBLE ? -ESTALE : 0);
	}
	make();
	number(SECTIONS + facts.offsets[SECTION_FLAGS], 3);
	walk = in_leaf(THIRD + 0x10);
	assert_int_equal(run(&walk), 3);
	assert_frame(0, "Space.Outer.Inner.third");
	number(IMAGE + 0x80 + 8, 0x12345679); /* an assembly at the same place */
	assert_nameless(0);
}

static void what_does_not_agree_has_no_name(void **state)
{
	const uint32_t *o = facts.offsets;
	const struct {
		uint32_t at;
		uint64_t value;
	} cases[] = {
		{CLASSES + 0x40 + o[CLASS_TYPE], AT(TYPES)}, /* of another type */
		{TYPES + 0x40 + o[TYPE_CLASS], 0},
		{TYPES + 0x40 + o[TYPE_TOKEN], 2 << 8},	     /* whose method it is not */
		{TYPES + 0x40 + o[TYPE_TOKEN], 4 << 8},	     /* there is no such type */
		{method(METHOD_THIRD) + o[METHOD_TOKEN], 2}, /* another method than the frame's */
		{STARTS + 8, 0},			     /* no method starts there */
		{THIRD - 8, AT(HEADERS + 0x80)},
		{MODULE + o[MODULE_BASE], 0},
		{IMAGE + 0x80, 0},
		{IMAGE + 0x280, 0},
		{IMAGE + 0x280 + 0x80 + 8, UINT64_MAX}, /* more tables than there are */
		{FRAGMENTS + o[FRAGMENT_SECTION], AT(SECTIONS + 0x40)},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct bf_walk walk = in_leaf(THIRD + 0x10);

		make();
		assert_int_equal(run(&walk), 3);
		assert_frame(0, "Space.Outer.Inner.third");
		word(cases[i].at, cases[i].value);
		assert_nameless(0);
	}
}

static void ready_methods_must_be_listed(void **state)
{
	const uint32_t *o = facts.offsets;
	const struct {
		uint32_t at;
		uint64_t value;
	} cases[] = {
		{FUNCTIONS + 12, 0x140},
		{BUCKETS, 0},
		{COMPILED + o[COMPILED_FUNCTIONS], AT(FUNCTIONS + 12)},
		{OUTER_CHUNK + o[CHUNK_TYPE], AT(TYPES + 0x40)},
		{MODULE + o[MODULE_COMPILED], 0},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct bf_walk walk = in_leaf(THIRD + 0x10);

		make();
		assert_int_equal(run(&walk), 3);
		assert_frame(2, "Space.Outer.first");
		word(cases[i].at, cases[i].value);
		assert_nameless(2);
	}
}

static void any_read_may_fail(void **state)
{
	struct bf_walk walk = in_leaf(THIRD + 0x10);
	struct runtime_code code;
	uint64_t n_reads;

	make();
	assert_int_equal(run(&walk), 3);
	n_reads = memory.n_reads;
	for (uint64_t i = 1; i <= n_reads; i++) {
		walk = in_leaf(THIRD + 0x10);
		memory.fails_at = i;
		assert_true(run(&walk) <= 4);
	}
	for (uint32_t k = 0; k < 3; k += 2) {
		memory.fails_at = 0;
		make();
		walk = in_leaf(THIRD + 0x10);
		assert_int_equal(run(&walk), 3);
		assert_int_equal(describe(k, &code), 0);
		n_reads = memory.n_reads;
		for (uint64_t i = 1; i <= n_reads; i++) {
			memory.fails_at = i;
			if (describe(k, &code) == 0)
				assert_string_equal(code.name, k ? "Space.Outer.first"
								 : "Space.Outer.Inner.third");
		}
	}
	memory.fails_at = 0;
}

/* Chains that lead to themselves, and numbers of all sizes, wherever something is. */
static void hostile_memory_costs_no_more_than_there_is(void **state)
{
	struct runtime_code code;

	for (uint32_t at = 0; at < STACK; at += 8) {
		uint64_t was;

		make();
		memcpy(&was, memory.bytes + at, 8);
		for (int k = 0; was && k < 4; k++) {
			const uint64_t values[] = {AT(at), UINT64_MAX, was + 1,
						   was << 32 | was >> 32};
			struct bf_walk walk = in_leaf(THIRD + 0x10);

			make();
			assert_int_equal(run(&walk), 3);
			word(at, values[k]);
			for (uint32_t i = 0; i < 3; i++)
				if (describe(i, &code) == 0)
					runtime_code_done(&code);
			walk = in_leaf(THIRD + 0x10);
			run(&walk);
			assert_true(machine.turns <= BF_RANGE_TURNS);
		}
	}
	/* A list of sections without an end. */
	struct bf_walk walk = in_leaf(THIRD + 0x10);

	make();
	word(FRAGMENTS + facts.offsets[FRAGMENT_END], 0);
	word(FRAGMENTS + facts.offsets[FRAGMENT_NEXT], AT(FRAGMENTS));
	assert_int_equal(run(&walk), 0);
	assert_int_equal(end, BF_END_DEPTH);
}

static void only_sound_facts_are_used(void **state)
{
	const struct runtime_facts good = facts;

	for (uint32_t i = DOTNET_MAP; i < N_DOTNET_OFFSETS; i++) {
		const uint32_t values[] = {0, good.offsets[i] + 8, 4096, UINT32_MAX};

		for (size_t k = 0; k < sizeof values / sizeof *values; k++) {
			struct bf_walk walk = in_leaf(THIRD + 0x10);

			facts = good;
			make();
			facts.offsets[i] = values[k];
			if (runtime_is_sound(&facts))
				run(&walk);
		}
		facts.offsets[i] = UINT32_MAX;
		assert_false(runtime_is_sound(&facts));
	}
	facts = good;
}

/* --- files --- */

#define LIBRARY_OF(version)                                                                        \
	"void *g_dacTable[8]; void MetaDataGetDispenser(void) {}\n"                                \
	"char version[] = \"@(#)Version " version ".1 @Commit: 1\";\n"
#define DESCRIPTOR                                                                                 \
	"static char map[8];\n"                                                                    \
	"static void *const variables[] = {0, map};\n"                                             \
	"const struct { char magic[8]; unsigned flags, n; const char *text; unsigned "             \
	"n_variables, pad;\n"                                                                      \
	"void *const *variables; } DotNetRuntimeContractDescriptor = {\"DNCCDAC\", 1, sizeof "     \
	"text, text, 2, 0, "                                                                       \
	"variables};\n"
#define TYPES_OF(module)                                                                           \
	"static const char text[] = "                                                              \
	"\"{'types':{'RangeSectionFragment':{'RangeBegin':8,'RangeEndOpen':16,"                    \
	"'RangeSection':24,'Next':0},'RangeSection':{'RangeBegin':0,'RangeEndOpen':8,'Flags':16,'" \
	"HeapList':40,"                                                                            \
	"'R2RModule':32},'CodeHeapListNode':{'MapBase':32,'HeaderMap':40},'RealCodeHeader':{'"     \
	"MethodDesc':24,"                                                                          \
	"'NumUnwindInfos':32,'UnwindInfos':36},'MethodDesc':{'!':16,'ChunkIndex':2,'Slot':4,'"     \
	"Flags':6,"                                                                                \
	"'Flags3AndTokenRemainder':0},'DynamicMethodDesc':{'MethodName':[32,'pointer']},'"         \
	"MethodDescChunk':{'!':24,"                                                                \
	"'MethodTable':0,'FlagsAndTokenRange':18},'MethodTable':{'MTFlags2':8,'Module':24,'"       \
	"EEClassOrCanonMT':40},"                                                                   \
	"'EEClass':{'MethodTable':16}," module                                                     \
	"'ReadyToRunInfo':{'CompositeInfo':40,'RuntimeFunctions':80,"                              \
	"'NumRuntimeFunctions':88,'EntryPointToMethodDescMap':360},'HashMap':{'Buckets':16}},'"    \
	"globals':{"                                                                               \
	"'ExecutionManagerCodeRangeMapAddress':[[1],'pointer']}}\";\n"
#define MODULE_TYPE "'Module':{'Base':224,'ReadyToRunInfo':704},"

/* @source, in which ' is a quote within a text. */
static struct runtime_facts facts_of(const char *source)
{
	char quoted[4096];
	size_t n = 0;

	for (; *source; source++) {
		if (*source == '\'')
			quoted[n++] = '\\';
		quoted[n++] = *source == '\'' ? '"' : *source;
	}
	quoted[n] = '\0';
	return made_library_facts(quoted, "-O1 -w -fno-toplevel-reorder -nostdlib");
}

static void files_say_their_version_and_structures(void **state)
{
	static const struct {
		const char *source, *name;
		enum runtime_problem problem;
	} cases[] = {
		{LIBRARY_OF("9.0"), ".NET 9.0", RUNTIME_FINE},
		{LIBRARY_OF("8.0"), ".NET 8.0", RUNTIME_VERSION},
		{LIBRARY_OF("11.0"), ".NET 11.0", RUNTIME_VERSION},
		{LIBRARY_OF("10.0") TYPES_OF(MODULE_TYPE) DESCRIPTOR, ".NET 10.0", RUNTIME_FINE},
		{LIBRARY_OF("10.0"), ".NET 10.0", RUNTIME_LAYOUT},
		{LIBRARY_OF("10.0") TYPES_OF("") DESCRIPTOR, ".NET 10.0", RUNTIME_LAYOUT},
		{"void *g_dacTable[8]; void MetaDataGetDispenser(void) {}", ".NET 0.0",
		 RUNTIME_VERSION},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct runtime_facts found = facts_of(cases[i].source);
		enum runtime_problem problem = cases[i].problem;
		char name[64];

#ifndef __x86_64__
		problem = problem == RUNTIME_VERSION ? problem : RUNTIME_BUILD;
#endif
		assert_int_equal(found.runtime, 9);
		assert_true(runtime_is_sound(&found));
		runtime_name(&found, name, sizeof name);
		assert_string_equal(name, cases[i].name);
		assert_int_equal(found.problem, problem);
		if (problem == RUNTIME_FINE && i) {
			assert_int_equal(found.offsets[MODULE_COMPILED], 704);
			assert_int_equal(found.offsets[METHOD_NAME], 32);
			assert_int_equal(found.offsets[CHUNK_SIZE], 24);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(methods_are_followed_and_named),
		cmocka_unit_test(methods_may_be_longer_than_a_unit_of_starts),
		cmocka_unit_test(leaves_may_be_at_their_ends),
		cmocka_unit_test(
			first_instructions_do_for_unwind_information_that_is_not_in_memory),
		cmocka_unit_test(functions_that_set_the_frame_pointer_are_left_by_it),
		cmocka_unit_test(handlers_are_of_their_method),
		cmocka_unit_test(leaves_of_no_method_have_callers),
		cmocka_unit_test(metadata_may_be_as_in_the_file),
		cmocka_unit_test(methods_made_at_run_time_have_their_own_names),
		cmocka_unit_test(what_does_not_agree_has_no_name),
		cmocka_unit_test(ready_methods_must_be_listed),
		cmocka_unit_test(any_read_may_fail),
		cmocka_unit_test(hostile_memory_costs_no_more_than_there_is),
		cmocka_unit_test(only_sound_facts_are_used),
		cmocka_unit_test(files_say_their_version_and_structures),
	};

	make_facts(9);
	return cmocka_run_group_tests(tests, made_setup, made_done);
}
