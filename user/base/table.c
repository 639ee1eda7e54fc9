/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/huge_pages.h"

#define MIN_SLOTS 64

void table_done(struct table *table)
{
	free(table->slots);
	*table = (struct table){};
}

uint32_t table_find(const struct table *table, uint64_t hash, table_equal_fn equal,
		    const void *items, const void *key)
{
	if (!table->n_slots)
		return TABLE_NONE;

	for (size_t i = hash & (table->n_slots - 1);; i = (i + 1) & (table->n_slots - 1)) {
		const struct table_slot *slot = &table->slots[i];

		if (slot->position == TABLE_NONE)
			return TABLE_NONE;
		if (slot->hash == (uint32_t)hash && equal(items, slot->position, key))
			return slot->position;
	}
}

static void place(struct table_slot *slots, size_t n_slots, struct table_slot slot)
{
	size_t i = slot.hash & (n_slots - 1);

	while (slots[i].position != TABLE_NONE)
		i = (i + 1) & (n_slots - 1);
	slots[i] = slot;
}

static struct table_slot *make_slots(size_t n_slots)
{
	struct table_slot *slots = huge_pages_malloc(n_slots * sizeof *slots);

	if (!slots)
		return NULL;
	for (size_t i = 0; i < n_slots; i++)
		slots[i].position = TABLE_NONE;
	return slots;
}

static int grow(struct table *table, size_t n_slots)
{
	struct table_slot *slots = make_slots(n_slots);

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < table->n_slots; i++)
		if (table->slots[i].position != TABLE_NONE)
			place(slots, n_slots, table->slots[i]);
	free(table->slots);
	table->slots = slots;
	table->n_slots = n_slots;
	return 0;
}

int table_reserve(struct table *table, size_t n)
{
	size_t n_slots = table->n_slots ? table->n_slots : MIN_SLOTS;

	while ((table->n_used + n) * 4 >= n_slots * 3)
		n_slots *= 2;
	return n_slots == table->n_slots ? 0 : grow(table, n_slots);
}

int table_add(struct table *table, uint64_t hash, uint32_t position)
{
	if (table->n_used * 4 >= table->n_slots * 3) {
		int r = grow(table, table->n_slots ? table->n_slots * 2 : MIN_SLOTS);

		if (r < 0)
			return r;
	}
	place(table->slots, table->n_slots,
	      (struct table_slot){.hash = hash, .position = position});
	table->n_used++;
	return 0;
}

int table_intern_size(struct table *table, uint64_t hash, table_equal_fn equal, void **items,
		      size_t *capacity, size_t *n, size_t size, const void *item, uint32_t *ret)
{
	uint32_t found = table_find(table, hash, equal, *items, item);
	int r;

	if (found == TABLE_NONE) {
		if (*n >= TABLE_NONE)
			return -E2BIG;
		r = array_reserve_size(items, capacity, *n, 1, size);
		if (r < 0)
			return r;
		r = table_add(table, hash, *n);
		if (r < 0)
			return r;
		memcpy((char *)*items + *n * size, item, size);
		found = (*n)++;
	}
	*ret = found;
	return 0;
}

void table_remove(struct table *table, uint64_t hash, uint32_t position)
{
	size_t mask = table->n_slots - 1, hole, i;

	for (hole = hash & mask; table->slots[hole].position != position;)
		hole = (hole + 1) & mask;
	/*
	 * Moves back entries that could not be found beyond a free slot (Knuth, 6.4, algorithm R).
	 */
	for (i = (hole + 1) & mask; table->slots[i].position != TABLE_NONE; i = (i + 1) & mask) {
		size_t wanted = table->slots[i].hash & mask;

		if (((i - wanted) & mask) < ((i - hole) & mask))
			continue;
		table->slots[hole] = table->slots[i];
		hole = i;
	}
	table->slots[hole].position = TABLE_NONE;
	table->n_used--;
}

uint64_t hash_mix(uint64_t hash, uint64_t value)
{
	hash ^= value;
	hash *= 0x9e3779b97f4a7c15ULL;
	return hash ^ (hash >> 32);
}

uint64_t hash_bytes(const void *bytes, size_t n)
{
	const unsigned char *p = bytes;
	uint64_t hash = n, word;

	for (; n >= sizeof word; n -= sizeof word, p += sizeof word) {
		memcpy(&word, p, sizeof word);
		hash = hash_mix(hash, word);
	}
	word = 0;
	memcpy(&word, p, n);
	return hash_mix(hash, word);
}
