/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Perl: what its parts know of each other. Offsets are facts->offsets[], by enum perl_offset. */
#ifndef RUNTIMES_PERL_H
#define RUNTIMES_PERL_H

#include "runtimes/runtime.h"

#define PERL(major, minor) ((major) << 8 | (minor))

enum perl_offset {
	PERL_KEY,   /* address of PL_thr_key */
	PERL_FIRST, /* address of PL_curinterp: 0 until the process has an interpreter */
	/* By version: where the interpreter has its place in the source; … */
	PERL_PLACE,
	/* … where a hash's body has what a package needs; 0: after its entries. */
	PERL_PACKAGE,
	/* … where the interpreter has its program, once that is compiled. */
	PERL_PROGRAM,
	N_PERL_OFFSETS,
};
_Static_assert((int)N_PERL_OFFSETS <= RUNTIME_OFFSETS, "all have room");

/*
 * Of a frame: its code is a function (CV), or a place in the source (COP) that is in none: of a
 * file, of a block that compares for sort, of a block in a regular expression, of the program.
 */
enum perl_kind {
	PERL_FUNCTION,
	PERL_FILE,
	PERL_SORT,
	PERL_REGEX,
	PERL_MAIN = RUNTIME_KIND_PROGRAM,
};

/* Of any value (SV): its body, what kind it is of, and what a hash's body would have otherwise. */
#define PERL_BODY  0
#define PERL_FLAGS 12
#define PERL_ARRAY 16

#define PERL_TYPE_MASK	   0xff /* of flags */
#define PERL_TYPE_GLOB	   9
#define PERL_TYPE_HASH	   12
#define PERL_TYPE_FUNCTION 13

/* Of a function's body: its package, operations, name, file, and flags. */
#define PERL_FUNCTION_PACKAGE 32
#define PERL_FUNCTION_ROOT    48
#define PERL_FUNCTION_NAME    56
#define PERL_FUNCTION_FILE    64
#define PERL_FUNCTION_FLAGS   92
#define PERL_IS_NAMED	      0x8000 /* the name is a word (HEK), else a glob (GV) */

/* Of a glob's body: its name, a word, and its package. */
#define PERL_GLOB_NAME	  32
#define PERL_GLOB_PACKAGE 40

/* Of a word: hash and length, 4 bytes each, and characters. */
#define PERL_WORD_LENGTH 4
#define PERL_WORD_VALUE	 8

/* Of a place: its line and file, a string. */
#define PERL_PLACE_LINE 36
#define PERL_PLACE_FILE 48

#define PERL_SPREAD 0x27d4eb2d /* odd: keeps numbers that differ different */

/* Sets the facts of a version. Returns whether it is known. */
bool perl_known_offsets(struct runtime_facts *facts);

int perl_describe(const struct runtime_facts *facts, const struct runtime_memory *memory,
		  const struct runtime_frame *frame, struct runtime_code *ret);

#endif
