/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The gate's sums, what it learns from runs, and which functions it names. */
#include "cmocka_all.h"

#include <math.h>
#include <string.h>

#include "compare/compact.h"
#include "unit/made_runs.h"
#include "unit/made_stacks.h"

/* Sums of profiles */

static void add_profile(struct gate_sums *sums, struct profile *profile, enum stacks_side side)
{
	struct stacks stacks;

	assert_int_equal(stacks_init(&stacks, &(struct stacks_options){}), 0);
	assert_int_equal(stacks_add(&stacks, profile, SIDE_NEW), 0);
	assert_int_equal(gate_sums_add(sums, &stacks, side), 0);
	stacks_done(&stacks);
	profile_free(profile);
}

static const struct gate_item *find(struct gate_sums *sums, enum gate_by by, const char *name,
				    bool is_kernel)
{
	struct gate_item like = {.by = by, .is_kernel = is_kernel};
	uint32_t found;

	assert_int_equal(strings_add(&sums->strings, name, &like.name), 0);
	return gate_sums_find(sums, &like, &found) ? &sums->items[found] : NULL;
}

static const struct made_sample first_run[] = {
	{"app", "main;work;work", 30},
	{"app", "main;read;read_[k]", 20},
	{"app", "main;inner_[i]", 50},
};

static const struct made_sample second_run[] = {
	{"app", "main;work", 60},
	{"app", "main;inner", 140},
};

static void sums_of_runs(void **state)
{
	const struct gate_item *item;
	struct gate_sums sums;

	assert_int_equal(gate_sums_init(&sums), 0);
	add_profile(&sums, MADE(PROFILE_ONCPU, first_run), SIDE_BASE);
	add_profile(&sums, MADE(PROFILE_ONCPU, second_run), SIDE_BASE);
	assert_int_equal(sums.sides[SIDE_BASE].n_runs, 2);
	assert_int_equal(sums.sides[SIDE_NEW].n_runs, 0);
	assert_true(sums.sides[SIDE_BASE].total == 300);
	assert_true(sums.sides[SIDE_BASE].squares == 100 * 100 + 200 * 200);

	item = find(&sums, GATE_FUNCTION, "work", false);
	assert_non_null(item);
	/* Recursion counts once. */
	assert_true(item->sums[SIDE_BASE][GATE_TOTAL].weight == 90);
	assert_true(item->sums[SIDE_BASE][GATE_SELF].weight == 90);
	assert_true(item->sums[SIDE_BASE][GATE_SELF].squares == 30 * 30 + 60 * 60);
	assert_true(fabs(item->sums[SIDE_BASE][GATE_SELF].squares_by_total - (9 + 18)) < 1e-9);
	/* Inlined and called: one function. In the kernel: another. */
	assert_true(find(&sums, GATE_FUNCTION, "inner", false)->sums[SIDE_BASE][0].weight == 190);
	assert_true(find(&sums, GATE_FUNCTION, "read", true)->sums[SIDE_BASE][GATE_SELF].weight ==
		    20);
	item = find(&sums, GATE_FUNCTION, "read", false);
	assert_true(item->sums[SIDE_BASE][GATE_SELF].weight == 0);
	assert_true(item->sums[SIDE_BASE][GATE_TOTAL].weight == 20);
	assert_null(find(&sums, GATE_FUNCTION, "app", false));
	assert_true(sums.items[0].by == GATE_ALL);
	assert_true(sums.items[0].sums[SIDE_BASE][GATE_TOTAL].weight == 300);
	gate_sums_done(&sums);
}

static const struct made_sample without_symbols[] = {
	{"app", "[app+0x10];[libssl.so.1.1+0x2f];[libssl.so.1.1+0xa0]", 30},
	{"app", "[app+0x1c];[libssl.so.3+0x123]", 20},
	{"app", "[app+0xz];[+];[app+0x];[app]", 10},
	{"app", "[app+0x10];[kernel+0xffffffff81000010]_[k]", 5},
};

static void code_without_symbols_is_its_modules(void **state)
{
	static const char *const kept[] = {"[app+0xz]", "[+]", "[app+0x]"};
	const struct gate_item *item;
	struct gate_sums sums;

	assert_int_equal(gate_sums_init(&sums), 0);
	add_profile(&sums, MADE(PROFILE_ONCPU, without_symbols), SIDE_NEW);
	item = find(&sums, GATE_FUNCTION, "[libssl.so]", false);
	assert_true(item->sums[SIDE_NEW][GATE_SELF].weight == 50);
	assert_true(item->sums[SIDE_NEW][GATE_TOTAL].weight == 50);
	item = find(&sums, GATE_FUNCTION, "[app]", false);
	assert_true(item->sums[SIDE_NEW][GATE_SELF].weight == 10);
	assert_true(item->sums[SIDE_NEW][GATE_TOTAL].weight == 65);
	item = find(&sums, GATE_FUNCTION, "[kernel]", true);
	assert_true(item->sums[SIDE_NEW][GATE_SELF].weight == 5);
	assert_null(find(&sums, GATE_FUNCTION, "[app+0x10]", false));
	for (size_t i = 0; i < COUNT(kept); i++)
		assert_non_null(find(&sums, GATE_FUNCTION, kept[i], false));
	gate_sums_done(&sums);
}

static void modules_without_versions(void **state)
{
	struct profile_mapping mapping = {.kind = MAPPING_FILE};
	struct profile *profile = made_profile(PROFILE_ONCPU, NULL, 0);
	static const char *const paths[] = {"/lib/libssl.so.3", "/opt/libssl.so.1.1", "/bin/app",
					    "/x/libfoo.so.debug"};
	struct gate_sums sums;

	for (size_t i = 0; i < COUNT(paths); i++) {
		struct profile_frame frame = {.kind = FRAME_USER};
		uint32_t index, location;

		assert_int_equal(strings_add(&profile->strings, paths[i], &mapping.path), 0);
		assert_int_equal(strings_add(&profile->strings, "f", &frame.function), 0);
		assert_int_equal(profile_add_mapping(profile, &mapping, &index), 0);
		assert_int_equal(profile_add_named(profile, index, &frame, 1, &location), 0);
		made_add_locations(profile, &(struct made_sample){"a", "", 10}, &location, 1);
	}
	assert_int_equal(gate_sums_init(&sums), 0);
	add_profile(&sums, profile, SIDE_NEW);
	assert_true(find(&sums, GATE_MODULE, "libssl.so", false)->sums[SIDE_NEW][0].weight == 20);
	assert_true(find(&sums, GATE_MODULE, "app", false)->sums[SIDE_NEW][0].weight == 10);
	assert_non_null(find(&sums, GATE_MODULE, "libfoo.so.debug", false));
	assert_true(find(&sums, GATE_FUNCTION, "f", false)->sums[SIDE_NEW][0].weight == 40);
	gate_sums_done(&sums);
}

/* Consecutive windows are one recording; with a gap between them they are several. */
static void recordings(void **state)
{
	const uint64_t s = 1000000000, t = 1800000000 * s;
	const uint64_t windows[][2] = {{t, 10 * s},
				       {t + 10 * s, 10 * s},
				       {t + 20 * s, 10 * s},
				       {t + 60 * s, 10 * s},
				       {0, 0},
				       {0, 0}};
	struct gate_sums sums;

	assert_int_equal(gate_sums_init(&sums), 0);
	for (size_t i = 0; i < COUNT(windows); i++)
		gate_sums_end_run(&sums, SIDE_BASE, 100, 100, windows[i]);
	assert_int_equal(sums.sides[SIDE_BASE].n_runs, 6);
	assert_int_equal(sums.sides[SIDE_BASE].n_recordings, 4);
	gate_sums_done(&sums);
}

/* The spread of runs */

/* Points whose noise is exactly as @square and @clumping say, with no scatter of their own. */
static void noise_is_found(void **state)
{
	const double squares[] = {0.0001, 0.0004, 0.0025};

	for (int i = 0; i < 3; i++) {
		struct noise_point points[60];
		struct noise noise;

		for (int k = 0; k < 60; k++) {
			points[k] = (struct noise_point){.freedom = 38,
							 .slope = 6000.0 / (k + 1),
							 .events = 200000.0 / (k + 1)};
			points[k].statistic = 38 * (1 + squares[i] * points[k].slope);
		}
		noise_fit(points, 60, 2, &noise);
		assert_true(noise.square > squares[i] * 0.95);
		assert_true(noise.square < squares[i] * 1.5);
		assert_true(noise.clumping >= 1 && noise.clumping < 1.1);
	}
}

static void without_runs_noise_is_assumed(void **state)
{
	struct noise_point none[3] = {};
	struct dispersion dispersion;
	struct noise noise;

	noise_fit(NULL, 0, 2, &noise);
	assert_true(fabs(noise.square - 0.0004) < 1e-9 && noise.clumping == 1);
	noise_fit(none, 3, 5, &noise);
	assert_true(fabs(noise.square - 0.0025) < 1e-9);
	/*
	 * For what is rare, sampling noise is everything, so the model is certain. For the rest,
	 * the assumption.
	 */
	dispersion = noise_dispersion(&noise, &none[0], 1);
	assert_true(dispersion.factor < 1.01 && dispersion.freedom == NOISE_MOST_FREEDOM);
	dispersion = noise_dispersion(&noise, &none[0], 1e6);
	assert_true(dispersion.factor > 2000 && dispersion.freedom < NOISE_PRIOR_FREEDOM + 1);
}

static void dispersion_is_never_below_chance(void **state)
{
	struct noise noise = {1, 0};
	struct dispersion dispersion = noise_dispersion(
		&noise, &(struct noise_point){.statistic = 0.1, .freedom = 20, .slope = 100}, 100);

	assert_true(dispersion.factor == 1);
	dispersion = noise_dispersion(
		&noise, &(struct noise_point){.statistic = 2000, .freedom = 20, .slope = 100}, 100);
	assert_true(dispersion.factor > 20 && dispersion.factor < 100);
}

/* The verdict */

struct judged {
	struct gate_sums sums;
	struct gate_rules rules;
	struct gate gate;
	uint32_t hot, warm, cold;
};

/* @hot: samples of the hot function in each run of the new side; the base has 1,000 of 5,000. */
static void make_judged(struct judged *judged, int n_runs, const double *hot)
{
	*judged = (struct judged){};
	assert_int_equal(gate_sums_init(&judged->sums), 0);
	judged->hot = made_function(&judged->sums, "hot");
	judged->warm = made_function(&judged->sums, "warm");
	judged->cold = made_function(&judged->sums, "cold");
	for (int run = 0; run < n_runs; run++) {
		double base = 1000 + (run % 3 - 1) * 20, new_ = hot[run];

		made_weight(&judged->sums, judged->hot, SIDE_BASE, base, 5000);
		made_weight(&judged->sums, judged->warm, SIDE_BASE, 5000 - base - 1, 5000);
		made_weight(&judged->sums, judged->cold, SIDE_BASE, 1, 5000);
		made_weight(&judged->sums, judged->hot, SIDE_NEW, new_, 5000);
		made_weight(&judged->sums, judged->warm, SIDE_NEW, 5000 - new_ - 1, 5000);
		made_weight(&judged->sums, judged->cold, SIDE_NEW, 1, 5000);
		made_end(&judged->sums, SIDE_BASE, 5000);
		made_end(&judged->sums, SIDE_NEW, 5000);
	}
}

static void judge(struct judged *judged, double noise)
{
	gate_done(&judged->gate);
	assert_int_equal(gate_judge(&judged->sums, &judged->rules,
				    &(struct gate_options){.noise = noise}, &judged->gate),
			 0);
}

static void judged_done(struct judged *judged)
{
	gate_done(&judged->gate);
	gate_rules_done(&judged->rules);
	gate_sums_done(&judged->sums);
}

static void growth_is_named(void **state)
{
	struct judged judged;
	const struct gate_answer *answer;

	make_judged(&judged, 1, (double[]){1300});
	gate_rules_add(&judged.rules, GATE_FUNCTION, GATE_BIT(GATE_SELF), 10);
	judge(&judged, -1);
	assert_int_equal(judged.gate.n_failed, 1);
	/* One sample on each side is too little to judge. */
	assert_int_equal(judged.gate.n_answers, 2);
	answer = &judged.gate.answers[0];
	assert_ptr_equal(answer->item, &judged.sums.items[judged.hot]);
	/* The base had 980 in its only run. */
	assert_true(fabs(answer->base - 0.196) < 1e-9 && fabs(answer->new_ - 0.26) < 1e-9);
	assert_true(fabs(answer->growth - (0.26 / 0.196 - 1)) < 1e-9);
	assert_true(answer->low > 0.15 && answer->low < answer->growth &&
		    answer->high > answer->growth && answer->high < 0.6);
	assert_true(answer->doubt < 0.001 && !judged.gate.has_runs);
	assert_int_equal(judged.gate.answers[1].state, GATE_PASSED);

	/* More than allowed, but possibly by chance. */
	judge(&judged, 20);
	assert_int_equal(judged.gate.n_failed, 0);
	assert_int_equal(judged.gate.n_unsure, 1);
	judged.rules.rules[0]->fail_over = 40;
	judge(&judged, -1);
	assert_int_equal(judged.gate.n_failed + judged.gate.n_unsure, 0);
	judged_done(&judged);
}

/* The same means; where runs differ this much, the sides may differ too. */
static void the_spread_counts(void **state)
{
	const double steady[] = {1090, 1100, 1110, 1090, 1100, 1110};
	const double unruly[] = {700, 1500, 1100, 1600, 600, 1100};
	struct judged judged;

	make_judged(&judged, 6, steady);
	gate_rules_add(&judged.rules, GATE_FUNCTION, GATE_BIT(GATE_SELF), 5);
	judge(&judged, -1);
	assert_int_equal(judged.gate.n_failed, 1);
	assert_true(judged.gate.has_runs);
	judged_done(&judged);

	make_judged(&judged, 6, unruly);
	gate_rules_add(&judged.rules, GATE_FUNCTION, GATE_BIT(GATE_SELF), 5);
	judge(&judged, -1);
	assert_int_equal(judged.gate.n_failed, 0);
	assert_int_equal(judged.gate.n_unsure, 1);
	assert_true(judged.gate.answers[0].dispersion.factor > 20);
	judged_done(&judged);
}

/* The requested noise is a minimum, whatever the runs show. */
static void noise_can_be_set(void **state)
{
	const double steady[] = {1190, 1200, 1210, 1190, 1200, 1210};
	struct judged judged;

	make_judged(&judged, 6, steady);
	gate_rules_add(&judged.rules, GATE_FUNCTION, GATE_BIT(GATE_SELF), 5);
	judge(&judged, 1);
	assert_int_equal(judged.gate.n_failed, 1);
	judge(&judged, 30);
	assert_true(judged.gate.noise[GATE_FUNCTION].square >= 0.09);
	judged_done(&judged);
}

/* Six windows of one recording are not six recordings. */
static void windows_are_one_recording(void **state)
{
	const uint64_t s = 1000000000;
	struct judged judged = {}, apart = {};
	struct judged *each[] = {&judged, &apart};

	for (int i = 0; i < 2; i++) {
		assert_int_equal(gate_sums_init(&each[i]->sums), 0);
		each[i]->hot = made_function(&each[i]->sums, "hot");
		for (int run = 0; run < 20; run++) {
			uint64_t when[] = {(1000 + run * (i ? 100 : 10)) * s, 10 * s};

			made_weight(&each[i]->sums, each[i]->hot, SIDE_BASE, 2000, 10000);
			made_weight(&each[i]->sums, each[i]->hot, SIDE_NEW, 2060, 10000);
			gate_sums_end_run(&each[i]->sums, SIDE_BASE, 10000, 10000, when);
			gate_sums_end_run(&each[i]->sums, SIDE_NEW, 10000, 10000, when);
		}
		gate_rules_add(&each[i]->rules, GATE_FUNCTION, GATE_BIT(GATE_SELF), 2);
		judge(each[i], -1);
	}
	/*
	 * 3 %: more than the runs of one recording differ by, but not more than two recordings may.
	 */
	assert_int_equal(judged.gate.n_failed, 0);
	assert_int_equal(judged.gate.n_unsure, 1);
	assert_int_equal(apart.gate.n_failed, 1);
	judged_done(&judged);
	judged_done(&apart);
}

/*
 * The probability of error is divided among all that take part, so a rule for one item divides it
 * by one.
 */
static void the_error_is_dealt_out(void **state)
{
	struct judged judged;
	double sum = 0;

	make_judged(&judged, 1, (double[]){1300});
	gate_rules_add(&judged.rules, GATE_FUNCTION, GATE_BIT(GATE_SELF), 10);
	gate_rules_add(&judged.rules, GATE_ALL, GATE_BIT(GATE_TOTAL), 10);
	judge(&judged, -1);
	for (size_t i = 0; i < judged.gate.n_answers; i++)
		sum += judged.gate.answers[i].part;
	assert_true(sum > 0.4 && sum < 1 + 1e-9);
	judged_done(&judged);
}

static void the_total_is_compared_as_it_is(void **state)
{
	struct gate_rules rules = {};
	struct gate_sums sums;
	struct gate gate;

	assert_int_equal(gate_sums_init(&sums), 0);
	for (int run = 0; run < 4; run++) {
		made_end(&sums, SIDE_BASE, 10000 + run * 10);
		if (run % 2)
			made_end(&sums, SIDE_NEW, 12000 + run * 10);
	}
	gate_rules_add(&rules, GATE_ALL, GATE_BIT(GATE_SELF), 10);
	assert_int_equal(gate_judge(&sums, &rules, &(struct gate_options){.noise = -1}, &gate), 0);
	assert_int_equal(gate.n_failed, 1);
	assert_true(gate.answers[0].base == 10015 && gate.answers[0].new_ == 12020);
	gate_done(&gate);
	gate_rules_done(&rules);
	gate_sums_done(&sums);
}

static void results_are_always_numbers(void **state)
{
	const double sizes[] = {0, 1, 7, 1e3, 1e9, 1e18};
	const size_t n = COUNT(sizes);

	for (size_t i = 0; i < n * n * n * n * 2; i++) {
		double base = sizes[i % n], new_ = sizes[i / n % n];
		double totals[] = {sizes[i / n / n % n], sizes[i / n / n / n % n]};
		bool is_absolute = i / n / n / n / n;
		struct gate_rules rules = {};
		struct gate_sums sums;
		struct gate gate;
		uint32_t item;

		if (base > totals[0] || new_ > totals[1])
			continue;
		assert_int_equal(gate_sums_init(&sums), 0);
		item = made_function(&sums, "f");
		for (int run = 0; run < 2; run++) {
			made_weight(&sums, item, SIDE_BASE, base, totals[0]);
			made_weight(&sums, item, SIDE_NEW, new_, totals[1]);
			made_end(&sums, SIDE_BASE, totals[0]);
			made_end(&sums, SIDE_NEW, totals[1]);
		}
		gate_rules_add(&rules, GATE_FUNCTION, GATE_BIT(i & 1), 0);
		gate_rules_add(&rules, GATE_ALL, GATE_BIT(GATE_TOTAL), 0);
		assert_int_equal(
			gate_judge(&sums, &rules,
				   &(struct gate_options){.noise = -1, .scale = is_absolute},
				   &gate),
			0);
		for (size_t k = 0; k < gate.n_answers; k++) {
			const struct gate_answer *answer = &gate.answers[k];

			assert_true(answer->doubt >= 0 && answer->doubt <= 1);
			assert_false(isnan(answer->growth) || isnan(answer->low) ||
				     isnan(answer->high));
			assert_true(isfinite(answer->base) && isfinite(answer->new_));
			assert_true(answer->dispersion.factor >= 1);
		}
		gate_done(&gate);
		gate_rules_done(&rules);
		gate_sums_done(&sums);
	}
}

/* Stacks of many runs take the room of one run. */
static void stacks_are_compacted(void **state)
{
	struct stacks stacks;
	uint64_t total = 0;

	assert_int_equal(stacks_init(&stacks, &(struct stacks_options){}), 0);
	for (int run = 0; run < 4; run++) {
		struct profile *profile = random_profile(run / 2);

		assert_int_equal(stacks_add(&stacks, profile, run % 2 ? SIDE_NEW : SIDE_BASE), 0);
		profile_free(profile);
		if (run == 1)
			assert_int_equal(stacks_compact(&stacks), 0);
	}
	assert_int_equal(stacks_compact(&stacks), 0);
	for (size_t i = 0; i < stacks.n_entries; i++) {
		total += stacks.entries[i].weight;
		for (size_t k = i + 1; k < stacks.n_entries; k++) {
			const struct stacks_entry *a = &stacks.entries[i], *b = &stacks.entries[k];

			assert_false(a->n == b->n && a->side == b->side &&
				     memcmp(stacks.ids + a->first, stacks.ids + b->first,
					    a->n * sizeof *stacks.ids) == 0);
		}
	}
	assert_int_equal(total, stacks.totals[0] + stacks.totals[1]);
	assert_int_equal(stacks.totals[0], stacks.totals[1]);
	assert_int_equal(stacks_finish(&stacks, SCALE_NORMALIZED), 0);
	stacks_done(&stacks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_of_runs),
		cmocka_unit_test(code_without_symbols_is_its_modules),
		cmocka_unit_test(modules_without_versions),
		cmocka_unit_test(recordings),
		cmocka_unit_test(noise_is_found),
		cmocka_unit_test(without_runs_noise_is_assumed),
		cmocka_unit_test(dispersion_is_never_below_chance),
		cmocka_unit_test(growth_is_named),
		cmocka_unit_test(the_spread_counts),
		cmocka_unit_test(noise_can_be_set),
		cmocka_unit_test(windows_are_one_recording),
		cmocka_unit_test(the_error_is_dealt_out),
		cmocka_unit_test(the_total_is_compared_as_it_is),
		cmocka_unit_test(results_are_always_numbers),
		cmocka_unit_test(stacks_are_compacted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
