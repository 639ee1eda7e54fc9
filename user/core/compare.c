/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/compare.h"

#include <math.h>

/* Above this standard deviation of a count, terms are many and the approximation is good. */
#define EXACT_DEVIATION 20

/* Fewer samples than this are no change at any confidence: they may be of one call. */
#define LEAST_EVENTS 5

/* Beyond it, a probability is no number any more, or no exact one. */
#define LEAST_PROBABILITY 1e-300
#define MOST_EXACT	  1e9

/*
 * A part and the rest of two sides, in events: samples, or periods of the length that counts.
 * Totals are INFINITY where weights are compared as they are.
 */
struct split {
	double part[N_SIDES], total[N_SIDES];
	double new_share; /* of all events on both sides, that of the new side */
};

/* What is compared: one weight of a thing. */
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

static double log_choose(double n, double k)
{
	int sign;

	return lgamma_r(n + 1, &sign) - lgamma_r(k + 1, &sign) - lgamma_r(n - k + 1, &sign);
}

/*
 * What a normal variable is above with @probability, up to 1/2. Abramowitz and Stegun, 26.2.23, and
 * two steps of Newton's method from there.
 */
static double normal_quantile(double probability)
{
	double t, z;

	if (probability >= 0.5)
		return 0;
	if (probability < LEAST_PROBABILITY)
		return INFINITY;
	t = sqrt(-2 * log(probability));
	z = t - (2.515517 + t * (0.802853 + t * 0.010328)) /
			(1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
	for (int i = 0; i < 2; i++) {
		double density = exp(-z * z / 2) / sqrt(2 * M_PI);

		z += (erfc(z / M_SQRT2) / 2 - probability) / density;
	}
	return z > 0 ? z : 0;
}

/* The logarithm of P(X = x) of the new side's part X, @n being that of both. */
static double log_first_term(const struct split *split, double x, double n)
{
	double total = split->total[SIDE_NEW] + split->total[SIDE_BASE];

	if (total > MOST_EXACT)
		return log_choose(n, x) + x * log(split->new_share) +
		       (n - x) * log1p(-split->new_share);
	return log_choose(split->total[SIDE_NEW], x) + log_choose(split->total[SIDE_BASE], n - x) -
	       log_choose(total, n);
}

/* P(X + 1) / P(X) of the new side's part X. */
static double next_term(const struct split *split, double x, double n)
{
	double odds = split->new_share / (1 - split->new_share);
	double left = split->total[SIDE_BASE] - (n - x) + 1;

	if (split->total[SIDE_NEW] + split->total[SIDE_BASE] <= MOST_EXACT)
		odds = (split->total[SIDE_NEW] - x) / left;
	return (n - x) / (x + 1) * odds;
}

/* P(X >= x) of the new side's part X, all being whole numbers and x above what is expected. */
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

/* The standard deviation of the new side's part, its sum with the base side's being as it is. */
static double split_deviation(const struct split *split)
{
	double n = split->part[SIDE_NEW] + split->part[SIDE_BASE];
	double all = split->total[SIDE_NEW] + split->total[SIDE_BASE];
	double rest = isinf(all) ? 1 : fmax(all - n, 0) / fmax(all - 1, 1);

	return sqrt(n * split->new_share * (1 - split->new_share) * rest);
}

/* The same table with its sides exchanged, so that one direction is enough. */
static struct split exchange(const struct split *split)
{
	return (struct split){
		.part = {split->part[SIDE_BASE], split->part[SIDE_NEW]},
		.total = {split->total[SIDE_BASE], split->total[SIDE_NEW]},
		.new_share = 1 - split->new_share,
	};
}

/*
 * The rest says what the part does, as nothing but the totals is theirs: what grew leaves less. The
 * smaller of both is looked at, of which the same terms are fewer.
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

/* Events that are no whole numbers count for less, on the safe side. */
static void round_down(struct split *split)
{
	split->part[SIDE_NEW] = floor(split->part[SIDE_NEW] + 1e-6);
	split->part[SIDE_BASE] = ceil(split->part[SIDE_BASE] - 1e-6);
	for (int side = 0; side < N_SIDES; side++)
		split->total[side] = fmax(round(split->total[side]), split->part[side]);
}

/* Signed; 0 if there is nothing that could be told from chance. */
static double split_deviations(const struct split *split)
{
	bool shrank = split->part[SIDE_NEW] < expected_new(split);
	struct split up = shrank ? exchange(split) : *split;
	double n = up.part[0] + up.part[1], deviations;

	if (!(split->new_share > 0 && split->new_share < 1) || up.part[SIDE_NEW] < LEAST_EVENTS)
		return 0;
	if (n > up.total[0] + up.total[1] - n)
		up = complement(&up);
	if (split_deviation(&up) < EXACT_DEVIATION) {
		double probability;

		round_down(&up);
		probability = exact_tail(&up);
		deviations = probability < LEAST_PROBABILITY ? likelihood_deviations(&up)
							     : normal_quantile(probability);
	} else {
		deviations = likelihood_deviations(&up);
	}
	return shrank ? -deviations : deviations;
}

static double pooled_length(const struct weighed *weighed)
{
	double weight = weighed->weight[0] + weighed->weight[1];

	return weight > 0 ? (weighed->variance[0] + weighed->variance[1]) / weight : 0;
}

/*
 * The length of a period that counts. A share varies with its part and with the rest: by
 * (1 - share)² × the variance of the one and share² × that of the other.
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

/* False if there is nothing to compare with. */
static bool make_split(const struct stacks *stacks, const struct compare_options *options,
		       const struct weighed *weighed, struct split *ret)
{
	bool is_count = stacks->facts[SIDE_NEW].mode == PROFILE_ONCPU;
	double length = is_count ? 1 : event_length(stacks, options, weighed);

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
			? 0.5
			: ret->total[SIDE_NEW] / (ret->total[SIDE_NEW] + ret->total[SIDE_BASE]);
	return true;
}

/* What the confidence leaves to chance, in one direction of one thing. */
static double allowed(double confidence, size_t n_compared)
{
	if (!(confidence > 0))
		confidence = COMPARE_CONFIDENCE;
	return fmax(1 - confidence / 100, 0) / 2 / (n_compared ? n_compared : 1);
}

static enum change_kind kind_of(const struct change *change, const struct compare_options *options)
{
	double least = normal_quantile(allowed(options->confidence, options->n_compared));

	if (change->difference == 0 || !(fabs(change->deviations) >= least))
		return CHANGE_NONE;
	if (change->difference > 0)
		return change->base > 0 ? CHANGE_GREW : CHANGE_NEW;
	return change->new_ > 0 ? CHANGE_SHRANK : CHANGE_GONE;
}

static double as_compared(const struct stacks *stacks, const struct compare_options *options,
			  const struct weighed *weighed, enum stacks_side side)
{
	if (options->scale == SCALE_ABSOLUTE)
		return weighed->weight[side];
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
		ret->deviations = split_deviations(&split);
	ret->kind = kind_of(ret, options);
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

/* The binary exponent of the least probability: at least this many halvings of it. */
static unsigned int least_exponent(const struct stacks *stacks,
				   const struct compare_options *options,
				   const struct weighed *weighed)
{
	struct split split;
	double n, total, logarithm;
	enum stacks_side smaller;

	if (!make_split(stacks, options, weighed, &split))
		return 0;
	n = ceil(split.part[0] + split.part[1]);
	if (n < LEAST_EVENTS)
		return 0;
	smaller = split.new_share < 0.5 ? SIDE_NEW : SIDE_BASE;
	total = split.total[0] + split.total[1];
	if (total > MOST_EXACT)
		logarithm = n * log(fmin(split.new_share, 1 - split.new_share));
	else if (n <= split.total[smaller])
		logarithm = log_choose(split.total[smaller], n) - log_choose(total, n);
	else
		return n >= total ? 0 : COMPARE_EXPONENTS - 1;
	return fmin(ceil(-logarithm / M_LN2), COMPARE_EXPONENTS - 1);
}

static void add_to_family(struct compare_family *family, const struct stacks *stacks,
			  const struct compare_options *options, const struct weighed *weighed)
{
	family->n++;
	family->n_by_exponent[least_exponent(stacks, options, weighed)]++;
}

void compare_family_add(struct compare_family *family, const struct stacks *stacks,
			const struct compare_options *options,
			const struct tree_side sides[N_SIDES])
{
	struct weighed totals = totals_of(sides), selfs = selfs_of(sides);

	add_to_family(family, stacks, options, &totals);
	/* The self weight of what calls nothing is its total: the same comparison. */
	if ((sides[0].self || sides[1].self) &&
	    (sides[0].self != sides[0].total || sides[1].self != sides[1].total))
		add_to_family(family, stacks, options, &selfs);
}

/*
 * Tarone's number is the least k that no more than k things can reach 1/k of what is allowed.
 * For all k between two powers of 2 the same things are counted, those that may.
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
