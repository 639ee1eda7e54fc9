/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * made_v8: a heap of V8 10.2 in memory made by hand: outer(), which is interpreted, has baseline
 * code and optimized code that has inner() inlined; and the stack of a thread that is there.
 */
#ifndef TESTS_MADE_V8_H
#define TESTS_MADE_V8_H

#include "runtimes/v8.h"
#include "tests/unit/made_machine.h"

static struct made_memory memory;

#define AT(offset) (MADE_START + (offset))
#define TAGGED(at) (AT(at) + 1)
#define SMALL(n)   ((uint64_t)(uint32_t)(n) << 32)

/* Where things are. */
enum {
	MAPS = 0x100, /* by the number of a type below */
	FUNCTION = 0x1000,
	OUTER = 0x1100, /* what functions share */
	INNER = 0x1180,
	BUILT_IN = 0x1200,
	SCRIPT = 0x1300,
	SCOPE_OUTER = 0x1400,
	SCOPE_INNER = 0x1500,
	BYTECODE = 0x1600,
	POSITIONS = 0x1700, /* of bytecode */
	PLACES = 0x1800,    /* of optimized code */
	NAMES = 0x2000,	    /* strings, each of 256 bytes */
	KNOWN = 0x3000,	    /* what optimized code knows */
	INLININGS = 0x3100,
	LITERALS = 0x3200,
	WRAPPER = 0x3300, /* of the function of optimized code, where there is one */
	BASELINE = 0x4000,
	OPTIMIZED = 0x6000,
	SCOPE_MANY = 0x5000, /* with many variables */
	STACK = 0x8000,
	FRAME = 0x8100, /* its frame pointer */
	GENERATED = 0xa000,
};
enum { GENERATED_BYTES = 0x1000, CODE_BYTES = 0x200, CALL = 0x40, CALLER = 0x123456, ID = 7 };

/* Types, numbers of maps. */
enum {
	MAP_STRING,
	MAP_WIDE,
	MAP_CONS,
	MAP_SLICED,
	MAP_THIN,
	MAP_EXTERNAL,
	MAP_BYTECODE,
	MAP_CODE,
	MAP_SCOPE,
	MAP_SCRIPT,
	MAP_SHARED,
	MAP_BYTES,
	MAP_FUNCTION,
	MAP_ARRAY,
	N_MAPS
};
static const uint16_t types[N_MAPS] = {40,  32,	 41,  43,  45,	42,   195,
				       240, 256, 170, 257, 194, 2065, 179};

static const struct runtime_facts facts = {
	.runtime = 5, /* row of user/runtimes/runtime.c */
	.version = V8(10, 2),
	.generated = GENERATED,
	.generated_size = GENERATED_BYTES,
	.offsets = {[MAP_TYPE] = 12,
		    [TYPE_NOT_STRING] = 128,
		    [TYPE_BYTECODE] = 195,
		    [TYPE_CODE] = 240,
		    [TYPE_INTERPRETER_DATA] = 162,
		    [TYPE_SCOPE] = 256,
		    [TYPE_SCRIPT] = 170,
		    [TYPE_SHARED] = 257,
		    [TYPE_BYTES] = 194,
		    [FUNCTION_SHARED] = 24,
		    [SHARED_DATA] = 8,
		    [SHARED_NAME] = 16,
		    [SHARED_SCRIPT] = 32,
		    [SHARED_FLAGS] = 48,
		    [SHARED_LITERAL] = 52,
		    [SCRIPT_SOURCE] = 8,
		    [SCRIPT_NAME] = 16,
		    [SCRIPT_LINE] = 24,
		    [SCRIPT_ID] = 64,
		    [SCOPE_NAMES] = 3,
		    [STRING_LENGTH] = 12,
		    [STRING_CHARACTERS] = 16,
		    [STRING_DATA] = 24,
		    [STRING_ACTUAL] = 16,
		    [BYTECODE_POSITIONS] = 32,
		    [BYTECODE_DATA] = 56,
		    [CODE_DEOPTIMIZATION] = 16,
		    [CODE_POSITIONS] = 24,
		    [CODE_START] = 128,
		    [CODE_SIZE] = 40,
		    [CODE_FLAGS] = 48,
		    [CODE_BASELINE] = 11,
		    [CODE_ALIGN] = 32,
		    [KNOWN_LITERALS] = 2,
		    [KNOWN_SHARED] = 6,
		    [KNOWN_INLININGS] = 7},
};

static inline struct runtime_memory reading(void)
{
	return (struct runtime_memory){made_read, &memory, MADE_START};
}

static inline void word(uint32_t at, uint64_t value)
{
	made_word(&memory, AT(at), value);
}

static inline void number(uint32_t at, uint32_t value)
{
	made_number(&memory, AT(at), value);
}

/* The object at @at begins. */
static inline void object(uint32_t at, int map)
{
	word(at, TAGGED(MAPS + 0x40 * map));
}

static inline uint32_t made_hash(const char *text)
{
	uint32_t hash = 5381;

	while (*text)
		hash = 33 * hash + (uint8_t)*text++;
	return hash << 2;
}

/* The @i'th string. */
static inline uint64_t string(uint32_t i, const char *text)
{
	uint32_t at = NAMES + 0x100 * i;

	object(at, MAP_STRING);
	number(at + 8, made_hash(text));
	number(at + 12, strlen(text));
	memcpy(memory.bytes + at + 16, text, strlen(text));
	return TAGGED(at);
}

/* A scope with one variable, a name, and positions. */
static inline void scope(uint32_t at, uint64_t name, int32_t start, int32_t end)
{
	object(at, MAP_SCOPE);
	word(at + 24, SMALL(1));
	word(at + 32, string(0, "variable"));
	word(at + 48, name);
	word(at + 56, SMALL(3));
	word(at + 64, TAGGED(FUNCTION)); /* undefined: the compiler has no name for it */
	word(at + 72, SMALL(start));
	word(at + 80, SMALL(end));
	word(at + 88, TAGGED(MAPS)); /* the next object */
}

static inline void shared(uint32_t at, uint64_t data, uint32_t scope, uint32_t literal)
{
	object(at, MAP_SHARED);
	word(at + 8, data);
	word(at + 16, TAGGED(scope));
	word(at + 32, TAGGED(SCRIPT));
	number(at + 52, literal);
}

/* Appends a number to the bytes at *@at, as tables of places have it. */
static inline void put(uint32_t *at, int64_t value)
{
	uint64_t left = (uint64_t)value << 1 ^ (uint64_t)(value >> 63);

	do {
		memory.bytes[(*at)++] = (left & 127) | (left > 127) << 7;
		left >>= 7;
	} while (left);
}

/* From 14 on, offsets have a bit below them. */
static uint32_t place_flags;

/* Appends an offset, as a difference; its sign says whether a statement begins there. */
static inline void put_offset(uint32_t *at, int64_t by, bool is_statement)
{
	by = by << place_flags | place_flags;
	put(at, is_statement ? by : -by - 1);
}

/* Positions, as in tables of places; @inlined from -1 on. */
static inline int64_t position(int32_t at, int32_t inlined)
{
	return (int64_t)(inlined + 1) << 31 | (int64_t)(at + 1) << 1;
}

static inline void bytes_end(uint32_t at, uint32_t end)
{
	object(at, MAP_BYTES);
	word(at + 8, SMALL(end - at - 16));
}

static inline void make_script(void)
{
	object(SCRIPT, MAP_SCRIPT);
	word(SCRIPT + 8, string(1, "// 1\n// 2\nfunction outer() {\n inner();\n}\n"));
	word(SCRIPT + 16, string(2, "file:///a/app.js"));
	word(SCRIPT + 24, SMALL(0));
	word(SCRIPT + 64, SMALL(ID));
}

static inline void make_functions(void)
{
	uint32_t at = POSITIONS + 16;

	scope(SCOPE_OUTER, string(3, "outer"), 10, 40);
	scope(SCOPE_INNER, string(4, "inner"), 0, 5);
	shared(OUTER, TAGGED(BYTECODE), SCOPE_OUTER, 3);
	shared(INNER, TAGGED(BYTECODE), SCOPE_INNER, 4);
	object(BUILT_IN, MAP_SHARED);
	word(BUILT_IN + 8, SMALL(99));
	word(BUILT_IN + 16, string(5, "map"));
	object(BYTECODE, MAP_BYTECODE);
	word(BYTECODE + 32, TAGGED(POSITIONS));
	put_offset(&at, 1, true);		       /* offset 0 */
	put(&at, position(12, -1));		       /* line 3 */
	put_offset(&at, 8, false);		       /* offset 8 */
	put(&at, position(31, -1) - position(12, -1)); /* line 4 */
	bytes_end(POSITIONS, at);
	object(FUNCTION, MAP_FUNCTION);
	word(FUNCTION + 24, TAGGED(OUTER));
}

static inline void make_code(void)
{
	uint32_t at = PLACES + 16;

	object(BASELINE, MAP_CODE);
	word(BASELINE + 16, TAGGED(BYTECODE));
	number(BASELINE + 40, CODE_BYTES);
	number(BASELINE + 48, 11);
	object(OPTIMIZED, MAP_CODE);
	word(OPTIMIZED + 16, TAGGED(KNOWN));
	word(OPTIMIZED + 24, TAGGED(PLACES));
	number(OPTIMIZED + 40, CODE_BYTES);
	number(OPTIMIZED + 48, 13);
	word(OPTIMIZED + 128 + CALL - 8, 0x1234567890abcdef);
	put_offset(&at, 0x20 + 1, true);
	put(&at, position(12, -1));
	put_offset(&at, CALL - 4 - 0x20, true);
	put(&at, position(2, 0) - position(12, -1)); /* in inner() */
	put_offset(&at, 0x20, true);
	put(&at, position(12, -1) - position(2, 0));
	bytes_end(PLACES, at);
	object(KNOWN, MAP_ARRAY);
	word(KNOWN + 16 + 8 * 2, TAGGED(LITERALS));
	word(KNOWN + 16 + 8 * 6, TAGGED(OUTER));
	word(KNOWN + 16 + 8 * 7, TAGGED(INLININGS));
	object(LITERALS, MAP_ARRAY);
	word(LITERALS + 8, SMALL(1));
	word(LITERALS + 16, TAGGED(INNER) | 2);
	word(INLININGS + 16, position(31, -1));
	word(INLININGS + 24, 0);
	bytes_end(INLININGS, INLININGS + 32);
}

static inline void make(void)
{
	memset(&memory, 0, sizeof memory);
	for (int i = 0; i < N_MAPS; i++)
		memcpy(memory.bytes + MAPS + 0x40 * i + 12, &types[i], sizeof types[i]);
	make_script();
	make_functions();
	make_code();
	word(FRAME + 8, CALLER);
	word(FRAME, 0x777);
	word(FRAME - 8, 0x5551);
	word(FRAME - 16, TAGGED(FUNCTION));
	word(FRAME - 32, TAGGED(BYTECODE));
	word(FRAME - 40, SMALL(56 - 1 + 8)); /* offset 8 */
}

/* A return to @pc. */
static inline struct bf_walk at_pc(uint64_t pc)
{
	return (struct bf_walk){.pc = pc,
				.sp = AT(STACK),
				.fp = AT(FRAME),
				.built_in = pc - AT(GENERATED) < GENERATED_BYTES};
}

#endif
