/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "compare/gate.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare/chance.h"
#include "compare/split.h"

/* This part of the error is shared evenly, the rest by information. */
#define EVEN_PART 0.25

/* Inputs for judging one item. */
struct judged_item {
	const struct gate_sums *sums;
	const struct gate_options *options;
	enum stacks_scale scale; /* of this item */
	const struct gate_sum *sides[N_SIDES];
	double length;		  /* of a sample, or of a period that counts */
	double share;		  /* of both sides together */
	double exposure[N_SIDES]; /* a side's total, or its number of runs */
};

static double period_length(const double weight[N_SIDES], const double variance[N_SIDES])
{
	double sum = weight[0] + weight[1];

	return sum > 0 ? (variance[0] + variance[1]) / sum : 0;
}

/* As in compare.c: a share varies with its part and with the rest. */
static double event_length(const struct judged_item *judged)
{
	const struct gate_side *sides = judged->sums->sides;
	double part[N_SIDES], rest[N_SIDES], variance[N_SIDES], other[N_SIDES];

	for (int side = 0; side < N_SIDES; side++) {
		part[side] = judged->sides[side]->weight;
		variance[side] = judged->sides[side]->variance;
		rest[side] = fmax(sides[side].total - part[side], 0);
		other[side] = fmax(sides[side].variance - variance[side], 0);
	}
	if (judged->scale == SCALE_ABSOLUTE)
		return period_length(part, variance);
	return (1 - judged->share) * period_length(part, variance) +
	       judged->share * period_length(rest, other);
}

static struct judged_item judged_item_of(const struct gate_sums *sums, const struct gate_item *item,
					 enum gate_weight weight,
					 const struct gate_options *options)
{
	struct judged_item judged = {.sums = sums,
				     .options = options,
				     .scale = item->by == GATE_ALL ? SCALE_ABSOLUTE
								   : options->scale};
	double all = sums->sides[0].total + sums->sides[1].total;

	for (int side = 0; side < N_SIDES; side++) {
		judged.sides[side] = &item->sums[side][weight];
		judged.share += judged.sides[side]->weight;
		judged.exposure[side] = judged.scale == SCALE_ABSOLUTE
						? (double)sums->sides[side].n_runs
						: sums->sides[side].total;
	}
	judged.share = all > 0 ? judged.share / all : 0;
	judged.length = event_length(&judged);
	return judged;
}

/* Events of both sides together. */
static double events(const struct judged_item *judged)
{
	return judged->length > 0
		       ? (judged->sides[0]->weight + judged->sides[1]->weight) / judged->length
		       : 0;
}

/* The information about an item: its events times the part that can vary. */
static double information(const struct judged_item *judged)
{
	double rest = judged->scale == SCALE_ABSOLUTE ? 1 : fmax(1 - judged->share, 0);

	return events(judged) * rest;
}

/* Adds the spread of the runs of one side. */
static void add_runs(const struct judged_item *judged, enum stacks_side side,
		     struct noise_point *point)
{
	const struct gate_side *runs = &judged->sums->sides[side];
	const struct gate_sum *sum = judged->sides[side];
	double n = runs->n_runs, weight = sum->weight, length = judged->length;

	if (runs->n_runs < 2 || !(weight > 0))
		return;
	if (judged->scale == SCALE_ABSOLUTE) {
		point->statistic += fmax(sum->squares * n / weight - weight, 0) / length;
		point->slope += weight / n * (n - 1) / length;
		point->events += weight / length;
	} else {
		double share = weight / runs->total, rest = 1 - share;

		if (!(rest > 1e-9))
			return;
		point->statistic +=
			fmax(sum->squares_by_total - weight * share, 0) / (length * share * rest);
		point->slope += share * rest * (runs->total - runs->squares / runs->total) / length;
		point->events += weight * rest / length;
	}
	point->freedom += n - 1;
}

static struct noise_point runs_of(const struct judged_item *judged)
{
	struct noise_point point = {0};

	if (!(judged->length > 0))
		return point;
	for (int side = 0; side < N_SIDES; side++)
		add_runs(judged, side, &point);
	if (point.freedom > 0)
		point.slope /= point.freedom;
	return point;
}

/*
 * How much c² adds to the dispersion of the comparison, per unit of information. @by_recording:
 * windows of one recording share its conditions.
 */
static double unit_slope(const struct gate_sums *sums, enum stacks_scale scale, bool by_recording)
{
	double between = 0, sampling = 0, exposures = 0;

	for (int side = 0; side < N_SIDES; side++) {
		const struct gate_side *runs = &sums->sides[side];
		double exposure = scale == SCALE_ABSOLUTE ? (double)runs->n_runs : runs->total;

		if (!(exposure > 0))
			return 0;
		if (by_recording)
			between += 1.0 / runs->n_recordings;
		else if (scale == SCALE_ABSOLUTE)
			between += 1.0 / runs->n_runs;
		else
			between += runs->squares / (runs->total * runs->total);
		sampling += 1 / exposure;
		exposures += exposure;
	}
	return between / sampling / exposures;
}

static double slope_of(const struct judged_item *judged, bool by_recording)
{
	return information(judged) * unit_slope(judged->sums, judged->scale, by_recording);
}

static double expected_noise(const struct gate_options *options)
{
	return options->noise < 0 ? NOISE_PERCENT : options->noise;
}

static bool has_windows(const struct gate_sums *sums)
{
	return sums->sides[0].n_recordings < sums->sides[0].n_runs ||
	       sums->sides[1].n_recordings < sums->sides[1].n_runs;
}

/* @point: the spread of the item's own runs. */
static struct dispersion dispersion_of(const struct judged_item *judged, const struct noise *noise,
				       const struct noise_point *point)
{
	struct dispersion found = noise_dispersion(noise, point, slope_of(judged, false));

	if (has_windows(judged->sums)) {
		double percent = expected_noise(judged->options);
		struct noise between = {1, percent * percent / 1e4};
		struct dispersion least = noise_dispersion(&between, &(struct noise_point){0},
							   slope_of(judged, true));

		if (least.factor > found.factor)
			return least;
	}
	return found;
}

struct dispersion gate_dispersion(const struct gate_sums *sums, const struct gate *gate,
				  const struct gate_item *item, const struct gate_item *own,
				  enum gate_weight weight, const struct gate_options *options)
{
	struct judged_item judged = judged_item_of(sums, item, weight, options);
	struct noise_point point = {0};

	if (own)
		point = gate_runs(sums, own, weight, options);
	return dispersion_of(&judged, &gate->noise[item->by], &point);
}

struct gate_model gate_model(const struct gate_sums *sums, const struct gate *gate,
			     const struct gate_options *options)
{
	double percent = expected_noise(options);
	struct gate_model model = {
		.noise = gate->noise[GATE_FUNCTION],
		.slope = unit_slope(sums, options->scale, false),
		.has_least = has_windows(sums),
		.least = {1, percent * percent / 1e4},
		.least_slope = unit_slope(sums, options->scale, true),
	};

	return model;
}

struct noise_point gate_runs(const struct gate_sums *sums, const struct gate_item *item,
			     enum gate_weight weight, const struct gate_options *options)
{
	struct judged_item judged = judged_item_of(sums, item, weight, options);

	return runs_of(&judged);
}

/* The noise of runs */

static int fit_noise(const struct gate_sums *sums, enum gate_by by,
		     const struct gate_options *options, struct noise *ret)
{
	struct noise_point *points = calloc(sums->n_items, sizeof *points);
	double least = expected_noise(options);
	size_t n = 0;

	if (!points)
		return -ENOMEM;
	for (size_t i = 0; i < sums->n_items; i++) {
		struct judged_item judged;

		if (sums->items[i].by != by)
			continue;
		judged = judged_item_of(sums, &sums->items[i], GATE_SELF, options);
		points[n++] = runs_of(&judged);
	}
	noise_fit(points, n, least, ret);
	if (options->noise >= 0)
		ret->square = fmax(ret->square, least * least / 1e4);
	free(points);
	return 0;
}

/* Answers */

/* False if there is nothing to compare with. */
static bool make_split(const struct judged_item *judged, const struct dispersion *dispersion,
		       struct split *ret)
{
	double length = judged->length * dispersion->factor;

	for (int side = 0; side < N_SIDES; side++) {
		if (!(judged->exposure[side] > 0))
			return false;
		ret->part[side] = judged->sides[side]->weight / length;
		ret->total[side] = judged->scale == SCALE_ABSOLUTE
					   ? INFINITY
					   : judged->exposure[side] / length;
	}
	ret->new_share = judged->exposure[SIDE_NEW] /
			 (judged->exposure[SIDE_NEW] + judged->exposure[SIDE_BASE]);
	return true;
}

/* The standard deviation of the logarithm of new / base: by the delta method. */
static double log_deviation(const struct judged_item *judged, const struct gate_answer *answer)
{
	double variance = 0;

	for (int side = 0; side < N_SIDES; side++) {
		double share = judged->sides[side]->weight / judged->exposure[side];
		double rest = judged->scale == SCALE_ABSOLUTE ? 1 : 1 - share;

		variance += rest * judged->length / judged->sides[side]->weight;
	}
	return sqrt(variance * answer->dispersion.factor);
}

static void set_growth(const struct judged_item *judged, double error, struct gate_answer *answer)
{
	double deviation, quantile;

	answer->base = judged->sides[SIDE_BASE]->weight / judged->exposure[SIDE_BASE];
	answer->new_ = judged->sides[SIDE_NEW]->weight / judged->exposure[SIDE_NEW];
	if (answer->base > 0)
		answer->growth = (answer->new_ - answer->base) / answer->base;
	else
		answer->growth = answer->new_ > 0 ? INFINITY : 0;
	answer->low = answer->high = answer->growth;
	if (!(answer->base > 0 && answer->new_ > 0))
		return;
	deviation = log_deviation(judged, answer);
	quantile = chance_student_quantile(error / 2, answer->dispersion.freedom);
	answer->low = answer->new_ / answer->base * exp(-quantile * deviation) - 1;
	answer->high = answer->new_ / answer->base * exp(quantile * deviation) - 1;
}

static bool is_too_much(const struct judged_item *judged, const struct gate_answer *answer)
{
	const struct gate_side *base = &judged->sums->sides[SIDE_BASE];
	double whole = judged->scale == SCALE_ABSOLUTE ? base->total / base->n_runs : 1;

	if (isinf(answer->growth))
		return answer->new_ * 100 > answer->rule->fail_over * whole;
	return answer->growth * 100 > answer->rule->fail_over;
}

static void judge(const struct judged_item *judged, double error, struct gate_answer *answer)
{
	double deviations = 0, probability;
	struct split split;

	if (make_split(judged, &answer->dispersion, &split))
		deviations = split_deviations(&split);
	set_growth(judged, error, answer);
	probability =
		deviations > 0 ? chance_student_tail(deviations, answer->dispersion.freedom) : 1;
	answer->doubt = answer->part > 0 ? fmin(probability / answer->part, 1) : 1;
	answer->state = GATE_PASSED;
	if (is_too_much(judged, answer))
		answer->state = answer->doubt <= error ? GATE_FAILED : GATE_UNSURE;
}

static bool has_sides(const struct judged_item *judged)
{
	return judged->exposure[0] > 0 && judged->exposure[1] > 0;
}

/* The budget: the information of all answers, and the number that could be significant. */
struct error_budget {
	double information[N_GATE_BY][N_GATE_WEIGHTS];
	struct compare_family family;
};

static void list_answer(const struct gate_sums *sums, const struct gate_options *options,
			struct gate_answer *answer, struct gate *gate, struct error_budget *budget)
{
	const struct gate_item *item = answer->item;
	struct judged_item judged = judged_item_of(sums, item, answer->weight, options);
	struct split split;

	if (!has_sides(&judged) || events(&judged) < SPLIT_LEAST_EVENTS)
		return;
	answer->part = information(&judged);
	answer->dispersion = gate_dispersion(sums, gate, item, item, answer->weight, options);
	budget->information[item->by][answer->weight] += answer->part;
	if (make_split(&judged, &answer->dispersion, &split))
		compare_family_add_least(&budget->family, split_least_logarithm(&split));
	gate->answers[gate->n_answers++] = *answer;
}

/* A function that calls nothing has the same total and self weight; the whole has only a total. */
static bool is_asked(const struct gate_item *item, const struct gate_rule *rule,
		     enum gate_weight weight)
{
	const struct gate_sum *base = item->sums[SIDE_BASE], *new_ = item->sums[SIDE_NEW];

	if (item->by == GATE_ALL)
		return weight == GATE_TOTAL;
	if (!(rule->weights & GATE_BIT(weight)))
		return false;
	return weight == GATE_SELF || !(rule->weights & GATE_BIT(GATE_SELF)) ||
	       base[GATE_SELF].weight != base[GATE_TOTAL].weight ||
	       new_[GATE_SELF].weight != new_[GATE_TOTAL].weight;
}

/* Lists the items that rules cover and that could fail. */
static void list_answers(const struct gate_sums *sums, const struct gate_rules *rules,
			 const struct gate_options *options, struct gate *gate,
			 struct error_budget *budget)
{
	for (size_t i = 0; i < sums->n_items; i++) {
		const struct gate_item *item = &sums->items[i];
		const struct gate_rule *rule = gate_rules_find(rules, sums, item);

		for (int weight = 0; rule && weight < N_GATE_WEIGHTS; weight++) {
			struct gate_answer answer = {.item = item, .rule = rule, .weight = weight};

			if (is_asked(item, rule, weight))
				list_answer(sums, options, &answer, gate, budget);
		}
	}
}

static int compare_numbers(double a, double b)
{
	return a > b ? -1 : a < b ? 1 : 0;
}

static int compare_answers(const void *a, const void *b, void *data)
{
	const struct gate_answer *x = a, *y = b;
	int order = (int)y->state - (int)x->state;

	if (order == 0 && x->state != GATE_PASSED)
		order = (y->item->by == GATE_ALL) - (x->item->by == GATE_ALL);
	if (order == 0 && x->state != GATE_PASSED)
		order = compare_numbers(x->growth, y->growth);
	if (order == 0)
		order = compare_numbers(x->new_ + x->base, y->new_ + y->base);
	if (order == 0)
		order = strcmp(gate_name(data, x->item->name), gate_name(data, y->item->name));
	if (order == 0)
		order = (int)x->item->by - (int)y->item->by;
	if (order == 0)
		order = (int)x->weight - (int)y->weight;
	if (order == 0)
		order = x->item->is_kernel - y->item->is_kernel;
	return order;
}

/* The share of a weight in the error distributed by information to weights of its kind. */
static double part_of_weight(const double information[N_GATE_WEIGHTS], enum gate_weight weight)
{
	double sum = information[GATE_SELF] + information[GATE_TOTAL];
	double total = sum > 0 ? fmin(information[GATE_TOTAL] / sum, 0.5) : 0;

	if (!(information[GATE_SELF] > 0))
		total = 1;
	return weight == GATE_TOTAL ? total : 1 - total;
}

static double part_of(const struct gate_answer *answer, const struct error_budget *budget,
		      int n_kinds, double evenly)
{
	const double *information = budget->information[answer->item->by];
	double by_information = 0;

	if (answer->part > 0)
		by_information = answer->part / information[answer->weight] / n_kinds *
				 part_of_weight(information, answer->weight);
	return fmax(by_information * (1 - EVEN_PART), evenly * EVEN_PART);
}

static void judge_all(const struct gate_sums *sums, const struct gate_options *options,
		      const struct error_budget *budget, struct gate *gate)
{
	double error = fmax(1 - gate->confidence / 100, 0);
	double evenly = 1.0 / compare_family_size(&budget->family, gate->confidence);
	int n_kinds = 0;

	for (int by = 0; by < N_GATE_BY; by++)
		n_kinds += budget->information[by][GATE_SELF] > 0 ||
			   budget->information[by][GATE_TOTAL] > 0;
	for (size_t i = 0; i < gate->n_answers; i++) {
		struct gate_answer *answer = &gate->answers[i];
		struct judged_item judged =
			judged_item_of(sums, answer->item, answer->weight, options);

		answer->part = part_of(answer, budget, n_kinds, evenly);
		judge(&judged, error, answer);
		gate->n_failed += answer->state == GATE_FAILED;
		gate->n_unsure += answer->state == GATE_UNSURE;
	}
}

int gate_judge(const struct gate_sums *sums, const struct gate_rules *rules,
	       const struct gate_options *options, struct gate *ret)
{
	struct gate gate = {.confidence = options->confidence > 0 ? options->confidence
								  : COMPARE_CONFIDENCE,
			    .has_runs = sums->sides[0].n_runs > 1 || sums->sides[1].n_runs > 1};
	struct error_budget budget = {0};

	for (int by = 0; by < N_GATE_BY; by++) {
		int r = fit_noise(sums, by, options, &gate.noise[by]);

		if (r < 0)
			return r;
	}
	gate.answers = calloc(sums->n_items + 1, N_GATE_WEIGHTS * sizeof *gate.answers);
	if (!gate.answers)
		return -ENOMEM;
	list_answers(sums, rules, options, &gate, &budget);
	judge_all(sums, options, &budget, &gate);
	qsort_r(gate.answers, gate.n_answers, sizeof *gate.answers, compare_answers, (void *)sums);
	*ret = gate;
	return 0;
}

void gate_done(struct gate *gate)
{
	free(gate->answers);
	*gate = (struct gate){};
}
