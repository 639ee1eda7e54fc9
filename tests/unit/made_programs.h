/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * made_programs: simulated programs of 50 functions, sampled at random. Seeds are fixed, so every
 * run gives the same samples.
 */
#ifndef UNIT_MADE_PROGRAMS_H
#define UNIT_MADE_PROGRAMS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

/* Random numbers: splitmix64 */

static uint64_t random_state;

static inline uint64_t random_bits(void)
{
	uint64_t z = random_state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

/* Greater than 0, at most 1. */
static inline double random_unit(void)
{
	return ((random_bits() >> 11) + 1) / 9007199254740992.0;
}

static inline double random_exponential(void)
{
	return -log(random_unit());
}

static inline unsigned int random_poisson(double mean)
{
	unsigned int n = 0;

	for (double sum = random_exponential(); sum < mean; sum += random_exponential())
		n++;
	return n;
}

/* The Box-Muller transform. */
static inline double random_normal(void)
{
	return sqrt(2 * random_exponential()) * cos(2 * M_PI * random_unit());
}

/* A program of 50 functions, sampled at 199 Hz for 30 s. */

#define N_FUNCTIONS 50
#define N_SAMPLES   5970

struct program {
	double share[N_FUNCTIONS];
};

/* Sizes are in the ratio 1, 1/2, 1/3, …; the first function has @first of all. Adds @slower. */
static inline struct program make_program(double first, double slower)
{
	struct program program = {{first * slower}};
	double sum = 0, all = first * slower + 1 - first;

	for (int i = 1; i < N_FUNCTIONS; i++)
		sum += program.share[i] = 1.0 / i;
	for (int i = 1; i < N_FUNCTIONS; i++)
		program.share[i] *= (1 - first) / sum / all;
	program.share[0] /= all;
	return program;
}

static inline void draw_samples(const struct program *program, int n, uint64_t counts[N_FUNCTIONS])
{
	double sums[N_FUNCTIONS], sum = 0;

	memset(counts, 0, N_FUNCTIONS * sizeof *counts);
	for (int i = 0; i < N_FUNCTIONS; i++)
		sums[i] = sum += program->share[i];
	for (int i = 0; i < n; i++) {
		double at = random_unit();
		int low = 0, high = N_FUNCTIONS - 1;

		while (low < high) {
			int middle = (low + high) / 2;

			if (sums[middle] < at)
				low = middle + 1;
			else
				high = middle;
		}
		counts[low]++;
	}
}

#endif
