/* SPDX-License-Identifier: GPL-2.0-or-later */
/* made_files: a folder for files that a test makes with compilers and binutils. */
#ifndef TESTS_UNIT_MADE_FILES_H
#define TESTS_UNIT_MADE_FILES_H

#include "unit/cmocka_all.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MADE_FOLDER "/tmp/test_made.XXXXXX"

static char made_folder[] = MADE_FOLDER;

/* A fixture's setup: of a program, or of each test. */
static inline int made_setup(void **state)
{
	strcpy(made_folder, MADE_FOLDER);
	assert_non_null(mkdtemp(made_folder));
	return 0;
}

/* Runs a shell command in the folder; returns whether it succeeded. */
__attribute__((format(printf, 1, 2))) static inline bool made_try(const char *format, ...)
{
	char command[8192];
	int n = snprintf(command, sizeof command, "cd %s && exec 2>errors && ", made_folder);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(command + n, sizeof command - n, format, arguments);
	va_end(arguments);
	return system(command) == 0;
}

static inline void made_print_errors(void)
{
	char command[64];

	snprintf(command, sizeof command, "cat %s/errors >&2", made_folder);
	if (system(command))
		print_error("and no errors");
}

/* Runs a shell command that must succeed. */
#define made(...)                                                                                  \
	do {                                                                                       \
		if (!made_try(__VA_ARGS__)) {                                                      \
			print_error("failed: " __VA_ARGS__);                                       \
			made_print_errors();                                                       \
			fail();                                                                    \
		}                                                                                  \
	} while (0)

/* The fixture's teardown. */
static inline int made_done(void **state)
{
	char command[64];

	snprintf(command, sizeof command, "rm -rf %s", made_folder);
	assert_int_equal(system(command), 0);
	return 0;
}

static inline const char *made_path(const char *name)
{
	static char paths[4][PATH_MAX];
	static unsigned int next;
	char *path = paths[next++ % 4];

	snprintf(path, PATH_MAX, "%s/%s", made_folder, name);
	return path;
}

static inline void made_text(const char *name, const char *text)
{
	FILE *stream = fopen(made_path(name), "w");

	assert_non_null(stream);
	fputs(text, stream);
	assert_int_equal(fclose(stream), 0);
}

static inline int made_open(const char *name)
{
	int fd = open(made_path(name), O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		print_error("cannot open %s\n", name);
	assert_true(fd >= 0);
	return fd;
}

#endif
