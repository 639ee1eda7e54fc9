/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/wakers.h"

#include <stdlib.h>

#include "base/array.h"

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
	return ((const struct bf_waker_event *)items)[position].id == *(const uint64_t *)key;
}

static bool chain_equal(const void *items, uint32_t position, const void *key)
{
	return ((const struct bf_wakers_event *)items)[position].id == *(const uint64_t *)key;
}

static const struct bf_waker_event *find(const struct waker_generation *generation, uint64_t id)
{
	uint32_t found = table_find(&generation->by_id, id, waker_equal, generation->wakers, &id);

	return found == TABLE_NONE ? NULL : &generation->wakers[found];
}

static const struct bf_wakers_event *find_chain(const struct waker_generation *generation,
						uint64_t id)
{
	uint32_t found =
		table_find(&generation->chain_by_id, id, chain_equal, generation->chains, &id);

	return found == TABLE_NONE ? NULL : &generation->chains[found];
}

static int add(struct waker_generation *to, const struct bf_waker_event *event)
{
	int r = array_reserve(to->wakers, to->wakers_capacity, to->n_wakers, 1);

	r = r < 0 ? r : table_add(&to->by_id, event->id, to->n_wakers);
	if (r < 0)
		return r;
	to->wakers[to->n_wakers++] = *event;
	return 0;
}

static int add_chain(struct waker_generation *to, const struct bf_wakers_event *event)
{
	int r = array_reserve(to->chains, to->chains_capacity, to->n_chains, 1);

	r = r < 0 ? r : table_add(&to->chain_by_id, event->id, to->n_chains);
	if (r < 0)
		return r;
	to->chains[to->n_chains++] = *event;
	return 0;
}

/* Moves it from the previous generation to the current one, if it is there. */
static const struct bf_waker_event *move_on(struct wakers *wakers, uint64_t id)
{
	const struct bf_waker_event *found = find(&wakers->before, id);

	return found && add(&wakers->now, found) == 0 ? find(&wakers->now, id) : NULL;
}

static const struct bf_wakers_event *move_chain_on(struct wakers *wakers, uint64_t id)
{
	const struct bf_wakers_event *found = find_chain(&wakers->before, id);

	return found && add_chain(&wakers->now, found) == 0 ? find_chain(&wakers->now, id) : NULL;
}

const struct bf_waker *wakers_find(struct wakers *wakers, uint64_t id)
{
	const struct bf_waker_event *found = find(&wakers->now, id);

	if (!found)
		found = move_on(wakers, id);
	return found ? &found->waker : NULL;
}

const struct bf_wakers_event *wakers_find_chain(struct wakers *wakers, uint64_t id)
{
	const struct bf_wakers_event *found = find_chain(&wakers->now, id);

	return found ? found : move_chain_on(wakers, id);
}

int wakers_add(struct wakers *wakers, const struct bf_waker_event *event)
{
	return find(&wakers->now, event->id) ? 0 : add(&wakers->now, event);
}

int wakers_add_chain(struct wakers *wakers, const struct bf_wakers_event *event)
{
	return find_chain(&wakers->now, event->id) ? 0 : add_chain(&wakers->now, event);
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
