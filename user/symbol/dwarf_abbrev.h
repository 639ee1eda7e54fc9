/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dwarf_abbrev: the shapes of debugging information entries, and their values.
 *
 * An entry in .debug_info is a number and bare values. A table in .debug_abbrev says, once for all
 * entries of that number, which attributes these are and how they are encoded. Reading that table
 * decides as much as possible: the role of an entry, the wanted attributes, and the size of each
 * value. Most entries are then only skipped.
 */
#ifndef SYMBOL_DWARF_ABBREV_H
#define SYMBOL_DWARF_ABBREV_H

#include "symbol/cursor.h"
#include "base/section.h"

/* The role of an entry in a search for functions. */
enum dwarf_role {
	ROLE_OTHER,
	ROLE_FUNCTION,
	ROLE_INLINED,
	ROLE_BLOCK,	/* part of a function */
	ROLE_NAMESPACE, /* holds functions, and is part of their names */
	ROLE_TYPE,	/* the same, but rarely holds code */
};

/* The attributes in use. */
enum dwarf_wanted {
	WANT_NONE, /* all others */
	WANT_SIBLING,
	WANT_NAME,
	WANT_LINKAGE_NAME,
	WANT_LOW_PC,
	WANT_HIGH_PC,
	WANT_RANGES,
	WANT_ORIGIN,
	WANT_SPECIFICATION,
	WANT_CALL_FILE,
	WANT_CALL_LINE,
	WANT_STMT_LIST,
	WANT_COMP_DIR,
	WANT_LANGUAGE,
	WANT_STR_OFFSETS_BASE,
	WANT_ADDR_BASE,
	WANT_RNGLISTS_BASE,
	N_WANTED,
};

/* The kind of a value. */
enum dwarf_class {
	CLASS_NONE, /* the attribute is missing, or useless here */
	CLASS_ADDRESS,
	CLASS_ADDRESS_INDEX, /* in .debug_addr */
	CLASS_NUMBER,	     /* or an offset in another section */
	CLASS_LIST_INDEX,    /* in .debug_rnglists */
	CLASS_REFERENCE,     /* an entry, by its offset in .debug_info */
	CLASS_REFERENCE_ALT, /* the same in the shared file */
	CLASS_TEXT,	     /* a string, by its offset in .debug_info or .debug_line itself */
	CLASS_TEXT_STR,	     /* in .debug_str */
	CLASS_TEXT_LINE,     /* in .debug_line_str */
	CLASS_TEXT_ALT,	     /* in .debug_str of the shared file */
	CLASS_TEXT_INDEX,    /* in .debug_str_offsets */
};

struct dwarf_value {
	enum dwarf_class class;
	uint64_t number;
};

/* What the encoding of values depends on beside their form: properties of the unit. */
struct dwarf_encoding {
	uint16_t version;
	uint8_t address_size, offset_size;
};

struct dwarf_attribute {
	uint8_t wanted, class, layout;
	uint8_t size;  /* bytes, if fixed */
	bool is_local; /* a reference relative to the unit's start */
	int64_t constant;
};

struct dwarf_abbrev {
	uint64_t code;
	enum dwarf_role role;
	uint16_t tag;
	bool has_children, has_sibling;
	int32_t size;	   /* of all values together; -1: it varies */
	uint32_t first, n; /* attributes */
};

struct dwarf_abbrevs {
	uint64_t offset; /* in .debug_abbrev */
	struct dwarf_encoding encoding;
	struct dwarf_abbrev *abbrevs;
	size_t n_abbrevs, abbrevs_capacity;
	struct dwarf_attribute *attributes;
	size_t n_attributes, attributes_capacity;
};

/*
 * Reads the table at @offset; with @only, up to the abbreviation with that code. *@ret_size is the
 * number of bytes read. Errors: -ENOEXEC damaged; those of section_view().
 */
int dwarf_abbrevs_read(struct dwarf_abbrevs *ret, struct section *section, uint64_t offset,
		       struct dwarf_encoding encoding, uint64_t only, size_t *ret_size);
void dwarf_abbrevs_done(struct dwarf_abbrevs *abbrevs);

/* The abbreviation of @code, or NULL. */
static inline const struct dwarf_abbrev *dwarf_abbrev_find(const struct dwarf_abbrevs *abbrevs,
							   uint64_t code)
{
	size_t low = 0, high = abbrevs->n_abbrevs;

	/* Compilers count from 1. */
	if (code - 1 < high && abbrevs->abbrevs[code - 1].code == code)
		return &abbrevs->abbrevs[code - 1];
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (abbrevs->abbrevs[middle].code < code)
			low = middle + 1;
		else
			high = middle;
	}
	return low < abbrevs->n_abbrevs && abbrevs->abbrevs[low].code == code
		       ? &abbrevs->abbrevs[low]
		       : NULL;
}

/* Decides how to read a value of @form. Errors: -ENOEXEC, unknown. */
int dwarf_attribute_set_form(struct dwarf_attribute *attribute, uint64_t form,
			     struct dwarf_encoding encoding);

/* Reads one value. @unit: the start of its unit. */
struct dwarf_value dwarf_value_read(struct cursor *cursor, const struct dwarf_attribute *attribute,
				    struct dwarf_encoding encoding, uint64_t unit);

/* Skips the values of an entry. */
void dwarf_values_skip(struct cursor *cursor, const struct dwarf_abbrevs *abbrevs,
		       const struct dwarf_abbrev *abbrev);

#endif
