/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * raw_stacks: the frames of every stack id that the BPF programs have sent, kept once.
 *
 * In two generations, so that a recording of hours does not keep what it needs no more: what is
 * asked for moves on from the one before to the one that is now; what nobody asked for while one
 * was filled goes with the next. Whoever begins a generation has the programs send all anew.
 */
#ifndef COLLECT_RAW_STACKS_H
#define COLLECT_RAW_STACKS_H

#include <linux/types.h>

#include "base/table.h"

struct stack_frames {
	uint64_t id;
	uint64_t time;	/* monotonic ns: its addresses are of what was mapped then; 0: now */
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
	size_t carried; /* bytes that moved on from before to now */
};

void raw_stacks_done(struct raw_stacks *stacks);

/* Keeps the frames of @id, leaf first, unless they are known. Errors: -ENOMEM. */
int raw_stacks_add(struct raw_stacks *stacks, uint64_t id, uint64_t time, const __u64 *frames,
		   uint32_t n, uint32_t end);

/* Returns 1; 0 when the frames never arrived, or are forgotten; -ENOMEM. */
int raw_stacks_find(struct raw_stacks *stacks, uint64_t id, struct stack_frames *ret);

/* Those of what was found; valid until the next call of another function. */
static inline const uint64_t *raw_stacks_addresses(const struct raw_stacks *stacks,
						   const struct stack_frames *frames)
{
	return stacks->now.addresses + frames->first;
}

/* Of the generation that is now. */
size_t raw_stacks_bytes(const struct raw_stacks *stacks);

/* Begins a new generation; the one before this is forgotten. */
void raw_stacks_age(struct raw_stacks *stacks);

#endif
