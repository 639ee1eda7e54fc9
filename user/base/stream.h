/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stream: the bytes of a file or of standard input, compressed or not.
 *
 * A window slides over the file. Bytes that were read but not taken lie in one piece, which grows
 * only as far as a reader asks. Files are read, not mapped: a shrinking file is a short file and no
 * SIGBUS, a pipe works like a file, and pages that were read don't count as memory in use.
 *
 * stream_open → (stream_fill → stream_bytes … stream_take) … → stream_close
 */
#ifndef BASE_STREAM_H
#define BASE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/failure.h"

/* The largest window a reader may ask for. */
#define STREAM_MAX_WINDOW (1ULL << 32)

/* This many bytes past the window's end are readable, with any contents. */
#define STREAM_SLACK 32

struct unpacker;

struct stream {
	const char *name; /* the path, "standard input" for "-"; the caller's */
	int fd;
	bool is_own;		   /* fd was opened here */
	struct unpacker *unpacker; /* NULL: the file is not compressed */
	char *window;
	size_t capacity, start, end; /* window[start, end) is not taken yet */
	uint64_t taken;		     /* uncompressed bytes up to window[start] */
	uint64_t max_bytes;
	bool at_end; /* nothing follows window[end] */
};

/*
 * Opens @path, "-" for standard input, and reads its first bytes, which show whether it is
 * compressed; see unpack_stream.h. @max_bytes: of the uncompressed file, 0 for no limit. Close with
 * stream_close(), also after a failure. Errors, which set *@failure: -errno of opening (-EISDIR for
 * a folder) and reading; those of stream_fill().
 */
int stream_open(struct stream *stream, const char *path, uint64_t max_bytes,
		struct failure *failure);
void stream_close(struct stream *stream);

/* @text, which the caller keeps, as a file that was read already; not to be closed. */
static inline struct stream stream_of(const char *name, const char *text)
{
	size_t n = strlen(text);

	return (struct stream){
		.name = name, .fd = -1, .window = (char *)text, .end = n, .at_end = true};
}

/*
 * Reads until the window holds @wanted bytes or the file's end. Moves the window: pointers into it
 * are lost. Asking for bytes already there costs nothing.
 * Errors, which set *@failure: -errno of reading; -EINVAL for a compressed file that is damaged or
 * cut off, with the offset of the uncompressed bytes; -E2BIG if the file has more than max_bytes,
 * or @wanted is above STREAM_MAX_WINDOW; -ENOMEM.
 */
int stream_fill(struct stream *stream, size_t wanted, struct failure *failure);

/* Like stream_fill(), for at least one byte more; returns 0 at the file's end, else 1. */
int stream_more(struct stream *stream, struct failure *failure);

/* The contents of the window. The caller may change the bytes until it takes them. */
static inline char *stream_bytes(const struct stream *stream)
{
	return stream->window + stream->start;
}
static inline size_t stream_available(const struct stream *stream)
{
	return stream->end - stream->start;
}

/* Goes past the first @n bytes of the window; they stay in place until the next fill. */
static inline void stream_take(struct stream *stream, size_t n)
{
	stream->start += n;
	stream->taken += n;
}

#endif
