/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * made_luajit: memory of LuaJIT made by hand: app.lua sorts, in C, by a function that calls a
 * variadic one, which calls a leaf; that may be in C again. Two activations of the interpreter, of
 * one state.
 */
#ifndef TESTS_MADE_LUAJIT_H
#define TESTS_MADE_LUAJIT_H

#include "runtimes/luajit.h"
#include "tests/unit/made_machine.h"

static struct made_memory memory;

#define AT(offset) (MADE_START + (offset))

/* Where things are. */
enum {
	GLOBAL = 0x1000,
	STATE = 0x2100,
	OTHER_STATE = 0x2200,
	STACK = 0x2400,
	LIMIT = 0x2c00,
	FUNCTIONS = 0x3000,  /* 0x40 each */
	PROTOTYPES = 0x3400, /* 0x100 each */
	LINES = 0x4000,	     /* 0x40 each */
	CHUNK = 0x4400,
	AREA = 0x6000, /* of traces */
	IN_AREA = 0x60c0,
	AREA_END = 0x7000,
	INNER = 0x8000, /* C frames of the interpreter */
	OUTER = 0x8200,
	CFRAME = 80,
};
#define IN_NATIVE   0x550000001000ULL /* where the inner one returns to */
#define BELOW_OUTER 0x550000002000ULL

enum { MAIN, COMPARE, MANY, LEAF, IN_LUA, SORT = IN_LUA, NAP, N_FUNCTIONS };
enum { N_INSTRUCTIONS = 16, CALLS = 9 /* the instruction of each that calls */ };

/* Bases of frames. */
enum {
	MAIN_BASE = STACK + 32,
	SORT_BASE = MAIN_BASE + 8 * (2 + 5),
	COMPARE_BASE = SORT_BASE + 64,
	MANY_CALL = COMPARE_BASE + 8 * (2 + 3),
	MANY_BASE = MANY_CALL + 48,
	LEAF_BASE = MANY_BASE + 8 * (2 + 1),
	NAP_BASE = LEAF_BASE + 8 * (2 + 2),
};
enum { C = 1, CONTINUES = 2, VARIADIC = 3, PROTECTED = 6 };

static struct runtime_facts facts;

static inline void make_facts(void)
{
	facts = (struct runtime_facts){.runtime = 8,
				       .version = LUAJIT(2, 1),
				       .generated = 0x5000,
				       .generated_size = 0x1000,
				       .offsets = {376, 3776}};
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

static inline uint32_t prototype(int i)
{
	return PROTOTYPES + 0x100 * i;
}

/* After the instruction @k of a function. */
static inline uint64_t place(int i, int k)
{
	return AT(prototype(i) + LUAJIT_PROTOTYPE + 4 * k + 4);
}


static inline void frame(uint32_t base, int i, uint64_t link)
{
	word(base - 16, AT(FUNCTIONS + 0x40 * i) | (uint64_t)0x1fff7 << 47);
	word(base - 8, link);
}

static inline void make_function(int i, uint32_t first_line, uint32_t a)
{
	uint32_t at = FUNCTIONS + 0x40 * i, own = prototype(i);

	memory.bytes[at + LUAJIT_TYPE] = LUAJIT_TYPE_FUNCTION;
	memory.bytes[at + 10] = i >= IN_LUA;
	if (i >= IN_LUA) {
		word(at + 32, AT(GLOBAL) + facts.offsets[LUAJIT_TRACE_BASE] - 16);
		return;
	}
	word(at + 32, AT(own + LUAJIT_PROTOTYPE));
	memory.bytes[own + LUAJIT_TYPE] = LUAJIT_TYPE_PROTOTYPE;
	number(own + LUAJIT_N_INSTRUCTIONS, N_INSTRUCTIONS);
	word(own + LUAJIT_CHUNK, AT(CHUNK));
	number(own + LUAJIT_FIRST_LINE, first_line);
	number(own + LUAJIT_N_LINES, 4);
	word(own + LUAJIT_LINES, AT(LINES + 0x40 * i));
	for (int k = 0; k < N_INSTRUCTIONS; k++) {
		number(own + LUAJIT_PROTOTYPE + 4 * k, k == CALLS ? a << 8 : 40 << 8);
		memory.bytes[LINES + 0x40 * i + k] = k / 5;
	}
}

static inline void make_cframe(uint32_t at, uint64_t previous, uint64_t returns)
{
	number(at + 8, 1);
	word(at + 16, AT(STATE));
	word(at + 24, AT(STATE));
	word(at + 32, previous);
	word(at + 64, AT(at) + 0x100);
	word(at + 72, returns);
}

static inline void make_state(uint32_t at, uint32_t base, uint32_t cframe)
{
	memory.bytes[at + LUAJIT_TYPE] = LUAJIT_TYPE_STATE;
	word(at + 16, AT(GLOBAL));
	word(at + 32, AT(base));
	word(at + 48, AT(LIMIT));
	word(at + 56, AT(STACK));
	word(at + 80, AT(cframe));
}

static inline void make_chunk(const char *text)
{
	memory.bytes[CHUNK + LUAJIT_TYPE] = LUAJIT_TYPE_STRING;
	number(CHUNK + LUAJIT_STRING_HASH, 0x12345678);
	number(CHUNK + LUAJIT_STRING_LENGTH, strlen(text));
	memcpy(memory.bytes + CHUNK + LUAJIT_STRING_VALUE, text, strlen(text));
}

static inline void make(void)
{
	static const uint32_t first_lines[] = {0, 3, 7, 12}, a[] = {5, 3, 1, 2};

	memset(memory.bytes, 0, sizeof memory.bytes);
	for (int i = 0; i < N_FUNCTIONS; i++)
		make_function(i, i < IN_LUA ? first_lines[i] : 0, i < IN_LUA ? a[i] : 0);
	make_chunk("@/lib/app.lua");
	word(GLOBAL + facts.offsets[LUAJIT_AREAS], AT(AREA));
	word(AREA + 8, AREA_END - AREA);
	make_state(STATE, NAP_BASE, INNER);
	make_cframe(INNER, AT(OUTER), IN_NATIVE);
	make_cframe(OUTER, 0, BELOW_OUTER);
	frame(MAIN_BASE, MAIN, 16 | C);
	frame(SORT_BASE, SORT, place(MAIN, CALLS));
	frame(COMPARE_BASE, COMPARE, (COMPARE_BASE - SORT_BASE) | C);
	frame(MANY_CALL, MANY, place(COMPARE, CALLS));
	frame(MANY_BASE, MANY, (MANY_BASE - MANY_CALL) | VARIADIC);
	frame(LEAF_BASE, LEAF, place(MANY, CALLS));
	frame(NAP_BASE, NAP, place(LEAF, CALLS));
}

/* A C function returns to the interpreter. */
static inline struct bf_walk in_native(void)
{
	return (struct bf_walk){
		.pc = AT(IN_AREA), .sp = AT(INNER), .fp = AT(STATE), .built_in = 1};
}

/* The interpreter runs the leaf; the state has an older frame. */
static inline struct bf_walk in_leaf(void)
{
	struct bf_walk walk = in_native();

	word(STATE + 32, AT(SORT_BASE));
	walk.exact = 1;
	walk.leaf[BF_REGISTER_DX] = AT(LEAF_BASE);
	walk.leaf[BF_REGISTER_BX] = place(LEAF, 11);
	return walk;
}

#endif
