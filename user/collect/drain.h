/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * drain: takes the counted rows out of the two count maps. BPF fills one while the other is read
 * and emptied in batches, after waiting for programs that still write to it.
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

/* Turns BPF to the other map; the previous one is quiet on return. */
void drain_flip(struct drain *drain);

/* Reads the rows of the quiet map, up to *ret_n, into drain->keys and ->counts, and empties it. */
int drain_read(struct drain *drain, uint32_t *ret_n);

/* Empties the cache of sent stacks: @always, or only when it gets full. */
int drain_seen_stacks(struct drain *drain, bool always);

#endif
