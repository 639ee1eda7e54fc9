/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "input/lines.h"

#include <errno.h>
#include <string.h>

int lines_fail(const struct lines *lines, int error, const char *what)
{
	return failure_set(lines->failure, error, "%s:%llu: %s", lines->stream->name,
			   (unsigned long long)lines->number, what);
}

/* Reads until the window holds a newline past the @searched bytes, or the whole file. */
static int find_end(struct lines *lines, size_t searched, const char **ret_end)
{
	struct stream *stream = lines->stream;

	for (;;) {
		size_t available = stream_available(stream);
		int r;

		*ret_end = memchr(stream_bytes(stream) + searched, '\n', available - searched);
		if (*ret_end)
			return 0;
		if (available > LINES_MAX_LENGTH) {
			lines->number++;
			return lines_fail(lines, -EINVAL, "this line is longer than 64 MB");
		}
		searched = available;
		lines->moved = true;
		r = stream_more(stream, lines->failure);
		if (r <= 0)
			return r;
	}
}

int lines_next(struct lines *lines, struct line *ret)
{
	struct stream *stream = lines->stream;
	const char *end = NULL;
	int r = 0;

	lines->moved = false;
	r = find_end(lines, 0, &end);
	if (r < 0 || (!end && !stream_available(stream)))
		return r;
	ret->text = stream_bytes(stream);
	ret->n = end ? (size_t)(end - ret->text) : stream_available(stream);
	stream_take(stream, ret->n + !!end);
	if (ret->n && ret->text[ret->n - 1] == '\r')
		ret->n--;
	lines->number++;
	return 1;
}
