/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ledger, ledger_profile: what becomes one, and what is found again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/array.h"
#include "made_windows.h"
#include "store/ledger_profile.h"

/* Names are found again by what is added to a profile later. */
static void test_profile_of_two(void **state)
{
	struct profile *profile;
	struct ledger_elided elided;
	uint64_t time[2] = {}, count[2] = {};
	size_t n_samples = 0, n_stacks = 0, n_strings = 0;

	assert_int_equal(profile_new(PROFILE_ONCPU, &profile), 0);
	for (int k = 0; k < 2; k++) {
		struct made_sums sums = {}, found = {};
		struct ledger ledger;

		made_window(9, &ledger, &sums);
		made_count(&ledger, &found);
		assert_memory_equal(&found, &sums, sizeof found);
		assert_int_equal(ledger_profile(&ledger, NULL, 0, profile, &elided), 0);
		ledger_done(&ledger);
		if (k == 0) {
			n_samples = profile->n_samples;
			n_stacks = profile->n_stacks;
			n_strings = profile->strings.n_strings;
		}
		for (size_t i = 0; i < profile->n_samples; i++) {
			time[k] += profile->samples[i].nanoseconds;
			count[k] += profile->samples[i].count;
		}
	}
	assert_int_equal(profile->n_samples, n_samples);
	assert_int_equal(profile->n_stacks, n_stacks);
	assert_int_equal(profile->strings.n_strings, n_strings);
	assert_int_equal(time[1], 2 * time[0]);
	assert_int_equal(count[1], 2 * count[0]);
	profile_free(profile);
}

static uint32_t add_ledger_string(struct ledger *ledger, const char *text)
{
	uint32_t id;

	assert_int_equal(strings_add(&ledger->strings, text, &id), 0);
	return id;
}

/* Rows that differ by their pids alone are one, next to each other or not. */
static void test_rows_without_pids(void **state)
{
	const struct ledger_row rows[] = {
		{.process = 1, .reason = REASON_FUTEX, .count = 1, .microseconds = 10},
		{.process = 1, .reason = REASON_ONCPU, .count = 2, .microseconds = 20},
		{.process = 2, .reason = REASON_FUTEX, .count = 3, .microseconds = 30},
		{.process = 3, .reason = REASON_FUTEX, .count = 4, .microseconds = 40},
	};
	struct ledger_memo memo = {};
	const struct ledger_merge how = {.memo = &memo, .no_pids = true};
	struct ledger from, to;
	uint32_t comm, other;

	assert_int_equal(ledger_init(&from), 0);
	assert_int_equal(ledger_init(&to), 0);
	comm = add_ledger_string(&from, "comm");
	other = add_ledger_string(&from, "other");
	assert_int_equal(
		array_reserve(from.processes, from.processes_capacity, from.n_processes, 3), 0);
	for (uint32_t pid = 1; pid <= 3; pid++)
		from.processes[from.n_processes++] =
			(struct ledger_process){.pid = pid, .comm = pid < 3 ? comm : other};
	for (size_t i = 0; i < 100; i++) {
		assert_int_equal(array_reserve(from.rows, from.rows_capacity, from.n_rows, 1), 0);
		from.rows[from.n_rows++] = rows[i % 4];
	}
	assert_int_equal(ledger_merge(&to, &from, &how), 0);
	assert_int_equal(to.n_rows, 3);
	assert_int_equal(to.rows[0].count, 25 * (1 + 3));
	assert_int_equal(to.rows[0].microseconds, 25 * (10 + 30));
	assert_int_equal(to.rows[1].microseconds, 25 * 20);
	assert_int_equal(to.rows[2].count, 25 * 4);
	ledger_memo_done(&memo);
	ledger_done(&from);
	ledger_done(&to);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_profile_of_two),
		cmocka_unit_test(test_rows_without_pids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
