/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * V8, the JavaScript machine of node: what its parts know of each other. Offsets in its objects are
 * facts->offsets[], by enum v8_offset; they are from where the object begins, one byte before where
 * a tagged pointer leads.
 */
#ifndef RUNTIMES_V8_H
#define RUNTIMES_V8_H

#include "runtimes/runtime.h"

#define V8(major, minor) ((major) << 8 | (minor))

enum v8_offset {
	MAP_TYPE,
	/* Numbers of types. */
	TYPE_NOT_STRING, /* the first that is no string's */
	TYPE_BYTECODE,
	TYPE_CODE,
	TYPE_STREAM, /* what holds the instructions; from 11 on, apart from Code */
	TYPE_INTERPRETER_DATA,
	TYPE_SCOPE,
	TYPE_SCRIPT,
	TYPE_SHARED,
	TYPE_BYTES, /* ByteArray; from 12 on, TrustedByteArray */
	/* Of a function, and of what all functions of the same text share. */
	FUNCTION_SHARED,
	SHARED_DATA, /* its bytecode or code; of built-in ones a number */
	SHARED_NAME, /* a string or a ScopeInfo */
	SHARED_SCRIPT,
	SHARED_FLAGS,	/* … */
	SHARED_LITERAL, /* its number in the script */
	SCRIPT_SOURCE,
	SCRIPT_NAME,
	SCRIPT_LINE,
	SCRIPT_ID,   /* no two have the same */
	SCOPE_NAMES, /* words before the names of its variables */
	STRING_LENGTH,
	STRING_CHARACTERS,
	STRING_DATA, /* of external ones: where the characters are */
	STRING_ACTUAL,
	/* Of bytecode. */
	BYTECODE_POSITIONS,
	BYTECODE_DATA,
	/* Of code. */
	CODE_DEOPTIMIZATION, /* or the bytecode */
	CODE_POSITIONS,	     /* or the offsets of bytecode */
	CODE_START,	     /* of the instructions: an address, up to 10 the offset itself */
	CODE_SIZE,
	CODE_FLAGS,
	CODE_BASELINE, /* kind of baseline code; optimized ones are above */
	STREAM_CODE,   /* from 11 on */
	STREAM_START,
	CODE_ALIGN,
	PLACE_FLAGS, /* bits below the offsets in tables of places: 1 from 14 on */
	/* Numbers of elements of what code knows for its deoptimization. */
	KNOWN_LITERALS, /* an array of what it refers to: inlined functions first */
	KNOWN_SHARED,
	KNOWN_INLININGS,
	N_V8_OFFSETS,
};
_Static_assert(N_V8_OFFSETS <= RUNTIME_OFFSETS, "all have room");

/*
 * Of a ScopeInfo, in words; after its variables' names and infos comes struct v8_tail. From 12 on,
 * the function's start and end are before the names.
 */
#define V8_SCOPE_LOCALS	     3
#define V8_SCOPE_RANGE	     4
#define V8_RANGE_IS_FIRST(o) ((o)[SCOPE_NAMES] > V8_SCOPE_RANGE)
#define V8_SCOPE_MOST_NAMES  75 /* from so many on, names are in a table */

/* Of functions: all of it is there. The words are as they are in memory. */
struct v8_tail {
	uint64_t name; /* a string, or 0 */
	uint64_t where;
	uint64_t inferred;   /* what the compiler has called it; a string or undefined */
	uint64_t start, end; /* up to 11 */
};

/* The word of a string that has its hash and its length. */
#define V8_STRING_HASH 8

/* Words of a frame, from its frame pointer; the same in all versions. */
#define V8_FRAME_CONTEXT  (-8)
#define V8_FRAME_FUNCTION (-16)
#define V8_FRAME_BYTECODE (-32)
#define V8_FRAME_OFFSET	  (-40)

/* InterpreterData: the bytecode, and a copy of the interpreter's entry that only it uses. */
#define V8_INTERPRETER_BYTECODE 8
#define V8_INTERPRETER_COPY	16

/* Of frames. */
enum v8_kind {
	V8_FUNCTION = RUNTIME_KIND_IS_CODE, /* built-in, or somewhere in what is compiled */
	V8_INTERPRETED,
	V8_BASELINE,
	V8_OPTIMIZED = RUNTIME_KIND_IS_CODE | RUNTIME_KIND_BY_DETAIL, /* at a call */
};

/* Added to the address of a function, for its mark depends on it. */
#define V8_AS_BASELINE 1
#define V8_AS_FUNCTION 2

#define V8_SPREAD    0x27d4eb2d /* odd: keeps numbers that differ different */
#define V8_SPREAD_2  0x165667b1
#define V8_NO_OFFSET 0xffffffff /* the detail of a frame that is nowhere in particular */

/* The bytes at @pc that a frame of optimized code is known by, and their hash. */
#define V8_CODE_BYTES 8
uint32_t v8_hash_code(uint64_t bytes);

/*
 * Looks for the objects' layout in @elf: version, problem, offsets, generated code.
 * Errors: -ENOMEM.
 */
int v8_find_offsets(struct elf_file *elf, struct runtime_facts *ret);
bool v8_is_sound(const struct runtime_facts *facts);

int v8_write(const struct runtime_facts *facts, struct bf_text *ret);

int v8_describe(const struct runtime_facts *facts, const struct runtime_memory *memory,
		const struct runtime_frame *frame, struct runtime_code *ret);
uint32_t v8_line(const struct runtime_facts *facts, const uint8_t *lines, uint32_t n_lines,
		 uint32_t first_line, uint32_t detail);

/* --- objects: v8_objects.c --- */

/* No process has memory from 2^48 on. */
#define V8_IS_POINTER(word) (((word)&3) == 1 && !((word) >> 48))
#define V8_NUMBER(word)	    ((int32_t)((uint64_t)(word) >> 32)) /* of a small integer */
#define V8_IS_NUMBER(word)  (!((word)&0xffffffff))

/*
 * Memory as it was when it was first needed. Objects lie close together, and reading memory takes a
 * call to another process.
 */
#define V8_BLOCK_BYTES 4096
#define V8_MOST_BLOCKS 16
struct v8_blocks {
	uint32_t n; /* so many have been read: the newest are here */
	uint64_t address[V8_MOST_BLOCKS];
	uint8_t bytes[V8_MOST_BLOCKS][V8_BLOCK_BYTES];
};

/* What reads a process's objects. */
struct v8_heap {
	const uint32_t *o;
	const struct runtime_memory *memory;
	uint32_t *source_left; /* bytes of scripts' texts that may be read for lines */
	struct v8_blocks *blocks;
};

/*
 * Reads all blocks again, several in a call, or forgets them if one has gone: later reads see
 * memory as it is from now on.
 */
void v8_read_anew(const struct v8_heap *heap);

/* Reads @n bytes at @address. Returns 0 or -errno; here and below, -ESTALE: it is something else.
 */
int v8_read(const struct v8_heap *heap, uint64_t address, void *to, uint32_t n);
/* Reads the word at @offset of the object @pointer. */
int v8_word(const struct v8_heap *heap, uint64_t pointer, uint32_t offset, uint64_t *ret);
/* Its type; -1: it is no object. */
int v8_type(const struct v8_heap *heap, uint64_t pointer);

#define V8_MOST_CHARACTERS 500

/* Reads the string @pointer as UTF-8, cut to @size. */
int v8_string(const struct v8_heap *heap, uint64_t pointer, char *to, size_t size);

/* Where the characters of a whole string are. */
struct v8_characters {
	uint64_t address;
	uint32_t n;
	uint32_t bytes; /* of each: 1 or 2 */
};
int v8_characters(const struct v8_heap *heap, uint64_t pointer, struct v8_characters *ret);

/* --- functions: v8_names.c --- */

/* What all functions of the same text share. */
struct v8_shared {
	uint64_t pointer;
	uint64_t data, name, script; /* tagged */
	uint32_t identity;	     /* as the frames' check words have it */
	bool has_script;
};
int v8_shared(const struct v8_heap *heap, uint64_t pointer, struct v8_shared *ret);
/* Its name and file; *@ret_start: where its text begins, -1: not known. */
int v8_name(const struct v8_heap *heap, const struct v8_shared *shared, char *name, char *file,
	    size_t size, int32_t *ret_start);

/* --- places: v8_places.c --- */

/* Of a position: a bit for those outside of scripts, then numbers from -1 on. */
#define V8_IS_EXTERNAL(position) ((position)&1)
#define V8_SCRIPT_POSITION(p)	 ((int32_t)((p) >> 1 & 0x3fffffff) - 1)
#define V8_INLINED(p)		 ((int32_t)((p) >> 31 & 0xffff) - 1)

/* An offset of code, and what is there. */
struct v8_place {
	uint32_t offset;
	int32_t position; /* in the script; later its line */
	int32_t inlined;  /* number of the function inlined there; -1: none */
};
/* Reads the table of places @pointer. Returns how many, up to @most, or -errno. */
int v8_places(const struct v8_heap *heap, uint64_t pointer, struct v8_place *ret, uint32_t most);

/*
 * Bytes of text that are read for a frame. So the rest of what runtime_describe() lets be read is
 * left for names.
 */
#define V8_MOST_SOURCE (1u << 20)

/* Turns the positions of @n places in @script into lines, from 1 on; 0: not known. Errors: -ENOMEM.
 */
int v8_find_lines(const struct v8_heap *heap, uint64_t script, struct v8_place *places, uint32_t n);

/* The chain of functions at @offset of optimized code: v8_code.c. Innermost first. */
struct v8_inlined {
	uint64_t shared; /* tagged */
	int32_t position;
};
/*
 * What the code runs at the call that returns to @pc. Returns how many functions, at least one, up
 * to RUNTIME_MAX_INLINED + 1, or -errno.
 */
int v8_find_inlined(const struct v8_heap *heap, uint64_t pc, struct v8_inlined *ret);

#endif
