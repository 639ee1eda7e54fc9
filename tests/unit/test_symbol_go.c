/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of a made Go program's addresses: its own table takes precedence over symbols, which fill
 * the gaps.
 */
#include "unit/cmocka_all.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbol/file_names.h"
#include "symbol/go_names.h"
#include "unit/made_go.h"

static uint64_t image[GO_IMAGE_SIZE / 8];
static struct strings strings;
static struct file_names names;

/* Asks for the @n file offsets in a file of @image. */
static void ask(const uint64_t *offsets, size_t n, bool lines, bool no_inline)
{
	const struct names_question question = {
		.addresses = offsets, .n = n, .lines = lines, .no_inline = no_inline};
	struct debug_places places = {memfd_create("go", MFD_CLOEXEC), -1, -1, NULL, {}};
	struct debug_place place;
	char real[PATH_MAX];

	assert_int_equal(write(places.file, image, sizeof image), sizeof image);
	debug_place_init(&places, "/nowhere/go", real, &place);
	assert_int_equal(file_names_find(&question, &place, &strings, &names), 0);
	assert_int_equal(names.error, 0);
	close(places.file);
}

static void make(struct made_go go)
{
	memset(image, 0, sizeof image);
	made_go(&go, (uint8_t *)image);
}

/* The @k-th frame of the @i-th address, innermost first. */
static void expect_frame(size_t i, size_t k, const char *function, const char *path, uint32_t line)
{
	const struct dwarf_frame *frame = &names.frames[names.items[i].first + k];

	assert_in_range(k, 0, names.items[i].n_frames - 1);
	assert_string_equal(strings_get(&strings, frame->function), function);
	assert_string_equal(strings_get(&strings, frame->file), path);
	assert_int_equal(frame->line, line);
}

static void expect_name(size_t i, const char *name)
{
	assert_string_equal(strings_get(&strings, names.items[i].name), name);
}

static void test_frames(void **state)
{
	static const uint64_t offsets[] = {0x1000, 0x1010, 0x1020, 0x1028, 0x1030, 0x1080};
	static const unsigned int versions[] = {16, 18, 20};

	for (size_t i = 0; i < MADE_COUNT(versions); i++) {
		make((struct made_go){.version = versions[i]});
		ask(offsets, MADE_COUNT(offsets), true, false);
		for (size_t k = 0; k < 5; k++)
			expect_name(k, "main.work");
		expect_frame(0, 0, "main.work", "/src/work.go", 10);
		expect_frame(1, 0, "main.outer", "/src/inlined.go", 20);
		expect_frame(1, 1, "main.work", "/src/work.go", 10);
		expect_frame(2, 0, "main.inner[...]", "/src/inlined.go", 30);
		expect_frame(2, 1, "main.outer", "/src/inlined.go", 20);
		expect_frame(2, 2, "main.work", "/src/work.go", 10);
		assert_int_equal(names.items[2].n_frames, 3);
		expect_frame(3, 0, "main.inner[...]", "/src/inlined.go", 21);
		expect_frame(4, 0, "main.work", "/src/work.go", 12);
		assert_int_equal(names.items[4].n_frames, 1);
		expect_name(5, "main.pushed");
		assert_int_equal(names.frames[names.items[5].first].file, 0);
		assert_false(names.damaged);
		file_names_done(&names);
	}
}

static void test_no_lines(void **state)
{
	static const uint64_t offsets[] = {0x1020, 0x10c0};

	make((struct made_go){.version = 20});
	ask(offsets, 2, false, false);
	expect_frame(0, 0, "main.inner[...]", "", 0);
	expect_frame(0, 2, "main.work", "", 0);
	expect_name(1, "main.leaf");
	file_names_done(&names);
}

/* Code outside of Go's text needs symbols, which this file does not have. */
static void test_outside(void **state)
{
	static const uint64_t offsets[] = {0x1010, 0x11c0, 0x1fff};

	make((struct made_go){.version = 20});
	ask(offsets, 3, true, false);
	expect_name(0, "main.work");
	for (size_t i = 1; i < 3; i++) {
		assert_int_equal(names.items[i].name, 0);
		assert_int_equal(names.items[i].n_frames, 0);
	}
	assert_int_equal(names.items[2].address, 0x401fff);
	file_names_done(&names);
}

/* Terminates on inlined functions that call each other in a circle. */
static void test_circle(void **state)
{
	static const uint64_t offsets[] = {0x1010};
	uint8_t *tree = (uint8_t *)image + GO_FILE(GO_TREES) + 8;

	make((struct made_go){.version = 20});
	tree[8] = 0x14; /* the first is its own caller */
	ask(offsets, 1, true, false);
	expect_name(0, "main.work");
	assert_in_range(names.items[0].n_frames, 2, 1000);
	expect_frame(0, names.items[0].n_frames - 1, "main.work", "/src/inlined.go", 20);
	file_names_done(&names);
}

/* A tree that makes no sense costs only the inlined functions, not the name. */
static void test_damaged_tree(void **state)
{
	static const uint64_t offsets[] = {0x1020};
	uint8_t *tree = (uint8_t *)image + GO_FILE(GO_TREES) + 8;

	make((struct made_go){.version = 16});
	tree[20 + 16] = 0xff; /* called beyond the function's end */
	ask(offsets, 1, true, false);
	expect_name(0, "main.work");
	assert_int_equal(names.items[0].n_frames, 1);
	assert_true(names.damaged);
	file_names_done(&names);
}

static void test_types_are_left_out(void **state)
{
	static const char *const cases[][2] = {
		{"main.inner[go.shape.int]", "main.inner[...]"},
		{"main.(*T[go.shape.[]int,m]).f", "main.(*T[...]).f"},
		{"main.f[T]", "main.f[...]"},
		{"main.]f[", "main.]f["},
	};
	uint8_t *at, *table = (uint8_t *)image + GO_FILE(GO_TABLE);

	for (size_t i = 0; i < MADE_COUNT(cases); i++) {
		static const uint64_t offsets[] = {0x1000};

		make((struct made_go){.version = 20});
		/* Overwrites the last names, which nothing here asks for. */
		at = table + 0x3c0;
		strcpy((char *)at, cases[i][0]);
		at = table + 0x1000 + *(uint32_t *)(table + 0x1004);
		*(uint32_t *)(at + 4) = 0x3c0 - 0x100;
		ask(offsets, 1, false, false);
		expect_name(0, cases[i][1]);
		file_names_done(&names);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frames),	     cmocka_unit_test(test_no_lines),
		cmocka_unit_test(test_outside),	     cmocka_unit_test(test_circle),
		cmocka_unit_test(test_damaged_tree), cmocka_unit_test(test_types_are_left_out),
	};
	int r;

	if (strings_init(&strings) < 0)
		return 1;
	r = cmocka_run_group_tests(tests, NULL, NULL);
	strings_done(&strings);
	return r;
}
