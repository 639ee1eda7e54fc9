/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether a difference is called a change: against probabilities summed up by another way, and by
 * simulation of programs that did and did not change. Seeds are fixed: every run is the same run.
 */
#include "cmocka_all.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/compare.h"

/* Random numbers: splitmix64 */

static uint64_t random_state;

static uint64_t random_bits(void)
{
	uint64_t z = random_state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

/* Above 0, up to 1. */
static double random_unit(void)
{
	return ((random_bits() >> 11) + 1) / 9007199254740992.0;
}

static double random_exponential(void)
{
	return -log(random_unit());
}

static unsigned int random_poisson(double mean)
{
	unsigned int n = 0;

	for (double sum = random_exponential(); sum < mean; sum += random_exponential())
		n++;
	return n;
}

/* One thing on two sides */

static struct stacks samples_of(uint64_t base_total, uint64_t new_total)
{
	return (struct stacks){.is_comparison = true,
			       .totals = {[SIDE_BASE] = base_total, [SIDE_NEW] = new_total}};
}

static struct stacks times_of(uint64_t base_total, uint64_t new_total)
{
	struct stacks stacks = samples_of(base_total, new_total);

	stacks.facts[SIDE_BASE].mode = stacks.facts[SIDE_NEW].mode = PROFILE_OFFCPU;
	return stacks;
}

static struct change compared(const struct stacks *stacks, const struct compare_options *options,
			      double base, double new_, double base_variance, double new_variance)
{
	const struct tree_side sides[N_SIDES] = {
		[SIDE_BASE] = {.total = base, .total_variance = base_variance},
		[SIDE_NEW] = {.total = new_, .total_variance = new_variance},
	};
	struct change change;

	compare_totals(stacks, options, sides, &change);
	return change;
}

static struct change counts(const struct stacks *stacks, const struct compare_options *options,
			    uint64_t base, uint64_t new_)
{
	return compared(stacks, options, base, new_, base, new_);
}

static const struct compare_options shares;
static const struct compare_options absolute = {.scale = SCALE_ABSOLUTE};

static enum change_kind kind(const struct compare_options *options, uint64_t base, uint64_t new_)
{
	struct stacks stacks = samples_of(10000, 10000);

	return counts(&stacks, options, base, new_).kind;
}

static void few_samples(void **state)
{
	const struct compare_options *each[] = {&shares, &absolute};

	for (int i = 0; i < 2; i++) {
		assert_int_equal(kind(each[i], 0, 0), CHANGE_NONE);
		assert_int_equal(kind(each[i], 0, 1), CHANGE_NONE);
		assert_int_equal(kind(each[i], 1, 0), CHANGE_NONE);
		assert_int_equal(kind(each[i], 0, 7), CHANGE_NONE); /* 2^-7 is above 0.5 % */
		assert_int_equal(kind(each[i], 0, 8), CHANGE_NEW);
		assert_int_equal(kind(each[i], 0, 10), CHANGE_NEW);
		assert_int_equal(kind(each[i], 10, 0), CHANGE_GONE);
		assert_int_equal(kind(each[i], 3, 6), CHANGE_NONE);
		assert_int_equal(kind(each[i], 3, 30), CHANGE_GREW);
		assert_int_equal(kind(each[i], 30, 3), CHANGE_SHRANK);
		assert_int_equal(kind(each[i], 100, 110), CHANGE_NONE);
		assert_int_equal(kind(each[i], 3000, 3300), CHANGE_GREW);
	}
}

static void a_single_burst_is_no_change(void **state)
{
	/* One sample where a 1,000 times longer recording had none: improbable, and no evidence. */
	struct stacks stacks = samples_of(1000000, 1000);

	assert_int_equal(counts(&stacks, &shares, 0, 1).kind, CHANGE_NONE);
	assert_int_equal(counts(&stacks, &shares, 0, 4).kind, CHANGE_NONE);
	assert_int_equal(counts(&stacks, &shares, 0, 5).kind, CHANGE_NEW);
}

static void figures(void **state)
{
	struct stacks stacks = samples_of(1000, 2000);
	struct change change = counts(&stacks, &shares, 100, 400);

	assert_int_equal(change.kind, CHANGE_GREW);
	assert_true(fabs(change.base - 0.1) < 1e-12 && fabs(change.new_ - 0.2) < 1e-12);
	assert_true(fabs(change.difference - 0.1) < 1e-12 && fabs(change.ratio - 1) < 1e-12);
	assert_true(change.deviations > 6 && change.deviations < 8);
	assert_true(fabs(change_strength(&change) - 0.5) < 1e-12);

	change = counts(&stacks, &shares, 200, 400);
	assert_true(change.difference == 0 && change.deviations == 0 && change.ratio == 0);

	change = counts(&stacks, &absolute, 400, 100);
	assert_int_equal(change.kind, CHANGE_SHRANK);
	assert_true(change.base == 400 && change.new_ == 100 && change.difference == -300 &&
		    change.ratio == -0.75 && change.deviations < -10);
	assert_true(change_strength(&change) == 0.75);

	change = counts(&stacks, &shares, 0, 50);
	assert_true(isinf(change.ratio) && change_strength(&change) == 1);
	change = counts(&stacks, &shares, 50, 0);
	assert_true(change.ratio == -1 && change_strength(&change) == 1);
}

static void selfs_are_theirs(void **state)
{
	struct stacks stacks = samples_of(1000, 1000);
	const struct tree_side sides[N_SIDES] = {[SIDE_BASE] = {.self = 100, .total = 500},
						 [SIDE_NEW] = {.self = 200, .total = 500}};
	struct change self, total;

	compare_selfs(&stacks, &shares, sides, &self);
	compare_totals(&stacks, &shares, sides, &total);
	assert_int_equal(self.kind, CHANGE_GREW);
	assert_int_equal(total.kind, CHANGE_NONE);
	assert_true(total.difference == 0);
}

/* A part of nearly all cannot vary much: its total varies with it. */
static void part_and_total_vary_together(void **state)
{
	struct stacks stacks = samples_of(5970, 5970);

	assert_int_equal(counts(&stacks, &shares, 5300, 5400).kind, CHANGE_GREW);
	assert_int_equal(counts(&stacks, &absolute, 5300, 5400).kind, CHANGE_NONE);
	assert_int_equal(counts(&stacks, &shares, 5970, 5970).kind, CHANGE_NONE);
}

static void all_of_both_sides(void **state)
{
	struct stacks stacks = samples_of(10000, 10100);
	struct change change;

	compare_all(&stacks, &shares, &change);
	assert_int_equal(change.kind, CHANGE_NONE);
	assert_true(change.base == 10000 && change.new_ == 10100);
	stacks.totals[SIDE_NEW] = 11000;
	compare_all(&stacks, &shares, &change);
	assert_int_equal(change.kind, CHANGE_GREW);
	stacks.totals[SIDE_NEW] = 0;
	compare_all(&stacks, &shares, &change);
	assert_int_equal(change.kind, CHANGE_GONE);
}

/* Against sums by another way: log-factorials added up, the whole distribution summed */

#define MOST 4000
static double log_factorials[MOST + 1];

static double log_choose(int n, int k)
{
	return log_factorials[n] - log_factorials[k] - log_factorials[n - k];
}

/* The lesser of both tails of @new_, the totals being @base_total, @new_total; 0: infinite. */
static double tail(int base, int new_, int base_total, int new_total)
{
	int n = base + new_;
	double below = 0, above = 0;

	for (int x = 0; x <= n; x++) {
		double term;

		if (base_total && (x > new_total || n - x > base_total))
			continue;
		term = base_total ? log_choose(new_total, x) + log_choose(base_total, n - x) -
					    log_choose(base_total + new_total, n)
				  : log_choose(n, x) - n * M_LN2;
		below += x <= new_ ? exp(term) : 0;
		above += x >= new_ ? exp(term) : 0;
	}
	return fmin(below, above);
}

/* The probabilities of the answer and of the sum. What is beyond doubt may be known less well. */
static void expect_tail(double deviations, double expected)
{
	double given = erfc(fabs(deviations) / M_SQRT2) / 2;

	/* 0: at least a half, or too few samples. */
	if (deviations == 0)
		return;
	if (expected < 1e-300) {
		assert_true(fabs(deviations) > 37);
		return;
	}
	assert_true(fabs(log(given / expected)) < (expected < 1e-9 ? 0.2 : 0.05));
}

static void exact_probabilities(void **state)
{
	const int totals[][2] = {{40, 40}, {300, 300}, {2000, 100}, {100, 2000}, {1990, 2000}};
	size_t n = 0;

	for (int i = 1; i <= MOST; i++)
		log_factorials[i] = log_factorials[i - 1] + log(i);
	for (size_t i = 0; i < sizeof totals / sizeof *totals; i++) {
		struct stacks stacks = samples_of(totals[i][0], totals[i][1]);

		for (int base = 0; base <= totals[i][0]; base += 1 + base / 4) {
			for (int new_ = 0; new_ <= totals[i][1]; new_ += 1 + new_ / 5) {
				struct change change = counts(&stacks, &shares, base, new_);
				double expected = tail(base, new_, totals[i][0], totals[i][1]);

				expect_tail(change.deviations, expected);
				n += change.deviations != 0;
				assert_true(change.difference * change.deviations >= 0);
				change = counts(&stacks, &absolute, base, new_);
				expect_tail(change.deviations, tail(base, new_, 0, 0));
			}
		}
	}
	assert_true(n > 500);
}

/* What grew leaves less for the rest: the same evidence of both, whatever their sizes. */
static void the_rest_says_the_same(void **state)
{
	const uint64_t totals[] = {200, 10000, 1000000000000};

	for (size_t i = 0; i < 3; i++) {
		struct stacks stacks = samples_of(totals[i], totals[i] * 2);

		for (int base = 5; base <= 100; base += 5) {
			struct change part = counts(&stacks, &shares, base, 40);
			struct change rest =
				counts(&stacks, &shares, totals[i] - base, totals[i] * 2 - 40);

			if (part.deviations == 0)
				continue;
			assert_true(fabs(part.deviations + rest.deviations) < 1e-3);
		}
	}
}

/* No step where sums end and the approximation begins. */
static void approximation_fits(void **state)
{
	struct stacks stacks = samples_of(1000000, 1000000);

	for (int base = 600; base < 1000; base++) {
		struct change a = counts(&stacks, &shares, base, base + 120);
		struct change b = counts(&stacks, &shares, base + 1, base + 121);

		assert_true(a.deviations > b.deviations && a.deviations < b.deviations + 0.012);
	}
}

static void expect_numbers(const struct change *change)
{
	assert_true(isfinite(change->base) && isfinite(change->new_) &&
		    isfinite(change->difference) && !isnan(change->ratio) &&
		    !isnan(change->deviations) && change->kind < N_CHANGE_KINDS);
	assert_true(isfinite(change->ratio) || change->base == 0);
	assert_true(isfinite(change_strength(change)) && change_strength(change) <= 1);
}

static void extremes_are_numbers(void **state)
{
	const uint64_t sizes[] = {0,	   1,	       2,	   10,	       1000,
				  1 << 20, 1ull << 33, 1ull << 40, 1ull << 53, 1ull << 63};
	const size_t n = sizeof sizes / sizeof *sizes;

	for (size_t i = 0; i < n * n * n * n; i++) {
		uint64_t total[] = {sizes[i % n], sizes[i / n % n]};
		uint64_t part[] = {sizes[i / n / n % n], sizes[i / n / n / n]};

		if (part[0] > total[0] || part[1] > total[1])
			continue;
		for (int way = 0; way < 8; way++) {
			struct stacks stacks = way & 1 ? times_of(total[0], total[1])
						       : samples_of(total[0], total[1]);
			struct compare_options options = {
				.scale = way & 2 ? SCALE_ABSOLUTE : SCALE_NORMALIZED,
				.confidence = way & 4 ? 99.999 : 0,
				.variances = {(double)total[1] * total[1], total[0]}};
			struct compare_family family = {0};
			struct change change =
				compared(&stacks, &options, part[0], part[1],
					 (double)part[0] * part[0], way & 4 ? part[1] : 0);

			expect_numbers(&change);
			compare_family_add(
				&family, &stacks, &options,
				(const struct tree_side[N_SIDES]){[SIDE_BASE] = {.total = part[0]},
								  [SIDE_NEW] = {.total = part[1]}});
			assert_int_equal(compare_family_size(&family, 99), 1);
		}
	}
}

static void empty_sides(void **state)
{
	struct stacks stacks = samples_of(0, 1000);
	struct change change = counts(&stacks, &shares, 0, 500);

	assert_int_equal(change.kind, CHANGE_NONE);
	assert_true(change.base == 0 && change.new_ == 0.5);
	assert_int_equal(counts(&stacks, &absolute, 0, 500).kind, CHANGE_NEW);
	stacks = samples_of(0, 0);
	expect_numbers(&(struct change){0});
	assert_int_equal(counts(&stacks, &shares, 0, 0).kind, CHANGE_NONE);
}

static void more_confidence_needs_more(void **state)
{
	const double steps[] = {50, 80, 90, 95, 99, 99.9, 99.99, 99.9999};
	struct stacks stacks = samples_of(10000, 10000);
	int least = 0;

	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
		struct compare_options options = {.confidence = steps[i]};
		int n = 1;

		while (counts(&stacks, &options, 0, n).kind == CHANGE_NONE)
			n++;
		assert_true(n >= least);
		least = n;
	}
	assert_int_equal(least, 21);
	assert_int_equal(
		counts(&stacks, &(struct compare_options){.confidence = 100}, 0, 1000).kind,
		CHANGE_NONE);
}

/* Many things */

static void many_things_need_more(void **state)
{
	struct compare_options options = {.n_compared = 1000};

	/* 2^-n is below 1 % / 2 / 1,000 from n = 18 on. */
	assert_int_equal(kind(&options, 0, 10), CHANGE_NONE);
	assert_int_equal(kind(&options, 0, 17), CHANGE_NONE);
	assert_int_equal(kind(&options, 0, 18), CHANGE_NEW);
}

static void add_counts(struct compare_family *family, const struct stacks *stacks, uint64_t base,
		       uint64_t new_)
{
	compare_family_add(
		family, stacks, &absolute,
		(const struct tree_side[N_SIDES]){[SIDE_BASE] = {.self = base, .total = base},
						  [SIDE_NEW] = {.self = new_, .total = new_}});
}

/* Thousands of rare ones leave the hot ones their evidence. */
static void rare_things_do_not_count(void **state)
{
	struct stacks stacks = samples_of(100000, 100000);
	struct compare_family family = {0};

	assert_int_equal(compare_family_size(&family, 99), 1);
	for (int i = 0; i < 20; i++)
		add_counts(&family, &stacks, 500, 500);
	assert_int_equal(compare_family_size(&family, 99), 20);
	for (int i = 0; i < 5000; i++)
		add_counts(&family, &stacks, i % 4, 3); /* 2^-6 at the least */
	assert_int_equal(family.n, 5020);
	assert_int_equal(compare_family_size(&family, 99), 20);
	/* 2^-10 is below 0.5 %, yet above 0.5 % / 20. */
	for (int i = 0; i < 5000; i++)
		add_counts(&family, &stacks, 5, 5);
	assert_int_equal(compare_family_size(&family, 99), 20);
	/* 2^-20 is not: then all of these count. */
	for (int i = 0; i < 3000; i++)
		add_counts(&family, &stacks, 10, 10);
	assert_int_equal(compare_family_size(&family, 99), 3020);
}

static void self_and_total_count(void **state)
{
	struct stacks stacks = samples_of(1000, 1000);
	struct compare_family family = {0};

	compare_family_add(&family, &stacks, &shares,
			   (const struct tree_side[N_SIDES]){{.self = 50, .total = 100},
							     {.self = 50, .total = 100}});
	assert_int_equal(family.n, 2);
	compare_family_add(&family, &stacks, &shares,
			   (const struct tree_side[N_SIDES]){{.self = 50, .total = 50},
							     {.self = 50, .total = 50}});
	compare_family_add(&family, &stacks, &shares,
			   (const struct tree_side[N_SIDES]){{.total = 50}, {.total = 50}});
	assert_int_equal(family.n, 4);
	assert_int_equal(compare_family_size(&family, 99), 4);
}

/* Simulations. A program of 50 functions, sampled at 199 Hz for 30 s. */

#define N_FUNCTIONS 50
#define N_SAMPLES   5970

struct program {
	double share[N_FUNCTIONS];
};

/* Of sizes like 1, 1/2, 1/3, …, the first function having @first of all; then @slower. */
static struct program make_program(double first, double slower)
{
	struct program program = {{first * slower}};
	double sum = 0, all = first * slower + 1 - first;

	for (int i = 1; i < N_FUNCTIONS; i++)
		sum += program.share[i] = 1.0 / i;
	for (int i = 1; i < N_FUNCTIONS; i++)
		program.share[i] *= (1 - first) / sum / all;
	program.share[0] /= all;
	return program;
}

static void draw_samples(const struct program *program, int n, uint64_t counts[N_FUNCTIONS])
{
	double sums[N_FUNCTIONS], sum = 0;

	memset(counts, 0, N_FUNCTIONS * sizeof *counts);
	for (int i = 0; i < N_FUNCTIONS; i++)
		sums[i] = sum += program->share[i];
	for (int i = 0; i < n; i++) {
		double at = random_unit();
		int low = 0, high = N_FUNCTIONS - 1;

		while (low < high) {
			int middle = (low + high) / 2;

			if (sums[middle] < at)
				low = middle + 1;
			else
				high = middle;
		}
		counts[low]++;
	}
}

/* What one comparison of two recordings found. */
struct found {
	int each;   /* functions that changed, each looked at alone */
	int family; /* of all together */
	bool first; /* the first one grew, looked at alone */
	bool first_of_all;
};

/* Weights and variances of functions, both sides' totals in @stacks. */
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

/* @growth: of the new one's time, where the same work is recorded to its end. */
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

/* 1,000 comparisons of identical programs: 1 % and three standard deviations of the count. */
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
 * A function of 30 % of all. Slower by 10 %, it has 179 samples more of 5,970, 2.9 standard
 * deviations, if the same work is recorded; of a share there are 2.4 in 30 s of one thread (no test
 * sees that at 99 % in more than half of all cases), 3.4 in 30 s of two.
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

/* What no test can see: 119 samples are 11 more or less by chance, and 10 % are 12. */
static void rare_functions_hide(void **state)
{
	random_state = 9;
	assert_true(simulate(0.02, 1.1, N_SAMPLES, 200, &absolute).first < 0.1);
	assert_true(simulate(0.02, 1.5, N_SAMPLES, 200, &absolute).first >= 0.7);
}

/* Times: periods of exponential length, as many as chance gives, of 50 functions that wait. */

/*
 * @guess: of a function's periods, only number and sum are known: 2 × sum² / (number + 1) is what
 * squares of exponential ones come to then.
 */
static void draw_times(const struct program *program, double mean_periods, bool guess,
		       enum stacks_side side, struct stacks *stacks,
		       struct compare_options *options,
		       struct tree_side sides[N_FUNCTIONS][N_SIDES])
{
	for (int i = 0; i < N_FUNCTIONS; i++) {
		/* Rare waits are long ones. */
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

/* One period on each side, of any length, says nothing: what a folded file of times looks like. */
static void one_period_each(void **state)
{
	struct stacks stacks = times_of(100000000, 100000000);
	struct change change = compared(&stacks, &shares, 1000000, 90000000, 1e12, 8.1e15);

	assert_int_equal(change.kind, CHANGE_NONE);
	assert_true(change.difference > 0.88);
	assert_int_equal(compared(&stacks, &absolute, 0, 9e7, 0, 8.1e15).kind, CHANGE_NONE);
	/* A hundred do. */
	assert_int_equal(compared(&stacks, &shares, 1000000, 90000000, 1e10, 8.1e13).kind,
			 CHANGE_GREW);
}

/* What is no whole period counts for none. */
static void parts_of_periods(void **state)
{
	struct stacks stacks = times_of(1e12, 1e12);

	assert_int_equal(compared(&stacks, &absolute, 0, 7.9e6, 0, 7.9e12).kind, CHANGE_NONE);
	assert_int_equal(compared(&stacks, &absolute, 0, 8.1e6, 0, 8.1e12).kind, CHANGE_NEW);
	assert_int_equal(compared(&stacks, &shares, 0.1e6, 8.9e6, 0.1e12, 8.9e12).kind,
			 CHANGE_NONE);
}

/* A share of many short waits is no surer than the few long ones beside them. */
static void the_rest_varies_too(void **state)
{
	struct stacks stacks = times_of(4000000000, 3000000000);
	struct compare_options options = {0};

	assert_int_equal(compared(&stacks, &options, 1e9, 1e9, 1e13, 1e13).kind, CHANGE_GREW);
	options.variances[SIDE_BASE] = 1e13 + 3e18;
	options.variances[SIDE_NEW] = 1e13 + 2e18;
	assert_int_equal(compared(&stacks, &options, 1e9, 1e9, 1e13, 1e13).kind, CHANGE_NONE);
}

static void variances_are_read(void **state)
{
	struct stacks_entry entries[] = {{.side = SIDE_BASE, .variance = 2},
					 {.side = SIDE_NEW, .variance = 3},
					 {.side = SIDE_BASE, .variance = 5}};
	struct stacks stacks = {.entries = entries, .n_entries = 3};
	struct compare_options options = {.variances = {9, 9}};

	compare_read_variances(&stacks, &options);
	assert_true(options.variances[SIDE_BASE] == 7 && options.variances[SIDE_NEW] == 3);
}

static void kind_names(void **state)
{
	assert_string_equal(change_kind_name(CHANGE_NONE), "none");
	assert_string_equal(change_kind_name(CHANGE_GONE), "gone");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(few_samples),
		cmocka_unit_test(a_single_burst_is_no_change),
		cmocka_unit_test(figures),
		cmocka_unit_test(selfs_are_theirs),
		cmocka_unit_test(part_and_total_vary_together),
		cmocka_unit_test(all_of_both_sides),
		cmocka_unit_test(exact_probabilities),
		cmocka_unit_test(the_rest_says_the_same),
		cmocka_unit_test(approximation_fits),
		cmocka_unit_test(extremes_are_numbers),
		cmocka_unit_test(empty_sides),
		cmocka_unit_test(more_confidence_needs_more),
		cmocka_unit_test(many_things_need_more),
		cmocka_unit_test(rare_things_do_not_count),
		cmocka_unit_test(self_and_total_count),
		cmocka_unit_test(false_alarms),
		cmocka_unit_test(regressions_are_found),
		cmocka_unit_test(rare_functions_hide),
		cmocka_unit_test(false_alarms_of_times),
		cmocka_unit_test(slower_waits_are_found),
		cmocka_unit_test(one_period_each),
		cmocka_unit_test(parts_of_periods),
		cmocka_unit_test(the_rest_varies_too),
		cmocka_unit_test(variances_are_read),
		cmocka_unit_test(kind_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
