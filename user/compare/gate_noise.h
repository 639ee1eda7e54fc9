/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gate_noise: how much more than chance alone runs of the same program differ.
 *
 * A count of samples varies by chance as if each sample were drawn by itself: n p (1 - p) for n
 * samples and a share of p. Between runs the share itself varies (frequencies of CPUs, layout of
 * memory, neighbours), by a coefficient of variation c; so the variance of a run's count is
 *
 *	n p (1 - p) × (a + c² n p (1 - p))
 *
 * with a = 1 if samples come one by one, above if they come in clumps (the extra-binomial variation
 * of D. A. Williams: Extra-binomial variation in logistic linear models, Applied Statistics 31,
 * 1982, his model II; squared, c is that of the odds, of rare things that of the share as well).
 * The factor in brackets is the dispersion.
 *
 * Of an item its own runs tell the dispersion, Pearson's X² over its degrees of freedom; of few
 * runs that is a poor guess. So a and c are fitted to all items together, and each item's own
 * dispersion is shrunk towards what they come to, by the weight of a prior: the quasi-likelihood
 * test with shrunken dispersions (S. P. Lund, D. Nettleton, D. J. McCarthy, G. K. Smyth: Detecting
 * differential expression in RNA-sequence data using quasi-likelihood with shrunken dispersion
 * estimates, 2012), where a t distribution, its degrees of freedom those of prior and runs, answers
 * for how well it is known. Never is it below 1: nothing varies less than by chance.
 *
 * The prior's freedom: items differ in their c, by a factor of 2 at least between the quietest and
 * the worst of ten, so c² is as well known as a variance of NOISE_PRIOR_FREEDOM degrees; what of
 * the dispersion is sampling is known for certain (F. E. Satterthwaite, 1946).
 */
#ifndef COMPARE_GATE_NOISE_H
#define COMPARE_GATE_NOISE_H

#include <stddef.h>

#define NOISE_PERCENT	    1 /* c, where no runs tell */
#define NOISE_PRIOR_FREEDOM 4
#define NOISE_MOST_FREEDOM  60 /* of any prior: models are not that good */

/* What an item's runs say. */
struct noise_point {
	double statistic; /* Pearson's X² of the runs of both sides, each around its own side */
	double freedom;	  /* runs less sides */
	double slope;	  /* what c² adds to X² / freedom */
	double events;	  /* in all runs */
};

struct noise {
	double clumping; /* a */
	double square;	 /* c² */
};

/*
 * Fits a and c² to @n points, by weighted least squares; what @percent says counts as one more
 * observation of c, as sure as its own size. Without points, it is what is left.
 */
void noise_fit(const struct noise_point *points, size_t n, double percent, struct noise *ret);

struct dispersion {
	double factor;	/* of the variance; at least 1 */
	double freedom; /* degrees of it */
};

/* Of an item: @slope is what c² adds to the dispersion of the comparison that is asked. */
struct dispersion noise_dispersion(const struct noise *noise, const struct noise_point *point,
				   double slope);

#endif
