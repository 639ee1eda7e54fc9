/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * made_hotspot: a heap of code of HotSpot in memory made by hand, as the version of facts has it:
 * one compiled method, outer(), which is at a call in inner(), inlined into it, and the stack of a
 * thread that is there.
 */
#ifndef TESTS_MADE_HOTSPOT_H
#define TESTS_MADE_HOTSPOT_H

#include "runtimes/hotspot.h"
#include "tests/unit/made_machine.h"

static struct made_memory memory;

#define AT(offset) (MADE_START + (offset))

/* Where things are. */
enum {
	HEAPS = 0x10,
	HEAP = 0x100,
	MAP = 0x1000,
	NAME = 0x1100,
	SCOPES = 0x2000,
	OUTER = 0x3000,
	INNER = 0x3100,
	POOL = 0x3500,
	CLASS = 0x3700,
	SYMBOLS = 0x3800,
	SEGMENTS = 0x4000,
	CODE = 0x4200,
	PCS = 0x4300,
	METADATA = 0x4380,
	SEGMENTS_END = 0x6000,
	STACK = 0x8000,
};
enum { CALL = 0x20, FRAME = 32, CALLER = 0x123456, COMPILE_ID = 77 };

/* What libjvm.so of Debian says; CACHE_HEAPS is this memory's. */
static const struct runtime_facts made_facts[] = {
	{
		.runtime = 4, /* row of user/runtimes/runtime.c */
		.version = HOTSPOT(17),
		.offsets = {[CACHE_HEAPS] = HEAPS,     [ARRAY_DATA] = 8,
			    [HEAP_MEMORY] = 8,	       [HEAP_MAP] = 120,
			    [HEAP_SHIFT] = 256,	       [SPACE_LOW] = 16,
			    [SPACE_HIGH] = 24,	       [BLOCK_SIZE] = 16,
			    [BLOB_NAME] = 96,	       [BLOB_FRAME_SIZE] = 28,
			    [BLOB_COMPLETE] = 20,      [BLOB_CODE] = 32,
			    [COMPILED_ID] = 304,       [COMPILED_METHOD] = 112,
			    [COMPILED_STATE] = 315,    [COMPILED_PCS] = 268,
			    [COMPILED_PCS_END] = 272,  [COMPILED_SCOPES] = 120,
			    [COMPILED_METADATA] = 260, [PC_DESC_SIZE] = 16,
			    [METHOD_CONST] = 8,	       [CONST_POOL] = 8,
			    [CONST_WORDS] = 24,	       [CONST_CODE_SIZE] = 32,
			    [CONST_NAME] = 34,	       [CONST_FLAGS] = 28,
			    [CONST_SIZE] = 48,	       [POOL_CLASS] = 24,
			    [POOL_SOURCE] = 54,	       [POOL_LENGTH] = 60,
			    [POOL_SIZE] = 72,	       [CLASS_NAME] = 24,
			    [SYMBOL_HASH] = 0,	       [SYMBOL_LENGTH] = 4,
			    [SYMBOL_BODY] = 6},
	},
	{
		.runtime = 4,
		.version = HOTSPOT(21),
		.offsets = {[CACHE_HEAPS] = HEAPS,     [ARRAY_DATA] = 8,
			    [HEAP_MEMORY] = 0,	       [HEAP_MAP] = 112,
			    [HEAP_SHIFT] = 248,	       [SPACE_LOW] = 16,
			    [SPACE_HIGH] = 24,	       [BLOCK_SIZE] = 16,
			    [BLOB_NAME] = 64,	       [BLOB_FRAME_SIZE] = 88,
			    [BLOB_COMPLETE] = 80,      [BLOB_CODE] = 8,
			    [COMPILED_ID] = 308,       [COMPILED_METHOD] = 112,
			    [COMPILED_STATE] = 332,    [COMPILED_PCS] = 276,
			    [COMPILED_PCS_END] = 280,  [COMPILED_SCOPES] = 120,
			    [COMPILED_METADATA] = 268, [PC_DESC_SIZE] = 16,
			    [METHOD_CONST] = 8,	       [CONST_POOL] = 8,
			    [CONST_WORDS] = 24,	       [CONST_CODE_SIZE] = 34,
			    [CONST_NAME] = 36,	       [CONST_FLAGS] = 28,
			    [CONST_SIZE] = 56,	       [POOL_CLASS] = 24,
			    [POOL_SOURCE] = 54,	       [POOL_LENGTH] = 60,
			    [POOL_SIZE] = 72,	       [CLASS_NAME] = 24,
			    [SYMBOL_HASH] = 0,	       [SYMBOL_LENGTH] = 4,
			    [SYMBOL_BODY] = 6},
	},
	{
		.runtime = 4,
		.version = HOTSPOT(25),
		.offsets = {[CACHE_HEAPS] = HEAPS,
			    [ARRAY_DATA] = 8,
			    [HEAP_MEMORY] = 0,
			    [HEAP_MAP] = 112,
			    [HEAP_SHIFT] = 248,
			    [SPACE_LOW] = 16,
			    [SPACE_HIGH] = 24,
			    [BLOCK_SIZE] = 8,
			    [BLOB_NAME] = 8,
			    [BLOB_FRAME_SIZE] = 44,
			    [BLOB_COMPLETE] = 54,
			    [BLOB_CODE_OFFSET] = 36,
			    [COMPILED_ID] = 212,
			    [COMPILED_METHOD] = 80,
			    [COMPILED_STATE] = 219,
			    [COMPILED_PCS] = 196,
			    [COMPILED_SCOPES_OFFSET] = 200,
			    [COMPILED_TABLES] = 96,
			    [COMPILED_TABLES_SIZE] = 160,
			    [COMPILED_MUTABLE] = 16,
			    [COMPILED_RELOCATIONS] = 28,
			    [PC_DESC_SIZE] = 16,
			    [METHOD_CONST] = 8,
			    [CONST_POOL] = 8,
			    [CONST_WORDS] = 24,
			    [CONST_CODE_SIZE] = 34,
			    [CONST_NAME] = 36,
			    [CONST_FLAGS] = 28,
			    [CONST_SIZE] = 56,
			    [POOL_CLASS] = 24,
			    [POOL_SOURCE] = 62,
			    [POOL_LENGTH] = 68,
			    [POOL_SIZE] = 80,
			    [CLASS_NAME] = 24,
			    [SYMBOL_HASH] = 0,
			    [SYMBOL_LENGTH] = 4,
			    [SYMBOL_BODY] = 6},
	},
};
#define N_MADE_FACTS (sizeof made_facts / sizeof *made_facts)

/* Those in use, set by the test: make() goes by them. */
static struct runtime_facts facts;
#define OFFSET(name) (facts.offsets[name])
#define BLOB	     (SEGMENTS + OFFSET(BLOCK_SIZE))

static inline bool facts_are(uint32_t major)
{
	return facts.version >= HOTSPOT(major);
}

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

static inline void bytes(uint32_t at, const void *from, size_t n)
{
	memcpy(memory.bytes + at, from, n);
}

static inline void short_number(uint32_t at, uint16_t value)
{
	bytes(at, &value, sizeof value);
}

/* The @i'th value of the pool is a name. */
static inline void symbol(uint32_t i, const char *text)
{
	uint32_t at = SYMBOLS + 64 * i;

	number(at, (0x1111 * i) << 16 | 5);
	short_number(at + 4, strlen(text));
	bytes(at + 6, text, strlen(text));
	word(POOL + OFFSET(POOL_SIZE) + 8 * i, AT(at));
}

/* Writes @n numbers below 63, compressed. */
static inline void numbers(uint32_t at, const uint8_t *from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		memory.bytes[at + i] = from[i] + facts_are(20);
}

/* A method with 10 bytes of code and lines 40 and, from 4 on, 43. */
static inline void method(uint32_t at, uint32_t name)
{
	static const uint8_t first[] = {0, 2 * 40}, escape = 0xff, rest[] = {4 << 3 | 3, 0};
	uint32_t constant = at + 0x40, lines = constant + OFFSET(CONST_SIZE) + 10;

	word(at + OFFSET(METHOD_CONST), AT(constant));
	word(constant + OFFSET(CONST_POOL), AT(POOL));
	number(constant + OFFSET(CONST_WORDS), 10);
	number(constant + OFFSET(CONST_FLAGS), 1);
	short_number(constant + OFFSET(CONST_CODE_SIZE), 10);
	short_number(constant + OFFSET(CONST_NAME), name);
	bytes(lines, &escape, 1);
	numbers(lines + 1, first, sizeof first);
	bytes(lines + 3, rest, sizeof rest);
}

static inline void make_heap(void)
{
	word(HEAPS, AT(0x40));
	number(0x40, 1);
	word(0x40 + OFFSET(ARRAY_DATA), AT(0x60));
	word(0x60, AT(HEAP));
	word(HEAP + OFFSET(HEAP_MEMORY) + OFFSET(SPACE_LOW), AT(SEGMENTS));
	word(HEAP + OFFSET(HEAP_MEMORY) + OFFSET(SPACE_HIGH), AT(SEGMENTS_END));
	word(HEAP + OFFSET(HEAP_MAP) + OFFSET(SPACE_LOW), AT(MAP));
	number(HEAP + OFFSET(HEAP_SHIFT), 7);
	memset(memory.bytes + MAP, 255, (SEGMENTS_END - SEGMENTS) / 128);
	for (int i = 0; i < 8; i++)
		memory.bytes[MAP + i] = i;
}

/* Where the tables of the compiled method are. */
static inline void make_tables(void)
{
	if (!facts_are(23)) {
		number(BLOB + OFFSET(COMPILED_PCS), PCS - BLOB);
		number(BLOB + OFFSET(COMPILED_PCS_END), PCS + 32 - BLOB);
		word(BLOB + OFFSET(COMPILED_SCOPES), AT(SCOPES));
		number(BLOB + OFFSET(COMPILED_METADATA), METADATA - BLOB);
		return;
	}
	word(BLOB + OFFSET(COMPILED_TABLES), AT(SCOPES - 8));
	number(BLOB + OFFSET(COMPILED_TABLES_SIZE), PCS + 32 - SCOPES + 8);
	number(BLOB + OFFSET(COMPILED_SCOPES_OFFSET), 8);
	number(BLOB + OFFSET(COMPILED_PCS), PCS - SCOPES + 8);
	word(BLOB + OFFSET(COMPILED_MUTABLE), AT(METADATA - 16));
	number(BLOB + OFFSET(COMPILED_RELOCATIONS), 16);
}

static inline void make_blob(void)
{
	static const uint8_t outer[] = {0, 1, 6}, inner[] = {8, 2, 3};

	bytes(NAME, "nmethod", 8);
	word(BLOB + OFFSET(BLOB_NAME), AT(NAME));
	number(BLOB + OFFSET(BLOB_FRAME_SIZE), FRAME / 8);
	if (facts_are(23))
		number(BLOB + OFFSET(BLOB_CODE_OFFSET), CODE - BLOB);
	else
		word(BLOB + OFFSET(BLOB_CODE), AT(CODE));
	number(BLOB + OFFSET(COMPILED_ID), COMPILE_ID);
	word(BLOB + OFFSET(COMPILED_METHOD), AT(OUTER));
	make_tables();
	number(PCS, 0x10);
	number(PCS + 4, 8);
	number(PCS + 16, CALL);
	number(PCS + 20, 16);
	numbers(SCOPES + 8, outer, sizeof outer);
	numbers(SCOPES + 16, inner, sizeof inner);
	word(METADATA, AT(OUTER));
	word(METADATA + 8, AT(INNER));
}

static inline void make(void)
{
	memset(&memory, 0, sizeof memory);
	make_heap();
	make_blob();
	symbol(1, "outer");
	symbol(2, "inner");
	symbol(3, "B.java");
	symbol(4, "a/B");
	word(POOL + OFFSET(POOL_CLASS), AT(CLASS));
	short_number(POOL + OFFSET(POOL_SOURCE), 3);
	number(POOL + OFFSET(POOL_LENGTH), 5);
	word(CLASS + OFFSET(CLASS_NAME), AT(SYMBOLS + 64 * 4));
	method(OUTER, 1);
	method(INNER, 2);
	word(STACK + FRAME - 8, CALLER);
	word(STACK + FRAME - 16, 0x777);
}

static inline struct bf_walk at_call(void)
{
	return (struct bf_walk){.pc = AT(CODE + CALL), .sp = AT(STACK), .fp = 1};
}

#endif
