/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jitdump: names code that a JIT made after its `jit-PID.dump`.
 * Format: tools/perf/Documentation/jitdump-specification.txt of Linux.
 */
#ifndef SYMBOL_JITDUMP_H
#define SYMBOL_JITDUMP_H

#include "base/strings.h"
#include "symbol/jit_reader.h"
#include "symbol/lookups.h"

/*
 * Sets the names of those @lookups that have none and lie in code that was loaded or moved there;
 * of several loads, the last. @lines: NULL, or lookups->n of them, zeroed, to be set as well.
 * Records that were not written whole, and what follows them, are not used. Of files above 4 GiB
 * only the first 4 GiB are read. @fd stays the caller's.
 * Errors: -ENOMEM, -E2BIG; -EINVAL when it is not a regular file, -ENOEXEC when it is no jitdump,
 * or one of the other byte order.
 */
int jitdump_resolve(int fd, struct lookups *lookups, struct strings *strings,
		    struct jit_line *lines);

#endif
