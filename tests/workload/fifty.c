/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fifty [SECONDS]: 50 functions, with 30 % of the time down to 0.1 %, called in a different order
 * in each round, which takes a fraction of a millisecond. FIFTY_SLOWER=NAME:PERCENT makes one of
 * them do this much more work: work_00 has 30 %, work_01 10 %, work_09 2 %.
 */
#include "workload.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define N_WORKS	   50
#define TABLE_SIZE 1024 /* a power of two */

/* Thousandths of the time. */
static const unsigned int weights[N_WORKS] = {300, 100, 80, 60, 50, 40, 35, 30, 25, 20, 18, 16, 15,
					      14,  13,	12, 11, 10, 9,	9,  8,	8,  7,	7,  6,	6,
					      6,   5,	5,  5,	4,  4,	4,  4,	3,  3,	3,  3,	3,
					      3,   2,	2,  2,	2,  2,	2,  2,	2,  1,	1};

static uint32_t table[TABLE_SIZE];

/* Mixes the table as hashing does: loads, stores, and multiplications that depend on each other. */
#define WORK(number)                                                                               \
	static __attribute__((noipa)) uint32_t work_##number(unsigned int units, uint32_t seed)    \
	{                                                                                          \
		for (unsigned int i = 0; i < units * 8; i++) {                                     \
			uint32_t *at = &table[(seed >> 7) & (TABLE_SIZE - 1)];                     \
                                                                                                   \
			seed = seed * 2654435761u + *at + 1##number;                               \
			*at ^= seed >> 3;                                                          \
		}                                                                                  \
		return seed;                                                                       \
	}
#define WORKS(tens)                                                                                \
	WORK(tens##0)                                                                              \
	WORK(tens##1)                                                                              \
	WORK(tens##2)                                                                              \
	WORK(tens##3)                                                                              \
	WORK(tens##4)                                                                              \
	WORK(tens##5)                                                                              \
	WORK(tens##6)                                                                              \
	WORK(tens##7)                                                                              \
	WORK(tens##8)                                                                              \
	WORK(tens##9)
WORKS(0)
WORKS(1)
WORKS(2)
WORKS(3)
WORKS(4)

struct work {
	const char *name;
	uint32_t (*run)(unsigned int units, uint32_t seed);
	double units, due; /* due in a round; left over from earlier ones */
};

#define ITEM(number)                                                                               \
	{                                                                                          \
		.name = "work_" #number, .run = work_##number                                      \
	}
#define ITEMS(tens)                                                                                \
	ITEM(tens##0), ITEM(tens##1), ITEM(tens##2), ITEM(tens##3), ITEM(tens##4), ITEM(tens##5),  \
		ITEM(tens##6), ITEM(tens##7), ITEM(tens##8), ITEM(tens##9)
static struct work works[N_WORKS] = {ITEMS(0), ITEMS(1), ITEMS(2), ITEMS(3), ITEMS(4)};

/* False if the variable does not name one of them. */
static bool plan(void)
{
	const char *slower = getenv("FIFTY_SLOWER");
	const char *colon = slower ? strchr(slower, ':') : NULL;
	bool found = !slower || !*slower;

	for (int i = 0; i < N_WORKS; i++) {
		works[i].units = weights[i];
		if (colon && strncmp(works[i].name, slower, colon - slower) == 0 &&
		    strlen(works[i].name) == (size_t)(colon - slower)) {
			works[i].units *= 1 + atof(colon + 1) / 100;
			found = true;
		}
	}
	return found;
}

static void shuffle(int order[N_WORKS], uint32_t *random)
{
	for (int i = N_WORKS - 1; i > 0; i--) {
		int k = next_random(random) % (i + 1), at = order[i];

		order[i] = order[k];
		order[k] = at;
	}
}

static uint32_t run_round(const int order[N_WORKS], uint32_t seed)
{
	for (int i = 0; i < N_WORKS; i++) {
		struct work *work = &works[order[i]];
		unsigned int units;

		work->due += work->units;
		units = work->due;
		work->due -= units;
		seed = work->run(units, seed);
	}
	return seed;
}

int main(int argc, char **argv)
{
	uint64_t until = wall_ns() + number_argument(argc, argv, 1, 10) * SECOND;
	uint32_t random = getpid() * 7919u + 1, seed = random;
	uint64_t rounds = 0;
	int order[N_WORKS];

	if (!plan()) {
		fputs("fifty: FIFTY_SLOWER is NAME:PERCENT, as work_00:20\n", stderr);
		return 2;
	}
	for (int i = 0; i < N_WORKS; i++)
		order[i] = i;
	for (; wall_ns() < until; rounds++) {
		shuffle(order, &random);
		seed = run_round(order, seed);
	}
	printf("{\"rounds\": %ju, \"result\": %u}\n", (uintmax_t)rounds, seed);
	return 0;
}
