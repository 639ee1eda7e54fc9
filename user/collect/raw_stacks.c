/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/raw_stacks.h"

#include <string.h>

#include "base/array.h"

void raw_stacks_done(struct raw_stacks *stacks)
{
	free(stacks->addresses);
	free(stacks->stacks);
	table_done(&stacks->by_id);
	*stacks = (struct raw_stacks){};
}

static bool id_equal(const void *items, uint32_t position, const void *key)
{
	return ((const struct stack_frames *)items)[position].id == *(const uint64_t *)key;
}

const struct stack_frames *raw_stacks_find(const struct raw_stacks *stacks, uint64_t id)
{
	uint32_t found = table_find(&stacks->by_id, id, id_equal, stacks->stacks, &id);

	return found == TABLE_NONE ? NULL : &stacks->stacks[found];
}

int raw_stacks_add(struct raw_stacks *stacks, uint64_t id, const __u64 *frames, uint32_t n,
		   uint32_t end)
{
	int r;

	if (raw_stacks_find(stacks, id))
		return 0;
	r = array_reserve(stacks->addresses, stacks->addresses_capacity, stacks->n_addresses, n);
	if (r < 0)
		return r;
	r = array_reserve(stacks->stacks, stacks->stacks_capacity, stacks->n_stacks, 1);
	if (r < 0)
		return r;
	r = table_add(&stacks->by_id, id, stacks->n_stacks);
	if (r < 0)
		return r;
	memcpy(stacks->addresses + stacks->n_addresses, frames, n * sizeof *frames);
	stacks->stacks[stacks->n_stacks++] = (struct stack_frames){id, stacks->n_addresses, n, end};
	stacks->n_addresses += n;
	return 0;
}
