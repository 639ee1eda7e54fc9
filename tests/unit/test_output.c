/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/output.h"

static char folder[64];

static const char *in_folder(const char *name)
{
	static char path[512];

	snprintf(path, sizeof path, "%s/%s", folder, name);
	return path;
}

static int make_folder(void **state)
{
	strcpy(folder, "/tmp/bpfflame-output-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	DIR *dir = opendir(folder);

	for (struct dirent *entry; (entry = readdir(dir));)
		unlink(in_folder(entry->d_name));
	closedir(dir);
	return rmdir(folder);
}

static int n_files(void)
{
	DIR *dir = opendir(folder);
	int n = -2;

	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static void put(const char *name, const char *text)
{
	FILE *file = fopen(in_folder(name), "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void expect_content(const char *name, const char *text)
{
	char content[64] = "";
	FILE *file = fopen(in_folder(name), "r");

	assert_non_null(file);
	content[fread(content, 1, sizeof content - 1, file)] = '\0';
	fclose(file);
	assert_string_equal(content, text);
}

static void appears_when_committed(void **state)
{
	struct output output;
	struct stat made;
	mode_t mask = umask(027);

	assert_int_equal(output_check(in_folder("a")), 0);
	assert_int_equal(n_files(), 0);
	assert_int_equal(output_open(in_folder("a"), &output), 0);
	fputs("new", output.stream);
	assert_int_equal(access(in_folder("a"), F_OK), -1);
	assert_int_equal(output_commit(&output), 0);
	output_abort(&output);
	umask(mask);

	expect_content("a", "new");
	assert_int_equal(n_files(), 1);
	assert_int_equal(stat(in_folder("a"), &made), 0);
	assert_int_equal(made.st_mode & 07777, 0640);
}

static void replaces_and_keeps_the_mode(void **state)
{
	struct output output;
	struct stat made;

	put("a", "old");
	chmod(in_folder("a"), 0600);
	assert_int_equal(output_open(in_folder("a"), &output), 0);
	fputs("new", output.stream);
	assert_int_equal(output_commit(&output), 0);
	expect_content("a", "new");
	assert_int_equal(stat(in_folder("a"), &made), 0);
	assert_int_equal(made.st_mode & 07777, 0600);
}

static void given_up_leaves_the_old_file(void **state)
{
	struct output output;

	put("a", "old");
	assert_int_equal(output_open(in_folder("a"), &output), 0);
	fputs("new", output.stream);
	output_abort(&output);
	output_abort(&output);
	expect_content("a", "old");
	assert_int_equal(n_files(), 1);
}

static void leaving_leaves_the_old_file(void **state)
{
	struct output output;

	put("a", "old");
	output_leave();
	assert_int_equal(output_open(in_folder("a"), &output), 0);
	fputs("new", output.stream);
	assert_int_equal(n_files(), 2);
	output_leave();
	assert_int_equal(n_files(), 1);
	output_abort(&output);
	output_leave();
	expect_content("a", "old");
}

/* A limit of the file size stands for a disk that becomes full. */
static void failed_write_leaves_the_old_file(void **state)
{
	struct rlimit before, limit;
	struct output output;
	int r;

	put("a", "old");
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &before);
	limit = before;
	limit.rlim_cur = 20000;
	assert_int_equal(output_open(in_folder("a"), &output), 0);
	setrlimit(RLIMIT_FSIZE, &limit);
	for (int i = 0; i < 10000; i++)
		fputs("0123456789", output.stream);
	r = output_commit(&output);
	setrlimit(RLIMIT_FSIZE, &before);
	assert_int_equal(r, -EFBIG);
	expect_content("a", "old");
	assert_int_equal(n_files(), 1);
}

static void direct_targets(void **state)
{
	struct output output;

	assert_int_equal(output_check("/dev/null"), 0);
	assert_int_equal(output_open("/dev/null", &output), 0);
	assert_null(output.temporary);
	fputs("gone", output.stream);
	assert_int_equal(output_commit(&output), 0);

	assert_int_equal(output_open("/dev/full", &output), 0);
	fputs("too much", output.stream);
	assert_int_equal(output_commit(&output), -ENOSPC);
	assert_int_equal(output_open("/dev/full", &output), 0);
	for (int i = 0; i < 10000; i++)
		fputs("too much", output.stream);
	assert_int_equal(output_commit(&output), -ENOSPC);
}

static void standard_output_stays_open(void **state)
{
	struct output output;

	assert_int_equal(output_check("-"), 0);
	assert_int_equal(output_open("-", &output), 0);
	assert_ptr_equal(output.stream, stdout);
	assert_int_equal(output_commit(&output), 0);
	assert_int_equal(output_open("-", &output), 0);
	output_abort(&output);
	assert_true(fcntl(1, F_GETFD) >= 0);
}

static void written_as(int fd, const char *format, const char *text)
{
	struct output output;
	char path[32];

	snprintf(path, sizeof path, format, fd);
	assert_int_equal(output_descriptor(path), fd);
	assert_int_equal(output_check(path), 0);
	assert_int_equal(output_open(path, &output), 0);
	assert_null(output.temporary);
	fputs(text, output.stream);
	assert_int_equal(output_commit(&output), 0);
}

static void what_is_open_is_written_where_it_is(void **state)
{
	int fd, stays = dup(STDOUT_FILENO);

	put("a", "old");
	fd = open(in_folder("a"), O_WRONLY | O_APPEND);
	written_as(fd, "/dev/fd/%d", ", fd");
	written_as(fd, "/proc/self/fd/%d", ", proc");
	fflush(stdout);
	dup2(fd, STDOUT_FILENO);
	written_as(STDOUT_FILENO, "/dev/stdout", ", stdout");
	dup2(stays, STDOUT_FILENO);
	expect_content("a", "old, fd, proc, stdout");
	assert_int_equal(n_files(), 1);
	close(stays);
	close(fd);
}

static void links_stay_links(void **state)
{
	struct output output;
	struct stat made;

	put("target", "old");
	assert_int_equal(symlink("target", in_folder("link")), 0);
	assert_int_equal(output_open(in_folder("link"), &output), 0);
	fputs("new", output.stream);
	assert_int_equal(output_commit(&output), 0);
	expect_content("target", "new");
	assert_int_equal(lstat(in_folder("link"), &made), 0);
	assert_true(S_ISLNK(made.st_mode));
}

static void longest_name(void **state)
{
	struct output output;
	char name[256];

	memset(name, 'n', 255);
	name[255] = '\0';
	assert_int_equal(output_open(in_folder(name), &output), 0);
	assert_int_equal(output_commit(&output), 0);
	expect_content(name, "");
}

static void expect_refused(const char *path, int error)
{
	struct output output;

	assert_int_equal(output_check(path), error);
	assert_int_equal(output_open(path, &output), error);
}

static void bad_targets(void **state)
{
	char missing[600];

	char descriptor[32];
	int fd;

	put("file", "");
	fd = open(in_folder("file"), O_RDONLY);
	snprintf(descriptor, sizeof descriptor, "/dev/fd/%d", fd);
	expect_refused(descriptor, -EBADF);
	close(fd);
	expect_refused(descriptor, -EBADF);
	fd = open(in_folder("file"), O_WRONLY | O_CLOEXEC);
	expect_refused(descriptor, -EBADF); /* our own, as it were */
	close(fd);
	assert_int_equal(output_descriptor("/dev/fd/1x"), -1);
	assert_int_equal(output_descriptor("/dev/fd/"), -1);
	expect_refused("", -ENOENT);
	expect_refused(folder, -EISDIR);
	snprintf(missing, sizeof missing, "%s/none/a", folder);
	expect_refused(missing, -ENOENT);
	snprintf(missing, sizeof missing, "%s/file/a", folder);
	expect_refused(missing, -ENOTDIR);
	assert_int_equal(n_files(), 1);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, make_folder, remove_folder)
	const struct CMUnitTest tests[] = {
	    TEST(appears_when_committed),
	    TEST(replaces_and_keeps_the_mode),
	    TEST(given_up_leaves_the_old_file),
	    TEST(leaving_leaves_the_old_file),
	    TEST(failed_write_leaves_the_old_file),
	    TEST(direct_targets),
	    TEST(standard_output_stays_open),
	    TEST(what_is_open_is_written_where_it_is),
	    TEST(links_stay_links),
	    TEST(longest_name),
	    TEST(bad_targets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
