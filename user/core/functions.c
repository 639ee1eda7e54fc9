/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * functions: counts in one sweep over all stacks. Each group remembers the stack it was last seen
 * in, so that a stack adds to its total once, at the cost of one comparison. The time is that of
 * reading the stacks, whatever their order and however deep the recursion.
 */
#include "core/functions.h"

#include <errno.h>
#include <stdlib.h>

#define NO_GROUP UINT32_MAX

struct counting {
	struct tree_side (*groups)[N_SIDES];
	size_t *seen; /* by group: the stack it was last seen in; counts from 1 */
	size_t stack;
};

static void add_total(struct counting *counting, uint32_t group, const struct stacks_entry *entry)
{
	struct tree_side *side = &counting->groups[group][entry->side];

	if (counting->seen[group] == counting->stack)
		return;
	counting->seen[group] = counting->stack;
	side->total += entry->weight;
	side->total_variance += entry->variance;
}

static void add_self(struct counting *counting, uint32_t group, const struct stacks_entry *entry)
{
	struct tree_side *side = &counting->groups[group][entry->side];

	side->self += entry->weight;
	side->self_variance += entry->variance;
}

static void count_frames(struct counting *counting, const uint32_t *frames,
			 const struct stacks_entry *entry)
{
	for (uint32_t i = 0; i < entry->n; i++)
		add_total(counting, frames[i], entry);
	if (entry->n)
		add_self(counting, frames[entry->n - 1], entry);
}

static void count_groups(struct counting *counting, const uint32_t *frames,
			 const struct stacks_entry *entry, const uint32_t *groups)
{
	uint32_t last = NO_GROUP;

	for (uint32_t i = 0; i < entry->n; i++) {
		uint32_t group = groups[frames[i]];

		if (group == NO_GROUP)
			continue;
		add_total(counting, group, entry);
		last = group;
	}
	if (last != NO_GROUP)
		add_self(counting, last, entry);
}

static int counting_init(struct counting *counting, size_t n_groups)
{
	size_t n = n_groups ? n_groups : 1;

	counting->groups = calloc(n, sizeof *counting->groups);
	counting->seen = calloc(n, sizeof *counting->seen);
	counting->stack = 0;
	if (counting->groups && counting->seen)
		return 0;
	free(counting->groups);
	free(counting->seen);
	return -ENOMEM;
}

static void counting_give(struct counting *counting, size_t n_groups, struct functions *ret)
{
	free(counting->seen);
	*ret = (struct functions){counting->groups, n_groups};
}

int functions_count(const struct stacks *stacks, struct functions *ret)
{
	struct counting counting;
	int r = counting_init(&counting, stacks->n_frames);

	if (r < 0)
		return r;
	for (size_t i = 0; i < stacks->n_entries; i++) {
		const struct stacks_entry *entry = &stacks->entries[i];

		counting.stack++;
		count_frames(&counting, stacks->ids + entry->first, entry);
	}
	counting_give(&counting, stacks->n_frames, ret);
	return 0;
}

int functions_count_groups(const struct stacks *stacks, const uint32_t *groups, size_t n_groups,
			   struct functions *ret)
{
	struct counting counting;
	int r = counting_init(&counting, n_groups);

	if (r < 0)
		return r;
	for (size_t i = 0; i < stacks->n_entries; i++) {
		const struct stacks_entry *entry = &stacks->entries[i];

		counting.stack++;
		count_groups(&counting, stacks->ids + entry->first, entry, groups);
	}
	counting_give(&counting, n_groups, ret);
	return 0;
}

void functions_done(struct functions *functions)
{
	free(functions->frames);
	*functions = (struct functions){0};
}
