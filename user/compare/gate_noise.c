/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "compare/gate_noise.h"

#include <math.h>
#include <stdbool.h>

/* With fewer events, a run shows nothing about how runs differ. */
#define LEAST_EVENTS_OF_A_RUN 3

#define ROUNDS 10

/* The prior's spread of the size of clumps of samples. */
#define CLUMPING_DEVIATION 0.5

/* c² may exceed the expected value, or the fitted one if that is larger, by this factor. */
#define SQUARE_DEVIATION 6

/*
 * Adds this many standard errors to c²: too small a guess raises alarms, too large a one delays
 * them.
 */
#define GUARD 0.5

/* The sums for a weighted least squares fit of y = a + c² x. */
struct fit {
	double ones, x, xx, y, xy;
};

static void fit_add(struct fit *fit, double weight, double x, double y)
{
	fit->ones += weight;
	fit->x += weight * x;
	fit->xx += weight * x * x;
	fit->y += weight * y;
	fit->xy += weight * x * y;
}

static void solve(const struct fit *fit, struct noise *ret)
{
	double determinant = fit->ones * fit->xx - fit->x * fit->x;

	ret->clumping = (fit->xx * fit->y - fit->x * fit->xy) / determinant;
	ret->square = (fit->ones * fit->xy - fit->x * fit->y) / determinant;
	if (ret->clumping < 1) {
		ret->clumping = 1;
		ret->square = (fit->xy - fit->x) / fit->xx;
	}
	if (ret->square < 0) {
		ret->square = 0;
		ret->clumping = fmax(fit->y / fit->ones, 1);
	}
}

static void add_point(struct fit *fit, const struct noise_point *point, const struct noise *noise)
{
	double dispersion = noise->clumping + noise->square * point->slope;
	double between = noise->square * point->slope;
	double variance = 2 * dispersion * dispersion / point->freedom;

	/* Items differ in their c²; a Poisson count has a fourth moment of its own. */
	variance += 2 * between * between / NOISE_PRIOR_FREEDOM + dispersion / point->events;
	fit_add(fit, 1 / variance, point->slope, point->statistic / point->freedom);
}

static bool has_information(const struct noise_point *point)
{
	return point->freedom > 0 && point->events >= LEAST_EVENTS_OF_A_RUN * point->freedom;
}

void noise_fit(const struct noise_point *points, size_t n, double percent, struct noise *ret)
{
	double expected = fmax(percent * percent / 1e4, 1e-9);
	struct noise noise = {.clumping = 1, .square = expected};
	struct fit fit;
	size_t used;

	for (int round = 0; round < ROUNDS; round++) {
		double deviation = SQUARE_DEVIATION * fmax(expected, noise.square);
		double sure = 1 / (deviation * deviation);

		fit = (struct fit){0};
		used = 0;
		/* The prior: a = 1 and the expected c², as separate observations. */
		fit_add(&fit, 1 / (CLUMPING_DEVIATION * CLUMPING_DEVIATION), 0, 1);
		fit.xx += sure;
		fit.xy += sure * expected;
		for (size_t i = 0; i < n; i++) {
			if (!has_information(&points[i]))
				continue;
			add_point(&fit, &points[i], &noise);
			used++;
		}
		solve(&fit, &noise);
	}
	if (used)
		noise.square += GUARD * sqrt(fit.ones / (fit.ones * fit.xx - fit.x * fit.x));
	*ret = noise;
}

struct dispersion noise_dispersion(const struct noise *noise, const struct noise_point *point,
				   double slope)
{
	double between = noise->square * slope, expected = noise->clumping + between;
	double sure = between > 0 ? expected / between : INFINITY;
	double prior = fmin(NOISE_PRIOR_FREEDOM * sure * sure, NOISE_MOST_FREEDOM);
	double own = expected;

	/* The spread of the runs, from the same sums as the comparison. */
	if (point->freedom > 0) {
		own = point->statistic / point->freedom;
		if (own > 1 && point->slope > 0)
			own = 1 + (own - 1) * slope / point->slope;
	}
	return (struct dispersion){
		.factor = fmax((prior * expected + point->freedom * own) / (prior + point->freedom),
			       1),
		.freedom = prior + point->freedom,
	};
}
