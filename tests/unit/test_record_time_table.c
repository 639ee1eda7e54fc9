/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where time went, according to a profile's samples. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "record/time_table.h"
#include "unit/made_stacks.h"

static struct time_table table_of(const struct made_sample *samples, size_t n)
{
	struct profile *profile = made_profile(PROFILE_WALL, samples, n);
	struct time_table table;

	time_table_make(profile, &table);
	profile_free(profile);
	return table;
}

static char *printed(const struct time_table *table)
{
	char *text;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	time_table_print(table, false, stream);
	fclose(stream);
	return text;
}

static void time_goes_to_its_row(void **state)
{
	struct time_table table = table_of(both, COUNT(both));

	assert_int_equal(table.ns[TIME_RUNNING_USER], 3000 * MS);
	assert_int_equal(table.ns[TIME_RUNNING_KERNEL], 2000 * MS);
	assert_int_equal(table.ns[REASON_DISK], 1500 * MS);
	assert_int_equal(table.ns[REASON_FUTEX], 4000 * MS);
	assert_int_equal(table.ns[REASON_RUNQUEUE], 250 * MS);
	assert_int_equal(table.ns[REASON_POLL], 6000 * MS);
	assert_int_equal(table.ns[REASON_TIMER], 9000 * MS);
	assert_int_equal(table.ns[REASON_SLEEP], 0);
	assert_int_equal(table.idle_ns[REASON_FUTEX], 0);
	assert_int_equal(time_table_running_ns(&table), 5000 * MS);
	assert_int_equal(time_table_waiting_ns(&table), 20750 * MS);
	assert_int_equal(time_table_idle_ns(&table), 15000 * MS);
}

/* Has a kernel frame anywhere; no inlined user function is above one. */
static void running_in_the_kernel_shows_in_the_stack(void **state)
{
	static const struct made_sample samples[] = {
		{"a", "", 1, REASON_ONCPU},
		{"a", "main", 2, REASON_ONCPU},
		{"a", "main;read;vfs_read_[k]", 4, REASON_ONCPU},
		{"kworker", "kthread_[k]", 8, REASON_ONCPU},
		{"a", "main;f;vfs_read_[k]", 16, REASON_PREEMPTED},
	};
	struct time_table table = table_of(samples, COUNT(samples));

	assert_int_equal(table.ns[TIME_RUNNING_USER], 3);
	assert_int_equal(table.ns[TIME_RUNNING_KERNEL], 12);
	assert_int_equal(table.ns[REASON_PREEMPTED], 16);
}

static void rows_are_printed_by_size(void **state)
{
	static const struct made_sample samples[] = {
		{"a", "f", 500 * MS, REASON_POLL, .is_idle = true},
		{"a", "g", 700 * MS, REASON_POLL},
		{"a", "f", 3000 * MS, REASON_TIMER, .is_idle = true},
		{"a", "main", 800 * MS, REASON_ONCPU},
	};
	struct time_table table = table_of(samples, COUNT(samples));
	char *text = printed(&table);

	assert_string_equal(text,
			    "  time      timer                 3.000 s  60.0 %  all idle\n"
			    "            poll                  1.200 s  24.0 %  idle 0.500 s\n"
			    "            running user          0.800 s  16.0 %\n"
			    "            of it idle            3.500 s  70.0 %  waits for work; "
			    "--no-idle leaves them out\n");
	free(text);
}

static void short_times_have_smaller_units(void **state)
{
	static const struct made_sample samples[] = {{"a", "f", 1500000, REASON_PIPE},
						     {"a", "f", 500000, REASON_LOCK}};
	struct time_table table = table_of(samples, COUNT(samples));
	char *text = printed(&table);

	assert_string_equal(text, "  time      pipe                  1.500 ms  75.0 %\n"
				  "            kernel lock           0.500 ms  25.0 %\n");
	free(text);
}

static void an_empty_table_is_not_printed(void **state)
{
	struct time_table table = table_of(NULL, 0);
	char *text = printed(&table);

	assert_string_equal(text, "");
	free(text);
}

static char *json_of(const struct time_table *table, bool has_running)
{
	char *text;
	size_t size;
	FILE *stream = open_memstream(&text, &size);
	struct json json = {.stream = stream};

	json_open(&json, NULL, '{');
	time_table_json(table, has_running, &json);
	json_close(&json, '}');
	fclose(stream);
	return text;
}

/* All keys are always present, so readers need not check. */
static void json_has_all_rows(void **state)
{
	static const char *const keys[] = {"sleep",    "disk",	 "stopped",    "preempted",
					   "runqueue", "futex",	 "poll",       "timer",
					   "network",  "pipe",	 "page_fault", "child",
					   "lock",     "signal", "throttled"};
	struct time_table table = table_of(both, COUNT(both));
	char *text = json_of(&table, true), key[32];

	assert_non_null(strstr(text, "\"running_user\":3.000000"));
	assert_non_null(strstr(text, "\"running_kernel\":2.000000"));
	assert_non_null(strstr(text, "\"futex\":4.000000"));
	assert_non_null(strstr(text, "},\"idle_seconds\":15.000000}"));
	free(text);
	text = json_of(&table, false);
	assert_null(strstr(text, "running"));
	for (size_t i = 0; i < COUNT(keys); i++) {
		snprintf(key, sizeof key, "\"%s\":", keys[i]);
		assert_non_null(strstr(text, key));
	}
	assert_int_equal(COUNT(keys) + 2, N_OFF_REASONS);
	free(text);
}

static void times_as_text(void **state)
{
	char text[TIME_TEXT_SIZE];

	assert_string_equal(time_text(text, 0), "0 us");
	assert_string_equal(time_text(text, 1234), "1.234 us");
	assert_string_equal(time_text(text, 20 * MS), "20 ms");
	assert_string_equal(time_text(text, 20 * MS + 1), "20.000 ms");
	assert_string_equal(time_text(text, 1234567 * MS), "1234.567 s");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(time_goes_to_its_row),
		cmocka_unit_test(running_in_the_kernel_shows_in_the_stack),
		cmocka_unit_test(rows_are_printed_by_size),
		cmocka_unit_test(short_times_have_smaller_units),
		cmocka_unit_test(an_empty_table_is_not_printed),
		cmocka_unit_test(json_has_all_rows),
		cmocka_unit_test(times_as_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
