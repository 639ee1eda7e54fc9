/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stream: the bytes of a file, or of standard input, whether they are compressed or not.
 *
 * A window slides over the file: what was read and not taken yet lies in one piece, and grows only
 * as far as a reader asks for. Files are read, not mapped: a file that shrinks meanwhile is a short
 * file and no SIGBUS, a pipe is read as a file is, and pages that were read don't count as memory
 * in use.
 *
 *	stream_open → (stream_fill → stream_bytes … stream_take) … → stream_close
 */
#ifndef INPUT_STREAM_H
#define INPUT_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/failure.h"

/* The most a window may be asked to hold. */
#define STREAM_MAX_WINDOW (1ULL << 32)

/* So many bytes behind what the window holds may be read, whatever is in them. */
#define STREAM_SLACK 32

struct unpacker;

struct stream {
	const char *name; /* the path, "standard input" for "-"; the caller's */
	int fd;
	bool is_own;		  /* fd: opened here */
	struct unpacker *unpacker; /* NULL: the bytes are as in the file */
	char *window;
	size_t capacity, start, end; /* window[start, end) was not taken yet */
	uint64_t taken;		     /* uncompressed bytes, up to window[start] */
	uint64_t max_bytes;
	bool at_end; /* nothing comes behind window[end] */
};

/*
 * Opens @path, "-" for standard input, and reads its first bytes. What is compressed is known by
 * them, see unpacker.h. @max_bytes: of the uncompressed file, 0 for any number. Files are closed by
 * stream_close() only, which is fine after a failure, too.
 * Errors, all told in *@failure: -errno of opening (-EISDIR for a folder) and reading; as of
 * stream_fill().
 */
int stream_open(struct stream *stream, const char *path, uint64_t max_bytes,
		struct failure *failure);
void stream_close(struct stream *stream);

/*
 * Reads until the window holds @wanted bytes or the file's end. Moves the window: pointers into it
 * are lost. Asking for what is there already costs nothing.
 * Errors, all told in *@failure: -errno of reading; -EINVAL for gzip that is damaged or cut, with
 * the offset of the uncompressed bytes; -E2BIG if the file has more than max_bytes, or @wanted is
 * above STREAM_MAX_WINDOW; -ENOMEM.
 */
int stream_fill(struct stream *stream, size_t wanted, struct failure *failure);

/* As stream_fill(), for one or more bytes than there are; 0 at the file's end, else 1. */
int stream_more(struct stream *stream, struct failure *failure);

/* What the window holds. The bytes may be changed until they are taken. */
static inline char *stream_bytes(const struct stream *stream)
{
	return stream->window + stream->start;
}
static inline size_t stream_available(const struct stream *stream)
{
	return stream->end - stream->start;
}

/* Goes past the first @n bytes of the window; they stay where they are until the next fill. */
static inline void stream_take(struct stream *stream, size_t n)
{
	stream->start += n;
	stream->taken += n;
}

#endif
