/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dwarf_scopes: the functions, inlined into each other, that contain each address.
 *
 * Units without any of the addresses are skipped. In the others one walk over the tree of entries
 * offers the ranges of each function, and of those inlined into it, to the sorted addresses: the
 * cost follows the units, not the number of addresses in them. A subtree without an address is
 * skipped, by the pointer to its sibling if the compiler wrote one.
 */
#ifndef SYMBOL_DWARF_SCOPES_H
#define SYMBOL_DWARF_SCOPES_H

#include "symbol/dwarf.h"
#include "symbol/lookups.h"

/* A function, or one place where one is inlined. */
struct dwarf_scope {
	uint32_t parent;    /* the scope it is inlined into; 0: none */
	uint16_t depth;	    /* 1 if it is not inlined */
	bool is_alternate;  /* @entry is in the shared file */
	uint64_t entry;	    /* the one with its name, in .debug_info */
	uint32_t call_file; /* where it is inlined: number of a file of its unit */
	uint32_t call_line;
};

/* A unit with addresses; its scopes are neighbours. */
struct dwarf_seen_unit {
	uint64_t offset;
	uint32_t first_scope, n_scopes;
};

struct dwarf_scopes {
	struct dwarf_scope *scopes; /* [0] is none */
	size_t n_scopes, scopes_capacity;
	struct dwarf_seen_unit *units; /* [0] is none */
	size_t n_units, units_capacity;
	uint32_t *innermost, *unit; /* per lookup; 0: none */
};

/*
 * Finds the scopes of @lookups. A damaged unit gives what precedes the damage; *@ret_damaged:
 * relevant damage, or the budget ended. Errors: -ENOMEM.
 */
int dwarf_scopes_find(struct dwarf *dwarf, const struct lookups *lookups, struct dwarf_scopes *ret,
		      bool *ret_damaged);
void dwarf_scopes_done(struct dwarf_scopes *scopes);

#endif
