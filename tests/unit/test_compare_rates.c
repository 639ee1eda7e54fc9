/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How often a difference is called a change, by simulation of programs that did or did not change.
 */
#include "cmocka_all.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "unit/made_programs.h"
#include "unit/made_sides.h"

/* Counts from one comparison of two recordings. */
struct found {
	int each;   /* changed functions, each judged alone */
	int family; /* judged as one of many */
	bool first; /* the first one grew, judged alone */
	bool first_of_all;
};

/* Weights and variances of functions; both sides' totals in @stacks. */
static struct found look_at(struct stacks *stacks, const struct compare_options *given,
			    const struct tree_side sides[N_FUNCTIONS][N_SIDES])
{
	struct compare_options alone = *given, all = *given;
	struct compare_family family = {0};
	struct found found = {0};

	for (int i = 0; i < N_FUNCTIONS; i++)
		compare_family_add(&family, stacks, given, sides[i]);
	all.n_compared = compare_family_size(&family, given->confidence);
	for (int i = 0; i < N_FUNCTIONS; i++) {
		struct change one, together;

		compare_totals(stacks, &alone, sides[i], &one);
		compare_totals(stacks, &all, sides[i], &together);
		found.each += one.kind != CHANGE_NONE;
		found.family += together.kind != CHANGE_NONE;
		if (i == 0) {
			found.first = one.kind == CHANGE_GREW;
			found.first_of_all = together.kind == CHANGE_GREW;
		}
	}
	return found;
}

/* @growth: how much longer the new one runs, when both do the same work to its end. */
static struct found compare_programs(const struct program *base, const struct program *new_,
				     int n_samples, double growth,
				     const struct compare_options *options)
{
	uint64_t drawn[N_SIDES][N_FUNCTIONS];
	struct tree_side sides[N_FUNCTIONS][N_SIDES] = {0};
	struct stacks stacks = samples_of(n_samples, n_samples);

	if (options->scale == SCALE_ABSOLUTE) {
		stacks.totals[SIDE_BASE] = random_poisson(n_samples);
		stacks.totals[SIDE_NEW] = random_poisson(n_samples * growth);
	}
	draw_samples(base, stacks.totals[SIDE_BASE], drawn[SIDE_BASE]);
	draw_samples(new_, stacks.totals[SIDE_NEW], drawn[SIDE_NEW]);
	for (int i = 0; i < N_FUNCTIONS; i++)
		for (int side = 0; side < N_SIDES; side++)
			sides[i][side].total = sides[i][side].self = drawn[side][i];
	return look_at(&stacks, options, sides);
}

struct rates {
	double each, family, first, first_of_all; /* 0 to 1 */
};

static struct rates add_rates(struct rates rates, const struct found *found, int repetitions)
{
	rates.each += (double)found->each / N_FUNCTIONS / repetitions;
	rates.family += (double)(found->family > 0) / repetitions;
	rates.first += (double)found->first / repetitions;
	rates.first_of_all += (double)found->first_of_all / repetitions;
	return rates;
}

static struct rates simulate(double first, double slower, int n_samples, int repetitions,
			     const struct compare_options *options)
{
	struct program base = make_program(first, 1), new_ = make_program(first, slower);
	struct rates rates = {0};

	for (int i = 0; i < repetitions; i++) {
		double growth = 1 + first * (slower - 1);
		struct found found = compare_programs(&base, &new_, n_samples, growth, options);

		rates = add_rates(rates, &found, repetitions);
	}
	print_message("  first function %4.1f %%, %2.0f %% slower, %6d samples, %s: alone %.1f %%, "
		      "of all %.1f %%; any function %.2f %%, any comparison %.2f %%\n",
		      first * 100, slower * 100 - 100, n_samples,
		      options->scale == SCALE_ABSOLUTE ? "absolute" : "shares", rates.first * 100,
		      rates.first_of_all * 100, rates.each * 100, rates.family * 100);
	return rates;
}

/* 1,000 comparisons of identical programs: 1 %, with three standard deviations of the count. */
static void false_alarms(void **state)
{
	const double firsts[] = {0.02, 0.3};

	random_state = 5;
	for (int i = 0; i < 4; i++) {
		struct rates rates =
			simulate(firsts[i / 2], 1, N_SAMPLES, 1000, i % 2 ? &absolute : &shares);

		assert_true(rates.each <= 0.01);
		assert_true(rates.family <= 0.0195);
	}
}

/*
 * A function with 30 % of all time. Slower by 10 %, it has 179 more samples of 5,970: 2.9 standard
 * deviations, if the same work is recorded. Shares show 2.4 in 30 s of one thread (which no test
 * finds at 99 % in more than half of all cases) and 3.4 in 30 s of two.
 */
static void regressions_are_found(void **state)
{
	random_state = 6;
	assert_true(simulate(0.3, 1.1, N_SAMPLES, 300, &absolute).first >= 0.6);
	assert_true(simulate(0.3, 1.2, N_SAMPLES, 300, &absolute).first >= 0.95);
	assert_true(simulate(0.3, 1.1, 2 * N_SAMPLES, 300, &shares).first >= 0.6);
	assert_true(simulate(0.3, 1.2, N_SAMPLES, 300, &shares).first >= 0.95);
	assert_true(simulate(0.3, 1.2, 2 * N_SAMPLES, 300, &shares).first_of_all >= 0.95);
	assert_true(simulate(0.3, 1.5, N_SAMPLES, 200, &shares).first_of_all > 0.999);
}

/* Out of reach for any test: 119 samples vary by 11, and 10 % are 12. */
static void rare_functions_hide(void **state)
{
	random_state = 9;
	assert_true(simulate(0.02, 1.1, N_SAMPLES, 200, &absolute).first < 0.1);
	assert_true(simulate(0.02, 1.5, N_SAMPLES, 200, &absolute).first >= 0.7);
}

/*
 * Times: exponentially distributed periods, their number left to chance, of 50 functions that wait.
 */

/*
 * @guess: use only the number and the sum of a function's periods: for exponential ones, the sum of
 * squares is expected to be 2 × sum² / (number + 1).
 */
static void draw_times(const struct program *program, double mean_periods, bool guess,
		       enum stacks_side side, struct stacks *stacks,
		       struct compare_options *options,
		       struct tree_side sides[N_FUNCTIONS][N_SIDES])
{
	for (int i = 0; i < N_FUNCTIONS; i++) {
		/* Rare waits are long ones here. */
		double length = 1e6 * (1 + i % 7), time = 0, squares = 0;
		unsigned int n = random_poisson(program->share[i] * mean_periods);

		for (unsigned int k = 0; k < n; k++) {
			double period = length * random_exponential();

			time += period;
			squares += period * period;
		}
		if (guess)
			squares = 2 * time * time / (n + 1);
		sides[i][side] = (struct tree_side){.total = time,
						    .self = time,
						    .self_variance = squares,
						    .total_variance = squares};
		stacks->totals[side] += sides[i][side].total;
		options->variances[side] += squares;
	}
}

static struct rates simulate_times(double slower, double mean_periods, bool guess, int repetitions,
				   enum stacks_scale scale)
{
	struct program base = make_program(0.3, 1), new_ = make_program(0.3, slower);
	struct rates rates = {0};

	for (int i = 0; i < repetitions; i++) {
		struct tree_side sides[N_FUNCTIONS][N_SIDES] = {0};
		struct stacks stacks = times_of(0, 0);
		struct compare_options options = {.scale = scale};
		struct found found;

		draw_times(&base, mean_periods, guess, SIDE_BASE, &stacks, &options, sides);
		draw_times(&new_, mean_periods, guess, SIDE_NEW, &stacks, &options, sides);
		found = look_at(&stacks, &options, sides);
		rates = add_rates(rates, &found, repetitions);
	}
	print_message("  times: %2.0f %% slower, %6.0f periods, %s: alone %.1f %%, of all %.1f %%; "
		      "any function %.2f %%, any comparison %.2f %%\n",
		      slower * 100 - 100, mean_periods,
		      scale == SCALE_ABSOLUTE ? "absolute" : "shares", rates.first * 100,
		      rates.first_of_all * 100, rates.each * 100, rates.family * 100);
	return rates;
}

static void false_alarms_of_times(void **state)
{
	random_state = 7;
	for (int i = 0; i < 8; i++) {
		struct rates rates =
			simulate_times(1, i & 2 ? 5000 : 500, i & 4, i & 2 ? 500 : 1000,
				       i & 1 ? SCALE_ABSOLUTE : SCALE_NORMALIZED);

		assert_true(rates.each <= 0.011);
		assert_true(rates.family <= 0.02);
	}
}

static void slower_waits_are_found(void **state)
{
	random_state = 8;
	assert_true(simulate_times(1.5, 20000, true, 50, SCALE_NORMALIZED).first_of_all > 0.999);
	assert_true(simulate_times(1.2, 20000, false, 50, SCALE_NORMALIZED).first_of_all >= 0.95);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(false_alarms),		  cmocka_unit_test(regressions_are_found),
		cmocka_unit_test(rare_functions_hide),	  cmocka_unit_test(false_alarms_of_times),
		cmocka_unit_test(slower_waits_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
