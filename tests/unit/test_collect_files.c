/* SPDX-License-Identifier: GPL-2.0-or-later */
/* files: which file a mapping belongs to, when a file counts as another, and when it is closed. */
#include "unit/cmocka_all.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/system.h"
#include "collect/files.h"

static struct files files;
static char folder[] = "/tmp/test_collect_files.XXXXXX";

static int setup(void **state)
{
	files_init(&files);
	return 0;
}

static int teardown(void **state)
{
	files_done(&files);
	return 0;
}

static int make_folder(void **state)
{
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	char command[128];

	snprintf(command, sizeof command, "rm -rf %s", folder);
	return system(command);
}

static const char *in_folder(const char *name)
{
	static char path[128];

	snprintf(path, sizeof path, "%s/%s", folder, name);
	return path;
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

/* Records a mapping of @path, as if by process @pid. */
static uint32_t get_of(uint32_t pid, const char *path)
{
	struct file_name name = {.path = path};
	struct stat stat_buffer;
	uint32_t file;

	assert_int_equal(stat(path, &stat_buffer), 0);
	name.device_major = major(stat_buffer.st_dev);
	name.device_minor = minor(stat_buffer.st_dev);
	name.inode = stat_buffer.st_ino;
	assert_int_equal(files_get(&files, &name, pid, 1, 2, &file), 0);
	return file;
}

/* As if this process had mapped it. */
static uint32_t get(const char *path)
{
	return get_of(getpid(), path);
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static void a_file_is_closed_when_nobody_refers_to_it(void **state)
{
	const char *path = in_folder("counted");
	uint32_t file;
	int fd;

	write_file(path, "one");
	file = get(path);
	assert_int_equal(get(path), file);
	fd = files.files[file].fd;
	files_put(&files, file);
	assert_true(is_open(fd));
	files_put(&files, file);
	assert_false(is_open(fd));
	assert_int_equal(files.pool.n_free, files.pool.n);
	/* Opened again, it gets the same slot. */
	assert_int_equal(get(path), file);
	assert_true(is_open(files.files[file].fd));
}

/* Content is compared where a file may have changed since it was looked at, and only there. */
static void what_was_mapped_before_the_last_look_is_known(void **state)
{
	struct file_name name = {.path = in_folder("looked at")};
	struct stat stat_buffer;
	uint32_t file, later;
	uint64_t looked_at;

	write_file(name.path, "one");
	file = get(name.path);
	files_put(&files, get(name.path));
	looked_at = files.files[file].looked_at;
	assert_true(looked_at > 0 && looked_at <= monotonic_ns());
	assert_int_equal(stat(name.path, &stat_buffer), 0);
	name.device_major = major(stat_buffer.st_dev);
	name.device_minor = minor(stat_buffer.st_dev);
	name.inode = stat_buffer.st_ino;
	write_file(name.path, "another");
	assert_int_equal(files_get_at(&files, &name, getpid(), 1, 2, looked_at, &later), 0);
	assert_int_equal(later, file);
	assert_int_equal(files_get_at(&files, &name, getpid(), 1, 2, looked_at + 1, &later), 0);
	assert_int_not_equal(later, file);
}

/* After thousands come and go, neither entries nor descriptors remain. */
static void what_is_not_needed_leaves_nothing(void **state)
{
	char name[32];

	for (int i = 0; i < 2000; i++) {
		snprintf(name, sizeof name, "%d", i % 7);
		write_file(in_folder(name), name);
		files_put(&files, get(in_folder(name)));
	}
	assert_int_equal(files.pool.n, 1);
	assert_int_equal(files.by_name.n_used, 0);
}

static void a_file_that_is_written_over_is_another_one(void **state)
{
	const char *path = in_folder("replaced");
	uint32_t before, after;

	write_file(path, "first");
	before = get(path);
	assert_true(file_is_unchanged(&files.files[before]));
	write_file(path, "second"); /* the same inode */
	assert_false(file_is_unchanged(&files.files[before]));
	after = get(path);
	assert_int_not_equal(before, after);
	assert_int_equal(files.files[after].version, files.files[before].version + 1);
	assert_int_equal(files.files[after].identity.inode, files.files[before].identity.inode);
	assert_true(file_is_unchanged(&files.files[after]));
	assert_int_equal(get(path), after);
	files_put(&files, before);
	assert_int_equal(get(path), after);
}

/* Size and mtime of the old contents restored, as `cp -p` over it does. */
static void a_time_stamp_that_is_put_back_does_not_hide_it(void **state)
{
	const char *path = in_folder("stamped");
	struct stat stat_buffer;
	uint32_t before;

	write_file(path, "first");
	before = get(path);
	assert_int_equal(stat(path, &stat_buffer), 0);
	usleep(20000); /* lets the timestamp advance */
	write_file(path, "other");
	assert_int_equal(utimensat(AT_FDCWD, path,
				   (struct timespec[]){stat_buffer.st_atim, stat_buffer.st_mtim},
				   0),
			 0);
	assert_int_not_equal(get(path), before);
}

static void a_name_more_or_less_does_not_make_it_another_one(void **state)
{
	const char *path = in_folder("linked");
	char other[160];
	uint32_t file;

	write_file(path, "text");
	file = get(path);
	snprintf(other, sizeof other, "%s.again", path);
	assert_int_equal(link(path, other), 0);
	assert_int_equal(get(other), file);
	assert_int_equal(unlink(path), 0);
	assert_true(file_is_unchanged(&files.files[file]));
}

/* A file with the same inode number on another device is not the mapped one. */
static void the_device_counts(void **state)
{
	struct file_name name = {.path = in_folder("elsewhere")};
	struct stat stat_buffer;
	uint32_t file;

	write_file(name.path, "text");
	assert_int_equal(stat(name.path, &stat_buffer), 0);
	name.device_major = major(stat_buffer.st_dev);
	name.device_minor = minor(stat_buffer.st_dev) + 1;
	name.inode = stat_buffer.st_ino;
	assert_int_equal(files_get(&files, &name, getpid(), 1, 2, &file), 0);
	assert_int_equal(files.files[file].fd, -1);
	assert_int_equal(files.n_unopened, 1);
}

static void an_address_is_found_in_maps(void **state)
{
	struct maps_entry entry;
	char path[PATH_MAX];
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	void *memory = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE, fd, 4096);
	struct stat stat_buffer;

	assert_ptr_not_equal(memory, MAP_FAILED);
	assert_int_equal(fstat(fd, &stat_buffer), 0);
	assert_int_equal(maps_find(getpid(), (uintptr_t)an_address_is_found_in_maps, &entry, path),
			 1);
	assert_true(entry.is_executable);
	assert_int_equal(maps_find(getpid(), (uintptr_t)memory, &entry, path), 1);
	assert_false(entry.is_executable);
	assert_int_equal(entry.start, (uintptr_t)memory);
	assert_int_equal(entry.offset, 4096);
	assert_int_equal(entry.name.inode, stat_buffer.st_ino);
	assert_int_equal(maps_find(getpid(), 4096, &entry, path), 0);
	munmap(memory, 4096);
	close(fd);
}

#define MALLORY 12345

/* A process of another user's, who maps files of root's. */
static pid_t start_mallory(void)
{
	int ends[2];
	pid_t pid;
	char byte;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		if (setuid(MALLORY) == 0 && write(ends[1], "r", 1) == 1)
			pause();
		_exit(1);
	}
	assert_int_equal(read(ends[0], &byte, 1), 1);
	close(ends[0]);
	close(ends[1]);
	return pid;
}

static void who_maps_too_many_files_pays_alone(void **state)
{
	uint32_t file[6];
	char name[24];
	pid_t mallory;

	if (geteuid() != 0)
		skip();
	mallory = start_mallory();
	files.budgets.most_open = 3;
	for (int i = 0; i < 6; i++) {
		snprintf(name, sizeof name, "of-root-%d", i);
		write_file(in_folder(name), name);
		file[i] = get_of(mallory, in_folder(name));
		assert_int_equal(files.files[file[i]].fd >= 0, i < 3);
		/* She does not pay for reading root's files. */
		assert_int_equal(files.files[file[i]].budget, BUDGETS_UNLIMITED);
	}
	assert_int_equal(budgets_refused(&files.budgets).n, 3);
	assert_int_equal(budgets_refused(&files.budgets).user, MALLORY);
	assert_int_equal(files.n_unopened, 3);
	/* Others open it. */
	assert_int_equal(get(in_folder("of-root-5")), file[5]);
	assert_true(files.files[file[5]].fd >= 0);
	/* She may use a descriptor that she has freed. */
	files_put(&files, file[0]);
	assert_int_equal(get_of(mallory, in_folder("of-root-4")), file[4]);
	assert_true(files.files[file[4]].fd >= 0);
	assert_int_equal(get_of(mallory, in_folder("of-root-3")), file[3]);
	assert_int_equal(files.files[file[3]].fd, -1);
	kill(mallory, SIGKILL);
	waitpid(mallory, NULL, 0);
}

static void lines_of_maps_are_parsed(void **state)
{
	static const char *const bad[] = {"", "0", "0-", "1-2 r-x", "1-2 r-xp 0", "x"};
	struct maps_entry entry;

	assert_true(
		maps_parse("00400000-0048a000 r-xp 00001000 fd:1f 123  /a b (deleted)", &entry));
	assert_int_equal(entry.start, 0x400000);
	assert_int_equal(entry.end, 0x48a000);
	assert_int_equal(entry.offset, 0x1000);
	assert_int_equal(entry.name.device_major, 0xfd);
	assert_int_equal(entry.name.device_minor, 0x1f);
	assert_int_equal(entry.name.inode, 123);
	assert_string_equal(entry.name.path, "/a b (deleted)");
	assert_true(maps_parse("7f0000000000-7f0000001000 rw-p 00000000 00:00 0 ", &entry));
	assert_false(entry.is_executable);
	assert_string_equal(entry.name.path, "");
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_false(maps_parse(bad[i], &entry));
}

#define FILES_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		FILES_TEST(a_file_is_closed_when_nobody_refers_to_it),
		FILES_TEST(what_was_mapped_before_the_last_look_is_known),
		FILES_TEST(what_is_not_needed_leaves_nothing),
		FILES_TEST(a_file_that_is_written_over_is_another_one),
		FILES_TEST(a_time_stamp_that_is_put_back_does_not_hide_it),
		FILES_TEST(a_name_more_or_less_does_not_make_it_another_one),
		FILES_TEST(the_device_counts),
		FILES_TEST(who_maps_too_many_files_pays_alone),
		cmocka_unit_test(an_address_is_found_in_maps),
		cmocka_unit_test(lines_of_maps_are_parsed),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
