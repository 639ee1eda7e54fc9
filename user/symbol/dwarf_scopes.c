/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/dwarf_scopes.h"

#include <stdlib.h>

#include "base/array.h"
#include "symbol/dwarf_ranges.h"

/* Nesting of entries; compilers stay below 100. */
#define MAX_LEVELS 512
/* Functions inlined into each other. */
#define MAX_DEPTH    200
#define SCOPE_COST   1024
#define ADDRESS_COST 8

struct walk {
	struct dwarf *dwarf;
	const struct lookups *lookups;
	struct dwarf_scopes *scopes;
	const struct dwarf_unit *unit;
	uint32_t unit_number;
	uint32_t *claims; /* lookups within the unit's ranges */
	size_t n_claims;
	uint64_t *claimed_at; /* by lookup: the end of the unit that claimed it last */

	const struct dwarf_abbrevs *abbrevs;
	struct cursor cursor;
	bool everywhere;	     /* also look for functions in functions and types */
	uint32_t levels[MAX_LEVELS]; /* the scope on each level */
	size_t level;
	size_t skipping; /* levels below the first irrelevant one */
};

/* Whether a scope at @depth may take lookup @i. */
static bool takes(const struct walk *walk, size_t i, uint16_t depth)
{
	const struct dwarf_scopes *scopes = walk->scopes;
	uint32_t current = scopes->innermost[i];

	return !current ||
	       (scopes->unit[i] == walk->unit_number && scopes->scopes[current].depth < depth);
}

/* Gives the lookups in @entry's ranges to @scope. Returns whether there were any. */
static int cover(struct walk *walk, const struct dwarf_entry *entry, uint32_t scope, uint16_t depth)
{
	struct dwarf_ranges ranges = dwarf_ranges_of(walk->dwarf, walk->unit, entry);
	const struct lookups *lookups = walk->lookups;
	uint64_t low, high;
	bool any = false;
	int r;

	while ((r = dwarf_ranges_next(&ranges, &low, &high)) == 1) {
		size_t first = lookups_lower_bound(lookups, low), i = first;

		for (; i < lookups->n && lookups->addresses[i] < high; i++) {
			if (!takes(walk, i, depth))
				continue;
			any = true;
			if (!scope)
				continue;
			walk->scopes->innermost[i] = scope;
			walk->scopes->unit[i] = walk->unit_number;
		}
		r = dwarf_charge(walk->dwarf, ADDRESS_COST * (i - first));
		if (r < 0)
			return r;
	}
	return r < 0 ? r : any;
}

static bool has_ranges(const struct dwarf_entry *entry)
{
	return entry->values[WANT_RANGES].class != CLASS_NONE ||
	       entry->values[WANT_HIGH_PC].class != CLASS_NONE;
}

/* Sets the entry that has the scope's name: an inlined scope's is the function inlined. */
static void set_name_entry(struct dwarf_scope *scope, const struct dwarf_entry *entry)
{
	const struct dwarf_value *origin = &entry->values[WANT_ORIGIN];

	scope->entry = entry->offset;
	if (scope->parent && origin->class != CLASS_NONE) {
		scope->entry = origin->number;
		scope->is_alternate = origin->class == CLASS_REFERENCE_ALT;
	}
}

/* Makes a scope of @entry. *@ret_scope is 0 if no address is in it. */
static int add_scope(struct walk *walk, const struct dwarf_entry *entry, uint32_t parent,
		     uint32_t *ret_scope)
{
	struct dwarf_scopes *scopes = walk->scopes;
	struct dwarf_scope scope = {.parent = parent, .depth = 1};
	int r;

	*ret_scope = 0;
	if (parent) {
		scope.depth = scopes->scopes[parent].depth + 1;
		scope.call_file = entry->values[WANT_CALL_FILE].number;
		scope.call_line = entry->values[WANT_CALL_LINE].number;
	}
	if (scope.depth > MAX_DEPTH)
		return 0;
	set_name_entry(&scope, entry);
	r = array_reserve(scopes->scopes, scopes->scopes_capacity, scopes->n_scopes, 1);
	if (r < 0)
		return r;
	scopes->scopes[scopes->n_scopes++] = scope;
	r = cover(walk, entry, scopes->n_scopes - 1, scope.depth);
	if (r == 0)
		scopes->n_scopes--;
	if (r <= 0)
		return r;
	*ret_scope = scopes->n_scopes - 1;
	return dwarf_charge(walk->dwarf, SCOPE_COST);
}

/* Goes into the children of an entry, which belong to @scope. */
static void enter(struct walk *walk, uint32_t scope)
{
	if (walk->level + 1 < MAX_LEVELS)
		walk->levels[++walk->level] = scope;
	else
		walk->skipping = 1;
}

/* Skips the children of an entry whose values are read. */
static void step_over(struct walk *walk, struct dwarf_value sibling)
{
	struct cursor *cursor = &walk->cursor;
	uint64_t here = cursor_offset(cursor);

	if (sibling.class == CLASS_REFERENCE && sibling.number >= here &&
	    sibling.number - here <= cursor_left(cursor))
		cursor->at += sibling.number - here;
	else
		walk->skipping++;
}

/* Skips an entry of which only the end matters. */
static void pass(struct walk *walk, const struct dwarf_abbrev *abbrev)
{
	struct dwarf_value sibling = {CLASS_NONE, 0};

	if (!abbrev->has_children || !abbrev->has_sibling) {
		dwarf_values_skip(&walk->cursor, walk->abbrevs, abbrev);
	} else {
		struct dwarf_entry entry;

		dwarf_entry_read(&walk->cursor, walk->abbrevs, abbrev, walk->unit->offset, &entry);
		sibling = entry.values[WANT_SIBLING];
	}
	if (abbrev->has_children)
		step_over(walk, sibling);
}

/* A function, or something inside one. */
static int visit_code(struct walk *walk, const struct dwarf_abbrev *abbrev, uint64_t offset)
{
	uint32_t outer = walk->levels[walk->level], inner = 0;
	struct dwarf_entry entry;
	bool go_in = walk->everywhere;
	int r = 0;

	dwarf_entry_read(&walk->cursor, walk->abbrevs, abbrev, walk->unit->offset, &entry);
	entry.offset = offset;
	if (walk->cursor.bad)
		return -ENOEXEC;
	if (entry.role == ROLE_FUNCTION) {
		r = has_ranges(&entry) ? add_scope(walk, &entry, 0, &inner) : 0;
	} else if (outer && entry.role == ROLE_INLINED) {
		r = has_ranges(&entry) ? add_scope(walk, &entry, outer, &inner) : 0;
	} else if (outer && (!has_ranges(&entry) || (r = cover(walk, &entry, 0, MAX_DEPTH)) > 0)) {
		inner = outer;
	}
	if (r < 0)
		return r;
	go_in |= inner;
	if (entry.has_children && go_in)
		enter(walk, inner);
	else if (entry.has_children)
		step_over(walk, entry.values[WANT_SIBLING]);
	return 0;
}

static int visit(struct walk *walk, const struct dwarf_abbrev *abbrev, uint64_t offset)
{
	switch (abbrev->role) {
	case ROLE_INLINED:
	case ROLE_BLOCK:
		if (!walk->levels[walk->level] && !walk->everywhere)
			break;
		return visit_code(walk, abbrev, offset);
	case ROLE_FUNCTION: return visit_code(walk, abbrev, offset);
	case ROLE_TYPE:
		if (!walk->everywhere)
			break;
		/* fall through */
	case ROLE_NAMESPACE:
		if (!abbrev->has_children)
			break;
		dwarf_values_skip(&walk->cursor, walk->abbrevs, abbrev);
		enter(walk, 0);
		return 0;
	case ROLE_OTHER: break;
	}
	pass(walk, abbrev);
	return 0;
}

/* Handles the next entry, or the end of a row of siblings. Returns 1 at the tree's end. */
static int step(struct walk *walk)
{
	uint64_t offset = cursor_offset(&walk->cursor), code = cursor_uleb(&walk->cursor);
	const struct dwarf_abbrev *abbrev;

	if (walk->cursor.bad)
		return -ENOEXEC;
	if (!code) {
		if (walk->skipping)
			walk->skipping--;
		else if (walk->level-- == 0)
			return 1;
		return 0;
	}
	abbrev = dwarf_abbrev_find(walk->abbrevs, code);
	if (!abbrev || dwarf_charge(walk->dwarf, DWARF_STEP_COST + abbrev->n) < 0)
		return -ENOEXEC;
	if (!walk->skipping)
		return visit(walk, abbrev, offset);
	pass(walk, abbrev);
	return 0;
}

static int walk_unit(struct walk *walk, bool everywhere)
{
	const struct dwarf_abbrev *root;
	int r = dwarf_unit_abbrevs(walk->dwarf, walk->unit, &walk->abbrevs);

	if (r < 0)
		return r;
	r = dwarf_unit_load(walk->dwarf, walk->unit, &walk->cursor);
	if (r < 0)
		return r;
	walk->everywhere = everywhere;
	walk->skipping = walk->level = 0;
	walk->levels[0] = 0;
	root = dwarf_abbrev_find(walk->abbrevs, cursor_uleb(&walk->cursor));
	if (!root)
		return -ENOEXEC;
	dwarf_values_skip(&walk->cursor, walk->abbrevs, root);
	if (!root->has_children)
		return 0;
	/* Some producers leave out the last ends. */
	while (r == 0 && walk->cursor.at < walk->cursor.end)
		r = step(walk);
	return r < 0 ? r : 0;
}

/* Lists the lookups in the unit that have no scope yet. */
static int claim(struct walk *walk)
{
	struct dwarf_ranges ranges = dwarf_ranges_of(walk->dwarf, walk->unit, &walk->unit->root);
	const struct lookups *lookups = walk->lookups;
	uint64_t low, high;
	int r;

	walk->n_claims = 0;
	while ((r = dwarf_ranges_next(&ranges, &low, &high)) == 1) {
		size_t first = lookups_lower_bound(lookups, low), i = first;

		for (; i < lookups->n && lookups->addresses[i] < high; i++) {
			if (walk->scopes->innermost[i] || walk->claimed_at[i] == walk->unit->end)
				continue;
			walk->claimed_at[i] = walk->unit->end;
			walk->claims[walk->n_claims++] = i;
		}
		r = dwarf_charge(walk->dwarf, ADDRESS_COST * (i - first));
		if (r < 0)
			return r;
	}
	return r;
}

static bool all_claims_found(const struct walk *walk)
{
	for (size_t i = 0; i < walk->n_claims; i++)
		if (!walk->scopes->innermost[walk->claims[i]])
			return false;
	return true;
}

static int search_unit(struct walk *walk, uint64_t offset)
{
	struct dwarf_scopes *scopes = walk->scopes;
	struct dwarf_seen_unit *seen;
	struct dwarf_unit unit;
	int r = dwarf_unit_read(walk->dwarf, offset, &unit);

	if (r < 0)
		return r;
	r = array_reserve(scopes->units, scopes->units_capacity, scopes->n_units, 1);
	if (r < 0)
		return r;
	walk->unit = &unit;
	walk->unit_number = scopes->n_units;
	r = claim(walk);
	if (r < 0 || !walk->n_claims)
		return r;
	seen = &scopes->units[scopes->n_units++];
	*seen = (struct dwarf_seen_unit){.offset = offset, .first_scope = scopes->n_scopes};
	for (size_t i = 0; i < walk->n_claims; i++)
		if (!scopes->unit[walk->claims[i]])
			scopes->unit[walk->claims[i]] = walk->unit_number;
	r = walk_unit(walk, false);
	/* Functions of local classes hide in functions; compilers put few elsewhere. */
	if (r == 0 && !all_claims_found(walk))
		r = walk_unit(walk, true);
	seen->n_scopes = scopes->n_scopes - seen->first_scope;
	return r;
}

static int search_units(struct walk *walk, bool *ret_damaged)
{
	int r = dwarf_index(walk->dwarf);

	for (size_t i = 0; i < walk->dwarf->n_units && r == 0; i++) {
		r = search_unit(walk, walk->dwarf->units[i]);
		if (r < 0 && r != -ENOMEM) {
			*ret_damaged = true;
			r = walk->dwarf->budget < 0 ? -ENOEXEC : 0;
		}
	}
	*ret_damaged |= r < 0;
	return r == -ENOMEM ? r : 0;
}

int dwarf_scopes_find(struct dwarf *dwarf, const struct lookups *lookups, struct dwarf_scopes *ret,
		      bool *ret_damaged)
{
	struct dwarf_scopes scopes = {
		.n_scopes = 1,
		.n_units = 1,
		.innermost = calloc(lookups->n + 1, sizeof *scopes.innermost),
		.unit = calloc(lookups->n + 1, sizeof *scopes.unit),
	};
	struct walk walk = {
		.dwarf = dwarf,
		.lookups = lookups,
		.scopes = &scopes,
		.claims = calloc(lookups->n + 1, sizeof *walk.claims),
		.claimed_at = calloc(lookups->n + 1, sizeof *walk.claimed_at),
	};
	int r = -ENOMEM;

	*ret_damaged = false;
	if (scopes.innermost && scopes.unit && walk.claims && walk.claimed_at &&
	    array_reserve(scopes.scopes, scopes.scopes_capacity, 0, 1) == 0 &&
	    array_reserve(scopes.units, scopes.units_capacity, 0, 1) == 0) {
		scopes.scopes[0] = (struct dwarf_scope){};
		scopes.units[0] = (struct dwarf_seen_unit){};
		r = search_units(&walk, ret_damaged);
	}
	free(walk.claims);
	free(walk.claimed_at);
	if (r < 0)
		dwarf_scopes_done(&scopes);
	else
		*ret = scopes;
	return r;
}

void dwarf_scopes_done(struct dwarf_scopes *scopes)
{
	free(scopes->scopes);
	free(scopes->units);
	free(scopes->innermost);
	free(scopes->unit);
	*scopes = (struct dwarf_scopes){};
}
