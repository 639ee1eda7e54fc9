/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPython 3.9 … 3.15: what its parts know of each other. Offsets in its structures are
 * facts->offsets[], by enum cpython_offset.
 */
#ifndef RUNTIMES_CPYTHON_H
#define RUNTIMES_CPYTHON_H

#include "runtimes/runtime.h"

#define CPYTHON(major, minor) ((major) << 8 | (minor))

enum cpython_offset {
	/* Of a thread. */
	THREAD_IDENT,	/* pthread_self() */
	THREAD_CURRENT, /* its innermost frame; with RECORD_HAS_FRAME, in the record */
	/* The record of an activation, on the C stack: where the thread has it; 0: there are none.
	 */
	THREAD_RECORD,
	RECORD_PREVIOUS,
	RECORD_HAS_FRAME,
	/* All threads of all interpreters. */
	THREAD_NEXT,
	INTERPRETER_THREADS,
	INTERPRETER_NEXT,
	INTERPRETERS, /* address of the first one's, unrelocated; until the symbol is known, in
		       * _PyRuntime. 0: they are not needed */
	/* Of a frame. */
	FRAME_CODE,
	FRAME_PREVIOUS,
	FRAME_INSTRUCTION, /* an address, or a number of units: … */
	FRAME_UNIT,	   /* … their bytes; 0: an address */
	FRAME_OWNER,	   /* a byte: … */
	FRAME_OWNER_SHIM,  /* … from this on, the frame is for an activation; 0: … */
	FRAME_OWNER_LAST,  /* … 1: not 0 says that it is an activation's last; 0: each is one */
	FRAME_CODE_TAG,	   /* bits of the code's address that are none */
	/* Of a code object. */
	CODE_FIRST_LINE,
	CODE_VERSION, /* no two objects have the same; 0: it has none */
	CODE_FILE,
	CODE_NAME, /* qualified, if there is that */
	CODE_LINES,
	CODE_BYTES, /* its instructions */
	/* Of strings and bytes. */
	STRING_LENGTH,
	STRING_STATE,
	STRING_ASCII, /* the characters, if they are ASCII */
	STRING_WIDE,  /* if not */
	BYTES_SIZE,
	BYTES_VALUE,
	N_CPYTHON_OFFSETS,
};
_Static_assert(N_CPYTHON_OFFSETS <= RUNTIME_OFFSETS, "all have room");

#define CPYTHON_OBJECT_TYPE 8	       /* of every object, with a GIL */
#define CPYTHON_STRING_HASH 24	       /* of a string; of its content */
#define CPYTHON_SPREAD	    0x27d4eb2d /* odd: keeps numbers that differ different */

/* Sets the facts of a version whose structures say nothing of themselves. Returns whether it is
 * known. */
bool cpython_known_offsets(struct runtime_facts *facts);
/* Whether activations leave something on the C stack. */
bool cpython_has_anchors(const struct runtime_facts *facts);
/* Reads _Py_DebugOffsets, at @address of @elf. */
void cpython_told_offsets(struct runtime_facts *facts, const struct elf_file *elf,
			  uint64_t address);

int cpython_write(const struct runtime_facts *facts, struct bf_text *ret);

/* The words of a code object that the check is made of: [@ret_from, + @ret_words). */
bool cpython_check_range(const struct runtime_facts *facts, uint32_t *ret_from,
			 uint32_t *ret_words);

int cpython_describe(const struct runtime_facts *facts, const struct runtime_memory *memory,
		     const struct runtime_frame *frame, struct runtime_code *ret);
uint32_t cpython_line(const struct runtime_facts *facts, const uint8_t *lines, uint32_t n_lines,
		      uint32_t first_line, uint32_t detail);

#endif
