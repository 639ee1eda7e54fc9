/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * store_writer: puts windows into a store, rolls them up, and keeps it within its limits.
 *
 *	window ──▶ 10s ──▶ 1m ──▶ 1h ──▶ 1d	each when it is over
 *	            └────▶ series		the same minutes without stacks
 *
 * The window that is open at a coarse level is only in memory: after a crash it is made again from
 * the level below. Nothing that is in a file is ever changed; what is too old goes as whole files.
 */
#ifndef STORE_STORE_WRITER_H
#define STORE_STORE_WRITER_H

#include "base/failure.h"
#include "store/store_files.h"

/* Limits; 0: none. */
struct store_limits {
	uint64_t age_ns[N_STORE_LEVELS]; /* since a file's last window */
	uint64_t bytes;			 /* of all files together */
};

#define STORE_DAY (24 * 3600 * 1000000000ULL)
#define STORE_LIMITS_DEFAULT                                                                       \
	((struct store_limits){{[LEVEL_FINEST] = 2 * STORE_DAY,                                    \
				[LEVEL_MINUTE] = 14 * STORE_DAY,                                   \
				[LEVEL_HOUR] = 90 * STORE_DAY,                                     \
				[LEVEL_DAY] = 365 * STORE_DAY,                                     \
				[LEVEL_SERIES] = 365 * STORE_DAY},                                 \
			       1ULL << 30})

struct store_options {
	const char *path;   /* must stay; made if it is not there */
	uint64_t window_ns; /* of the recording; less than a minute */
	struct store_limits limits;
	size_t dictionary_bytes; /* for a level, twice that for the finest; 0: no limit */
	uint64_t (*now)(void); /* realtime ns; NULL: the clock */
};

struct store_counts {
	uint64_t windows, lost; /* of the recording: written; not written */
	uint64_t rolled;	/* windows of coarse levels … */
	uint64_t not_rolled;	/* … and how often one is incomplete or not written */
	uint64_t removed;	/* files that were too old or too many */
	uint64_t made_room;	/* files that went because the disk was full */
	uint64_t bytes;		/* written */
};

struct store_writer;

/*
 * Opens a store and finishes what a writer that died had not rolled up. Errors, explained in
 * *failure: -EWOULDBLOCK somebody else writes there; those of place_open(); -ENOMEM.
 */
int store_writer_open(const struct store_options *options, struct store_writer **ret,
		      struct failure *failure);
/* Syncs all files. The open windows of coarse levels are made again by the next writer. */
void store_writer_close(struct store_writer *writer);

/*
 * Adds a window: the rows of @ledger, whose dictionaries are its own. Windows come in the order of
 * recording, whatever their clock says. Errors: -ENOMEM, -ENOSPC, -EROFS, …: it is lost and
 * counted, and the next one may well be written.
 */
int store_writer_add(struct store_writer *writer, const struct ledger *ledger,
		     const struct store_window *window);

void store_writer_limit(struct store_writer *writer, const struct store_limits *limits);
/* Bytes of all files in the store, by level. */
void store_writer_sizes(const struct store_writer *writer, uint64_t ret[static N_STORE_LEVELS]);
const struct store_counts *store_writer_counts(const struct store_writer *writer);

#endif
