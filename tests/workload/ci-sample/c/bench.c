// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * bench: the test command of a sample project that pipelines profile. Does the same work each time:
 * seven functions that take known shares of it. A change of HASH_ROUNDS slows one of them down.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define ROUNDS	    260
#define HASH_ROUNDS 100

#define PART __attribute__((noinline, noclone))

static uint64_t state = 88172645463325252u;

/* @n thousand steps of work whose time does not depend on the data. */
static inline __attribute__((always_inline)) uint64_t steps(uint64_t value, unsigned int n)
{
	for (unsigned int i = 0; i < n * 1000; i++) {
		value ^= value << 13;
		value ^= value >> 7;
		value ^= value << 17;
	}
	return value;
}

PART static void read_input(void)
{
	state += steps(state, 150);
}

PART static void parse_header(void)
{
	state ^= steps(state, 100);
}

PART static void parse_record(void)
{
	state += steps(state + 1, 450);
}

PART static void hash_record(void)
{
	state ^= steps(state, 4 * HASH_ROUNDS);
}

PART static void sort_records(void)
{
	state += steps(state + 2, 300);
}

PART static void write_output(void)
{
	state ^= steps(state, 200);
}

PART static void process(void)
{
	parse_header();
	parse_record();
	hash_record();
	sort_records();
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : ROUNDS;

	for (int i = 0; i < rounds; i++) {
		read_input();
		process();
		write_output();
	}
	printf("%016llx\n", (unsigned long long)state);
	return 0;
}
