/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names and figures as people read them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "base/utf8.h"
#include "unit/made_stacks.h"

static void expect_text(const char *name, size_t columns, const char *expected)
{
	char *text;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	text_write(stream, name, columns);
	fclose(stream);
	assert_string_equal(text, expected);
	free(text);
}

#define R "\xef\xbf\xbd"

static void text_is_escaped(void **state)
{
	expect_text("<a href=\"x\">&'", SIZE_MAX, "&lt;a href=&quot;x&quot;&gt;&amp;'");
	expect_text("a\nb\tc\x01", SIZE_MAX, "a b c" R);
	expect_text("\xc3\xa9\xe6\xbc\xa2\xf0\x9f\x94\xa5", SIZE_MAX,
		    "\xc3\xa9\xe6\xbc\xa2\xf0\x9f\x94\xa5");
	expect_text("\xff\xc0\xaf\xed\xa0\x80", SIZE_MAX, R R R R R R);
	expect_text("\xef\xbf\xbe\xef\xbf\xbf\xe2\x80\xae", SIZE_MAX, R R R);
	expect_text("\xe2\x82", SIZE_MAX, R R);
	expect_text("\xf4\x90\x80\x80", SIZE_MAX, R R R R);
}

/* The Unicode Standard: Cc, Bidi_Control, and the separators of lines and paragraphs. */
static bool is_obeyed(uint32_t code)
{
	static const uint32_t others[] = {0x061c, 0x200e, 0x200f, 0x2028, 0x2029, 0x202a, 0x202b,
					  0x202c, 0x202d, 0x202e, 0x2066, 0x2067, 0x2068, 0x2069};

	for (size_t i = 0; i < COUNT(others); i++)
		if (code == others[i])
			return true;
	return code < 0x20 || (code >= 0x7f && code <= 0x9f);
}

static char *printed(const char *name)
{
	char *text;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	text_print(stream, "%s: %s!\n", name, "x");
	fclose(stream);
	return text;
}

static void control_characters_are_not_printed(void **state)
{
	for (uint32_t code = 1; code < 0x3000; code++) {
		char name[8] = "", expected[32], *text;
		bool is_space = code == '\t' || code == '\n' || code == '\r' || code == 0x2028 ||
				code == 0x2029;

		utf8_encode(code, name);
		assert_int_equal(utf8_is_obeyed(code), is_obeyed(code));
		text = printed(name);
		snprintf(expected, sizeof expected, "%s: x!\n",
			 is_space	   ? " "
			 : is_obeyed(code) ? R
					   : name);
		assert_string_equal(text, expected);
		free(text);
	}
}

static void text_is_cut(void **state)
{
	expect_text("abcdef", 6, "abcdef");
	expect_text("abcdef", 5, "abcd\u2026");
	expect_text("&&&&", 3, "&amp;&amp;\u2026");
	expect_text("\xe6\xbc\xa2\xe5\xad\x97", 4, "\xe6\xbc\xa2\xe5\xad\x97");
	expect_text("\xe6\xbc\xa2\xe5\xad\x97", 3, "\xe6\xbc\xa2\u2026");
	expect_text("abc", 0, "");
}

static void figures_for_people(void **state)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} times[] = {
		{0, "0 ns"},	       {999, "999 ns"},		{1000, "1.00 µs"},
		{12345, "12.3 µs"},    {999999, "999 µs"},	{4560000, "4.56 ms"},
		{999700000, "999 ms"}, {61000000000, "61.0 s"}, {1234567000000, "1,235 s"},
	};
	char text[TEXT_FIGURE_SIZE];

	for (size_t i = 0; i < COUNT(times); i++) {
		text_time(text, times[i].ns);
		assert_string_equal(text, times[i].text);
	}
	text_count(text, 999);
	assert_string_equal(text, "999");
	text_count(text, UINT64_MAX);
	assert_string_equal(text, "18,446,744,073,709,551,615");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_is_escaped),
		cmocka_unit_test(control_characters_are_not_printed),
		cmocka_unit_test(text_is_cut),
		cmocka_unit_test(figures_for_people),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
