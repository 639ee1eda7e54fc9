/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "compare/chance.h"

#include <math.h>

/*
 * With more degrees than this, Student's t equals the normal distribution to four digits, even ten
 * deviations out.
 */
#define MANY_DEGREES 1e7

#define MAX_TERMS 1000

/* Abramowitz and Stegun, 26.2.23, then two steps of Newton's method. */
double chance_normal_quantile(double probability)
{
	double t, z;

	if (probability >= 0.5)
		return 0;
	if (probability < CHANCE_LEAST)
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

/* Term @k of the continued fraction of the incomplete beta function: DLMF 8.17.23. */
static double beta_term(double a, double b, double x, int k)
{
	int m = k / 2;

	if (k % 2)
		return -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
	return m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
}

/*
 * The regularized incomplete beta function for x below (a + 1) / (a + b + 2): DLMF 8.17.22, summed
 * by Lentz' method in the form of I. J. Thompson and A. R. Barnett (1986).
 */
static double beta_fraction(double a, double b, double x)
{
	const double tiny = 1e-300;
	double front, sum = 1, c = 1, d = 0;
	int sign;

	front = lgamma_r(a + b, &sign) - lgamma_r(a, &sign) - lgamma_r(b, &sign);
	front = exp(front + a * log(x) + b * log1p(-x)) / a;
	for (int k = 1; k < MAX_TERMS; k++) {
		double term = beta_term(a, b, x, k);

		d = 1 + term * d;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = 1 + term / c;
		c = fabs(c) < tiny ? tiny : c;
		sum *= c * d;
		if (fabs(c * d - 1) < 1e-14)
			break;
	}
	return front / sum;
}

static double incomplete_beta(double a, double b, double x)
{
	if (x <= 0)
		return 0;
	if (x >= 1)
		return 1;
	if (x < (a + 1) / (a + b + 2))
		return beta_fraction(a, b, x);
	return 1 - beta_fraction(b, a, 1 - x);
}

double chance_student_tail(double t, double freedom)
{
	double both;

	if (freedom > MANY_DEGREES || isinf(t))
		return erfc(t / M_SQRT2) / 2;
	both = incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t));
	return t > 0 ? both / 2 : 1 - both / 2;
}

double chance_student_quantile(double probability, double freedom)
{
	double low = 0, high = 1;

	if (probability >= 0.5)
		return 0;
	if (probability < CHANCE_LEAST)
		return INFINITY;
	while (chance_student_tail(high, freedom) > probability && high < 1e300)
		high *= 2;
	for (int i = 0; i < 60; i++) {
		double middle = (low + high) / 2;

		if (chance_student_tail(middle, freedom) > probability)
			low = middle;
		else
			high = middle;
	}
	return high;
}
