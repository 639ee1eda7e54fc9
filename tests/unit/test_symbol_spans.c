/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Spans: an answer about one address holds for all those that it claims to hold for. */
#include "cmocka_all.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbol/file_names.h"

#define LIBC   "/lib/x86_64-linux-gnu/libc.so.6"
#define N      500 /* addresses asked in a file … */
#define PROBES 6   /* … and places in the span of each */

static struct strings strings;

static struct file_names ask(int fd, const char *path, const uint64_t *offsets, size_t n,
			     bool spans)
{
	const struct names_question question = {
		.addresses = offsets, .n = n, .no_inline = true, .spans = spans};
	struct debug_places places = {fd, -1, -1, NULL, {}};
	struct debug_place place;
	struct file_names names;
	char real[PATH_MAX];

	debug_place_init(&places, path, real, &place);
	assert_int_equal(file_names_find(&question, &place, &strings, &names), 0);
	assert_int_equal(names.error, 0);
	return names;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Ascending, distinct offsets in the code of @file. */
static size_t draw(const struct elf_file *file, uint64_t offsets[static N])
{
	const Elf64_Phdr *code = NULL;
	size_t n = 0;

	for (size_t i = 0; i < file->n_segments; i++)
		if (file->segments[i].p_type == PT_LOAD && file->segments[i].p_flags & PF_X)
			code = &file->segments[i];
	assert_non_null(code);
	for (size_t i = 0; i < N; i++)
		offsets[i] = code->p_offset + random() % code->p_filesz;
	qsort(offsets, N, sizeof *offsets, by_value);
	for (size_t i = 0; i < N; i++)
		if (!i || offsets[i] != offsets[n - 1])
			offsets[n++] = offsets[i];
	return n;
}

static uint64_t probe(uint64_t first, uint64_t after, size_t k)
{
	if (k == 0)
		return first;
	return k == 1 ? after - 1 : first + random() % (after - first);
}

/* Asks about places in the span of @item, which is @offset's answer: they have the same one. */
static void check_span(int fd, const char *path, uint64_t offset, const struct named_address *item)
{
	uint64_t first = offset - item->before, after = offset + item->after, probes[PROBES];
	struct file_names names;

	assert_int_equal(first / NAMES_BLOCK, (after - 1) / NAMES_BLOCK);
	for (size_t k = 0; k < PROBES; k++) {
		probes[k] = probe(first, after, k);
		names = ask(fd, path, &probes[k], 1, false);
		if (names.items[0].name != item->name)
			fail_msg("%s: %#lx is %s, %#lx is %s", path, offset,
				 strings_get(&strings, item->name), probes[k],
				 strings_get(&strings, names.items[0].name));
		if (item->name)
			assert_int_equal(names.items[0].address - item->address,
					 probes[k] - offset);
		else
			assert_int_equal(names.items[0].address, item->address);
		file_names_done(&names);
	}
}

/* Returns how many of 100 addresses have a span of more than themselves. */
static size_t check_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint64_t offsets[N];
	struct file_names names;
	struct elf_file file;
	size_t n, n_spans = 0;

	assert_true(fd >= 0);
	assert_int_equal(elf_file_open(&file, fd), 0);
	n = draw(&file, offsets);
	names = ask(fd, path, offsets, n, true);
	for (size_t i = 0; i < n; i++) {
		if (!names.items[i].after)
			continue;
		check_span(fd, path, offsets[i], &names.items[i]);
		n_spans += names.items[i].before + names.items[i].after > 1;
	}
	file_names_done(&names);
	elf_file_done(&file);
	close(fd);
	return 100 * n_spans / n;
}

/* Most of its functions have no symbol. */
static void test_stripped(void **state)
{
	if (access(LIBC, R_OK) < 0)
		skip();
	assert_in_range(check_file(LIBC), 80, 100);
}

static void test_symbols(void **state)
{
	char path[PATH_MAX] = "";

	assert_true(readlink("/proc/self/exe", path, sizeof path - 1) > 0);
	assert_in_range(check_file(path), 80, 100);
}

static void test_others(void **state)
{
	static const char *const paths[] = {"/bin/sh", "/bin/bash", "/usr/bin/perl",
					    "/usr/bin/make", "/lib64/ld-linux-x86-64.so.2"};

	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
		if (access(paths[i], R_OK) == 0)
			assert_in_range(check_file(paths[i]), 50, 100);
}

/* Nobody asked for them. */
static void test_unasked(void **state)
{
	uint64_t offset = 4096;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct file_names names = ask(fd, "/proc/self/exe", &offset, 1, false);

	assert_int_equal(names.items[0].before, 0);
	assert_int_equal(names.items[0].after, 0);
	file_names_done(&names);
	close(fd);
}

static int setup(void **state)
{
	srandom(1);
	return strings_init(&strings);
}

static int teardown(void **state)
{
	strings_done(&strings);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stripped),
		cmocka_unit_test(test_symbols),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_unasked),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
