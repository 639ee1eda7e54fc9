/* SPDX-License-Identifier: GPL-2.0-or-later */
/* unpack_object: what gzip packed, and bytes that it did not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/unpack_object.h"

#define N 5000

static unsigned char packed[2 * N];
static size_t n_packed;
static char content[N];

static int pack(void **state)
{
	FILE *stream = fopen("/proc/self/exe", "r"), *pipe;
	char command[128], path[] = "/tmp/test_unpack.XXXXXX";
	int fd = mkstemp(path);

	if (!stream || fd < 0 || fread(content, 1, N, stream) != N || write(fd, content, N) != N)
		return -1;
	fclose(stream);
	close(fd);
	snprintf(command, sizeof command, "gzip -9nc %s; rm %s", path, path);
	pipe = popen(command, "r");
	n_packed = fread(packed, 1, sizeof packed, pipe);
	return pclose(pipe);
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
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, pack, NULL);
}
