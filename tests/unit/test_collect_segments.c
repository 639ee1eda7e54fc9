/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Segments in maps of the kernel: released memory is allocated again, and no two rooms overlap.
 * Needs root.
 */
#include "cmocka_all.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "collect/segments.h"

#define SEGMENT_BYTES (BF_SEGMENT_WORDS * sizeof(uint32_t))
#define MANY	      150 /* rooms of TABLE_WORDS: in three segments */
#define TABLE_WORDS   1000
#define EPOCH	      7

/* Marks segments as in use, so that they are not evicted. */
struct made {
	struct segments segments;
	int map_fd;
	struct room rooms[MANY];
	uint32_t n_words[MANY];
};

static void forget(void *context, uint32_t segment)
{
	struct made *made = context;

	for (int i = 0; i < MANY; i++)
		if (made->rooms[i].segment == segment)
			made->rooms[i] = (struct room){};
}

static int make_map(void)
{
	LIBBPF_OPTS(bpf_map_create_opts, inner, .map_flags = BPF_F_MMAPABLE);
	LIBBPF_OPTS(bpf_map_create_opts, outer);
	int fd;

	outer.inner_map_fd =
		bpf_map_create(BPF_MAP_TYPE_ARRAY, "segment", 4, SEGMENT_BYTES, 1, &inner);
	if ((int)outer.inner_map_fd < 0)
		return -errno;
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "segments", 4, 4, BF_MAX_SEGMENTS, &outer);
	close(outer.inner_map_fd);
	return fd < 0 ? -errno : fd;
}

static void make(struct made *made, uint32_t n_segments)
{
	*made = (struct made){.map_fd = make_map()};
	if (made->map_fd == -EPERM)
		skip();
	assert_true(made->map_fd >= 0);
	assert_int_equal(segments_init(&made->segments, made->map_fd, n_segments * SEGMENT_BYTES,
				       forget, made, NULL, NULL),
			 0);
}

static void done(struct made *made)
{
	segments_done(&made->segments);
	close(made->map_fd);
}

static struct room allocate(struct made *made, enum room_kind kind, uint32_t n_words)
{
	struct room room;

	assert_int_equal(segments_allocate(&made->segments, kind, n_words, EPOCH, false, &room), 0);
	return room;
}

static void assert_same_room(struct room a, struct room b)
{
	assert_int_equal(a.segment, b.segment);
	assert_int_equal(a.at, b.at);
}

static void rooms_in_between_are_used_again(void **state)
{
	struct made made;
	uint64_t bytes;

	make(&made, 64);
	for (int i = 0; i < MANY; i++)
		made.rooms[i] = allocate(&made, ROOM_TABLE, TABLE_WORDS);
	bytes = segments_bytes(&made.segments);
	assert_int_equal(bytes, 3 * SEGMENT_BYTES);
	for (int turn = 0; turn < 10; turn++) {
		for (int i = turn % 2; i < MANY; i += 2)
			segments_release(&made.segments, made.rooms[i], TABLE_WORDS);
		assert_int_equal(segments_reclaim(&made.segments), 1);
		for (int i = turn % 2; i < MANY; i += 2)
			made.rooms[i] = allocate(&made, ROOM_TABLE, TABLE_WORDS);
	}
	assert_int_equal(segments_bytes(&made.segments), bytes);
	done(&made);
}

/* A BPF program may still be reading it. */
static void no_room_is_used_again_before_reclaim(void **state)
{
	struct room first, second;
	struct made made;

	make(&made, 64);
	first = allocate(&made, ROOM_TABLE, TABLE_WORDS);
	segments_release(&made.segments, first, TABLE_WORDS);
	second = allocate(&made, ROOM_TABLE, TABLE_WORDS);
	assert_int_not_equal(first.at, second.at);
	assert_int_equal(segments_reclaim(&made.segments), 1);
	assert_same_room(allocate(&made, ROOM_TABLE, TABLE_WORDS), first);
	assert_int_equal(segments_reclaim(&made.segments), 0);
	done(&made);
}

static void neighbours_become_one(void **state)
{
	static const int order[] = {2, 0, 1};
	struct made made;

	make(&made, 64);
	for (int i = 0; i < 4; i++)
		made.rooms[i] = allocate(&made, ROOM_TABLE, TABLE_WORDS);
	for (int i = 0; i < 3; i++) {
		segments_release(&made.segments, made.rooms[order[i]], TABLE_WORDS);
		assert_int_equal(segments_reclaim(&made.segments), 1);
	}
	assert_same_room(allocate(&made, ROOM_TABLE, 3 * TABLE_WORDS), made.rooms[0]);
	done(&made);
}

/* Mappings find no room between tables, but do where the last table was. */
static void an_empty_segment_takes_either_kind(void **state)
{
	struct room table, other, mappings;
	struct made made;

	make(&made, 64);
	table = allocate(&made, ROOM_TABLE, TABLE_WORDS);
	other = allocate(&made, ROOM_TABLE, TABLE_WORDS);
	segments_release(&made.segments, table, TABLE_WORDS);
	segments_reclaim(&made.segments);
	mappings = allocate(&made, ROOM_MAPPINGS, TABLE_WORDS);
	assert_int_not_equal(mappings.segment, table.segment);
	segments_release(&made.segments, mappings, TABLE_WORDS);
	segments_release(&made.segments, other, TABLE_WORDS);
	segments_reclaim(&made.segments);
	assert_same_room(allocate(&made, ROOM_MAPPINGS, TABLE_WORDS), table);
	done(&made);
}

/* Writes the room's owner into its words, or checks it. */
static void mark(struct made *made, int owner, bool check)
{
	uint32_t *words = segments_words(&made->segments, made->rooms[owner]);

	for (uint32_t i = 0; i < made->n_words[owner]; i++) {
		if (check)
			assert_int_equal(words[i], owner);
		words[i] = owner;
	}
}

/* Allocates and releases at random, with so few segments that some are evicted. */
static void rooms_never_overlap(void **state)
{
	struct made made;

	make(&made, 4);
	srandom(1);
	for (uint32_t turn = 0; turn < 20000; turn++) {
		int i = random() % MANY;

		if (turn % 50 == 0)
			segments_reclaim(&made.segments);
		if (made.rooms[i].segment) {
			mark(&made, i, true);
			segments_release(&made.segments, made.rooms[i], made.n_words[i]);
			made.rooms[i] = (struct room){};
			continue;
		}
		made.n_words[i] = 1 + random() % 5000;
		if (segments_allocate(&made.segments, i % 4 ? ROOM_TABLE : ROOM_MAPPINGS,
				      made.n_words[i], turn / 50, true, &made.rooms[i]) == 0)
			mark(&made, i, false);
	}
	assert_true(made.segments.n_evicted > 0);
	assert_int_equal(segments_bytes(&made.segments), 4 * SEGMENT_BYTES);
	done(&made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rooms_in_between_are_used_again),
		cmocka_unit_test(no_room_is_used_again_before_reclaim),
		cmocka_unit_test(neighbours_become_one),
		cmocka_unit_test(an_empty_segment_takes_either_kind),
		cmocka_unit_test(rooms_never_overlap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
