/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rule files: how they are read, which errors are found, and which rule applies to what. */
#include "cmocka_all.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "unit/made_runs.h"

static int read_text(struct gate_rules *rules, const char *text, size_t size,
		     struct failure *failure)
{
	FILE *stream = fmemopen((void *)text, size, "r");
	int r = gate_rules_read(rules, stream, "my.rules", GATE_BIT(GATE_SELF), failure);

	fclose(stream);
	return r;
}

static void read_rules(struct gate_rules *rules, const char *text)
{
	struct failure failure = {};

	if (read_text(rules, text, strlen(text), &failure) < 0)
		fail_msg("%s", failure.what);
}

/* The limit of a function; -1: none. */
static double limit_of(const struct gate_rules *rules, enum gate_by by, const char *name,
		       const char *module)
{
	const struct gate_rule *rule;
	struct gate_sums sums;
	double limit;

	assert_int_equal(gate_sums_init(&sums), 0);
	rule = gate_rules_find(rules, &sums, &sums.items[made_item(&sums, by, name, module)]);
	limit = rule ? rule->fail_over : -1;
	gate_sums_done(&sums);
	return limit;
}

static double function_limit(const struct gate_rules *rules, const char *name)
{
	return limit_of(rules, GATE_FUNCTION, name, "");
}

static void the_last_match_counts(void **state)
{
	struct gate_rules rules = {};

	assert_int_equal(gate_rules_add(&rules, GATE_FUNCTION, GATE_BIT(GATE_SELF), 50), 0);
	read_rules(&rules, "# comment\n\n"
			   "function  hash_*           fail-over 5   # why\n"
			   "\tfunction /^json_(a|b)$/ fail-over 20%\r\n"
			   "function hash_update fail-over 0.5\n"
			   "ignore function malloc_consolidate\n"
			   "module libssl.so* fail-over 10\n"
			   "total fail-over 3");
	assert_true(function_limit(&rules, "main") == 50);
	assert_true(function_limit(&rules, "hash_find") == 5);
	assert_true(function_limit(&rules, "hash_update") == 0.5);
	assert_true(function_limit(&rules, "json_a") == 20);
	assert_true(function_limit(&rules, "json_ab") == 50);
	assert_true(function_limit(&rules, "malloc_consolidate") == -1);
	assert_true(limit_of(&rules, GATE_MODULE, "libssl.so", "libssl.so.3") == 10);
	assert_true(limit_of(&rules, GATE_MODULE, "libc.so", "libc.so.6") == -1);
	assert_true(limit_of(&rules, GATE_ALL, "", "") == 3);
	assert_int_equal(rules.rules[0]->line, 0);
	assert_int_equal(rules.rules[1]->line, 3);
	gate_rules_done(&rules);
}

/* Names in C++ contain spaces and glob characters. */
static void names_as_they_are(void **state)
{
	struct gate_rules rules = {};

	read_rules(&rules, "function \"operator new(unsigned long)\" fail-over 1\n"
			   "function \"say \\\"a\\\\b\\\"\" fail-over 2\n"
			   "function \"a*\" fail-over 3\n"
			   "function vector<int>::operator[] fail-over 4\n"
			   "function /a\\/b/ fail-over 5\n"
			   "function /c\\.d/ fail-over 6 weight total\n");
	assert_true(function_limit(&rules, "operator new(unsigned long)") == 1);
	assert_true(function_limit(&rules, "say \"a\\b\"") == 2);
	assert_true(function_limit(&rules, "a*") == 3);
	assert_true(function_limit(&rules, "ab") == -1);
	assert_true(function_limit(&rules, "vector<int>::operator[]") == 4);
	assert_true(function_limit(&rules, "xa/by") == 5);
	assert_true(function_limit(&rules, "c.d") == 6 && function_limit(&rules, "c-d") == -1);
	assert_int_equal(rules.rules[5]->weights, GATE_BIT(GATE_TOTAL));
	assert_int_equal(rules.rules[0]->weights, GATE_BIT(GATE_SELF));
	gate_rules_done(&rules);
}

static void a_module_with_its_version(void **state)
{
	struct gate_rules rules = {};

	read_rules(&rules, "module libssl.so.3 fail-over 1\nmodule [kernel] fail-over 2\n");
	assert_true(limit_of(&rules, GATE_MODULE, "libssl.so", "libssl.so.3") == 1);
	assert_true(limit_of(&rules, GATE_MODULE, "libssl.so", "libssl.so.1.1") == -1);
	assert_true(limit_of(&rules, GATE_MODULE, "[kernel]", "[kernel]") == 2);
	gate_rules_done(&rules);
}

static void faults_say_where(void **state)
{
	const struct {
		const char *line, *says;
	} rows[] = {
		{"functions a fail-over 3", "'functions'"},
		{"function", "a pattern is missing"},
		{"function \"\" fail-over 3", "a pattern is missing"},
		{"function a", "fail-over is missing"},
		{"function a fail-over", "a percentage is missing"},
		{"function a fail-over x", "not a percentage: 'x'"},
		{"function a fail-over -1", "not a percentage: '-1'"},
		{"function a fail-over nan", "not a percentage: 'nan'"},
		{"function a fail-over 1e999", "not a percentage"},
		{"function a fail-over 3 4", "unexpected: '4'"},
		{"function a fail-over 3 weight", "self, total or both"},
		{"function a b fail-over 3", "fail-over is missing"},
		{"function \"a fail-over 3", "not closed"},
		{"function /a fail-over 3", "no second /"},
		{"function /a/b fail-over 3", "no space after"},
		{"function /(/ fail-over 3", "not a regular expression: '('"},
		{"total a fail-over 3", "fail-over is missing"},
		{"ignore", "missing after ignore"},
		{"ignore function", "a pattern is missing"},
		{"ignore function a fail-over 3", "unexpected: 'fail-over'"},
		{"a b c d e f g h i", "too many words"},
		{"\"function\" a fail-over 3", "'\"function\"'"},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct gate_rules rules = {};
		struct failure failure = {};
		char text[200];

		snprintf(text, sizeof text, "# fine\ntotal fail-over 3\n%s\n", rows[i].line);
		assert_int_equal(read_text(&rules, text, strlen(text), &failure), -EINVAL);
		if (strncmp(failure.what, "my.rules:3: ", 12) != 0 ||
		    !strstr(failure.what, rows[i].says))
			fail_msg("%s: %s", rows[i].line, failure.what);
		gate_rules_done(&rules);
	}
}

static void texts_that_are_refused(void **state)
{
	struct gate_rules rules = {};
	struct failure failure = {};

	assert_int_equal(read_text(&rules, "a\0b\n", 4, &failure), -EINVAL);
	gate_rules_done(&rules);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_match_counts),     cmocka_unit_test(names_as_they_are),
		cmocka_unit_test(a_module_with_its_version), cmocka_unit_test(faults_say_where),
		cmocka_unit_test(texts_that_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
