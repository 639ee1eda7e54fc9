/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jit_ranges: finds, among many ranges of code in the order in which a JIT made them, the latest
 * one that contains each address.
 *
 * A JIT reuses memory, so ranges overlap in every way and later ones win. The data structure is a
 * segment tree over the lookups: a range is stored at no more than 2 log2(n) of its nodes, over
 * earlier ones. Tokens ascend, so the latest range of a lookup has the largest token between its
 * leaf and the root. Memory follows the lookups alone, and no choice of ranges makes one cost more.
 */
#ifndef SYMBOL_JIT_RANGES_H
#define SYMBOL_JIT_RANGES_H

#include "symbol/lookups.h"

struct jit_ranges {
	const struct lookups *lookups;
	uint64_t *tokens; /* node i has the children 2i and 2i + 1; the leaves are the last n */
};

/* The caller keeps @lookups unchanged. Errors: -ENOMEM. */
int jit_ranges_init(struct jit_ranges *ranges, const struct lookups *lookups);
void jit_ranges_done(struct jit_ranges *ranges);

/* Adds [@start, @start + @size). @token: identifies it; above 0 and all before. */
void jit_ranges_add(struct jit_ranges *ranges, uint64_t start, uint64_t size, uint64_t token);

/* A lookup and the latest range that contains it. */
struct jit_winner {
	uint64_t token;
	size_t lookup;
};

/*
 * The winners of all unnamed lookups, sorted by token, then by lookup: the caller can then read
 * their names in the order of the file, each once. The caller frees *ret. Errors: -ENOMEM.
 */
int jit_ranges_winners(const struct jit_ranges *ranges, struct jit_winner **ret, size_t *ret_n);

#endif
