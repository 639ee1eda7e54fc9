/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jit: names code that a JIT made, by the JIT's own files. */
#ifndef SYMBOL_JIT_H
#define SYMBOL_JIT_H

#include <stdbool.h>

#include "core/source.h"
#include "symbol/jitdump.h"

/*
 * Sets the names of those @lookups, addresses in one process, that its jitdump has, then of those
 * that its perf map has; leaves the others. @lines: NULL, or lookups->n of them, zeroed, which the
 * jitdump fills in. An invalid or damaged file gives its intact part; *ret_damaged: one gives
 * nothing. Errors: -ENOMEM, -E2BIG.
 */
int jit_resolve(const struct mapping_source *source, struct lookups *lookups,
		struct strings *strings, struct jit_line *lines, bool *ret_damaged);

#endif
