/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/jit_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/system.h"
#include "symbol/demangle.h"

int jit_reader_init(struct jit_reader *reader, int fd)
{
	int64_t size = regular_file_size(fd);
	char *buffer;

	if (size < 0)
		return -EINVAL;
	buffer = malloc(JIT_BUFFER_SIZE);
	if (!buffer)
		return -ENOMEM;
	*reader = (struct jit_reader){.fd = fd, .size = size, .buffer = buffer};
	return 0;
}

void jit_reader_done(struct jit_reader *reader)
{
	free(reader->buffer);
	*reader = (struct jit_reader){};
}

/* Fills the buffer from @offset on, as far as the file goes. */
static void fill(struct jit_reader *reader, uint64_t offset)
{
	uint64_t wanted = offset < reader->size ? reader->size - offset : 0;

	reader->offset = offset;
	reader->n = 0;
	if (wanted > JIT_BUFFER_SIZE)
		wanted = JIT_BUFFER_SIZE;
	while (reader->n < wanted) {
		ssize_t got = pread(reader->fd, reader->buffer + reader->n, wanted - reader->n,
				    offset + reader->n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		reader->n += got;
	}
}

const char *jit_reader_at(struct jit_reader *reader, uint64_t offset, size_t least, size_t *ret_n)
{
	if (offset < reader->offset || offset - reader->offset > reader->n ||
	    reader->n - (offset - reader->offset) < least)
		fill(reader, offset);
	if (reader->n - (offset - reader->offset) < least)
		return NULL;
	*ret_n = reader->n - (offset - reader->offset);
	return reader->buffer + (offset - reader->offset);
}

uint64_t jit_reader_skip_hole(const struct jit_reader *reader, uint64_t offset)
{
	off_t data = lseek(reader->fd, offset, SEEK_DATA);

	if (data < 0)
		return errno == ENXIO ? reader->size : offset;
	return data;
}

static bool is_blank(char byte)
{
	return byte == ' ' || byte == '\t' || byte == '\r';
}

int jit_reader_name(struct jit_reader *reader, uint64_t offset, uint64_t size, char end,
		    struct strings *strings, uint32_t *ret_id)
{
	char name[SYMBOL_NAME_MAX];
	const char *text, *stop;
	size_t n;

	if (size >= sizeof name)
		size = sizeof name - 1;
	text = size ? jit_reader_at(reader, offset, size, &n) : NULL;
	if (!text) {
		*ret_id = 0;
		return 0;
	}
	stop = memchr(text, end, size);
	n = strnlen(text, stop ? (size_t)(stop - text) : size);
	while (n && is_blank(text[n - 1]))
		n--;
	while (n && is_blank(*text))
		text++, n--;
	memcpy(name, text, n);
	name[n] = '\0';
	return demangle_add(strings, name, ret_id);
}
