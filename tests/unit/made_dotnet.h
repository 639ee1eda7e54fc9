/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * made_dotnet: memory of .NET made by hand: Space.Outer.Inner.second, compiled at run time, calls a
 * leaf of the same type, third; the library's Space.Outer.first, compiled ahead of time, calls
 * second, and native code calls that.
 */
#ifndef TESTS_MADE_DOTNET_H
#define TESTS_MADE_DOTNET_H

#include "runtimes/dotnet.h"
#include "tests/unit/made_machine.h"

static struct made_memory memory;

#define AT(offset) (MADE_START + (offset))

/* Where things are. */
enum {
	LEVELS = 0x0000, /* 0x800 each, the highest first */
	MAP_POINTER = 0x2800,
	FRAGMENTS = 0x2840, /* 0x40 each: of the heap, the library, stubs */
	SECTIONS = 0x2900,  /* likewise */
	HEAP = 0x2a00,
	MODULE = 0x2a80,   /* 0x400 bytes */
	COMPILED = 0x2f00, /* 0x200 bytes */
	BUCKETS = 0x3100,  /* 0x40 each: how many there are, and they */
	CHUNK = 0x3400,	   /* of methods of the inner type: their descriptors follow, 0x40 each */
	OUTER_CHUNK = 0x3580,
	TYPES = 0x3600, /* 0x40 each, outer and inner */
	CLASSES = 0x3700,
	STARTS = 0x3800,
	NAME = 0x3a00,
	IMAGE = 0x4000,
	TEXTS = 0x4500,
	CODE = 0x8000, /* the heap's section */
	CODE_END = 0xa000,
	HEADERS = 0x9000, /* 0x80 each */
	UNWIND = 0x9800,  /* 0x40 each */
	LIBRARY = 0xb000, /* its section */
	LIBRARY_END = 0xc000,
	FUNCTIONS = 0xb800,
	LIBRARY_UNWIND = 0xb900,
	STUBS = 0xc000,
	STACK = 0xe000,
};
#define NATIVE 0x550000001000ULL

/* Code. */
enum {
	SECOND = CODE + 0x124,
	HANDLER = CODE + 0x180, /* of exceptions in second */
	THIRD = CODE + 0x204,	/* longer than a unit of starts */
	STUB = CODE + 0x600,
	FIRST = LIBRARY + 0x100,
	FIRST_END = LIBRARY + 0x180,
	FINALLY = LIBRARY + 0x200, /* of first */
};

enum { METHOD_FIRST, METHOD_SECOND, METHOD_THIRD, METHOD_MADE, N_METHODS };
enum { OUTER, INNER };

static struct runtime_facts facts;

static inline void word(uint32_t at, uint64_t value)
{
	made_word(&memory, AT(at), value);
}

static inline void number(uint32_t at, uint32_t value)
{
	made_number(&memory, AT(at), value);
}

static inline void bytes(uint32_t at, const char *from, uint32_t n)
{
	memcpy(memory.bytes + at, from, n);
}

static inline struct runtime_memory reading(void)
{
	return (struct runtime_memory){made_read, &memory, MADE_START};
}

static inline uint32_t method(int i)
{
	uint32_t chunk = i == METHOD_FIRST ? OUTER_CHUNK : CHUNK - 0x40;

	return chunk + facts.offsets[CHUNK_SIZE] + 0x40 * i;
}

static inline void make_facts(uint32_t major)
{
	facts = (struct runtime_facts){.runtime = 9, .version = major << 8};
	dotnet_use_table(MAP_POINTER, &facts);
	if (major == 9)
		return;
	facts.offsets[DOTNET_MAP] = LEVELS + 0x800; /* 0 is none */
	facts.offsets[DOTNET_MAP_IS_POINTER] = 0;
}

static inline void make_section(int i, uint32_t begin, uint32_t end, uint32_t flags)
{
	const uint32_t *o = facts.offsets;
	uint32_t fragment = FRAGMENTS + 0x40 * i, section = SECTIONS + 0x40 * i;

	word(fragment + o[FRAGMENT_BEGIN], AT(begin));
	word(fragment + o[FRAGMENT_END], AT(end));
	word(fragment + o[FRAGMENT_SECTION], AT(section));
	word(fragment + o[FRAGMENT_NEXT], i < 2 ? AT(fragment + 0x40) | 1 : 0);
	word(section + o[SECTION_BEGIN], AT(begin));
	word(section + o[SECTION_END], AT(end));
	number(section + o[SECTION_FLAGS], flags);
}

static inline void make_map(void)
{
	uint32_t levels = facts.version >> 8 == 9 ? LEVELS : LEVELS + 0x800;

	/* The lowest two levels are the same where that makes no difference. */
	for (int level = DOTNET_LEVELS - 1; level >= 0; level--) {
		uint32_t i = MADE_START >> (DOTNET_CHUNK_BITS + DOTNET_LEVEL_BITS * level) & 255;
		uint32_t at = levels + 0x800 * (DOTNET_LEVELS - 1 - level) % 0x2000;

		word(at + 8 * i, level ? AT(levels + 0x800 * (DOTNET_LEVELS - level) % 0x2000) | 1
				       : AT(FRAGMENTS) | 1);
	}
	word(MAP_POINTER, AT(levels));
}

/* A number for each unit of the heap's code. */
static inline void make_start(uint32_t at)
{
	uint32_t distance = at - CODE, unit = STARTS + distance / DOTNET_UNIT_BYTES * 4, value;

	memcpy(&value, memory.bytes + unit, 4);
	value |= (distance % DOTNET_BUCKET_BYTES / 4 + 1)
		 << (28 - distance % DOTNET_UNIT_BYTES / DOTNET_BUCKET_BYTES * 4);
	number(unit, value);
}

static inline void make_code(uint32_t at, int i, uint32_t end)
{
	uint32_t header = HEADERS + 0x80 * i;

	make_start(at);
	word(at - 8, AT(header));
	word(header + facts.offsets[HEADER_METHOD], AT(method(i)));
	number(header + facts.offsets[HEADER_N], 1);
	number(header + facts.offsets[HEADER_FUNCTIONS], at - CODE);
	number(header + facts.offsets[HEADER_FUNCTIONS] + 4, end - CODE);
	number(header + facts.offsets[HEADER_FUNCTIONS] + 8, UNWIND + 0x40 * i - CODE);
}

/* A method's second function. */
static inline void make_handler(int i, uint32_t at, uint32_t end, uint32_t unwind)
{
	uint32_t header = HEADERS + 0x80 * i, own = header + facts.offsets[HEADER_FUNCTIONS] + 12;

	number(header + facts.offsets[HEADER_N], 2);
	number(own, at - CODE);
	number(own + 4, end - CODE);
	number(own + 8, unwind - CODE);
}

static inline void make_method(int i, int type, uint32_t token, uint32_t kind)
{
	const uint32_t *o = facts.offsets;

	memory.bytes[method(i) + o[METHOD_TOKEN]] = token;
	memory.bytes[method(i) + o[METHOD_INDEX]] = i ? 0x40 * (i - 1) / 8 : 0;
	memory.bytes[method(i) + o[METHOD_SLOT]] = 7 + i;
	memory.bytes[method(i) + o[METHOD_FLAGS]] = kind;
	word(TYPES + 0x40 * type + o[TYPE_MODULE], AT(MODULE));
	word(TYPES + 0x40 * type + o[TYPE_CLASS], AT(CLASSES + 0x40 * type));
	number(TYPES + 0x40 * type + o[TYPE_TOKEN], (2 + type) << 8 | 0x40);
	word(CLASSES + 0x40 * type + o[CLASS_TYPE], AT(TYPES + 0x40 * type));
	word((i ? CHUNK : OUTER_CHUNK) + o[CHUNK_TYPE], AT(TYPES + 0x40 * type));
}

/* An assembly with two types and three methods; @is_file: it is not as it is to be in memory. */
static inline void make_image(bool is_file)
{
	static const char texts[] =
		"\0<Module>\0Outer\0Space\0Inner\0first\0second\0third\0made.dll";
	enum {
		MODULE_TYPE = 1,
		IS_OUTER = 10,
		IS_SPACE = 16,
		IS_INNER = 22,
		IS_FIRST = 28,
		IS_SECOND = 34,
		IS_THIRD = 41,
		IS_FILE = 47
	};
	const uint16_t tables[] =
		{
			0, IS_FILE, 0,		 0,	   0,		    /* the module */
			0, 0,	    MODULE_TYPE, 0,	   0,	      1, 1, /* its own type … */
			0, 0,	    IS_OUTER,	 IS_SPACE, 0,	      1, 1, /* … has no methods */
			0, 0,	    IS_INNER,	 0,	   0,	      1, 2, 0, 0,
			0, 0,	    IS_FIRST,	 0,	   1, /* methods */
			0, 0,	    0,		 0,	   IS_SECOND, 0, 1, 0, 0,
			0, 0,	    IS_THIRD,	 0,	   1,	      3, 2, /* Inner is in Outer */
		};
	uint32_t moved = is_file ? 0x2000 : 0, root = IMAGE + 0x280, at = root + 0x80;

	memset(memory.bytes + IMAGE, 0, 0x1000);
	bytes(IMAGE, "MZ", 2);
	number(IMAGE + 0x3c, 0x80);
	bytes(IMAGE + 0x80, "PE\0", 4);
	number(IMAGE + 0x80 + 8, 0x12345678); /* when it was built */
	memory.bytes[IMAGE + 0x80 + 6] = 1;
	number(IMAGE + 0x80 + 20, 0xe0);
	number(IMAGE + 0x80 + 24, 0x10b);
	number(IMAGE + 0x80 + 24 + 96 + 8 * 14, 0x200 + moved);
	number(IMAGE + 0x80 + 24 + 0xe0 + 8, 0x800);
	number(IMAGE + 0x80 + 24 + 0xe0 + 12, 0x200 + moved);
	number(IMAGE + 0x80 + 24 + 0xe0 + 16, 0x800);
	number(IMAGE + 0x80 + 24 + 0xe0 + 20, 0x200);
	number(IMAGE + 0x200 + 8, 0x280 + moved);
	number(IMAGE + 0x200 + 12, 0x500);
	number(root, 0x424a5342);
	number(root + 12, 12);
	number(root + 16 + 12, 2 << 16);
	number(root + 32, 0x80);
	number(root + 36, 0x100);
	bytes(root + 40, "#~", 3);
	number(root + 44, 0x280);
	number(root + 48, sizeof texts);
	bytes(root + 52, "#Strings", 9);
	bytes(root + 0x280, texts, sizeof texts);
	word(at + 8, 1ull << 0x00 | 1ull << 0x02 | 1ull << 0x06 | 1ull << 0x29);
	number(at + 24, 1);
	number(at + 28, 3);
	number(at + 32, 3);
	number(at + 36, 1);
	memcpy(memory.bytes + at + 40, tables, sizeof tables);
}

static inline void make_library(void)
{
	const uint32_t *o = facts.offsets;

	word(MODULE + o[MODULE_BASE], AT(IMAGE));
	word(MODULE + o[MODULE_COMPILED], AT(COMPILED));
	word(COMPILED + o[COMPILED_WHOLE], AT(COMPILED));
	word(COMPILED + o[COMPILED_FUNCTIONS], AT(FUNCTIONS));
	number(COMPILED + o[COMPILED_N], 4);
	for (int i = 0; i < 4; i++) {
		static const uint32_t functions[4][2] = {
			{0x40, 0x80},
			{FIRST - LIBRARY, FIRST_END - LIBRARY},
			{FINALLY - LIBRARY, FINALLY - LIBRARY + 0x40},
			{0x400, 0x440}};

		number(FUNCTIONS + 12 * i, functions[i][0]);
		number(FUNCTIONS + 12 * i + 4, functions[i][1]);
		number(FUNCTIONS + 12 * i + 8, LIBRARY_UNWIND - LIBRARY + 0x40 * i);
	}
	word(COMPILED + o[COMPILED_METHODS] + o[HASH_BUCKETS], AT(BUCKETS));
	number(BUCKETS, 3);
	for (uint32_t i = 0; i < 3; i++) /* the first one is full */
		if (i == (uint32_t)(AT(FIRST) >> 2) % 3)
			for (int k = 0; k < 4; k++) {
				word(BUCKETS + 0x40 * (1 + i) + 8 * k, 0x1234 + k);
				word(BUCKETS + 0x40 * (1 + i) + 32 + 8 * k, 1ull << 63);
			}
	{
		uint32_t step = 1 + ((uint32_t)(AT(FIRST) >> 5) + 1) % 2;
		uint32_t next = ((uint32_t)(AT(FIRST) >> 2) + step) % 3;

		word(BUCKETS + 0x40 * (1 + next) + 8, AT(FIRST));
		word(BUCKETS + 0x40 * (1 + next) + 32 + 8, AT(method(METHOD_FIRST)) >> 1);
	}
}

/* The stack of the leaf, third, whose frame has 0x20 bytes and two registers. */
#define THIRD_CODES "\x19\x06\x03\x00\x06\x32\x02\x30\x01\x50"
enum {
	LEAF_SP = STACK,
	LEAF_RETURN = STACK + 0x20 + 8 + 8,
	SECOND_RETURN = LEAF_RETURN + 8 + 0x100 + 8,
	FIRST_RETURN = SECOND_RETURN + 8 + 0x28,
};

static inline void make_stack(void)
{
	bytes(UNWIND + 0x40 * METHOD_THIRD, THIRD_CODES, 10);
	/* push %rbp; sub $0x100,%rsp; lea 0x40(%rsp),%rbp, which is its frame pointer */
	bytes(UNWIND + 0x40 * METHOD_SECOND, "\x01\x0d\x04\x45\x0d\x03\x08\x01\x20\x00\x01\x50",
	      12);
	/* sub $0x28,%rsp */
	bytes(LIBRARY_UNWIND + 0x40, "\x19\x04\x01\x00\x04\x42", 6);
	/* push %rbx */
	bytes(LIBRARY_UNWIND + 0x80, "\x19\x01\x01\x00\x01\x30", 6);
	word(LEAF_RETURN - 8, AT(LEAF_RETURN + 8 + 0x40)); /* second's frame pointer */
	word(LEAF_RETURN, AT(SECOND + 0x20));
	word(SECOND_RETURN - 8, 0x7788);
	word(SECOND_RETURN, AT(FIRST + 0x40));
	word(FIRST_RETURN, NATIVE);
}

static inline void make(void)
{
	memset(&memory, 0, sizeof memory);
	make_map();
	make_section(0, CODE, CODE_END, 2);
	make_section(1, LIBRARY, LIBRARY_END, 0);
	make_section(2, STUBS, STUBS + 0x1000, DOTNET_STUBS);
	word(SECTIONS + facts.offsets[SECTION_HEAP], AT(HEAP));
	word(SECTIONS + 0x40 + facts.offsets[SECTION_MODULE], AT(MODULE));
	word(HEAP + facts.offsets[HEAP_BASE], AT(CODE));
	word(HEAP + facts.offsets[HEAP_STARTS], AT(STARTS));
	make_method(METHOD_FIRST, OUTER, 1, 0);
	make_method(METHOD_SECOND, INNER, 2, 0);
	make_method(METHOD_THIRD, INNER, 3, 0);
	make_code(SECOND, METHOD_SECOND, HANDLER);
	make_code(THIRD, METHOD_THIRD, STUB - 0x20);
	make_handler(METHOD_SECOND, HANDLER, HANDLER + 0x40, UNWIND + 0x100);
	make_start(STUB);
	word(STUB - 8, 6);
	make_image(false);
	make_library();
	make_stack();
}

static inline struct bf_walk in_leaf(uint32_t pc)
{
	return (struct bf_walk){
		.pc = AT(pc), .sp = AT(LEAF_SP), .fp = 0x1122, .exact = 1, .is_leaf = 1};
}

#endif
