/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * missing_memory: brings back what walks in BPF lack, for they must not wait for memory: a stack,
 * or the frames of an interpreter, that were swapped out. A thread that does not return to its
 * outer functions never touches these pages itself, so all its stacks would be cut off. Reading
 * them from outside brings them back, as if the thread had: the next walk is whole.
 */
#ifndef COLLECT_MISSING_MEMORY_H
#define COLLECT_MISSING_MEMORY_H

#include "collect/unwinder.h"

struct missing_memory {
	uint64_t second; /* the current one, of CLOCK_MONOTONIC */
	uint32_t n;	 /* threads that were read for in it */
};

/*
 * Reads the stack of a thread of @process from @sp on, and what its chains need, with @tls as its
 * thread pointer. What can't be read stays as it is; so do those of many threads at once.
 */
void missing_memory_read(struct missing_memory *missing, struct unwinder *unwinder,
			 uint32_t process, uint64_t sp, uint64_t tls);

#endif
