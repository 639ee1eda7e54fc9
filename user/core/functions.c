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

struct group_counts {
	struct tree_side (*groups)[N_SIDES];
	size_t *seen; /* by group: the stack it was last seen in; counts from 1 */
	size_t stack;
};

static void add_total(struct group_counts *counts, uint32_t group, const struct stacks_entry *entry)
{
	struct tree_side *side = &counts->groups[group][entry->side];

	if (counts->seen[group] == counts->stack)
		return;
	counts->seen[group] = counts->stack;
	side->total += entry->weight;
	side->total_variance += entry->variance;
}

static void add_self(struct group_counts *counts, uint32_t group, const struct stacks_entry *entry)
{
	struct tree_side *side = &counts->groups[group][entry->side];

	side->self += entry->weight;
	side->self_variance += entry->variance;
}

static void count_groups(struct group_counts *counts, const uint32_t *frames,
			 const struct stacks_entry *entry, const uint32_t *groups)
{
	uint32_t last = NO_GROUP;

	for (uint32_t i = 0; i < entry->n; i++) {
		uint32_t group = groups[frames[i]];

		if (group == NO_GROUP)
			continue;
		add_total(counts, group, entry);
		last = group;
	}
	if (last != NO_GROUP)
		add_self(counts, last, entry);
}

static int counting_init(struct group_counts *counts, size_t n_groups)
{
	size_t n = n_groups ? n_groups : 1;

	counts->groups = calloc(n, sizeof *counts->groups);
	counts->seen = calloc(n, sizeof *counts->seen);
	counts->stack = 0;
	if (counts->groups && counts->seen)
		return 0;
	free(counts->groups);
	free(counts->seen);
	return -ENOMEM;
}

int functions_count_groups(const struct stacks *stacks, const uint32_t *groups, size_t n_groups,
			   struct functions *ret)
{
	struct group_counts counts;
	int r = counting_init(&counts, n_groups);

	if (r < 0)
		return r;
	for (size_t i = 0; i < stacks->n_entries; i++) {
		const struct stacks_entry *entry = &stacks->entries[i];

		counts.stack++;
		count_groups(&counts, stacks->ids + entry->first, entry, groups);
	}
	free(counts.seen);
	*ret = (struct functions){counts.groups, n_groups};
	return 0;
}

void functions_done(struct functions *functions)
{
	free(functions->frames);
	*functions = (struct functions){0};
}
