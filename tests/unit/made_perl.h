/* SPDX-License-Identifier: GPL-2.0-or-later */
/* made_perl: an interpreter of Perl in memory made by hand. */
#ifndef TESTS_MADE_PERL_H
#define TESTS_MADE_PERL_H

#include "runtimes/perl.h"
#include "tests/unit/made_runtime.h"

#define BIAS	    MADE_START
#define KEY	    0x800		  /* in the file */
#define FIRST	    0x808
#define TLS	    (MADE_START + 0x1000) /* of the thread */
#define INTERPRETER (MADE_START + 0x3000)
#define STACKS	    (MADE_START + 0x4000) /* 0x40 each */
#define CONTEXTS    (MADE_START + 0x5000) /* 0x400 for each stack */
#define FUNCTIONS   (MADE_START + 0x6000) /* value, body: 0x100 each */
#define GLOBS	    (MADE_START + 0x7000) /* the same */
#define PACKAGES    (MADE_START + 0x8000) /* the same, and names: 0x200 each */
#define WORDS	    (MADE_START + 0x9000) /* 0x40 each */
#define PLACES	    (MADE_START + 0xa000) /* 0x40 each */
#define FILES	    (MADE_START + 0xb000)

enum { MAIN = 1, MAGIC, SORT };
enum { NONE, BLOCK = 2, FUNCTION = 9, EVAL = 11, EVAL_BLOCK = 0x4b, REGEX = 0xc9 };

static struct made_runtime thread = {.bias = BIAS, .tls = TLS};

static inline void word(uint64_t address, uint64_t value)
{
	made_word(&thread.memory, address, value);
}

static inline void number(uint64_t address, uint32_t value)
{
	made_number(&thread.memory, address, value);
}

static inline uint64_t made_text(int i, const char *text)
{
	uint64_t at = WORDS + 0x40 * i;

	number(at, 0x9e3779b9 * (i + 1)); /* its hash */
	number(at + PERL_WORD_LENGTH, strlen(text));
	memcpy(thread.memory.bytes + (at + PERL_WORD_VALUE - MADE_START), text, strlen(text));
	return at;
}

static inline uint64_t made_place(int i, uint32_t line)
{
	uint64_t at = PLACES + 0x40 * i;

	number(at + PERL_PLACE_LINE, line);
	word(at + PERL_PLACE_FILE, FILES);
	return at;
}

static inline uint64_t made_package(const struct runtime_facts *facts, int i, const char *name)
{
	uint64_t at = PACKAGES + 0x200 * i, own = at + 0x80;

	word(at, at + 0x40);
	number(at + PERL_FLAGS, PERL_TYPE_HASH);
	if (facts->offsets[PERL_PACKAGE]) {
		own = at + 0x40 + facts->offsets[PERL_PACKAGE];
	} else {
		word(at + PERL_ARRAY, own - 16); /* of two entries */
		word(at + 0x40 + 24, 1);
	}
	word(own, made_text(i, name));
	return at;
}

/* Function @i is called by a glob, or a word if it @is_named. */
static inline uint64_t made_function(int i, const char *name, uint64_t package, bool is_named)
{
	uint64_t at = FUNCTIONS + 0x100 * i, body = at + 0x40, glob = GLOBS + 0x100 * i;
	uint64_t text = made_text(4 + i, name);

	word(at, body);
	number(at + PERL_FLAGS, PERL_TYPE_FUNCTION | 0x400);
	word(body + PERL_FUNCTION_ROOT, 0x5550 + 0x40 * i);
	word(body + PERL_FUNCTION_FILE, FILES);
	word(body + PERL_FUNCTION_NAME, is_named ? text : glob);
	word(body + PERL_FUNCTION_PACKAGE, package);
	number(body + PERL_FUNCTION_FLAGS, is_named ? PERL_IS_NAMED : 0);
	word(glob, glob + 0x40);
	number(glob + PERL_FLAGS, PERL_TYPE_GLOB | 0x8000);
	word(glob + 0x40 + PERL_GLOB_NAME, text);
	word(glob + 0x40 + PERL_GLOB_PACKAGE, package);
	return at;
}

static inline void made_stack(int i, uint32_t kind, int n)
{
	uint64_t at = STACKS + 0x40 * i;

	word(at + 8, CONTEXTS + 0x400 * i);
	word(at + 16, i ? at - 0x40 : 0);
	number(at + 32, n - 1);
	number(at + 44, kind);
}

static inline void made_context(int stack, int i, uint8_t kind, uint64_t function, uint64_t returns,
				uint64_t caller)
{
	uint64_t at = CONTEXTS + 0x400 * stack + 104 * i;

	word(at, kind);
	word(at + 16, caller);
	word(at + 48, returns);
	word(at + 72, function);
}

/*
 * The file (line 1) calls main::sorted (2), whose block (3) for sort calls Made::Shape::area (4)
 * at its end, which evaluates text (5), which reads a variable that Made::Shape::get (6) is tied
 * to.
 */
static inline void made_perl(const struct runtime_facts *facts)
{
	uint64_t package, shape, sorted, area, get;

	memset(&thread.memory, 0, sizeof thread.memory);
	memcpy(thread.memory.bytes + (FILES - MADE_START), "/srv/made.pl", 13);
	number(BIAS + KEY, 2);
	word(BIAS + FIRST, INTERPRETER);
	word(TLS + 0x310 + 2 * 16 + 8, INTERPRETER);
	word(INTERPRETER + facts->offsets[PERL_PROGRAM], 0x5550);
	word(INTERPRETER + facts->offsets[PERL_PLACE], made_place(6, 6));
	word(INTERPRETER + facts->offsets[PERL_PLACE] + 16, STACKS + 2 * 0x40);
	package = made_package(facts, 0, "main");
	shape = made_package(facts, 1, "Made::Shape");
	sorted = made_function(0, "sorted", package, true);
	area = made_function(1, "area", shape, false);
	get = made_function(2, "get", shape, true);
	made_stack(0, MAIN, 3);
	made_context(0, 0, BLOCK, 0, 0, 0);
	made_context(0, 1, FUNCTION, sorted, 0x77, made_place(1, 1));
	made_context(0, 2, EVAL_BLOCK, 0, 0x77, made_place(2, 2));
	made_stack(1, SORT, 3);
	made_context(1, 0, NONE, 0, 0, made_place(2, 2));
	made_context(1, 1, FUNCTION, area, 0, made_place(3, 3));
	made_context(1, 2, EVAL, 0, 0x77, made_place(4, 4));
	made_stack(2, MAGIC, 1);
	made_context(2, 0, FUNCTION, get, 0, made_place(5, 5));
}

#endif
