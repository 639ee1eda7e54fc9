/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of a made Go program in each of its forms, what it says about each byte of code, and
 * damaged tables.
 */
#include "unit/cmocka_all.h"

#include <errno.h>
#include <stdlib.h>

#include "base/go_open.h"
#include "unit/made_go.h"

static uint64_t image[GO_IMAGE_SIZE / 8];
static struct elf_file file;
static struct go_table table;

static int open_image(void)
{
	int r = elf_file_open_image(&file, image, sizeof image);

	assert_int_equal(r, 0);
	r = go_table_open(&table, &file);
	if (r < 0)
		elf_file_done(&file);
	return r;
}

static void close_image(void)
{
	go_table_done(&table);
	elf_file_done(&file);
}

static int open_made(struct made_go go)
{
	memset(image, 0, sizeof image);
	made_go(&go, (uint8_t *)image);
	return open_image();
}

static void expect_name(int32_t name, const char *expected)
{
	char text[64];

	assert_int_equal(go_table_name(&table, name, text, sizeof text), 0);
	assert_string_equal(text, expected);
}

static void expect_function(const struct made_go_function *made)
{
	struct go_function function;

	for (uint32_t at = made->start; at < made->end; at++) {
		assert_int_equal(go_table_find(&table, GO_TEXT + at, &function), 0);
		assert_int_equal(function.start, GO_TEXT + made->start);
		assert_int_equal(function.end, GO_TEXT + made->end);
		assert_int_equal(function.flags, made->flags);
		expect_name(function.name, made->name);
	}
}

static void expect_values(const struct go_function *function, uint32_t program,
			  const struct made_go_value *values, size_t n)
{
	for (uint32_t at = 0; at < function->end - function->start; at++) {
		int32_t expected = values[0].value, value;

		for (size_t i = 1; i < n && values[i].at && values[i].at <= at; i++)
			expected = values[i].value;
		assert_int_equal(
			go_values_find(&table, function, program, function->start + at, &value), 0);
		assert_int_equal(value, expected);
	}
}

static void expect_inlined(const struct go_function *function)
{
	struct go_inlined inlined;

	expect_values(function, function->inlined, made_go_inlined, MADE_COUNT(made_go_inlined));
	assert_int_equal(go_table_inlined(&table, function, 0, &inlined), 0);
	expect_name(inlined.name, "main.outer");
	assert_int_equal(inlined.called_at, 0x4);
	assert_int_equal(go_table_inlined(&table, function, 1, &inlined), 0);
	expect_name(inlined.name, "main.inner[go.shape.int]");
	assert_int_equal(inlined.called_at, 0x14);
}

static void expect_all(void)
{
	struct go_function function;
	char path[64];

	assert_int_equal(table.n, GO_N_FUNCTIONS);
	for (size_t i = 0; i < GO_N_FUNCTIONS; i++)
		expect_function(&made_go_functions[i]);
	assert_int_equal(go_table_find(&table, GO_TEXT - 1, &function), -ENOENT);
	assert_int_equal(go_table_find(&table, GO_TEXT + 0x1c0, &function), -ENOENT);
	for (size_t i = 0; i + 1 < GO_N_FUNCTIONS; i++) {
		assert_int_equal(go_table_function(&table, i, &function), 0);
		function.end -= made_go_functions[i].filled;
		expect_values(&function, function.sizes, made_go_functions[i].sizes, 6);
	}
	assert_int_equal(go_table_function(&table, 0, &function), 0);
	expect_values(&function, function.files, made_go_files, MADE_COUNT(made_go_files));
	expect_values(&function, function.lines, made_go_lines, MADE_COUNT(made_go_lines));
	expect_inlined(&function);
	assert_int_equal(go_table_path(&table, &function, 0, path, sizeof path), 0);
	assert_string_equal(path, "/src/work.go");
	assert_int_equal(go_table_path(&table, &function, 1, path, sizeof path), 0);
	assert_string_equal(path, "/src/inlined.go");
}

static void test_forms(void **state)
{
	static const struct made_go forms[] = {
		{.version = 16},
		{.version = 16, .no_module = true},
		{.version = 16, .no_sections = true},
		{.version = 18, .funcdata_word = 38},
		{.version = 18, .no_text = true},
		{.version = 20},
		{.version = 20, .no_text = true},
		{.version = 20, .no_sections = true},
		{.version = 20, .no_text = true, .no_sections = true},
		{.version = 20, .is_merged = true},
		{.version = 20, .is_relocated = true},
		{.version = 18, .is_relocated = true, .is_merged = true},
		{.version = 20, .no_text = true, .funcdata_word = 43},
		{.version = 20, .funcdata_word = 63},
	};

	for (size_t i = 0; i < MADE_COUNT(forms); i++) {
		assert_int_equal(open_made(forms[i]), 0);
		assert_int_equal(table.version, forms[i].version);
		expect_all();
		close_image();
	}
}

/* Without the module data, functions are named if the header says where the rest is. */
static void test_no_module(void **state)
{
	struct go_function function;

	assert_int_equal(open_made((struct made_go){.version = 20, .no_module = true}), 0);
	expect_function(&made_go_functions[0]);
	assert_int_equal(go_table_function(&table, 0, &function), 0);
	assert_int_equal(function.tree, 0);
	close_image();
	assert_int_equal(
		open_made((struct made_go){.version = 20, .no_text = true, .no_module = true}),
		-ENOENT);
}

static void test_others(void **state)
{
	struct made_go go = {.version = 20};
	uint8_t *bytes = (uint8_t *)image;

	/* Go 1.2 … 1.15, and bytes that are not a table. */
	assert_int_equal(open_made(go), 0);
	close_image();
	for (size_t at = 0; at < 8; at++) {
		bytes[GO_FILE(GO_TABLE) + at] ^= 0x0a;
		assert_int_equal(open_image(), -ENOEXEC);
		bytes[GO_FILE(GO_TABLE) + at] ^= 0x0a;
	}
}

/* A name begins after another one's end; a path is one from the list. */
static void test_names_are_checked(void **state)
{
	struct go_function function;
	char text[8];

	assert_int_equal(open_made((struct made_go){.version = 20}), 0);
	assert_int_equal(go_table_function(&table, 0, &function), 0);
	assert_int_equal(go_table_name(&table, function.name + 1, text, sizeof text), -ENOEXEC);
	assert_int_equal(go_table_name(&table, -1, text, sizeof text), -ENOEXEC);
	assert_int_equal(go_table_name(&table, 0x300, text, sizeof text), -ENOEXEC);
	assert_int_equal(go_table_name(&table, function.name, text, sizeof text), 0);
	assert_string_equal(text, "main.wo");
	assert_int_equal(go_table_path(&table, &function, -1, text, sizeof text), -ENOEXEC);
	assert_int_equal(go_table_path(&table, &function, INT32_MAX, text, sizeof text), -ENOEXEC);
	function.cu = 0;
	assert_int_equal(go_table_path(&table, &function, 0, text, sizeof text), -ENOEXEC);
	close_image();
}

/* If functions are not in ascending order, nothing is found. */
static void test_order(void **state)
{
	uint32_t *entries;

	assert_int_equal(open_made((struct made_go){.version = 20}), 0);
	close_image();
	entries = (uint32_t *)((uint8_t *)image + GO_FILE(GO_TABLE) + 0x1000);
	entries[2] = 0x7fffffff;
	assert_int_equal(open_image(), -ENOEXEC);
}

/* A program ends with its function, and all programs together when the budget is used up. */
static void test_budget(void **state)
{
	struct go_function function;
	struct go_values values;
	uint32_t n = 0;
	int r;

	assert_int_equal(open_made((struct made_go){.version = 20}), 0);
	assert_int_equal(go_table_function(&table, 0, &function), 0);
	function.end = function.start + 0x1c;
	go_values_start(&table, &function, function.lines, &values);
	while ((r = go_values_next(&table, &values)) > 0)
		n++;
	assert_int_equal(r, 0);
	assert_int_equal(n, 2);
	assert_int_equal(values.end, function.end);
	table.budget = 1;
	go_values_start(&table, &function, function.lines, &values);
	assert_int_equal(go_values_next(&table, &values), 1);
	assert_int_equal(go_values_next(&table, &values), -ENOEXEC);
	close_image();
}

/* Sets each byte of the header, the entries and the first records to arbitrary values. */
static void test_damage(void **state)
{
	static const struct made_go forms[] = {{.version = 16}, {.version = 18}, {.version = 20}};
	static const uint8_t damage[] = {0x01, 0x80, 0xff};

	for (size_t form = 0; form < MADE_COUNT(forms); form++)
		for (size_t at = 0; at < 0x1200; at += at == 0x80 ? 0xf80 : 1)
			for (size_t i = 0; i < MADE_COUNT(damage); i++) {
				struct go_function function;
				struct go_values values;
				char text[64];

				memset(image, 0, sizeof image);
				made_go(&forms[form], (uint8_t *)image);
				((uint8_t *)image)[GO_FILE(GO_TABLE) + at] ^= damage[i];
				if (open_image() < 0)
					continue;
				for (size_t k = 0; k < table.n && k < 16; k++) {
					if (go_table_function(&table, k, &function) < 0)
						continue;
					go_table_name(&table, function.name, text, sizeof text);
					go_table_path(&table, &function, 1, text, sizeof text);
					go_values_start(&table, &function, function.lines, &values);
					while (go_values_next(&table, &values) > 0)
						assert_true(values.start < values.end &&
							    values.end <= function.end);
				}
				close_image();
			}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forms),  cmocka_unit_test(test_no_module),
		cmocka_unit_test(test_others), cmocka_unit_test(test_names_are_checked),
		cmocka_unit_test(test_order),  cmocka_unit_test(test_budget),
		cmocka_unit_test(test_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
