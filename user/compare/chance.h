/* SPDX-License-Identifier: GPL-2.0-or-later */
/* chance: the probability distributions that comparisons use. */
#ifndef COMPARE_CHANCE_H
#define COMPARE_CHANCE_H

/* Smaller probabilities lose their precision. */
#define CHANCE_LEAST 1e-300

/*
 * The value that a normal variable exceeds with @probability; 0 from 1/2 on; INFINITY below
 * CHANCE_LEAST.
 */
double chance_normal_quantile(double probability);

/*
 * The probability that Student's t with @freedom degrees of freedom exceeds @t > 0. INFINITY
 * degrees mean the normal distribution.
 */
double chance_student_tail(double t, double freedom);

/* The value that Student's t exceeds with @probability, up to 1/2. */
double chance_student_quantile(double probability, double freedom);

#endif
