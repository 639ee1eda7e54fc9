/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dwarf_lines: the source line of each address, from the line number programs.
 *
 * A unit's table of lines is stored as a program that makes it row by row. It is run once for each
 * unit that holds addresses, and no table is made: two rows in turn span a stretch of code, which
 * is held against the sorted addresses as they go by.
 */
#ifndef SYMBOL_DWARF_LINES_H
#define SYMBOL_DWARF_LINES_H

#include "base/strings.h"
#include "symbol/dwarf_scopes.h"

/* The path as the compiler was told it, made absolute where DWARF tells how; 0: unknown. */
struct dwarf_place {
	uint32_t file, line;
};

/*
 * Sets @places[lookup] for those @lookups of @scopes' units that a line is known of, and
 * @call_files[scope] to the name of the file where it is inlined. The others are set to 0.
 * *@ret_damaged is set when a program is damaged; what it says before that is kept.
 * Errors: -ENOMEM, -E2BIG.
 */
int dwarf_lines_find(struct dwarf *dwarf, const struct lookups *lookups,
		     const struct dwarf_scopes *scopes, struct strings *strings,
		     struct dwarf_place *places, uint32_t *call_files, bool *ret_damaged);

#endif
