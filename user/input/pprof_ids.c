/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "input/pprof_ids.h"

#include <string.h>

#include "base/array.h"

#define MAX_SMALL ((size_t)1 << 22)
#define MIN_SMALL ((size_t)1 << 10)

void pprof_ids_done(struct pprof_ids *ids)
{
	free(ids->small);
	table_done(&ids->others);
	free(ids->items);
	*ids = (struct pprof_ids){};
}

static bool id_equal(const void *items, uint32_t position, const void *key)
{
	return ((const struct pprof_id *)items)[position].id == *(const uint64_t *)key;
}

uint32_t pprof_ids_find_other(const struct pprof_ids *ids, uint64_t id)
{
	uint32_t found;

	if (id < MAX_SMALL)
		return PPROF_UNSET;
	found = table_find(&ids->others, hash_mix(0, id), id_equal, ids->items, &id);
	return found == TABLE_NONE ? PPROF_UNSET : found;
}

/* Extends the array to @id, which is below MAX_SMALL. */
static int grow_small(struct pprof_ids *ids, uint64_t id)
{
	size_t n = ids->n_small ? ids->n_small : MIN_SMALL;
	uint32_t *small;

	if (id < ids->n_small)
		return 0;
	while (n <= id)
		n *= 2;
	small = reallocarray(ids->small, n, sizeof *small);
	if (!small)
		return -ENOMEM;
	memset(small + ids->n_small, 0, (n - ids->n_small) * sizeof *small);
	ids->small = small;
	ids->n_small = n;
	return 0;
}

int pprof_ids_add(struct pprof_ids *ids, uint64_t id, uint64_t at, uint32_t *ret)
{
	int r;

	if (ids->n >= PPROF_UNSET - 1)
		return -E2BIG;
	r = array_reserve(ids->items, ids->capacity, ids->n, 1);
	if (r < 0)
		return r;
	r = id < MAX_SMALL ? grow_small(ids, id) : table_add(&ids->others, hash_mix(0, id), ids->n);
	if (r < 0)
		return r;
	if (id < MAX_SMALL)
		ids->small[id] = ids->n + 1;
	*ret = ids->n;
	ids->items[ids->n++] = (struct pprof_id){.id = id, .at = at, .item = PPROF_UNSET};
	return 0;
}
