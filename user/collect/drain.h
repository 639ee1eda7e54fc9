/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * drain: takes the counted rows out of the two count maps. While BPF fills one, the other is read
 * and emptied in batches, after a wait for the programs that still write to it.
 */
#ifndef COLLECT_DRAIN_H
#define COLLECT_DRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/wire.h"

struct profiler;

struct drain {
	struct profiler *skel;
	struct bf_count_key *keys;
	struct bf_count *counts;
	uint32_t capacity; /* of a map */
};

int drain_init(struct drain *drain, struct profiler *skel);
void drain_done(struct drain *drain);

/* Turns BPF to the other map; the one filled so far is quiet on return. */
void drain_flip(struct drain *drain);

/* The rows of the quiet map, up to *ret_n, in drain->keys and ->counts; the map is empty then. */
int drain_read(struct drain *drain, uint32_t *ret_n);

/* Empties the cache of sent stacks: always, or before it is full. */
int drain_seen_stacks(struct drain *drain, bool always);

#endif
