/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * .NET (CoreCLR): what its parts know of each other. Numbers are facts->offsets[], by enum
 * dotnet_offset.
 */
#ifndef RUNTIMES_DOTNET_H
#define RUNTIMES_DOTNET_H

#include "runtimes/runtime.h"

enum dotnet_offset {
	/* Address in the file of the map of all code; or of a pointer to it. */
	DOTNET_MAP,
	DOTNET_MAP_IS_POINTER,
	/* In bytes, of the structures that CoreCLR's data contracts call by these names. */
	FRAGMENT_NEXT,
	FRAGMENT_BEGIN,
	FRAGMENT_END,
	FRAGMENT_SECTION,
	SECTION_BEGIN,
	SECTION_END,
	SECTION_FLAGS,
	SECTION_MODULE,
	SECTION_HEAP,
	HEAP_BASE,
	HEAP_STARTS,
	HEADER_METHOD,
	HEADER_N,
	HEADER_FUNCTIONS,
	METHOD_TOKEN,
	METHOD_INDEX,
	METHOD_SLOT,
	METHOD_FLAGS,
	METHOD_NAME, /* of a method that was made at run time */
	CHUNK_SIZE,
	CHUNK_TYPE,
	CHUNK_TOKEN,
	TYPE_TOKEN,
	TYPE_MODULE,
	TYPE_CLASS,
	CLASS_TYPE,
	MODULE_BASE,
	MODULE_COMPILED,
	COMPILED_WHOLE,
	COMPILED_FUNCTIONS,
	COMPILED_N,
	COMPILED_METHODS,
	HASH_BUCKETS,
	N_DOTNET_OFFSETS,
};
_Static_assert(N_DOTNET_OFFSETS <= RUNTIME_OFFSETS, "all have room");

/* The same in all versions. */
#define DOTNET_LEVELS	     5	/* of the map, 256 entries each … */
#define DOTNET_CHUNK_BITS    17 /* … the last of which are for so much code */
#define DOTNET_LEVEL_BITS    8
#define DOTNET_COLLECTIBLE   1	 /* SECTION_FLAGS: its code may go */
#define DOTNET_STUBS	     4	 /* … it has no methods */
#define DOTNET_MOST_STUB     15	 /* in place of a method's header */
#define DOTNET_UNIT_BYTES    256 /* of code, for each number of a heap's HEAP_STARTS */
#define DOTNET_BUCKET_BYTES  32	 /* … eight pieces, four bits each: where a method starts */
#define DOTNET_FIRST_POINTER 9	 /* … or all of it is the start of a method, and this and more */
#define DOTNET_FUNCTION_SIZE 12	 /* begin, end, unwind information */
#define DOTNET_FUNCTION_BITS 20	 /* of the number of a library's functions */
#define DOTNET_TOKEN_BITS    12	 /* of a method's token that it has itself */
#define DOTNET_KIND_BITS     7	 /* METHOD_FLAGS: … */
#define DOTNET_KIND_DYNAMIC  7
#define DOTNET_MOST_NAME     64	       /* bytes of the name of a dynamic method that identify it */
#define DOTNET_FAR_START     (1 << 16) /* methods in heaps are looked for so far back */

/* Spread the numbers that a check is made of. */
#define DOTNET_SPREAD	0x9e3779b1u
#define DOTNET_SPREAD_2 0x85ebca6bu

/* Kinds of frames. */
#define DOTNET_COMPILED RUNTIME_KIND_IS_CODE
#define DOTNET_READY	(RUNTIME_KIND_IS_CODE | 1) /* compiled ahead of time */

/* Those of version 9. @variables: where the file has the addresses of some. */
void dotnet_use_table(uint64_t variables, struct runtime_facts *ret);

int dotnet_examine(struct elf_file *elf, struct runtime_facts *ret);
bool dotnet_is_sound(const struct runtime_facts *facts);

int dotnet_describe(const struct runtime_facts *facts, const struct runtime_memory *memory,
		    const struct runtime_frame *frame, struct runtime_code *ret);

/*
 * Tables that assemblies have of their types and methods (ECMA-335, II.22–24), as the process has
 * them in its memory at @base: as a file, or as it is to be in memory. Reads the name of the method
 * with that token, if it is one of the type's, "Namespace.Outer.Inner.Method", and that of the
 * assembly's file. Errors: -ESTALE: there is none; those of @memory's.
 */
int dotnet_metadata_name(const struct runtime_memory *memory, uint64_t base, uint32_t type,
			 uint32_t method, struct runtime_code *ret);

#endif
