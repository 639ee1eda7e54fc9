/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * wakers: who woke threads, as sent by BPF: wakers by id, and chains of their ids by id. In two
 * generations, as in raw_stacks.h.
 */
#ifndef COLLECT_WAKERS_H
#define COLLECT_WAKERS_H

#include "base/table.h"
#include "bpf/wire.h"

struct wakers {
	struct waker_generation {
		struct bf_waker_event *wakers;
		size_t n_wakers, wakers_capacity;
		struct bf_wakers_event *chains;
		size_t n_chains, chains_capacity;
		struct table by_id, chain_by_id;
	} now, before;
};

void wakers_done(struct wakers *wakers);

/* Keep what was sent, unless it is known. Errors: -ENOMEM. */
int wakers_add(struct wakers *wakers, const struct bf_waker_event *event);
int wakers_add_chain(struct wakers *wakers, const struct bf_wakers_event *event);

/* NULL: never arrived, or no memory. Valid until the next one is found or added. */
const struct bf_waker *wakers_find(struct wakers *wakers, uint64_t id);
const struct bf_wakers_event *wakers_find_chain(struct wakers *wakers, uint64_t id);

/* The size of the current generation. */
size_t wakers_bytes(const struct wakers *wakers);

/* Begins a new generation; forgets the previous one. */
void wakers_age(struct wakers *wakers);

#endif
