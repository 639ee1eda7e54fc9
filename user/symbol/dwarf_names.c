/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/dwarf_names.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/system.h"
#include "symbol/demangle.h"
#include "symbol/dwarf_constants.h"

/* References from an entry to its name; compilers need three. */
#define MAX_HOPS 16
/* Nested namespaces and types to show. */
#define MAX_LEVELS 64
#define NAME_COST  50 /* per byte of a mangled name */

/* The name of one entry. */
struct name {
	struct dwarf *dwarf;
	uint64_t entry;
	struct dwarf *home_dwarf;
	uint64_t home; /* the entry whose surroundings precede @text; 0: none do */
	uint32_t text;
};

struct namer {
	struct strings *strings;
	struct name *names;
	size_t n_names, names_capacity;
	struct table by_entry;
	char text[SYMBOL_NAME_MAX + 1];
};

/* A walk over one unit, past the homes in it. */
struct tour {
	struct namer *namer;
	struct dwarf *dwarf;
	struct dwarf_unit unit;
	const struct dwarf_abbrevs *abbrevs;
	struct cursor cursor;
	struct name **names; /* by home, ascending; the remaining ones */
	size_t n_names;
	struct level {
		enum dwarf_role role;
		uint64_t entry;
	} levels[MAX_LEVELS]; /* around the current entry; the first is the root */
	size_t level, skipping;
};

static bool is_fatal(int r)
{
	return r == -ENOMEM || r == -E2BIG;
}

static int set_text(struct namer *namer, struct dwarf *dwarf, const struct dwarf_unit *unit,
		    struct dwarf_value value, uint32_t *ret_text)
{
	int r = dwarf_text(dwarf, unit, value, namer->text, sizeof namer->text);

	if (r < 0)
		return r;
	r = dwarf_charge(dwarf, NAME_COST * strlen(namer->text));
	if (r < 0)
		return r;
	return demangle_add(namer->strings, namer->text, ret_text);
}

static bool has_namespaces(const struct dwarf_unit *unit)
{
	const struct dwarf_value *language = &unit->root.values[WANT_LANGUAGE];

	switch (language->class == CLASS_NUMBER ? language->number : 0) {
	case DW_LANG_C89:
	case DW_LANG_C:
	case DW_LANG_C99:
	case DW_LANG_C11:
	case DW_LANG_C17:
	case DW_LANG_C23:
	case DW_LANG_Mips_Assembler: return false;
	default: return true;
	}
}

/* The next entry that has part of the name. Returns false at the end. */
static bool next_hop(struct dwarf **dwarf, const struct dwarf_entry *entry, uint64_t *ret_offset)
{
	struct dwarf_value value = entry->values[WANT_ORIGIN];

	if (value.class == CLASS_NONE)
		value = entry->values[WANT_SPECIFICATION];
	if (value.class == CLASS_REFERENCE_ALT)
		*dwarf = (*dwarf)->alternate;
	else if (value.class != CLASS_REFERENCE)
		return false;
	*ret_offset = value.number;
	return *dwarf;
}

/* Follows @name->entry to a linkage name, or to the end and the last plain name on the way. */
static int find_home(struct namer *namer, struct name *name)
{
	struct dwarf *dwarf = name->dwarf;
	uint64_t offset = name->entry;

	for (int hop = 0; hop < MAX_HOPS; hop++) {
		const struct dwarf_value *linkage, *plain;
		const struct dwarf_unit *unit;
		struct dwarf_entry entry;
		int r = dwarf_unit_of(dwarf, offset, &unit);

		if (r < 0)
			return r;
		r = dwarf_entry_at(dwarf, unit, offset, &entry);
		if (r < 0)
			return r;
		linkage = &entry.values[WANT_LINKAGE_NAME];
		plain = &entry.values[WANT_NAME];
		name->home_dwarf = dwarf;
		name->home = linkage->class == CLASS_NONE && has_namespaces(unit) ? offset : 0;
		if (linkage->class != CLASS_NONE)
			return set_text(namer, dwarf, unit, *linkage, &name->text);
		if (plain->class != CLASS_NONE) {
			r = set_text(namer, dwarf, unit, *plain, &name->text);
			if (r < 0)
				return r;
		}
		if (!next_hop(&dwarf, &entry, &offset))
			break;
	}
	return 0;
}

static bool name_equal(const void *items, uint32_t position, const void *key)
{
	const struct name *a = (const struct name *)items + position, *b = key;

	return a->entry == b->entry && a->dwarf == b->dwarf;
}

static int find_name(struct namer *namer, struct dwarf *dwarf, uint64_t entry, uint32_t *ret)
{
	struct name name = {.dwarf = dwarf, .entry = entry};
	uint64_t hash = hash_mix(entry, (uintptr_t)dwarf);
	int r;

	*ret = table_find(&namer->by_entry, hash, name_equal, namer->names, &name);
	if (*ret != TABLE_NONE)
		return 0;
	r = array_reserve(namer->names, namer->names_capacity, namer->n_names, 1);
	if (r < 0)
		return r;
	r = table_add(&namer->by_entry, hash, namer->n_names);
	if (r < 0)
		return r;
	r = find_home(namer, &name);
	if (is_fatal(r))
		return r;
	if (r < 0)
		name.home = name.text = 0;
	namer->names[namer->n_names] = name;
	*ret = namer->n_names++;
	return 0;
}

/*
 * Writes the name of the namespace, type or function at @offset to @text. Returns whether it
 * includes its surroundings.
 */
static bool name_level(struct tour *tour, uint64_t offset, char text[static DEMANGLED_SIZE])
{
	for (int hop = 0; hop < MAX_HOPS; hop++) {
		struct dwarf *dwarf = tour->dwarf;
		struct dwarf_entry entry;
		char linkage[SYMBOL_NAME_MAX + 1];

		if (dwarf_entry_at(dwarf, &tour->unit, offset, &entry) < 0)
			break;
		if (dwarf_text(dwarf, &tour->unit, entry.values[WANT_LINKAGE_NAME], linkage,
			       sizeof linkage) == 0) {
			demangle(linkage, text);
			return true;
		}
		if (dwarf_text(dwarf, &tour->unit, entry.values[WANT_NAME], text, DEMANGLED_SIZE) <
			    0 &&
		    entry.role == ROLE_NAMESPACE)
			strcpy(text, "(anonymous namespace)");
		/* Its attributes may be split, within the unit. */
		if (!next_hop(&dwarf, &entry, &offset) || dwarf != tour->dwarf)
			break;
	}
	return false;
}

/* Whether the names inside level @i already include that level. */
static bool is_named(const struct tour *tour, size_t i)
{
	enum dwarf_role role = tour->levels[i].role;

	if (role == ROLE_FUNCTION)
		for (; i <= tour->level && role != ROLE_TYPE; i++)
			role = tour->levels[i].role;
	return role == ROLE_NAMESPACE || role == ROLE_TYPE;
}

/* Puts the names of its surroundings before that of @name. */
static int qualify(struct tour *tour, struct name *name)
{
	struct strings *strings = tour->namer->strings;
	const char *own = strings_get(strings, name->text);
	char *text = tour->namer->text, level[DEMANGLED_SIZE];
	const size_t size = sizeof tour->namer->text;
	size_t n = 0;

	for (size_t i = 0; i <= tour->level && n + sizeof level < size; i++) {
		if (!is_named(tour, i))
			continue;
		/* Unnamed types with a call operator are mostly closures. */
		strcpy(level, strcmp(own, "operator()") == 0 ? "{lambda}" : "{unnamed}");
		if (name_level(tour, tour->levels[i].entry, level))
			n = 0;
		n += snprintf(text + n, size - n, "%s::", level);
	}
	if (!n || n >= size)
		return 0;
	snprintf(text + n, size - n, "%s", own);
	return strings_add(strings, text, &name->text);
}

/* Qualifies the names whose home is at @offset; earlier homes are not entries. */
static int arrive(struct tour *tour, uint64_t offset)
{
	while (tour->n_names && tour->names[0]->home <= offset) {
		int r = tour->names[0]->home == offset ? qualify(tour, tour->names[0]) : 0;

		if (r < 0)
			return r;
		tour->names++;
		tour->n_names--;
	}
	return 0;
}

/* Goes into the children of @entry, or past them if no home is among them. */
static void go_on(struct tour *tour, const struct dwarf_entry *entry)
{
	const struct dwarf_value *sibling = &entry->values[WANT_SIBLING];
	struct cursor *cursor = &tour->cursor;
	uint64_t here = cursor_offset(cursor);

	if (!entry->has_children)
		return;
	if (sibling->class == CLASS_REFERENCE && sibling->number >= here &&
	    sibling->number - here <= cursor_left(cursor) &&
	    tour->names[0]->home >= sibling->number)
		cursor->at += sibling->number - here;
	else if (tour->skipping || tour->level + 1 == MAX_LEVELS)
		tour->skipping++;
	else
		tour->levels[++tour->level] = (struct level){entry->role, entry->offset};
}

static int take_step(struct tour *tour)
{
	struct dwarf_entry entry = {.offset = cursor_offset(&tour->cursor)};
	uint64_t code = cursor_uleb(&tour->cursor);
	const struct dwarf_abbrev *abbrev;
	int r;

	if (!code) {
		if (tour->skipping)
			tour->skipping--;
		else if (tour->level)
			tour->level--;
		return 0;
	}
	abbrev = dwarf_abbrev_find(tour->abbrevs, code);
	if (!abbrev || dwarf_charge(tour->dwarf, DWARF_STEP_COST + abbrev->n) < 0)
		return -ENOEXEC;
	r = arrive(tour, entry.offset);
	if (r < 0 || !tour->n_names)
		return r;
	if (!abbrev->has_children) {
		dwarf_values_skip(&tour->cursor, tour->abbrevs, abbrev);
		return 0;
	}
	dwarf_entry_read(&tour->cursor, tour->abbrevs, abbrev, tour->unit.offset, &entry);
	go_on(tour, &entry);
	return 0;
}

/* Qualifies names whose homes are in one unit, ascending. Errors: -ENOMEM, -E2BIG; others. */
static int visit_unit(struct tour *tour)
{
	const struct dwarf_unit *unit;
	int r = dwarf_unit_of(tour->dwarf, tour->names[0]->home, &unit);

	if (r < 0)
		return r;
	tour->unit = *unit;
	r = dwarf_unit_abbrevs(tour->dwarf, &tour->unit, &tour->abbrevs);
	if (r < 0)
		return r;
	r = dwarf_unit_load(tour->dwarf, &tour->unit, &tour->cursor);
	while (r == 0 && tour->n_names && tour->cursor.at < tour->cursor.end)
		r = take_step(tour);
	return r;
}

static int home_compare(const void *left, const void *right)
{
	const struct name *a = *(struct name *const *)left, *b = *(struct name *const *)right;

	if (a->home_dwarf != b->home_dwarf)
		return (uintptr_t)a->home_dwarf < (uintptr_t)b->home_dwarf ? -1 : 1;
	return a->home < b->home ? -1 : a->home > b->home;
}

/* The number of the first @names, sorted, that are in one unit with the very first. */
static size_t count_together(struct name **names, size_t n)
{
	const struct dwarf_unit *unit;
	size_t together = 1;

	if (dwarf_unit_of(names[0]->home_dwarf, names[0]->home, &unit) < 0)
		return 1;
	while (together < n && names[together]->home_dwarf == names[0]->home_dwarf &&
	       names[together]->home < unit->end)
		together++;
	return together;
}

static int qualify_all(struct namer *namer)
{
	_cleanup_free_ struct name **names = calloc(namer->n_names + 1, sizeof *names);
	_cleanup_free_ struct tour *tour = malloc(sizeof *tour);
	size_t n = 0, together;
	int r;

	if (!names || !tour)
		return -ENOMEM;
	for (size_t i = 0; i < namer->n_names; i++)
		if (namer->names[i].home && namer->names[i].text)
			names[n++] = &namer->names[i];
	qsort(names, n, sizeof *names, home_compare);
	for (size_t i = 0; i < n; i += together) {
		together = count_together(names + i, n - i);
		*tour = (struct tour){.namer = namer,
				      .dwarf = names[i]->home_dwarf,
				      .names = names + i,
				      .n_names = together};
		r = visit_unit(tour);
		if (is_fatal(r))
			return r;
	}
	return 0;
}

static int find_all(struct namer *namer, struct dwarf *dwarf, const struct dwarf_scopes *scopes,
		    const bool *wanted, uint32_t *names)
{
	int r;

	for (size_t i = 0; i < scopes->n_scopes; i++) {
		const struct dwarf_scope *scope = &scopes->scopes[i];
		struct dwarf *of = scope->is_alternate ? dwarf->alternate : dwarf;

		names[i] = TABLE_NONE;
		if (!wanted[i] || !of)
			continue;
		r = find_name(namer, of, scope->entry, &names[i]);
		if (r < 0)
			return r;
	}
	return qualify_all(namer);
}

int dwarf_names_find(struct dwarf *dwarf, const struct dwarf_scopes *scopes, const bool *wanted,
		     struct strings *strings, uint32_t *names)
{
	struct namer *namer = calloc(1, sizeof *namer);
	int r;

	if (!namer)
		return -ENOMEM;
	namer->strings = strings;
	r = find_all(namer, dwarf, scopes, wanted, names);
	for (size_t i = 0; i < scopes->n_scopes && r == 0; i++)
		names[i] = names[i] == TABLE_NONE ? 0 : namer->names[names[i]].text;
	free(namer->names);
	table_done(&namer->by_entry);
	free(namer);
	return r;
}
