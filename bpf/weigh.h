/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sampling in proportion to time. A thread's short periods, laid end to end, are cut into stretches
 * of one sampling period each, with one point in each, uniformly random; a short period is kept if
 * a point lies in it, and stands for the whole stretch. Periods that are longer are kept as they
 * are. So the expected weight of each is its length, and a thread's total is never wrong by more
 * than one stretch: an independent draw for each (as likely as it is long) errs by their root. A
 * change of the sampling period, of any size, holds for stretches that begin after it.
 *
 * This is systematic sampling with a random point in each stratum (Cochran, Sampling Techniques,
 * 5A and 8); without the randomness, what repeats with the sampling period would be seen always or
 * never.
 *
 * Compiled for BPF and for its tests, which say what sampling_period() and random_word() are.
 */
#ifndef BPF_WEIGH_H
#define BPF_WEIGH_H

/* Nanoseconds. All 0 before stretch_begin(). */
struct stretch {
	__u64 position; /* how much of it has passed: less than period */
	__u32 period;	/* how long it is; 0: everything is kept */
	__u32 point;	/* below period */
};

static inline __attribute__((always_inline)) void stretch_begin(struct stretch *stretch)
{
	stretch->period = sampling_period();
	stretch->point = random_word() * stretch->period >> 32;
}

/* Whether the point lies in what passes up to @end. */
static inline __attribute__((always_inline)) int reaches_point(const struct stretch *stretch,
							       __u64 end)
{
	return stretch->position <= stretch->point && stretch->point < end;
}

/*
 * A short period reaches a point, or the end of its stretch: what it counts for. A global function
 * for BPF: the verifier proves it once, and it is seldom called.
 */
__u64 weigh_points(struct stretch *stretch, __u64 length);

__attribute__((noinline)) __u64 weigh_points(struct stretch *stretch, __u64 length)
{
	__u64 end, rest, weight;

	if (!stretch)
		return 0;
	end = stretch->position + length;
	weight = reaches_point(stretch, end) ? stretch->period : 0;
	if (end < stretch->period) {
		stretch->position = end;
		return weight;
	}
	rest = end - stretch->period;
	stretch_begin(stretch);
	/* The next stretch may be much shorter: what is longer than it is kept as it is, as ever. */
	if (rest >= stretch->period) {
		weight += rest;
		rest = 0;
	}
	stretch->position = rest;
	return weight + (stretch->point < rest ? stretch->period : 0);
}

/* Whether weigh() may keep a period of @length: it does, or the stretch ends. */
static inline __attribute__((always_inline)) int may_be_kept(const struct stretch *stretch,
							     __u64 length)
{
	__u64 end = stretch->position + length;

	return length >= stretch->period || end >= stretch->period || reaches_point(stretch, end);
}

/* What a period of @length counts for; 0: it is not kept. */
static inline __attribute__((always_inline)) __u64 weigh(struct stretch *stretch, __u64 length)
{
	if (length >= stretch->period)
		return length;
	if (may_be_kept(stretch, length))
		return weigh_points(stretch, length);
	stretch->position += length;
	return 0;
}

/* What the short periods of the stretch so far were, less what was counted for them. */
static inline __attribute__((always_inline)) __s64 stretch_residue(const struct stretch *stretch)
{
	return stretch->position - (stretch->point < stretch->position ? stretch->period : 0);
}

/*
 * The variance of that, in square microseconds: all stretches before were counted exactly, and of
 * this one the point lies in the share that has passed, or not. It may be read half changed.
 */
static inline __attribute__((always_inline)) __u64 stretch_variance(const struct stretch *stretch)
{
	__u64 passed_us = stretch->position / 1000, period_us = stretch->period / 1000;

	return passed_us < period_us ? passed_us * (period_us - passed_us) : 0;
}

#endif
