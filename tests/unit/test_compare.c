/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether a difference is called a change, compared with probabilities summed in another way. */
#include "cmocka_all.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit/made_sides.h"

#define CASES "tests/compare_cases.txt"

/* Returns whether @line is a case; *@ret_is_wrong: and not as expected. */
static bool judge_case(const char *line, bool *ret_is_wrong)
{
	double confidence, totals[2], variances[2], weights[2], own[2];
	char scale[8], of[8], expected[8];
	struct compare_options options;
	size_t compared_items, runs[2];
	struct stacks stacks;
	bool is_times;

	if (sscanf(line, "%7s %7s %lf %zu %lf %lf %lf %lf %zu %zu %lf %lf %lf %lf %7s", scale, of,
		   &confidence, &compared_items, &totals[0], &totals[1], &variances[0],
		   &variances[1], &runs[0], &runs[1], &weights[0], &weights[1], &own[0], &own[1],
		   expected) != 15)
		return false;
	is_times = strcmp(of, "times") == 0;
	options = (struct compare_options){
		.confidence = confidence,
		.scale = strcmp(scale, "plain") == 0 ? SCALE_ABSOLUTE : SCALE_NORMALIZED,
		.n_compared = compared_items,
		.variances = {[SIDE_BASE] = variances[0], [SIDE_NEW] = variances[1]},
		.runs = {[SIDE_BASE] = runs[0], [SIDE_NEW] = runs[1]},
	};
	stacks = is_times ? times_of(totals[0], totals[1]) : samples_of(totals[0], totals[1]);
	*ret_is_wrong = strcmp(expected, change_kind_name(compared(&stacks, &options, weights[0],
								   weights[1],
								   is_times ? own[0] : weights[0],
								   is_times ? own[1] : weights[1])
								  .kind)) != 0;
	return true;
}

static void cases_shared_with_the_explorer(void **state)
{
	FILE *stream = fopen(CASES, "re");
	size_t n = 0;
	char line[256];

	assert_non_null(stream);
	while (fgets(line, sizeof line, stream)) {
		bool is_wrong;

		if (*line == '#')
			continue;
		if (!judge_case(line, &is_wrong) || is_wrong)
			fail_msg("%s", line);
		n++;
	}
	fclose(stream);
	assert_true(n > 30);
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

static void self_weights_are_compared_too(void **state)
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

/* A part that is nearly everything cannot vary much, because its total varies with it. */
static void part_and_total_vary_together(void **state)
{
	struct stacks stacks = samples_of(5970, 5970);

	assert_int_equal(counts(&stacks, &shares, 5300, 5400).kind, CHANGE_GREW);
	assert_int_equal(counts(&stacks, &absolute, 5300, 5400).kind, CHANGE_NONE);
	assert_int_equal(counts(&stacks, &shares, 5970, 5970).kind, CHANGE_NONE);
}

static void a_part_that_is_everything(void **state)
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

/* Compared with sums in another way: log-factorials added up, the whole distribution summed */

#define MOST 4000
static double log_factorials[MOST + 1];

static double log_choose(int n, int k)
{
	return log_factorials[n] - log_factorials[k] - log_factorials[n - k];
}

/* The smaller tail for @new_, given the totals @base_total and @new_total; 0: infinite. */
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

/* The probabilities as computed and as summed. Far-out tails may be less accurate. */
static void expect_tail(double deviations, double expected)
{
	double given = erfc(fabs(deviations) / M_SQRT2) / 2;

	/* 0: at least one half, or too few samples. */
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

/* Growth of a part takes from the rest: both get the same evidence, whatever their sizes. */
static void part_and_rest_give_the_same_evidence(void **state)
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

/* No jump where summing ends and the approximation begins. */
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

/* Many items */

static void add_counts(struct compare_family *family, const struct stacks *stacks, uint64_t base,
		       uint64_t new_)
{
	compare_family_add(
		family, stacks, &absolute,
		(const struct tree_side[N_SIDES]){[SIDE_BASE] = {.self = base, .total = base},
						  [SIDE_NEW] = {.self = new_, .total = new_}});
}

/* Thousands of rare items do not weaken the evidence for hot ones. */
static void rare_things_do_not_count(void **state)
{
	struct stacks stacks = samples_of(100000, 100000);
	struct compare_family family = {0};

	assert_int_equal(compare_family_size(&family, 99), 1);
	for (int i = 0; i < 20; i++)
		add_counts(&family, &stacks, 500, 500);
	assert_int_equal(compare_family_size(&family, 99), 20);
	for (int i = 0; i < 5000; i++)
		add_counts(&family, &stacks, i % 4, 3); /* at least 2^-6 */
	assert_int_equal(family.n, 5020);
	assert_int_equal(compare_family_size(&family, 99), 20);
	/* 2^-10 is below 0.5 %, yet above 0.5 % / 20. */
	for (int i = 0; i < 5000; i++)
		add_counts(&family, &stacks, 5, 5);
	assert_int_equal(compare_family_size(&family, 99), 20);
	/* 2^-20 is not, so all of these count. */
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

/*
 * One period on each side, of any length, proves nothing; a folded file of times looks like that.
 */
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

/* A fraction of a period counts as none. */
static void parts_of_periods(void **state)
{
	struct stacks stacks = times_of(1e12, 1e12);

	assert_int_equal(compared(&stacks, &absolute, 0, 7.9e6, 0, 7.9e12).kind, CHANGE_NONE);
	assert_int_equal(compared(&stacks, &absolute, 0, 8.1e6, 0, 8.1e12).kind, CHANGE_NEW);
	assert_int_equal(compared(&stacks, &shares, 0.1e6, 8.9e6, 0.1e12, 8.9e12).kind,
			 CHANGE_NONE);
}

/* A share made of many short waits is no more certain than the few long waits beside it. */
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

/* Compares by weights within a run, however many runs a side has. */
static void weights_within_a_run(void **state)
{
	struct stacks stacks = samples_of(3000, 1000);
	struct compare_options options = {.scale = SCALE_ABSOLUTE,
					  .runs = {[SIDE_BASE] = 3, [SIDE_NEW] = 1}};
	struct change change = counts(&stacks, &options, 3000, 1010);

	assert_int_equal(change.kind, CHANGE_NONE);
	assert_true(change.base == 1000 && change.new_ == 1010);
	change = counts(&stacks, &options, 3000, 1200);
	assert_int_equal(change.kind, CHANGE_GREW);
	assert_true(fabs(change.ratio - 0.2) < 1e-12);
}

/* With four times the variance of chance, half as certain. */
static void dispersion_counts(void **state)
{
	struct stacks stacks = samples_of(100000, 100000);
	struct compare_options options = {.dispersion = 4};
	struct change sure = counts(&stacks, &shares, 4000, 4400);
	struct change change = counts(&stacks, &options, 4000, 4400);

	assert_int_equal(sure.kind, CHANGE_GREW);
	assert_int_equal(change.kind, CHANGE_NONE);
	assert_true(fabs(change.deviations / sure.deviations - 0.5) < 0.01);
	options.dispersion = 0.1; /* no dispersion is below chance */
	change = counts(&stacks, &options, 4000, 4400);
	assert_true(change.deviations == sure.deviations);
}

static void kind_names(void **state)
{
	assert_string_equal(change_kind_name(CHANGE_NONE), "none");
	assert_string_equal(change_kind_name(CHANGE_GONE), "gone");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cases_shared_with_the_explorer),
		cmocka_unit_test(figures),
		cmocka_unit_test(self_weights_are_compared_too),
		cmocka_unit_test(part_and_total_vary_together),
		cmocka_unit_test(a_part_that_is_everything),
		cmocka_unit_test(exact_probabilities),
		cmocka_unit_test(part_and_rest_give_the_same_evidence),
		cmocka_unit_test(approximation_fits),
		cmocka_unit_test(extremes_are_numbers),
		cmocka_unit_test(empty_sides),
		cmocka_unit_test(more_confidence_needs_more),
		cmocka_unit_test(rare_things_do_not_count),
		cmocka_unit_test(self_and_total_count),
		cmocka_unit_test(one_period_each),
		cmocka_unit_test(parts_of_periods),
		cmocka_unit_test(the_rest_varies_too),
		cmocka_unit_test(variances_are_read),
		cmocka_unit_test(weights_within_a_run),
		cmocka_unit_test(dispersion_counts),
		cmocka_unit_test(kind_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
