/* SPDX-License-Identifier: GPL-2.0-or-later */
/* PHP: what its parts know of each other. Offsets are facts->offsets[], by enum php_offset. */
#ifndef RUNTIMES_PHP_H
#define RUNTIMES_PHP_H

#include "runtimes/runtime.h"

#define PHP(major, minor) ((major) << 8 | (minor))

enum php_offset {
	PHP_GLOBALS, /* address of executor_globals */
	/* By version: where that leads to the innermost frame; … */
	PHP_CURRENT,
	/* … of a function of PHP: its instructions, file, first line. */
	PHP_CODE,
	PHP_FILE,
	PHP_LINE,
	/* The frame of the loop, which generated code runs in: from the stack pointer, or the frame
	 * pointer, to the return address, bytes (0: it has none); from there down to the caller's
	 * frame pointer, if that is saved. */
	PHP_FRAME,
	PHP_BY_FRAME_POINTER,
	PHP_SAVED,
	/* Where the file's code is, and its size. */
	PHP_TEXT,
	PHP_TEXT_SIZE,
	N_PHP_OFFSETS,
};
_Static_assert((int)N_PHP_OFFSETS <= RUNTIME_OFFSETS, "all have room");

enum php_kind { PHP_FUNCTION, PHP_INTERNAL }; /* of a frame: its code is in PHP, or in C */

/* Of a function (zend_function): its type, a byte, and where these are. */
#define PHP_TYPE_INTERNAL 1
#define PHP_TYPE_USER	  2
#define PHP_TYPE_EVAL	  4
#define PHP_NAME	  8
#define PHP_SCOPE	  16 /* its class */

/* Of a string: its length and characters. */
#define PHP_STRING_LENGTH 16
#define PHP_STRING_VALUE  24

#define PHP_SPREAD 0x27d4eb2d /* odd: keeps numbers that differ different */

/* Sets the facts of a version. Returns whether it is known. */
bool php_known_offsets(struct runtime_facts *facts);

/* Sets those of the frame; @loop and @kind: where execute_ex() and zend_vm_kind() are. */
void php_find_frame(const struct elf_file *elf, uint64_t loop, uint64_t kind, uint32_t *offsets);
bool php_has_sound_frame(const uint32_t *offsets);
/* Errors: -ENOENT: generated code has frames of its own. */
int php_write_range(const struct runtime_facts *facts, struct bf_text *ret);

int php_describe(const struct runtime_facts *facts, const struct runtime_memory *memory,
		 const struct runtime_frame *frame, struct runtime_code *ret);

#endif
