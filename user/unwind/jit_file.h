/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jit_file: gives code that was made at run time the form of a library, so that it is unwound as
 * one: its .eh_frame (Linux Standard Base 5.0, 10.6), found in memory, in a file of that.
 */
#ifndef UNWIND_JIT_FILE_H
#define UNWIND_JIT_FILE_H

#include <stddef.h>
#include <stdint.h>

/* Where the code is in the file, by offsets; it is not copied. */
#define JIT_CODE_OFFSET 0x1000

/*
 * Makes a file of the frames in @bytes, @n of them, which are at @address of a process that has
 * code at [@start, @end). Writes over @bytes. Returns a descriptor; -ENOENT: there are no frames;
 * or -errno.
 */
int jit_file_make(uint8_t *bytes, size_t n, uint64_t address, uint64_t start, uint64_t end);

#endif
