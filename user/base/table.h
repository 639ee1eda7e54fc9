/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * table: an open-addressing index from 64-bit hashes to uint32_t positions.
 *
 * The caller has the items in an array; the table only holds (hash, position) pairs. So one kind of
 * table serves strings, stacks, processes and counts, and arrays are free to move. Linear probing,
 * at most 3/4 full.
 */
#ifndef BASE_TABLE_H
#define BASE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TABLE_NONE UINT32_MAX

/* Small, for a look-up in a large table mostly waits for memory. */
struct table_slot {
	uint32_t hash;	   /* its low bits: whether an item is the one, equal() says */
	uint32_t position; /* TABLE_NONE: free */
};

struct table {
	struct table_slot *slots;
	size_t n_slots; /* 0 or a power of two */
	size_t n_used;
};

/* Whether the caller's item at @position matches @key. */
typedef bool (*table_equal_fn)(const void *items, uint32_t position, const void *key);

void table_done(struct table *table);

/* The position of @key, or TABLE_NONE. */
uint32_t table_find(const struct table *table, uint64_t hash, table_equal_fn equal,
		    const void *items, const void *key);

/*
 * A large table waits for memory at each look-up. Many of them wait at once where the slots of all
 * are fetched first. table_fetched(): where such a slot probably says that the item is, or
 * TABLE_NONE, for its memory to be fetched next.
 */
static inline void table_fetch(const struct table *table, uint64_t hash)
{
	if (table->n_slots)
		__builtin_prefetch(&table->slots[hash & (table->n_slots - 1)]);
}

static inline uint32_t table_fetched(const struct table *table, uint64_t hash)
{
	return table->n_slots ? table->slots[hash & (table->n_slots - 1)].position : TABLE_NONE;
}

/* Adds a position that the caller knows to be absent. Errors: -ENOMEM, the table unchanged. */
int table_add(struct table *table, uint64_t hash, uint32_t position);

/*
 * The position of the item of an array that is equal to *@item, a copy of which is added if there
 * is none. Errors: -ENOMEM; -E2BIG for more than there are positions; nothing was added.
 */
#define table_intern(table, hash, equal, items, capacity, n, item, ret)                            \
	({                                                                                         \
		void *_items = (items);                                                            \
		int _r = table_intern_size((table), (hash), (equal), &_items, &(capacity), &(n),   \
					   sizeof *(items), (item), (ret));                        \
		(items) = _items;                                                                  \
		_r;                                                                                \
	})
int table_intern_size(struct table *table, uint64_t hash, table_equal_fn equal, void **items,
		      size_t *capacity, size_t *n, size_t size, const void *item, uint32_t *ret);

/* Removes @position, which was added under @hash. */
void table_remove(struct table *table, uint64_t hash, uint32_t position);

/* Makes room for @n more positions at once. Errors: -ENOMEM, the table unchanged. */
int table_reserve(struct table *table, size_t n);

/* A well-mixed hash of @n bytes (not for keys an attacker chooses: flooding only costs time). */
uint64_t hash_bytes(const void *bytes, size_t n);
uint64_t hash_mix(uint64_t hash, uint64_t value);

#endif
