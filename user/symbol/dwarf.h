/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dwarf: the debugging information of one file, read on demand.
 *
 * .debug_info is a row of units (one per compiled source file, and dwz's shared ones), each a tree
 * of entries. Opening a file reads none of it. An index of the units' starts costs one small read
 * each; a unit is read only if an address is in it.
 *
 * Why not libdw: it maps the file, and a file that shrinks would be SIGBUS, or it reads all debug
 * sections into memory. And its authors advise against giving it untrusted files in a privileged
 * process, which a profiler of other people's programs is. Here each read is checked, references
 * lead only to entries that are read the same way, and all work is charged to a budget that grows
 * with the file's size.
 *
 * DWARF 2 to 5, 32 and 64 bits. Not read: units in .dwo files, .debug_types.
 */
#ifndef SYMBOL_DWARF_H
#define SYMBOL_DWARF_H

#include <errno.h>

#include "symbol/dwarf_abbrev.h"

enum dwarf_section {
	DWARF_INFO,
	DWARF_ABBREV,
	DWARF_STR,
	DWARF_STR_OFFSETS,
	DWARF_ADDR,
	DWARF_RANGES,
	DWARF_RNGLISTS,
	DWARF_LINE,
	DWARF_LINE_STR,
	N_DWARF_SECTIONS,
};

/* One entry: its place, its kind and the wanted values. */
struct dwarf_entry {
	uint64_t offset; /* in .debug_info */
	enum dwarf_role role;
	uint16_t tag;
	bool has_children;
	struct dwarf_value values[N_WANTED];
};

struct dwarf_unit {
	uint64_t offset, end; /* in .debug_info */
	struct dwarf_encoding encoding;
	uint64_t abbrevs; /* in .debug_abbrev */
	struct dwarf_entry root;
};

#define DWARF_CACHED_ABBREVS 4

struct dwarf {
	struct section sections[N_DWARF_SECTIONS];
	struct dwarf *alternate; /* the file that dwz made for several, or NULL */
	uint64_t lowest_code;
	int64_t budget;	 /* remaining work, roughly in nanoseconds */
	uint64_t room;	 /* bytes of sections that may still be unpacked */
	uint64_t *units; /* their starts */
	size_t n_units, units_capacity;
	bool is_indexed;
	struct dwarf_abbrevs abbrevs[DWARF_CACHED_ABBREVS];
	struct dwarf_unit last_unit;
	uint8_t *buffer; /* of the unit loaded last */
	size_t buffer_capacity;
};

/* Whether @file has debugging information. */
bool dwarf_is_in(struct elf_file *file);

/*
 * Opens the debugging information of @file. Code is at @lowest_code and above: entries for lower
 * addresses belong to code that was not linked. @file must outlive *@ret, and so must ->alternate,
 * which the caller may set. Errors: -ENODATA none; -ENOEXEC damaged; -ENOMEM; read errors.
 */
int dwarf_open(struct dwarf **ret, struct elf_file *file, uint64_t lowest_code);
void dwarf_free(struct dwarf *dwarf);

/* The cost of a step from entry to entry, beside its attributes. */
#define DWARF_STEP_COST 8

/* Takes @work off the budget. Errors: -ENOEXEC if it is used up. */
static inline int dwarf_charge(struct dwarf *dwarf, uint64_t work)
{
	if (work > INT64_MAX ||
	    __builtin_sub_overflow(dwarf->budget, (int64_t)work, &dwarf->budget))
		dwarf->budget = -1;
	return dwarf->budget < 0 ? -ENOEXEC : 0;
}

/*
 * Finds the starts of units: ->units. Units after a damaged header, or after millions of them, are
 * not found. Errors: -ENOMEM, -ENOEXEC budget.
 */
int dwarf_index(struct dwarf *dwarf);

/* Reads the head and the root entry of the unit at @offset. Errors: -ENOEXEC damaged; others. */
int dwarf_unit_read(struct dwarf *dwarf, uint64_t offset, struct dwarf_unit *ret);

/* The unit with the entry at @offset; valid until the next call. Errors: as above. */
int dwarf_unit_of(struct dwarf *dwarf, uint64_t offset, const struct dwarf_unit **ret);

/*
 * All entries of @unit, the root first. They stay valid until another unit is loaded. Errors:
 * -ENOEXEC; -EFBIG; read errors.
 */
int dwarf_unit_load(struct dwarf *dwarf, const struct dwarf_unit *unit, struct cursor *ret);

/*
 * The shapes of @unit's entries; valid until the next request. Errors: those of
 * dwarf_abbrevs_read().
 */
int dwarf_unit_abbrevs(struct dwarf *dwarf, const struct dwarf_unit *unit,
		       const struct dwarf_abbrevs **ret);

/* Reads the values of an entry whose code is already read. */
void dwarf_entry_read(struct cursor *cursor, const struct dwarf_abbrevs *abbrevs,
		      const struct dwarf_abbrev *abbrev, uint64_t unit, struct dwarf_entry *ret);

/* Reads the entry at @offset in @unit. Errors: -ENOEXEC; -ENOMEM; read errors. */
int dwarf_entry_at(struct dwarf *dwarf, const struct dwarf_unit *unit, uint64_t offset,
		   struct dwarf_entry *ret);

/* The address in @value. Errors: -ENOEXEC, also if it is not an address; others. */
int dwarf_address(struct dwarf *dwarf, const struct dwarf_unit *unit, struct dwarf_value value,
		  uint64_t *ret);

/* Address number @index of @unit. Errors: as above. */
int dwarf_indexed_address(struct dwarf *dwarf, const struct dwarf_unit *unit, uint64_t index,
			  uint64_t *ret);

/* Copies the text of @value, cut to @size - 1 bytes. Errors: -ENOEXEC: none; others. */
int dwarf_text(struct dwarf *dwarf, const struct dwarf_unit *unit, struct dwarf_value value,
	       char *buffer, size_t size);

#endif
