/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/wakers.h"

#include <stdlib.h>

static void generation_done(struct waker_generation *generation)
{
	free(generation->wakers);
	free(generation->chains);
	table_done(&generation->by_id);
	table_done(&generation->chain_by_id);
	*generation = (struct waker_generation){};
}

void wakers_done(struct wakers *wakers)
{
	generation_done(&wakers->now);
	generation_done(&wakers->before);
}

static bool waker_equal(const void *items, uint32_t position, const void *key)
{
	const struct bf_waker_event *a = (const struct bf_waker_event *)items + position, *b = key;

	return a->id == b->id;
}

static bool chain_equal(const void *items, uint32_t position, const void *key)
{
	const struct bf_wakers_event *a = (const struct bf_wakers_event *)items + position,
				     *b = key;

	return a->id == b->id;
}

static int add(struct waker_generation *to, const struct bf_waker_event *event, uint32_t *ret)
{
	return table_intern(&to->by_id, event->id, waker_equal, to->wakers, to->wakers_capacity,
			    to->n_wakers, event, ret);
}

static int add_chain(struct waker_generation *to, const struct bf_wakers_event *event,
		     uint32_t *ret)
{
	return table_intern(&to->chain_by_id, event->id, chain_equal, to->chains,
			    to->chains_capacity, to->n_chains, event, ret);
}

int wakers_add(struct wakers *wakers, const struct bf_waker_event *event)
{
	uint32_t at;

	return add(&wakers->now, event, &at);
}

int wakers_add_chain(struct wakers *wakers, const struct bf_wakers_event *event)
{
	uint32_t at;

	return add_chain(&wakers->now, event, &at);
}

/* One that only the previous generation has moves to the current one. */

const struct bf_waker *wakers_find(struct wakers *wakers, uint64_t id)
{
	const struct bf_waker_event key = {.id = id};
	struct waker_generation *now = &wakers->now, *before = &wakers->before;
	uint32_t at = table_find(&now->by_id, id, waker_equal, now->wakers, &key);

	if (at == TABLE_NONE) {
		at = table_find(&before->by_id, id, waker_equal, before->wakers, &key);
		if (at == TABLE_NONE || add(now, &before->wakers[at], &at) < 0)
			return NULL;
	}
	return &now->wakers[at].waker;
}

const struct bf_wakers_event *wakers_find_chain(struct wakers *wakers, uint64_t id)
{
	const struct bf_wakers_event key = {.id = id};
	struct waker_generation *now = &wakers->now, *before = &wakers->before;
	uint32_t at = table_find(&now->chain_by_id, id, chain_equal, now->chains, &key);

	if (at == TABLE_NONE) {
		at = table_find(&before->chain_by_id, id, chain_equal, before->chains, &key);
		if (at == TABLE_NONE || add_chain(now, &before->chains[at], &at) < 0)
			return NULL;
	}
	return &now->chains[at];
}

size_t wakers_bytes(const struct wakers *wakers)
{
	const struct waker_generation *now = &wakers->now;

	return now->wakers_capacity * sizeof *now->wakers +
	       now->chains_capacity * sizeof *now->chains +
	       (now->by_id.n_slots + now->chain_by_id.n_slots) * sizeof *now->by_id.slots;
}

void wakers_age(struct wakers *wakers)
{
	generation_done(&wakers->before);
	wakers->before = wakers->now;
	wakers->now = (struct waker_generation){};
}
