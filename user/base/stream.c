/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stream: reads in blocks that fit a CPU's second-level cache, so that a reader finds fresh bytes
 * there.
 */
#include "base/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/confined.h"
#include "base/unpack_stream.h"

#define BLOCK ((size_t)1 << 20)

static int fail(const struct stream *stream, struct failure *failure, int error)
{
	failure_set(failure, error, "%s: %s", stream->name, strerror(-error));
	return error;
}

static int fail_packed(const struct stream *stream, struct failure *failure, const char *what)
{
	const char *name = stream->unpacker->codec->name;
	unsigned long long offset = stream->taken + stream_available(stream);

	failure_set(failure, -EINVAL, "%s: this %s file is %s after %llu bytes of it", stream->name,
		    name, what, offset);
	return failure_fix(failure, -EINVAL, "%s -t checks whether a file is whole", name);
}

/* Reads up to @n raw bytes of the file. Returns their number, 0 at the end, or -errno. */
static ssize_t read_file(const struct stream *stream, void *to, size_t n, struct failure *failure)
{
	ssize_t got;

	do
		got = read(stream->fd, to, n);
	while (got < 0 && errno == EINTR);
	return got < 0 ? fail(stream, failure, -errno) : got;
}

/* Refills the unpacker if it has no input. */
static int feed(struct stream *stream, struct failure *failure)
{
	struct unpacker *unpacker = stream->unpacker;
	ssize_t got;

	if (unpacker->n || unpacker->file_ended)
		return 0;
	got = read_file(stream, unpacker->input, sizeof unpacker->input, failure);
	if (got < 0)
		return got;
	unpacker->file_ended = got == 0;
	unpacker->next = unpacker->input;
	unpacker->n = got;
	return 0;
}

/* Reads up to @n uncompressed bytes; 0 at the end. */
static ssize_t read_packed(struct stream *stream, char *to, size_t n, struct failure *failure)
{
	size_t got = 0;

	while (!got) {
		int r = feed(stream, failure);

		if (r < 0)
			return r;
		r = stream->unpacker->codec->run(stream->unpacker, to, n, &got);
		if (r == UNPACKER_ENDED)
			break;
		if (r == -ENOMEM)
			return fail(stream, failure, r);
		if (r < 0)
			return fail_packed(stream, failure, r == -ENODATA ? "cut off" : "damaged");
	}
	return got;
}

/* Makes room for @wanted bytes from the window's start on. */
static int make_room(struct stream *stream, size_t wanted)
{
	size_t available = stream_available(stream), capacity = stream->capacity;
	char *grown;

	if (stream->start) {
		memmove(stream->window, stream_bytes(stream), available);
		stream->start = 0;
		stream->end = available;
	}
	if (wanted <= capacity)
		return 0;
	while (capacity < wanted)
		capacity *= 2;
	grown = realloc(stream->window, capacity + STREAM_SLACK);
	if (!grown)
		return -ENOMEM;
	stream->window = grown;
	stream->capacity = capacity;
	return 0;
}

/* Extends the window, or notes the file's end. */
static int read_on(struct stream *stream, struct failure *failure)
{
	char *to = stream->window + stream->end;
	size_t room = stream->capacity - stream->end;
	ssize_t got = stream->unpacker ? read_packed(stream, to, room, failure)
				       : read_file(stream, to, room, failure);

	if (got < 0)
		return got;
	stream->at_end = got == 0;
	stream->end += got;
	if (stream->max_bytes && stream->taken + stream_available(stream) > stream->max_bytes)
		return failure_set(failure, -E2BIG, "%s: has more than %llu bytes%s", stream->name,
				   (unsigned long long)stream->max_bytes,
				   stream->unpacker ? " when it is uncompressed" : "");
	return 0;
}

int stream_fill(struct stream *stream, size_t wanted, struct failure *failure)
{
	if (stream_available(stream) >= wanted || stream->at_end)
		return 0;
	if (wanted > STREAM_MAX_WINDOW)
		return failure_set(failure, -E2BIG, "%s: too large to be held in memory",
				   stream->name);
	if (make_room(stream, wanted) < 0)
		return fail(stream, failure, -ENOMEM);
	while (stream_available(stream) < wanted && !stream->at_end) {
		int r = read_on(stream, failure);

		if (r < 0)
			return r;
	}
	return 0;
}

int stream_more(struct stream *stream, struct failure *failure)
{
	size_t before = stream_available(stream);
	int r = stream_fill(stream, before + 1, failure);

	if (r < 0)
		return r;
	return stream_available(stream) > before;
}

/* Takes what the window holds as the first piece of a compressed file. */
static int begin_unpacking(struct stream *stream, const struct codec *codec,
			   struct failure *failure)
{
	struct unpacker *unpacker = unpacker_new(codec);
	size_t n = stream_available(stream);

	if (!unpacker)
		return fail(stream, failure, -ENOMEM);
	memcpy(unpacker->input, stream_bytes(stream), n);
	unpacker->next = unpacker->input;
	unpacker->n = n;
	stream->unpacker = unpacker;
	stream->start = stream->end = 0;
	stream->at_end = false;
	return 0;
}

/* Reads only as much as an unpacker takes: the file may be compressed. */
static int read_beginning(struct stream *stream, struct failure *failure)
{
	const struct codec *codec;

	while (stream->end < UNPACKER_MAGIC && !stream->at_end) {
		ssize_t got = read_file(stream, stream->window + stream->end,
					UNPACKER_BLOCK - stream->end, failure);

		if (got < 0)
			return got;
		stream->at_end = got == 0;
		stream->end += got;
	}
	codec = codec_find(stream_bytes(stream), stream_available(stream));
	return codec ? begin_unpacking(stream, codec, failure) : 0;
}

static int open_file(struct stream *stream, const char *path, struct failure *failure)
{
	struct stat status;

	if (strcmp(path, "-") == 0) {
		stream->name = "standard input";
		stream->fd = STDIN_FILENO;
	} else {
		stream->name = path;
		stream->fd = confined_open(path);
		stream->is_own = stream->fd >= 0;
	}
	if (stream->fd < 0)
		return fail(stream, failure, stream->fd);
	if (fstat(stream->fd, &status) < 0)
		return fail(stream, failure, -errno);
	if (S_ISDIR(status.st_mode))
		return fail(stream, failure, -EISDIR);
	posix_fadvise(stream->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	return 0;
}

int stream_open(struct stream *stream, const char *path, uint64_t max_bytes,
		struct failure *failure)
{
	int r;

	*stream = (struct stream){.fd = -1, .max_bytes = max_bytes};
	r = open_file(stream, path, failure);
	if (r < 0)
		return r;
	stream->window = malloc(BLOCK + STREAM_SLACK);
	if (!stream->window)
		return fail(stream, failure, -ENOMEM);
	stream->capacity = BLOCK;
	return read_beginning(stream, failure);
}

void stream_close(struct stream *stream)
{
	unpacker_free(stream->unpacker);
	free(stream->window);
	if (stream->is_own)
		close(stream->fd);
	*stream = (struct stream){.fd = -1};
}
