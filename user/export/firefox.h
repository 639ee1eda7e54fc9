/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * firefox: shared by the files that write for the Firefox Profiler. firefox.c writes the threads
 * and their samples, firefox_tables.c the frames and what they refer to, firefox_meta.c the
 * facts about the whole.
 */
#ifndef EXPORT_FIREFOX_H
#define EXPORT_FIREFOX_H

#include "base/json.h"
#include "export/groups.h"

/* Categories of frames. One must be grey: frames without a category belong to it. */
enum category {
	CATEGORY_OTHER,
	CATEGORY_USER,
	CATEGORY_KERNEL,
	CATEGORY_JIT,
	CATEGORY_WAITING,
	CATEGORY_RUNNABLE,
	CATEGORY_IDLE,
	CATEGORY_INTERPRETED,
	N_CATEGORIES
};

struct firefox_writer {
	struct json *json;
	struct groups groups;
	bool threads;
	/* Modules of all threads (string ids), and by string id their index + 1. */
	uint32_t *libs, *lib_of;
	size_t n_libs;
	/*
	 * The current thread's functions and frames, and by frame their numbers + 1. A function
	 * is a frame of the groups; a frame is twice a frame of the groups, + 1 if it is
	 * inlined.
	 */
	uint32_t *functions, *function_of, *frames, *frame_of;
	size_t n_functions, n_frames;
	/* The current stack as entries of the table, root first; has room for every stack. */
	uint32_t *path;
};

/* Errors: -ENOMEM. firefox_tables_done() is fine after a failure. */
int firefox_tables_init(struct firefox_writer *writer);
void firefox_tables_done(struct firefox_writer *writer);

/* Makes @group the current thread and numbers its frames. */
void firefox_find_frames(struct firefox_writer *writer, const struct group *group);

/* The number of frame @i of @stack, which belongs to the current thread. */
static inline uint32_t firefox_frame(const struct firefox_writer *writer,
				     const struct group_stack *stack, uint32_t i)
{
	uint32_t frame = group_stack_frame(stack, i);

	return writer->frame_of[(size_t)frame * 2 + group_stack_is_inlined(stack, i)] - 1;
}

enum category firefox_category(const struct firefox_writer *writer,
			       const struct group_frame *frame);

/* Write the part they are named after. The tables are those of the current thread. */
void firefox_write_tables(const struct firefox_writer *writer);
void firefox_write_strings(const struct firefox_writer *writer);
void firefox_write_meta(const struct firefox_writer *writer);
void firefox_write_libs(const struct firefox_writer *writer);

/* Arrays with the same value for every item. */
enum same { SAME_ZERO, SAME_ONE, SAME_MINUS_ONE, SAME_NULL, SAME_FALSE };
void firefox_write_same(struct json *json, const char *key, size_t n, enum same what);

/* Converts the nanoseconds between two samples of one thread to milliseconds. */
static inline double firefox_milliseconds(uint64_t nanoseconds)
{
	return nanoseconds / 1e6;
}
double firefox_interval(const struct stacks_facts *facts);

#endif
