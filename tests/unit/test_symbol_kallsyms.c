/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kallsyms from files whose every line is known.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbol/kallsyms.h"

#define MAX_LOOKUPS 64

static struct strings strings;
static uint64_t addresses[MAX_LOOKUPS];
static uint32_t names[MAX_LOOKUPS];
static struct lookups lookups;
static bool hidden;

static int setup(void **state)
{
	return strings_init(&strings);
}

static int teardown(void **state)
{
	strings_done(&strings);
	return 0;
}

/* Resolves @n addresses against a file of this text. */
static void resolve(const char *text, const uint64_t *wanted, size_t n)
{
	char path[] = "/tmp/test_kallsyms.XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	memcpy(addresses, wanted, n * sizeof *wanted);
	memset(names, 0, sizeof names);
	lookups = (struct lookups){addresses, names, n};
	hidden = false;
	assert_int_equal(kallsyms_resolve(path, &lookups, &strings, &hidden), 0);
	unlink(path);
}

#define RESOLVE(text, ...)                                                                         \
	resolve(text, (uint64_t[]){__VA_ARGS__},                                                   \
		sizeof((uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

static void assert_name(size_t i, const char *name)
{
	assert_string_equal(strings_get(&strings, names[i]), name);
}

static void test_nearest(void **state)
{
	RESOLVE("0000000000000000 A per_cpu_start\n"
		"ffffffff81000000 T _stext\n"
		"ffffffff81000100 t first\n"
		"ffffffff81000180 d some_data\n"
		"ffffffff81000200 T second\n"
		"ffffffff81000300 W third\n",
		0xffffffff80ffffff, 0xffffffff81000000, 0xffffffff81000100, 0xffffffff810001ff,
		0xffffffff81000200, 0xffffffff810002ff, 0xffffffff810003ff, 0xffffffff81200300);
	assert_false(hidden);
	assert_int_equal(names[0], 0);
	assert_name(1, "_stext");
	assert_name(2, "first");
	assert_name(3, "first");
	assert_name(4, "second");
	assert_name(5, "second");
	assert_name(6, "third");
	assert_int_equal(names[7], 0);
}

static void test_unsorted_modules(void **state)
{
	RESOLVE("ffffffff81000100 T core\n"
		"ffffffffc0002000 t late\t[second]\n"
		"ffffffffc0001000 t early\t[first]\n"
		"ffffffffc0001800 t _RNvC4mod_6handle\t[first]\n"
		"ffffffffc0000800 t bpf_prog_6deef7357e7b4530_sample\t[bpf]\n",
		0xffffffff81000110, 0xffffffffc0000810, 0xffffffffc0001010, 0xffffffffc0001810,
		0xffffffffc0002010);
	assert_name(0, "core");
	assert_name(1, "bpf_prog_6deef7357e7b4530_sample");
	assert_name(2, "early");
	assert_name(3, "mod_::handle");
	assert_name(4, "late");
}

static void test_equal_addresses(void **state)
{
	static const char *const lines[] = {
	    "ffffffff81000100 t aaa\n",	     "ffffffff81000100 W weak\n",
	    "ffffffff81000100 T __global\n", "ffffffff81000100 T global_b\n",
	    "ffffffff81000100 T global_a\n", "ffffffff81000100 T __pfx_x\n",
	    "ffffffff81000100 T __cfi_x\n",  "ffffffff81000100 t $x\n",
	    "ffffffff81000100 t .Lx\n",	     "ffffffff81000100 T global_long\n",
	    "ffffffff81000100 d aa\n",
	};
	size_t n = sizeof lines / sizeof *lines;

	for (size_t first = 0; first < n; first++) {
		char text[1024] = "";

		for (size_t i = 0; i < n; i++)
			strcat(text, lines[(first + i) % n]);
		RESOLVE(text, 0xffffffff81000180);
		assert_name(0, "global_a");
	}
}

static void test_hidden(void **state)
{
	RESOLVE("0000000000000000 T _stext\n0000000000000000 t first\n", 0xffffffff81000100);
	assert_true(hidden);
	assert_int_equal(names[0], 0);
	RESOLVE("", 0xffffffff81000100);
	assert_true(hidden);

	hidden = false;
	assert_int_equal(kallsyms_resolve("/nonexistent", &lookups, &strings, &hidden), 0);
	assert_true(hidden);
}

static void test_odd_lines(void **state)
{
	RESOLVE("\n\nffffffff81000100\nffffffff81000110 T\nffffffff81000120 T \n"
		"ffffffff81000130 T a\nzz! T b\n 1 T c\n"
		"ffffffff81000140 T no_newline",
		0xffffffff81000128, 0xffffffff81000138, 0xffffffff81000148);
	assert_int_equal(names[0], 0);
	assert_name(1, "a");
	assert_name(2, "a");
}

/* More than one buffer, with names that are in the way of its ends. */
static void test_large(void **state)
{
	enum { LINES = 20000 };
	char *text = malloc(LINES * 64), *at = text, name[64];
	uint64_t wanted[MAX_LOOKUPS];

	assert_non_null(text);
	for (int i = 0; i < LINES; i++)
		at += sprintf(at, "%016" PRIx64 " t function_number_%d\n",
			      UINT64_C(0xffffffff81000000) + i * 16, i);
	for (int i = 0; i < MAX_LOOKUPS; i++)
		wanted[i] = 0xffffffff81000007 + i * 16 * (LINES / MAX_LOOKUPS);
	resolve(text, wanted, MAX_LOOKUPS);
	for (int i = 0; i < MAX_LOOKUPS; i++) {
		snprintf(name, sizeof name, "function_number_%d", i * (LINES / MAX_LOOKUPS));
		assert_name(i, name);
	}

	/* One line without an end. */
	memset(text, 'f', LINES * 32);
	text[LINES * 32] = '\0';
	resolve(text, wanted, 1);
	assert_int_equal(names[0], 0);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_nearest, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_unsorted_modules, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_equal_addresses, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_hidden, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_odd_lines, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_large, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
