/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How often the gate fails a comparison, by simulation: programs of 50 functions that did or did
 * not change, in one run and in several, whose shares vary between runs by more than chance.
 */
#include "cmocka_all.h"

#include <stdio.h>

#include "unit/made_programs.h"
#include "unit/made_runs.h"

/* Functions differ in how much they vary: standard deviation of the logarithm of their c. */
#define UNLIKE 0.5

struct setting {
	double first;  /* share of the first function */
	double slower; /* growth of the first function on the new side, such as 1.1 */
	double noise;  /* mean of c */
	int n_runs;    /* on each side */
	double fail_over;
};

struct counts {
	int caught, alarms; /* caught: first function; alarms: any other one */
};

static struct program disturb(const struct program *program, double noise,
			      const double unlike[N_FUNCTIONS])
{
	struct program disturbed;
	double sum = 0;

	for (int i = 0; i < N_FUNCTIONS; i++)
		sum += disturbed.share[i] =
			program->share[i] * exp(noise * unlike[i] * random_normal());
	for (int i = 0; i < N_FUNCTIONS; i++)
		disturbed.share[i] /= sum;
	return disturbed;
}

static void add_run(struct gate_sums *sums, const uint32_t items[N_FUNCTIONS],
		    const struct program *program, enum stacks_side side)
{
	uint64_t samples[N_FUNCTIONS];

	draw_samples(program, N_SAMPLES, samples);
	for (int i = 0; i < N_FUNCTIONS; i++)
		if (samples[i])
			made_weight(sums, items[i], side, samples[i], N_SAMPLES);
	made_end(sums, side, N_SAMPLES);
}

static void make_runs(struct gate_sums *sums, const struct setting *setting, uint32_t *ret_first)
{
	uint32_t items[N_FUNCTIONS];
	double unlike[N_FUNCTIONS];
	char name[16];

	assert_int_equal(gate_sums_init(sums), 0);
	for (int i = 0; i < N_FUNCTIONS; i++) {
		snprintf(name, sizeof name, "f%d", i);
		items[i] = made_function(sums, name);
		unlike[i] = exp(UNLIKE * random_normal() - UNLIKE * UNLIKE / 2);
	}
	for (int side = 0; side < N_SIDES; side++) {
		struct program program =
			make_program(setting->first, side == SIDE_NEW ? setting->slower : 1);

		for (int run = 0; run < setting->n_runs; run++) {
			struct program disturbed = disturb(&program, setting->noise, unlike);

			add_run(sums, items, &disturbed, side);
		}
	}
	*ret_first = items[0];
}

/* Counts in percent of the repetitions. */
static struct counts repeat(struct setting setting, int repetitions)
{
	struct counts counts = {0};

	for (int i = 0; i < repetitions; i++) {
		struct gate_rules rules = {};
		struct gate_sums sums;
		struct gate gate;
		uint32_t first;
		bool caught = false, alarm = false;

		make_runs(&sums, &setting, &first);
		assert_int_equal(gate_rules_add(&rules, GATE_FUNCTION, GATE_BIT(GATE_SELF),
						setting.fail_over),
				 0);
		assert_int_equal(
			gate_judge(&sums, &rules, &(struct gate_options){.noise = -1}, &gate), 0);
		for (size_t k = 0; k < gate.n_failed; k++) {
			if (gate.answers[k].item == &sums.items[first])
				caught = true;
			else
				alarm = true;
		}
		counts.caught += caught;
		counts.alarms += alarm;
		gate_done(&gate);
		gate_rules_done(&rules);
		gate_sums_done(&sums);
	}
	print_message("  %2d runs a side that differ by %.0f %%, share %2.0f %%, %2.0f %% slower, "
		      "limit %.0f %%: caught %d, false alarms %d of %d\n",
		      setting.n_runs, setting.noise * 100, setting.first * 100,
		      setting.slower * 100 - 100, setting.fail_over, counts.caught, counts.alarms,
		      repetitions);
	return counts;
}

/* Here any growth fails. 1 %, with three standard deviations of the count. */
static void false_alarms(void **state)
{
	const struct {
		int n_runs, repetitions;
		double noise;
	} rows[] = {{1, 1000, 0},   {1, 1000, 0.02}, {3, 500, 0.01},
		    {3, 500, 0.02}, {5, 400, 0.02},  {10, 300, 0.02}};

	random_state = 11;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct counts counts = repeat(
			(struct setting){i % 2 ? 0.3 : 0.05, 1, rows[i].noise, rows[i].n_runs, 0},
			rows[i].repetitions);
		double expected = rows[i].repetitions * 0.01;

		assert_true(counts.caught + counts.alarms <= expected + 3 * sqrt(expected));
	}
}

/* Runs that differ by twice the assumption: the gate measures it. */
static void false_alarms_of_noisy_runs(void **state)
{
	const int n_runs[] = {3, 5, 10};

	random_state = 12;
	for (int i = 0; i < 3; i++) {
		struct counts counts = repeat((struct setting){0.1, 1, 0.05, n_runs[i], 5}, 300);

		assert_true(counts.caught + counts.alarms <= 3 + 3 * 2.5);
	}
}

/* What a pair can't know, and what --noise is for. */
static void a_pair_that_differs_more_alarms(void **state)
{
	struct counts counts;

	random_state = 13;
	counts = repeat((struct setting){0.3, 1, 0.05, 1, 5}, 200);
	/* A pair that differs by more than assumed looks like a change more often than 1 %. */
	assert_true(counts.caught + counts.alarms > 4);
}

static void regressions_are_caught(void **state)
{
	const struct {
		struct setting setting;
		int repetitions, least;
	} rows[] = {
		/* One pair: what 30 s of one thread can show. */
		{{0.3, 1.2, 0.01, 1, 5}, 100, 60},
		{{0.3, 1.5, 0.02, 1, 10}, 100, 99},
		{{0.1, 1.5, 0.02, 1, 10}, 100, 97},
		/* Several runs. */
		{{0.3, 1.1, 0.01, 5, 5}, 100, 70},
		{{0.3, 1.1, 0.01, 10, 5}, 60, 54},
		{{0.1, 1.1, 0.01, 10, 5}, 60, 48},
		{{0.1, 1.2, 0.02, 5, 5}, 100, 95},
		{{0.02, 1.2, 0.01, 20, 5}, 40, 36},
		{{0.02, 1.5, 0.02, 5, 10}, 100, 97},
	};

	random_state = 14;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		assert_true(repeat(rows[i].setting, rows[i].repetitions).caught >= rows[i].least);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(false_alarms),
		cmocka_unit_test(false_alarms_of_noisy_runs),
		cmocka_unit_test(a_pair_that_differs_more_alarms),
		cmocka_unit_test(regressions_are_caught),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
