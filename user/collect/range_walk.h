/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * range_walk: the loader's part of walks through runtimes' code: the stack is a snapshot, and what
 * a runtime knows of its code is read from the process, a page at a time.
 */
#ifndef COLLECT_RANGE_WALK_H
#define COLLECT_RANGE_WALK_H

#include "runtimes/runtime.h"
#include "unwind/walk.h"

#define RANGE_PAGES 64
#define RANGE_READS 2048 /* of pages, for a walk; a deep stack of Java takes some hundreds */

struct range_walk {
	struct range_runtime {
		const struct runtime_facts *facts;
		int64_t bias;
		struct bf_text text;
		struct bf_machine machine;
	} runtimes[BF_PROCESS_RUNTIMES];
	uint32_t n, turns;	      /* of all of them */
	uint32_t last;		      /* whose the last range was: it is tried first */
	struct runtime_memory memory; /* the process's */
	const struct walk_memory *stack;
	uint32_t n_pages, n_reads;
	uint64_t addresses[RANGE_PAGES];
	uint8_t pages[RANGE_PAGES][4096];
};

/* Readies it for a process without runtimes. */
void range_walk_init(struct range_walk *walk, const struct runtime_memory *memory);
/* Adds one, whose @facts outlive the walk. Returns false if no text walks through its code. */
bool range_walk_add(struct range_walk *walk, const struct runtime_facts *facts, int64_t bias);

/* For struct walk_memory, with the struct range_walk as @context. */
uint32_t range_walk_on(void *context, struct bf_walk *walk, const struct walk_memory *memory,
		       __u64 *frames, uint32_t n, int *ret_end);

#endif
