/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * segments: the memory that the unwinder of the BPF programs reads: arrays of 1 MiB, mapped here,
 * made when they are needed and at most as many as the budget allows. Then the one that was used
 * longest ago is emptied and filled anew; but none that is in use: a working set above the budget
 * would only be carried back and forth.
 */
#ifndef COLLECT_SEGMENTS_H
#define COLLECT_SEGMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/wire.h"

/* What a segment holds: one kind. */
enum room_kind { ROOM_TABLE, ROOM_MAPPINGS };

/* A place for words. segment 0: none. */
struct room {
	uint32_t segment, at;
};

/* Takes back everything that refers to @segment: BPF must not find its way there any more. */
typedef void (*segments_evict_fn)(void *context, uint32_t segment);

struct segments {
	int map_fd; /* the outer map */
	struct segment_memory *items;
	uint32_t n, limit; /* segments are counted from 1 */
	segments_evict_fn evict;
	void *context;
	uint64_t n_evicted;
};

/* Errors: -ENOMEM. */
int segments_init(struct segments *segments, int map_fd, uint64_t budget_bytes,
		  segments_evict_fn evict, void *context);
void segments_done(struct segments *segments);

/*
 * Room for @n_words, aligned to 8 words. @epoch: of now. Errors: -ENOSPC when the budget is used up
 * and every segment was in use lately (mappings, which need little, have one all the
 * same), or @may_evict is false; -E2BIG; -ENOMEM and those of bpf(2).
 */
int segments_allocate(struct segments *segments, enum room_kind kind, uint32_t n_words,
		      uint32_t epoch, bool may_evict, struct room *ret);

/* The words of @room; they move never and end with an eviction. */
uint32_t *segments_words(const struct segments *segments, struct room room);

/* Returns when every program that runs now has ended. */
void segments_wait_for_readers(void);

#endif
