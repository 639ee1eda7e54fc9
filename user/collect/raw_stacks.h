/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * raw_stacks: the frames of every stack id that the BPF programs have sent, kept once.
 *
 * There are two generations, so that a recording of hours does not keep unneeded ones: a lookup
 * moves a stack from the previous generation to the current one; stacks not looked up during a
 * whole generation go with the next. When a generation begins, the caller has the programs send
 * everything again.
 */
#ifndef COLLECT_RAW_STACKS_H
#define COLLECT_RAW_STACKS_H

#include <linux/types.h>

#include "base/table.h"

struct stack_frames {
	uint64_t id;
	uint64_t time;	/* monotonic ns: its addresses refer to the mappings at this time; 0: now */
	uint64_t first; /* of its addresses, see raw_stacks_addresses() */
	uint16_t n;
	uint16_t end; /* enum bf_end */
};

struct raw_stacks {
	struct stack_generation {
		uint64_t *addresses;
		size_t n_addresses, addresses_capacity;
		struct stack_frames *stacks;
		size_t n_stacks, stacks_capacity;
		struct table by_id;
	} now, before;
	size_t carried; /* bytes moved from the previous generation to the current */
};

void raw_stacks_done(struct raw_stacks *stacks);

/* Keeps the frames of @id, leaf first, unless they are known. Errors: -ENOMEM. */
int raw_stacks_add(struct raw_stacks *stacks, uint64_t id, uint64_t time, const __u64 *frames,
		   uint32_t n, uint32_t end);

/* Returns 1; 0 if the frames never arrived, or are forgotten; -ENOMEM. */
int raw_stacks_find(struct raw_stacks *stacks, uint64_t id, struct stack_frames *ret);

/* The addresses of a found stack; valid until the next call of another function. */
static inline const uint64_t *raw_stacks_addresses(const struct raw_stacks *stacks,
						   const struct stack_frames *frames)
{
	return stacks->now.addresses + frames->first;
}

/* The size of the current generation. */
size_t raw_stacks_bytes(const struct raw_stacks *stacks);

/* Begins a new generation; forgets the previous one. */
void raw_stacks_age(struct raw_stacks *stacks);

#endif
