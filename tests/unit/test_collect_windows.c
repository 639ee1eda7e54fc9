/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Windows without a kernel: which window a row belongs to, windows that wait and are joined, and
 * which stacks, wakers and files are kept over a long time.
 */
#include "cmocka_all.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/join.h"
#include "collect/raw_stacks.h"
#include "collect/wakers.h"
#include "collect/windows.h"

/* --- which window --- */

static void test_moments(void **state)
{
	struct windows windows = {.base.start = 1000, .every_ns = 10};
	const struct windows one = {.base.start = 1000};

	assert_int_equal(windows_at(&windows, 1000), 0);
	assert_int_equal(windows_at(&windows, 1009), 0);
	assert_int_equal(windows_at(&windows, 1010), 1);
	assert_int_equal(windows_at(&windows, 1000 + 10 * 300), 300);
	assert_int_equal(windows_at(&one, 999999), 0);
	assert_int_equal(windows_begin(&windows, 3), 1030);
	/* Window 7 ends earlier: those after it are as long as ever. */
	windows.base = (struct bf_base){1075, 8};
	assert_int_equal(windows_at(&windows, 1070), 7);
	assert_int_equal(windows_at(&windows, 1074), 7);
	assert_int_equal(windows_at(&windows, 1075), 8);
	assert_int_equal(windows_at(&windows, 1085), 9);
	assert_int_equal(windows_begin(&windows, 8), 1075);
	assert_int_equal(windows_begin(&windows, 10), 1095);
}

/* Keys hold only the lowest 8 bits. */
static void test_rows_of_later_windows(void **state)
{
	struct windows windows = {};

	for (windows.last = 0; windows.last < 1000; windows.last++) {
		assert_false(windows_is_after(&windows, windows.last));
		assert_false(windows_is_after(&windows, windows.last - 1));
		assert_false(windows_is_after(&windows, windows.last - 100));
		assert_true(windows_is_after(&windows, windows.last + 1));
		assert_true(windows_is_after(&windows, windows.last + 100));
	}
}

static void test_rows_are_set_aside(void **state)
{
	struct windows windows = {};

	for (uint32_t i = 0; i < 100; i++) {
		const struct bf_count_key key = {.pid = i, .window = 1};

		assert_int_equal(
			windows_set_aside(&windows, &key, &(struct bf_count){i, 2 * i, 3 * i}), 0);
	}
	assert_int_equal(windows.n_later, 100);
	assert_int_equal(windows.later[99].key.pid, 99);
	assert_int_equal(windows.later[99].count.nanoseconds, 198);
	windows_done(&windows);
}

/* --- windows that wait --- */

/*
 * Adds a stack at @address in a file of that name, on-CPU; its other half is in a file that all
 * share.
 */
static void add_samples(struct profile *profile, const char *path, uint64_t address, uint64_t n)
{
	struct profile_mapping mapping = {.kind = MAPPING_FILE};
	struct profile_sample sample = {.pid = 7, .count = n, .nanoseconds = 10 * n};
	struct profile_waker waker = {.pid = 8};
	uint32_t locations[2], id;

	assert_int_equal(strings_add(&profile->strings, path, &mapping.path), 0);
	assert_int_equal(profile_add_mapping(profile, &mapping, &id), 0);
	assert_int_equal(profile_add_location(profile, id, address, false, &locations[0]), 0);
	assert_int_equal(strings_add(&profile->strings, "/common", &mapping.path), 0);
	assert_int_equal(profile_add_mapping(profile, &mapping, &id), 0);
	assert_int_equal(profile_add_location(profile, id, 1, true, &locations[1]), 0);
	assert_int_equal(profile_add_stack(profile, locations, 2, STACK_COMPLETE, &sample.stack),
			 0);
	assert_int_equal(strings_add(&profile->strings, "comm", &sample.comm), 0);
	waker.stack = sample.stack;
	waker.comm = sample.comm;
	assert_int_equal(profile_add_waker(profile, &waker, &sample.waker), 0);
	assert_int_equal(profile_add_sample(profile, &sample), 0);
}

static struct closed_window *close_window(uint64_t number, const char *path, uint64_t n)
{
	struct closed_window *closed = calloc(1, sizeof *closed);
	struct collect_window *window = &closed->window;

	assert_int_equal(profile_new(PROFILE_ONCPU, &window->profile), 0);
	add_samples(window->profile, path, 5, n);
	window->profile->start_realtime_ns = 100 * number;
	window->profile->duration_ns = 100;
	window->sources = calloc(window->profile->n_mappings, sizeof *window->sources);
	for (size_t i = 0; i < window->profile->n_mappings; i++) {
		window->sources[i] = MAPPING_SOURCE_NONE;
		window->sources[i].file = open("/dev/null", O_RDONLY | O_CLOEXEC);
	}
	closed->owns_fds = true;
	window->number = number;
	window->end_ns = 100 * number + 100;
	window->n = 1;
	closed->begin.totals.samples = 10 * number;
	closed->end.totals.samples = 10 * number + 10;
	stats_between(&closed->begin, &closed->end, window->profile, &window->stats);
	return closed;
}

static uint64_t count_of(const struct profile *profile)
{
	uint64_t count = 0;

	for (size_t i = 0; i < profile->n_samples; i++)
		count += profile->samples[i].count;
	return count;
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static void test_taken_in_time(void **state)
{
	struct windows windows = {};
	struct collect_window window;

	assert_int_equal(windows_take(&windows, &window), 0);
	for (uint64_t i = 0; i < 3; i++) {
		int fd;

		assert_int_equal(windows_add(&windows, close_window(i, "/a", i + 1)), 0);
		assert_int_equal(windows_take(&windows, &window), 1);
		assert_int_equal(window.number, i);
		assert_int_equal(window.n, 1);
		assert_int_equal(window.stats.samples, 10);
		assert_int_equal(count_of(window.profile), i + 1);
		fd = window.sources[0].file;
		assert_true(is_open(fd));
		collect_window_done(&window);
		windows_forget_taken(&windows);
		assert_false(is_open(fd));
	}
	windows_done(&windows);
}

static void test_a_late_taker_gets_them_joined(void **state)
{
	struct windows windows = {};
	struct collect_window window;

	assert_int_equal(windows_add(&windows, close_window(4, "/a", 1)), 0);
	assert_int_equal(windows_add(&windows, close_window(5, "/b", 2)), 0);
	assert_int_equal(windows_add(&windows, close_window(6, "/a", 4)), 0);
	assert_int_equal(windows.n_waiting, 1);
	assert_int_equal(windows_take(&windows, &window), 1);
	assert_int_equal(window.number, 4);
	assert_int_equal(window.n, 3);
	assert_int_equal(window.end_ns, 700);
	assert_int_equal(window.stats.samples, 30);
	assert_int_equal(window.profile->start_realtime_ns, 400);
	assert_int_equal(window.profile->duration_ns, 300);
	assert_int_equal(count_of(window.profile), 7);
	assert_int_equal(window.profile->n_samples, 2);
	assert_int_equal(window.profile->n_mappings, 3);
	for (size_t i = 0; i < 3; i++)
		assert_true(is_open(window.sources[i].file));
	assert_int_equal(window.stats.distinct_stacks, 2);
	collect_window_done(&window);
	assert_int_equal(windows_take(&windows, &window), 0);
	windows_done(&windows);
}

/* There is no moment at which the earlier one could be taken between the two. */
static void test_the_last_one_waits_beside(void **state)
{
	struct closed_window *last = close_window(1, "/b", 2);
	struct windows windows = {};
	struct collect_window window;

	last->window.is_last = true;
	assert_int_equal(windows_add(&windows, close_window(0, "/a", 1)), 0);
	assert_int_equal(windows_add(&windows, last), 0);
	for (uint64_t i = 0; i < 2; i++) {
		assert_int_equal(windows_take(&windows, &window), 1);
		assert_int_equal(window.number, i);
		assert_int_equal(window.is_last, i == 1);
		collect_window_done(&window);
	}
	assert_int_equal(windows_take(&windows, &window), 0);
	windows_done(&windows);
}

static void test_untaken_ones_are_freed(void **state)
{
	struct windows windows = {};
	struct closed_window *closed = close_window(0, "/a", 1);
	int fd = closed->window.sources[0].file;

	assert_int_equal(windows_add(&windows, closed), 0);
	windows_done(&windows);
	assert_false(is_open(fd));
}

/* --- two profiles --- */

static void test_join_keeps_all_apart(void **state)
{
	struct profile *a, *b;
	uint32_t mappings[2];

	assert_int_equal(profile_new(PROFILE_OFFCPU, &a), 0);
	assert_int_equal(profile_new(PROFILE_OFFCPU, &b), 0);
	add_samples(a, "/x", 1, 3);
	add_samples(b, "/y", 1, 5);
	add_samples(b, "/x", 1, 7);
	add_samples(b, "/x", 2, 11);
	assert_int_equal(profile_join(a, b, (uint32_t[4]){}), 0);
	assert_int_equal(count_of(a), 26);
	assert_int_equal(a->n_samples, 3);
	assert_int_equal(a->n_mappings, 3);
	assert_int_equal(a->n_wakers, 4);
	assert_int_equal(a->samples[0].count, 10);
	assert_int_equal(a->samples[0].nanoseconds, 100);
	for (size_t i = 0; i < a->n_samples; i++) {
		assert_string_equal(strings_get(&a->strings, a->samples[i].comm), "comm");
		assert_int_equal(a->wakers[a->samples[i].waker].stack, a->samples[i].stack);
	}
	profile_free(b);
	assert_int_equal(profile_new(PROFILE_OFFCPU, &b), 0);
	assert_int_equal(profile_join(a, b, mappings), 0);
	assert_int_equal(count_of(a), 26);
	profile_free(a);
	profile_free(b);
}

/* --- stats of a window --- */

static void test_stats_between(void **state)
{
	struct stats_mark begin = {.totals = {.samples = 100,
					      .counts_full = 3,
					      .processes = 50,
					      .tables_failed = 2},
				   .residue_ns = 500,
				   .ended_variance_us2 = 100,
				   .open_variance_us2 = 400};
	struct stats_mark end = {.totals = {.samples = 150,
					    .counts_full = 3,
					    .processes = 40,
					    .tables_failed = 7,
					    .offcpu_period_ns = 1},
				 .residue_ns = -200,
				 .ended_variance_us2 = 200,
				 .open_variance_us2 = 100};
	struct collect_stats stats;
	struct profile *profile;

	assert_int_equal(profile_new(PROFILE_OFFCPU, &profile), 0);
	add_samples(profile, "/a", 1, 1000);
	profile->samples[0].reason = REASON_SLEEP;
	stats_between(&begin, &end, profile, &stats);
	assert_int_equal(stats.samples, 50);
	assert_int_equal(stats.counts_full, 0);
	assert_int_equal(stats.processes, 40); /* how many there are */
	assert_int_equal(stats.distinct_stacks, 1);
	assert_int_equal(stats.offcpu_measured_ns, 10000 - 700);
	/* 2.2 deviations: the root of 100 + 100 + 400, plus what ticks leave uncertain. */
	assert_true(stats.offcpu_interval_ns > 53000);

	/* With the counters from before the window, the sum is that of the whole time. */
	stats_add(&stats, &begin.totals);
	assert_int_equal(stats.samples, 150);
	assert_int_equal(stats.counts_full, 3);
	assert_int_equal(stats.tables_failed, 7);
	assert_int_equal(stats.processes, 40);
	profile_free(profile);
}

/* --- generations --- */

static bool has_stack(struct raw_stacks *stacks, uint64_t id)
{
	struct stack_frames found;
	int r = raw_stacks_find(stacks, id, &found);

	if (r == 1) {
		assert_int_equal(found.n, 2);
		assert_int_equal(raw_stacks_addresses(stacks, &found)[1], 1000 + id);
	}
	return r;
}

static void add_stack(struct raw_stacks *stacks, uint64_t id)
{
	const __u64 frames[] = {id, 1000 + id};

	assert_int_equal(raw_stacks_add(stacks, id, 0, frames, 2, BF_END_ENTRY), 0);
}

/* Requested items stay; others are dropped with the second generation after them. */
static void test_stacks_age(void **state)
{
	struct raw_stacks stacks = {};
	size_t bytes;

	for (uint64_t id = 1; id <= 1000; id++)
		add_stack(&stacks, id);
	bytes = raw_stacks_bytes(&stacks);
	assert_true(bytes >= 1000 * (2 * sizeof(uint64_t) + sizeof(struct stack_frames)));
	for (int age = 0; age < 5; age++) {
		raw_stacks_age(&stacks);
		assert_int_equal(stacks.carried, 0);
		assert_true(has_stack(&stacks, 5));
		assert_true(stacks.carried > sizeof(struct stack_frames));
		add_stack(&stacks, 6); /* sent again */
		assert_true(raw_stacks_bytes(&stacks) < bytes / 10);
	}
	assert_true(has_stack(&stacks, 5));
	assert_true(has_stack(&stacks, 6));
	assert_false(has_stack(&stacks, 7));
	raw_stacks_age(&stacks);
	raw_stacks_age(&stacks);
	assert_false(has_stack(&stacks, 5));
	raw_stacks_done(&stacks);
}

static void test_wakers_age(void **state)
{
	struct wakers wakers = {};

	for (uint64_t id = 1; id <= 100; id++) {
		assert_int_equal(
			wakers_add(&wakers, &(struct bf_waker_event){.id = id, .waker.pid = id}),
			0);
		assert_int_equal(
			wakers_add_chain(&wakers, &(struct bf_wakers_event){.id = id, .n = 2}), 0);
	}
	for (int age = 0; age < 3; age++) {
		wakers_age(&wakers);
		assert_int_equal(wakers_find(&wakers, 9)->pid, 9);
		assert_int_equal(wakers_find_chain(&wakers, 9)->n, 2);
	}
	assert_int_equal(wakers.now.n_wakers, 1);
	assert_int_equal(wakers.now.n_chains, 1);
	assert_null(wakers_find(&wakers, 8));
	assert_null(wakers_find_chain(&wakers, 8));
	wakers_done(&wakers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_moments),
		cmocka_unit_test(test_rows_of_later_windows),
		cmocka_unit_test(test_rows_are_set_aside),
		cmocka_unit_test(test_taken_in_time),
		cmocka_unit_test(test_a_late_taker_gets_them_joined),
		cmocka_unit_test(test_the_last_one_waits_beside),
		cmocka_unit_test(test_untaken_ones_are_freed),
		cmocka_unit_test(test_join_keeps_all_apart),
		cmocka_unit_test(test_stats_between),
		cmocka_unit_test(test_stacks_age),
		cmocka_unit_test(test_wakers_age),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
