/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmocka_all.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/records.h"

#define RING_BYTES   4096
#define RECORD_BYTES 104

/* As the kernel writes it: PERF_RECORD_MMAP2 of a short path, and the sample's id. */
struct written {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t start, length, offset;
	uint32_t device_major, device_minor;
	uint64_t inode, generation;
	uint32_t protection, flags;
	char path[16];
	uint32_t id_pid, id_tid;
	uint64_t time;
};

/* Puts the @i-th record into the ring at @at. */
static void put_record(struct record_ring *ring, uint64_t at, uint32_t i)
{
	char *data = (char *)ring->memory + sysconf(_SC_PAGESIZE);
	struct written record = {
		.header = {PERF_RECORD_MMAP2, 0, sizeof record},
		.pid = 100 + i,
		.start = 0x1000 * i,
		.length = 0x1000,
		.inode = i,
		.time = 1000 + i,
	};

	snprintf(record.path, sizeof record.path, "/f%u", i);
	for (size_t k = 0; k < sizeof record; k++)
		data[(at + k) & (RING_BYTES - 1)] = ((char *)&record)[k];
}

static int check_record(void *context, const struct record *record)
{
	uint32_t *n = context;
	char path[16];

	snprintf(path, sizeof path, "/f%u", *n);
	assert_int_equal(record->type, RECORD_MAP);
	assert_int_equal(record->pid, 100 + *n);
	assert_int_equal(record->time, 1000 + *n);
	assert_int_equal(record->mapped.start, 0x1000 * *n);
	assert_int_equal(record->mapped.end, 0x1000 * *n + 0x1000);
	assert_int_equal(record->mapped.name.inode, *n);
	assert_string_equal(record->mapped.name.path, path);
	++*n;
	return 0;
}

/* Records go on at the ring's beginning, cut at every place that the kernel can cut them. */
static void test_around_the_end(void **state)
{
	size_t page = sysconf(_SC_PAGESIZE);
	struct record_ring ring = {.memory = calloc(1, page + RING_BYTES), .size = RING_BYTES};
	struct perf_event_mmap_page *head = ring.memory;
	struct record_losses losses = {};
	uint32_t written = 0, n = 0;
	uint64_t at = 0;

	_Static_assert(sizeof(struct written) == RECORD_BYTES, "the kernel's layout");
	assert_non_null(ring.memory);
	while (at < RECORD_BYTES * (uint64_t)RING_BYTES) {
		for (int i = 0; i < 38; i++, at += RECORD_BYTES)
			put_record(&ring, at, written++);
		head->data_head = at;
		assert_int_equal(records_read(&ring, &losses, check_record, &n), 0);
		assert_int_equal(n, written);
		assert_int_equal(head->data_tail, at);
	}
	assert_int_equal(losses.lost, 0);
	free(ring.memory);
}

static int refuse_record(void *context, const struct record *record)
{
	return -ENOMEM;
}

/* An error ends the reading after its record; the others stay. */
static void test_error(void **state)
{
	size_t page = sysconf(_SC_PAGESIZE);
	struct record_ring ring = {.memory = calloc(1, page + RING_BYTES), .size = RING_BYTES};
	struct perf_event_mmap_page *head = ring.memory;
	struct record_losses losses = {};

	assert_non_null(ring.memory);
	put_record(&ring, 0, 0);
	put_record(&ring, RECORD_BYTES, 1);
	head->data_head = 2 * RECORD_BYTES;
	assert_int_equal(records_read(&ring, &losses, refuse_record, NULL), -ENOMEM);
	assert_int_equal(head->data_tail, RECORD_BYTES);
	free(ring.memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_around_the_end),
		cmocka_unit_test(test_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
