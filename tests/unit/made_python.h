/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * made_python: a thread of CPython in memory made by hand, with the offsets of one version:
 * made_N() calls made_N-1() and so on, two functions per activation.
 */
#ifndef TESTS_MADE_PYTHON_H
#define TESTS_MADE_PYTHON_H

#include <stdio.h>

#include "runtimes/cpython.h"
#include "tests/unit/made_machine.h"

#define PYTHON_TLS     (MADE_START + 0x1000)
#define PYTHON_STATE   (MADE_START + 0x2000)
#define PYTHON_FRAMES  (MADE_START + 0x3000) /* 0x100 each */
#define PYTHON_RECORDS (MADE_START + 0x5000) /* 0x40 each */
#define PYTHON_CODE    (MADE_START + 0x6000) /* 0x200 each */
#define PYTHON_STRINGS (MADE_START + 0x9000) /* 0x100 each: names */
#define PYTHON_FILE    (MADE_START + 0xc000)
#define PYTHON_LINES   (MADE_START + 0xd000)
#define PYTHON_TYPE    0x959440
#define PYTHON_BIAS    0x100000
#define PYTHON_DEPTH   6 /* functions; 0 is the innermost */

static inline void made_string(struct made_memory *memory, const uint32_t *o, uint64_t at,
			       const char *text, uint64_t hash)
{
	made_word(memory, at + CPYTHON_STRING_HASH, hash);
	made_word(memory, at + o[STRING_LENGTH], strlen(text));
	made_number(memory, at + o[STRING_STATE], 1 << 2 | 1 << 5 | 1 << 6);
	memcpy(memory->bytes + (at + o[STRING_ASCII] - MADE_START), text, strlen(text));
}

static inline void made_code(struct made_memory *memory, const uint32_t *o, int i)
{
	uint64_t code = PYTHON_CODE + 0x200 * i;
	char name[32];

	snprintf(name, sizeof name, "Made.made_%d", i);
	made_word(memory, code + CPYTHON_OBJECT_TYPE, PYTHON_TYPE + PYTHON_BIAS);
	made_word(memory, code + o[CODE_FILE], PYTHON_FILE);
	made_word(memory, code + o[CODE_NAME], PYTHON_STRINGS + 0x100 * i);
	made_word(memory, code + o[CODE_LINES], PYTHON_LINES);
	made_number(memory, code + o[CODE_FIRST_LINE], 100 + i);
	if (o[CODE_VERSION])
		made_number(memory, code + o[CODE_VERSION], 77 + i);
	made_string(memory, o, PYTHON_STRINGS + 0x100 * i, name, 0x1234567800 + i);
}

/* A frame. Each activation has two functions, and ends after every second one. */
static inline void made_python_frame(struct made_memory *memory, const uint32_t *o, int i)
{
	bool is_last = i % 2 || !(o[FRAME_OWNER_SHIM] || o[FRAME_OWNER_LAST]);
	uint64_t frame = PYTHON_FRAMES + 0x200 * i, shim = frame + 0x100;
	uint64_t next = i + 1 < PYTHON_DEPTH ? frame + 0x200 : 0;

	made_word(memory, frame + o[FRAME_CODE], PYTHON_CODE + 0x200 * i);
	if (o[FRAME_UNIT])
		made_number(memory, frame + o[FRAME_INSTRUCTION], 3);
	else
		made_word(memory, frame + o[FRAME_INSTRUCTION],
			  PYTHON_CODE + 0x200 * i + o[CODE_BYTES] + 6);
	made_word(memory, frame + o[FRAME_PREVIOUS], is_last && o[FRAME_OWNER_SHIM] ? shim : next);
	if (o[FRAME_OWNER_LAST])
		memory->bytes[frame + o[FRAME_OWNER] - MADE_START] = is_last;
	if (o[FRAME_OWNER_SHIM] && is_last) {
		memory->bytes[shim + o[FRAME_OWNER] - MADE_START] = o[FRAME_OWNER_SHIM];
		made_word(memory, shim + o[FRAME_PREVIOUS], next);
	}
}

static inline void made_python(struct made_memory *memory, const struct runtime_facts *facts)
{
	const uint32_t *o = facts->offsets;

	memset(memory, 0, sizeof *memory);
	/* Data of the second key; the first key's is not a pointer. */
	made_word(memory, PYTHON_TLS + 0x318, 3);
	made_word(memory, PYTHON_TLS + 0x328, PYTHON_STATE);
	made_word(memory, PYTHON_STATE + o[THREAD_IDENT], PYTHON_TLS);
	if (o[THREAD_RECORD])
		made_word(memory, PYTHON_STATE + o[THREAD_RECORD], PYTHON_RECORDS);
	for (int i = 0; i < PYTHON_DEPTH; i++) {
		made_word(memory, PYTHON_RECORDS + 0x40 * i + o[RECORD_PREVIOUS],
			  PYTHON_RECORDS + 0x40 * (i + 1));
		made_code(memory, o, i);
		made_python_frame(memory, o, i);
	}
	made_word(memory, (o[RECORD_HAS_FRAME] ? PYTHON_RECORDS : PYTHON_STATE) + o[THREAD_CURRENT],
		  PYTHON_FRAMES);
	made_string(memory, o, PYTHON_FILE, "/usr/lib/python3/dist-packages/pack/__init__.py", 9);
	made_word(memory, PYTHON_LINES + o[BYTES_SIZE], 4);
	/* 3.11+: one instruction one line further on, then eight on the line after that. */
	memcpy(memory->bytes + (PYTHON_LINES + o[BYTES_VALUE] - MADE_START), "\xe8\x02\xef\x04", 4);
}

#endif
