/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "compare/compact.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Arrays grow by half their size. */
#define LEAST_CAPACITY 16

static bool is_same(const struct stacks *stacks, const struct stacks_entry *a,
		    const struct stacks_entry *b)
{
	return a->n == b->n && (a->n == 0 || memcmp(stacks->ids + a->first, stacks->ids + b->first,
						    a->n * sizeof *stacks->ids) == 0);
}

/* Merges neighbours; of each stack, one entry per side remains. */
static size_t merge_entries(struct stacks *stacks)
{
	struct stacks_entry *entries = stacks->entries;
	size_t kept = 0, from = 0; /* from: the first entry of the latest stack */

	for (size_t i = 0; i < stacks->n_entries; i++) {
		struct stacks_entry entry = entries[i];
		size_t at;

		if (kept > from && !is_same(stacks, &entries[from], &entry))
			from = kept;
		for (at = from; at < kept && entries[at].side != entry.side; at++)
			;
		if (at < kept) {
			entries[at].weight += entry.weight;
			entries[at].variance += entry.variance;
		} else {
			entries[kept++] = entry;
		}
	}
	return kept;
}

int stacks_compact(struct stacks *stacks)
{
	uint32_t *identity = calloc(stacks->n_frames + 1, sizeof *identity), *ids;
	const uint32_t *const ranks[2] = {identity, identity};
	size_t n = 0;

	if (!identity)
		return -ENOMEM;
	for (size_t i = 0; i < stacks->n_frames; i++)
		identity[i] = i;
	stacks_sort(stacks, ranks);
	free(identity);
	stacks->n_entries = merge_entries(stacks);
	for (size_t i = 0; i < stacks->n_entries; i++)
		n += stacks->entries[i].n;
	ids = calloc(n + LEAST_CAPACITY, sizeof *ids);
	if (!ids)
		return -ENOMEM;
	n = 0;
	for (size_t i = 0; i < stacks->n_entries; i++) {
		struct stacks_entry *entry = &stacks->entries[i];

		if (entry->n)
			memcpy(ids + n, stacks->ids + entry->first, entry->n * sizeof *ids);
		entry->first = n;
		n += entry->n;
	}
	free(stacks->ids);
	stacks->ids = ids;
	stacks->n_ids = n;
	stacks->ids_capacity = n + LEAST_CAPACITY;
	return 0;
}
