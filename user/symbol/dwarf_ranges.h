/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dwarf_ranges: iterates over the code of an entry, range by range.
 *
 * An entry has one range (DW_AT_low_pc, DW_AT_high_pc) or a list of them (DW_AT_ranges) in
 * .debug_ranges or, from DWARF 5 on, in .debug_rnglists.
 */
#ifndef SYMBOL_DWARF_RANGES_H
#define SYMBOL_DWARF_RANGES_H

#include "symbol/dwarf.h"

struct dwarf_ranges {
	struct dwarf *dwarf;
	const struct dwarf_unit *unit;
	enum { RANGES_NONE, RANGES_ONE, RANGES_OLD, RANGES_NEW } kind;
	uint64_t low, high; /* RANGES_ONE */
	uint64_t offset;    /* of the list's next item */
	uint64_t base;
};

/* The ranges of @entry; none if it has none or they are unreadable. */
struct dwarf_ranges dwarf_ranges_of(struct dwarf *dwarf, const struct dwarf_unit *unit,
				    const struct dwarf_entry *entry);

/*
 * Gives the next range of linked code, in the list's order: 1, or 0 at the end. Errors: -ENOEXEC
 * damaged, or budget; those of section_view().
 */
int dwarf_ranges_next(struct dwarf_ranges *ranges, uint64_t *ret_low, uint64_t *ret_high);

#endif
