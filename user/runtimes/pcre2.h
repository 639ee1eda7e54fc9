/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PCRE2: what its parts know of each other. Offsets are facts->offsets[], by enum pcre2_offset.
 * Structures are those of pcre2_intmodedep.h and pcre2_jit_compile.c; code is sljit's, for x86-64.
 */
#ifndef RUNTIMES_PCRE2_H
#define RUNTIMES_PCRE2_H

#include "runtimes/runtime.h"

enum pcre2_offset {
	/* Addresses that generated code returns to: on a stack that the program gives for matches,
	 * and on the thread's own. */
	PCRE2_RETURN,
	PCRE2_RETURN_OWN,
	PCRE2_ARGUMENTS, /* where the arguments are in the frame of the first one */
	N_PCRE2_OFFSETS,
};
_Static_assert((int)N_PCRE2_OFFSETS <= RUNTIME_OFFSETS, "all have room");

#define PCRE2_EXPRESSION RUNTIME_KIND_IS_CODE /* what a frame is; its code is where that begins */

/* Of arguments: the description of the stack that is used, which is on top of the thread's if that
 * is its own. */
#define PCRE2_STACK 0

/* Of an expression. */
#define PCRE2_COMPILED	  32
#define PCRE2_MAGIC	  80 /* 4 bytes, here or in the next word … */
#define PCRE2_MAGIC_VALUE 0x50435245

/* Of what it was compiled to: a function for each way to match, and their sizes. */
#define PCRE2_WAYS  3
#define PCRE2_SIZES 48

/* Generated code begins with push %rbx, %r15, %r14, %r13, %rbp, after endbr64 in newer versions; it ends with the reverse. */
#define PCRE2_BRANCH_TARGET	  0x0ff3
#define PCRE2_BRANCH_TARGET_BYTES 4
#define PCRE2_SAVED	 5
#define PCRE2_SAVES_1	 0x41574153
#define PCRE2_SAVES_2	 0x55554156
#define PCRE2_RESTORES_1 0x415d415d
#define PCRE2_RESTORES_2 0x5b5f415e

#endif
