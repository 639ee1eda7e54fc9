/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stacks: the frames of every stack id that the BPF programs have sent, kept once.
 */
#ifndef COLLECT_STACKS_H
#define COLLECT_STACKS_H

#include <linux/types.h>

#include "base/table.h"

struct stack_frames {
	uint64_t id;
	uint64_t first; /* in stacks.addresses */
	uint16_t n;
	uint16_t end; /* enum bf_end */
};

struct stacks {
	uint64_t *addresses;
	size_t n_addresses, addresses_capacity;
	struct stack_frames *stacks;
	size_t n_stacks, stacks_capacity;
	struct table by_id;
};

void stacks_done(struct stacks *stacks);

/* Keeps the frames of @id, leaf first, unless they are known. Errors: -ENOMEM. */
int stacks_add(struct stacks *stacks, uint64_t id, const __u64 *frames, uint32_t n, uint32_t end);

/* NULL when the frames never arrived. */
const struct stack_frames *stacks_find(const struct stacks *stacks, uint64_t id);

#endif
