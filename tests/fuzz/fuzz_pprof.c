/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libFuzzer: any bytes as a pprof file. Must not crash, hang or grow. A profile that is read can be
 * written, and reading and writing that file gives the same file. The first byte chooses options.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "export/export.h"
#include "input/pprof.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

/* Fills @input. Returns false if the file is refused. */
static bool read_bytes(struct input *input, const struct input_options *options,
		       const uint8_t *bytes, size_t n)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC), r;
	struct failure failure = {.what = ""};
	struct stream stream;
	char path[32];

	if (fd < 0 || write(fd, bytes, n) != (ssize_t)n || input_init(input, options) < 0)
		abort();
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	r = stream_open(&stream, path, 64 << 20, &failure);
	r = r < 0 ? r : pprof_read(input, &stream, &failure);
	if ((r == 0) != !*failure.what)
		abort();
	stream_close(&stream);
	close(fd);
	return r == 0;
}

static char *write_bytes(struct profile *profile, const struct unfold_options *unfold,
			 size_t *ret_n)
{
	char *bytes;
	FILE *stream = open_memstream(&bytes, ret_n);

	if (!stream || export_pprof(profile, unfold, stream) < 0)
		abort();
	fclose(stream);
	return bytes;
}

/* Reads the file and writes it again. */
static char *rewrite(const uint8_t *bytes, size_t n, const struct input_options *options,
		     const struct unfold_options *unfold, size_t *ret_n)
{
	struct input input;
	char *again = NULL;

	if (read_bytes(&input, options, bytes, n))
		again = write_bytes(input.profile, unfold, ret_n);
	input_done(&input);
	return again;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct unfold_options unfold = {.waker_depth = 8, .fold_idle = true};
	struct input_options options = {0};
	size_t n_first, n_second;
	char *first, *second;

	if (!n)
		return 0;
	options.in_order = bytes[0] & 1;
	options.no_inline = bytes[0] >> 1 & 1;
	unfold.no_kernel = bytes[0] >> 2 & 1;
	unfold.no_reason = bytes[0] >> 3 & 1;
	first = rewrite(bytes + 1, n - 1, &options, &unfold, &n_first);
	if (!first)
		return 0;
	second = rewrite((uint8_t *)first, n_first, &options, &unfold, &n_second);
	if (!second || n_first != n_second || memcmp(first, second, n_first) != 0)
		abort();
	free(first);
	free(second);
	return 0;
}
