/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Users in passwd(5) files, including badly written ones. */
#include "unit/cmocka_all.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/account.h"

static const char passwd[] = "root:x:0:0:root:/root:/bin/bash\n"
			     "\n"
			     "# a comment: not a line\n"
			     "+::::::\n"
			     "short:x:7:7\n"
			     "bad-id:x:7x:7::/:/bin/sh\n"
			     "negative:x:-1:7::/:/bin/sh\n"
			     "nobody-at-all:x:4294967295:7::/:/bin/sh\n"
			     "too-large:x:4294967296:7::/:/bin/sh\n"
			     ":x:12:12::/:/bin/sh\n"
			     "someone:x:1000:1001:Some One,,,:/home/some one:\n"
			     "1000:x:1005:1006::/home/number:/bin/zsh\n"
			     "again:x:1000:9::/again:/bin/false\n"
			     "last:x:2000:2000::/last:/bin/dash";

static void expect(const char *text, unsigned int uid, unsigned int gid, const char *name,
		   const char *home, const char *shell)
{
	struct account account = {};

	assert_int_equal(account_parse(passwd, text, &account), 0);
	assert_int_equal(account.uid, uid);
	assert_int_equal(account.gid, gid);
	assert_string_equal(account.name, name);
	assert_string_equal(account.home, home);
	assert_string_equal(account.shell, shell);
	account_done(&account);
}

static void test_by_name(void **state)
{
	expect("root", 0, 0, "root", "/root", "/bin/bash");
	expect("last", 2000, 2000, "last", "/last", "/bin/dash");
}

/* The first line of an id counts; an empty shell is the usual one. */
static void test_by_number(void **state)
{
	expect("0", 0, 0, "root", "/root", "/bin/bash");
	expect("1000", 1000, 1001, "someone", "/home/some one", "/bin/sh");
}

static void test_lines_that_are_none(void **state)
{
	static const char *const none[] = {
		"short",	 "bad-id",     "negative",   "7",	    "+", "too-large",
		"nobody-at-all", "4294967295", "12",	     "# a comment", "",	 "-1",
		"some",		 "0x7d0",      "4294967296", " 2000"};

	for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
		struct account account = {.uid = 77};

		assert_int_equal(account_parse(passwd, none[i], &account), -ENOENT);
		assert_int_equal(account.uid, 77);
	}
}

static bool has_group(const struct account *account, gid_t gid)
{
	for (size_t i = 0; i < account->n_groups; i++)
		if (account->groups[i] == gid)
			return true;
	return false;
}

/* An id without a user, as in containers, is used as it is. */
static void test_user_without_a_name(void **state)
{
	struct account account;

	assert_int_equal(account_find("3999999999", -1, &account), 0);
	assert_int_equal(account.uid, 3999999999);
	assert_int_equal(account.gid, 3999999999);
	assert_string_equal(account.name, "");
	assert_int_equal(account.n_groups, 1);
	account_done(&account);
	assert_int_equal(account_find("3999999999", 5, &account), 0);
	assert_true(account.gid == 5 && has_group(&account, 5));
	account_done(&account);
}

static void test_users_of_this_machine(void **state)
{
	struct account account;

	assert_int_equal(account_find("root", -1, &account), 0);
	assert_true(account.uid == 0 && has_group(&account, 0));
	account_done(&account);
	assert_int_equal(account_find("no-such-user-here", -1, &account), -ENOENT);
	/* Not taken for an option of getent. */
	assert_int_equal(account_find("--help", -1, &account), -ENOENT);
	assert_int_equal(account_find("", -1, &account), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_name),
		cmocka_unit_test(test_by_number),
		cmocka_unit_test(test_lines_that_are_none),
		cmocka_unit_test(test_user_without_a_name),
		cmocka_unit_test(test_users_of_this_machine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
