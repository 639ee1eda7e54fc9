/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * compare: decides whether a weight that differs between two sides has changed, or differs by
 * chance.
 *
 * The question is always: if nothing had changed, how often would chance alone split the sum of
 * both sides at least as unevenly? Both directions count, so each gets half of what the confidence
 * leaves. The answer is in standard deviations: those at which a normal variable is as improbable.
 *
 * On-CPU weights are counts of samples. When shares are compared, both totals and the sum are
 * given, and the new side's count is hypergeometric (Fisher's exact test: a part and its total vary
 * together; a function with 90 % of everything hardly varies). When weights are compared as they
 * are, it is binomial with 1/2. Both are exact for any counts: 0 against 1 is noise, 0 against 10
 * is not. Once the count's standard deviation is above 20, the signed root of the likelihood ratio
 * with Yates' correction replaces the long sums; both agree there to a hundredth of a deviation.
 *
 * Off-CPU and wall weights are times: sums of periods of any length. Each sum has its variance, the
 * sum of the periods' squares. If only the sum T of n periods is known, the variance is 2 T² / (n +
 * 1), as for exponential lengths; T² / n, as for equal ones, would be too bold. Variance / weight
 * is the length of the periods that count, and a time is taken as so many of them (a scaled Poisson
 * variable has the right mean and variance: G. Bohm, G. Zech: Statistics of weighted Poisson events
 * and its applications, 2014) and tested like counts. For shares, the periods of everything else
 * count as well, in proportion. A folded file does not give the number of periods: each stack's
 * time counts as one, the least it can be. There the test errs towards "no change"; recordings and
 * pprof files know more.
 *
 * Many things are compared at once, and one false change is a false alarm: the confidence holds for
 * all of them together, by Bonferroni's correction. It does not assume that they are independent,
 * and they are not: callers hold their callees, shares add up to one. Things with so few samples
 * that no split of them could be significant don't count in the correction (R. E. Tarone: A
 * modified Bonferroni method for discrete data, 1990), see compare_family_size(). Otherwise
 * thousands of frames with a few samples each would hide the change of a hot one.
 *
 * For values without a number of samples (bytes of a heap) chance is unknown: any difference is a
 * change with 0 deviations, and no gate applies.
 *
 * Two profiles can't show how much two runs of a program differ beyond chance (frequency, layout,
 * neighbours), nor that samples of one long call come together. Several runs can: gate.h learns it
 * from them and sets options.dispersion.
 *
 * Pictures must show of a node, in colour and in its tooltip, the change of its total (fill) and of
 * its self weight (a mark of its own, if it has any), each with both sides' figures, difference,
 * ratio and deviations. An inner node shows the change of its own total, in which growth and
 * shrinkage below it cancel out; never a sum of the changes below. CHANGE_NONE: grey, whatever the
 * difference. CHANGE_GREW, CHANGE_SHRANK: two hues (red and blue; exchanged by negate), as strong
 * as change_strength(). CHANGE_NEW, CHANGE_GONE: the same hues at full strength, with one more
 * distinction than colour (a dashed border, "new" or "gone" in the tooltip). Gone nodes have a
 * width, as the sides' widths add up.
 */
#ifndef COMPARE_COMPARE_H
#define COMPARE_COMPARE_H

#include "core/functions.h"

enum change_kind {
	CHANGE_NONE, /* no more than chance */
	CHANGE_GREW,
	CHANGE_SHRANK,
	CHANGE_NEW,  /* it was not there before */
	CHANGE_GONE, /* it is no longer there */
	N_CHANGE_KINDS,
};

#define COMPARE_CONFIDENCE 99.0 /* percent */

struct compare_options {
	double confidence;	   /* that it was not chance, percent; 0: COMPARE_CONFIDENCE */
	enum stacks_scale scale;   /* must be the stacks' own */
	size_t n_compared;	   /* things compared at once; more of them need better evidence
				      each; 0 or 1: this one alone */
	double variances[N_SIDES]; /* of the sides' totals, by compare_read_variances(); 0: as if
				      everything were like the compared thing. Not for samples */
	size_t runs[N_SIDES];	   /* summed in each side's weights; 0: 1. Without shares, the
				      weights of one run are compared */
	double dispersion;	   /* how much more than chance the weights vary, see gate.h; up to
				      1: no more */
	double freedom;		   /* degrees of freedom of the dispersion; 0: it is certain */
};

struct change {
	enum change_kind kind;
	double base, new_; /* normalized: shares of their sides, 0 to 1; else weights of a run */
	double difference; /* new_ - base */
	double ratio;	   /* difference / base; 0 if both are 0; INFINITY if only base is */
	double deviations; /* of the difference, in standard deviations; signed */
};

/*
 * Compare the totals and the self weights of the two sides of @stacks, using the variances next to
 * them. Every result is a number: a side without any weight has shares of 0, and then no normalized
 * difference is significant.
 */
void compare_totals(const struct stacks *stacks, const struct compare_options *options,
		    const struct tree_side sides[N_SIDES], struct change *ret);
void compare_selfs(const struct stacks *stacks, const struct compare_options *options,
		   const struct tree_side sides[N_SIDES], struct change *ret);

/* Compares the total weights as they are, not as shares, whatever @options say. */
void compare_all(const struct stacks *stacks, const struct compare_options *options,
		 struct change *ret);

/* Sets @options->variances in one pass over the stacks. */
void compare_read_variances(const struct stacks *stacks, struct compare_options *options);

/*
 * Counts the things compared at once, for options.n_compared. Zero it, then add everything that
 * will be compared, with the same @options except n_compared. Entries are grouped by the exponent
 * of the least probability that any split could have.
 */
#define COMPARE_EXPONENTS 128
struct compare_family {
	size_t n, n_by_exponent[COMPARE_EXPONENTS];
};

/* Adds a thing, given the logarithm of its least probability. */
void compare_family_add_least(struct compare_family *family, double logarithm);

/* Adds the total and, if it differs, the self weight. */
void compare_family_add(struct compare_family *family, const struct stacks *stacks,
			const struct compare_options *options,
			const struct tree_side sides[N_SIDES]);
/* How many of them count: 1 to family.n. */
size_t compare_family_size(const struct compare_family *family, double confidence);

/*
 * Returns 0 to 1: the difference as a part of the larger side. Halving and doubling give the same.
 */
static inline double change_strength(const struct change *change)
{
	double larger = change->base > change->new_ ? change->base : change->new_;
	double size = change->difference < 0 ? -change->difference : change->difference;

	return larger > 0 ? size / larger : 0;
}

/* "none", "grew", "shrank", "new", "gone". */
const char *change_kind_name(enum change_kind kind);

#endif
