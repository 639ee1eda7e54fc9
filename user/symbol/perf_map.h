/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf_map: names code that a JIT made after its `/tmp/perf-PID.map`: lines `START SIZE name`, both
 * numbers in hexadecimal. Format: tools/perf/Documentation/jit-interface.txt of Linux.
 */
#ifndef SYMBOL_PERF_MAP_H
#define SYMBOL_PERF_MAP_H

#include "base/strings.h"
#include "symbol/lookups.h"

/*
 * Sets the names of those @lookups that have none and lie in the range of a line; of several, the
 * last. A line without a newline at its end is still being written and is not used. Of files above
 * 1 GiB only the last 1 GiB is read. @fd stays the caller's.
 * Errors: -ENOMEM, -E2BIG; -EINVAL when it is not a regular file.
 */
int perf_map_resolve(int fd, struct lookups *lookups, struct strings *strings);

#endif
