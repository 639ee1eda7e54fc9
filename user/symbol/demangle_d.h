/* SPDX-License-Identifier: GPL-2.0-or-later */
/* demangle_d: symbol names of D as people write them, by the language's specification of its ABI. */
#ifndef SYMBOL_DEMANGLE_D_H
#define SYMBOL_DEMANGLE_D_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Writes the meaning of @n bytes at @name to @to, as far as it fits into @size bytes; it is not
 * terminated. Returns how many bytes that are, 0 if it has none. *@is_cut: there is more. @name is
 * untrusted: time and memory are bounded.
 */
size_t demangle_d(const char *name, size_t n, char *to, size_t size, bool *is_cut);

#endif
