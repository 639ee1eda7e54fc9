/* SPDX-License-Identifier: GPL-2.0-or-later */
/* array: grows a plain C array that lives in a struct as (items, n_items, capacity). */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* Makes room for @extra more items. Errors: -ENOMEM, the array unchanged. */
static inline int array_reserve_size(void **items, size_t *capacity, size_t n, size_t extra,
				     size_t item_size)
{
	size_t want = n + extra, new_capacity = *capacity ? *capacity : 16;
	void *grown;

	if (want <= *capacity)
		return 0;
	while (new_capacity < want)
		new_capacity += new_capacity / 2;
	grown = reallocarray(*items, new_capacity, item_size);
	if (!grown)
		return -ENOMEM;
	*items = grown;
	*capacity = new_capacity;
	return 0;
}

#define array_reserve(items, capacity, n, extra)                                                   \
	({                                                                                         \
		void *_items = (items);                                                            \
		int _r = array_reserve_size(&_items, &(capacity), (n), (extra), sizeof *(items));  \
		(items) = _items;                                                                  \
		_r;                                                                                \
	})

/* Appends an item. Errors: -ENOMEM, the array unchanged. */
#define array_add(items, capacity, n, ...)                                                         \
	({                                                                                         \
		int _reserved = array_reserve(items, capacity, n, 1);                              \
		if (_reserved == 0)                                                                \
			(items)[(n)++] = (__VA_ARGS__);                                            \
		_reserved;                                                                         \
	})

#endif
