/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Mangled names as compilers write them, malicious ones, and names that are not mangled. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/demangle.h"

static void assert_means(const char *name, const char *meaning)
{
	char text[DEMANGLED_SIZE];
	size_t n = demangle(name, text);

	assert_string_equal(text, meaning);
	assert_int_equal(n, strlen(meaning));
}

static void test_cpp(void **state)
{
	assert_means("_Z3fooi", "foo(int)");
	assert_means("_ZN5space5Thing6methodEi", "space::Thing::method(int)");
	assert_means("_ZNSt6vectorIiSaIiEE9push_backERKi",
		     "std::vector<int, std::allocator<int> >::push_back(int const&)");
	assert_means("__Z3fooi", "foo(int)");
	assert_means("_Z3fooi.constprop.0", "foo(int) [clone .constprop.0]");
	assert_means("_Z3fooi.cold", "foo(int) [clone .cold]");
}

static void test_rust(void **state)
{
	assert_means("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad");
	assert_means("_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$"
		     "3bar17h930b740aa94f1d3aE",
		     "<Test + 'static as foo::Bar<Test>>::bar");
	assert_means("_RNvCskwGfYPst2Cb_3foo16example_function", "foo::example_function");
	assert_means("_RNvMs_Cs4Cv8Wi1oAIB_7mycrateNtB4_7Example3foo", "<mycrate::Example>::foo");
	assert_means("_RNvC6_123foo3bar.llvm.9D1C9369", "123foo::bar");
}

static void test_d(void **state)
{
	assert_means("_D1d4Node3sumMFZi", "d.Node.sum()");
	assert_means("_D1d4workFiZi.isra.0", "d.work(int) [clone .isra.0]");
	assert_means("_D3std10functional__T6safeOpVAyaa1_3cZ__T8unsafeOpTiTmZQoFNaNbNiNfimZb",
		     "std.functional.safeOp!(\"<\").unsafeOp!(int, ulong).unsafeOp(int, ulong)");
	assert_means("_D1a__T1bVAyaa2_6869Vii-1ZQvFZv", "_D1a__T1bVAyaa2_6869Vii-1ZQvFZv");
	assert_means("_D3std6digest3crc__T3CRCVki64VmN2882303761517117440ZQBg3putMFNaNbNiNeMAxhXv",
		     "std.digest.crc.CRC!(64, -2882303761517117440).CRC.put(const(ubyte)[]...)");
	assert_means("_D1a1fFHAyaG4fDFNakZPFNbKiJlZvZB2iv",
		     "a.f(float[4][immutable(char)[]], delegate(uint))");
	assert_means("_D1aQz", "_D1aQz");
	assert_means("_D9", "_D9");
	assert_means("_D1a.", "_D1a.");
	assert_means("_DYNAMIC", "_DYNAMIC");
	demangle_leave(true);
	assert_means("_D1d4workFiZi", "_D1d4workFiZi");
	demangle_leave(false);
}

/* Each parameter may be read as a type's name and as a function's: 2^40 ways in all. */
static void test_exponential_d(void **state)
{
	char name[SYMBOL_NAME_MAX], text[DEMANGLED_SIZE];
	size_t n = sprintf(name, "_D1aF");

	for (int i = 0; i < 40; i++)
		n += sprintf(name + n, "C1aF");
	sprintf(name + n, "!");
	demangle(name, text);
	assert_string_equal(text, name);
}

static void test_plain(void **state)
{
	assert_means("", "");
	assert_means("main", "main");
	assert_means("foo.constprop.0", "foo.constprop.0");
	assert_means("parse.isra.0.cold", "parse.isra.0.cold");
	assert_means("_start", "_start");
	assert_means("_Z", "_Z");
	assert_means("_R", "_R");
	assert_means("_ZN", "_ZN");
	assert_means("_ZN3fo", "_ZN3fo");
	assert_means("_Readable", "_Readable");
	assert_means("_Zeta", "_Zeta");
}

static void assert_cut(const char *text)
{
	assert_string_equal(text + strlen(text) - strlen("…"), "…");
	assert_in_range(strlen(text), DEMANGLED_MAX - 8, DEMANGLED_MAX + strlen("…"));
}

/* Each parameter is a pair of two copies of the one before: 2^30 of them when written out. */
static void test_exponential_cpp(void **state)
{
	char name[SYMBOL_NAME_MAX], text[DEMANGLED_SIZE];
	size_t n = sprintf(name, "_Z1fSt4pairIiiE");

	for (int i = 0; i < 30; i++) {
		char digit = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i];

		n += sprintf(name + n, "S_IS%c_S%c_E", digit, digit);
	}
	demangle(name, text);
	assert_cut(text);
}

/* A tuple of two back references to the tuple before it, 40 times. */
static void test_exponential_rust(void **state)
{
	char name[SYMBOL_NAME_MAX], text[DEMANGLED_SIZE];
	size_t n = sprintf(name, "_RINvC1a1fTllE");
	size_t before = strlen("INvC1a1f");

	for (int i = 0; i < 40; i++) {
		static const char digits[] =
		    "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
		size_t start = n - 2;
		char id[8];

		if (before - 1 < 62)
			sprintf(id, "%c_", digits[before - 1]);
		else
			sprintf(id, "%c%c_", digits[(before - 1) / 62], digits[(before - 1) % 62]);
		n += sprintf(name + n, "TB%sB%sE", id, id);
		before = start;
	}
	sprintf(name + n, "E");
	demangle(name, text);
	assert_cut(text);
}

static void test_long(void **state)
{
	char *name = malloc(SYMBOL_NAME_MAX * 2), text[DEMANGLED_SIZE];

	assert_non_null(name);
	memset(name, 'x', SYMBOL_NAME_MAX * 2 - 1);
	name[SYMBOL_NAME_MAX * 2 - 1] = '\0';
	assert_int_equal(demangle(name, text), DEMANGLED_MAX + strlen("…"));
	memcpy(name, "_Z9999", 6);
	assert_int_equal(demangle(name, text), DEMANGLED_MAX + strlen("…"));
	name[DEMANGLED_MAX] = '\0';
	assert_int_equal(demangle(name, text), DEMANGLED_MAX);
	assert_string_equal(name, text);

	/* Cut between characters, not inside one. */
	for (size_t i = 0; i < DEMANGLED_MAX + 3; i += 3)
		memcpy(name + i, "€", 4);
	demangle(name, text);
	assert_int_equal(strlen(text) % 3, 0);
	assert_string_equal(text + strlen(text) - 6, "€…");
	free(name);
}

static void test_compare(void **state)
{
	assert_true(symbol_name_compare("longer", "_x") < 0);
	assert_true(symbol_name_compare("_x", "__x") < 0);
	assert_true(symbol_name_compare("ab", "abc") < 0);
	assert_true(symbol_name_compare("abd", "abc") > 0);
	assert_int_equal(symbol_name_compare("abc", "abc"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_cpp),
	    cmocka_unit_test(test_rust),
	    cmocka_unit_test(test_d),
	    cmocka_unit_test(test_plain),
	    cmocka_unit_test(test_exponential_cpp),
	    cmocka_unit_test(test_exponential_rust),
	    cmocka_unit_test(test_exponential_d),
	    cmocka_unit_test(test_long),
	    cmocka_unit_test(test_compare),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
