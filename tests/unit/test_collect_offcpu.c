/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Off-CPU time without a kernel: sampling in proportion to time (the code that BPF runs), the
 * choice of its period, exact CPU times, and wakers.
 */
#include "cmocka_all.h"

#include <math.h>
#include <string.h>

#include "collect/collect.h"
#include "collect/period.h"
#include "collect/cpu_times.h"
#include "collect/wakers.h"

static uint64_t period_now;
static uint64_t random_state;

static uint64_t random_word_of_test(void)
{
	random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return random_state >> 32;
}

#define sampling_period() period_now
#define random_word()	  random_word_of_test()
#include "bpf/weigh.h"

static double uniform(void)
{
	return random_word_of_test() / 4294967296.0;
}

static void test_everything_is_kept_with_period_0(void **state)
{
	struct stretch stretch = {};

	period_now = 0;
	stretch_begin(&stretch);
	for (uint64_t length = 1; length < 1000; length++)
		assert_int_equal(weigh(&stretch, length), length);
	assert_int_equal(stretch_residue(&stretch), 0);
	assert_int_equal(stretch_variance(&stretch), 0);
}

static void test_long_periods_are_kept_as_they_are(void **state)
{
	struct stretch stretch = {};

	period_now = 1000000;
	stretch_begin(&stretch);
	assert_int_equal(weigh(&stretch, 1000000), 1000000);
	assert_int_equal(weigh(&stretch, 123456789), 123456789);
	assert_int_equal(stretch.position, 0);
}

/* After each period, the counted time is within one stretch of the measured time. */
static void test_total_is_within_one_stretch(void **state)
{
	for (random_state = 1; random_state < 50; random_state++) {
		uint64_t seed = random_state, measured = 0, counted = 0;
		struct stretch stretch = {};

		period_now = 1000000;
		stretch_begin(&stretch);
		for (int i = 0; i < 5000; i++) {
			uint64_t length = uniform() * 300000;

			measured += length;
			counted += weigh(&stretch, length);
			assert_true(counted + period_now >= measured &&
				    counted <= measured + period_now);
			assert_int_equal((int64_t)(measured - counted), stretch_residue(&stretch));
		}
		random_state = seed;
	}
}

/* Random nanoseconds up to @most, of any magnitude. */
static uint64_t any_length(double most)
{
	return exp(uniform() * log(most));
}

/*
 * Any lengths and any sampling periods, changed at any time: as above, within the longest in force.
 */
static void test_any_periods_leave_the_total_within_one(void **state)
{
	for (int run = 0; run < 3000; run++) {
		uint64_t measured = 0, counted = 0, longest;
		double most = any_length(1e10), change = uniform();
		struct stretch stretch = {};

		random_state = run;
		longest = period_now = any_length(4e9);
		stretch_begin(&stretch);
		for (int i = 0; i < 300; i++) {
			uint64_t length = any_length(most);

			if (uniform() < change)
				period_now = any_length(4e9);
			measured += length;
			counted += weigh(&stretch, length);
			longest = stretch.period > longest ? stretch.period : longest;
			assert_true(stretch.position < stretch.period);
			assert_int_equal((int64_t)(measured - counted), stretch_residue(&stretch));
			assert_true(counted < measured + longest && measured < counted + longest);
			assert_true(stretch_variance(&stretch) <=
				    longest / 1000 * (longest / 1000) / 4);
		}
	}
}

/*
 * Two kinds of period that strictly alternate: each gets its own share, even in step with sampling.
 */
static void test_kinds_have_their_shares(void **state)
{
	double counted[2] = {}, measured[2] = {};

	random_state = 7;
	period_now = 1000000;
	for (int thread = 0; thread < 300; thread++) {
		struct stretch stretch = {};

		stretch_begin(&stretch);
		for (int i = 0; i < 4000; i++) {
			uint64_t length = i % 2 ? 400000 : 100000; /* two periods per round */

			counted[i % 2] += weigh(&stretch, length);
			measured[i % 2] += length;
		}
	}
	for (int kind = 0; kind < 2; kind++)
		assert_true(fabs(counted[kind] / measured[kind] - 1) < 0.01);
}

/* Weights are right on average even while the sampling period changes. */
static void test_changes_of_the_period_leave_no_bias(void **state)
{
	static const uint64_t periods[] = {1000000, 2000000, 64000000, 2000000, 10000, 500000};
	double counted = 0, measured = 0;

	random_state = 3;
	for (int thread = 0; thread < 400; thread++) {
		struct stretch stretch = {};

		period_now = 1000000;
		stretch_begin(&stretch);
		for (int i = 0; i < 3000; i++) {
			uint64_t length = uniform() * 900000;

			period_now = periods[i / 100 % 6];
			measured += length;
			counted += weigh(&stretch, length);
		}
	}
	assert_true(fabs(counted / measured - 1) < 0.002);
}

/* Simulates 2,000 recordings of this many threads. @changes: the sampling period keeps changing. */
static int intervals_that_hold(int threads, bool changes)
{
	int held = 0;

	for (int run = 0; run < 2000; run++) {
		double residue = 0, variance = 0;

		for (int thread = 0; thread < threads; thread++) {
			struct stretch stretch = {};

			period_now = 1000000;
			stretch_begin(&stretch);
			for (int i = 20 + 40 * uniform(); i > 0; i--) {
				if (changes)
					period_now = 1000000 >> (int)(8 * uniform());
				weigh(&stretch, uniform() * 500000);
			}
			residue += stretch_residue(&stretch);
			variance += stretch_variance(&stretch) * 1e6;
		}
		held += fabs(residue) <= 2.2 * sqrt(variance); /* the interval of stats.c */
	}
	return held;
}

/*
 * 95 of 100 intervals hold the truth, for one thread, whose error has only two values, and for
 * many.
 */
static void test_interval_holds_the_truth(void **state)
{
	static const int threads[] = {1, 3, 100}, least[] = {1800, 1880, 1880};

	random_state = 11;
	for (int k = 0; k < 3; k++)
		for (int changes = 0; changes < 2; changes++)
			assert_in_range(intervals_that_hold(threads[k], changes), least[k], 1995);
}

static void test_wakers_are_announced(void **state)
{
	int announced = 0, kept = 0;

	random_state = 5;
	period_now = 1000000;
	struct stretch stretch = {};
	stretch_begin(&stretch);
	for (int i = 0; i < 100000; i++) {
		uint64_t length = uniform() * 100000;
		int may = may_be_kept(&stretch, length);
		uint64_t weight = weigh(&stretch, length);

		assert_true(may || !weight);
		announced += may;
		kept += weight > 0;
	}
	assert_true(kept > 4000 && announced < 3 * kept);
}

static void test_period_follows_the_cost(void **state)
{
	assert_int_equal(period_next(1000000, 0.02, 0.01, 1000000000), 2000000);
	assert_int_equal(period_next(1000000, 0.5, 0.01, 1000000000), 2000000);
	assert_int_equal(period_next(1000000, 0.005, 0.01, 1000000000), 1000000);
	assert_int_equal(period_next(1000000, 0.001, 0.01, 1000000000), 500000);
	assert_int_equal(period_next(100000, 0, 0.01, 1000000000), 100000);
	assert_int_equal(period_next(1000000000, 1, 0.01, 1000000000), 1000000000);
	assert_int_equal(period_next(1000000000, 1, 0.01, 4000000000), 2000000000);
	assert_int_equal(period_next(1000000, 0.005, 0.0025, 1000000000), 2000000);
	assert_int_equal(period_next(1000000, 0.001, 0.0025, 1000000000), 1000000);
	assert_int_equal(period_first(0), 0);
	assert_int_equal(period_first(5000), 5000);
	assert_in_range(period_first(PERIOD_AUTO), 1000000, 100000000);
}

static struct bf_count_key runtime_row(uint32_t pid, uint32_t tid, const char *comm)
{
	struct bf_count_key key = {.pid = pid, .tid = tid, .reason = BF_REASON_RUNTIME};

	strncpy(key.comm, comm, sizeof key.comm - 1);
	return key;
}

static uint64_t time_of(const struct profile *profile, uint32_t tid)
{
	uint64_t total = 0;

	for (size_t i = 0; i < profile->n_samples; i++)
		if (profile->samples[i].tid == tid)
			total += profile->samples[i].nanoseconds;
	return total;
}

static void test_runtime_is_distributed(void **state)
{
	struct bf_count_key busy = runtime_row(10, 11, "busy"), idle = runtime_row(10, 12, "idle");
	struct profile_sample sample = {.pid = 10, .tid = 11, .reason = REASON_ONCPU, .count = 1};
	struct cpu_times cpu_times = {};
	struct profile *profile;
	uint32_t location = 0, mapping;

	assert_int_equal(profile_new(PROFILE_WALL, &profile), 0);
	profile->frequency = 100;
	assert_int_equal(cpu_times_add(&cpu_times, &busy, 0, 3000), 0);
	assert_int_equal(cpu_times_add(&cpu_times, &busy, 0, 1000), 0);
	assert_int_equal(cpu_times_add(&cpu_times, &idle, 0, 70), 0);

	assert_int_equal(profile_add_mapping(profile, &(struct profile_mapping){}, &mapping), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(profile_add_location(profile, mapping, i, false, &location), 0);
		assert_int_equal(
			profile_add_stack(profile, &location, 1, STACK_COMPLETE, &sample.stack), 0);
		sample.count = i ? 3 : 1;
		assert_int_equal(profile_add_sample(profile, &sample), 0);
	}
	/* Leaves off-CPU time alone. A thread whose row was lost keeps its samples. */
	sample.reason = REASON_SLEEP;
	sample.nanoseconds = 500;
	assert_int_equal(profile_add_sample(profile, &sample), 0);
	sample = (struct profile_sample){.pid = 10, .tid = 13, .reason = REASON_ONCPU, .count = 2};
	assert_int_equal(profile_add_sample(profile, &sample), 0);

	assert_int_equal(cpu_times_distribute(&cpu_times, profile), 0);
	assert_int_equal(profile->samples[0].nanoseconds, 1000);
	assert_int_equal(profile->samples[1].nanoseconds, 3000);
	assert_int_equal(time_of(profile, 11), 4500);
	assert_int_equal(time_of(profile, 12), 70);
	assert_int_equal(time_of(profile, 13), 20000000);
	cpu_times_done(&cpu_times);
	profile_free(profile);
}

/* CPU time with @stack, summed over the threads in the same thousand as @tid. */
static uint64_t time_in(const struct profile *profile, uint32_t tid, uint32_t stack)
{
	uint64_t total = 0;

	for (size_t i = 0; i < profile->n_samples; i++)
		if (profile->samples[i].tid / 1000 == tid / 1000 &&
		    profile->samples[i].stack == stack)
			total += profile->samples[i].nanoseconds;
	return total;
}

static void test_unsampled_threads_have_the_stacks_of_their_like(void **state)
{
	enum { BREAD = 1, LOAF, N_THREADS = 100 };
	struct cpu_times cpu_times = {};
	struct profile *profile;
	uint32_t mapping, location, stacks[2];

	assert_int_equal(profile_new(PROFILE_WALL, &profile), 0);
	assert_int_equal(profile_add_mapping(profile, &(struct profile_mapping){}, &mapping), 0);
	/* Two programs with one name; a quarter of the first one's samples is in one place. */
	for (int i = 0; i < 2; i++) {
		struct profile_sample sample = {
			.pid = 10, .tid = 1000, .reason = REASON_ONCPU, .count = i ? 3 : 1};

		assert_int_equal(profile_add_location(profile, mapping, i, false, &location), 0);
		assert_int_equal(
			profile_add_stack(profile, &location, 1, STACK_COMPLETE, &stacks[i]), 0);
		sample.stack = stacks[i];
		assert_int_equal(profile_add_sample(profile, &sample), 0);
	}
	for (uint32_t i = 0; i < N_THREADS; i++) {
		struct bf_count_key like = runtime_row(10, 1000 + i, "bake"),
				    other = runtime_row(20, 2000 + i, "bake");

		assert_int_equal(cpu_times_add(&cpu_times, &like, BREAD, 100), 0);
		assert_int_equal(cpu_times_add(&cpu_times, &other, LOAF, 10), 0);
	}
	assert_int_equal(cpu_times_distribute(&cpu_times, profile), 0);
	/* To one thread's time. */
	assert_in_range(time_in(profile, 1000, stacks[0]), 2400, 2600);
	assert_in_range(time_in(profile, 1000, stacks[1]), 7400, 7600);
	assert_int_equal(time_in(profile, 2000, stacks[0]), 0);
	assert_int_equal(time_in(profile, 2000, stacks[1]), 0);
	for (size_t i = 0; i < profile->n_samples; i++)
		if (profile->samples[i].tid >= 2000)
			assert_int_equal(profile->stacks[profile->samples[i].stack].end,
					 STACK_UNSAMPLED);
	assert_int_equal(time_of(profile, 1007), 100);
	assert_int_equal(time_of(profile, 2007), 10);
	cpu_times_done(&cpu_times);
	profile_free(profile);
}

static void test_wakers_are_kept_by_id(void **state)
{
	struct bf_waker_event a = {.id = 1, .waker = {.pid = 5}},
			      b = {.id = 3, .waker = {.pid = 6}};
	struct bf_wakers_event chain = {.id = 9, .n = 2, .wakers = {1, 3}};
	struct wakers wakers = {};

	assert_int_equal(wakers_add(&wakers, &a), 0);
	assert_int_equal(wakers_add(&wakers, &b), 0);
	assert_int_equal(wakers_add(&wakers, &a), 0);
	assert_int_equal(wakers_add_chain(&wakers, &chain), 0);
	assert_int_equal(wakers_add_chain(&wakers, &chain), 0);
	assert_int_equal(wakers.now.n_wakers, 2);
	assert_int_equal(wakers.now.n_chains, 1);
	assert_int_equal(wakers_find(&wakers, 3)->pid, 6);
	assert_null(wakers_find(&wakers, 2));
	assert_int_equal(wakers_find_chain(&wakers, 9)->wakers[1], 3);
	assert_null(wakers_find_chain(&wakers, 1));
	wakers_done(&wakers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_everything_is_kept_with_period_0),
		cmocka_unit_test(test_long_periods_are_kept_as_they_are),
		cmocka_unit_test(test_total_is_within_one_stretch),
		cmocka_unit_test(test_any_periods_leave_the_total_within_one),
		cmocka_unit_test(test_kinds_have_their_shares),
		cmocka_unit_test(test_changes_of_the_period_leave_no_bias),
		cmocka_unit_test(test_interval_holds_the_truth),
		cmocka_unit_test(test_wakers_are_announced),
		cmocka_unit_test(test_period_follows_the_cost),
		cmocka_unit_test(test_runtime_is_distributed),
		cmocka_unit_test(test_unsampled_threads_have_the_stacks_of_their_like),
		cmocka_unit_test(test_wakers_are_kept_by_id),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
