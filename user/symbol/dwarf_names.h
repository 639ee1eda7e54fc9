/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dwarf_names: the names of scopes' functions.
 *
 * An entry's name is found along its references, to the inlined function and to its declaration. A
 * linkage name is complete: it is demangled. Without one, as for C and for functions that C++ keeps
 * private to a file, the names of the surrounding namespaces and types come before the name. An
 * entry does not know its surroundings, so such entries are collected, and one walk over each of
 * their units passes all of them.
 */
#ifndef SYMBOL_DWARF_NAMES_H
#define SYMBOL_DWARF_NAMES_H

#include "base/strings.h"
#include "symbol/dwarf_scopes.h"

/*
 * Sets @names[scope] to the name of each scope in @wanted, to 0 if it is unknown or damaged. @names
 * has room for all of @scopes. Errors: -ENOMEM, -E2BIG.
 */
int dwarf_names_find(struct dwarf *dwarf, const struct dwarf_scopes *scopes, const bool *wanted,
		     struct strings *strings, uint32_t *names);

#endif
