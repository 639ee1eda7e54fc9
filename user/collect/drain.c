/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/drain.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>

#include "collect/load.h"
#include "profiler.skel.h"

int drain_init(struct drain *drain, struct profiler *skel)
{
	uint32_t capacity = bpf_map__max_entries(skel->maps.counts_a);

	*drain = (struct drain){.skel = skel, .capacity = capacity};
	drain->keys = calloc(capacity, sizeof *drain->keys);
	drain->counts = calloc(capacity, sizeof *drain->counts);
	return drain->keys && drain->counts ? 0 : -ENOMEM;
}

void drain_done(struct drain *drain)
{
	free(drain->keys);
	free(drain->counts);
	*drain = (struct drain){};
}

void drain_flip(struct drain *drain)
{
	struct bf_control *control = &drain->skel->bss->control;

	control->counts_used[~control->epoch & 1] = 0;
	control->drain_wanted = 0;
	control->unsent = 0;
	__atomic_store_n(&control->epoch, control->epoch + 1, __ATOMIC_SEQ_CST);
	load_wait_for_programs(drain->skel);
}

/*
 * A batch fails with ENOSPC if it ends inside a bucket with more rows than fit; with room for the
 * whole map that can't happen.
 */
int drain_read(struct drain *drain, uint32_t *ret_n)
{
	struct profiler *skel = drain->skel;
	struct bpf_map *quiet =
		skel->bss->control.epoch & 1 ? skel->maps.counts_a : skel->maps.counts_b;
	uint32_t n = drain->capacity, position;

	if (bpf_map_lookup_and_delete_batch(bpf_map__fd(quiet), NULL, &position, drain->keys,
					    drain->counts, &n, NULL) < 0 &&
	    errno != ENOENT)
		return -errno;
	*ret_n = n;
	return 0;
}

int drain_seen_stacks(struct drain *drain, bool always)
{
	struct profiler *skel = drain->skel;
	uint32_t capacity = bpf_map__max_entries(skel->maps.seen_stacks), n = capacity, position;
	uint64_t *ids;
	uint32_t *ones;
	int r = 0;

	if (!always && skel->bss->control.seen_used < capacity - capacity / 4)
		return 0;
	ids = calloc(capacity, sizeof *ids);
	ones = calloc(capacity, sizeof *ones);
	if (!ids || !ones)
		r = -ENOMEM;
	else if (bpf_map_lookup_and_delete_batch(bpf_map__fd(skel->maps.seen_stacks), NULL,
						 &position, ids, ones, &n, NULL) < 0 &&
		 errno != ENOENT)
		r = -errno;
	skel->bss->control.seen_used = 0;
	free(ids);
	free(ones);
	return r;
}
