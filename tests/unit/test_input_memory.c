/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads files with memory running out at each allocation in turn. Compiles the sources in, with
 * allocators that fail on request; the sanitizer reports leaks.
 */
#include <errno.h>
#include <stdlib.h>

static unsigned int n_allocations, failing;

static int fails(void)
{
	return ++n_allocations == failing;
}

#define malloc(n)		 (fails() ? NULL : malloc(n))
#define calloc(n, size)		 (fails() ? NULL : calloc(n, size))
#define realloc(p, n)		 (fails() ? NULL : realloc(p, n))
#define reallocarray(p, n, size) (fails() ? NULL : reallocarray(p, n, size))

#define equal strings_equal
#define place table_place
#define grow  table_grow
#include "base/strings.c"
#include "base/table.c"
#undef equal
#undef place
#undef grow
#undef MIN_SLOTS
#include "core/profile.c"
#include "input/lines.c"
#include "base/stream.c"
#undef BLOCK
#define add_stack stack_add
#include "input/folded_stack.c"
#undef add_stack
#define add_mapping piece_mapping
#define is_text	    piece_is_text
#include "input/pieces.c"
#undef is_text
#undef add_mapping
#define reader	   folded_reader
#define find_frame folded_find_frame
#define add_frame  folded_add_frame
#define read_line  folded_read_line
#define read_lines folded_read_lines
#define fail_line  folded_fail_line
#include "input/folded.c"
#undef reader
#undef find_frame
#undef add_frame
#undef read_line
#undef read_lines
#undef fail_line
#include "input/perf_script.c"

#undef malloc
#undef calloc
#undef realloc
#undef reallocarray

#include "unit/made_input.h"

/* Reads @n bytes with one allocation failing; returns how many there were. */
static unsigned int read_failing(const void *bytes, size_t n, unsigned int at, int *ret)
{
	struct input input = {0};
	struct made_file file = made_file(bytes, n);
	struct failure failure = {0};

	failing = at;
	n_allocations = 0;
	*ret = input_init(&input, &(struct input_options){0});
	if (*ret == 0)
		*ret = input_read(&input, file.path, &failure);
	failing = 0;
	if (*ret < 0 && input.profile)
		assert_non_null(strstr(failure.what, "Cannot allocate memory"));
	input_done(&input);
	made_file_done(&file);
	return n_allocations;
}

static void expect_clean(const void *bytes, size_t n)
{
	int r;
	unsigned int total = read_failing(bytes, n, 0, &r);

	assert_int_equal(r, 0);
	assert_true(total > 20);
	for (unsigned int at = 1; at <= total; at++) {
		read_failing(bytes, n, at, &r);
		assert_int_equal(r, -ENOMEM);
	}
}

static char *many_lines(const char *format, size_t *ret_n)
{
	char *text = malloc(1 << 20);

	*ret_n = 0;
	for (int i = 0; i < 120; i++)
		*ret_n += sprintf(text + *ret_n, format, i % 50, i, i % 900, i + 1);
	return text;
}

static void folded(void **state)
{
	size_t n, n_packed;
	char *text = many_lines("comm%d;main;f%d_[k];g%d;[sleep];--;h;c-%d 5\n", &n);
	unsigned char *packed = made_gzip(text, n, &n_packed);

	expect_clean(text, n);
	/* zlib allocates on its own. */
	expect_clean(packed, n_packed);
	free(packed);
	free(text);
}

static void two_columns(void **state)
{
	size_t n;
	char *text = many_lines("comm%d;[truncated];f%d_[i];g%d;h 5 %d\n", &n);

	expect_clean(text, n);
	free(text);
}

static void threads(void **state)
{
	size_t n;
	char *text = many_lines("comm%d-%d/%d;h;k %d\n", &n);

	expect_clean(text, n);
	free(text);
}

/* A line that is longer than the window. */
static void long_line(void **state)
{
	size_t n = 3 << 20;
	char *text = malloc(n);

	memset(text, 'x', n);
	memcpy(text, "a;", 2);
	memcpy(text + n - 3, " 1\n", 3);
	expect_clean(text, n);
	free(text);
}

static void perf(void **state)
{
	size_t n;
	char *text = many_lines("comm%d 12 1.5: cycles: \n\t10 f%d (inlined)\n\t10 g%d (/a)\n"
				"\tffffffff81000000 [unknown] ([m%d])\n\n",
				&n);

	expect_clean(text, n);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(folded),  cmocka_unit_test(two_columns),
		cmocka_unit_test(threads), cmocka_unit_test(long_line),
		cmocka_unit_test(perf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
