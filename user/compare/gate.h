/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gate: whether something grew by more than it may, told from what chance and the noise of runs do.
 *
 * Only growth is asked for, so each test is one-sided; only what a rule speaks of takes part, with
 * its self weight and its total, as tables have both. A quarter of the error that the confidence
 * leaves is dealt out evenly among what could be told from chance (Tarone, as in compare.h), about
 * as in tables: what surely grew there mostly fails here, and what does not is told. The rest is
 * dealt out in proportion to the information that there is of each item: p (1 - p) of a share, of
 * both sides together. That is ancillary, the exact test conditions on it, so any weights made of
 * it keep the error of all together (weighted Bonferroni: C. R. Genovese, K. Roeder, L. Wasserman:
 * False discovery control with p-value weighting, Biometrika 93, 2006). A function of a third of
 * the time pays 3 for being looked at beside thousands of cold ones. Totals, of which a deep stack
 * has many, get at most as much of it as selfs.
 *
 * The test is that of compare.h, of as many events as are left when counts are divided by the
 * dispersion of gate_noise.h (the design effect of J. N. K. Rao, A. J. Scott: A simple method for
 * the analysis of clustered binary data, 1992); its answer in deviations is read from Student's t.
 *
 * What varies between recordings, windows of one recording do not show: where windows lie back to
 * back, the noise that is expected between recordings is the least that is reckoned with.
 */
#ifndef COMPARE_GATE_H
#define COMPARE_GATE_H

#include "compare/compare.h"
#include "compare/gate_noise.h"
#include "compare/gate_rules.h"
#include "compare/gate_sums.h"

struct gate_options {
	double confidence; /* of all together, percent; 0: COMPARE_CONFIDENCE */
	double noise;	   /* percent, see gate_noise.h; < 0: NOISE_PERCENT, which runs correct in
			      both directions; else they can only make it more */
	enum stacks_scale scale;
};

enum gate_state {
	GATE_PASSED,
	GATE_UNSURE, /* it grew by more than it may, yet perhaps by chance */
	GATE_FAILED,
};

/* One thing that was looked at. */
struct gate_answer {
	const struct gate_item *item;
	enum gate_weight weight;
	const struct gate_rule *rule;
	enum gate_state state;
	double base, new_; /* shares, 0 to 1; else weights of a run */
	double growth;	   /* (new_ - base) / base; 0 if both are 0; INFINITY if only base is */
	double low, high;  /* of the growth, at the confidence, of this item alone */
	double doubt;	   /* that chance alone would do it to any of all; 0 to 1 */
	double part;	   /* of the error that is left, this item's */
	struct dispersion dispersion;
};

struct gate {
	struct gate_answer *answers; /* owned: failed ones first, then unsure ones, each by growth;
					then the others, by weight */
	size_t n_answers, n_failed, n_unsure;
	struct noise noise[N_GATE_BY];
	double confidence;
	bool has_runs; /* there was a spread to learn from */
};

/*
 * Judges the runs of both sides by the rules. @sums and @rules must outlive gate_done(). All
 * together is compared as it is, whatever the scale. A rule that matches nothing has no answers.
 * Errors: -ENOMEM.
 */
int gate_judge(const struct gate_sums *sums, const struct gate_rules *rules,
	       const struct gate_options *options, struct gate *ret);
/* Fine on a zeroed one. */
void gate_done(struct gate *gate);

/* How functions are judged, for who judges by himself: the explorer's page. */
struct gate_model {
	struct noise noise;
	double slope;	    /* of a unit of information: events × the part that can vary */
	bool has_least;	    /* windows lie back to back: the dispersion is at least … */
	struct noise least; /* … this noise's */
	double least_slope;
};
struct gate_model gate_model(const struct gate_sums *sums, const struct gate *gate,
			     const struct gate_options *options);
/* What an item's runs say. */
struct noise_point gate_runs(const struct gate_sums *sums, const struct gate_item *item,
			     enum gate_weight weight, const struct gate_options *options);

/*
 * The dispersion of one item, for tables; the noise is that of its kind. Of @item nothing but its
 * weights and variances is asked; @own: what its runs say, another item's if it is a part of that;
 * NULL: nobody knows.
 */
struct dispersion gate_dispersion(const struct gate_sums *sums, const struct gate *gate,
				  const struct gate_item *item, const struct gate_item *own,
				  enum gate_weight weight, const struct gate_options *options);

#endif
