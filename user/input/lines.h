/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lines: the lines of a stream, where they lie: none is copied. The longest one bounds the memory.
 */
#ifndef INPUT_LINES_H
#define INPUT_LINES_H

#include "input/stream.h"

/* What is longer is no stack, and whoever wrote it forgot the newlines. */
#define LINES_MAX_LENGTH ((size_t)64 << 20)

struct lines {
	struct stream *stream; /* the caller's */
	struct failure *failure;
	uint64_t number; /* of the line that lines_next() gave, from 1 on */
	bool moved;	 /* by the latest lines_next(): earlier lines are where they were no more */
};

struct line {
	char *text; /* without its newline; may be written to; until the next lines_next() moves it
		     */
	size_t n;
};

/*
 * The next line, without "\n" or "\r\n"; the last one needs none. Returns 1, or 0 at the end.
 * STREAM_SLACK bytes behind it may be read.
 * Errors: those of stream_fill(); -EINVAL for a line longer than LINES_MAX_LENGTH.
 */
int lines_next(struct lines *lines, struct line *ret);

/* Tells *failure what is wrong with the line given last: `NAME:NUMBER: what`. Returns @error. */
int lines_fail(const struct lines *lines, int error, const char *what);

#endif
