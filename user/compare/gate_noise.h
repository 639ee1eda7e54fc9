/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gate_noise: how much more than chance alone runs of the same program differ.
 *
 * A count of samples varies by chance as if each sample were drawn independently: n p (1 - p) for n
 * samples and a share of p. Between runs the share itself varies (CPU frequency, memory layout,
 * neighbours), by a coefficient of variation c. So the variance of a run's count is
 *
 *	n p (1 - p) × (a + c² n p (1 - p))
 *
 * with a = 1 if samples come one by one, and above if they come in clumps (D. A. Williams:
 * Extra-binomial variation in logistic linear models, Applied Statistics 31, 1982, his model II;
 * squared, c is that of the odds, and for rare things also that of the share). The factor in
 * brackets is the dispersion.
 *
 * An item's own runs estimate its dispersion: Pearson's X² over its degrees of freedom. For few
 * runs that is a poor guess, so a and c are fitted to all items together, and each item's own
 * dispersion is shrunk towards the fit by the weight of a prior. This is the quasi-likelihood test
 * with shrunken dispersions (S. P. Lund, D. Nettleton, D. J. McCarthy, G. K. Smyth: Detecting
 * differential expression in RNA-sequence data using quasi-likelihood with shrunken dispersion
 * estimates, 2012). A t distribution, with the degrees of freedom of prior and runs together,
 * reflects how well the dispersion is known. It is never below 1: nothing varies less than by
 * chance.
 *
 * The prior's freedom: items differ in their c, by a factor of 2 at least between the quietest and
 * the worst of ten, so c² is known as well as a variance of NOISE_PRIOR_FREEDOM degrees. The part
 * of the dispersion that comes from sampling is certain (F. E. Satterthwaite, 1946).
 */
#ifndef COMPARE_GATE_NOISE_H
#define COMPARE_GATE_NOISE_H

#include <stddef.h>

#define NOISE_PERCENT	    1 /* c, without runs */
#define NOISE_PRIOR_FREEDOM 4
#define NOISE_MOST_FREEDOM  60 /* of any prior: models are not that good */

/* The spread of an item's runs. */
struct noise_point {
	double statistic; /* Pearson's X² of the runs of both sides, each around its own side */
	double freedom;	  /* number of runs - number of sides */
	double slope;	  /* how much c² adds to X² / freedom */
	double events;	  /* in all runs */
};

struct noise {
	double clumping; /* a */
	double square;	 /* c² */
};

/*
 * Fits a and c² to @n points by weighted least squares. @percent counts as one more observation of
 * c, as sure as its own size; without points it is the result.
 */
void noise_fit(const struct noise_point *points, size_t n, double percent, struct noise *ret);

struct dispersion {
	double factor;	/* of the variance; at least 1 */
	double freedom; /* degrees of freedom of the factor */
};

/* The dispersion of an item. @slope: how much c² adds to that of the comparison in question. */
struct dispersion noise_dispersion(const struct noise *noise, const struct noise_point *point,
				   double slope);

#endif
