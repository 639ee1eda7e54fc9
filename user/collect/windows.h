/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * windows: which window a moment and a row belong to, and finished windows that wait to be taken.
 *
 * One window is open; its rows, and late rows of earlier ones, belong to it. Rows of later windows,
 * which programs may have begun before the loader saw the boundary, are set aside until their turn.
 * A row has the lowest 8 bits of its window's number. That is enough unless the loader sleeps for a
 * hundred windows; then all up to the last boundary are joined.
 */
#ifndef COLLECT_WINDOWS_H
#define COLLECT_WINDOWS_H

#include "bpf/wire.h"
#include "collect/collect.h"
#include "collect/stats.h"

struct row {
	struct bf_count_key key;
	struct bf_count count;
};

/* A finished window. Owned. */
struct closed_window {
	struct collect_window window;
	struct stats_mark begin, end;
	bool owns_fds; /* of its sources; once taken, they are in: */
	int *fds;
	size_t n_fds;
};

#define WINDOWS_WAITING 2 /* the last one waits besides the one before it */

struct windows {
	uint64_t every_ns;   /* 0: one window only */
	struct bf_base base; /* from where on windows have that length */
	uint64_t number;     /* of the open one, from 0; if joined, of the first … */
	uint64_t last;	     /* … and last of them */
	uint64_t begin_ns;   /* of the open one: CLOCK_MONOTONIC */

	struct row *later;
	size_t n_later, later_capacity;

	struct closed_window *waiting[WINDOWS_WAITING]; /* oldest first */
	size_t n_waiting;
	struct closed_window *taken; /* the latest: only its descriptors; or NULL */
};

void windows_done(struct windows *windows);

/* The window of @moment, which is not before that in which the base was set. */
uint64_t windows_at(const struct windows *windows, uint64_t moment_ns);

/* When window @number, which is not before the base, begins. */
uint64_t windows_begin(const struct windows *windows, uint64_t number);

/* Whether a row with @window in its key belongs to a window after the open one. */
bool windows_is_after(const struct windows *windows, uint8_t window);

/* Sets a row aside. Errors: -ENOMEM. */
int windows_set_aside(struct windows *windows, const struct bf_count_key *key,
		      const struct bf_count *count);

/*
 * Adds a finished window, which @windows then owns. If the previous one still waits, the two are
 * joined, except the last one, which may wait besides it. Errors: -ENOMEM, -E2BIG.
 */
int windows_add(struct windows *windows, struct closed_window *closed);

/* Gives the oldest waiting one: 1; 0: none; -ENOMEM. It becomes `taken`. */
int windows_take(struct windows *windows, struct collect_window *ret);

/* Forgets the one that was taken, and closes its descriptors. */
void windows_forget_taken(struct windows *windows);

void closed_window_free(struct closed_window *closed);

#endif
