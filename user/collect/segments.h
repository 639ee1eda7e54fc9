/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * segments: the memory that the unwinder of the BPF programs reads: arrays of 256 KiB, mapped here,
 * made on demand within the budget. At the limit the least recently used one is emptied and reused,
 * but none that is in use: a working set above the budget would only be carried back and forth.
 *
 * A released room waits until no BPF program can read it any more, then joins adjacent free ranges;
 * one at the end of a segment's used part moves that end back. Allocation takes the first free
 * range that is large enough.
 *
 * Giving the kernel a new segment waits for everything running in it, from milliseconds to seconds.
 * So a thread makes them, some in advance.
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
 * Takes back everything that refers to @segment: on return BPF can't reach it any more, and no
 * program that could is still running.
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
	struct word_ranges free;  /* sorted by place, none adjacent */
	segments_evict_fn evict;
	void *evict_context;
	unwind_yield_fn yield; /* or NULL */
	void *yield_context;
	uint64_t n_evicted;

	/* The thread's, until is_done. */
	pthread_t thread;
	bool is_growing;
	int fds[SEGMENTS_BATCH];
	uint32_t n_fds;
	int error;
	int is_done; /* atomic */
};

/* Makes the first segments in the background. Errors: -ENOMEM. */
int segments_init(struct segments *segments, int map_fd, uint64_t budget_bytes,
		  segments_evict_fn evict, void *evict_context, unwind_yield_fn yield,
		  void *yield_context);
void segments_done(struct segments *segments);

/*
 * Finds room for @n_words, aligned to 8 words. @epoch: the current one. Errors: -ENOSPC if the
 * budget is used up and every segment was used recently, or @may_evict is false (mappings, which
 * need little, get a segment nevertheless); -E2BIG; -ENOMEM and those of bpf(2).
 */
int segments_allocate(struct segments *segments, enum room_kind kind, uint32_t n_words,
		      uint32_t epoch, bool may_evict, struct room *ret);

/* Whether there may be room now for an allocation that failed with -ENOSPC. */
bool segments_may_have_room(const struct segments *segments, uint32_t epoch);

/*
 * Gives back the room of @n_words, which new programs can't find any more. If noting it fails for
 * lack of memory, it stays unused.
 */
void segments_release(struct segments *segments, struct room room, uint32_t n_words);

/*
 * Makes released rooms available again. Call it when all programs have ended that ran at the last
 * call. Returns whether there were any; errors: -ENOMEM.
 */
int segments_reclaim(struct segments *segments);

/* The words of @room; they never move, and end with a release or an eviction. */
uint32_t *segments_words(const struct segments *segments, struct room room);

/* How often @segment was emptied. */
uint32_t segments_emptied(const struct segments *segments, uint32_t segment);

/* Bytes of all segments in use. */
uint64_t segments_bytes(const struct segments *segments);

#endif
