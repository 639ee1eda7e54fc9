/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which names match, each looked at once; which expressions are too much. */
#include "cmocka_all.h"

#include <errno.h>
#include <string.h>

#include "core/matcher.h"

static void test_matches(void **state)
{
	struct matcher matcher;

	assert_int_equal(matcher_init(&matcher, "^f(oo)?$"), 0);
	assert_int_equal(matcher_test(&matcher, 7, "foo"), 1);
	assert_int_equal(matcher_test(&matcher, 0, "bar"), 0);
	/* It remembers what it has seen, until that is another text. */
	assert_int_equal(matcher_test(&matcher, 7, "bar"), 1);
	matcher_forget(&matcher);
	assert_int_equal(matcher_test(&matcher, 7, "bar"), 0);
	assert_int_equal(matcher_test(&matcher, 0, "f"), 1);
	matcher_done(&matcher);
	assert_int_equal(matcher_init(&matcher, "("), -EINVAL);
	matcher_done(&matcher);
	assert_int_equal(matcher_init(&matcher, NULL), 0);
	assert_int_equal(matcher_test(&matcher, 0, "f"), 0);
	matcher_done(&matcher);
}

static void test_modest(void **state)
{
	static const char *const modest[] = {
		"",  "^main$", "std::.*<(a|b)+>", "x{3}",	  "(ab{1,9}){2,5}", "a\\{1,9}",
		"{", "a{,}",   "operator\\(\\)",  "[0-9]{1,64}",
	};
	static const char *const greedy[] = {
		"(a)\\1",  "((a{1,99}){1,99})",
		"x{1025}", "x{1,99999999999999999999999}",
		"x{-1}",   "((((.*){1,255}){1,255}){1,255}){1,255}",
	};
	char longest[MATCHER_MODEST_BYTES + 2];

	for (size_t i = 0; i < sizeof modest / sizeof *modest; i++)
		if (!matcher_is_modest(modest[i]))
			fail_msg("%s", modest[i]);
	for (size_t i = 0; i < sizeof greedy / sizeof *greedy; i++)
		if (matcher_is_modest(greedy[i]))
			fail_msg("%s", greedy[i]);
	memset(longest, 'a', sizeof longest - 1);
	longest[MATCHER_MODEST_BYTES + 1] = '\0';
	assert_false(matcher_is_modest(longest));
	longest[MATCHER_MODEST_BYTES] = '\0';
	assert_true(matcher_is_modest(longest));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_matches),
		cmocka_unit_test(test_modest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
