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

/* A file without a table of hashes has all its symbols looked at. */
static void what_is_there_is_found_without_hashes(void **state)
{
	struct elf_wanted wanted[] = {{"malloc", true}, {"no_such_function"}, {"free"}};
	struct elf_file elf;
	int fd;

	open_libc(&elf, &fd);
	for (size_t i = 0; i < elf.n_sections; i++)
		if (elf.sections[i].sh_type == SHT_GNU_HASH)
			elf.sections[i].sh_type = SHT_NULL;
	assert_int_equal(elf_find_symbols(&elf, wanted, 3), 1);
	assert_true(wanted[0].address);
	assert_false(wanted[1].address);
	assert_true(wanted[2].address);
	wanted[1].is_needed = true;
	assert_int_equal(elf_find_symbols(&elf, wanted, 3), 0);
	elf_file_done(&elf);
	close(fd);
}

/* Hashes that lead anywhere end. */
static void damaged_hashes_find_nothing(void **state)
{
	struct elf_file elf;
	int fd;

	open_libc(&elf, &fd);
	for (size_t i = 0; i < elf.n_sections; i++) {
		uint64_t start = elf.sections[i].sh_offset;

		if (elf.sections[i].sh_type != SHT_GNU_HASH)
			continue;
		for (uint64_t at = start > 4096 ? start - 4096 : 0; at < start + 4096; at += 4) {
			struct elf_wanted wanted = {"malloc", true};
			bool is_found;

			elf.sections[i].sh_offset = at;
			is_found = elf_find_symbols(&elf, &wanted, 1);
			assert_true(is_found == (wanted.address != 0));
		}
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

/* Without a symbol that is needed, the others are not looked for. */
static void others_are_left_out(void **state)
{
	struct elf_file elf;
	int fd;

	open_libc(&elf, &fd);
	for (int i = 0; i < 200; i++) {
		char name[32];
		struct elf_wanted wanted[] = {{name, true}, {"malloc"}};

		snprintf(name, sizeof name, "missing_%d", i);
		assert_int_equal(elf_find_symbols(&elf, wanted, 2), 0);
		assert_false(wanted[1].address);
	}
	elf_file_done(&elf);
	close(fd);
}

static volatile uint32_t kept_to_itself = 0x5eed;

/* This program's own symbols; those that are not exported are in its .symtab only. */
static void what_is_hidden_is_found(void **state)
{
	struct elf_wanted wanted[] = {{"kept_to_itself"}, {"no_such_variable"}};
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct elf_file elf;
	uint32_t value = 0;

	assert_true(fd >= 0);
	assert_int_equal(elf_file_open(&elf, fd), 0);
	elf_find_symbols(&elf, wanted, 2);
	assert_int_equal(wanted[0].address, 0);
	elf_find_hidden(&elf, wanted, 2);
	assert_int_equal(elf_find_bytes(&elf, wanted[0].address, &value, sizeof value), 0);
	assert_int_equal(value, kept_to_itself);
	assert_int_equal(wanted[1].address, 0);
	elf_file_done(&elf);
	close(fd);
}

/* A function's size is the same by its symbol and by .eh_frame_hdr. */
static void sizes_of_functions(void **state)
{
	static const char *const names[] = {"malloc", "free", "printf", "qsort"};
	struct elf_file elf;
	int fd;

	open_libc(&elf, &fd);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct elf_wanted wanted[] = {{names[i], true}};

		assert_int_equal(elf_find_symbols(&elf, wanted, 1), 1);
		assert_int_equal(elf_find_function_size(&elf, wanted->address), wanted->size);
		assert_int_equal(elf_find_function_size(&elf, wanted->address + 1), 0);
	}
	for (size_t i = 0; i < elf.n_segments; i++)
		if (elf.segments[i].p_type == PT_GNU_EH_FRAME)
			elf.segments[i].p_type = PT_NULL;
	assert_int_equal(elf_find_function_size(&elf, 0x1000), 0);
	elf_file_done(&elf);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_hidden_is_found),
		cmocka_unit_test(sizes_of_functions),
		cmocka_unit_test(what_is_there_is_found),
		cmocka_unit_test(what_is_there_is_found_without_hashes),
		cmocka_unit_test(damaged_hashes_find_nothing),
		cmocka_unit_test(what_is_missing_is_not_found),
		cmocka_unit_test(others_are_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
