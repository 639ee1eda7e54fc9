/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf_map: names code that a JIT made, by its `/tmp/perf-PID.map`: lines `START SIZE name`, both
 * numbers in hexadecimal. Format: tools/perf/Documentation/jit-interface.txt of Linux.
 */
#ifndef SYMBOL_PERF_MAP_H
#define SYMBOL_PERF_MAP_H

#include "base/strings.h"
#include "symbol/lookups.h"

/*
 * Sets the names of those unnamed @lookups that are in the range of a line; of several, the last
 * counts. A last line without a newline is still being written and is ignored. Of a large file only
 * the last part is read. The caller keeps @fd. Errors: -ENOMEM, -E2BIG; -EINVAL if it is not a
 * regular file.
 */
int perf_map_resolve(int fd, struct lookups *lookups, struct strings *strings);

#endif
