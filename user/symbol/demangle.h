/* SPDX-License-Identifier: GPL-2.0-or-later */
/* demangle: symbol names of C++, Rust and D as people write them. */
#ifndef SYMBOL_DEMANGLE_H
#define SYMBOL_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strings.h"

#define SYMBOL_NAME_MAX 16384 /* bytes of a mangled name to read */
#define DEMANGLED_MAX	4096  /* bytes of a readable name; longer ones end in "…" */
#define DEMANGLED_SIZE	(DEMANGLED_MAX + sizeof "…")

/* Turns demangling off (or on again). */
void demangle_leave(bool leave);

/*
 * Writes the meaning of @name to @text, NUL-terminated, and returns its length. Copies a name that
 * is not mangled, or not correctly. @name is untrusted: time and memory are bounded.
 */
size_t demangle(const char *name, char text[static DEMANGLED_SIZE]);

/* Interns the meaning of @name. Errors: -ENOMEM, -E2BIG. */
int demangle_add(struct strings *strings, const char *name, uint32_t *ret_id);

/* Compares two names of the same code: < 0 if @a reads better, > 0 if @b does. A total order. */
int symbol_name_compare(const char *a, const char *b);

#endif
