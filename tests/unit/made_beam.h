/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * made_beam: memory of BEAM made by hand: two modules, two schedulers, and a process that the
 * second one runs: sort:merge/3 was called by a fun of app:run/2, which process_main runs.
 */
#ifndef TESTS_MADE_BEAM_H
#define TESTS_MADE_BEAM_H

#include "runtimes/beam.h"
#include "tests/unit/made_machine.h"

static struct made_memory memory;

#define AT(offset) (MADE_START + (offset))

/* Where things are. */
enum {
	/* Of the file. */
	ACTIVE = 0x104,
	RANGES = 0x110,
	ATOM_TABLE = 0x200,
	SCHEDULERS = 0x2c0,
	N_SCHEDULERS = 0x2c8,
	EXIT = 0x2d0,
	PROCESS_MAIN = 0x400,
	NATIVE = 0x480, /* calls process_main */
	/* Of the process. */
	FIRST_SCHEDULER = 0x1000,
	PROCESS = 0x2000,
	HEAP_TOP = 0x2400,
	STACK = 0x2500, /* of the process */
	STACK_END = 0x2580,
	MODULES = 0x2600,
	APP = 0x3000, /* module: header, and code from +0x200 on */
	SORT = 0x3400,
	APP_END = 0x3400,
	SORT_END = 0x3800,
	CHECKSUMS = 0x3800,
	PIECE = 0x3900, /* of the table of atoms */
	ATOMS = 0x3a00, /* 0x40 each */
	TEXTS = 0x3c00, /* 0x40 each */
	LINES = 0x4000, /* tables, 0x100 for each module */
	FILE_NAME = 0x4200,
	OTHER_CODE = 0x60c0, /* generated, too, but of no module */
	THREAD = 0x8010,     /* its stack, as the scheduler has it */
};

/* Functions' headers, and places in their code. */
enum {
	RUN = APP + 0x200,
	FUN = APP + 0x280,
	MERGE = SORT + 0x200,
	IN_RUN = RUN + 0x40,
	IN_FUN = FUN + 0x48,
	IN_MERGE = MERGE + 0x44,
	CALL_BYTES_OF_NATIVE = 5,
	MADE_DEPTH = 3,
};
#define CALLER AT(NATIVE + CALL_BYTES_OF_NATIVE)

/* Atoms, by number. */
enum { ATOM_APP = 1, ATOM_SORT, ATOM_RUN, ATOM_FUN, ATOM_MERGE };

static struct runtime_facts facts;

static inline void make_facts(uint32_t release)
{
	facts = (struct runtime_facts){.runtime = 7, .version = release << 8};
	facts.offsets[BEAM_ACTIVE] = ACTIVE;
	facts.offsets[BEAM_RANGES] = RANGES;
	facts.offsets[BEAM_ATOMS] = ATOM_TABLE;
	facts.offsets[BEAM_SCHEDULERS] = SCHEDULERS;
	facts.offsets[BEAM_N_SCHEDULERS] = N_SCHEDULERS;
	facts.offsets[BEAM_EXIT] = EXIT;
	facts.offsets[BEAM_MAIN] = PROCESS_MAIN;
	beam_known_offsets(&facts);
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

static inline uint32_t scheduler(int i)
{
	return FIRST_SCHEDULER + facts.offsets[BEAM_SCHEDULER_SIZE] * i;
}

static inline uint64_t atom(uint32_t i)
{
	return i << 6 | 11;
}

static inline void make_atom(uint32_t i, const char *text)
{
	uint32_t at = ATOMS + 0x40 * i, bytes = TEXTS + 0x40 * i, term = bytes;

	word(PIECE + 8 * i, AT(at));
	number(at + 24, strlen(text));
	if (facts.offsets[BEAM_ATOM_IS_TERM] && i == ATOM_FUN) { /* as long ones are */
		bytes += 32;
		word(term, 4 << 6 | 0x24);
		word(term + 8, (AT(bytes) - 8) | 1);
		word(term + 16, 64);
	} else if (facts.offsets[BEAM_ATOM_IS_TERM]) {
		bytes += 16;
		word(term, 2 << 6 | 0x20);
		word(term + 8, 8 * strlen(text));
	}
	word(at + 32, facts.offsets[BEAM_ATOM_IS_TERM] ? AT(term) + 2 : AT(bytes));
	memcpy(memory.bytes + bytes, text, strlen(text));
}

static inline void make_function(uint32_t module, uint32_t i, uint32_t at, uint32_t module_name,
				 uint32_t name, uint32_t arity)
{
	word(module, i + 1);
	word(module + facts.offsets[BEAM_MODULE_FUNCTIONS] + 8 * i, AT(at));
	word(at + BEAM_FUNCTION_NAME, atom(module_name));
	word(at + BEAM_FUNCTION_NAME + 8, atom(name));
	word(at + BEAM_FUNCTION_NAME + 16, arity);
}

static inline void make_module(int i, uint32_t at, uint32_t end, uint64_t checksum)
{
	word(MODULES + 16 * i, AT(at));
	word(MODULES + 16 * i + 8, AT(end));
	word(at + facts.offsets[BEAM_MODULE_CHECKSUM], AT(CHECKSUMS + 16 * i));
	word(CHECKSUMS + 16 * i, checksum);
	word(at + BEAM_MODULE_LINES, AT(LINES + 0x100 * i));
}

/*
 * The lines of the @i'th module: for each of its @n functions two places, at @at[] and 0x20 before;
 * of them, @places[] are the line and its file.
 */
static inline void make_lines(int i, uint32_t n, const uint32_t *at, const uint32_t *places)
{
	uint32_t table = LINES + 0x100 * i, addresses = table + 0x80, numbers = table + 0xc0;

	word(table, AT(FILE_NAME));
	number(table + 8, 4);
	word(table + 16, AT(numbers));
	for (uint32_t k = 0; k <= n; k++)
		word(table + 24 + 8 * k, AT(addresses + 16 * k));
	for (uint32_t k = 0; k < n; k++) {
		word(addresses + 16 * k, AT(at[k] - 0x20));
		word(addresses + 16 * k + 8, AT(at[k] - 4));
		number(numbers + 8 * k, 1);
		number(numbers + 8 * k + 4, places[k]);
	}
}

/* A list of characters, the name of the first file that is not the module's own. */
static inline void make_file(const char *text)
{
	uint32_t at = FILE_NAME + 16;

	word(FILE_NAME, AT(at) + 1);
	for (; *text; text++, at += 16) {
		word(at, (uint64_t)*text << 4 | 15);
		word(at + 8, text[1] ? AT(at + 16) + 1 : 0x3b);
	}
}

static inline void make_modules(void)
{
	number(ACTIVE, 1);
	word(RANGES + 32, AT(MODULES));
	word(RANGES + 32 + 8, 2);
	word(ATOM_TABLE + 120, AT(ATOM_TABLE + 128));
	word(ATOM_TABLE + 128, AT(PIECE));
	make_atom(ATOM_APP, "app");
	make_atom(ATOM_SORT, "sort");
	make_atom(ATOM_RUN, "run");
	make_atom(ATOM_FUN, "-run/2-fun-0-");
	make_atom(ATOM_MERGE, "merge");
	make_module(0, APP, APP_END, 0x1111222233334444);
	make_module(1, SORT, SORT_END, 0x5555666677778888);
	make_function(APP, 0, RUN, ATOM_APP, ATOM_RUN, 2);
	make_function(APP, 1, FUN, ATOM_APP, ATOM_FUN, 1);
	make_function(SORT, 0, MERGE, ATOM_SORT, ATOM_MERGE, 3);
	make_lines(0, 2, (uint32_t[]){IN_RUN, IN_FUN}, (uint32_t[]){10, 12});
	make_lines(1, 1, (uint32_t[]){IN_MERGE}, (uint32_t[]){1 << 24 | 77});
	make_file("src/sort.yrl");
}

static inline void make_process(void)
{
	word(SCHEDULERS, AT(FIRST_SCHEDULER));
	word(N_SCHEDULERS, 2);
	word(scheduler(0), AT(THREAD) + (1 << 20));
	word(scheduler(1), AT(THREAD));
	word(scheduler(1) + facts.offsets[BEAM_SCHEDULER_PROCESS], AT(PROCESS));
	word(PROCESS + facts.offsets[BEAM_PROCESS_SCHEDULER], AT(scheduler(1)));
	word(PROCESS + BEAM_PROCESS_HEAP_TOP, AT(HEAP_TOP));
	word(PROCESS + BEAM_PROCESS_STACK, AT(STACK));
	word(PROCESS + facts.offsets[BEAM_PROCESS_STACK_END], AT(STACK_END));
	for (uint32_t at = STACK; at < STACK_END; at += 8)
		word(at, 0x3b);
	word(STACK + 8, AT(IN_MERGE));
	word(STACK + 16, AT(IN_MERGE) | 2); /* a term that looks alike */
	word(STACK + 32, AT(IN_FUN));
	word(STACK + 40, AT(HEAP_TOP)); /* an address of no code */
	word(STACK + 64, AT(IN_RUN));
	word(EXIT, AT(OTHER_CODE + 0x40));
	word(STACK_END - 8, AT(OTHER_CODE + 0x40));
}

/* process_main has frames of that many bytes, and 16 for each of @more. */
static inline void make_main(uint32_t more)
{
	uint8_t *code = memory.bytes + NATIVE;
	int32_t distance = PROCESS_MAIN - (NATIVE + CALL_BYTES_OF_NATIVE);

	code[0] = 0xe8;
	memcpy(code + 1, &distance, sizeof distance);
	word(THREAD + facts.offsets[BEAM_MAIN_FRAME] + 8 + 16 * more, CALLER);
}

static inline void make(void)
{
	memset(&memory, 0, sizeof memory);
	make_modules();
	make_process();
	make_main(0);
}

/* In C that generated code of no module has called. */
static inline struct bf_walk in_native(void)
{
	return (struct bf_walk){.pc = AT(OTHER_CODE), .sp = AT(THREAD) - 16, .fp = 8};
}

/* In generated code. */
static inline struct bf_walk in_leaf(uint32_t pc)
{
	struct bf_walk walk = {.pc = AT(pc), .sp = AT(STACK), .fp = 8, .exact = 1, .is_leaf = 1};

	walk.leaf[BF_REGISTER_R13] = AT(PROCESS);
	return walk;
}

#endif
