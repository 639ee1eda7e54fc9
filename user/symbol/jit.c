/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/jit.h"

#include <errno.h>

#include "symbol/perf_map.h"

static bool is_fatal(int r)
{
	return r == -ENOMEM || r == -E2BIG;
}

int jit_resolve(const struct mapping_source *source, struct lookups *lookups,
		struct strings *strings, struct jit_line *lines, bool *ret_damaged)
{
	int of_dump = 0, of_map = 0;

	if (source->jitdump >= 0)
		of_dump = jitdump_resolve(source->jitdump, lookups, strings, lines);
	if (is_fatal(of_dump))
		return of_dump;
	if (source->perf_map >= 0)
		of_map = perf_map_resolve(source->perf_map, lookups, strings);
	if (is_fatal(of_map))
		return of_map;
	*ret_damaged = of_dump < 0 || of_map < 0;
	return 0;
}
