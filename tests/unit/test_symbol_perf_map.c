/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names from perf maps, written here byte by byte. */
#include "unit/made_jit.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "symbol/perf_map.h"

static void resolve_map(void)
{
	assert_int_equal(perf_map_resolve(written(), &lookups, &strings), 0);
}

static void a_line_names_exactly_its_range(void **state)
{
	look_up(0xfff);
	look_up(0x1000);
	look_up(0x10ff);
	look_up(0x1100);
	fputs("1000 100 name\n", stream);
	resolve_map();
	assert_string_equal(name_of(0xfff), "");
	assert_string_equal(name_of(0x1000), "name");
	assert_string_equal(name_of(0x10ff), "name");
	assert_string_equal(name_of(0x1100), "");
}

static void numbers_and_names_are_read_as_jits_write_them(void **state)
{
	look_up(0x100);
	look_up(0x200);
	look_up(0x300);
	look_up(0x400);
	look_up(0x500);
	look_up(0x600);
	look_up(0x7fffdeadbeef);
	fputs("100 10 JS:*fib /srv/my app/a.js:1:2\n"
	      "0x200 0x10 Lcom/acme/Cart;::add\n"
	      "0000000000000300 00000010 _ZN5space5Thing6methodEi\n"
	      "400 10   blanks around\t \r\n"
	      "500 10 caf\303\251 \360\237\230\200\n"
	      "600\t10\ttabs\n"
	      "7FFFDEADBEE0 F0 Upper\n",
	      stream);
	resolve_map();
	assert_string_equal(name_of(0x100), "JS:*fib /srv/my app/a.js:1:2");
	assert_string_equal(name_of(0x200), "Lcom/acme/Cart;::add");
	assert_string_equal(name_of(0x300), "space::Thing::method(int)");
	assert_string_equal(name_of(0x400), "blanks around");
	assert_string_equal(name_of(0x500), "caf\303\251 \360\237\230\200");
	assert_string_equal(name_of(0x600), "tabs");
	assert_string_equal(name_of(0x7fffdeadbeef), "Upper");
}

static void later_lines_win_where_they_overlap(void **state)
{
	for (uint64_t address = 0x1000; address < 0x1800; address += 0x100)
		look_up(address);
	fputs("1000 800 whole\n"
	      "1100 300 second\n"
	      "1200 100 third\n"
	      "1600 200 right\n"
	      "1500 180 across\n",
	      stream);
	resolve_map();
	const char *const expected[] = {"whole", "second", "third",  "second",
					"whole", "across", "across", "right"};

	for (size_t i = 0; i < 8; i++)
		assert_string_equal(name_of(0x1000 + 0x100 * i), expected[i]);
}

static void what_is_no_line_says_nothing(void **state)
{
	for (uint64_t address = 0x10; address < 0x200; address += 0x10)
		look_up(address);
	fputs("\n \n10\n10 10\n10 10 \n10 10  \t\nxyz 10 a\n10 xyz b\n-10 20 c\n 10 10 d\n"
	      "10 10name\n1000000000000000010 10 too-long\n10 0 empty range\n"
	      "ffffffffffffff00 ffff wraps around\n",
	      stream);
	fwrite("100 10 na\0me\n110 10 \0\n", 1, 22, stream);
	resolve_map();
	for (size_t i = 0; i < lookups.n; i++)
		assert_string_equal(strings_get(&strings, names[i]),
				    addresses[i] == 0x100 ? "na" : "");
}

static void a_range_may_reach_the_end_of_memory(void **state)
{
	look_up(0xffffffffffff0000);
	look_up(UINT64_MAX);
	fputs("ffffffffffff0000 ffffffffffffffff top\n", stream);
	resolve_map();
	assert_string_equal(name_of(0xffffffffffff0000), "top");
	assert_string_equal(name_of(UINT64_MAX), "top");
}

static void a_line_half_written_is_not_used(void **state)
{
	look_up(0x1000);
	look_up(0x2000);
	fputs("1000 100 whole\n2000 100 half-writ", stream);
	resolve_map();
	assert_string_equal(name_of(0x1000), "whole");
	assert_string_equal(name_of(0x2000), "");
}

/*
 * A line longer than the buffer is ignored with its continuation; an overlong name is cut. Both
 * leave other lines alone.
 */
static void long_lines_do_no_harm(void **state)
{
	long begin;

	look_up(0x1000);
	look_up(0x2000);
	look_up(0x3000);
	look_up(0x4000);
	fputs("1000 100 before\n", stream);
	begin = ftell(stream);
	fputs("2000 100 ", stream);
	while (ftell(stream) < begin + JIT_BUFFER_SIZE)
		fputc('x', stream);
	fputs("1000 100 within\n3000 100 ", stream);
	for (int i = 0; i < 100000; i++)
		fputc('y', stream);
	fputs("\n4000 100 after\n", stream);
	resolve_map();
	assert_string_equal(name_of(0x1000), "before");
	assert_string_equal(name_of(0x2000), "");
	assert_int_equal(strncmp(name_of(0x3000), "yyyyyyyy", 8), 0);
	assert_true(strlen(name_of(0x3000)) < 20000);
	assert_string_equal(name_of(0x4000), "after");
}

static void names_that_are_there_stay(void **state)
{
	look_up(0x1000);
	look_up(0x1001);
	assert_int_equal(strings_add(&strings, "first", &names[0]), 0);
	fputs("1000 100 second\n", stream);
	resolve_map();
	assert_string_equal(name_of(0x1000), "first");
	assert_string_equal(name_of(0x1001), "second");
}

static void empty_files_and_no_lookups_are_fine(void **state)
{
	resolve_map();
	look_up(0x1000);
	resolve_map();
	assert_string_equal(name_of(0x1000), "");
	lookups.n = 0;
	fputs("1000 100 name\n", stream);
	resolve_map();
}

static void what_is_no_regular_file_is_refused(void **state)
{
	int fds[2];

	look_up(0x1000);
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(perf_map_resolve(fds[0], &lookups, &strings), -EINVAL);
	close(fds[0]);
	close(fds[1]);
}

/* Lines around every end of the read buffer, compared with an array of bytes. */
static void random_maps_agree_with_a_memory_of_bytes(void **state)
{
	enum { BYTES = 4096 };
	static uint32_t memory[BYTES];
	char expected[64];

	srand(5);
	for (uint64_t i = 0; i < MAX_LOOKUPS; i++)
		look_up(7 + 8 * i);
	for (uint32_t line = 1; line < 30000; line++) {
		uint32_t start = rand() % BYTES, size = rand() % (line % 64 ? 64 : 2000);

		fprintf(stream, "%x %x name %u%*s\n", start, size, line, rand() % 40, "");
		for (uint32_t i = start; i < start + size && i < BYTES; i++)
			memory[i] = line;
	}
	resolve_map();
	for (uint64_t i = 0; i < MAX_LOOKUPS; i++) {
		uint32_t line = memory[addresses[i]];

		snprintf(expected, sizeof expected, line ? "name %u" : "", line);
		assert_string_equal(strings_get(&strings, names[i]), expected);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		JIT_TEST(a_line_names_exactly_its_range),
		JIT_TEST(numbers_and_names_are_read_as_jits_write_them),
		JIT_TEST(later_lines_win_where_they_overlap),
		JIT_TEST(what_is_no_line_says_nothing),
		JIT_TEST(a_range_may_reach_the_end_of_memory),
		JIT_TEST(a_line_half_written_is_not_used),
		JIT_TEST(long_lines_do_no_harm),
		JIT_TEST(names_that_are_there_stay),
		JIT_TEST(empty_files_and_no_lookups_are_fine),
		JIT_TEST(what_is_no_regular_file_is_refused),
		JIT_TEST(random_maps_agree_with_a_memory_of_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
