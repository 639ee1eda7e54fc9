/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading JSON in memory, whatever stands there. */
#include <stdio.h>
#include <string.h>

#include "store/json_scan.h"
#include "unit/cmocka_all.h"

struct seen {
	char text[512];
	size_t n;
};

/* Writes down what is read, in a notation of its own. */
static void note(struct seen *seen, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	seen->n += vsnprintf(seen->text + seen->n, sizeof seen->text - seen->n, format, arguments);
	va_end(arguments);
	assert_true(seen->n < sizeof seen->text);
}

static void take(void *data, struct json_scan *json, const char *key)
{
	struct seen *seen = data;
	char text[8];

	note(seen, "%s=", key ? key : "");
	switch (key ? *key : 's') {
	case 's':
		json_scan_string(json, text, sizeof text);
		note(seen, "<%s>", text);
		break;
	case 'c': note(seen, "%llu", (unsigned long long)json_scan_count(json)); break;
	case 'n': note(seen, "%g", json_scan_number(json, 1e6)); break;
	case 'l': json_scan_array(json, take, seen); break;
	case 'o': json_scan_object(json, take, seen); break;
	default: json_scan_skip(json); break;
	}
	note(seen, ";");
}

static struct json_scan scan(const char *text, struct seen *seen)
{
	struct json_scan json = json_scan_of(text);

	*seen = (struct seen){0};
	json_scan_object(&json, take, seen);
	json_scan_end(&json);
	return json;
}

static void expect(const char *text, const char *expected)
{
	struct seen seen;
	struct json_scan json = scan(text, &seen);

	if (json.fault)
		print_error("%s: line %zu: %s\n", text, json.fault_line, json.fault);
	assert_null(json.fault);
	assert_string_equal(seen.text, expected);
}

static void expect_fault(const char *text, const char *fault, size_t line)
{
	struct seen seen;
	struct json_scan json = scan(text, &seen);

	if (!json.fault || strcmp(json.fault, fault) != 0)
		print_error("%s: %s\n", text, json.fault ? json.fault : "no fault");
	assert_non_null(json.fault);
	assert_string_equal(json.fault, fault);
	assert_int_equal(json.fault_line, line);
}

static void values(void **state)
{
	expect("{}", "");
	expect(" {\"s\" : \"a\\\"b\", \"c\":18446744073709551615,\n\"n\" :1.5e3 } \n",
	       "s=<a\"b>;c=18446744073709551615;n=1500;");
	expect("{\"l\":[\"x\",\"y\"],\"l2\":[],\"o\":{\"c\":0}}", "l==<x>;=<y>;;l2=;o=c=0;;");
	expect("{\"x\":[1,-2.5e-3,{\"a\":[null,true,false,\"\\u00e9\"]}],\"c\":7}", "x=;c=7;");
}

static void texts(void **state)
{
	expect("{\"s\":\"\\u00e9\\n\"}", "s=<é\n>;");
	/* Above the first 65,536: two units. */
	expect("{\"s\":\"\\ud83d\\ude00\"}", "s=<\U0001F600>;");
	/* What is no character, and what would end the text. */
	expect("{\"s\":\"\\ud83dx\"}", "s=<\ufffdx>;");
	expect("{\"s\":\"\\udc00\"}", "s=<\ufffd>;");
	expect("{\"s\":\"a\\u0000b\"}", "s=<a\ufffdb>;");
	/* Too long: cut, and never inside a character. */
	expect("{\"s\":\"1234567890\"}", "s=<1234567>;");
	expect("{\"s\":\"123456é\",\"c\":1}", "s=<123456>;c=1;");
	expect("{\"s\":\"12345é7\"}", "s=<12345é>;");
}

static void faults(void **state)
{
	char deep[300];

	expect_fault("", "an object", 1);
	expect_fault("[]", "an object", 1);
	expect_fault("{", "a text", 1);
	expect_fault("{\"c\"", "a colon", 1);
	expect_fault("{\"c\":", "a whole number", 1);
	expect_fault("{\"c\":1", "a } or a comma", 1);
	expect_fault("{\"c\":1,}", "a text", 1);
	expect_fault("{\"c\":1}x", "the end", 1);
	expect_fault("{\"c\":\n1.5}", "a whole number", 2);
	expect_fault("{\"c\":-1}", "a whole number", 1);
	expect_fault("{\"c\":18446744073709551616}", "a whole number", 1);
	expect_fault("{\"c\":01}", "a whole number", 1);
	expect_fault("{\"n\":01}", "a } or a comma", 1);
	expect_fault("{\"n\":1e7}", "a number that can be", 1);
	expect_fault("{\"n\":-1}", "a number that can be", 1);
	expect_fault("{\"n\":1e999}", "a number that can be", 1);
	expect_fault("{\"n\":nan}", "a number that can be", 1);
	expect_fault("{\"s\":1}", "a text", 1);
	expect_fault("{\"s\":\"abc", "the end of a text", 1);
	expect_fault("{\"s\":\"a\nb\"}", "text", 1);
	expect_fault("{\"s\":\"\xff\"}", "text", 1);
	expect_fault("{\"s\":\"\\", "a known escape", 1);
	expect_fault("{\"s\":\"\\x\"}", "a known escape", 1);
	expect_fault("{\"s\":\"\\u12", "four hexadecimal digits", 1);
	expect_fault("{\"l\":[\"a\" \"b\"]}", "a ] or a comma", 1);
	expect_fault("{\"x\":nul}", "a value", 1);
	memset(deep, '[', sizeof deep - 1);
	memcpy(deep, "{\"x\":", 5);
	deep[sizeof deep - 1] = '\0';
	expect_fault(deep, "less nesting", 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values),
		cmocka_unit_test(texts),
		cmocka_unit_test(faults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
