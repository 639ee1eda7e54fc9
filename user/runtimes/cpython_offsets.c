/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where things lie in the structures of CPython: by version up to 3.12 (its Include/), by what it
 * says itself from 3.13 on (Include/internal/pycore_debug_offsets.h).
 */
#include "runtimes/cpython.h"

#include <string.h>

#include "runtimes/elf_find.h"

struct known {
	uint32_t version;
	uint32_t offsets[RUNTIME_OFFSETS];
};

static const struct known known[] = {
	/* Frames are objects, one for each activation. */
	{CPYTHON(3, 9),
	 {[THREAD_IDENT] = 176,
	  [THREAD_CURRENT] = 24,
	  [THREAD_NEXT] = 8,
	  [INTERPRETER_THREADS] = 8,
	  [INTERPRETERS] = 32,
	  [FRAME_CODE] = 32,
	  [FRAME_PREVIOUS] = 24,
	  [FRAME_INSTRUCTION] = 104,
	  [FRAME_UNIT] = 1,
	  [CODE_FIRST_LINE] = 40,
	  [CODE_FILE] = 104,
	  [CODE_NAME] = 112,
	  [CODE_LINES] = 120,
	  [STRING_LENGTH] = 16,
	  [STRING_STATE] = 32,
	  [STRING_ASCII] = 48,
	  [STRING_WIDE] = 72,
	  [BYTES_SIZE] = 16,
	  [BYTES_VALUE] = 32}},
	{CPYTHON(3, 10), {[THREAD_IDENT] = 176,	     [THREAD_CURRENT] = 24, [THREAD_NEXT] = 8,
			  [INTERPRETER_THREADS] = 8, [INTERPRETERS] = 32,   [THREAD_RECORD] = 48,
			  [RECORD_PREVIOUS] = 8,     [FRAME_CODE] = 32,	    [FRAME_PREVIOUS] = 24,
			  [FRAME_INSTRUCTION] = 96,  [FRAME_UNIT] = 2,	    [CODE_FIRST_LINE] = 40,
			  [CODE_FILE] = 104,	     [CODE_NAME] = 112,	    [CODE_LINES] = 120,
			  [STRING_LENGTH] = 16,	     [STRING_STATE] = 32,   [STRING_ASCII] = 48,
			  [STRING_WIDE] = 72,	     [BYTES_SIZE] = 16,	    [BYTES_VALUE] = 32}},
	{CPYTHON(3, 11),
	 {[THREAD_IDENT] = 152,	    [THREAD_CURRENT] = 8,	[THREAD_RECORD] = 56,
	  [THREAD_NEXT] = 8,	    [INTERPRETER_THREADS] = 16, [INTERPRETERS] = 40,
	  [RECORD_PREVIOUS] = 16,   [FRAME_CODE] = 32,		[FRAME_PREVIOUS] = 48,
	  [FRAME_INSTRUCTION] = 56, [FRAME_OWNER] = 68,		[FRAME_OWNER_LAST] = 1,
	  [RECORD_HAS_FRAME] = 1,   [CODE_FIRST_LINE] = 72,	[CODE_FILE] = 112,
	  [CODE_NAME] = 128,	    [CODE_LINES] = 136,		[CODE_BYTES] = 184,
	  [STRING_LENGTH] = 16,	    [STRING_STATE] = 32,	[STRING_ASCII] = 48,
	  [STRING_WIDE] = 72,	    [BYTES_SIZE] = 16,		[BYTES_VALUE] = 32}},
	/* The thread's record leads to the current frame, but shims say where activations end. */
	{CPYTHON(3, 12), {[THREAD_IDENT] = 136,	    [THREAD_CURRENT] = 0,   [THREAD_RECORD] = 56,
			  [RECORD_PREVIOUS] = 8,    [FRAME_CODE] = 0,	    [FRAME_PREVIOUS] = 8,
			  [FRAME_INSTRUCTION] = 56, [FRAME_OWNER] = 70,	    [FRAME_OWNER_SHIM] = 3,
			  [RECORD_HAS_FRAME] = 1,   [CODE_FIRST_LINE] = 68, [CODE_VERSION] = 92,
			  [CODE_FILE] = 112,	    [CODE_NAME] = 128,	    [CODE_LINES] = 136,
			  [CODE_BYTES] = 192,	    [STRING_LENGTH] = 16,   [STRING_STATE] = 32,
			  [STRING_ASCII] = 40,	    [STRING_WIDE] = 56,	    [BYTES_SIZE] = 16,
			  [BYTES_VALUE] = 32}},
};

bool cpython_known_offsets(struct runtime_facts *facts)
{
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (known[i].version == facts->version) {
			memcpy(facts->offsets, known[i].offsets, sizeof facts->offsets);
			return true;
		}
	return false;
}

bool cpython_has_anchors(const struct runtime_facts *facts)
{
	return facts->offsets[THREAD_RECORD] || facts->offsets[FRAME_OWNER_SHIM];
}

#define COOKIE	"xdebugpy"
#define N_WORDS 120

/* Members of _Py_DebugOffsets, words of 8 bytes, in order. */
enum member {
	COOKIE_WORD,
	VERSION_WORD,
	FREE_THREADED,
	RUNTIME_SIZE,
	RUNTIME_FINALIZING,
	RUNTIME_INTERPRETERS,
	INTERP_SIZE,
	INTERP_ID,
	INTERP_NEXT,
	INTERP_THREADS,
	INTERP_THREADS_MAIN,
	INTERP_GC,
	INTERP_MODULES,
	INTERP_SYSDICT,
	INTERP_BUILTINS,
	INTERP_GIL,
	INTERP_GIL_STATE,
	INTERP_GIL_ENABLED,
	INTERP_GIL_LOCKED,
	INTERP_GIL_HOLDER,
	INTERP_CODE_GENERATION,
	INTERP_TLBC_GENERATION,
	TOLD_THREAD_SIZE,
	TOLD_THREAD_PREV,
	TOLD_THREAD_NEXT,
	TOLD_THREAD_INTERP,
	TOLD_THREAD_CURRENT,
	TOLD_THREAD_BASE,
	TOLD_THREAD_PROFILED,
	TOLD_THREAD_PROFILED_SEQ,
	TOLD_THREAD_IDENT,
	TOLD_THREAD_NATIVE,
	TOLD_THREAD_CHUNK,
	TOLD_THREAD_STATUS,
	TOLD_THREAD_HOLDS_GIL,
	TOLD_THREAD_GIL_REQUESTED,
	TOLD_THREAD_EXCEPTION,
	TOLD_THREAD_EXCEPTION_STATE,
	TOLD_EXCEPTION_VALUE,
	TOLD_FRAME_SIZE,
	TOLD_FRAME_PREVIOUS,
	TOLD_FRAME_CODE,
	TOLD_FRAME_INSTRUCTION,
	TOLD_FRAME_LOCALS,
	TOLD_FRAME_OWNER,
	TOLD_FRAME_STACK,
	TOLD_FRAME_TLBC,
	TOLD_CODE_SIZE,
	TOLD_CODE_FILE,
	TOLD_CODE_NAME,
	TOLD_CODE_QUALNAME,
	TOLD_CODE_LINES,
	TOLD_CODE_FIRST_LINE,
	TOLD_CODE_ARGUMENTS,
	TOLD_CODE_LOCALS,
	TOLD_CODE_KINDS,
	TOLD_CODE_BYTES,
	TOLD_CODE_TLBC,
	TOLD_OBJECT_SIZE,
	TOLD_OBJECT_TYPE,
	TOLD_TYPE_SIZE,
	TOLD_TYPE_NAME,
	TOLD_TYPE_REPR,
	TOLD_TYPE_FLAGS,
	TOLD_TYPE_BASIC_SIZE,
	TOLD_TYPE_DICT,
	TOLD_HEAP_TYPE_SIZE,
	TOLD_HEAP_TYPE_KEYS,
	TOLD_TUPLE_SIZE,
	TOLD_TUPLE_ITEM,
	TOLD_TUPLE_N,
	TOLD_LIST_SIZE,
	TOLD_LIST_ITEM,
	TOLD_LIST_N,
	TOLD_SET_SIZE,
	TOLD_SET_USED,
	TOLD_SET_TABLE,
	TOLD_SET_MASK,
	TOLD_DICT_SIZE,
	TOLD_DICT_KEYS,
	TOLD_DICT_VALUES,
	TOLD_FLOAT_SIZE,
	TOLD_FLOAT_VALUE,
	TOLD_LONG_SIZE,
	TOLD_LONG_TAG,
	TOLD_LONG_DIGIT,
	TOLD_BYTES_SIZE,
	TOLD_BYTES_N,
	TOLD_BYTES_VALUE,
	TOLD_STRING_SIZE,
	TOLD_STRING_STATE,
	TOLD_STRING_LENGTH,
	TOLD_STRING_ASCII,
	N_MEMBERS,
};

/* The version that has inserted a member; 3.13: they begin with it. */
static uint32_t version_of(enum member member)
{
	switch (member) {
	case INTERP_THREADS_MAIN:
	case INTERP_CODE_GENERATION:
	case INTERP_TLBC_GENERATION:
	case TOLD_FRAME_STACK:
	case TOLD_FRAME_TLBC:
	case TOLD_CODE_TLBC:
	case TOLD_SET_SIZE:
	case TOLD_SET_USED:
	case TOLD_SET_TABLE:
	case TOLD_SET_MASK: return CPYTHON(3, 14);
	case TOLD_THREAD_BASE:
	case TOLD_THREAD_PROFILED:
	case TOLD_THREAD_PROFILED_SEQ:
	case TOLD_THREAD_HOLDS_GIL:
	case TOLD_THREAD_GIL_REQUESTED:
	case TOLD_THREAD_EXCEPTION:
	case TOLD_THREAD_EXCEPTION_STATE:
	case TOLD_EXCEPTION_VALUE:
	case TOLD_TYPE_BASIC_SIZE:
	case TOLD_TYPE_DICT:
	case TOLD_HEAP_TYPE_SIZE:
	case TOLD_HEAP_TYPE_KEYS: return CPYTHON(3, 15);
	default: return CPYTHON(3, 13);
	}
}

static uint32_t told(const uint64_t *words, uint32_t version, enum member wanted)
{
	uint32_t at = 0;

	for (uint32_t member = 0; member < (uint32_t)wanted; member++)
		at += version >= version_of(member);
	return words[at] > UINT32_MAX ? UINT32_MAX : words[at];
}

void cpython_told_offsets(struct runtime_facts *facts, const struct elf_file *elf, uint64_t address)
{
	static const struct {
		enum cpython_offset to;
		enum member from;
	} members[] = {
		{THREAD_IDENT, TOLD_THREAD_IDENT},
		{THREAD_CURRENT, TOLD_THREAD_CURRENT},
		{THREAD_NEXT, TOLD_THREAD_NEXT},
		{INTERPRETER_NEXT, INTERP_NEXT},
		{INTERPRETER_THREADS, INTERP_THREADS},
		{INTERPRETERS, RUNTIME_INTERPRETERS},
		{FRAME_CODE, TOLD_FRAME_CODE},
		{FRAME_PREVIOUS, TOLD_FRAME_PREVIOUS},
		{FRAME_INSTRUCTION, TOLD_FRAME_INSTRUCTION},
		{FRAME_OWNER, TOLD_FRAME_OWNER},
		{CODE_FIRST_LINE, TOLD_CODE_FIRST_LINE},
		{CODE_FILE, TOLD_CODE_FILE},
		{CODE_NAME, TOLD_CODE_QUALNAME},
		{CODE_LINES, TOLD_CODE_LINES},
		{CODE_BYTES, TOLD_CODE_BYTES},
		{STRING_LENGTH, TOLD_STRING_LENGTH},
		{STRING_STATE, TOLD_STRING_STATE},
		{STRING_ASCII, TOLD_STRING_ASCII},
		{BYTES_SIZE, TOLD_BYTES_N},
		{BYTES_VALUE, TOLD_BYTES_VALUE},
	};
	uint64_t words[N_WORDS];
	uint32_t *o = facts->offsets;

	facts->problem = RUNTIME_LAYOUT;
	if (elf_find_bytes(elf, address, words, sizeof words) < 0 ||
	    memcmp(words, COOKIE, sizeof *words) != 0 ||
	    (words[VERSION_WORD] >> 16 & 0xffff) != facts->version)
		return;
	if (words[FREE_THREADED]) {
		facts->problem = RUNTIME_BUILD;
		return;
	}
	for (size_t i = 0; i < sizeof members / sizeof *members; i++)
		o[members[i].to] = told(words, facts->version, members[i].from);
	o[FRAME_OWNER_SHIM] = 3;
	o[FRAME_CODE_TAG] = facts->version >= CPYTHON(3, 14) ? 3 : 0;
	o[CODE_VERSION] = 92;
	o[STRING_WIDE] = o[STRING_ASCII] + 16;
	facts->problem = RUNTIME_FINE;
}
