/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pprof_sample: one sample as a message Sample.
 */
#ifndef EXPORT_PPROF_SAMPLE_H
#define EXPORT_PPROF_SAMPLE_H

#include "export/pprof_bytes.h"
#include "export/pprof_tables.h"

/* Set the first part, zero the rest. */
struct pprof_writer {
	struct profile *profile; /* the caller's, like the next ones */
	struct pprof_tables *tables;
	struct gzip *gzip;
	uint64_t period;	   /* nanoseconds, or events; 0: unknown */
	const struct extras *rows; /* the samples' rows; NULL: write weights */

	/* Its own: indexes in the string table, 0: not there. */
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
