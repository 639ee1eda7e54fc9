/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stream: reads in blocks that fit a CPU's second-level cache, so that a reader finds in it what
 * was just written there.
 */
#include "input/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>

#define BLOCK	   ((size_t)1 << 20)
#define GZIP_BLOCK ((size_t)128 << 10)
/* zlib: a gzip header must come. */
#define GZIP_ONLY 16

struct stream_gzip {
	z_stream z;
	bool in_member; /* between a member's header and its end */
	bool file_ended;
	unsigned char input[GZIP_BLOCK];
};

static int fail(const struct stream *stream, struct failure *failure, int error)
{
	failure_set(failure, error, "%s: %s", stream->name, strerror(-error));
	return error;
}

static int fail_gzip(const struct stream *stream, struct failure *failure, const char *what)
{
	unsigned long long offset = stream->taken + stream_available(stream);

	failure_set(failure, -EINVAL, "%s: %s, behind %llu bytes of it", stream->name, what,
		    offset);
	return failure_mend(failure, -EINVAL, "gzip -t tells whether a file is whole");
}

/* Up to @n bytes as they are in the file. Returns their number, 0 at the end, or -errno. */
static ssize_t read_file(const struct stream *stream, void *to, size_t n, struct failure *failure)
{
	ssize_t got;

	do
		got = read(stream->fd, to, n);
	while (got < 0 && errno == EINTR);
	return got < 0 ? fail(stream, failure, -errno) : got;
}

/* Bytes of the file for zlib, if it has none. */
static int feed(struct stream *stream, struct failure *failure)
{
	struct stream_gzip *gzip = stream->gzip;
	ssize_t got;

	if (gzip->z.avail_in || gzip->file_ended)
		return 0;
	got = read_file(stream, gzip->input, sizeof gzip->input, failure);
	if (got < 0)
		return got;
	gzip->file_ended = got == 0;
	gzip->z.next_in = gzip->input;
	gzip->z.avail_in = got;
	return 0;
}

/*
 * Behind a member: another one, or zeros that fill up a tape's block. Sets *@ret_begins if one
 * begins here.
 */
static int begin_member(struct stream *stream, bool *ret_begins, struct failure *failure)
{
	struct stream_gzip *gzip = stream->gzip;

	for (;;) {
		int r = feed(stream, failure);

		if (r < 0)
			return r;
		if (gzip->file_ended) {
			*ret_begins = false;
			return 0;
		}
		if (*gzip->z.next_in)
			break;
		gzip->z.next_in++;
		gzip->z.avail_in--;
	}
	if (inflateReset2(&gzip->z, GZIP_ONLY + MAX_WBITS) != Z_OK)
		return fail(stream, failure, -EINVAL);
	gzip->in_member = true;
	*ret_begins = true;
	return 0;
}

/* Up to @n uncompressed bytes; 0 at the end. */
static ssize_t read_gzip(struct stream *stream, char *to, size_t n, struct failure *failure)
{
	struct stream_gzip *gzip = stream->gzip;

	gzip->z.next_out = (unsigned char *)to;
	gzip->z.avail_out = n < UINT_MAX ? n : UINT_MAX;
	while ((char *)gzip->z.next_out == to) {
		bool begins = true;
		int r = 0;

		if (!gzip->in_member)
			r = begin_member(stream, &begins, failure);
		if (r == 0)
			r = feed(stream, failure);
		if (r < 0)
			return r;
		if (!begins)
			return 0;
		if (gzip->file_ended)
			return fail_gzip(stream, failure, "this gzip file is cut off");
		r = inflate(&gzip->z, Z_NO_FLUSH);
		if (r == Z_MEM_ERROR)
			return fail(stream, failure, -ENOMEM);
		if (r != Z_OK && r != Z_STREAM_END)
			return fail_gzip(stream, failure, "this gzip file is damaged");
		gzip->in_member = r == Z_OK;
	}
	return (char *)gzip->z.next_out - to;
}

/* Room for @wanted bytes from the window's start on. */
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

/* Something more behind the window's end, or the file's end. */
static int read_on(struct stream *stream, struct failure *failure)
{
	char *to = stream->window + stream->end;
	size_t room = stream->capacity - stream->end;
	ssize_t got = stream->gzip ? read_gzip(stream, to, room, failure)
				   : read_file(stream, to, room, failure);

	if (got < 0)
		return got;
	stream->at_end = got == 0;
	stream->end += got;
	if (stream->max_bytes && stream->taken + stream_available(stream) > stream->max_bytes)
		return failure_set(failure, -E2BIG, "%s: has more than %llu bytes%s", stream->name,
				   (unsigned long long)stream->max_bytes,
				   stream->gzip ? " when it is uncompressed" : "");
	return 0;
}

int stream_fill(struct stream *stream, size_t wanted, struct failure *failure)
{
	int r = 0;

	if (stream_available(stream) >= wanted || stream->at_end)
		return 0;
	if (wanted > STREAM_MAX_WINDOW)
		return failure_set(failure, -E2BIG, "%s: too large to be held in memory",
				   stream->name);
	if (make_room(stream, wanted) < 0)
		return fail(stream, failure, -ENOMEM);
	while (r == 0 && stream_available(stream) < wanted && !stream->at_end)
		r = read_on(stream, failure);
	return r;
}

int stream_more(struct stream *stream, struct failure *failure)
{
	size_t before = stream_available(stream);
	int r = stream_fill(stream, before + 1, failure);

	return r < 0 ? r : stream_available(stream) > before;
}

/* From here on, what the window holds is the first piece of the compressed file. */
static int begin_gzip(struct stream *stream, struct failure *failure)
{
	struct stream_gzip *gzip = calloc(1, sizeof *gzip);
	size_t n = stream_available(stream);

	if (!gzip)
		return fail(stream, failure, -ENOMEM);
	if (inflateInit2(&gzip->z, GZIP_ONLY + MAX_WBITS) != Z_OK) {
		free(gzip);
		return fail(stream, failure, -ENOMEM);
	}
	memcpy(gzip->input, stream_bytes(stream), n);
	gzip->z.next_in = gzip->input;
	gzip->z.avail_in = n;
	gzip->in_member = true;
	stream->gzip = gzip;
	stream->start = stream->end = 0;
	stream->at_end = false;
	return 0;
}

static bool is_gzip(const struct stream *stream)
{
	static const char magic[] = {0x1f, (char)0x8b};

	return stream_available(stream) >= sizeof magic &&
	       memcmp(stream_bytes(stream), magic, sizeof magic) == 0;
}

/* Only as much of the file as zlib's buffer takes: whether it is gzip is not known yet. */
static int read_beginning(struct stream *stream, struct failure *failure)
{
	while (stream->end < 2 && !stream->at_end) {
		ssize_t got = read_file(stream, stream->window + stream->end,
					GZIP_BLOCK - stream->end, failure);

		if (got < 0)
			return got;
		stream->at_end = got == 0;
		stream->end += got;
	}
	return is_gzip(stream) ? begin_gzip(stream, failure) : 0;
}

static int open_file(struct stream *stream, const char *path, struct failure *failure)
{
	struct stat status;

	if (strcmp(path, "-") == 0) {
		stream->name = "standard input";
		stream->fd = STDIN_FILENO;
	} else {
		stream->name = path;
		stream->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
		stream->is_own = stream->fd >= 0;
	}
	if (stream->fd < 0 || fstat(stream->fd, &status) < 0)
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
	if (stream->gzip)
		inflateEnd(&stream->gzip->z);
	free(stream->gzip);
	free(stream->window);
	if (stream->is_own)
		close(stream->fd);
	*stream = (struct stream){.fd = -1};
}
