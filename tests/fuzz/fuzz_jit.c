/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libFuzzer: any bytes as a process's perf map and as its jitdump. Must not crash, hang or grow.
 * A dictionary with "DTiJ" and "\xff\0" helps it past the header.
 *
 *	clang -g -O1 -fsanitize=fuzzer,address,undefined -D_GNU_SOURCE -I. -Iuser \
 *		tests/fuzz/fuzz_jit.c user/symbol/jit*.c user/symbol/perf_map.c \
 *		user/symbol/demangle.c user/symbol/demangle_d.c user/base/strings.c user/base/table.c -liberty
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbol/jit.h"

#define N_LOOKUPS 512

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

/* Dense near 0, then ever sparser up to the last address. */
static uint64_t address_of(size_t i)
{
	return i < N_LOOKUPS / 2 ? 3 * i : UINT64_MAX >> (64 * (N_LOOKUPS - 1 - i) / N_LOOKUPS);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	static uint64_t addresses[N_LOOKUPS];
	uint32_t names[N_LOOKUPS] = {};
	struct jit_line lines[N_LOOKUPS] = {};
	struct lookups lookups = {addresses, names, 0};
	struct mapping_source source = MAPPING_SOURCE_NONE;
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct strings strings;
	bool damaged;

	if (fd < 0 || write(fd, bytes, n) != (ssize_t)n || strings_init(&strings) < 0)
		abort();
	for (size_t i = 0; i < N_LOOKUPS; i++)
		if (i == 0 || address_of(i) > addresses[lookups.n - 1])
			addresses[lookups.n++] = address_of(i);
	source.perf_map = source.jitdump = fd;
	if (jit_resolve(&source, &lookups, &strings, lines, &damaged) < 0)
		abort();
	for (size_t i = 0; i < lookups.n; i++)
		if (names[i] >= strings.n_strings || lines[i].file >= strings.n_strings ||
		    (lines[i].line && !lines[i].file))
			abort();
	strings_done(&strings);
	close(fd);
	return 0;
}
