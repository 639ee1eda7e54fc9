/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pool: an array whose items keep their index until they are given back and reused.
 *
 *	struct thing *things;
 *	struct pool pool;
 *	r = pool_take(things, pool, &index);	things[index] is zeroed
 *	pool_give(&pool, index);
 *
 * pool.n is the array's length, including free items.
 */
#ifndef BASE_POOL_H
#define BASE_POOL_H

#include <string.h>

#include "base/array.h"

/* Zeroed: empty. */
struct pool {
	size_t n, capacity;
	uint32_t *free;
	size_t n_free, free_capacity;
};

static inline int pool_take_size(void **items, struct pool *pool, size_t item_size,
				 uint32_t *ret_index)
{
	if (!pool->n_free) {
		int r = array_reserve_size(items, &pool->capacity, pool->n, 1, item_size);

		if (r < 0)
			return r;
		/* Giving back never fails. */
		r = array_reserve(pool->free, pool->free_capacity, 0, pool->n + 1);
		if (r < 0)
			return r;
		pool->free[pool->n_free++] = pool->n++;
	}
	*ret_index = pool->free[--pool->n_free];
	memset((char *)*items + *ret_index * item_size, 0, item_size);
	return 0;
}

/* Errors: -ENOMEM. */
#define pool_take(items, pool, ret_index)                                                          \
	({                                                                                         \
		void *_items = (items);                                                            \
		int _r = pool_take_size(&_items, &(pool), sizeof *(items), (ret_index));           \
		(items) = _items;                                                                  \
		_r;                                                                                \
	})

static inline void pool_give(struct pool *pool, uint32_t index)
{
	pool->free[pool->n_free++] = index;
}

#endif
