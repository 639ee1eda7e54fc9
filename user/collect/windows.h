/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * windows: which window a moment and a row belong to, and those that are over and wait to be taken.
 *
 * One window is open: rows of it and, come too late, of earlier ones are its. Rows of windows after
 * it, which programs may have begun before the loader saw the boundary, are set aside until it is
 * their turn. A row has the lowest 8 bits of its window's number: enough unless the loader sleeps
 * for a hundred windows, and then all until the last boundary are joined in one.
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

/* A window that is over. Owned. */
struct closed_window {
	struct collect_window window;
	struct stats_mark begin, end;
	bool owns_fds; /* those of its sources; once it is taken, they stand in: */
	int *fds;
	size_t n_fds;
};

#define WINDOWS_WAITING 2 /* the last one waits beside the one before it */

struct windows {
	uint64_t start_ns, every_ns; /* CLOCK_MONOTONIC; every_ns 0: there is one window */
	uint64_t number; /* of the open one, from 0; if it is joined, of the first … */
	uint64_t last;	 /* … and last of them */

	struct row *later;
	size_t n_later, later_capacity;

	struct closed_window *waiting[WINDOWS_WAITING]; /* the oldest first */
	size_t n_waiting;
	struct closed_window *taken; /* the latest: no more than its descriptors; or NULL */
};

void windows_done(struct windows *windows);

/* The window of @moment, which lies after the start. */
uint64_t windows_at(const struct windows *windows, uint64_t moment_ns);

/* Whether a row whose key says @window belongs to a window after the open one. */
bool windows_is_after(const struct windows *windows, uint8_t window);

/* Sets a row aside. Errors: -ENOMEM. */
int windows_set_aside(struct windows *windows, const struct bf_count_key *key,
		      const struct bf_count *count);

/*
 * Adds a window that is over; it is @windows' from then on. If the one before still waits, the two
 * are joined, but for the last one, which may wait beside it. Errors: -ENOMEM, -E2BIG.
 */
int windows_add(struct windows *windows, struct closed_window *closed);

/* Hands out the oldest that waits: 1, 0: there is none, -ENOMEM. It is `taken` then. */
int windows_take(struct windows *windows, struct collect_window *ret);

/* Forgets the one that was taken: its descriptors are closed. */
void windows_forget_taken(struct windows *windows);

void closed_window_free(struct closed_window *closed);

#endif
