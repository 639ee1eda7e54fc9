/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gate: decides whether something grew by more than it may, beyond chance and the noise of runs.
 *
 * Only growth matters, so each test is one-sided. Only items that a rule covers take part, with
 * their self weight and total, like in the tables. A quarter of the error that the confidence
 * leaves is shared evenly among the items that could be significant (Tarone, as in compare.h),
 * about like in the tables: an item that surely grew there mostly fails here, and the others are
 * reported. The rest is distributed in proportion to each item's information: p (1 - p) of its
 * share p, of both sides together. That is ancillary (the exact test conditions on it), so any
 * weights made of it keep the joint error (weighted Bonferroni: C. R. Genovese, K. Roeder, L.
 * Wasserman: False discovery control with p-value weighting, Biometrika 93, 2006). A function with
 * a third of the time pays a factor of 3 for being compared beside thousands of cold ones. Totals,
 * of which a deep stack has many, get at most as much as self weights.
 *
 * The test is that of compare.h, on the events left after dividing counts by the dispersion of
 * gate_noise.h (the design effect of J. N. K. Rao, A. J. Scott: A simple method for the analysis of
 * clustered binary data, 1992). Its deviations follow Student's t.
 *
 * Windows of one recording underestimate the variance between recordings: for windows back to back,
 * the dispersion is at least the noise expected between recordings.
 */
#ifndef COMPARE_GATE_H
#define COMPARE_GATE_H

#include "compare/compare.h"
#include "compare/gate_noise.h"
#include "compare/gate_rules.h"
#include "compare/gate_sums.h"

struct gate_options {
	double confidence; /* of everything together, percent; 0: COMPARE_CONFIDENCE */
	double noise;	   /* percent, see gate_noise.h; < 0: NOISE_PERCENT, which runs correct in
			      both directions; otherwise runs can only raise it */
	enum stacks_scale scale;
};

enum gate_state {
	GATE_PASSED,
	GATE_UNSURE, /* it grew by more than it may, but perhaps by chance */
	GATE_FAILED,
};

/* The verdict on one item. */
struct gate_answer {
	const struct gate_item *item;
	enum gate_weight weight;
	const struct gate_rule *rule;
	enum gate_state state;
	double base, new_; /* shares, 0 to 1; else weights of a run */
	double growth;	   /* (new_ - base) / base; 0 if both are 0; INFINITY if only base is */
	double low, high;  /* of the growth, at the confidence, for this item alone */
	double doubt;	   /* probability that chance alone would do it to any item; 0 to 1 */
	double part;	   /* this item's, of the error that the confidence leaves */
	struct dispersion dispersion;
};

struct gate {
	struct gate_answer *answers; /* owned: failed, then unsure, each by growth; then the rest,
					by weight */
	size_t n_answers, n_failed, n_unsure;
	struct noise noise[N_GATE_BY];
	double confidence;
	bool has_runs; /* there was a spread to learn from */
};

/*
 * Judges the runs of both sides by the rules. @sums and @rules must outlive gate_done(). The whole
 * is compared as it is, whatever the scale. A rule that matches nothing has no answers. Errors:
 * -ENOMEM.
 */
int gate_judge(const struct gate_sums *sums, const struct gate_rules *rules,
	       const struct gate_options *options, struct gate *ret);
/* Fine on a zeroed struct. */
void gate_done(struct gate *gate);

/* What the explorer's page needs to judge functions by itself. */
struct gate_model {
	struct noise noise;
	double slope;	    /* per unit of information: events × the part that can vary */
	bool has_least;	    /* windows are back to back: the dispersion is at least … */
	struct noise least; /* … this noise's */
	double least_slope;
};
struct gate_model gate_model(const struct gate_sums *sums, const struct gate *gate,
			     const struct gate_options *options);
/* The spread of an item's runs. */
struct noise_point gate_runs(const struct gate_sums *sums, const struct gate_item *item,
			     enum gate_weight weight, const struct gate_options *options);

/*
 * The dispersion of one item, for tables; its noise is that of its kind. Uses only the weights and
 * variances of @item. @own: the spread of its runs, or of the item it is a part of; NULL: unknown.
 */
struct dispersion gate_dispersion(const struct gate_sums *sums, const struct gate *gate,
				  const struct gate_item *item, const struct gate_item *own,
				  enum gate_weight weight, const struct gate_options *options);

#endif
