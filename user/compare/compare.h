/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * compare: whether what weighs one thing on one side and another on the other has changed, or
 * chance did it.
 *
 * The question is always: if nothing had changed, how often would chance alone split what both
 * sides hold of this thing at least as unevenly? Both directions count, so each gets half of what
 * the confidence leaves. The answer is given as standard deviations: those at which a normal
 * variable is as improbable.
 *
 * On-CPU weights are counts of samples. Given their sum, and given both totals where shares are
 * compared, the new side's count is hypergeometric (Fisher's exact test: a part and its total vary
 * together, a function of 90 % of all hardly at all), and binomial with 1/2 where they are compared
 * as they are. Both are exact for any counts: 0 against 1 is noise, 0 against 10 is not. Sums of
 * many terms are left to the signed root of the likelihood ratio, with Yates' correction, once the
 * count's standard deviation is above 20; the two agree there to a hundredth of a deviation.
 *
 * Off-CPU and wall weights are times: sums of periods, of any length each. Beside the sum stands
 * its variance, the sum of the periods' squares (where only the sum T of n is known: 2 T² / (n +
 * 1), what those of exponential length come to; T² / n, of equal ones, is too bold). Variance /
 * weight is the length of the periods that count; a time is taken as so many of them (a scaled
 * Poisson variable has the right mean and variance: G. Bohm, G. Zech: Statistics of weighted
 * Poisson events and its applications, 2014) and tested as counts are. For shares, the periods of
 * everything else count as well, in proportion. Of a folded file the number of periods is not
 * known: each stack's time is one, the least it can be. So the test errs towards "no change" there:
 * recordings, pprof files say more.
 *
 * Many things are looked at together, and one false change is a false alarm: so the confidence
 * holds for all of them at once, by Bonferroni's correction. It needs no assumption of how they
 * depend on each other, and they do: callers hold their callees, shares add up to one. What has so
 * few samples that no split of them could be told from chance takes no part in the number
 * (R. E. Tarone: A modified Bonferroni method for discrete data, 1990), see compare_family_size().
 * Else the thousands of frames of a few samples each would hide the change of a hot one.
 *
 * Of values without a number of samples (bytes of a heap) nobody knows what chance does to them:
 * any difference is a change then, of 0 deviations, and no gate is asked.
 *
 * What no test of two profiles can know: how much two runs of the same program differ beyond
 * chance (frequency, layout, neighbours), and that samples of one long call come together. Several
 * runs can: gate.h learns it from them, and options.dispersion is what it learned.
 *
 * What pictures must show of a node, in colour and in its tooltip: the change of its total (fill)
 * and that of its self weight (a mark of its own: what has none shows none), each with both sides'
 * figures, difference, ratio and deviations. An inner node shows the change of its own total, in
 * which what grew and what shrank below it cancel out; never a sum of the changes below.
 * CHANGE_NONE: grey, whatever the difference. CHANGE_GREW, CHANGE_SHRANK: two hues (red and blue;
 * exchanged by negate), as strong as change_strength(). CHANGE_NEW, CHANGE_GONE: the same hues at
 * full strength, and told apart from those by more than colour (a dashed border, "new" or "gone" in
 * the tooltip). What is gone has width, as the sides' widths add up.
 */
#ifndef COMPARE_COMPARE_H
#define COMPARE_COMPARE_H

#include "core/functions.h"

enum change_kind {
	CHANGE_NONE, /* none that is more than chance */
	CHANGE_GREW,
	CHANGE_SHRANK,
	CHANGE_NEW,  /* it was not there at all */
	CHANGE_GONE, /* it is not there any more */
	N_CHANGE_KINDS,
};

#define COMPARE_CONFIDENCE 99.0 /* percent */

struct compare_options {
	double confidence; /* that chance alone would not do it, percent; 0: COMPARE_CONFIDENCE */
	enum stacks_scale scale;   /* that of the stacks */
	size_t n_compared;	   /* how many things are looked at together; more of them need
				      better evidence each; 0 or 1: this one alone */
	double variances[N_SIDES]; /* of the sides' totals, by compare_read_variances(); 0: as if
				      all were like what is compared. Of samples not asked */
	size_t runs[N_SIDES];	   /* that each side's weights are sums of; 0: 1. Where weights are
				      compared as they are, those of one run are */
	double dispersion;	   /* how much more than chance alone they vary, see gate.h; up to
				      1: no more */
	double freedom; /* the degrees by which the dispersion is known; 0: for certain */
};

struct change {
	enum change_kind kind;
	double base, new_; /* normalized: shares of their sides, 0 to 1; else weights of a run */
	double difference; /* new_ - base */
	double ratio;	   /* difference / base; 0 if both are 0; INFINITY if only base is */
	double deviations; /* of the difference: how many standard deviations it is; signed */
};

/*
 * Compares weights of the two sides of @stacks; each with the variance that stands beside it.
 * Every figure is a number: a side without any weight has shares of 0, and normalized nothing can
 * be told from chance then.
 */
void compare_totals(const struct stacks *stacks, const struct compare_options *options,
		    const struct tree_side sides[N_SIDES], struct change *ret);
void compare_selfs(const struct stacks *stacks, const struct compare_options *options,
		   const struct tree_side sides[N_SIDES], struct change *ret);

/*
 * Compares the weights of all: as they are, and no shares, whatever @options say.
 */
void compare_all(const struct stacks *stacks, const struct compare_options *options,
		 struct change *ret);

/* Sets @options->variances; one pass over the stacks. */
void compare_read_variances(const struct stacks *stacks, struct compare_options *options);

/*
 * What is looked at together, for options.n_compared: zeroed at first, then everything that will be
 * compared is added, with @options but for n_compared. By the exponent of the least probability
 * that any split could have.
 */
#define COMPARE_EXPONENTS 128
struct compare_family {
	size_t n, n_by_exponent[COMPARE_EXPONENTS];
};

/* Adds one of which this is the logarithm of the least probability. */
void compare_family_add_least(struct compare_family *family, double logarithm);

/* Adds the total and, where it is another one, the self weight. */
void compare_family_add(struct compare_family *family, const struct stacks *stacks,
			const struct compare_options *options,
			const struct tree_side sides[N_SIDES]);
/* How many of them count: 1 to family.n. */
size_t compare_family_size(const struct compare_family *family, double confidence);

/* 0 to 1: the difference in parts of the larger of both. The same for a half as for the double. */
static inline double change_strength(const struct change *change)
{
	double larger = change->base > change->new_ ? change->base : change->new_;
	double size = change->difference < 0 ? -change->difference : change->difference;

	return larger > 0 ? size / larger : 0;
}

/* "none", "grew", "shrank", "new", "gone". */
const char *change_kind_name(enum change_kind kind);

#endif
