/* SPDX-License-Identifier: GPL-2.0-or-later */
/* made_jit: a file as a JIT writes it, byte by byte, and addresses whose names it has. */
#ifndef TESTS_UNIT_MADE_JIT_H
#define TESTS_UNIT_MADE_JIT_H

#include "unit/cmocka_all.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "symbol/jit_reader.h"
#include "symbol/lookups.h"

#define MAX_LOOKUPS 512

static struct strings strings;
static uint64_t addresses[MAX_LOOKUPS];
static uint32_t names[MAX_LOOKUPS];
static struct jit_line lines[MAX_LOOKUPS];
static struct lookups lookups;
static FILE *stream; /* the file that the JIT writes */

static inline int setup(void **state)
{
	stream = fdopen(memfd_create("jit", MFD_CLOEXEC), "w+");
	memset(names, 0, sizeof names);
	memset(lines, 0, sizeof lines);
	lookups = (struct lookups){addresses, names, 0};
	return stream ? strings_init(&strings) : -1;
}

static inline int teardown(void **state)
{
	fclose(stream);
	strings_done(&strings);
	return 0;
}

static inline void look_up(uint64_t address)
{
	assert_true(lookups.n == 0 || address > addresses[lookups.n - 1]);
	addresses[lookups.n++] = address;
}

static inline int written(void)
{
	fflush(stream);
	return fileno(stream);
}

static inline size_t index_of(uint64_t address)
{
	for (size_t i = 0; i < lookups.n; i++)
		if (addresses[i] == address)
			return i;
	fail_msg("%#lx was not looked up", (unsigned long)address);
	return 0;
}

static inline const char *name_of(uint64_t address)
{
	return strings_get(&strings, names[index_of(address)]);
}

#define JIT_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

#endif
