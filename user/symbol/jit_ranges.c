/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/jit_ranges.h"

#include <errno.h>
#include <stdlib.h>

int jit_ranges_init(struct jit_ranges *ranges, const struct lookups *lookups)
{
	uint64_t *tokens = calloc(2 * lookups->n + 1, sizeof *tokens);

	if (!tokens)
		return -ENOMEM;
	*ranges = (struct jit_ranges){.lookups = lookups, .tokens = tokens};
	return 0;
}

void jit_ranges_done(struct jit_ranges *ranges)
{
	free(ranges->tokens);
	*ranges = (struct jit_ranges){};
}

void jit_ranges_add(struct jit_ranges *ranges, uint64_t start, uint64_t size, uint64_t token)
{
	const struct lookups *lookups = ranges->lookups;
	size_t n = lookups->n, from, to = n;

	/* Most code was never seen running. */
	if (!n || !size || start > lookups->addresses[n - 1] ||
	    (start < lookups->addresses[0] && lookups->addresses[0] - start >= size))
		return;
	from = lookups_lower_bound(lookups, start);
	if (size <= UINT64_MAX - start)
		to = lookups_lower_bound(lookups, start + size);
	for (from += n, to += n; from < to; from /= 2, to /= 2) {
		if (from & 1)
			ranges->tokens[from++] = token;
		if (to & 1)
			ranges->tokens[--to] = token;
	}
}

/* The largest token from the leaf of lookup @i up to the root, or 0. */
static uint64_t latest(const struct jit_ranges *ranges, size_t i)
{
	uint64_t token = 0;

	for (size_t node = i + ranges->lookups->n; node; node /= 2)
		if (ranges->tokens[node] > token)
			token = ranges->tokens[node];
	return token;
}

static int winner_compare(const void *left, const void *right)
{
	const struct jit_winner *a = left, *b = right;

	if (a->token != b->token)
		return a->token < b->token ? -1 : 1;
	return a->lookup < b->lookup ? -1 : a->lookup > b->lookup;
}

int jit_ranges_winners(const struct jit_ranges *ranges, struct jit_winner **ret, size_t *ret_n)
{
	const struct lookups *lookups = ranges->lookups;
	struct jit_winner *winners = malloc((lookups->n + 1) * sizeof *winners);
	size_t n = 0;

	if (!winners)
		return -ENOMEM;
	for (size_t i = 0; i < lookups->n; i++) {
		winners[n] = (struct jit_winner){latest(ranges, i), i};
		n += winners[n].token && !lookups->names[i];
	}
	qsort(winners, n, sizeof *winners, winner_compare);
	*ret = winners;
	*ret_n = n;
	return 0;
}
