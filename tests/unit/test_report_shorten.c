/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names shortened to fit into less room. */
#include "report/shorten.h"

#include <stdlib.h>

#include "base/text.h"
#include "unit/cmocka_all.h"
#include "unit/made_stacks.h"

#define MAX_CODES 20000

static size_t decode(const char *text, uint32_t *codes)
{
	size_t n = 0;

	for (uint32_t code; n < MAX_CODES && (code = text_next(&text));)
		codes[n++] = code;
	return n;
}

static void expect(const char *name, size_t columns, const char *expected)
{
	static uint32_t codes[MAX_CODES], wanted[MAX_CODES];
	size_t n = shorten(codes, decode(name, codes), columns),
	       n_wanted = decode(expected, wanted);
	char *text;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	for (size_t i = 0; i < n; i++)
		text_put(stream, codes[i]);
	fclose(stream);
	assert_string_equal(text, expected);
	free(text);
	assert_int_equal(n, n_wanted);
	assert_true(shorten_columns(codes, n) <= columns);
}

static void names_that_fit_stay(void **state)
{
	expect("main", 4, "main");
	expect("", 1, "");
	expect("f<a, b>(c)", 10, "f<a, b>(c)");
}

static void templates_give_way_first(void **state)
{
	const char *name = "std::map<int, std::vector<Foo, Alloc>>::insert(int, Foo const&)";

	expect(name, 63, "std::map<int, std::vector<Foo, Alloc>>::insert(int, Foo const&)");
	expect(name, 62, "std::map<int, std::vector<…>>::insert(int, Foo const&)");
	expect(name, 50, "std::map<…>::insert(int, Foo const&)");
	expect(name, 30, "std::map<…>::insert(…)");
	expect(name, 12, "std:…sert(…)");
}

static void the_longest_of_a_level_first(void **state)
{
	expect("f<a, b>::g<a longer one>::h<x>", 29, "f<a, b>::g<…>::h<x>");
	expect("f<a, b>::g<a longer one>::h<x>", 18, "f<…>::g<…>::h<x>");
}

static void rust(void **state)
{
	expect("<alloc::vec::Vec<T> as core::ops::Drop>::drop", 30, "<…>::drop");
	expect("core::ops::FnOnce<fn(A) -> B>::call_once", 36, "core::ops::FnOnce<…>::call_once");
}

static void operators_are_no_brackets(void **state)
{
	expect("ns::operator<< <char>(std::ostream&)", 30, "ns::operator<< <…>(…)");
	expect("Set<int, less>::operator<(Set const&)", 36, "Set<…>::operator<(Set const&)");
	expect("Ptr<int, deleter>::operator->()", 30, "Ptr<…>::operator->()");
	expect("Fn<int, long>::operator()(int, long)", 33, "Fn<…>::operator()(int, long)");
	expect("(anonymous namespace)::f(int, long)", 30, "(anonymous namespace)::f(…)");
}

static void middle_last(void **state)
{
	expect("abcdefghijklmnopqrstuvwxyz", 11, "abcd…uvwxyz");
	expect("abcdefghijklmnopqrstuvwxyz", 2, "…z");
	expect("abcdefghijklmnopqrstuvwxyz", 1, "…");
	expect("abcdefghijklmnopqrstuvwxyz", 0, "");
	/* Unbalanced brackets count as letters. */
	expect("a<b<c>defghijklmnopqrstuvwx", 11, "a<b<…stuvwx");
}

static void wide_characters(void **state)
{
	expect("漢字漢字漢字", 12, "漢字漢字漢字");
	expect("漢字漢字漢字", 11, "漢字…字漢字");
	expect("漢字漢字漢字", 2, "…");
}

/* Any name at any width fits, and shortening it is cheap. */
static void hostile(void **state)
{
	static const char *const pieces[] = {"<", ">", "(", ")", "operator", "->", "a", "::", "漢"};
	static uint32_t codes[MAX_CODES];
	uint64_t random = 42;

	for (int i = 0; i < 300; i++) {
		size_t n = 0, wanted = made_random(&random) % 500, columns;
		char name[8 * 512] = "";

		while (n++ < wanted)
			strcat(name, pieces[made_random(&random) % COUNT(pieces)]);
		columns = made_random(&random) % 120;
		n = shorten(codes, decode(name, codes), columns);
		assert_true(shorten_columns(codes, n) <= columns);
	}
	for (size_t n = 0; n < MAX_CODES; n++)
		codes[n] = n < MAX_CODES / 2 ? '<' : '>';
	assert_int_equal(shorten(codes, MAX_CODES, 40), 40);
	for (size_t n = 0; n < MAX_CODES; n++)
		codes[n] = "<ab>"[n % 4];
	assert_int_equal(shorten(codes, MAX_CODES, 40), 40);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_that_fit_stay),
		cmocka_unit_test(templates_give_way_first),
		cmocka_unit_test(the_longest_of_a_level_first),
		cmocka_unit_test(rust),
		cmocka_unit_test(operators_are_no_brackets),
		cmocka_unit_test(middle_last),
		cmocka_unit_test(wide_characters),
		cmocka_unit_test(hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
