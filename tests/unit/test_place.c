/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where root writes, and where it refuses to be led. Only root runs the tests about root; other
 * users see the kernel's own rules.
 */
#include "unit/cmocka_all.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/output.h"
#include "base/owner.h"
#include "base/place.h"
#include "store/lock_file.h"

#define OTHER 65534

static char folder[64];
static bool is_root;

static void in_folder(const char *command)
{
	char line[512];

	snprintf(line, sizeof line, "cd %s && %s", folder, command);
	assert_int_equal(system(line), 0);
}

static int make_folder(void **state)
{
	strcpy(folder, "/tmp/bpfflame-place-XXXXXX");
	is_root = geteuid() == 0;
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	char command[128];

	snprintf(command, sizeof command, "rm -rf %s", folder);
	return system(command);
}

static int open_place(const char *name, enum place_make make, struct place *ret)
{
	char path[512];

	snprintf(path, sizeof path, "%s/%s", folder, name);
	return place_open(path, make, place_check_writable, NULL, ret);
}

static void expect(const char *name, int expected)
{
	struct place place;
	int r = open_place(name, PLACE_FIND, &place);

	if (r != expected)
		fail_msg("%s: %s, not %s", name, strerror(-r), strerror(-expected));
	if (r == 0)
		place_close(&place);
}

/* Whether both names are the same folder. */
static void expect_same(const char *name, const char *other)
{
	struct place place;
	struct stat one, two;
	char path[512];

	assert_int_equal(open_place(name, PLACE_FIND, &place), 0);
	assert_int_equal(fstat(place.fd, &one), 0);
	place_close(&place);
	snprintf(path, sizeof path, "%s/%s", folder, other);
	assert_int_equal(stat(path, &two), 0);
	assert_int_equal(one.st_ino, two.st_ino);
}

static void names(void **state)
{
	in_folder("mkdir -p a/b; touch file; ln -s a link; ln -s ../a/b a/up; ln -s x y; ln -s y x;"
		  "ln -s missing dangling; ln -s file tofile");
	expect_same("a/b", "a/b");
	expect_same("a//b/", "a/b");
	expect_same("./a/./b/..", "a");
	expect_same("link", "a");
	expect_same("link/up/../../a/b", "a/b");
	expect_same("", "");
	expect("missing", -ENOENT);
	expect("missing/a", -ENOENT);
	expect("dangling", -ENOENT);
	expect("file", -ENOTDIR);
	expect("file/a", -ENOTDIR);
	expect("tofile", -ENOTDIR);
	expect("x", -ELOOP);
}

static void links_of_proc(void **state)
{
	struct place place;
	struct stat here, there;

	assert_int_equal(chdir(folder), 0);
	assert_int_equal(
		place_open("/proc/self/cwd", PLACE_FIND, place_check_writable, NULL, &place), 0);
	assert_int_equal(fstat(place.fd, &there), 0);
	assert_int_equal(stat(".", &here), 0);
	assert_int_equal(here.st_ino, there.st_ino);
	place_close(&place);
	assert_int_equal(place_open("", PLACE_FIND, place_check_writable, NULL, &place), 0);
	place_close(&place);
	assert_int_equal(chdir("/"), 0);
}

static void making(void **state)
{
	struct place place;

	in_folder("mkdir real; ln -s real link; ln -s missing dangling");
	assert_int_equal(open_place("a/b", PLACE_MAKE_LAST, &place), -ENOENT);
	assert_int_equal(open_place("a/b/c", PLACE_MAKE_ALL, &place), 0);
	place_close(&place);
	expect("a/b/c", 0);
	assert_int_equal(open_place("link/new/", PLACE_MAKE_LAST, &place), 0);
	place_close(&place);
	expect_same("link/new", "real/new");
	assert_int_equal(open_place("dangling", PLACE_MAKE_ALL, &place), -ENOTDIR);
	assert_int_equal(open_place("dangling/a", PLACE_MAKE_ALL, &place), -ENOTDIR);
	in_folder("test ! -e missing");
}

/* As in /tmp: another user's link or folder, in any component of the path. */
static void others_put_things_in_the_way(void **state)
{
	struct place place;

	in_folder("mkdir -p roots/own; chmod 755 .; mkdir shared; chmod 1777 shared; cd shared;"
		  "mkdir mine theirs; ln -s ../roots mylink; ln -s ../roots theirlink;"
		  "ln -s theirlink twice");
	if (!is_root)
		skip();
	in_folder("cd shared; chown -h 65534:65534 theirs theirlink");
	expect("shared", 0);
	expect("shared/mine", 0);
	expect("shared/mylink/own", 0);
	expect("shared/theirs", -PLACE_ELED);
	expect("shared/theirlink", -PLACE_ELED);
	expect("shared/theirlink/", -PLACE_ELED);
	expect("shared/theirlink/own", -PLACE_ELED);
	expect("shared/twice/own", -PLACE_ELED);
	assert_int_equal(open_place("shared/theirs/new", PLACE_MAKE_ALL, &place), -PLACE_ELED);
	/* In their home, which root created. */
	in_folder("mkdir home; chown 65534:65534 home; mkdir home/sub; ln -s ../roots home/link");
	expect("home", 0);
	expect("home/sub", 0);
	in_folder("chown -h 65534:65534 home/link");
	expect("home/link", -PLACE_ELED);
	/* Root's own link, which they may have moved there. */
	in_folder("chown -h 0:0 home/link");
	expect("home/link", -PLACE_ELED);
}

static void shared_ones(void **state)
{
	static const struct {
		const char *mode;
		int expected;
	} modes[] = {
		{"0755", 0}, {"0777", -PLACE_ESHARED}, {"1777", 0}, {"0775", -PLACE_ESHARED},
		{"1775", 0}, {"0700", 0},	       {"2770", -PLACE_ESHARED},
	};
	char command[64];

	if (!is_root)
		skip();
	for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
		snprintf(command, sizeof command, "mkdir -p d; chgrp 65534 d; chmod %s d",
			 modes[i].mode);
		in_folder(command);
		expect("d", modes[i].expected);
	}
	in_folder("chgrp 0 d; chmod 775 d");
	expect("d", 0);
	in_folder("chmod 1777 d; chown 65534 d");
	expect("d", -PLACE_ESHARED);
}

/* One lock for everyone, which nobody else can hold. */
static void locks(void **state)
{
	struct place one, two;
	int first, second, others;

	assert_int_equal(open_place("", PLACE_FIND, &one), 0);
	assert_int_equal(open_place("", PLACE_FIND, &two), 0);
	assert_int_equal(lock_file_take(&one, true, &first), 0);
	in_folder("test \"$(stat -c %a " LOCK_FILE ")\" = 600");
	assert_int_equal(lock_file_take(&two, false, &second), -EWOULDBLOCK);
	lock_file_release(&one, first);
	in_folder("test ! -e " LOCK_FILE);
	/* A file left by a dead process. */
	in_folder("umask 077; : >" LOCK_FILE);
	assert_int_equal(lock_file_take(&two, false, &second), 0);
	lock_file_release(&two, second);
	in_folder("test ! -e " LOCK_FILE);
	/* Others could hold a lock on a file that they can open; one that they don't hold is closed
	 * to them. */
	in_folder(": >" LOCK_FILE "; chmod 644 " LOCK_FILE);
	others = openat(one.fd, LOCK_FILE, O_RDONLY | O_CLOEXEC);
	assert_int_equal(flock(others, LOCK_SH), 0);
	assert_int_equal(lock_file_take(&two, true, &second), -OUTPUT_EOTHERS);
	assert_int_equal(lock_file_take(&two, false, &second), -EWOULDBLOCK);
	close(others);
	assert_int_equal(lock_file_take(&two, true, &second), 0);
	in_folder("test \"$(stat -c %a " LOCK_FILE ")\" = 600");
	assert_int_equal(lock_file_take(&one, false, &first), -EWOULDBLOCK);
	lock_file_release(&two, second);
	in_folder("ln -s elsewhere " LOCK_FILE);
	assert_int_equal(lock_file_take(&two, true, &second), -OUTPUT_EOTHERS);
	in_folder("test ! -e elsewhere; rm " LOCK_FILE);
	if (is_root) {
		in_folder("umask 077; : >" LOCK_FILE "; chown 65534 " LOCK_FILE);
		assert_int_equal(lock_file_take(&two, true, &second), -OUTPUT_EOTHERS);
	}
	place_close(&one);
	place_close(&two);
}

static void removed_while_locked(void **state)
{
	struct place place;
	int lock;

	in_folder("mkdir gone");
	assert_int_equal(open_place("gone", PLACE_FIND, &place), 0);
	in_folder("rmdir gone");
	assert_int_equal(lock_file_take(&place, true, &lock), -ENOENT);
	place_close(&place);
}

/* Runs last: from here on there is an owner. */
static void owners(void **state)
{
	static const gid_t groups[] = {OTHER, 4321};
	struct place place;

	if (!is_root)
		skip();
	assert_int_equal(owner_set(OTHER, OTHER, groups, 2), 0);
	in_folder("chmod 755 .; mkdir home roots; chown 65534:65534 home; ln -s ../roots home/link;"
		  "chown -h 65534:65534 home/link; ln -s roots rootslink");
	assert_int_equal(open_place("home/new", PLACE_MAKE_LAST, &place), 0);
	assert_true(place.as_owner);
	place_close(&place);
	in_folder("test \"$(stat -c %u home/new)\" = 65534");
	/* Root may write to root's own folders; no link of another user leads there. */
	assert_int_equal(open_place("roots/new", PLACE_MAKE_LAST, &place), 0);
	assert_false(place.as_owner);
	place_close(&place);
	in_folder("test \"$(stat -c %u roots/new)\" = 0");
	assert_int_equal(open_place("rootslink", PLACE_FIND, &place), 0);
	place_close(&place);
	expect("home/link", -EACCES);
	/* Another user's folder belongs to neither of them. */
	in_folder("mkdir third; chown 4321 third");
	expect("third", -EACCES);
	assert_int_equal(open_place("third/new", PLACE_MAKE_LAST, &place), -EACCES);
	/* The owner's group may write there, another group may not. */
	in_folder("mkdir group; chgrp 4321 group; chmod 775 group");
	expect("group", 0);
	in_folder("chgrp 4322 group");
	expect("group", -PLACE_ESHARED);
	in_folder("chown 65534 group");
	expect("group", -PLACE_ESHARED);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, make_folder, remove_folder)
	const struct CMUnitTest tests[] = {
		TEST(names),
		TEST(links_of_proc),
		TEST(making),
		TEST(others_put_things_in_the_way),
		TEST(shared_ones),
		TEST(locks),
		TEST(removed_while_locked),
		TEST(owners),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
