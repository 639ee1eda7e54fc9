/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * records: the kernel's own stream of mmap and exec records, one ring buffer per CPU, from a perf
 * event that never fires (PERF_COUNT_SW_DUMMY). Format: perf_event_open(2).
 */
#ifndef COLLECT_RECORDS_H
#define COLLECT_RECORDS_H

#include <stddef.h>

#include "collect/maps.h"

enum record_type { RECORD_MAP, RECORD_EXEC, N_RECORD_TYPES };

struct record {
	enum record_type type;
	uint32_t pid;
	uint64_t time;		  /* CLOCK_MONOTONIC ns */
	struct maps_entry mapped; /* RECORD_MAP; its path is valid during the call */
};

struct record_ring {
	int fd;
	void *memory; /* NULL: closed */
	size_t size;  /* of the data, a power of two */
};

struct record_losses {
	uint64_t lost;	    /* records that did not fit */
	uint64_t throttled; /* times the kernel paused sampling */
};

/* Opens the ring of @cpu. 0 or -errno. */
int records_open(unsigned int cpu, size_t data_size, struct record_ring *ret);
void records_close(struct record_ring *ring);

typedef int (*record_fn)(void *context, const struct record *record);

/* Hands over all available records, in the order of writing. Returns @fn's result if < 0. */
int records_read(struct record_ring *ring, struct record_losses *losses, record_fn fn,
		 void *context);

#endif
