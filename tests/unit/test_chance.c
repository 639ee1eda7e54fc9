/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Distributions, compared with published tables and with sums computed in another way. */
#include "cmocka_all.h"

#include <math.h>

#include "compare/chance.h"

static void expect_near(double given, double expected, double relative)
{
	if (!(fabs(given - expected) <= relative * fabs(expected)))
		fail_msg("%.12g in place of %.12g", given, expected);
}

/* Critical values from any table of the t distribution. */
static void tables_of_t(void **state)
{
	const struct {
		double freedom, probability, t;
	} rows[] = {
		{1, 0.05, 6.3138},    {1, 0.01, 31.8205}, {2, 0.01, 6.9646},
		{4, 0.005, 4.6041},   {5, 0.001, 5.8934}, {10, 0.05, 1.8125},
		{10, 0.0005, 4.5869}, {30, 0.01, 2.4573}, {120, 0.005, 2.6174},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		expect_near(chance_student_quantile(rows[i].probability, rows[i].freedom),
			    rows[i].t, 1e-4);
		expect_near(chance_student_tail(rows[i].t, rows[i].freedom), rows[i].probability,
			    1e-3);
	}
}

/* For 1 and 2 degrees of freedom there is a closed form. */
static void tails_in_closed_form(void **state)
{
	for (double t = 0; t < 1e6; t = t * 3 + 0.01) {
		expect_near(chance_student_tail(t, 1), atan2(1, t) / M_PI, 1e-9);
		expect_near(chance_student_tail(t, 2),
			    1 / (sqrt(2 + t * t) * (sqrt(2 + t * t) + t)), 1e-9);
	}
}

static void many_degrees_are_normal(void **state)
{
	for (double t = 0; t < 10; t += 0.37) {
		expect_near(chance_student_tail(t, INFINITY), erfc(t / M_SQRT2) / 2, 1e-12);
		expect_near(chance_student_tail(t, 1e6), erfc(t / M_SQRT2) / 2, 0.01);
	}
	expect_near(chance_student_quantile(1e-4, INFINITY), chance_normal_quantile(1e-4), 1e-6);
	assert_true(chance_student_tail(4, 10) > chance_student_tail(4, 100));
}

static void normal_quantiles(void **state)
{
	expect_near(chance_normal_quantile(0.025), 1.959964, 1e-6);
	expect_near(chance_normal_quantile(1e-6), 4.753424, 1e-6);
	for (double z = 0.1; z < 37; z += 0.7)
		expect_near(chance_normal_quantile(erfc(z / M_SQRT2) / 2), z, 1e-4);
	assert_true(chance_normal_quantile(0.5) == 0 && chance_normal_quantile(1) == 0);
	assert_true(isinf(chance_normal_quantile(0)));
}

static void extremes_are_numbers(void **state)
{
	const double values[] = {0, 1e-300, 1e-9, 1, 1e9, 1e200, INFINITY};

	for (int i = 0; i < 7; i++) {
		for (int k = 1; k < 7; k++) {
			double tail = chance_student_tail(values[i], values[k]);

			assert_true(tail >= 0 && tail <= 0.5 + 1e-12);
		}
		assert_false(isnan(chance_student_quantile(values[i], 3)));
	}
	expect_near(chance_student_tail(-2, 10), 1 - chance_student_tail(2, 10), 1e-12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables_of_t),
		cmocka_unit_test(tails_in_closed_form),
		cmocka_unit_test(many_degrees_are_normal),
		cmocka_unit_test(normal_quantiles),
		cmocka_unit_test(extremes_are_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
