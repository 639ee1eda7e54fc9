/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/wakers.h"

#include <stdlib.h>

#include "base/array.h"

void wakers_done(struct wakers *wakers)
{
	free(wakers->wakers);
	free(wakers->chains);
	table_done(&wakers->by_id);
	table_done(&wakers->chain_by_id);
	*wakers = (struct wakers){};
}

static bool waker_equal(const void *items, uint32_t position, const void *key)
{
	return ((const struct bf_waker_event *)items)[position].id == *(const uint64_t *)key;
}

static bool chain_equal(const void *items, uint32_t position, const void *key)
{
	return ((const struct bf_wakers_event *)items)[position].id == *(const uint64_t *)key;
}

const struct bf_waker *wakers_find(const struct wakers *wakers, uint64_t id)
{
	uint32_t found = table_find(&wakers->by_id, id, waker_equal, wakers->wakers, &id);

	return found == TABLE_NONE ? NULL : &wakers->wakers[found].waker;
}

const struct bf_wakers_event *wakers_find_chain(const struct wakers *wakers, uint64_t id)
{
	uint32_t found = table_find(&wakers->chain_by_id, id, chain_equal, wakers->chains, &id);

	return found == TABLE_NONE ? NULL : &wakers->chains[found];
}

int wakers_add(struct wakers *wakers, const struct bf_waker_event *event)
{
	int r;

	if (wakers_find(wakers, event->id))
		return 0;
	r = array_reserve(wakers->wakers, wakers->wakers_capacity, wakers->n_wakers, 1);
	r = r < 0 ? r : table_add(&wakers->by_id, event->id, wakers->n_wakers);
	if (r < 0)
		return r;
	wakers->wakers[wakers->n_wakers++] = *event;
	return 0;
}

int wakers_add_chain(struct wakers *wakers, const struct bf_wakers_event *event)
{
	int r;

	if (wakers_find_chain(wakers, event->id))
		return 0;
	r = array_reserve(wakers->chains, wakers->chains_capacity, wakers->n_chains, 1);
	r = r < 0 ? r : table_add(&wakers->chain_by_id, event->id, wakers->n_chains);
	if (r < 0)
		return r;
	wakers->chains[wakers->n_chains++] = *event;
	return 0;
}
