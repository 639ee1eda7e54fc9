/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/records.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/foreign.h"

/* The part that sample_id_all appends to each record: PERF_SAMPLE_TID | PERF_SAMPLE_TIME. */
struct sample_id {
	uint32_t pid, tid;
	uint64_t time;
};

struct mmap2_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t start, length, offset;
	uint32_t device_major, device_minor;
	uint64_t inode, generation;
	uint32_t protection, flags;
	char path[];
};

struct comm_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	char comm[];
};

struct lost_record {
	struct perf_event_header header;
	uint64_t id, lost;
};

/* A record is at most 64 KiB: its size field has 16 bits. */
union record_bytes {
	struct perf_event_header header;
	struct mmap2_record mmap2;
	struct comm_record comm;
	struct lost_record lost;
	char bytes[1 << 16];
};

int records_open(unsigned int cpu, size_t data_size, struct record_ring *ret)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof attr,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = data_size / 4,
	};
	size_t page = sysconf(_SC_PAGESIZE);
	int fd = foreign_open_event(&attr, cpu);
	void *memory;

	if (fd < 0)
		return fd;
	memory = mmap(NULL, page + data_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED) {
		int error = errno;

		close(fd);
		return -error;
	}
	*ret = (struct record_ring){.fd = fd, .memory = memory, .size = data_size};
	return 0;
}

void records_close(struct record_ring *ring)
{
	if (!ring->memory)
		return;
	munmap(ring->memory, sysconf(_SC_PAGESIZE) + ring->size);
	close(ring->fd);
	*ring = (struct record_ring){.fd = -1};
}

/* The record at @from: in place, or @copy of it if it goes on at the ring's beginning. */
static const union record_bytes *record_at(const struct record_ring *ring, uint64_t from,
					   union record_bytes *copy)
{
	const char *data = (const char *)ring->memory + sysconf(_SC_PAGESIZE);
	size_t at = from & (ring->size - 1), first = ring->size - at;
	const union record_bytes *bytes = (const union record_bytes *)(data + at);

	/* Records are multiples of 8 bytes: a header is never in two pieces. */
	if (bytes->header.size <= first)
		return bytes;
	memcpy(copy, bytes, first);
	memcpy(copy->bytes + first, data, bytes->header.size - first);
	return copy;
}

static int hand_over(const union record_bytes *bytes, struct record_losses *losses, record_fn fn,
		     void *context)
{
	struct record record = {};
	struct sample_id id;

	switch (bytes->header.type) {
	case PERF_RECORD_LOST: losses->lost += bytes->lost.lost; return 0;
	case PERF_RECORD_THROTTLE: losses->throttled++; return 0;
	case PERF_RECORD_COMM:
		if (!(bytes->header.misc & PERF_RECORD_MISC_COMM_EXEC))
			return 0;
		record.type = RECORD_EXEC;
		record.pid = bytes->comm.pid;
		break;
	case PERF_RECORD_MMAP2:
		record.type = RECORD_MAP;
		record.pid = bytes->mmap2.pid;
		record.mapped = (struct maps_entry){
			bytes->mmap2.start,
			bytes->mmap2.start + bytes->mmap2.length,
			bytes->mmap2.offset,
			true,
			{bytes->mmap2.device_major, bytes->mmap2.device_minor, bytes->mmap2.inode,
			 bytes->mmap2.path},
		};
		break;
	default: return 0;
	}
	memcpy(&id, bytes->bytes + bytes->header.size - sizeof id, sizeof id);
	record.time = id.time;
	return fn(context, &record);
}

int records_read(struct record_ring *ring, struct record_losses *losses, record_fn fn,
		 void *context)
{
	struct perf_event_mmap_page *page = ring->memory;
	uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = page->data_tail;
	static union record_bytes copy; /* too large for a small stack */
	int r = 0;

	while (tail != head && r >= 0) {
		const union record_bytes *bytes = record_at(ring, tail, &copy);

		r = hand_over(bytes, losses, fn, context);
		tail += bytes->header.size;
	}
	__atomic_store_n(&page->data_tail, tail, __ATOMIC_RELEASE);
	return r;
}
