/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "compare/compare.h"

#include <math.h>

#include "compare/chance.h"
#include "compare/split.h"

/* One weight of a thing, on both sides. */
struct weighed {
	double weight[N_SIDES], variance[N_SIDES];
};

const char *change_kind_name(enum change_kind kind)
{
	static const char *const names[N_CHANGE_KINDS] = {[CHANGE_NONE] = "none",
							  [CHANGE_GREW] = "grew",
							  [CHANGE_SHRANK] = "shrank",
							  [CHANGE_NEW] = "new",
							  [CHANGE_GONE] = "gone"};

	return names[kind];
}

static double pooled_length(const struct weighed *weighed)
{
	double weight = weighed->weight[0] + weighed->weight[1];

	return weight > 0 ? (weighed->variance[0] + weighed->variance[1]) / weight : 0;
}

/*
 * The length of a period that counts. A share varies with its part and with the rest: by (1 -
 * share)² × the variance of the part and share² × that of the rest.
 */
static double event_length(const struct stacks *stacks, const struct compare_options *options,
			   const struct weighed *part)
{
	double length = pooled_length(part), share;
	double totals = (double)stacks->totals[0] + (double)stacks->totals[1];
	struct weighed rest;

	if (options->scale == SCALE_ABSOLUTE || !(totals > 0) ||
	    !(options->variances[0] + options->variances[1] > 0))
		return length;
	for (int side = 0; side < N_SIDES; side++) {
		rest.weight[side] = fmax(stacks->totals[side] - part->weight[side], 0);
		rest.variance[side] = fmax(options->variances[side] - part->variance[side], 0);
	}
	share = (part->weight[0] + part->weight[1]) / totals;
	return (1 - share) * length + share * pooled_length(&rest);
}

static double runs_of(const struct compare_options *options, enum stacks_side side)
{
	return options->runs[side] ? options->runs[side] : 1;
}

/* False if there is nothing to compare with. */
static bool make_split(const struct stacks *stacks, const struct compare_options *options,
		       const struct weighed *weighed, struct split *ret)
{
	double length = event_length(stacks, options, weighed);

	if (stacks_is_unsampled(stacks))
		return false;
	if (!(length > 0) && stacks->facts[SIDE_NEW].mode == PROFILE_ONCPU)
		length = 1;
	if (options->dispersion > 1)
		length *= options->dispersion;
	if (!(length > 0))
		return false;
	for (int side = 0; side < N_SIDES; side++) {
		ret->part[side] = weighed->weight[side] / length;
		ret->total[side] =
			options->scale == SCALE_ABSOLUTE ? INFINITY : stacks->totals[side] / length;
		if (!(ret->total[side] > 0))
			return false;
	}
	ret->new_share =
		options->scale == SCALE_ABSOLUTE
			? runs_of(options, SIDE_NEW) /
				  (runs_of(options, SIDE_NEW) + runs_of(options, SIDE_BASE))
			: ret->total[SIDE_NEW] / (ret->total[SIDE_NEW] + ret->total[SIDE_BASE]);
	return true;
}

/* The probability of a false alarm that the confidence allows in one direction of one thing. */
static double allowed(double confidence, size_t n_compared)
{
	if (!(confidence > 0))
		confidence = COMPARE_CONFIDENCE;
	return fmax(1 - confidence / 100, 0) / 2 / (n_compared ? n_compared : 1);
}

static enum change_kind kind_of_change(const struct stacks *stacks,
				       const struct compare_options *options,
				       const struct change *change)
{
	double least = chance_normal_quantile(allowed(options->confidence, options->n_compared));
	bool is_sure = stacks_is_unsampled(stacks) || fabs(change->deviations) >= least;

	if (change->difference == 0 || !is_sure)
		return CHANGE_NONE;
	if (change->difference > 0)
		return change->base > 0 ? CHANGE_GREW : CHANGE_NEW;
	return change->new_ > 0 ? CHANGE_SHRANK : CHANGE_GONE;
}

/*
 * The normal deviations that are as improbable as @deviations of Student's t with @freedom degrees.
 */
static double as_normal(double deviations, double freedom)
{
	double size = fabs(deviations);

	if (!(freedom > 0))
		return deviations;
	return copysign(fmin(chance_normal_quantile(chance_student_tail(size, freedom)), size),
			deviations);
}

static double as_compared(const struct stacks *stacks, const struct compare_options *options,
			  const struct weighed *weighed, enum stacks_side side)
{
	if (options->scale == SCALE_ABSOLUTE)
		return weighed->weight[side] / runs_of(options, side);
	return stacks->totals[side] ? weighed->weight[side] / stacks->totals[side] : 0;
}

static void compare(const struct stacks *stacks, const struct compare_options *options,
		    const struct weighed *weighed, struct change *ret)
{
	struct split split;

	*ret = (struct change){
		.base = as_compared(stacks, options, weighed, SIDE_BASE),
		.new_ = as_compared(stacks, options, weighed, SIDE_NEW),
	};
	ret->difference = ret->new_ - ret->base;
	if (ret->difference != 0)
		ret->ratio = ret->base > 0 ? ret->difference / ret->base : INFINITY;
	if (ret->difference != 0 && make_split(stacks, options, weighed, &split))
		ret->deviations = as_normal(split_deviations(&split), options->freedom);
	ret->kind = kind_of_change(stacks, options, ret);
}

static struct weighed totals_of(const struct tree_side sides[N_SIDES])
{
	return (struct weighed){
		.weight = {sides[0].total, sides[1].total},
		.variance = {sides[0].total_variance, sides[1].total_variance},
	};
}

static struct weighed selfs_of(const struct tree_side sides[N_SIDES])
{
	return (struct weighed){
		.weight = {sides[0].self, sides[1].self},
		.variance = {sides[0].self_variance, sides[1].self_variance},
	};
}

void compare_totals(const struct stacks *stacks, const struct compare_options *options,
		    const struct tree_side sides[N_SIDES], struct change *ret)
{
	struct weighed weighed = totals_of(sides);

	compare(stacks, options, &weighed, ret);
}

void compare_selfs(const struct stacks *stacks, const struct compare_options *options,
		   const struct tree_side sides[N_SIDES], struct change *ret)
{
	struct weighed weighed = selfs_of(sides);

	compare(stacks, options, &weighed, ret);
}

void compare_all(const struct stacks *stacks, const struct compare_options *options,
		 struct change *ret)
{
	struct compare_options absolute = *options;
	struct weighed weighed = {.weight = {stacks->totals[0], stacks->totals[1]}};

	absolute.scale = SCALE_ABSOLUTE;
	compare_read_variances(stacks, &absolute);
	for (int side = 0; side < N_SIDES; side++)
		weighed.variance[side] = absolute.variances[side];
	compare(stacks, &absolute, &weighed, ret);
}

void compare_read_variances(const struct stacks *stacks, struct compare_options *options)
{
	for (int side = 0; side < N_SIDES; side++)
		options->variances[side] = 0;
	for (size_t i = 0; i < stacks->n_entries; i++)
		options->variances[stacks->entries[i].side] += stacks->entries[i].variance;
}

/* Groups by the probability's binary exponent: the number of halvings of 1, rounded down. */
void compare_family_add_least(struct compare_family *family, double logarithm)
{
	unsigned int exponent = fmin(ceil(-logarithm / M_LN2), COMPARE_EXPONENTS - 1);

	family->n++;
	family->n_by_exponent[exponent]++;
}

static void add_to_family(struct compare_family *family, const struct stacks *stacks,
			  const struct compare_options *options, const struct weighed *weighed)
{
	struct split split;

	compare_family_add_least(family, make_split(stacks, options, weighed, &split)
						 ? split_least_logarithm(&split)
						 : 0);
}

void compare_family_add(struct compare_family *family, const struct stacks *stacks,
			const struct compare_options *options,
			const struct tree_side sides[N_SIDES])
{
	struct weighed totals = totals_of(sides), selfs = selfs_of(sides);

	add_to_family(family, stacks, options, &totals);
	/* If a function calls nothing, its self weight is its total: the same comparison. */
	if ((sides[0].self || sides[1].self) &&
	    (sides[0].self != sides[0].total || sides[1].self != sides[1].total))
		add_to_family(family, stacks, options, &selfs);
}

/*
 * Tarone's number: the least k such that at most k things can reach 1/k of the allowed error. For
 * all k between two powers of 2 the same things qualify.
 */
size_t compare_family_size(const struct compare_family *family, double confidence)
{
	double all = allowed(confidence, 1);
	size_t reach = family->n;

	for (int exponent = 0; exponent < COMPARE_EXPONENTS; exponent++) {
		/* The k with 2^-(exponent + 1) < all / k <= 2^-exponent. */
		double from = all * exp2(exponent), to = 2 * from;
		double k = fmax(fmax(ceil(from), reach), 1);

		if (k < to)
			return k;
		reach -= family->n_by_exponent[exponent];
	}
	return family->n ? family->n : 1;
}
