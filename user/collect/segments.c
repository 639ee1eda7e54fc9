/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/segments.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"

#define SEGMENT_BYTES (BF_SEGMENT_WORDS * sizeof(uint32_t))
#define IDLE_EPOCHS   2 /* drains, about a second each, without a stack through the segment */
#define POLL_US	      500

struct segment_memory {
	int fd;		 /* until mapped */
	uint32_t *words; /* mapped at the first use */
	uint32_t used;	 /* words */
	enum room_kind kind;
};

/* [at, end) of a segment. */
struct word_range {
	uint32_t segment, at, end;
};

/* Puts the new inner maps into the outer one, in one call if the kernel (5.19) can. */
static int enter(const struct segments *segments)
{
	uint32_t keys[SEGMENTS_BATCH], count = segments->n_fds;

	for (uint32_t i = 0; i < segments->n_fds; i++)
		keys[i] = segments->n + 1 + i;
	if (bpf_map_update_batch(segments->map_fd, keys, segments->fds, &count, NULL) == 0)
		return 0;
	for (uint32_t i = 0; i < segments->n_fds; i++)
		if (bpf_map_update_elem(segments->map_fd, &keys[i], &segments->fds[i], BPF_ANY) < 0)
			return -errno;
	return 0;
}

static void *make_segments(void *context)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
	struct segments *segments = context;
	uint32_t left = segments->limit - segments->n;

	while (segments->n_fds < SEGMENTS_BATCH && segments->n_fds < left) {
		int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "segment", sizeof(uint32_t),
					SEGMENT_BYTES, 1, &options);

		if (fd < 0) {
			segments->error = -errno;
			break;
		}
		segments->fds[segments->n_fds++] = fd;
	}
	if (segments->n_fds)
		segments->error = enter(segments);
	__atomic_store_n(&segments->is_done, 1, __ATOMIC_RELEASE);
	return NULL;
}

static int grow_begin(struct segments *segments)
{
	int error;

	segments->n_fds = 0;
	segments->error = 0;
	segments->is_done = 0;
	error = pthread_create(&segments->thread, NULL, make_segments, segments);
	segments->is_growing = error == 0;
	return -error;
}

/* Takes over the thread's result. */
static int grow_end(struct segments *segments)
{
	pthread_join(segments->thread, NULL);
	segments->is_growing = false;
	for (uint32_t i = 0; i < segments->n_fds; i++) {
		if (segments->error < 0)
			close(segments->fds[i]);
		else
			segments->items[++segments->n] = (struct segment_memory){
				.fd = segments->fds[i], .used = BF_SEGMENT_FIRST};
	}
	return segments->error;
}

static int wait_for_growth(struct segments *segments)
{
	while (!__atomic_load_n(&segments->is_done, __ATOMIC_ACQUIRE)) {
		if (segments->yield)
			segments->yield(segments->yield_context);
		usleep(POLL_US);
	}
	return grow_end(segments);
}

int segments_init(struct segments *segments, int map_fd, uint64_t budget_bytes,
		  segments_evict_fn evict, void *evict_context, unwind_yield_fn yield,
		  void *yield_context)
{
	uint64_t limit = budget_bytes / SEGMENT_BYTES;

	*segments = (struct segments){
		.map_fd = map_fd,
		.evict = evict,
		.evict_context = evict_context,
		.yield = yield,
		.yield_context = yield_context,
	};
	segments->limit = limit < 2 ? 2 : limit < BF_MAX_SEGMENTS ? limit : BF_MAX_SEGMENTS - 1;
	segments->items = calloc(segments->limit + 1, sizeof *segments->items);
	return segments->items ? grow_begin(segments) : -ENOMEM;
}

void segments_done(struct segments *segments)
{
	if (segments->is_growing)
		grow_end(segments);
	for (uint32_t i = 1; i <= segments->n; i++) {
		if (segments->items[i].words)
			munmap(segments->items[i].words, SEGMENT_BYTES);
		else
			close(segments->items[i].fd);
	}
	free(segments->items);
	free(segments->quiet.items);
	free(segments->free.items);
	*segments = (struct segments){};
}

static int map_segment(struct segment_memory *item)
{
	void *words = mmap(NULL, SEGMENT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, item->fd, 0);

	if (words == MAP_FAILED)
		return -errno;
	close(item->fd);
	item->words = words;
	return 0;
}

/* Rooms begin at multiples of 8 words, and have multiples. */
static uint32_t whole_words(uint32_t n_words)
{
	return (n_words + 7) & ~7u;
}

/* Takes the first free range that is large enough. Returns whether there is one. */
static bool take_free(struct segments *segments, enum room_kind kind, uint32_t n_words,
		      struct room *ret)
{
	struct word_ranges *list = &segments->free;

	for (size_t i = 0; i < list->n; i++) {
		struct word_range *range = &list->items[i];

		if (segments->items[range->segment].kind != kind ||
		    range->end - range->at < n_words)
			continue;
		*ret = (struct room){range->segment, range->at};
		range->at += n_words;
		if (range->at == range->end)
			memmove(range, range + 1, (--list->n - i) * sizeof *range);
		return true;
	}
	return false;
}

/* Takes never-used words, or free ones up to the end. Returns 1, 0 without room, or an error. */
static int take(struct segments *segments, uint32_t segment, enum room_kind kind, uint32_t n_words,
		uint32_t epoch, struct room *ret)
{
	struct segment_memory *item = &segments->items[segment];
	int r = 0;

	if (item->used > BF_SEGMENT_FIRST &&
	    (item->kind != kind || BF_SEGMENT_WORDS - item->used < n_words))
		return 0;
	if (!item->words)
		r = map_segment(item);
	if (r < 0)
		return r;
	if (item->used == BF_SEGMENT_FIRST)
		item->words[0] = epoch;
	item->kind = kind;
	*ret = (struct room){segment, item->used};
	item->used += n_words;
	return 1;
}

/* The same from any segment with room, free ranges first. */
static int take_any(struct segments *segments, enum room_kind kind, uint32_t n_words,
		    uint32_t epoch, struct room *ret)
{
	if (take_free(segments, kind, n_words, ret)) {
		segments->items[ret->segment].words[0] = epoch;
		return 1;
	}
	for (uint32_t i = 1; i <= segments->n; i++) {
		int r = take(segments, i, kind, n_words, epoch, ret);

		if (r != 0)
			return r;
	}
	return 0;
}

/* The least recently used segment; all are in use. */
static uint32_t oldest_segment(const struct segments *segments, uint32_t epoch)
{
	const struct segment_memory *items = segments->items;
	uint32_t oldest = 1;

	for (uint32_t i = 2; i <= segments->n; i++)
		if (epoch - items[i].words[0] > epoch - items[oldest].words[0])
			oldest = i;
	return oldest;
}

bool segments_may_have_room(const struct segments *segments, uint32_t epoch)
{
	for (uint32_t i = 1; i <= segments->n; i++)
		if (!segments->items[i].words || epoch - segments->items[i].words[0] >= IDLE_EPOCHS)
			return true;
	return segments->n < segments->limit;
}

static void drop_ranges(struct word_ranges *list, uint32_t segment)
{
	size_t kept = 0;

	for (size_t i = 0; i < list->n; i++)
		if (list->items[i].segment != segment)
			list->items[kept++] = list->items[i];
	list->n = kept;
}

/* Empties the least recently used segment, if it is idle for long enough. */
static bool evict(struct segments *segments, uint32_t epoch, uint32_t idle_epochs)
{
	struct segment_memory *items = segments->items;
	uint32_t oldest = oldest_segment(segments, epoch);

	if (!segments->n || epoch - items[oldest].words[0] < idle_epochs)
		return false;
	items[oldest].words[1]++;
	segments->evict(segments->evict_context, oldest);
	drop_ranges(&segments->quiet, oldest);
	drop_ranges(&segments->free, oldest);
	items[oldest].used = BF_SEGMENT_FIRST;
	segments->n_evicted++;
	return true;
}

void segments_release(struct segments *segments, struct room room, uint32_t n_words)
{
	struct word_ranges *quiet = &segments->quiet;

	array_add(quiet->items, quiet->capacity, quiet->n,
		  (struct word_range){room.segment, room.at, room.at + whole_words(n_words)});
}

static int compare_ranges(const void *a, const void *b)
{
	const struct word_range *x = a, *y = b;

	if (x->segment != y->segment)
		return x->segment < y->segment ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

/* Joins neighbours in the sorted list. */
static void join_ranges(struct word_ranges *list)
{
	size_t n = 0;

	for (size_t i = 0; i < list->n; i++) {
		struct word_range *last = n ? &list->items[n - 1] : NULL, range = list->items[i];

		if (last && last->segment == range.segment && last->end == range.at)
			last->end = range.end;
		else
			list->items[n++] = range;
	}
	list->n = n;
}

/* Ranges at the end of a segment's used part are cut off it. */
static void cut_ends(struct segments *segments)
{
	struct word_ranges *list = &segments->free;
	size_t kept = 0;

	for (size_t i = 0; i < list->n; i++) {
		struct word_range range = list->items[i];
		struct segment_memory *item = &segments->items[range.segment];

		if (range.end == item->used)
			item->used = range.at;
		else
			list->items[kept++] = range;
	}
	list->n = kept;
}

int segments_reclaim(struct segments *segments)
{
	struct word_ranges *list = &segments->free, *quiet = &segments->quiet;
	int r;

	if (!quiet->n)
		return 0;
	r = array_reserve(list->items, list->capacity, list->n, quiet->n);
	if (r < 0)
		return r;
	memcpy(list->items + list->n, quiet->items, quiet->n * sizeof *quiet->items);
	list->n += quiet->n;
	quiet->n = 0;
	qsort(list->items, list->n, sizeof *list->items, compare_ranges);
	join_ranges(list);
	cut_ends(segments);
	return 1;
}

/* Requests new segments when the last ones are begun. */
static void grow_ahead(struct segments *segments)
{
	if (segments->is_growing && __atomic_load_n(&segments->is_done, __ATOMIC_ACQUIRE))
		grow_end(segments);
	if (!segments->is_growing && segments->n < segments->limit &&
	    (segments->n < 2 || segments->items[segments->n - 1].words))
		grow_begin(segments);
}

int segments_allocate(struct segments *segments, enum room_kind kind, uint32_t n_words,
		      uint32_t epoch, bool may_evict, struct room *ret)
{
	int r;

	n_words = whole_words(n_words);
	if (n_words > BF_SEGMENT_WORDS - BF_SEGMENT_FIRST)
		return -E2BIG;
	for (;;) {
		grow_ahead(segments);
		r = take_any(segments, kind, n_words, epoch, ret);
		if (r != 0)
			return r < 0 ? r : 0;
		if (segments->is_growing) {
			r = wait_for_growth(segments);
			if (r < 0)
				return r;
		} else if (!may_evict ||
			   !evict(segments, epoch, kind == ROOM_MAPPINGS ? 0 : IDLE_EPOCHS)) {
			return -ENOSPC;
		}
	}
}

uint32_t *segments_words(const struct segments *segments, struct room room)
{
	return segments->items[room.segment].words + room.at;
}

uint32_t segments_emptied(const struct segments *segments, uint32_t segment)
{
	return segments->items[segment].words[1];
}

uint64_t segments_bytes(const struct segments *segments)
{
	uint64_t bytes = 0;

	for (uint32_t i = 1; i <= segments->n; i++)
		bytes += segments->items[i].words ? SEGMENT_BYTES : 0;
	return bytes;
}
