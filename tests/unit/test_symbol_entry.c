/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmocka_all.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbol/elf_symbols.h"

#define LIBC "/lib/x86_64-linux-gnu/libc.so.6"

static const uint8_t clone3_call[] = {0xb8, 0xb3, 0x01, 0x00, 0x00, 0x0f, 0x05};

static struct strings strings;

static const char *name_of(struct elf_file *file, uint64_t address)
{
	uint32_t name = 0;
	struct lookups lookups = {&address, &name, 1};

	assert_int_equal(elf_entry_resolve(file, &lookups, &strings), 0);
	return strings_get(&strings, name);
}

static void test_start(void **state)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct elf_file file;

	assert_int_equal(elf_file_open(&file, fd), 0);
	assert_int_not_equal(file.entry, 0);
	assert_string_equal(name_of(&file, file.entry), "_start");
	assert_string_equal(name_of(&file, file.entry + 0x20), "_start");
	assert_string_equal(name_of(&file, file.entry - 1), "");
	assert_string_equal(name_of(&file, file.entry + 4096), "");
	elf_file_done(&file);
	close(fd);
}

/* In the C library; finds its call of clone3 by other means. */
static void test_clone3(void **state)
{
	int fd = open(LIBC, O_RDONLY | O_CLOEXEC);
	const Elf64_Shdr *text;
	struct elf_file file;
	uint8_t *code, *call;
	uint64_t address;

	if (fd < 0)
		skip();
	assert_int_equal(elf_file_open(&file, fd), 0);
	text = elf_file_section(&file, ".text");
	assert_non_null(text);
	code = malloc(text->sh_size);
	assert_non_null(code);
	assert_int_equal(elf_file_read(&file, text->sh_offset, code, text->sh_size), 0);
	call = memmem(code, text->sh_size, clone3_call, sizeof clone3_call);
	assert_non_null(call);
	address = text->sh_addr + (call - code);
	assert_string_equal(name_of(&file, address + 32), "clone3");
	assert_string_equal(name_of(&file, address), "");
	assert_string_equal(name_of(&file, address + 200), "");
	/* An existing name stays. */
	uint32_t name = 0;
	struct lookups lookups = {(uint64_t[]){address + 32}, &name, 1};

	assert_int_equal(strings_add(&strings, "__clone3", &name), 0);
	assert_int_equal(elf_entry_resolve(&file, &lookups, &strings), 0);
	assert_string_equal(strings_get(&strings, name), "__clone3");
	free(code);
	elf_file_done(&file);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_start),
		cmocka_unit_test(test_clone3),
	};
	int r;

	if (strings_init(&strings) < 0)
		return 1;
	r = cmocka_run_group_tests(tests, NULL, NULL);
	strings_done(&strings);
	return r;
}
