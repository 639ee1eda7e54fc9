/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Those parts of the daemon that need no rights: its clock, its options and their file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/system.h"
#include "cmd/daemon_budget.h"
#include "cmd/daemon_clock.h"
#include "cmd/daemon_options.h"

#define SECOND NSEC_PER_SEC
#define WINDOW (10 * SECOND)
#define HOUR   (3600 * SECOND)
#define REAL   (1795600800 * SECOND)

static struct daemon_clock clock_;
static struct daemon_moment now;
static uint64_t end_ns;

static int begin(void **state)
{
	clock_ = (struct daemon_clock){};
	now = (struct daemon_moment){1000 * SECOND, 1500 * SECOND, REAL};
	end_ns = 1000 * SECOND;
	return 0;
}

static void pass(uint64_t ns)
{
	now.monotonic += ns;
	now.boot += ns;
	now.real += ns;
}

/* A window passes; the look at it comes some time after its end. */
static struct store_window next(enum store_gap gap)
{
	struct store_window window = {};

	end_ns += WINDOW;
	pass(WINDOW + SECOND / 20);
	daemon_clock_stamp(&clock_, &now, end_ns, WINDOW, gap, &window);
	now.monotonic -= SECOND / 20;
	now.boot -= SECOND / 20;
	now.real -= SECOND / 20;
	return window;
}

static void test_back_to_back(void **state)
{
	struct store_window before = next(GAP_STARTED), window;

	assert_int_equal(before.start, REAL);
	assert_int_equal(before.gap, GAP_STARTED);
	for (int i = 0; i < 100; i++) {
		now.real += i % 3 * 1000000; /* slewed, by up to 200 ppm */
		window = next(GAP_NONE);
		assert_int_equal(window.start, before.start + before.span);
		assert_int_equal(window.gap, GAP_NONE);
		assert_in_range(window.span, WINDOW, WINDOW + 2000000);
		assert_int_equal(window.covered, WINDOW);
		before = window;
	}
}

static void test_clock_set(void **state)
{
	struct store_window before, window;

	next(GAP_STARTED);
	before = next(GAP_NONE);
	now.real += HOUR;
	window = next(GAP_NONE);
	assert_int_equal(window.gap, GAP_CLOCK);
	assert_int_equal(window.start, before.start + before.span + HOUR);
	assert_int_equal(window.span, WINDOW);
	before = next(GAP_NONE);
	assert_int_equal(before.gap, GAP_NONE);
	now.real -= 2 * HOUR;
	window = next(GAP_NONE);
	assert_int_equal(window.gap, GAP_CLOCK);
	assert_int_equal(window.start, before.start + before.span - 2 * HOUR);
	assert_int_equal(window.span, WINDOW);
	assert_int_equal(next(GAP_NONE).gap, GAP_NONE);
}

/* CLOCK_MONOTONIC stops during suspend. */
static void test_suspended(void **state)
{
	struct store_window before, window;

	next(GAP_STARTED);
	before = next(GAP_NONE);
	now.boot += 8 * HOUR;
	now.real += 8 * HOUR;
	window = next(GAP_NONE);
	assert_int_equal(window.gap, GAP_SUSPENDED);
	assert_int_equal(window.start, before.start + before.span + 8 * HOUR);
	assert_int_equal(window.span, WINDOW);
	assert_int_equal(window.boot, before.boot + 8 * HOUR + WINDOW);
	assert_int_equal(next(GAP_NONE).gap, GAP_NONE);
}

/* Uses @share of a CPU for a minute, in steps of ten seconds. Returns the sum of all changes. */
static int spend(struct daemon_budget *budget, double share)
{
	static uint64_t now_ns, used;
	int changes = 0;

	for (int i = 0; i < 6; i++) {
		now_ns += WINDOW;
		used += share * WINDOW;
		changes += daemon_budget_look(budget, 1000 * SECOND + now_ns, used);
	}
	return changes;
}

static void test_budget(void **state)
{
	struct daemon_budget budget = {.share = 0.01};

	/* CPU time before the first look does not count. */
	assert_int_equal(daemon_budget_look(&budget, 1000 * SECOND, 0), 0);
	assert_int_equal(spend(&budget, 0.5), 0); /* it first learns the names of everything */
	spend(&budget, 0.005);
	assert_int_equal(budget.effort, EFFORT_ALL);
	for (int effort = EFFORT_NAMES_LATER; effort < N_EFFORTS; effort++) {
		assert_int_equal(spend(&budget, 0.03), 1);
		assert_int_equal(budget.effort, effort);
	}
	assert_int_equal(spend(&budget, 0.03), 0);
	assert_int_equal(budget.effort, EFFORT_FEWEST);
	/* Each step back takes five minutes of low use; less counts for nothing. */
	for (int minute = 0; minute < 4; minute++)
		assert_int_equal(spend(&budget, 0.005), 0);
	assert_int_equal(spend(&budget, 0.02), 0);
	for (int step = EFFORT_FEWER_STACKS; step >= EFFORT_ALL; step--) {
		for (int minute = 0; minute < 4; minute++)
			assert_int_equal(spend(&budget, 0.005), 0);
		assert_int_equal(spend(&budget, 0.005), -1);
		assert_int_equal(budget.effort, step);
	}
	assert_int_equal(spend(&budget, 0.005), 0);

	budget = (struct daemon_budget){};
	for (int minute = 0; minute < 5; minute++)
		assert_int_equal(spend(&budget, 1), 0);
}

static char path[] = "/tmp/test_daemon.XXXXXX";

static void write_config(const char *text)
{
	FILE *stream = fopen(path, "w");

	assert_non_null(stream);
	fputs(text, stream);
	fclose(stream);
}

static int make_config(void **state)
{
	int fd = mkstemp(path);

	return fd < 0 ? -1 : close(fd);
}

static int remove_config(void **state)
{
	return unlink(path);
}

static int read_options(struct daemon_options *ret, struct failure *failure, const char *more)
{
	char *words[] = {"daemon", "--config", path, (char *)more, NULL};

	*failure = (struct failure){};
	return daemon_options_read(more ? 4 : 3, words, ret, failure);
}

static void test_config(void **state)
{
	struct daemon_options options;
	struct failure failure;

	write_config("# what is kept\n\nstore = /srv/flames\n  keep 10s=1h\nkeep=2G # of all\n"
		     "freq\t49\nno-inline\n");
	assert_int_equal(read_options(&options, &failure, NULL), 0);
	assert_string_equal(options.store, "/srv/flames");
	assert_int_equal(options.keep.age_ns[LEVEL_FINEST], HOUR);
	assert_int_equal(options.keep.age_ns[LEVEL_MINUTE], 14 * STORE_DAY);
	assert_int_equal(options.keep.bytes, 2ULL << 30);
	assert_int_equal(options.frequency, 49);
	assert_true(options.no_inline);
	daemon_options_done(&options);
	/* The command line takes precedence. */
	assert_int_equal(read_options(&options, &failure, "--freq=7"), 0);
	assert_int_equal(options.frequency, 7);
	daemon_options_done(&options);
	assert_int_equal(read_options(&options, &failure, "--keep=3d"), 0);
	assert_int_equal(options.keep.age_ns[LEVEL_FINEST], 3 * STORE_DAY);
	assert_int_equal(options.keep.age_ns[LEVEL_DAY], 3 * STORE_DAY);
	daemon_options_done(&options);
}

static void test_wrong_config(void **state)
{
	static const char *const wrong[] = {
		"frequency 49\n",  "freq many\n",  "freq 0\n",	  "keep 5s=1h\n",
		"keep\n",	   "window 0.1\n", "--freq 49\n", "freq 49 more\n",
		"config /etc/x\n", "help\n",	   "keep 1m=x\n", "unwind-memory 1\n"};
	struct daemon_options options;
	struct failure failure;

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		write_config(wrong[i]);
		if (read_options(&options, &failure, NULL) != -EINVAL)
			fail_msg("'%s' is taken", wrong[i]);
		assert_non_null(strstr(failure.what, path));
	}
	write_config("");
	assert_int_equal(read_options(&options, &failure, "--freq=x"), -EINVAL);
	assert_null(strstr(failure.what, path));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_back_to_back, begin),
		cmocka_unit_test_setup(test_clock_set, begin),
		cmocka_unit_test_setup(test_suspended, begin),
		cmocka_unit_test(test_budget),
		cmocka_unit_test(test_config),
		cmocka_unit_test(test_wrong_config),
	};

	return cmocka_run_group_tests(tests, make_config, remove_config);
}
