/* SPDX-License-Identifier: GPL-2.0-or-later */
/* made_library: which runtime a library is that a test makes. */
#ifndef TESTS_UNIT_MADE_LIBRARY_H
#define TESTS_UNIT_MADE_LIBRARY_H

#include "base/elf_file.h"
#include "runtimes/runtime.h"
#include "tests/unit/made_files.h"

/* Makes a library of @source with compiler @options, and says what it is. */
static inline struct runtime_facts made_library_facts(const char *source, const char *options)
{
	struct runtime_facts facts;
	struct elf_file elf;
	int fd;

	made_text("library.c", source);
	made("${CC:-gcc} -shared -fPIC %s -o library.so library.c", options);
	fd = made_open("library.so");
	assert_int_equal(elf_file_open(&elf, fd), 0);
	assert_int_equal(runtime_examine(&elf, &facts), 0);
	elf_file_done(&elf);
	close(fd);
	return facts;
}

#endif
