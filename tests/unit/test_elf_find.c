/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Symbols of the C library that this test runs with, found by its tables. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/elf_file.h"
#include "runtimes/elf_find.h"
#include "tests/unit/cmocka_all.h"

/* Its path is in the mappings. */
static void open_libc(struct elf_file *elf, int *ret_fd)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[4096], path[4096] = "";

	assert_non_null(maps);
	while (!path[0] && fgets(line, sizeof line, maps))
		if (strstr(line, "/libc.so.6") || strstr(line, "/libc-"))
			sscanf(line, "%*s %*s %*s %*s %*s %4095s", path);
	fclose(maps);
	*ret_fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(*ret_fd >= 0);
	assert_int_equal(elf_file_open(elf, *ret_fd), 0);
}

/* The filter keeps nothing back that is there. */
static void what_is_there_is_found(void **state)
{
	static const char *const names[] = {"malloc", "free", "printf", "write", "qsort"};
	struct elf_file elf;
	int fd;

	open_libc(&elf, &fd);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct elf_wanted wanted[] = {{"no_such_function"}, {names[i], true}};

		assert_int_equal(elf_find_symbols(&elf, wanted, 2), 1);
		assert_true(wanted[1].address);
		assert_false(wanted[0].address);
	}
	elf_file_done(&elf);
	close(fd);
}

/* Names that the filter lets pass are looked for; few of those that are not there. */
static void what_is_missing_is_not_found(void **state)
{
	struct elf_file elf;
	int fd;

	open_libc(&elf, &fd);
	for (int i = 0; i < 200; i++) {
		char name[32];
		struct elf_wanted wanted = {name, i % 2};

		snprintf(name, sizeof name, "missing_%d", i);
		assert_int_equal(elf_find_symbols(&elf, &wanted, 1), i % 2 == 0);
		assert_false(wanted.address);
	}
	elf_file_done(&elf);
	close(fd);
}

/* Without a symbol that is needed, which the filter keeps back, the table is not read. */
static void others_are_left_out(void **state)
{
	unsigned int n = 0;
	struct elf_file elf;
	int fd;

	open_libc(&elf, &fd);
	for (int i = 0; i < 200; i++) {
		char name[32];
		struct elf_wanted wanted[] = {{name, true}, {"malloc"}};

		snprintf(name, sizeof name, "missing_%d", i);
		assert_int_equal(elf_find_symbols(&elf, wanted, 2), 0);
		n += wanted[1].address != 0;
	}
	assert_in_range(n, 0, 100); /* some pass by chance */
	elf_file_done(&elf);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_there_is_found),
		cmocka_unit_test(what_is_missing_is_not_found),
		cmocka_unit_test(others_are_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
