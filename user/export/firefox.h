/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * firefox: what the parts of a file for the Firefox Profiler share: firefox.c has the threads and
 * their samples, firefox_tables.c the frames and what they refer to, firefox_meta.c what is said of
 * the whole.
 */
#ifndef EXPORT_FIREFOX_H
#define EXPORT_FIREFOX_H

#include "base/json.h"
#include "export/groups.h"

/* Of frames. One has to be grey: what frames of no category belong to. */
enum category {
	CATEGORY_OTHER,
	CATEGORY_USER,
	CATEGORY_KERNEL,
	CATEGORY_JIT,
	CATEGORY_WAITING,
	CATEGORY_RUNNABLE,
	CATEGORY_IDLE,
	N_CATEGORIES
};

struct firefox_writing {
	struct json *json;
	struct groups groups;
	bool threads;
	/* Modules of all threads, string ids; by string id, +1. */
	uint32_t *libs, *lib_of;
	size_t n_libs;
	/*
	 * Of the thread in hand: its functions, which are frames of the groups, and its frames,
	 * which are twice a frame of the groups, + 1 if it is inlined; by those, their numbers, +1.
	 */
	uint32_t *functions, *function_of, *frames, *frame_of;
	size_t n_functions, n_frames;
	/* Of the stack in hand: the entries of the table that it is, root first. */
	uint32_t *path;
	size_t path_capacity;
};

/* Errors: -ENOMEM. firefox_tables_done() is fine after a failure. */
int firefox_tables_init(struct firefox_writing *writing);
void firefox_tables_done(struct firefox_writing *writing);

/* Numbers the frames of @group, the thread in hand from then on. */
void firefox_find_frames(struct firefox_writing *writing, const struct group *group);

/* The number of frame @i of @stack, which is of the thread in hand. */
static inline uint32_t firefox_frame(const struct firefox_writing *writing,
				     const struct group_stack *stack, uint32_t i)
{
	uint32_t frame = group_stack_frame(stack, i);

	return writing->frame_of[(size_t)frame * 2 + group_stack_is_inlined(stack, i)] - 1;
}

enum category firefox_category(const struct firefox_writing *writing,
			       const struct group_frame *frame);

/* Write the parts they are called for; the tables are of the thread in hand. */
void firefox_write_tables(const struct firefox_writing *writing);
void firefox_write_strings(const struct firefox_writing *writing);
void firefox_write_meta(const struct firefox_writing *writing);
void firefox_write_libs(const struct firefox_writing *writing);

/* An array that says the same of every item. */
enum same { SAME_ZERO, SAME_ONE, SAME_MINUS_ONE, SAME_NULL, SAME_FALSE };
void firefox_write_same(struct json *json, const char *key, size_t n, enum same what);

/* Nanoseconds as milliseconds, and those between two samples of one thread. */
static inline double firefox_milliseconds(uint64_t nanoseconds)
{
	return nanoseconds / 1e6;
}
double firefox_interval(const struct stacks_facts *facts);

#endif
