/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Folded lines of profiles made by hand.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "export/export.h"
#include "unit/made_stacks.h"

static char *folded(struct profile *profile, const struct unfold_options *unfold)
{
	char *text;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	assert_int_equal(
		export_folded(profile, &(struct stacks_options){.unfold = *unfold}, stream), 0);
	fclose(stream);
	return text;
}

/* Frees @profile. */
static void expect_folded(struct profile *profile, const struct unfold_options *unfold,
			  const char *expected)
{
	char *text = folded(profile, unfold);

	assert_string_equal(text, expected);
	free(text);
	profile_free(profile);
}

static void folded_oncpu(void **state)
{
	expect_folded(MADE(PROFILE_ONCPU, mixed), &plain,
		      "[unknown] 6\n"
		      "sh 2\n"
		      "sh;[truncated];loop 5\n"
		      "sh;main;inner_[i];run_[j] 1\n"
		      "sh;main;read;vfs_read_[k] 7\n");
}

static void folded_options(void **state)
{
	expect_folded(MADE(PROFILE_ONCPU, mixed),
		      &(struct unfold_options){.threads = true, .no_inline = true},
		      "[unknown]-9/9 6\n"
		      "sh-7/7 2\n"
		      "sh-7/7;[truncated];loop 5\n"
		      "sh-7/7;main;read;vfs_read_[k] 3\n"
		      "sh-7/7;main;run_[j] 1\n"
		      "sh-7/8;main;read;vfs_read_[k] 4\n");
}

static void folded_offcpu(void **state)
{
	static const struct made_sample samples[] = {
		{"a", "f", 400, REASON_SLEEP, 1, 1}, /* three times 0.4 us are 1.2 us */
		{"a", "f", 400, REASON_SLEEP, 1, 2},	   {"a", "f", 400, REASON_SLEEP, 1, 3},
		{"a", "f", 1500, REASON_DISK, 1, 1},	   {"a", "f", 499, REASON_STOPPED, 1, 1},
		{"a", "", 2000000, REASON_RUNQUEUE, 1, 1}, {"a", "g", 3000, REASON_PREEMPTED, 1, 1},
	};

	expect_folded(MADE(PROFILE_OFFCPU, samples), &plain,
		      "a;[runqueue] 2000\n"
		      "a;f;[disk] 2\n"
		      "a;f;[sleep] 1\n"
		      "a;g;[preempted] 3\n");
	expect_folded(MADE(PROFILE_OFFCPU, samples), &(struct unfold_options){.no_reason = true},
		      "a 2000\n"
		      "a;f 3\n"
		      "a;g 3\n");
}

static void folded_names(void **state)
{
	struct profile *profile = made_profile(PROFILE_ONCPU, NULL, 0);
	struct made_sample sample = {"a;b\n", "", 1};
	uint32_t locations[2] = {made_location(profile, FRAME_KERNEL, "x;y\t\x7f"),
				 made_location(profile, FRAME_USER, "n\xc3\xa9 \xff")};

	made_add_locations(profile, &sample, locations, 2);
	/* Distinct names with equal text. */
	sample.comm = "a:b?";
	locations[0] = made_location(profile, FRAME_KERNEL, "x:y??");
	made_add_locations(profile, &sample, locations, 2);
	expect_folded(profile, &plain, "a:b?;n\xc3\xa9 ?;x:y??_[k] 2\n");
}

/* Programs that read folded lines take one that begins so for a comment. */
static void folded_comment(void **state)
{
	static const struct made_sample samples[] = {{"# c", "f", 2, REASON_NONE, 1, 2}};

	expect_folded(MADE(PROFILE_ONCPU, samples), &plain, "(#) c;f 2\n");
	expect_folded(MADE(PROFILE_ONCPU, samples), &(struct unfold_options){.threads = true},
		      "(#) c-1/2;f 2\n");
}

/* Text of any language stays; control characters and invalid bytes do not come through. */
static void folded_controls(void **state)
{
	struct profile *profile = made_profile(PROFILE_ONCPU, NULL, 0);
	struct made_sample sample = {"\033[31m日本語 \u0639\u0631 👩\u200d💻", "", 1};
	uint32_t location = made_location(profile, FRAME_USER,
					  "\u202egnp\u2066\u2069\u200e\u200f\u061c\u2028"
					  "\xc2\x9b|\x9b|\xed\xa0\x80\x01\r");

	made_add_locations(profile, &sample, &location, 1);
	expect_folded(profile, &plain, "?[31m日本語 \u0639\u0631 👩\u200d💻;?gnp???????|?|????? 1\n");
}

/* What follows a frame's name sorts by its byte, whether that is `;` or not. */
static void folded_order(void **state)
{
	static const struct made_sample samples[] = {
		{"a", "", 1},	{"a", "z", 1},	  {"a b", "x", 1},
		{"a b", "", 1}, {"a!", "y", 1},	  {"ab", "", 1},
		{"a<", "q", 1}, {"a b c", "", 1}, {"a\xc3\xa9", "", 1},
	};

	expect_folded(MADE(PROFILE_ONCPU, samples), &plain,
		      "a 1\n"
		      "a b 1\n"
		      "a b c 1\n"
		      "a b;x 1\n"
		      "a!;y 1\n"
		      "a;z 1\n"
		      "a<;q 1\n"
		      "ab 1\n"
		      "a\xc3\xa9 1\n");
}

static void folded_empty(void **state)
{
	expect_folded(made_profile(PROFILE_ONCPU, NULL, 0), &plain, "");
}

static void folded_wall(void **state)
{
	expect_folded(MADE(PROFILE_WALL, both), &plain,
		      "cron;main;sleep;nanosleep_[k];[timer] 9000000\n"
		      "db;main;accept;epoll_wait_[k];[poll] 6000000\n"
		      "db;main;lock;futex_wait_[k];[futex] 4000000\n"
		      "db;main;lock;futex_wait_[k];[runqueue] 250000\n"
		      "db;main;query;pread;copy_page_[k];[on-cpu] 2000000\n"
		      "db;main;query;pread;io_schedule_[k];[disk] 1500000\n"
		      "db;main;query;scan;[on-cpu] 3000000\n");
	expect_folded(MADE(PROFILE_WALL, both),
		      &(struct unfold_options){.waker_depth = 8, .fold_idle = true},
		      "[idle];cron;main;sleep;nanosleep_[k];[timer] 9000000\n"
		      "[idle];db;main;accept;epoll_wait_[k];[poll] 6000000\n"
		      "db;main;lock;futex_wait_[k];[futex];--;futex_wake_[k];unlock;main;db-7;--;"
		      "send;[truncated];client 4000000\n"
		      "db;main;lock;futex_wait_[k];[runqueue] 250000\n"
		      "db;main;query;pread;copy_page_[k];[on-cpu] 2000000\n"
		      "db;main;query;pread;io_schedule_[k];[disk];--;nvme_irq_[k];irq_[k];"
		      "[interrupt] 1500000\n"
		      "db;main;query;scan;[on-cpu] 3000000\n");
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Each line without its value. */
static void folded_is_sorted_and_distinct(void **state)
{
	for (uint64_t seed = 1; seed < 10; seed++) {
		struct profile *profile = random_profile(seed);
		char *text = folded(profile, &plain), *rest = text, *before = NULL;
		uint64_t sum = 0, expected = 0;

		for (size_t i = 0; i < profile->n_samples; i++)
			expected += profile->samples[i].count;
		for (char *line; (line = strsep(&rest, "\n")) && *line; before = line) {
			char *space = strrchr(line, ' ');

			sum += strtoull(space + 1, NULL, 10);
			*space = '\0';
			assert_true(!before || compare_lines(&before, &line) < 0);
		}
		assert_int_equal(sum, expected);
		free(text);
		profile_free(profile);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(folded_oncpu),
		cmocka_unit_test(folded_options),
		cmocka_unit_test(folded_offcpu),
		cmocka_unit_test(folded_names),
		cmocka_unit_test(folded_comment),
		cmocka_unit_test(folded_order),
		cmocka_unit_test(folded_empty),
		cmocka_unit_test(folded_controls),
		cmocka_unit_test(folded_wall),
		cmocka_unit_test(folded_is_sorted_and_distinct),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
