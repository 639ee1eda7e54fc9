/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files of a folder in which somebody puts what they like. */
#include "cmocka_all.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/listing.h"

static char folder[] = "/tmp/test_listing_XXXXXX";
static char path[128];

static const char *in_folder(const char *name)
{
	snprintf(path, sizeof path, "%s/%s", folder, name);
	return path;
}

static void write_file(const char *name)
{
	FILE *stream = fopen(in_folder(name), "w");

	assert_non_null(stream);
	fputs("x", stream);
	fclose(stream);
}

static bool has_x(const char *name)
{
	return name[0] == 'x';
}

static int make_folder(void **state)
{
	if (!mkdtemp(folder))
		return -1;
	write_file("x-file");
	write_file("y-file");
	return symlink("x-file", in_folder("x-link")) < 0 ||
	       mkfifo(in_folder("x-fifo"), 0600) < 0 || mkdir(in_folder("x-folder"), 0700) < 0;
}

static int remove_folder(void **state)
{
	unlink(in_folder("x-file"));
	unlink(in_folder("y-file"));
	unlink(in_folder("x-link"));
	unlink(in_folder("x-fifo"));
	rmdir(in_folder("x-folder"));
	return rmdir(folder);
}

static int open_name(const struct listing *listing, const char *name)
{
	for (size_t i = 0; i < listing->n; i++)
		if (strcmp(listing->names[i], name) == 0)
			return listing_open(listing, i);
	fail();
	return 0;
}

static void only_regular_files_are_opened(void **state)
{
	struct listing listing;
	char byte;
	int fd;

	assert_int_equal(listing_read(folder, has_x, &listing), 0);
	assert_int_equal(listing.n, 4);
	assert_int_equal(open_name(&listing, "x-link"), -ELOOP);
	assert_int_equal(open_name(&listing, "x-fifo"), -EINVAL); /* without waiting */
	assert_int_equal(open_name(&listing, "x-folder"), -EINVAL);
	fd = open_name(&listing, "x-file");
	assert_true(fd >= 0);
	assert_int_equal(read(fd, &byte, 1), 1);
	assert_true(write(fd, &byte, 1) < 0);
	close(fd);
	unlink(in_folder("x-file"));
	assert_int_equal(open_name(&listing, "x-file"), -ENOENT);
	write_file("x-file");
	listing_done(&listing);
}

static void a_copy_has_the_names(void **state)
{
	struct listing listing, copy;

	assert_int_equal(listing_read(folder, has_x, &listing), 0);
	assert_int_equal(listing_copy(&listing, &copy), 0);
	listing_done(&listing);
	assert_int_equal(copy.n, 4);
	assert_int_equal(copy.fd, -1);
	for (size_t i = 0; i < copy.n; i++)
		assert_int_equal(copy.names[i][0], 'x');
	listing_done(&copy);
}

static void without_a_folder_there_is_none(void **state)
{
	struct listing listing = {.fd = 99};

	assert_int_equal(listing_read("/no/such/folder", has_x, &listing), -ENOENT);
	assert_int_equal(listing.fd, -1);
	assert_int_equal(listing_read("/etc/passwd", has_x, &listing), -ENOTDIR);
	assert_int_equal(listing_read_folder(-1, has_x, &listing), -EBADF);
	assert_int_equal(listing.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_regular_files_are_opened),
		cmocka_unit_test(a_copy_has_the_names),
		cmocka_unit_test(without_a_folder_there_is_none),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
