/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * store_files: the files of a store: what they are called, and which there are.
 *
 *	10s-20261123T020000Z.bfs 1m-… 1h-… 1d-… series-…
 *
 * A name has the level and the start of a file; and `-2` … where that is taken.
 */
#ifndef STORE_STORE_FILES_H
#define STORE_STORE_FILES_H

#include "base/listing.h"
#include "store/segment.h"

enum store_level {
	LEVEL_FINEST, /* as it is recorded: 10 s */
	LEVEL_MINUTE,
	LEVEL_HOUR,
	LEVEL_DAY,
	N_LEVELS,
	LEVEL_SERIES = N_LEVELS, /* totals of each minute */
	N_STORE_LEVELS,
};

/* How long windows of a level are, ns; 0 for LEVEL_FINEST, whose length is the recording's. */
uint64_t store_level_ns(enum store_level level);

struct store_file {
	char name[SEGMENT_NAME_SIZE];
	size_t number; /* in the listing */
	enum store_level level;
	struct segment_header header;
	uint64_t bytes;
	/* Of its whole blocks: how many, and from when to when (ns since 1970). */
	uint64_t n_blocks, begin, end;
	uint64_t last;	  /* offset of the last one */
	uint64_t rest;	  /* bytes after them */
	uint64_t damaged; /* bytes that a reader of blocks has passed over, for its own use */
};

struct store_files {
	char *path; /* of the folder, as confined_list() takes it; NULL: it was open */
	struct listing listing;
	struct store_file *items; /* by level, then by start */
	size_t n, capacity;
	size_t n_unknown; /* files of other versions … */
	char unknown[SEGMENT_NAME_SIZE];
	size_t n_unread; /* … those that we may not read … */
	char unread[SEGMENT_NAME_SIZE];
	size_t n_damaged; /* … and what has a segment's name and is none, or can't be opened … */
	char damaged[SEGMENT_NAME_SIZE];
	int error; /* … and why, of the first that can't: -errno */
};

/* `10s`, `500ms`, `1m`: what the names of a level's files begin with. */
void store_level_name(uint64_t level_ns, enum segment_kind kind, char text[static 32]);

/* Whether @name ends as those of segments do. */
bool store_is_segment(const char *name);

/*
 * Lists the segments of a folder, @path, and looks at their heads. Also in a confined process.
 * Errors: -ENOMEM, -errno of the folder. store_files_done() is due either way.
 */
int store_files_read(const char *path, struct store_files *ret);
/* The same of a folder that is open. */
int store_files_list(int folder, struct store_files *ret);
void store_files_done(struct store_files *files);

/* Bytes of the files in an open folder, by the level in their names. Opens none of them. */
void store_files_sizes(int folder, uint64_t ret[static N_STORE_LEVELS]);

/* Opens one for reading, as listing_open(). */
int store_file_open(const struct store_files *files, const struct store_file *file);
/* The same, as far as segment_open(). */
int store_segment_open(const struct store_files *files, const struct store_file *file,
		       struct segment_reader *ret);

/*
 * Whether an error of opening or reading is of that file alone: one strange file in a folder that
 * others may write to is no reason not to read the rest.
 */
bool store_is_of_file(int error);

#endif
