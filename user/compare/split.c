/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "compare/split.h"

#include <math.h>

#include "compare/chance.h"

/* Above this standard deviation of a count there are many terms, and the approximation is good. */
#define EXACT_DEVIATION 20

/* Larger numbers have no exact probability. */
#define MOST_EXACT 1e9

static double log_choose(double n, double k)
{
	int sign;

	return lgamma_r(n + 1, &sign) - lgamma_r(k + 1, &sign) - lgamma_r(n - k + 1, &sign);
}

/* The logarithm of P(X = x) for the new side's part X; @n: both sides' part. */
static double log_first_term(const struct split *split, double x, double n)
{
	double total = split->total[SIDE_NEW] + split->total[SIDE_BASE];

	if (total > MOST_EXACT)
		return log_choose(n, x) + x * log(split->new_share) +
		       (n - x) * log1p(-split->new_share);
	return log_choose(split->total[SIDE_NEW], x) + log_choose(split->total[SIDE_BASE], n - x) -
	       log_choose(total, n);
}

/* P(X + 1) / P(X) for the new side's part X. */
static double next_term(const struct split *split, double x, double n)
{
	double odds = split->new_share / (1 - split->new_share);
	double left = split->total[SIDE_BASE] - (n - x) + 1;

	if (split->total[SIDE_NEW] + split->total[SIDE_BASE] <= MOST_EXACT)
		odds = (split->total[SIDE_NEW] - x) / left;
	return (n - x) / (x + 1) * odds;
}

/* P(X >= x) for the new side's part X, for whole numbers and x above the expected value. */
static double exact_tail(const struct split *split)
{
	double x = split->part[SIDE_NEW], n = x + split->part[SIDE_BASE];
	double most = fmin(n, split->total[SIDE_NEW]);
	double term = exp(log_first_term(split, x, n)), sum = 0;

	for (; x <= most && term > sum * 1e-12; x++) {
		sum += term;
		term *= next_term(split, x, n);
	}
	return fmin(sum, 1);
}

/* What one cell of the table adds to the logarithm of the likelihood ratio. */
static double divergence(double expected, double excess)
{
	double t = excess / expected;

	if (!(expected > 0) || isinf(expected))
		return 0;
	if (fabs(t) < 1e-4)
		return expected * t * t * (0.5 - t / 6);
	if (t <= -1)
		return expected;
	return expected * ((1 + t) * log1p(t) - t);
}

static double expected_new(const struct split *split)
{
	return (split->part[SIDE_NEW] + split->part[SIDE_BASE]) * split->new_share;
}

/* The signed root of the likelihood ratio of the table with and without a change. */
static double likelihood_deviations(const struct split *split)
{
	double n = split->part[SIDE_NEW] + split->part[SIDE_BASE];
	double expected = expected_new(split);
	double excess = split->part[SIDE_NEW] - expected, sum;

	if (fabs(excess) <= 0.5)
		return 0;
	excess += excess > 0 ? -0.5 : 0.5;
	sum = divergence(expected, excess) + divergence(n - expected, -excess) +
	      divergence(split->total[SIDE_NEW] - expected, -excess) +
	      divergence(split->total[SIDE_BASE] - (n - expected), excess);
	return copysign(sqrt(fmax(2 * sum, 0)), excess);
}

/* The standard deviation of the new side's part, given the sum of both sides. */
static double split_deviation(const struct split *split)
{
	double n = split->part[SIDE_NEW] + split->part[SIDE_BASE];
	double all = split->total[SIDE_NEW] + split->total[SIDE_BASE];
	double rest = isinf(all) ? 1 : fmax(all - n, 0) / fmax(all - 1, 1);

	return sqrt(n * split->new_share * (1 - split->new_share) * rest);
}

/* Exchanges the sides, so that one direction suffices. */
static struct split exchange(const struct split *split)
{
	return (struct split){
		.part = {split->part[SIDE_BASE], split->part[SIDE_NEW]},
		.total = {split->total[SIDE_BASE], split->total[SIDE_NEW]},
		.new_share = 1 - split->new_share,
	};
}

/*
 * Without a part of its own, the rest says the same: what grew leaves less. Use the smaller of
 * both, whose sums have fewer terms.
 */
static struct split complement(const struct split *split)
{
	struct split rest = {.new_share = split->new_share};

	for (int side = 0; side < N_SIDES; side++) {
		rest.total[side] = split->total[side];
		rest.part[side] = split->total[side] - split->part[side];
	}
	return exchange(&rest);
}

/* Fractions of events are dropped, on the safe side. */
static void round_down(struct split *split)
{
	split->part[SIDE_NEW] = floor(split->part[SIDE_NEW] + 1e-6);
	split->part[SIDE_BASE] = ceil(split->part[SIDE_BASE] - 1e-6);
	for (int side = 0; side < N_SIDES; side++)
		split->total[side] = fmax(round(split->total[side]), split->part[side]);
}

/* Signed; 0 if no difference could be significant. */
double split_deviations(const struct split *split)
{
	bool shrank = split->part[SIDE_NEW] < expected_new(split);
	struct split up = shrank ? exchange(split) : *split;
	double n = up.part[0] + up.part[1], deviations;

	if (!(split->new_share > 0 && split->new_share < 1) ||
	    up.part[SIDE_NEW] < SPLIT_LEAST_EVENTS)
		return 0;
	if (n > up.total[0] + up.total[1] - n)
		up = complement(&up);
	if (split_deviation(&up) < EXACT_DEVIATION) {
		double probability;

		round_down(&up);
		probability = exact_tail(&up);
		deviations = probability < CHANCE_LEAST ? likelihood_deviations(&up)
							: chance_normal_quantile(probability);
	} else {
		deviations = likelihood_deviations(&up);
	}
	return shrank ? -deviations : deviations;
}

double split_least_logarithm(const struct split *split)
{
	double n = ceil(split->part[0] + split->part[1]);
	double total = split->total[0] + split->total[1];
	enum stacks_side smaller = split->new_share < 0.5 ? SIDE_NEW : SIDE_BASE;

	if (n < SPLIT_LEAST_EVENTS)
		return 0;
	if (total > MOST_EXACT)
		return n * log(fmin(split->new_share, 1 - split->new_share));
	if (n <= split->total[smaller])
		return log_choose(split->total[smaller], n) - log_choose(total, n);
	return n >= total ? 0 : -INFINITY;
}
