/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * firefox_stacks: a file's tables (firefox.h) and, once all are read, the samples of each thread.
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
	FRAME_DEPTH, /* above 0: an inlined function */
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
		*sample_of; /* by stack: the thread that used it last, and its sample there */
};

struct firefox_thread {
	uint32_t name; /* string id */
	uint32_t pid, tid;
	bool is_time; /* the weights are milliseconds */
	struct json_column stacks;
	struct json_number *weights; /* 1 each if there are none */
	size_t n_weights, weights_capacity;
	struct firefox_tables tables;
};

struct firefox {
	struct json_stacks *stacks; /* the caller's */
	bool has_meta, has_threads;
	uint32_t version;		    /* of the processed format; 0: another format */
	struct json_number interval, start; /* milliseconds */
	struct json_column categories;	    /* each an enum json_kind */
	struct firefox_tables shared;
	struct firefox_thread *threads;
	size_t n_threads, threads_capacity;

	/* The current thread's samples. */
	struct profile_sample *samples;
	size_t n_samples, samples_capacity;
	struct json_column path;
};

/* Adds the samples of thread @i to the profile. Errors: as of input_read(). */
int firefox_add_thread(struct firefox *firefox, size_t i);

#endif
