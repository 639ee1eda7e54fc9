/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LuaJIT: what its parts know of each other. Offsets are facts->offsets[], by enum luajit_offset.
 * Values are of 64 bits (GC64); its structures are those of lj_obj.h and lj_frame.h.
 */
#ifndef RUNTIMES_LUAJIT_H
#define RUNTIMES_LUAJIT_H

#include "runtimes/runtime.h"

#define LUAJIT(major, minor) ((major) << 8 | (minor))

enum luajit_offset {
	/* Of the global state: where the running trace began, and the newest area of traces. */
	LUAJIT_TRACE_BASE,
	LUAJIT_AREAS,
	N_LUAJIT_OFFSETS,
};
_Static_assert((int)N_LUAJIT_OFFSETS <= RUNTIME_OFFSETS, "all have room");

/* What a frame is; its code is a prototype. */
#define LUAJIT_FUNCTION RUNTIME_KIND_IS_CODE
#define LUAJIT_TRACE	(RUNTIME_KIND_IS_CODE | 1)

/* Of any object: its type, a byte. */
#define LUAJIT_TYPE	      9
#define LUAJIT_TYPE_STRING    4
#define LUAJIT_TYPE_STATE     6
#define LUAJIT_TYPE_PROTOTYPE 7
#define LUAJIT_TYPE_FUNCTION  8

/* Of a prototype. Its instructions follow it. */
#define LUAJIT_N_INSTRUCTIONS 12
#define LUAJIT_CHUNK	      64 /* a string: where it was defined */
#define LUAJIT_FIRST_LINE     72
#define LUAJIT_N_LINES	      76
#define LUAJIT_LINES	      80
#define LUAJIT_PROTOTYPE      104 /* bytes */

/* Of a string: hash and length, 4 bytes each, and characters. */
#define LUAJIT_STRING_HASH   16
#define LUAJIT_STRING_LENGTH 20
#define LUAJIT_STRING_VALUE  24

#define LUAJIT_SPREAD 0x27d4eb2d /* odd: keeps numbers that differ different */

int luajit_describe(const struct runtime_facts *facts, const struct runtime_memory *memory,
		    const struct runtime_frame *frame, struct runtime_code *ret);

/* A table of lines: bytes of an item, then items, one an instruction but the first. */
uint32_t luajit_line(const struct runtime_facts *facts, const uint8_t *lines, uint32_t n_lines,
		     uint32_t first_line, uint32_t detail);

#endif
