/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ruby (CRuby, MRI): what its parts know of each other. Offsets are facts->offsets[], by enum
 * ruby_offset: addresses in the file and, by version, offsets in structures.
 */
#ifndef RUNTIMES_RUBY_H
#define RUNTIMES_RUBY_H

#include "runtimes/runtime.h"

#define RUBY(major, minor) ((major) << 8 | (minor))

#define RUBY_MOST_TABLES 6 /* addresses that may be the table of symbols */

enum ruby_offset {
	/* Where a thread finds its execution context: its own variable, RUBY_OWN_OFFSET bytes into
	 * the block of the module whose number is at address RUBY_OWN_MODULE; 0: that many below
	 * the thread pointer. */
	RUBY_OWN_MODULE,
	RUBY_OWN_OFFSET,
	/* Without such a variable, the address of the key of its thread-specific data, its thread
	 * object; else 0. */
	RUBY_OWN_KEY,
	/* The function that runs an activation (vm_exec): address and size. */
	RUBY_EXEC,
	RUBY_EXEC_SIZE,
	/* Addresses, one of which is that of the names of symbols; 0: there are no more. */
	RUBY_TABLES,
	RUBY_TABLES_END = RUBY_TABLES + RUBY_MOST_TABLES,
	/* By version: a control frame's size; … */
	RUBY_FRAME_SIZE = RUBY_TABLES_END,
	/* … of the body of a sequence of instructions (rb_iseq_constant_body): its path, … */
	RUBY_BODY_PATH,
	RUBY_BODY_LABEL,
	RUBY_BODY_LINE,
	RUBY_BODY_LINES, /* struct iseq_insn_info */
	RUBY_LINE_SIZE,	 /* of an item in that */
	/* … of what a class has, its variables; or 0, and of the class its name and, of one that is
	 * an object's own, that object; … */
	RUBY_CLASS_VARIABLES,
	RUBY_CLASS_NAME,
	RUBY_CLASS_OBJECT,
	RUBY_STRING_TEXT, /* of a string that holds its text; 24: its length is before it; … */
	/* … of a tag, what longjmp() goes to, two words, and the tag before it; … */
	RUBY_TAG_JUMP,
	RUBY_TAG_PREVIOUS,
	RUBY_GUARD, /* … of a thread, what glibc hides these two words by; 0: not hidden; … */
	/* … of a thread object, its execution context and pthread_self(), and of the context its
	 * thread object; 0: threads have a variable of their own instead. */
	RUBY_THREAD_CONTEXT,
	RUBY_THREAD_IDENT,
	RUBY_CONTEXT_THREAD,
	N_RUBY_OFFSETS,
};
_Static_assert((int)N_RUBY_OFFSETS <= RUNTIME_OFFSETS, "all have room");

/* What a frame's code is. */
enum ruby_kind {
	RUBY_SEQUENCE, /* instructions: a block, a class's body, a file */
	RUBY_METHOD,   /* a method entry, whose definition has instructions */
	RUBY_FUNCTION, /* a method entry: a function in C */
};

#define RUBY_OBJECT_TYPE(flags)	  ((flags)&31)
#define RUBY_INTERNAL_KIND(flags) ((flags) >> 12 & 15)
enum ruby_type {
	RUBY_CLASS = 2,
	RUBY_MODULE = 3,
	RUBY_STRING = 5,
	RUBY_ARRAY = 7,
	RUBY_INTERNAL = 26,
};
enum ruby_internal { RUBY_SPECIAL_VARIABLES = 2, RUBY_METHOD_ENTRY = 6, RUBY_INSTRUCTIONS = 7 };

/* Words of these objects, by bytes. */
#define RUBY_SEQUENCE_BODY     16
#define RUBY_BODY_SIZE_AT      4 /* words of instructions */
#define RUBY_BODY_INSTRUCTIONS 8
#define RUBY_ENTRY_DEFINITION  16
#define RUBY_ENTRY_NAME	       24
#define RUBY_ENTRY_OWNER       32
#define RUBY_ENTRY_BYTES       40

#define RUBY_SPREAD 0x27d4eb2d /* odd: keeps numbers that differ different */

/* Sets the facts of a version. Returns whether it is known. */
bool ruby_known_offsets(struct runtime_facts *facts);

int ruby_describe(const struct runtime_facts *facts, const struct runtime_memory *memory,
		  const struct runtime_frame *frame, struct runtime_code *ret);

/* A table of lines, as ruby_line() reads it: the first instruction of a run, and its line. */
struct ruby_run {
	uint32_t first, line;
};

/*
 * Makes runs of what the program has: @n items of @item_size bytes that begin with a line, and the
 * positions where they begin as a bit vector (succ_index_table of iseq.c), of which @n_index bytes
 * are known, for @n_words words of instructions. Returns how many runs there are; @ret has room for
 * @n + 1.
 */
uint32_t ruby_runs(const uint8_t *items, uint32_t n, uint32_t item_size, const uint8_t *index,
		   uint32_t n_index, uint32_t n_words, struct ruby_run *ret);
/* Bytes of the bit vector. */
uint32_t ruby_index_size(uint32_t n_words);

uint32_t ruby_line(const struct runtime_facts *facts, const uint8_t *lines, uint32_t n_lines,
		   uint32_t first_line, uint32_t detail);

#endif
