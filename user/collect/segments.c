/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/segments.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SEGMENT_BYTES (BF_SEGMENT_WORDS * sizeof(uint32_t))
#define IDLE_EPOCHS   2 /* drains, about a second each, for which no stack went through a segment */
#define GROW	      4 /* segments at a time: the kernel waits for its readers after each update */

struct segment_memory {
	uint32_t *words; /* mapped */
	uint32_t used;	 /* words */
	enum room_kind kind;
};

int segments_init(struct segments *segments, int map_fd, uint64_t budget_bytes,
		  segments_evict_fn evict, void *context)
{
	uint64_t limit = budget_bytes / SEGMENT_BYTES;

	*segments = (struct segments){.map_fd = map_fd, .evict = evict, .context = context};
	segments->limit = limit < 2 ? 2 : limit < BF_MAX_SEGMENTS ? limit : BF_MAX_SEGMENTS - 1;
	segments->items = calloc(segments->limit + 1, sizeof *segments->items);
	return segments->items ? 0 : -ENOMEM;
}

void segments_done(struct segments *segments)
{
	for (uint32_t i = 1; i <= segments->n; i++)
		munmap(segments->items[i].words, SEGMENT_BYTES);
	free(segments->items);
	*segments = (struct segments){};
}

void segments_wait_for_readers(void)
{
	/* A grace period of RCU, under which BPF programs run. */
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) < 0)
		usleep(2000);
}

static int make_segment(struct segment_memory *ret, int *ret_fd)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "segment", sizeof(uint32_t), SEGMENT_BYTES, 1,
				&options);
	void *words;

	if (fd < 0)
		return -errno;
	words = mmap(NULL, SEGMENT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (words == MAP_FAILED) {
		int error = errno;

		close(fd);
		return -error;
	}
	*ret = (struct segment_memory){words, BF_SEGMENT_FIRST};
	*ret_fd = fd;
	return 0;
}

/* Enters inner maps @fds as segments @first and on: in one call where the kernel (5.19) can. */
static int enter(const struct segments *segments, uint32_t first, const int *fds, uint32_t n)
{
	uint32_t keys[GROW], count = n;

	for (uint32_t i = 0; i < n; i++)
		keys[i] = first + i;
	if (bpf_map_update_batch(segments->map_fd, keys, fds, &count, NULL) == 0)
		return 0;
	for (uint32_t i = 0; i < n; i++)
		if (bpf_map_update_elem(segments->map_fd, &keys[i], &fds[i], BPF_ANY) < 0)
			return -errno;
	return 0;
}

static int grow(struct segments *segments, uint32_t epoch)
{
	uint32_t first = segments->n + 1, left = segments->limit - segments->n, n = 0;
	int fds[GROW], r = 0;

	while (n < GROW && n < left && r == 0) {
		r = make_segment(&segments->items[first + n], &fds[n]);
		if (r == 0)
			segments->items[first + n++].words[0] = epoch;
	}
	if (n > 0)
		r = enter(segments, first, fds, n);
	for (uint32_t i = 0; i < n; i++)
		close(fds[i]);
	if (r == 0) {
		segments->n += n;
		return 0;
	}
	for (uint32_t i = 0; i < n; i++)
		munmap(segments->items[first + i].words, SEGMENT_BYTES);
	return r;
}

static bool take(struct segments *segments, uint32_t segment, enum room_kind kind, uint32_t n_words,
		 struct room *ret)
{
	struct segment_memory *item = &segments->items[segment];

	if (item->used == BF_SEGMENT_FIRST)
		item->kind = kind;
	if (item->kind != kind || BF_SEGMENT_WORDS - item->used < n_words)
		return false;
	*ret = (struct room){segment, item->used};
	item->used += n_words;
	return true;
}

/* Empties the segment that was used longest ago, if that is long enough. */
static bool evict(struct segments *segments, uint32_t epoch, uint32_t idle_epochs)
{
	uint32_t oldest = 1;

	for (uint32_t i = 2; i <= segments->n; i++)
		if (epoch - segments->items[i].words[0] > epoch - segments->items[oldest].words[0])
			oldest = i;
	if (epoch - segments->items[oldest].words[0] < idle_epochs)
		return false;
	segments->evict(segments->context, oldest);
	segments_wait_for_readers();
	segments->items[oldest].used = BF_SEGMENT_FIRST;
	segments->items[oldest].words[0] = epoch;
	segments->n_evicted++;
	return true;
}

int segments_allocate(struct segments *segments, enum room_kind kind, uint32_t n_words,
		      uint32_t epoch, bool may_evict, struct room *ret)
{
	n_words = (n_words + 7) & ~7u;
	if (n_words > BF_SEGMENT_WORDS - BF_SEGMENT_FIRST)
		return -E2BIG;
	for (;;) {
		int r;

		for (uint32_t i = 1; i <= segments->n; i++)
			if (take(segments, i, kind, n_words, ret))
				return 0;
		if (segments->n < segments->limit) {
			r = grow(segments, epoch);
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
