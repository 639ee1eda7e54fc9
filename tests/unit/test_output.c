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
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/output.h"

/* The attacker's uid, which no user in Debian has. */
#define OTHER 65534

static char folder[64];

/* Simulates a filesystem without O_TMPFILE. */
static bool has_unnamed = true;

int openat(int at, const char *path, int flags, ...)
{
	va_list arguments;
	mode_t mode;

	va_start(arguments, flags);
	mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
	va_end(arguments);
	if (!has_unnamed && (flags & O_TMPFILE) == O_TMPFILE) {
		errno = EOPNOTSUPP;
		return -1;
	}
	return syscall(SYS_openat, at, path, flags, mode);
}

static const char *in_folder(const char *name)
{
	static char paths[2][512];
	static int last;
	char *path = paths[last ^= 1];

	snprintf(path, sizeof *paths, "%s/%s", folder, name);
	return path;
}

static int make_folder(void **state)
{
	has_unnamed = *state == NULL;
	output_set_mode(0600);
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

static void system_in_folder(const char *command)
{
	char line[256];

	snprintf(line, sizeof line, "cd %s && %s", folder, command);
	assert_int_equal(system(line), 0);
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

static struct output_target target;

/* Finds and opens. */
static int open_output(const char *path, struct output *ret)
{
	int r;

	output_target_done(&target);
	r = output_find(path, &target);
	return r < 0 ? r : output_open(&target, ret);
}

static void expect_written(const char *path)
{
	struct output output;

	assert_int_equal(open_output(path, &output), 0);
	fputs("new", output.stream);
	assert_int_equal(output_commit(&output), 0);
}

static mode_t mode_of(const char *name)
{
	struct stat made;

	assert_int_equal(lstat(in_folder(name), &made), 0);
	return made.st_mode & 07777;
}

static void appears_when_committed(void **state)
{
	struct output output;
	mode_t mask = umask(027);

	assert_int_equal(output_find(in_folder("a"), &target), 0);
	assert_int_equal(n_files(), 0);
	assert_int_equal(output_open(&target, &output), 0);
	fputs("new", output.stream);
	assert_int_equal(access(in_folder("a"), F_OK), -1);
	assert_int_equal(n_files(), has_unnamed ? 0 : 1);
	assert_int_equal(output_commit(&output), 0);
	output_abort(&output);
	umask(mask);

	expect_content("a", "new");
	assert_int_equal(n_files(), 1);
	assert_int_equal(mode_of("a"), 0600);
}

/* Whatever file is there, and whatever the umask. */
static void modes(void **state)
{
	mode_t mask = umask(077);

	put("a", "old");
	chmod(in_folder("a"), 0666);
	expect_written(in_folder("a"));
	expect_content("a", "new");
	assert_int_equal(mode_of("a"), 0600);
	output_set_mode(0644);
	expect_written(in_folder("a"));
	assert_int_equal(mode_of("a"), 0644);
	expect_written(in_folder("b"));
	assert_int_equal(mode_of("b"), 0644);
	umask(mask);
	assert_int_equal(n_files(), 2);
}

static void given_up_leaves_the_old_file(void **state)
{
	struct output output;

	put("a", "old");
	assert_int_equal(open_output(in_folder("a"), &output), 0);
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
	assert_int_equal(open_output(in_folder("a"), &output), 0);
	fputs("new", output.stream);
	assert_int_equal(n_files(), has_unnamed ? 1 : 2);
	output_leave();
	assert_int_equal(n_files(), 1);
	output_abort(&output);
	output_leave();
	expect_content("a", "old");
}

/* The name appears only when the file is complete. */
static void killed_leaves_the_old_file(void **state)
{
	pid_t child;
	int status;

	put("a", "old");
	child = fork();
	if (child == 0) {
		struct output output;

		if (open_output(in_folder("a"), &output) == 0 && fputs("new", output.stream) >= 0 &&
		    fflush(output.stream) == 0)
			raise(SIGKILL);
		_exit(1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	expect_content("a", "old");
	assert_int_equal(n_files(), 1);
}

/* Simulates a full disk with a limit on file size. */
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
	assert_int_equal(open_output(in_folder("a"), &output), 0);
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

	assert_int_equal(open_output("/dev/null", &output), 0);
	assert_int_equal(output.unnamed, -1);
	assert_null(output.temporary);
	fputs("gone", output.stream);
	assert_int_equal(output_commit(&output), 0);

	assert_int_equal(open_output("/dev/full", &output), 0);
	fputs("too much", output.stream);
	assert_int_equal(output_commit(&output), -ENOSPC);
	assert_int_equal(open_output("/dev/full", &output), 0);
	for (int i = 0; i < 10000; i++)
		fputs("too much", output.stream);
	assert_int_equal(output_commit(&output), -ENOSPC);
}

static void standard_output_stays_open(void **state)
{
	struct output output;

	assert_int_equal(open_output("-", &output), 0);
	assert_ptr_equal(output.stream, stdout);
	assert_int_equal(output_commit(&output), 0);
	assert_int_equal(open_output("-", &output), 0);
	output_abort(&output);
	assert_true(fcntl(1, F_GETFD) >= 0);
}

static void written_as(int fd, const char *format, const char *text)
{
	struct output output;
	char path[32];

	snprintf(path, sizeof path, format, fd);
	assert_int_equal(output_descriptor(path), fd);
	assert_int_equal(open_output(path, &output), 0);
	assert_int_equal(output.unnamed, -1);
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

static void expect_refused(const char *path, int error)
{
	struct output_target none;

	assert_int_equal(output_find(path, &none), error);
}

/* Neither follows nor replaces it. */
static void links_are_refused(void **state)
{
	struct output output;

	put("target", "old");
	assert_int_equal(symlink("target", in_folder("link")), 0);
	assert_int_equal(symlink("missing", in_folder("dangling")), 0);
	expect_refused(in_folder("link"), -OUTPUT_ELINK);
	expect_refused(in_folder("dangling"), -OUTPUT_ELINK);
	/* A link that appears during the recording does not cost the recording. */
	assert_int_equal(open_output(in_folder("late"), &output), 0);
	fputs("new", output.stream);
	assert_int_equal(symlink("target", in_folder("late")), 0);
	assert_int_equal(output_commit(&output), 0);
	expect_content("late", "new");
	expect_content("target", "old");
	assert_int_equal(mode_of("late"), 0600);
	assert_int_equal(n_files(), 4);
}

static void hard_links_are_parted(void **state)
{
	put("target", "old");
	assert_int_equal(link(in_folder("target"), in_folder("a")), 0);
	expect_written(in_folder("a"));
	expect_content("a", "new");
	expect_content("target", "old");
}

/* Writes to the folder that was checked, even if that has another name by then. */
static void folder_is_held(void **state)
{
	struct output output;

	assert_int_equal(mkdir(in_folder("before"), 0755), 0);
	assert_int_equal(mkdir(in_folder("other"), 0755), 0);
	assert_int_equal(open_output(in_folder("before/a"), &output), 0);
	fputs("new", output.stream);
	system_in_folder("mv before moved; ln -s other before");
	assert_int_equal(output_commit(&output), 0);
	expect_content("moved/a", "new");
	assert_int_equal(rmdir(in_folder("other")), 0);
	system_in_folder("rm -r moved before");
}

static void removed_folder(void **state)
{
	struct output output;

	assert_int_equal(mkdir(in_folder("gone"), 0755), 0);
	assert_int_equal(output_find(in_folder("gone/a"), &target), 0);
	assert_int_equal(rmdir(in_folder("gone")), 0);
	assert_int_equal(output_open(&target, &output), -ENOENT);
}

/* Root does not wait on another user's pipe, and writes nothing to its owner. */
static void pipes(void **state)
{
	struct output output;
	char text[4];
	int fd;

	assert_int_equal(mkfifo(in_folder("pipe"), 0600), 0);
	fd = open(in_folder("pipe"), O_RDWR);
	expect_written(in_folder("pipe"));
	assert_int_equal(read(fd, text, sizeof text), 3);
	/* Does not write to a file that took its place. */
	output_target_done(&target);
	assert_int_equal(output_find(in_folder("pipe"), &target), 0);
	system_in_folder("mv pipe before; echo old >pipe");
	assert_int_equal(output_open(&target, &output), -OUTPUT_EOTHERS);
	expect_content("pipe", "old\n");
	close(fd);
	if (geteuid() != 0)
		return;
	assert_int_equal(chown(in_folder("before"), OTHER, OTHER), 0);
	expect_refused(in_folder("before"), -OUTPUT_EOTHERS);
}

/* A folder like /tmp: what root may and may not do there. */
static void shared_folders(void **state)
{
	bool is_root = geteuid() == 0;

	chmod(folder, 0777);
	put("mine", "old");
	if (is_root) {
		expect_refused(in_folder("mine"), -PLACE_ESHARED);
		expect_refused(in_folder("new"), -PLACE_ESHARED);
	} else {
		expect_written(in_folder("new"));
	}
	chmod(folder, 01777);
	expect_written(in_folder("mine"));
	expect_content("mine", "new");
	expect_written(in_folder("new"));
	if (!is_root)
		return;
	put("theirs", "old");
	assert_int_equal(chown(in_folder("theirs"), OTHER, OTHER), 0);
	expect_refused(in_folder("theirs"), -OUTPUT_EOTHERS);
	/* A folder of theirs: in /tmp, whoever is first has the name; elsewhere, root knows the owner. */
	assert_int_equal(chown(folder, OTHER, OTHER), 0);
	expect_refused(in_folder("mine"), -PLACE_ELED);
	assert_int_equal(chdir(folder), 0);
	expect_refused("mine", -PLACE_ESHARED);
	chmod(folder, 0775);
	expect_refused("mine", -PLACE_ESHARED);
	chmod(folder, 0755);
	expect_written("mine");
	assert_int_equal(chdir("/"), 0);
}

static void longest_name(void **state)
{
	struct output output;
	char name[256];

	memset(name, 'n', 255);
	name[255] = '\0';
	assert_int_equal(open_output(in_folder(name), &output), 0);
	assert_int_equal(output_commit(&output), 0);
	expect_content(name, "");
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
	expect_refused(descriptor, -EBADF); /* as if it were our own */
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

static void words_of_errors(void **state)
{
	struct failure failure;

	assert_int_equal(output_fail(&failure, -OUTPUT_ELINK, "write", "x.svg"), -OUTPUT_ELINK);
	assert_string_equal(failure.what, "cannot write x.svg: it is a symbolic link");
	assert_true(*failure.fix);
	assert_int_equal(output_fail(&failure, -ENOENT, "write", "x.svg"), -ENOENT);
	assert_string_equal(failure.what, "cannot write x.svg: No such file or directory");
	assert_string_equal(failure.fix, "");
}

static int forget_target(void **state)
{
	output_target_done(&target);
	return remove_folder(state);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, make_folder, forget_target)
/* On filesystems where every file has a name. */
#define TEST_NAMED(function)                                                                       \
	{#function " (named)", function, make_folder, forget_target, "named"}
	const struct CMUnitTest tests[] = {
		TEST(appears_when_committed),
		TEST(modes),
		TEST(given_up_leaves_the_old_file),
		TEST(leaving_leaves_the_old_file),
		TEST(killed_leaves_the_old_file),
		TEST(failed_write_leaves_the_old_file),
		TEST(direct_targets),
		TEST(standard_output_stays_open),
		TEST(what_is_open_is_written_where_it_is),
		TEST(links_are_refused),
		TEST(hard_links_are_parted),
		TEST(folder_is_held),
		TEST(removed_folder),
		TEST(pipes),
		TEST(shared_folders),
		TEST(longest_name),
		TEST(bad_targets),
		TEST(words_of_errors),
		TEST_NAMED(appears_when_committed),
		TEST_NAMED(modes),
		TEST_NAMED(given_up_leaves_the_old_file),
		TEST_NAMED(leaving_leaves_the_old_file),
		TEST_NAMED(failed_write_leaves_the_old_file),
		TEST_NAMED(links_are_refused),
		TEST_NAMED(folder_is_held),
		TEST_NAMED(longest_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
