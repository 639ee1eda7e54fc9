/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * HotSpot, OpenJDK's Java machine: what its parts know of each other. Offsets in its structures are
 * facts->offsets[], by enum hotspot_offset; those named SIZE are sizes of structures.
 */
#ifndef RUNTIMES_HOTSPOT_H
#define RUNTIMES_HOTSPOT_H

#include "runtimes/runtime.h"

#define HOTSPOT(major) ((major) << 8)

enum hotspot_offset {
	/* Addresses of variables. */
	CACHE_HEAPS, /* CodeCache::_heaps: a pointer to an array of pointers */
	CLASSES,     /* of java.lang.Object, the first of those that the machine itself uses */
	OOPS_BASE,   /* how references are compressed: what is added, … */
	OOPS_SHIFT,  /* … after this many bits */
	Z_VARIABLES, /* a pointer to pointers to ZGC's; 0: there is no ZGC */
	X_VARIABLES, /* the same of ZGC without generations */
	N_HOTSPOT_ADDRESSES,
	ARRAY_LENGTH = N_HOTSPOT_ADDRESSES,
	ARRAY_DATA,
	/* Of a heap of code: its memory and, a byte for each segment of it, the map. */
	HEAP_MEMORY,
	HEAP_MAP,
	HEAP_SHIFT, /* log2 of a segment's bytes */
	SPACE_LOW,
	SPACE_HIGH,
	BLOCK_SIZE, /* what comes before each blob */
	/* Of a blob: a piece of code and what is known of it. */
	BLOB_NAME,
	BLOB_FRAME_SIZE,  /* words */
	BLOB_COMPLETE,	  /* from this offset of the code on, the frame is there */
	BLOB_CODE,	  /* address of the code; 0: … */
	BLOB_CODE_OFFSET, /* … its offset */
	/* Of a compiled method, a blob with more after that. */
	COMPILED_ID, /* no two have the same */
	COMPILED_METHOD,
	COMPILED_STATE,
	COMPILED_PCS,	  /* offset of the table of PcDesc … */
	COMPILED_PCS_END, /* … and of its end; up to 22 */
	COMPILED_SCOPES,  /* address of the scopes; up to 22 */
	COMPILED_SCOPES_OFFSET,
	COMPILED_METADATA, /* offset; up to 22 */
	COMPILED_TABLES,   /* address that offsets of tables are from; from 23 on */
	COMPILED_TABLES_SIZE,
	COMPILED_MUTABLE,     /* address of relocations and metadata; from 25 on */
	COMPILED_RELOCATIONS, /* bytes */
	PC_DESC_SIZE,
	/* Of a method and its constant part, which is followed by the bytecode. */
	METHOD_CONST,
	CONST_POOL,
	CONST_WORDS, /* its size, with all that follows */
	CONST_CODE_SIZE,
	CONST_NAME,
	CONST_FLAGS,
	CONST_SIZE,
	/* Of a class's constants, followed by their values. */
	POOL_CLASS,
	POOL_SOURCE,
	POOL_LENGTH,
	POOL_SIZE,
	CLASS_NAME,
	/* Of a name. */
	SYMBOL_HASH, /* two bytes of chance, after a count of references */
	SYMBOL_LENGTH,
	SYMBOL_BODY,
	/* Of a class: bytes of its objects, the list of its fields, what that refers to. */
	CLASS_LAYOUT,
	CLASS_FIELDS,
	CLASS_POOL,
	/* Of objects, from 21 on, as those lists say: 0 where they are not known. A continuation
	 * has frames of a virtual thread, in chunks, the innermost first. */
	CONTINUATION_TAIL,
	CHUNK_CONTINUATION,
	CHUNK_PARENT,
	CHUNK_SP,     /* where frames begin … */
	CHUNK_BOTTOM, /* … and end, in words of the chunk's stack */
	CHUNK_PC,
	CHUNK_STACK,
	REFERENCE_BYTES,
	/* Of pointers to what says how ZGC colours references. */
	Z_BAD_COLOURS,
	Z_SHIFT,
	X_BAD_COLOURS,
	N_HOTSPOT_OFFSETS,
};
_Static_assert(N_HOTSPOT_OFFSETS <= RUNTIME_OFFSETS, "all have room");

/* Of frames. */
enum hotspot_kind {
	HOTSPOT_STUB = RUNTIME_KIND_IS_CODE,
	HOTSPOT_INTERPRETED,
	HOTSPOT_COMPILED = RUNTIME_KIND_IS_CODE | RUNTIME_KIND_BY_DETAIL, /* at a call */
	HOTSPOT_COMPILED_LEAF,						  /* anywhere */
};

#define HOTSPOT_SPREAD	    0x27d4eb2d /* odd: keeps numbers that differ different */
#define HOTSPOT_NO_BYTECODE 0xffffffff /* the detail of an interpreted frame that is in none */

/*
 * Looks for the structures in @elf: version, problem, sizes, and where the array says the offsets:
 * the file has none, each process computes them when it starts. Errors: -ENOMEM.
 */
int hotspot_find_offsets(struct elf_file *elf, struct runtime_facts *ret);
int hotspot_complete(struct runtime_facts *facts, const struct runtime_memory *memory);
bool hotspot_is_sound(const struct runtime_facts *facts);

/* 17 has none; and what begins has them before it is known how. */
static inline bool hotspot_has_chunks(const uint32_t *o)
{
	return o[CHUNK_STACK] != 0;
}

/* Finds what is known of continuations; facts->is_early: it is too early for that. */
void hotspot_find_chunks(struct runtime_facts *facts, const struct runtime_memory *memory);

int hotspot_write(const struct runtime_facts *facts, struct bf_text *ret);

int hotspot_describe(const struct runtime_facts *facts, const struct runtime_memory *memory,
		     const struct runtime_frame *frame, struct runtime_code *ret);
uint32_t hotspot_line(const struct runtime_facts *facts, const uint8_t *lines, uint32_t n_lines,
		      uint32_t first_line, uint32_t detail);

/* --- between names, scopes and fields --- */

/* Reads @n bytes at @address. Returns 0 or -errno. */
int hotspot_read(const struct runtime_memory *memory, uint64_t address, void *to, uint32_t n);

/* Reads the name at @address. Errors: -ESTALE: there is none; those of memory. */
int hotspot_name(const uint32_t *o, const struct runtime_memory *memory, uint64_t address, char *to,
		 size_t size);

/* A method and where in it. */
struct hotspot_place {
	uint64_t method;
	int32_t bytecode; /* -1: nowhere in particular */
};

/*
 * What a compiled method runs at @offset of its code, which is after a call if @is_call: the
 * innermost function first. Returns how many, up to RUNTIME_MAX_INLINED + 1; 0: not known.
 */
int hotspot_scopes(const struct runtime_facts *facts, const struct runtime_memory *memory,
		   uint64_t compiled, uint32_t offset, bool is_call, struct hotspot_place *ret);

/* The next number of compressed data at *@at, below @n; 0 at its end. */
uint32_t hotspot_number(uint32_t version, const uint8_t *bytes, uint32_t n, uint32_t *at);

#endif
