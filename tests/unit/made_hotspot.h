/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * made_hotspot: a heap of code of HotSpot 17 in memory made by hand: one compiled method, outer(),
 * which is at a call in inner(), inlined into it, and the stack of a thread that is there.
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
	BLOB = SEGMENTS + 16,
	CODE = 0x4200,
	PCS = 0x4300,
	METADATA = 0x4380,
	SEGMENTS_END = 0x6000,
	STACK = 0x8000,
};
enum { CALL = 0x20, FRAME = 32, CALLER = 0x123456, COMPILE_ID = 77 };

static const struct runtime_facts facts = {
	.runtime = 4, /* row of user/runtimes/runtime.c */
	.version = HOTSPOT(17),
	.offsets = {[CACHE_HEAPS] = HEAPS,     [ARRAY_DATA] = 8,	 [HEAP_MEMORY] = 8,
		    [HEAP_MAP] = 120,	       [HEAP_SHIFT] = 256,	 [SPACE_LOW] = 16,
		    [SPACE_HIGH] = 24,	       [BLOCK_SIZE] = 16,	 [BLOB_NAME] = 96,
		    [BLOB_FRAME_SIZE] = 28,    [BLOB_COMPLETE] = 20,	 [BLOB_CODE] = 32,
		    [COMPILED_ID] = 304,       [COMPILED_METHOD] = 112,	 [COMPILED_STATE] = 315,
		    [COMPILED_PCS] = 268,      [COMPILED_PCS_END] = 272, [COMPILED_SCOPES] = 120,
		    [COMPILED_METADATA] = 260, [PC_DESC_SIZE] = 16,	 [METHOD_CONST] = 8,
		    [CONST_POOL] = 8,	       [CONST_WORDS] = 24,	 [CONST_CODE_SIZE] = 32,
		    [CONST_NAME] = 34,	       [CONST_FLAGS] = 28,	 [CONST_SIZE] = 48,
		    [POOL_CLASS] = 24,	       [POOL_SOURCE] = 54,	 [POOL_LENGTH] = 60,
		    [POOL_SIZE] = 72,	       [CLASS_NAME] = 24,	 [SYMBOL_HASH] = 0,
		    [SYMBOL_LENGTH] = 4,       [SYMBOL_BODY] = 6},
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
	word(POOL + 72 + 8 * i, AT(at));
}

/* A method with 10 bytes of code and lines 40 and, from 4 on, 43. */
static inline void method(uint32_t at, uint32_t name)
{
	static const uint8_t lines[] = {0xff, 0, 80, 4 << 3 | 3, 0};
	uint32_t constant = at + 0x40;

	word(at + 8, AT(constant));
	word(constant + 8, AT(POOL));
	number(constant + 24, 9);
	number(constant + 28, 1);
	short_number(constant + 32, 10);
	short_number(constant + 34, name);
	bytes(constant + 48 + 10, lines, sizeof lines);
}

static inline void make_heap(void)
{
	word(HEAPS, AT(0x40));
	number(0x40, 1);
	word(0x48, AT(0x60));
	word(0x60, AT(HEAP));
	word(HEAP + 24, AT(SEGMENTS));
	word(HEAP + 32, AT(SEGMENTS_END));
	word(HEAP + 136, AT(MAP));
	number(HEAP + 256, 7);
	memset(memory.bytes + MAP, 255, (SEGMENTS_END - SEGMENTS) / 128);
	for (int i = 0; i < 8; i++)
		memory.bytes[MAP + i] = i;
}

static inline void make_blob(void)
{
	static const uint8_t scopes[] = {0, 1, 6, 0, 0, 0, 0, 0, 8, 2, 3};

	bytes(NAME, "nmethod", 8);
	word(BLOB + 96, AT(NAME));
	number(BLOB + 28, FRAME / 8);
	word(BLOB + 32, AT(CODE));
	number(BLOB + 304, COMPILE_ID);
	word(BLOB + 112, AT(OUTER));
	number(BLOB + 268, PCS - BLOB);
	number(BLOB + 272, PCS + 32 - BLOB);
	word(BLOB + 120, AT(SCOPES));
	number(BLOB + 260, METADATA - BLOB);
	number(PCS, 0x10);
	number(PCS + 4, 8);
	number(PCS + 16, CALL);
	number(PCS + 20, 16);
	bytes(SCOPES + 8, scopes, sizeof scopes);
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
	word(POOL + 24, AT(CLASS));
	short_number(POOL + 54, 3);
	number(POOL + 60, 5);
	word(CLASS + 24, AT(SYMBOLS + 64 * 4));
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
