/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * split: how improbable it is that chance alone split what two sides hold of a thing as unevenly.
 * The table of four numbers and its exact test, see compare.h.
 */
#ifndef COMPARE_SPLIT_H
#define COMPARE_SPLIT_H

#include "core/stacks.h"

/* Fewer events than this are no change at any confidence: they may be of one call. */
#define SPLIT_LEAST_EVENTS 5

/*
 * A part and the rest of two sides, in events: samples, or periods of the length that counts.
 * Totals are INFINITY where weights are compared as they are.
 */
struct split {
	double part[N_SIDES], total[N_SIDES];
	double new_share; /* of all events on both sides, that of the new side */
};

/*
 * At how many standard deviations a normal variable is as improbable; positive if the new side's
 * part grew. 0 if there is nothing that could be told from chance.
 */
double split_deviations(const struct split *split);

/* The logarithm of the least probability that any split of what both sides hold could have. */
double split_least_logarithm(const struct split *split);

#endif
