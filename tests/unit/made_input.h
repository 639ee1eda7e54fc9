/* SPDX-License-Identifier: GPL-2.0-or-later */
/* made_input: files that exist only in memory, and reading them. */
#ifndef TESTS_UNIT_MADE_INPUT_H
#define TESTS_UNIT_MADE_INPUT_H

#include "unit/cmocka_all.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <zlib.h>

#include "export/export.h"
#include "input/input.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* As bpfflame writes them with all options on. */
static const struct unfold_options made_all = {.fold_idle = true, .waker_depth = 8};

/* Makes a file; its path is valid until made_file_done(). */
struct made_file {
	int fd;
	char path[64];
};

static inline struct made_file made_file(const void *bytes, size_t n)
{
	struct made_file file = {.fd = memfd_create("made", MFD_CLOEXEC)};

	assert_true(file.fd >= 0);
	for (size_t at = 0; at < n;) {
		ssize_t wrote = write(file.fd, (const char *)bytes + at, n - at);

		assert_true(wrote > 0);
		at += wrote;
	}
	snprintf(file.path, sizeof file.path, "/proc/self/fd/%d", file.fd);
	return file;
}

static inline void made_file_done(struct made_file *file)
{
	close(file->fd);
}

/* Packs with gzip. Does not free its input; the caller frees the result. */
static inline unsigned char *made_gzip(const void *bytes, size_t n, size_t *ret_n)
{
	z_stream z = {0};
	size_t room = n + n / 100 + 1000;
	unsigned char *packed = malloc(room);

	assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY),
			 Z_OK);
	z.next_in = (unsigned char *)bytes;
	z.avail_in = n;
	z.next_out = packed;
	z.avail_out = room;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	*ret_n = room - z.avail_out;
	deflateEnd(&z);
	return packed;
}

static inline struct input made_input(struct input_options options)
{
	struct input input;

	assert_int_equal(input_init(&input, &options), 0);
	return input;
}

/*
 * Reads @n bytes as a file into @input. Puts the message of a failure, without the path, into
 * made_failure.
 */
static struct failure made_failure;

static inline int made_read_bytes(struct input *input, const void *bytes, size_t n)
{
	struct made_file file = made_file(bytes, n);
	size_t n_path = strlen(file.path);
	int r;

	made_failure = (struct failure){0};
	r = input_read(input, file.path, &made_failure);
	if (strncmp(made_failure.what, file.path, n_path) == 0)
		memmove(made_failure.what, made_failure.what + n_path,
			strlen(made_failure.what + n_path) + 1);
	made_file_done(&file);
	return r;
}

static inline int made_read(struct input *input, const char *text)
{
	return made_read_bytes(input, text, strlen(text));
}

/* Writes a profile as folded lines; the caller frees them. */
static inline char *made_folded(struct profile *profile, const struct unfold_options *unfold)
{
	char *text;
	size_t size;
	FILE *stream = open_memstream(&text, &size);
	struct stacks_options options = {.unfold = *unfold};

	assert_int_equal(export_folded(profile, &options, stream), 0);
	fclose(stream);
	return text;
}

static inline void made_expect_profile(struct profile *profile, const struct unfold_options *unfold,
				       const char *expected)
{
	char *text = made_folded(profile, unfold);

	assert_string_equal(text, expected);
	free(text);
}

/* Reads @text and writes it as folded lines again. */
static inline void made_expect(const char *text, struct input_options options,
			       enum profile_mode mode, const char *expected)
{
	struct input input = made_input(options);

	assert_int_equal(made_read(&input, text), 0);
	assert_int_equal(input.profile->mode, mode);
	made_expect_profile(input.profile, &made_all, expected);
	input_done(&input);
}

/* Expects @text to be refused with this reason, which follows the file's name. */
static inline void made_expect_failure(const char *text, size_t n, int error, const char *what)
{
	struct input input = made_input((struct input_options){0});

	assert_int_equal(made_read_bytes(&input, text, n), error);
	assert_string_equal(made_failure.what, what);
	input_done(&input);
}

#endif
