/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jit: names code that a JIT made, after what the JIT wrote about it.
 */
#ifndef SYMBOL_JIT_H
#define SYMBOL_JIT_H

#include <stdbool.h>

#include "core/source.h"
#include "symbol/jitdump.h"

/*
 * Sets the names of those @lookups, addresses in one process, that its jitdump tells, then of those
 * that its perf map tells; the others stay as they are. @lines: NULL, or lookups->n of them,
 * zeroed, to be set where the jitdump has them. A file that is none, or is damaged, tells what is
 * whole of it; *ret_damaged says that one tells nothing.
 * Errors: -ENOMEM, -E2BIG.
 */
int jit_resolve(const struct mapping_source *source, struct lookups *lookups,
		struct strings *strings, struct jit_line *lines, bool *ret_damaged);

#endif
