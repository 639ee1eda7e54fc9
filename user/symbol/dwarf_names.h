/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dwarf_names: what the functions of scopes are called.
 *
 * An entry's name is found along its references, to the function that was inlined and to where
 * that was declared. A linkage name says all: it is demangled. Where there is none, as for C and
 * for what C++ keeps private to a file, the name is put behind those of the namespaces and types
 * around it. An entry does not know what is around it, so such entries are gathered, and one walk
 * over each of their units passes by all of them.
 */
#ifndef SYMBOL_DWARF_NAMES_H
#define SYMBOL_DWARF_NAMES_H

#include "base/strings.h"
#include "symbol/dwarf_scopes.h"

/*
 * Sets @names[scope] to the name of each scope that @wanted[scope] asks for, to 0 where none can be
 * told, damage included. @names has room for all of @scopes. Errors: -ENOMEM, -E2BIG.
 */
int dwarf_names_find(struct dwarf *dwarf, const struct dwarf_scopes *scopes, const bool *wanted,
		     struct strings *strings, uint32_t *names);

#endif
