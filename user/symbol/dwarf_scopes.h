/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dwarf_scopes: the functions, inlined into each other, that each address lies in.
 *
 * Units whose code holds none of the addresses are passed over. In the others one walk goes over
 * the tree of entries and offers the ranges of each function, and of what is inlined into it, to
 * the sorted addresses: cost follows the units that were hit and not the number of addresses in
 * them. A subtree without an address is stepped over, by the pointer to its sibling where the
 * compiler wrote one.
 */
#ifndef SYMBOL_DWARF_SCOPES_H
#define SYMBOL_DWARF_SCOPES_H

#include "symbol/dwarf.h"
#include "symbol/lookups.h"

/* A function, or one place where one is inlined. */
struct dwarf_scope {
	uint32_t parent;    /* the scope it is inlined into; 0: it is not */
	uint16_t depth;	    /* 1 when it is not */
	bool is_alternate;  /* @entry is in the shared file */
	uint64_t entry;	    /* whose name it has, in .debug_info */
	uint32_t call_file; /* where it is inlined: number of a file of its unit */
	uint32_t call_line;
};

/* A unit that holds addresses; its scopes lie together. */
struct dwarf_seen_unit {
	uint64_t offset;
	uint32_t first_scope, n_scopes;
};

struct dwarf_scopes {
	struct dwarf_scope *scopes; /* [0] is none */
	size_t n_scopes, scopes_capacity;
	struct dwarf_seen_unit *units; /* [0] is none */
	size_t n_units, units_capacity;
	uint32_t *innermost, *unit; /* of each lookup; 0: none */
};

/*
 * Finds the scopes of @lookups. A damaged unit gives what lies before the damage; *@ret_damaged
 * says that there was one that mattered, or that the budget ended. Errors: -ENOMEM.
 */
int dwarf_scopes_find(struct dwarf *dwarf, const struct lookups *lookups, struct dwarf_scopes *ret,
		      bool *ret_damaged);
void dwarf_scopes_done(struct dwarf_scopes *scopes);

#endif
