/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * store_read: the windows of a range of time, each once, from whichever levels have them.
 *
 * The length of the range decides how coarse windows may be. Where such a window is not there (it
 * is not over yet, or reaches beyond the range) finer ones are taken; where those are gone, coarser
 * ones that lie in the range. A range within a window, as it was recorded, gets that one. No
 * lock is taken, and nothing needs to be written. A confined process (base/confined.h) can do it if
 * its parent has listed the folder.
 */
#ifndef STORE_STORE_READ_H
#define STORE_STORE_READ_H

#include "base/failure.h"
#include "store/store_files.h"

struct store_question {
	const char *path;
	uint64_t from, to; /* ns since 1970; [from, to) */
	bool is_series;	   /* totals do: windows need have no stacks */
	bool is_finest;	   /* nothing coarser than what was recorded */
	bool wants_pids;   /* of all processes: what was recorded, as long as it is there */
	/* Windows of a length that divides this, as long as there are finer ones; 0: any. */
	uint64_t step_ns;
	/*
	 * Is given each window, in no order of time; its rows are those of @ledger, which is
	 * another one (or begins anew) when @is_first. Returns 0, or -errno to end it.
	 */
	int (*on_window)(void *context, const struct ledger *ledger,
			 const struct store_window *window, bool is_first);
	void *context;
};

struct store_answer {
	uint64_t windows[N_STORE_LEVELS];  /* that were read, by level */
	uint64_t level_ns[N_STORE_LEVELS]; /* how long they are */
	uint64_t begin, end;		   /* what they cover lies in here; 0, 0: nothing */
	uint64_t covered;		   /* ns */
	uint64_t oldest, newest;	   /* what is there at all; 0, 0: no windows */
	/* Where nothing was read: how long those are that are kept of the range; 0: there are none */
	uint64_t coarser_ns;
	size_t n_damaged;		   /* files with a part that is not whole … */
	uint64_t damaged_bytes;
	char damaged[SEGMENT_NAME_SIZE]; /* … the first of them */
	size_t n_unknown;		 /* files of other versions */
	char unknown[SEGMENT_NAME_SIZE];
	size_t n_unread; /* files that we may not read */
	char unread[SEGMENT_NAME_SIZE];
};

/*
 * Errors: those of @on_window; -ENOENT no store; -ENODATA a folder without segments; -EACCES, …,
 * explained in *failure.
 */
int store_read(const struct store_question *question, struct store_answer *ret,
	       struct failure *failure);

/* Explains why the folder @path can't be read, if *failure says nothing yet. Returns @error. */
int store_fail(int error, const char *path, struct failure *failure);

#endif
