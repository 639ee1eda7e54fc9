/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jit_ranges: of many ranges of code, told in the order in which a JIT made them, the latest one
 * that holds each address.
 *
 * A JIT uses memory again, so ranges overlap in every way and later ones win. The tree is a segment
 * tree over the lookups: a range is noted at no more than 2 log2(n) of its nodes, over what was
 * there, and as tokens ascend, the latest range of a lookup is the largest token between its leaf
 * and the root. Memory follows the lookups alone, and no choice of ranges makes one cost more.
 */
#ifndef SYMBOL_JIT_RANGES_H
#define SYMBOL_JIT_RANGES_H

#include "symbol/lookups.h"

struct jit_ranges {
	const struct lookups *lookups;
	uint64_t *tokens; /* node i has the children 2i and 2i + 1; the leaves are the last n */
};

/* @lookups stay the caller's and must not change. Errors: -ENOMEM. */
int jit_ranges_init(struct jit_ranges *ranges, const struct lookups *lookups);
void jit_ranges_done(struct jit_ranges *ranges);

/* Notes [@start, @start + @size). @token: what tells it, above 0 and above all before. */
void jit_ranges_add(struct jit_ranges *ranges, uint64_t start, uint64_t size, uint64_t token);

/* A lookup and the latest range that holds it. */
struct jit_winner {
	uint64_t token;
	size_t lookup;
};

/*
 * The winners of all lookups that have no name yet, sorted by token, then by lookup: what the
 * ranges stand for is then read in the order of the file, and once. The caller frees *ret.
 * Errors: -ENOMEM.
 */
int jit_ranges_winners(const struct jit_ranges *ranges, struct jit_winner **ret, size_t *ret_n);

#endif
