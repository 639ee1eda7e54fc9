/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Builds an unwind table with memory running out at each allocation in turn. Compiles the sources
 * in, with allocators that fail on request; the sanitizer reports leaks.
 */
#include <errno.h>
#include <stdlib.h>

static unsigned int n_allocations, failing;

static int fails(void)
{
	return ++n_allocations == failing;
}

#define malloc(n)		 (fails() ? NULL : malloc(n))
#define calloc(n, size)		 (fails() ? NULL : calloc(n, size))
#define reallocarray(p, n, size) (fails() ? NULL : reallocarray(p, n, size))

#include "unwind/cfi.c"
#include "unwind/cfi_program.c"
#include "unwind/table_part.c"
#include "unwind/table.c"

#undef malloc
#undef calloc
#undef reallocarray

#include "unit/made_table.h"

/* Enough of everything for each array to grow, and functions that need sorting. */
static void put_functions(void)
{
	made_begin(EM_X86_64);
	made_begin_section(MADE_EH);
	for (uint32_t i = 0; i < 20; i++)
		put_cie((struct made_cie){});
	for (uint32_t i = 0; i < 2000; i++)
		FDE(0x900000 - i * 0x1000, 0x10, DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset,
		    0x80 | (i & 0x7f), i >> 7);
	made_end_section();
	made_begin_section(MADE_DEBUG);
	put_cie((struct made_cie){});
	FDE(0x2800, 0x10, DW_CFA_nop);
	made_end_section();
}

static void test_out_of_memory(void **state)
{
	const struct unwind_table untouched = {.n_parts = 12345};
	unsigned int n;

	put_functions();
	failing = n_allocations = 0;
	build_table();
	n = n_allocations;
	assert_true(n > 20);
	unwind_table_done(&table);
	for (unsigned int i = 1; i <= n; i++) {
		table = untouched;
		failing = i;
		n_allocations = 0;
		assert_int_equal(try_build(), -ENOMEM);
		assert_memory_equal(&table, &untouched, sizeof table);
	}
	made_done();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_out_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
