/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jitdump: names code that a JIT made, by its `jit-PID.dump`. Format:
 * tools/perf/Documentation/jitdump-specification.txt of Linux.
 */
#ifndef SYMBOL_JITDUMP_H
#define SYMBOL_JITDUMP_H

#include "base/strings.h"
#include "symbol/jit_reader.h"
#include "symbol/lookups.h"

/*
 * Sets the names of those unnamed @lookups in code that was loaded or moved there; of several
 * loads, the last counts. @lines: NULL, or lookups->n of them, zeroed, to be set as well.
 * Incomplete records, and everything after them, are ignored. Of files above 4 GiB only the first 4
 * GiB are read. The caller keeps @fd. Errors: -ENOMEM, -E2BIG; -EINVAL if it is not a regular file;
 * -ENOEXEC if it is not a jitdump, or has the other byte order.
 */
int jitdump_resolve(int fd, struct lookups *lookups, struct strings *strings,
		    struct jit_line *lines);

#endif
