/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * BEAM, the machine of Erlang and Elixir: what its parts know of each other. Numbers are
 * facts->offsets[], by enum beam_offset.
 */
#ifndef RUNTIMES_BEAM_H
#define RUNTIMES_BEAM_H

#include "runtimes/runtime.h"

enum beam_offset {
	/* Addresses in the file. */
	BEAM_ACTIVE,	 /* which of three tables of modules is in use */
	BEAM_RANGES,	 /* … the first of them: address, number of modules; 32 bytes each */
	BEAM_ATOMS,	 /* table of atoms */
	BEAM_SCHEDULERS, /* pointer to an array */
	BEAM_N_SCHEDULERS,
	BEAM_EXIT, /* where the last function of a process returns to */
	BEAM_MAIN, /* process_main */
	/* The rest depends on the version. */
	BEAM_SCHEDULER_SIZE,
	BEAM_SCHEDULER_PROCESS, /* the one that runs */
	BEAM_PROCESS_SCHEDULER,
	BEAM_PROCESS_STACK_END,
	BEAM_MODULE_CHECKSUM, /* pointer to its MD5 */
	BEAM_MODULE_FUNCTIONS,
	BEAM_ATOM_IS_TERM, /* an atom's text is a binary: 1, or bytes: 0 */
	BEAM_MAIN_FRAME,   /* bytes of the frame of the generated code that process_main runs */
	N_BEAM_OFFSETS,
};
_Static_assert(N_BEAM_OFFSETS <= RUNTIME_OFFSETS, "all have room");

/* The same in all versions: of a process, in bytes. */
#define BEAM_PROCESS_HEAP_TOP 80
#define BEAM_PROCESS_STACK    88

/* Of the table of atoms: a pointer to pieces of 1024. */
#define BEAM_ATOMS_TABLE 120

/* Of a scheduler: the stack pointer of its generated code, outside of processes. */
#define BEAM_SCHEDULER_STACK 0

/* Of a module's header: functions, and where its lines are. */
#define BEAM_MODULE_N	  0
#define BEAM_MODULE_LINES 72

/* Of a function's header, which is right before its code: module, name, arity. */
#define BEAM_FUNCTION_NAME 16

#define BEAM_FUNCTION RUNTIME_KIND_IS_CODE

/*
 * Looks in @elf, which exports none of BEAM's own symbols, for what they would be the addresses of,
 * up to
 * @ret[BEAM_MAIN], by the instructions of OTP 29, and whether its scheduler has @scheduler_size
 * bytes. What it can't find is 0. Errors: -ENOMEM.
 */
int beam_find_by_code(const struct elf_file *elf, uint32_t scheduler_size, uint64_t *ret);

bool beam_known_offsets(struct runtime_facts *facts);

int beam_describe(const struct runtime_facts *facts, const struct runtime_memory *memory,
		  const struct runtime_frame *frame, struct runtime_code *ret);

#endif
