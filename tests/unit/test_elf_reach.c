/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Symbols without a size, in an assembler library in which every address is known: whole, and
 * stripped, so that functions between the symbols have no name.
 */
#include "unit/cmocka_all.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/elf_file.h"
#include "symbol/elf_symbols.h"

#define TEXT 0x410000

static const char program[] =
	".text\n"
	".globl open\nopen: test %eax,%eax\nje 1f\nret\n.byte 0x66,0x90\n1: inc %eax\nret\n"
	".balign 16\nhidden: inc %ecx\nret\n" /* 0x10 */
	".balign 16\n.globl looping\n.type looping,@function\n"
	"looping: dec %ecx\njne looping\njmp tail\n"			    /* 0x20 */
	".balign 16\nhidden_too: ret\n"					    /* 0x30 */
	".balign 16\n.globl described\ndescribed: .cfi_startproc\njmp 1f\n" /* 0x40 */
	".balign 16\n.globl label\nlabel: inc %ecx\n1: ret\n.cfi_endproc\n" /* 0x50 */
	".balign 16\ntail: ret\n";					    /* 0x60 */

static char folder[] = "/tmp/test_elf_reach.XXXXXX";
static struct strings strings;

static int build(void **state)
{
	char path[128], command[512];
	FILE *stream;

	assert_int_equal(strings_init(&strings), 0);
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/program.s", folder);
	stream = fopen(path, "w");
	assert_non_null(stream);
	fputs(program, stream);
	fclose(stream);
	snprintf(command, sizeof command,
		 "cd %s && ${CC:-gcc} -nostdlib -shared -Wl,-Ttext=%#x -Wl,--eh-frame-hdr "
		 "-o whole program.s && strip -o stripped whole",
		 folder, TEXT);
	return system(command);
}

static int clean(void **state)
{
	char command[128];

	snprintf(command, sizeof command, "rm -rf %s", folder);
	strings_done(&strings);
	return system(command);
}

static void expect(const char *name, unsigned int offset, const char *want)
{
	uint64_t address = TEXT + offset;
	uint32_t found = 0;
	struct lookups lookups = {&address, &found, 1};
	struct elf_file file, *files = &file;
	char path[128];
	int fd;

	snprintf(path, sizeof path, "%s/%s", folder, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(elf_file_open(&file, fd), 0);
	assert_int_equal(elf_symbols_resolve(&files, 1, &lookups, &strings), 0);
	if (strcmp(strings_get(&strings, found), want) != 0)
		fail_msg("%s+%#x: %s, not %s", name, offset, strings_get(&strings, found), want);
	elf_file_done(&file);
	close(fd);
}

static void test_stripped(void **state)
{
	expect("stripped", 0x0, "open");
	expect("stripped", 0x4, "open");
	expect("stripped", 0x7, "open"); /* after a return, where a branch leads */
	expect("stripped", 0x10, "");
	expect("stripped", 0x12, "");
	expect("stripped", 0x20, "looping");
	expect("stripped", 0x24, "looping");
	expect("stripped", 0x30, "");
	expect("stripped", 0x60, "");
}

/* What the call frame information covers is the function's, also after a jump. */
static void test_described(void **state)
{
	expect("stripped", 0x40, "described");
	expect("stripped", 0x50, "label");
	expect("stripped", 0x52, ""); /* of the function, not of the label in it */
}

/* Where the local symbols are, each reaches to the next. */
static void test_whole(void **state)
{
	expect("whole", 0x7, "open");
	expect("whole", 0x12, "hidden");
	expect("whole", 0x30, "hidden_too");
	expect("whole", 0x52, "label");
	expect("whole", 0x60, "tail");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#if defined(__x86_64__)
		cmocka_unit_test(test_stripped),
		cmocka_unit_test(test_described),
		cmocka_unit_test(test_whole),
#endif
	};

	return cmocka_run_group_tests(tests, build, clean);
}
