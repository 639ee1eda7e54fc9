/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * raw_stacks: the frames of every stack id that the BPF programs have sent, kept once.
 */
#ifndef COLLECT_RAW_STACKS_H
#define COLLECT_RAW_STACKS_H

#include <linux/types.h>

#include "base/table.h"

struct stack_frames {
	uint64_t id;
	uint64_t first; /* in raw_stacks.addresses */
	uint16_t n;
	uint16_t end; /* enum bf_end */
};

struct raw_stacks {
	uint64_t *addresses;
	size_t n_addresses, addresses_capacity;
	struct stack_frames *stacks;
	size_t n_stacks, stacks_capacity;
	struct table by_id;
};

void raw_stacks_done(struct raw_stacks *stacks);

/* Keeps the frames of @id, leaf first, unless they are known. Errors: -ENOMEM. */
int raw_stacks_add(struct raw_stacks *stacks, uint64_t id, const __u64 *frames, uint32_t n,
		   uint32_t end);

/* NULL when the frames never arrived. */
const struct stack_frames *raw_stacks_find(const struct raw_stacks *stacks, uint64_t id);

#endif
