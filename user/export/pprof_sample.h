/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pprof_sample: one sample as the bytes of a message Sample: a million of them are written without
 * the structs that protobuf-c would take.
 */
#ifndef EXPORT_PPROF_SAMPLE_H
#define EXPORT_PPROF_SAMPLE_H

#include "export/pprof_tables.h"

struct pprof_bytes {
	uint8_t *at;
	size_t n, capacity;
};

/* Set the first part, zero the rest. */
struct pprof_writer {
	struct profile *profile; /* the caller's, as the others */
	struct pprof_tables *tables;
	struct gzip *gzip;
	uint64_t period;	   /* nanoseconds, or events; 0: not known */
	const struct extras *rows; /* of the samples that come; NULL: weights are written */

	/* Its own. Indexes in the string table, 0: not there. */
	uint32_t comm, pid, tid, reason, idle, yes;
	uint32_t reasons[N_OFF_REASONS];
	uint32_t thread_comm; /* string id */
	struct pprof_bytes sample, ids, part;
};

/* @locations: of the tables, leaf first. Errors: -ENOMEM, -E2BIG. */
int pprof_write_sample(struct pprof_writer *writer, const struct profile_sample *sample,
		       const uint32_t *locations, size_t n);
void pprof_writer_done(struct pprof_writer *writer);

#endif
