/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dwarf_lines: the source line of each address, from the line number programs.
 *
 * A unit stores its table of lines as a program that makes it row by row. The program runs once for
 * each unit with addresses, and no table is made: two consecutive rows span a piece of code, which
 * is compared with the sorted addresses.
 */
#ifndef SYMBOL_DWARF_LINES_H
#define SYMBOL_DWARF_LINES_H

#include "base/strings.h"
#include "symbol/dwarf_scopes.h"

/* The path as given to the compiler, made absolute if DWARF has the folder; 0: unknown. */
struct dwarf_place {
	uint32_t file, line;
};

/*
 * Sets @places[lookup] for those @lookups of @scopes' units with a known line, and
 * @call_files[scope] to the file's name where it is inlined; others are set to 0. *@ret_damaged is
 * set if a program is damaged; its results before that are kept. Errors: -ENOMEM, -E2BIG.
 */
int dwarf_lines_find(struct dwarf *dwarf, const struct lookups *lookups,
		     const struct dwarf_scopes *scopes, struct strings *strings,
		     struct dwarf_place *places, uint32_t *call_files, bool *ret_damaged);

#endif
