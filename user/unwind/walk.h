/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * walk: the unwinder on the host. Takes the same steps as the BPF programs (bpf/unwind_step.h) over
 * memory and registers captured from a thread.
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

/* What was captured of a stack. */
struct walk_memory {
	const uint8_t *bytes;
	uint64_t start; /* address of bytes[0] */
	uint64_t n;
	/* The instruction at the leaf, if it is known. */
	const void *code;
	uint64_t code_at;
};

/* What lies at an address. */
struct walk_code {
	const struct unwind_table *table; /* NULL: no rows, frame pointers */
	uint64_t offset;		  /* in the file */
	uint32_t flags;			  /* BF_MAPPING_… */
	bool no_room;			  /* the table is there but had no room */
};

/* Tells what code lies at @pc, of a caller the byte before its return address. Returns false when nothing is mapped there. */
typedef bool (*walk_code_fn)(void *context, uint64_t pc, struct walk_code *ret);

/*
 * Walks on from @walk, whose frames[0 … *n - 1] are known, until walk->end says why it ended.
 * frames has room for BF_MAX_FRAMES; leaf first; return addresses as they are on the stack.
 * @machine: EM_X86_64 or EM_AARCH64.
 */
void unwind_walk(struct bf_walk *walk, __u64 *frames, uint32_t *n, uint16_t machine,
		 const struct walk_memory *memory, walk_code_fn code_at, void *context);

#endif
