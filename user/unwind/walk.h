/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * walk: the unwinder on the host. It takes the same steps as the BPF programs (bpf/unwind_step.h),
 * over the captured memory and registers of a thread.
 */
#ifndef UNWIND_WALK_H
#define UNWIND_WALK_H

#include <elf.h>
#include <stdbool.h>

#include "bpf/wire.h"
#include "unwind/table.h"

#if defined(__aarch64__)
#define WALK_HOST_MACHINE EM_AARCH64
#else
#define WALK_HOST_MACHINE EM_X86_64
#endif

/* The captured part of a stack. */
struct walk_memory {
	const uint8_t *bytes;
	uint64_t start; /* address of bytes[0] */
	uint64_t n;
	/* The instruction at the leaf, if known. */
	const void *code;
	uint64_t code_at;
	/* Frames of runtimes that belong to native ones still to come: @n_chain words, as struct
	 * bf_machine has them, of one runtime after the other; or NULL. */
	const __u64 *chain;
	uint32_t n_chain;
	/*
	 * Walks on in code that is no file's: moves @walk, adds frames after the @n there are, and
	 * returns how many words. *@ret_end: why the walk ends, or BF_END_NONE. NULL: nobody can.
	 */
	uint32_t (*range)(void *context, struct bf_walk *walk, const struct walk_memory *memory,
			  __u64 *frames, uint32_t n, int *ret_end);
	void *range_context;
};

/* The code at an address. */
struct walk_code {
	const struct unwind_table *table; /* NULL: no rows, frame pointers */
	uint64_t offset;		  /* in the file */
	uint32_t flags;			  /* BF_MAPPING_… */
	bool no_room;			  /* the table is there but had no room */
};

/*
 * Finds the code at @pc; for a caller, at the byte before its return address. Returns false if
 * nothing is mapped there.
 */
typedef bool (*walk_code_fn)(void *context, uint64_t pc, struct walk_code *ret);

/*
 * Walks on from @walk, whose frames[0 … *n - 1] are known, until walk->end gives the reason for
 * ending. Frames of a runtime are put in where they belong; the rest of them comes last. frames
 * has room for BF_MAX_FRAMES; leaf first; return addresses as on the stack.
 * @machine: EM_X86_64 or EM_AARCH64.
 */
void unwind_walk(struct bf_walk *walk, __u64 *frames, uint32_t *n, uint16_t machine,
		 const struct walk_memory *memory, walk_code_fn code_at, void *context);

#endif
