/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/dwarf_abbrev.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "symbol/dwarf_constants.h"

/* How a value is stored. */
enum layout {
	LAYOUT_FIXED,
	LAYOUT_ULEB,
	LAYOUT_SLEB,
	LAYOUT_TEXT,
	LAYOUT_BLOCK,	   /* preceded by its length, in .size bytes */
	LAYOUT_BLOCK_ULEB, /* preceded by its length, as LEB128 */
	LAYOUT_CONSTANT,   /* in the abbreviation */
	LAYOUT_INDIRECT,   /* preceded by its form */
};

/* Tables of compilers have some KB; those of a program optimized as a whole, some 100. */
#define FIRST_VIEW (16 * 1024)
#define LAST_VIEW  (1024 * 1024)

struct form {
	uint8_t class, layout, size;
	bool is_local;
};

#define SIZE_ADDRESS 0xfe
#define SIZE_OFFSET  0xff

/* DWARF 5, 7.5.6. */
static const struct form forms[] = {
	[DW_FORM_addr] = {CLASS_ADDRESS, LAYOUT_FIXED, SIZE_ADDRESS},
	[DW_FORM_block2] = {CLASS_NONE, LAYOUT_BLOCK, 2},
	[DW_FORM_block4] = {CLASS_NONE, LAYOUT_BLOCK, 4},
	[DW_FORM_data2] = {CLASS_NUMBER, LAYOUT_FIXED, 2},
	[DW_FORM_data4] = {CLASS_NUMBER, LAYOUT_FIXED, 4},
	[DW_FORM_data8] = {CLASS_NUMBER, LAYOUT_FIXED, 8},
	[DW_FORM_string] = {CLASS_TEXT, LAYOUT_TEXT},
	[DW_FORM_block] = {CLASS_NONE, LAYOUT_BLOCK_ULEB},
	[DW_FORM_block1] = {CLASS_NONE, LAYOUT_BLOCK, 1},
	[DW_FORM_data1] = {CLASS_NUMBER, LAYOUT_FIXED, 1},
	[DW_FORM_flag] = {CLASS_NONE, LAYOUT_FIXED, 1},
	[DW_FORM_sdata] = {CLASS_NUMBER, LAYOUT_SLEB},
	[DW_FORM_strp] = {CLASS_TEXT_STR, LAYOUT_FIXED, SIZE_OFFSET},
	[DW_FORM_udata] = {CLASS_NUMBER, LAYOUT_ULEB},
	[DW_FORM_ref_addr] = {CLASS_REFERENCE, LAYOUT_FIXED, SIZE_OFFSET},
	[DW_FORM_ref1] = {CLASS_REFERENCE, LAYOUT_FIXED, 1, true},
	[DW_FORM_ref2] = {CLASS_REFERENCE, LAYOUT_FIXED, 2, true},
	[DW_FORM_ref4] = {CLASS_REFERENCE, LAYOUT_FIXED, 4, true},
	[DW_FORM_ref8] = {CLASS_REFERENCE, LAYOUT_FIXED, 8, true},
	[DW_FORM_ref_udata] = {CLASS_REFERENCE, LAYOUT_ULEB, 0, true},
	[DW_FORM_indirect] = {CLASS_NONE, LAYOUT_INDIRECT},
	[DW_FORM_sec_offset] = {CLASS_NUMBER, LAYOUT_FIXED, SIZE_OFFSET},
	[DW_FORM_exprloc] = {CLASS_NONE, LAYOUT_BLOCK_ULEB},
	[DW_FORM_flag_present] = {CLASS_NONE, LAYOUT_FIXED, 0},
	[DW_FORM_strx] = {CLASS_TEXT_INDEX, LAYOUT_ULEB},
	[DW_FORM_addrx] = {CLASS_ADDRESS_INDEX, LAYOUT_ULEB},
	[DW_FORM_ref_sup4] = {CLASS_REFERENCE_ALT, LAYOUT_FIXED, 4},
	[DW_FORM_strp_sup] = {CLASS_TEXT_ALT, LAYOUT_FIXED, SIZE_OFFSET},
	[DW_FORM_data16] = {CLASS_NONE, LAYOUT_FIXED, 16},
	[DW_FORM_line_strp] = {CLASS_TEXT_LINE, LAYOUT_FIXED, SIZE_OFFSET},
	[DW_FORM_ref_sig8] = {CLASS_NONE, LAYOUT_FIXED, 8},
	[DW_FORM_implicit_const] = {CLASS_NUMBER, LAYOUT_CONSTANT},
	[DW_FORM_loclistx] = {CLASS_NONE, LAYOUT_ULEB},
	[DW_FORM_rnglistx] = {CLASS_LIST_INDEX, LAYOUT_ULEB},
	[DW_FORM_ref_sup8] = {CLASS_REFERENCE_ALT, LAYOUT_FIXED, 8},
	[DW_FORM_strx1] = {CLASS_TEXT_INDEX, LAYOUT_FIXED, 1},
	[DW_FORM_strx2] = {CLASS_TEXT_INDEX, LAYOUT_FIXED, 2},
	[DW_FORM_strx3] = {CLASS_TEXT_INDEX, LAYOUT_FIXED, 3},
	[DW_FORM_strx4] = {CLASS_TEXT_INDEX, LAYOUT_FIXED, 4},
	[DW_FORM_addrx1] = {CLASS_ADDRESS_INDEX, LAYOUT_FIXED, 1},
	[DW_FORM_addrx2] = {CLASS_ADDRESS_INDEX, LAYOUT_FIXED, 2},
	[DW_FORM_addrx3] = {CLASS_ADDRESS_INDEX, LAYOUT_FIXED, 3},
	[DW_FORM_addrx4] = {CLASS_ADDRESS_INDEX, LAYOUT_FIXED, 4},
};

#define N_FORMS (sizeof forms / sizeof *forms)

static bool find_form(uint64_t form, struct form *ret)
{
	switch (form) {
	case 0:
	case 0x02: return false; /* no such forms, but places in the table */
	case DW_FORM_GNU_addr_index: form = DW_FORM_addrx; break;
	case DW_FORM_GNU_str_index: form = DW_FORM_strx; break;
	case DW_FORM_GNU_ref_alt:
		*ret = (struct form){CLASS_REFERENCE_ALT, LAYOUT_FIXED, SIZE_OFFSET};
		return true;
	case DW_FORM_GNU_strp_alt: form = DW_FORM_strp_sup; break;
	default: break;
	}
	if (form >= N_FORMS)
		return false;
	*ret = forms[form];
	return true;
}

int dwarf_attribute_set_form(struct dwarf_attribute *attribute, uint64_t number,
			     struct dwarf_encoding encoding)
{
	struct form form;

	if (!find_form(number, &form))
		return -ENOEXEC;
	attribute->class = form.class;
	attribute->layout = form.layout;
	attribute->is_local = form.is_local;
	attribute->size = form.size;
	/* In DWARF 2 such references had the size of addresses. */
	if (form.size == SIZE_ADDRESS || (number == DW_FORM_ref_addr && encoding.version <= 2))
		attribute->size = encoding.address_size;
	else if (form.size == SIZE_OFFSET)
		attribute->size = encoding.offset_size;
	return 0;
}

static enum dwarf_wanted wanted_of(uint64_t attribute)
{
	switch (attribute) {
	case DW_AT_sibling: return WANT_SIBLING;
	case DW_AT_name: return WANT_NAME;
	case DW_AT_linkage_name:
	case DW_AT_MIPS_linkage_name: return WANT_LINKAGE_NAME;
	case DW_AT_low_pc: return WANT_LOW_PC;
	case DW_AT_high_pc: return WANT_HIGH_PC;
	case DW_AT_ranges: return WANT_RANGES;
	case DW_AT_abstract_origin: return WANT_ORIGIN;
	case DW_AT_specification: return WANT_SPECIFICATION;
	case DW_AT_call_file: return WANT_CALL_FILE;
	case DW_AT_call_line: return WANT_CALL_LINE;
	case DW_AT_stmt_list: return WANT_STMT_LIST;
	case DW_AT_comp_dir: return WANT_COMP_DIR;
	case DW_AT_language: return WANT_LANGUAGE;
	case DW_AT_str_offsets_base: return WANT_STR_OFFSETS_BASE;
	case DW_AT_addr_base: return WANT_ADDR_BASE;
	case DW_AT_rnglists_base: return WANT_RNGLISTS_BASE;
	default: return WANT_NONE;
	}
}

static enum dwarf_role role_of(uint64_t tag)
{
	switch (tag) {
	case DW_TAG_subprogram: return ROLE_FUNCTION;
	case DW_TAG_inlined_subroutine: return ROLE_INLINED;
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block: return ROLE_BLOCK;
	case DW_TAG_namespace:
	case DW_TAG_module: return ROLE_NAMESPACE;
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
	case DW_TAG_enumeration_type: return ROLE_TYPE;
	default: return ROLE_OTHER;
	}
}

static int add_attribute(struct dwarf_abbrevs *abbrevs, struct dwarf_abbrev *abbrev, uint64_t name,
			 uint64_t form, struct cursor *cursor)
{
	struct dwarf_attribute attribute = {.wanted = wanted_of(name)};
	int r = dwarf_attribute_set_form(&attribute, form, abbrevs->encoding);

	if (r < 0)
		return r;
	if (attribute.layout == LAYOUT_CONSTANT)
		attribute.constant = cursor_sleb(cursor);
	else if (attribute.layout != LAYOUT_FIXED)
		abbrev->size = -1;
	else if (abbrev->size >= 0)
		abbrev->size += attribute.size;
	if (attribute.wanted == WANT_SIBLING)
		abbrev->has_sibling = true;
	r = array_reserve(abbrevs->attributes, abbrevs->attributes_capacity, abbrevs->n_attributes,
			  1);
	if (r < 0)
		return r;
	abbrevs->attributes[abbrevs->n_attributes++] = attribute;
	abbrev->n++;
	return 0;
}

/* Reads what follows an abbreviation's code. */
static int read_abbrev(struct dwarf_abbrevs *abbrevs, uint64_t code, struct cursor *cursor)
{
	struct dwarf_abbrev abbrev = {.code = code, .first = abbrevs->n_attributes};
	uint64_t tag = cursor_uleb(cursor);
	int r;

	abbrev.tag = tag <= UINT16_MAX ? tag : 0;
	abbrev.role = role_of(tag);
	abbrev.has_children = cursor_u8(cursor);
	for (;;) {
		uint64_t name = cursor_uleb(cursor), form = cursor_uleb(cursor);

		if (cursor->bad)
			return 0;
		if (!name && !form)
			break;
		r = add_attribute(abbrevs, &abbrev, name, form, cursor);
		if (r < 0)
			return r;
	}
	return array_add(abbrevs->abbrevs, abbrevs->abbrevs_capacity, abbrevs->n_abbrevs, abbrev);
}

static int abbrev_compare(const void *left, const void *right)
{
	const struct dwarf_abbrev *a = left, *b = right;

	return a->code < b->code ? -1 : a->code > b->code;
}

/* Returns 1 if the table goes on past @cursor's bytes. */
static int read_table(struct dwarf_abbrevs *abbrevs, struct cursor *cursor, uint64_t only)
{
	uint64_t code, last = 0;
	bool sorted = true;
	/* Abbreviations without attributes point there, too. */
	int r = array_reserve(abbrevs->attributes, abbrevs->attributes_capacity, 0, 1);

	if (r < 0)
		return r;
	abbrevs->n_abbrevs = abbrevs->n_attributes = 0;
	while ((code = cursor_uleb(cursor)) != 0) {
		r = read_abbrev(abbrevs, code, cursor);
		if (r < 0)
			return r;
		if (cursor->bad)
			break;
		sorted &= code > last;
		last = code;
		if (code == only)
			break;
	}
	if (cursor->bad)
		return 1;
	if (!sorted)
		qsort(abbrevs->abbrevs, abbrevs->n_abbrevs, sizeof *abbrevs->abbrevs,
		      abbrev_compare);
	return 0;
}

int dwarf_abbrevs_read(struct dwarf_abbrevs *ret, struct section *section, uint64_t offset,
		       struct dwarf_encoding encoding, uint64_t only, size_t *ret_size)
{
	struct dwarf_abbrevs abbrevs = {.offset = offset, .encoding = encoding};
	size_t want = only ? 512 : FIRST_VIEW, n;
	int r;

	*ret_size = 0;
	for (;; want *= 8) {
		const uint8_t *bytes;
		struct cursor cursor;

		if (want > LAST_VIEW)
			want = LAST_VIEW;
		r = section_view(section, offset, want, &bytes, &n);
		if (r < 0)
			break;
		cursor = cursor_make(bytes, n, offset);
		r = read_table(&abbrevs, &cursor, only);
		*ret_size += cursor.at - cursor.start;
		if (r <= 0)
			break;
		r = -ENOEXEC;
		if (n < want || want == LAST_VIEW)
			break;
	}
	if (r < 0)
		dwarf_abbrevs_done(&abbrevs);
	else
		*ret = abbrevs;
	return r;
}

void dwarf_abbrevs_done(struct dwarf_abbrevs *abbrevs)
{
	free(abbrevs->abbrevs);
	free(abbrevs->attributes);
	*abbrevs = (struct dwarf_abbrevs){};
}

/* The attribute, as if the abbreviation had its form. */
static bool resolve_indirect(struct cursor *cursor, const struct dwarf_attribute *attribute,
			     struct dwarf_encoding encoding, struct dwarf_attribute *ret)
{
	*ret = *attribute;
	if (dwarf_attribute_set_form(ret, cursor_uleb(cursor), encoding) < 0 ||
	    ret->layout == LAYOUT_INDIRECT) {
		cursor_fail(cursor);
		return false;
	}
	if (ret->layout == LAYOUT_CONSTANT)
		ret->constant = cursor_sleb(cursor);
	return true;
}

static void skip_value(struct cursor *cursor, const struct dwarf_attribute *attribute,
		       struct dwarf_encoding encoding)
{
	struct dwarf_attribute direct;

	switch ((enum layout)attribute->layout) {
	case LAYOUT_FIXED: cursor_skip(cursor, attribute->size); break;
	case LAYOUT_ULEB:
	case LAYOUT_SLEB: cursor_skip_leb(cursor); break;
	case LAYOUT_TEXT: cursor_skip_text(cursor); break;
	case LAYOUT_BLOCK: cursor_skip(cursor, cursor_number(cursor, attribute->size)); break;
	case LAYOUT_BLOCK_ULEB: cursor_skip(cursor, cursor_uleb(cursor)); break;
	case LAYOUT_CONSTANT: break;
	case LAYOUT_INDIRECT:
		if (resolve_indirect(cursor, attribute, encoding, &direct))
			skip_value(cursor, &direct, encoding);
		break;
	}
}

void dwarf_values_skip(struct cursor *cursor, const struct dwarf_abbrevs *abbrevs,
		       const struct dwarf_abbrev *abbrev)
{
	const struct dwarf_attribute *attribute = &abbrevs->attributes[abbrev->first];

	if (abbrev->size >= 0) {
		cursor_skip(cursor, abbrev->size);
		return;
	}
	for (const struct dwarf_attribute *end = attribute + abbrev->n; attribute < end;
	     attribute++)
		skip_value(cursor, attribute, abbrevs->encoding);
}

struct dwarf_value dwarf_value_read(struct cursor *cursor, const struct dwarf_attribute *attribute,
				    struct dwarf_encoding encoding, uint64_t unit)
{
	struct dwarf_value value = {attribute->class, 0};
	struct dwarf_attribute direct;

	switch ((enum layout)attribute->layout) {
	case LAYOUT_FIXED:
		if (attribute->size <= 8) {
			value.number = cursor_number(cursor, attribute->size);
			break;
		}
		skip_value(cursor, attribute, encoding);
		break;
	case LAYOUT_ULEB: value.number = cursor_uleb(cursor); break;
	case LAYOUT_SLEB: value.number = cursor_sleb(cursor); break;
	case LAYOUT_CONSTANT: value.number = attribute->constant; break;
	case LAYOUT_TEXT:
		value.number = cursor_offset(cursor);
		cursor_skip_text(cursor);
		break;
	case LAYOUT_INDIRECT:
		if (resolve_indirect(cursor, attribute, encoding, &direct))
			return dwarf_value_read(cursor, &direct, encoding, unit);
		break;
	default: skip_value(cursor, attribute, encoding); break;
	}
	if (attribute->is_local)
		value.number += unit;
	return value;
}
