/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/raw_stacks.h"

#include <string.h>

#include "base/array.h"

static void generation_done(struct stack_generation *generation)
{
	free(generation->addresses);
	free(generation->stacks);
	table_done(&generation->by_id);
	*generation = (struct stack_generation){};
}

void raw_stacks_done(struct raw_stacks *stacks)
{
	generation_done(&stacks->now);
	generation_done(&stacks->before);
}

static bool id_equal(const void *items, uint32_t position, const void *key)
{
	return ((const struct stack_frames *)items)[position].id == *(const uint64_t *)key;
}

static const struct stack_frames *find_in_generation(const struct stack_generation *generation,
						     uint64_t id)
{
	uint32_t found = table_find(&generation->by_id, id, id_equal, generation->stacks, &id);

	return found == TABLE_NONE ? NULL : &generation->stacks[found];
}

/* @stack: all except the place of its addresses, @frames. */
static int add_to_generation(struct stack_generation *to, struct stack_frames stack,
			     const uint64_t *frames)
{
	/* One more: the array exists even if it is empty. */
	int r = array_reserve(to->addresses, to->addresses_capacity, to->n_addresses, stack.n + 1);

	if (r < 0)
		return r;
	r = array_reserve(to->stacks, to->stacks_capacity, to->n_stacks, 1);
	if (r < 0)
		return r;
	r = table_add(&to->by_id, stack.id, to->n_stacks);
	if (r < 0)
		return r;
	memcpy(to->addresses + to->n_addresses, frames, stack.n * sizeof *frames);
	stack.first = to->n_addresses;
	to->stacks[to->n_stacks++] = stack;
	to->n_addresses += stack.n;
	return 0;
}

int raw_stacks_find(struct raw_stacks *stacks, uint64_t id, struct stack_frames *ret)
{
	const struct stack_frames *found = find_in_generation(&stacks->now, id);
	int r;

	if (!found) {
		found = find_in_generation(&stacks->before, id);
		if (!found)
			return 0;
		r = add_to_generation(&stacks->now, *found,
				      stacks->before.addresses + found->first);
		if (r < 0)
			return r;
		found = &stacks->now.stacks[stacks->now.n_stacks - 1];
		stacks->carried += sizeof *found + found->n * sizeof *stacks->now.addresses;
	}
	*ret = *found;
	return 1;
}

int raw_stacks_add(struct raw_stacks *stacks, uint64_t id, uint64_t time, const __u64 *frames,
		   uint32_t n, uint32_t end)
{
	struct stack_frames new = {.id = id, .time = time, .n = n, .end = end}, known;
	int r = raw_stacks_find(stacks, id, &known);

	if (r != 0)
		return r < 0 ? r : 0;
	return add_to_generation(&stacks->now, new, (const uint64_t *)frames);
}

size_t raw_stacks_bytes(const struct raw_stacks *stacks)
{
	const struct stack_generation *now = &stacks->now;

	return now->addresses_capacity * sizeof *now->addresses +
	       now->stacks_capacity * sizeof *now->stacks +
	       now->by_id.n_slots * sizeof *now->by_id.slots;
}

void raw_stacks_age(struct raw_stacks *stacks)
{
	generation_done(&stacks->before);
	stacks->before = stacks->now;
	stacks->now = (struct stack_generation){};
	stacks->carried = 0;
}
