/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ticks by lot: as many as asked for, whoever looks late, and nobody knows when. */
#include "unit/cmocka_all.h"

#include <math.h>
#include <stdlib.h>

#include "base/system.h"
#include "collect/ticks.h"

#define SECOND	 NSEC_PER_SEC
#define LENGTH	 (2000 * SECOND)
#define MICROSEC 1000

struct run {
	double n;	   /* ticks */
	double n_near;	   /* those that follow the last of their timer by less than a half */
	double n_expected; /* those that come when somebody expects them, see is_expected() */
	uint64_t gap;	   /* the longest without a tick */
};

/* Whether somebody who sees all ticks, and takes each distance for a period, expects one at @at. */
static bool is_expected(const uint64_t *last, unsigned int n, uint64_t at)
{
	for (unsigned int i = 1; i < 16 && n > 16; i++) {
		uint64_t one = last[(n - i) % 64], other = last[(n - i - 1) % 64];

		if (llabs((int64_t)(at - one - (one - other))) < 100 * MICROSEC)
			return true;
	}
	return false;
}

/* The ticks of one timer, looked at every ticks_patience(), or later by up to @late of the mean. */
static struct run run_timer(uint64_t mean, double late)
{
	struct tick_timer timer = {mean, mean};
	uint64_t now = 0, before = 0, last[64] = {};
	struct run run = {};
	unsigned int n = 0;

	srand(7);
	while (now < LENGTH) {
		uint64_t looked = now + ticks_patience(mean, now) +
				  (uint64_t)(late * mean * (rand() / (double)RAND_MAX));

		for (uint64_t at = timer.at; at <= looked; at += timer.period) {
			run.n++;
			run.n_near += before && at - before < mean / 2;
			run.n_expected += is_expected(last, n, at);
			if (at - before > run.gap)
				run.gap = at - before;
			last[n++ % 64] = before = at;
		}
		now = looked;
		ticks_draw(&timer, now, mean, (uint32_t)rand() << 1);
		assert_true(timer.at > now);
	}
	return run;
}

static void as_many_ticks_as_asked_for(void **state)
{
	static const unsigned int frequencies[] = {1, 19, 99, 250};

	for (size_t i = 0; i < sizeof frequencies / sizeof *frequencies; i++) {
		uint64_t mean = ticks_mean(frequencies[i]);
		double expected = LENGTH / (double)mean;
		struct run run = run_timer(mean, 0);

		/* 4 standard deviations: the distances' variance is a twelfth of their mean's
		 * square. */
		assert_true(fabs(run.n - expected) < 4 * sqrt(expected * 0.0534) + 1);
		assert_true(run.n_near == 0);
		assert_true(run.gap <= mean * 1.4 + 1);
	}
}

static void no_tick_is_expected(void **state)
{
	struct run run = run_timer(ticks_mean(99), 0);

	assert_true(run.n_expected < 0.1 * run.n);
}

/* On a busy machine. */
static void looking_late_changes_little(void **state)
{
	uint64_t mean = ticks_mean(99);
	double expected = LENGTH / (double)mean;

	assert_true(fabs(run_timer(mean, 0.15).n / expected - 1) < 0.01);
	for (double late = 0.3; late < 50; late *= 2)
		assert_true(fabs(run_timer(mean, late).n / expected - 1) < 0.2);
}

static void first_periods_differ_and_add_up(void **state)
{
	uint64_t periods[BF_TIMERS], others[BF_TIMERS];
	unsigned int n_same = 0;
	double sum = 0;

	assert_int_equal(ticks_periods(99, periods), 0);
	assert_int_equal(ticks_periods(99, others), 0);
	for (int i = 0; i < BF_TIMERS; i++) {
		sum += (double)SECOND / periods[i];
		n_same += periods[i] == others[i];
		assert_true(periods[i] > ticks_mean(99) / 2 && periods[i] < ticks_mean(99) * 2);
	}
	assert_true(fabs(sum - 99) < 0.001);
	assert_true(n_same < BF_TIMERS);
}

/* Even if the looks stop for as long as one likes. */
static void the_next_tick_is_never_at_once(void **state)
{
	uint64_t mean = ticks_mean(99);
	struct tick_timer timer = {mean, mean / 3};

	assert_false(ticks_draw(&timer, mean - 1, mean, 0));
	assert_true(ticks_draw(&timer, 3600 * SECOND, mean, 0));
	assert_true(timer.period >= mean / 2 && timer.at == 3600 * SECOND + timer.period);
}

/* The first stretch of time has as many as any other. */
static void ticks_begin_at_once(void **state)
{
	uint64_t mean = ticks_mean(99);
	double n = 0;

	srand(7);
	for (int i = 0; i < 20000; i++) {
		struct tick_timer timer;

		ticks_begin(&timer, 0, mean, (uint32_t)rand() << 1);
		for (uint64_t now = 0; now < 2 * mean;) {
			uint64_t looked = now + ticks_patience(mean, now);

			for (uint64_t at = timer.at; at <= looked && at < 2 * mean;
			     at += timer.period)
				n++;
			now = looked;
			ticks_draw(&timer, now, mean, (uint32_t)rand() << 1);
		}
	}
	assert_true(fabs(n / 40000 - 1) < 0.03);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_many_ticks_as_asked_for),
		cmocka_unit_test(no_tick_is_expected),
		cmocka_unit_test(looking_late_changes_little),
		cmocka_unit_test(first_periods_differ_and_add_up),
		cmocka_unit_test(ticks_begin_at_once),
		cmocka_unit_test(the_next_tick_is_never_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
