/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * firefox: the Firefox Profiler's processed format, ours (version 47) and that of others, older and
 * newer: https://github.com/firefox-devtools/profiler/blob/main/docs-developer/CHANGELOG-formats.md
 *
 * It is tables, whose columns are arrays; a sample is a row of the table of stacks, which is one of
 * another stack and a frame. The tables are those of a thread, or (strings from version 56 on, all
 * from 60 on) of the file; a stack's parent is a row, or (66) a distance. Columns are kept as they
 * are, four bytes a number, until the file ends: what refers to what may come in any order.
 */
#ifndef INPUT_FIREFOX_H
#define INPUT_FIREFOX_H

#include "input/json_stacks.h"

enum firefox_column {
	STACK_PREFIX,
	STACK_OFFSET,
	STACK_FRAME,
	FRAME_FUNCTION,
	FRAME_CATEGORY,
	FRAME_DEPTH, /* above 0: of an inlined function */
	FRAME_LINE,
	FUNCTION_NAME,
	FUNCTION_FILE,
	FUNCTION_SOURCE,
	FUNCTION_RESOURCE,
	RESOURCE_NAME,
	RESOURCE_TYPE,
	SOURCE_FILE,
	STRINGS, /* string ids of the profile */
	N_FIREFOX_COLUMNS,
};

struct firefox_tables {
	struct json_column columns[N_FIREFOX_COLUMNS];
	uint32_t *pieces; /* by frame, or JSON_UNSET */
	uint32_t *threads,
		*sample_of; /* by stack: the thread it was made for last, and its sample */
};

struct firefox_thread {
	uint32_t name; /* string id */
	uint32_t pid, tid;
	bool is_time; /* the weights are milliseconds */
	struct json_column stacks;
	struct json_number *weights; /* none: 1 each */
	size_t n_weights, weights_capacity;
	struct firefox_tables tables;
};

struct firefox {
	struct json_stacks *stacks; /* the caller's */
	bool has_meta, has_threads;
	uint32_t version;		    /* of the processed format; 0: it is another one */
	struct json_number interval, start; /* milliseconds */
	struct json_column categories;	    /* an enum json_kind each */
	struct firefox_tables shared;
	struct firefox_thread *threads;
	size_t n_threads, threads_capacity;

	/* Of the thread in hand: samples that were made. */
	struct profile_sample *samples;
	size_t n_samples, samples_capacity;
	struct json_column path;
};

void firefox_done(struct firefox *firefox);

/*
 * Reads the value of @key, of the file's object and of its "shared". Returns whether it is one of
 * the format's; if not, nothing was read. Errors of all: as of input_read().
 */
int firefox_read(struct firefox *firefox, const char *key);
int firefox_read_shared(struct firefox *firefox, const char *key);

/* The file's end: adds its samples to the profile. */
int firefox_finish(struct firefox *firefox);

#endif
