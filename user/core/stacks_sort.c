/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stacks_sort: stacks are strings of numbers, so multikey quicksort sorts them (J. Bentley, R.
 * Sedgewick: Fast Algorithms for Sorting and Searching Strings, 1997). It looks at each number that
 * distinguishes stacks about once, and at a common beginning only until it is known to be common.
 * Files are mostly sorted already: check that first.
 */
#include "core/stacks.h"

/* For fewer entries, comparing neighbours beats splitting. */
#define FEW 12

struct sort_keys {
	const uint32_t *ids;
	const uint32_t *const *ranks;
};

/* The key at @depth: 0 is past the end. */
static uint64_t key_at(const struct sort_keys *keys, const struct stacks_entry *entry,
		       uint32_t depth)
{
	if (depth >= entry->n)
		return 0;
	return (uint64_t)keys->ranks[depth == entry->n - 1][keys->ids[entry->first + depth]] + 1;
}

static int compare(const struct sort_keys *keys, const struct stacks_entry *a,
		   const struct stacks_entry *b, uint32_t depth)
{
	for (;; depth++) {
		uint64_t x = key_at(keys, a, depth), y = key_at(keys, b, depth);

		if (x != y)
			return x < y ? -1 : 1;
		if (!x)
			return 0;
	}
}

static void swap(struct stacks_entry *a, struct stacks_entry *b)
{
	struct stacks_entry entry = *a;

	*a = *b;
	*b = entry;
}

static void insert_each(const struct sort_keys *keys, struct stacks_entry *entries, size_t n,
			uint32_t depth)
{
	for (size_t i = 1; i < n; i++)
		for (size_t k = i; k && compare(keys, &entries[k - 1], &entries[k], depth) > 0; k--)
			swap(&entries[k - 1], &entries[k]);
}

static uint64_t median(uint64_t a, uint64_t b, uint64_t c)
{
	if (a > b) {
		uint64_t t = a;

		a = b;
		b = t;
	}
	return c < a ? a : c > b ? b : c;
}

/* Splits by the key at @depth: [0, *ret_less) below the pivot, [*ret_more, n) above it. */
static uint64_t split(const struct sort_keys *keys, struct stacks_entry *entries, size_t n,
		      uint32_t depth, size_t *ret_less, size_t *ret_more)
{
	uint64_t pivot =
		median(key_at(keys, &entries[0], depth), key_at(keys, &entries[n / 2], depth),
		       key_at(keys, &entries[n - 1], depth));
	size_t less = 0, more = n;

	for (size_t i = 0; i < more;) {
		uint64_t key = key_at(keys, &entries[i], depth);

		if (key < pivot)
			swap(&entries[less++], &entries[i++]);
		else if (key > pivot)
			swap(&entries[i], &entries[--more]);
		else
			i++;
	}
	*ret_less = less;
	*ret_more = more;
	return pivot;
}

/*
 * Continues with the largest of the three parts in place, so that calls nest at most log2(n) deep.
 */
static void sort(const struct sort_keys *keys, struct stacks_entry *entries, size_t n,
		 uint32_t depth)
{
	while (n > FEW) {
		size_t less, more, equal;
		uint64_t pivot = split(keys, entries, n, depth, &less, &more);

		equal = more - less;
		if (!pivot)
			equal = 0; /* all of them end here */
		if (equal >= less && equal >= n - more) {
			sort(keys, entries, less, depth);
			sort(keys, entries + more, n - more, depth);
			entries += less;
			n = equal;
			depth++;
		} else if (less >= n - more) {
			sort(keys, entries + less, equal, depth + 1);
			sort(keys, entries + more, n - more, depth);
			n = less;
		} else {
			sort(keys, entries, less, depth);
			sort(keys, entries + less, equal, depth + 1);
			entries += more;
			n -= more;
		}
	}
	insert_each(keys, entries, n, depth);
}

static bool is_sorted(const struct sort_keys *keys, const struct stacks *stacks)
{
	for (size_t i = 1; i < stacks->n_entries; i++)
		if (compare(keys, &stacks->entries[i - 1], &stacks->entries[i], 0) > 0)
			return false;
	return true;
}

void stacks_sort(struct stacks *stacks, const uint32_t *const ranks[2])
{
	struct sort_keys keys = {stacks->ids, ranks};

	if (!is_sorted(&keys, stacks))
		sort(&keys, stacks->entries, stacks->n_entries, 0);
}
