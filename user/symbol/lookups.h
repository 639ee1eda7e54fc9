/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lookups: the addresses of one symbol source that need names.
 *
 * They are ascending and distinct. A source goes through its symbols once and finds, for each, the
 * addresses it may name by binary search: few addresses are seen, many symbols are defined.
 */
#ifndef SYMBOL_LOOKUPS_H
#define SYMBOL_LOOKUPS_H

#include <stddef.h>
#include <stdint.h>

struct lookups {
	uint64_t *addresses;
	uint32_t *names; /* string ids; 0: no symbol */
	size_t n;
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

#endif
