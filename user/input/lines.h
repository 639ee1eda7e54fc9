/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lines: splits a stream into lines, in place. The longest line bounds the memory. */
#ifndef INPUT_LINES_H
#define INPUT_LINES_H

#include "base/stream.h"

/* A longer line is no stack: its writer forgot the newlines. */
#define LINES_MAX_LENGTH ((size_t)64 << 20)

struct lines {
	struct stream *stream; /* the caller's */
	struct failure *failure;
	uint64_t number; /* of the line that lines_next() gave; counts from 1 */
	bool moved;	 /* by the latest lines_next(): pointers into earlier lines are stale */
};

struct line {
	char *text; /* writable; without its newline; valid until lines_next() sets moved */
	size_t n;
};

/*
 * Gives the next line without "
 * " or "\r
 * "; the last line needs none. Returns 1, or 0 at the end. STREAM_SLACK bytes past the line may be
 * read. Errors: those of stream_fill(); -EINVAL for a line longer than LINES_MAX_LENGTH.
 */
int lines_next(struct lines *lines, struct line *ret);

/* Sets *failure to `NAME:NUMBER: what` for the latest line. Returns @error. */
int lines_fail(const struct lines *lines, int error, const char *what);

#endif
