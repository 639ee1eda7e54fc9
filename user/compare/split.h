/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * split: how improbable it is that chance alone split a thing as unevenly between two sides. Holds
 * the table of four numbers and its exact test, see compare.h.
 */
#ifndef COMPARE_SPLIT_H
#define COMPARE_SPLIT_H

#include "core/stacks.h"

/* Fewer events are never a change, at any confidence: they may come from one call. */
#define SPLIT_LEAST_EVENTS 5

/*
 * A part and the rest of two sides, in events: samples, or periods of the length that counts.
 * Totals are INFINITY when weights are compared as they are.
 */
struct split {
	double part[N_SIDES], total[N_SIDES];
	double new_share; /* the new side's share of all events */
};

/*
 * The standard deviations at which a normal variable is as improbable; positive if the new side's
 * part grew. 0 if no difference could be significant.
 */
double split_deviations(const struct split *split);

/* The logarithm of the least probability that any split of the same sum could have. */
double split_least_logarithm(const struct split *split);

#endif
