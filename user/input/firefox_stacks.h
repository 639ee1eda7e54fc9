/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * firefox_stacks: the tables of a file (firefox.h), and the samples of a thread, once all were read.
 */
#ifndef INPUT_FIREFOX_STACKS_H
#define INPUT_FIREFOX_STACKS_H

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

/* Adds those of thread @i to the profile. Errors: as of input_read(). */
int firefox_add_thread(struct firefox *firefox, size_t i);

#endif
