/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * demangle: C++ and Rust symbol names as people write them.
 */
#ifndef SYMBOL_DEMANGLE_H
#define SYMBOL_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strings.h"

#define SYMBOL_NAME_MAX 16384 /* bytes of a mangled name that are looked at */
#define DEMANGLED_MAX	4096  /* bytes of a readable name; a longer one ends in "…" */
#define DEMANGLED_SIZE	(DEMANGLED_MAX + sizeof "…")

/* From now on names stay as they are, or no more. */
void demangle_leave(bool leave);

/*
 * Writes what @name means to @text, NUL-terminated, and returns its length. A name that is not
 * mangled, or not well, is copied. @name is never "trusted": time and memory are bounded.
 */
size_t demangle(const char *name, char text[static DEMANGLED_SIZE]);

/* Interns what @name means. Errors: -ENOMEM, -E2BIG. */
int demangle_add(struct strings *strings, const char *name, uint32_t *ret_id);

/* Says which of two names of the same code reads better: < 0 for @a, > 0 for @b. A total order. */
int symbol_name_compare(const char *a, const char *b);

#endif
