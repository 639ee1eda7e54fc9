/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pprof_ids: maps the arbitrary ids of a file to numbers from 0 on.
 *
 * Most ids are 1 to n, and those of locations are looked up 45 million times in a file of a million
 * stacks: an array finds small ids, a table the others.
 */
#ifndef INPUT_PPROF_IDS_H
#define INPUT_PPROF_IDS_H

#include "base/table.h"

#define PPROF_UNSET UINT32_MAX

struct pprof_id {
	uint64_t id;
	uint64_t at;   /* the byte of the file where it was first seen */
	uint32_t item; /* the item with this id, or PPROF_UNSET */
};

struct pprof_ids {
	uint32_t *small; /* by id: number + 1; 0: not there */
	size_t n_small;
	struct table others;
	struct pprof_id *items;
	size_t n, capacity;
};

void pprof_ids_done(struct pprof_ids *ids);

/* Finds ids that are not in the array. PPROF_UNSET: not there. */
uint32_t pprof_ids_find_other(const struct pprof_ids *ids, uint64_t id);

/* The number of @id; PPROF_UNSET: it was not added. */
static inline uint32_t pprof_ids_find(const struct pprof_ids *ids, uint64_t id)
{
	return id < ids->n_small ? ids->small[id] - 1 : pprof_ids_find_other(ids, id);
}

/* Adds @id, which must be new. Errors: -ENOMEM, -E2BIG. */
int pprof_ids_add(struct pprof_ids *ids, uint64_t id, uint64_t at, uint32_t *ret);

#endif
