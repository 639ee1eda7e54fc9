/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lookups: the addresses of one symbol source that need names.
 *
 * They are ascending and distinct. A source goes through its symbols once and finds, for each, the
 * addresses it may name by binary search: few addresses are seen, many symbols are defined.
 *
 * Where spans are wanted, a source also says how far around an address its answer holds: it cuts
 * them wherever another answer may begin.
 */
#ifndef SYMBOL_LOOKUPS_H
#define SYMBOL_LOOKUPS_H

#include <stddef.h>
#include <stdint.h>

/* All addresses from @from up to @to have the answer of the one between them. */
struct lookup_span {
	uint64_t from, to;
};

struct lookups {
	uint64_t *addresses;
	uint32_t *names; /* string ids; 0: no symbol */
	size_t n;
	struct lookup_span *spans; /* NULL: not wanted */
};

/* The first address that is not below @value; n if all are. */
static inline size_t lookups_lower_bound(const struct lookups *lookups, uint64_t value)
{
	const uint64_t *base = lookups->addresses;
	size_t n = lookups->n;

	while (n > 1) {
		size_t half = n / 2;

		base += (base[half - 1] < value) * half;
		n -= half;
	}
	return base - lookups->addresses + (n && *base < value);
}

/* Cuts spans at @border; @at: lookups_lower_bound() of it. */
static inline void lookups_cut_at(const struct lookups *lookups, size_t at, uint64_t border)
{
	struct lookup_span *spans = lookups->spans;

	if (!spans)
		return;
	if (at < lookups->n && spans[at].from < border)
		spans[at].from = border;
	if (at && spans[at - 1].to > border)
		spans[at - 1].to = border;
}

static inline void lookups_cut(const struct lookups *lookups, uint64_t border)
{
	if (lookups->spans)
		lookups_cut_at(lookups, lookups_lower_bound(lookups, border), border);
}

/* The answer for address @i is about no other one. */
static inline void lookups_isolate(const struct lookups *lookups, size_t i)
{
	uint64_t address = lookups->addresses[i];

	if (lookups->spans)
		lookups->spans[i] = (struct lookup_span){address, address + 1};
}

/* What cuts the span of an address also cuts those of the addresses beyond. */
static inline void lookups_finish_spans(const struct lookups *lookups)
{
	struct lookup_span *spans = lookups->spans;

	for (size_t i = 1; i < lookups->n; i++)
		if (spans[i].from < spans[i - 1].from)
			spans[i].from = spans[i - 1].from;
	for (size_t i = lookups->n; i-- > 1;)
		if (spans[i - 1].to > spans[i].to)
			spans[i - 1].to = spans[i].to;
}

#endif
