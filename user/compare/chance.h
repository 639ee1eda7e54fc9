/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * chance: the distributions that answers are read from.
 */
#ifndef COMPARE_CHANCE_H
#define COMPARE_CHANCE_H

/* Below it, a probability is no number any more. */
#define CHANCE_LEAST 1e-300

/* What a normal variable is above with @probability; 0 from 1/2 on; INFINITY below CHANCE_LEAST. */
double chance_normal_quantile(double probability);

/*
 * The probability that Student's t with @freedom degrees of freedom, above 0, is above @t;
 * INFINITY degrees: the normal distribution's.
 */
double chance_student_tail(double t, double freedom);

/* What it is above with @probability, up to 1/2. */
double chance_student_quantile(double probability, double freedom);

#endif
