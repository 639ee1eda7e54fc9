/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sampling in proportion to time. A thread's short periods, laid end to end, are cut into stretches
 * of one sampling period each, with one uniformly random point in each. A short period is kept if a
 * point is in it, and then represents the whole stretch. Longer periods are kept as they are. So
 * the expected weight of each is its length, and a thread's total is never wrong by more than one
 * stretch; independent draws (as likely as each is long) would err by their root. A change of the
 * sampling period, of any size, applies to stretches that begin after it.
 *
 * This is systematic sampling with a random point in each stratum (Cochran, Sampling Techniques, 5A
 * and 8). Without the randomness, anything that repeats with the sampling period would be seen
 * always or never.
 *
 * Compiled for BPF and for its tests, which define sampling_period() and random_word().
 */
#ifndef BPF_WEIGH_H
#define BPF_WEIGH_H

/* Nanoseconds. All 0 before stretch_begin(). */
struct stretch {
	__u64 position; /* how much of it has passed; below period */
	__u32 period;	/* its length; 0: keep everything */
	__u32 point;	/* below period */
};

static inline __attribute__((always_inline)) void stretch_begin(struct stretch *stretch)
{
	stretch->period = sampling_period();
	stretch->point = random_word() * stretch->period >> 32;
}

/* Ends the one that is open early, which favours neither what was in it nor what follows. */
static inline __attribute__((always_inline)) void stretch_restart(struct stretch *stretch)
{
	stretch->position = 0;
	stretch_begin(stretch);
}

/* Whether the point is in the part up to @end. */
static inline __attribute__((always_inline)) int reaches_point(const struct stretch *stretch,
							       __u64 end)
{
	return stretch->position <= stretch->point && stretch->point < end;
}

/*
 * The weight of a short period that reaches a point, or the end of its stretch. A global function
 * for BPF: the verifier proves it once, and it is rarely called.
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
	/*
	 * The next stretch may be much shorter: a rest longer than it is kept as it is, as always.
	 */
	if (rest >= stretch->period) {
		weight += rest;
		rest = 0;
	}
	stretch->position = rest;
	return weight + (stretch->point < rest ? stretch->period : 0);
}

/* Whether weigh() may keep a period of @length: if so, it is kept or ends the stretch. */
static inline __attribute__((always_inline)) int may_be_kept(const struct stretch *stretch,
							     __u64 length)
{
	__u64 end = stretch->position + length;

	return length >= stretch->period || end >= stretch->period || reaches_point(stretch, end);
}

/* The weight of a period of @length; 0: not kept. */
static inline __attribute__((always_inline)) __u64 weigh(struct stretch *stretch, __u64 length)
{
	if (length >= stretch->period)
		return length;
	if (may_be_kept(stretch, length))
		return weigh_points(stretch, length);
	stretch->position += length;
	return 0;
}

/* The length of the stretch's short periods so far, less the weight counted for them. */
static inline __attribute__((always_inline)) __s64 stretch_residue(const struct stretch *stretch)
{
	return stretch->position - (stretch->point < stretch->position ? stretch->period : 0);
}

/*
 * The variance of that, in square microseconds: all earlier stretches were counted exactly, and
 * this one's point is in the passed share, or not. It may be read while half changed.
 */
static inline __attribute__((always_inline)) __u64 stretch_variance(const struct stretch *stretch)
{
	__u64 passed_us = stretch->position / 1000, period_us = stretch->period / 1000;

	return passed_us < period_us ? passed_us * (period_us - passed_us) : 0;
}

#endif
