/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * segments: the memory that the unwinder of the BPF programs reads: arrays of 256 KiB, mapped here,
 * made when they are needed and at most as many as the budget allows. Then the one that was used
 * longest ago is emptied and filled anew; but none that is in use: a working set above the budget
 * would only be carried back and forth.
 *
 * A room that is released waits until no BPF program can read it any more, then joins the free
 * ranges beside it; one at the end of what is used of a segment moves that end back. The first free
 * range that is large enough goes first.
 *
 * Giving the kernel a new segment waits for all that runs in it, which takes from milliseconds to
 * seconds. So a thread makes them, some ahead of need.
 */
#ifndef COLLECT_SEGMENTS_H
#define COLLECT_SEGMENTS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/wire.h"
#include "unwind/table.h"

/* What a segment holds: one kind. */
enum room_kind { ROOM_TABLE, ROOM_MAPPINGS };

/* A place for words. segment 0: none. */
struct room {
	uint32_t segment, at;
};

/*
 * Takes back everything that refers to @segment: on return BPF does not find its way there any
 * more, and no program is left that did.
 */
typedef void (*segments_evict_fn)(void *context, uint32_t segment);

#define SEGMENTS_BATCH 16 /* made at a time */

struct word_ranges {
	struct word_range *items;
	size_t n, capacity;
};

struct segments {
	int map_fd; /* the outer map */
	struct segment_memory *items;
	uint32_t n, limit;	  /* segments are counted from 1 */
	struct word_ranges quiet; /* released; BPF may still read them */
	struct word_ranges free;  /* sorted by place, none beside another */
	segments_evict_fn evict;
	void *evict_context;
	unwind_breathe_fn breathe; /* or NULL */
	void *breathe_context;
	uint64_t n_evicted;

	/* The thread's, until is_done. */
	pthread_t thread;
	bool is_growing;
	int fds[SEGMENTS_BATCH];
	uint32_t n_fds;
	int error;
	int is_done; /* atomic */
};

/* Makes the first of them, beside what the caller goes on with. Errors: -ENOMEM. */
int segments_init(struct segments *segments, int map_fd, uint64_t budget_bytes,
		  segments_evict_fn evict, void *evict_context, unwind_breathe_fn breathe,
		  void *breathe_context);
void segments_done(struct segments *segments);

/*
 * Room for @n_words, aligned to 8 words. @epoch: of now. Errors: -ENOSPC when the budget is used up
 * and every segment was in use lately (mappings, which need little, have one all the same), or
 * @may_evict is false; -E2BIG; -ENOMEM and those of bpf(2).
 */
int segments_allocate(struct segments *segments, enum room_kind kind, uint32_t n_words,
		      uint32_t epoch, bool may_evict, struct room *ret);

/* Whether there is room now that was not when an allocation failed with -ENOSPC. */
bool segments_may_have_room(const struct segments *segments, uint32_t epoch);

/*
 * Gives back the room of @n_words, which new programs do not find any more. Without memory to note
 * it, it stays unused.
 */
void segments_release(struct segments *segments, struct room room, uint32_t n_words);

/*
 * What was released may be allocated again. Call it when all programs have ended that ran at the
 * last call. Returns whether there was any; errors: -ENOMEM.
 */
int segments_reclaim(struct segments *segments);

/* The words of @room; they never move, and end with a release or an eviction. */
uint32_t *segments_words(const struct segments *segments, struct room room);

/* How often @segment was emptied. */
uint32_t segments_emptied(const struct segments *segments, uint32_t segment);

/* Bytes of all segments that something was put into. */
uint64_t segments_bytes(const struct segments *segments);

#endif
