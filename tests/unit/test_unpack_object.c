/* SPDX-License-Identifier: GPL-2.0-or-later */
/* unpack_object: what gzip and zstd packed, and bytes that they did not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "base/unpack_object.h"

#define N 5000

static unsigned char packed[2 * N];
static size_t n_packed;
static char content[N];

static int make_content(void **state)
{
	FILE *stream = fopen("/proc/self/exe", "r");
	size_t n = stream ? fread(content, 1, N, stream) : 0;

	if (stream)
		fclose(stream);
	return n == N ? 0 : -1;
}

static int pack_by_gzip(void **state)
{
	char command[128], path[] = "/tmp/test_unpack.XXXXXX";
	int fd = mkstemp(path);
	FILE *pipe;

	if (fd < 0 || write(fd, content, N) != N)
		return -1;
	close(fd);
	snprintf(command, sizeof command, "gzip -9nc %s; rm %s", path, path);
	pipe = popen(command, "r");
	n_packed = fread(packed, 1, sizeof packed, pipe);
	return pclose(pipe);
}

/* As the program does: with a checksum. */
static int pack_by_zstd(void **state)
{
	ZSTD_CCtx *context = ZSTD_createCCtx();

	ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
	n_packed = ZSTD_compress2(context, packed, sizeof packed, content, N);
	ZSTD_freeCCtx(context);
	return ZSTD_isError(n_packed) ? -1 : 0;
}

static void test_round_trip(void **state)
{
	size_t n;
	const void *bytes = unpack_object(packed, n_packed, &n);

	assert_non_null(bytes);
	assert_int_equal(n, N);
	assert_memory_equal(bytes, content, N);
	unpack_object_free(&bytes);
	assert_null(bytes);
}

static void test_damaged(void **state)
{
	size_t n;

	for (size_t i = 0; i < n_packed; i += 37) {
		unsigned char *part = malloc(i + 1);

		memcpy(part, packed, i);
		assert_null(unpack_object(part, i, &n));
		free(part);
	}
	packed[n_packed / 2] ^= 1;
	assert_null(unpack_object(packed, n_packed, &n));
	packed[n_packed / 2] ^= 1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_round_trip, pack_by_gzip),
		cmocka_unit_test_setup(test_damaged, pack_by_gzip),
		cmocka_unit_test_setup(test_round_trip, pack_by_zstd),
		cmocka_unit_test_setup(test_damaged, pack_by_zstd),
	};

	return cmocka_run_group_tests(tests, make_content, NULL);
}
