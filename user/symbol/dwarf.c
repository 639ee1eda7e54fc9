/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/dwarf.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "symbol/dwarf_constants.h"

/*
 * Reading all debugging information of a file takes about a nanosecond per byte. A few times that
 * is more than any search needs.
 */
#define BUDGET_BASE (512ll << 20)
#define BUDGET_MAX  (4ll << 30)
#define HEAD_COST   64
#define UNIT_COST   1024
#define ENTRY_COST  512
#define ABBREV_COST 8 /* per byte */
#define LOAD_SHIFT  2 /* a byte that is only read: 1/4 */
/* The limit for a file's compressed sections: enough for programs of some 100 MB. */
#define ROOM (512ull << 20)

#define UNIT_MAX   (256ull << 20)
#define MAX_UNITS  (1u << 22) /* a browser has some 100 000, with dwz's */
#define ENTRY_VIEW 8192
#define ROOT_VIEW  (256 * 1024)

static const char *const names[N_DWARF_SECTIONS] = {
	[DWARF_INFO] = "info",	       [DWARF_ABBREV] = "abbrev",
	[DWARF_STR] = "str",	       [DWARF_STR_OFFSETS] = "str_offsets",
	[DWARF_ADDR] = "addr",	       [DWARF_RANGES] = "ranges",
	[DWARF_RNGLISTS] = "rnglists", [DWARF_LINE] = "line",
	[DWARF_LINE_STR] = "line_str",
};

/* Which section @header is; N_DWARF_SECTIONS: none of ours. */
static enum dwarf_section recognize(struct elf_file *file, const Elf64_Shdr *header,
				    bool *ret_is_zdebug)
{
	static const char plain[] = ".debug_", packed[] = ".zdebug_";
	enum dwarf_section i = 0;
	const char *rest;
	char name[32];

	if (header->sh_type == SHT_NOBITS ||
	    elf_file_string(file, file->names_section, header->sh_name, name, sizeof name) < 0)
		return N_DWARF_SECTIONS;
	*ret_is_zdebug = text_begins(name, packed);
	if (!*ret_is_zdebug && !text_begins(name, plain))
		return N_DWARF_SECTIONS;
	rest = name + strlen(*ret_is_zdebug ? packed : plain);
	while (i < N_DWARF_SECTIONS && strcmp(rest, names[i]) != 0)
		i++;
	return i;
}

bool dwarf_is_in(struct elf_file *file)
{
	bool is_zdebug;

	for (size_t i = 0; i < file->n_sections; i++)
		if (recognize(file, &file->sections[i], &is_zdebug) == DWARF_INFO)
			return true;
	return false;
}

static int open_sections(struct dwarf *dwarf, struct elf_file *file)
{
	for (size_t i = 0; i < file->n_sections; i++) {
		bool is_zdebug;
		enum dwarf_section which = recognize(file, &file->sections[i], &is_zdebug);
		int r;

		if (which == N_DWARF_SECTIONS || dwarf->sections[which].file)
			continue;
		r = section_open(&dwarf->sections[which], file, &file->sections[i], is_zdebug,
				 &dwarf->room);
		if (r < 0)
			return r;
	}
	return dwarf->sections[DWARF_INFO].file ? 0 : -ENODATA;
}

static int64_t budget_for(uint64_t size)
{
	if (size > BUDGET_MAX / 4 || BUDGET_BASE + 4 * (int64_t)size > BUDGET_MAX)
		return BUDGET_MAX;
	return BUDGET_BASE + 4 * size;
}

int dwarf_open(struct dwarf **ret, struct elf_file *file, uint64_t lowest_code)
{
	struct dwarf *dwarf = calloc(1, sizeof *dwarf);
	int r;

	if (!dwarf)
		return -ENOMEM;
	/* Only the file's own header is at address 0. */
	dwarf->lowest_code = lowest_code ? lowest_code : 1;
	dwarf->room = ROOM;
	r = open_sections(dwarf, file);
	if (r < 0) {
		dwarf_free(dwarf);
		return r;
	}
	dwarf->budget = budget_for(dwarf->sections[DWARF_INFO].size);
	*ret = dwarf;
	return 0;
}

void dwarf_free(struct dwarf *dwarf)
{
	if (!dwarf)
		return;
	for (size_t i = 0; i < N_DWARF_SECTIONS; i++)
		section_done(&dwarf->sections[i]);
	for (size_t i = 0; i < DWARF_CACHED_ABBREVS; i++)
		dwarf_abbrevs_done(&dwarf->abbrevs[i]);
	free(dwarf->units);
	free(dwarf->buffer);
	free(dwarf);
}

/* DWARF 5, 7.4. */
static uint64_t read_length(struct cursor *cursor, uint8_t *ret_offset_size)
{
	uint32_t length = cursor_u32(cursor);

	*ret_offset_size = length == UINT32_MAX ? 8 : 4;
	return length == UINT32_MAX ? cursor_u64(cursor) : length;
}

int dwarf_index(struct dwarf *dwarf)
{
	struct section *section = &dwarf->sections[DWARF_INFO];
	uint64_t offset = 0, length;

	if (dwarf->is_indexed)
		return 0;
	dwarf->is_indexed = true;
	while (offset < section->size && dwarf->n_units < MAX_UNITS) {
		struct cursor cursor;
		const uint8_t *bytes;
		uint8_t offset_size;
		size_t n;
		int r;

		if (section_view(section, offset, 12, &bytes, &n) < 0)
			return 0;
		cursor = cursor_make(bytes, n, offset);
		length = read_length(&cursor, &offset_size);
		if (cursor.bad || length > section->size - cursor_offset(&cursor))
			return 0;
		r = dwarf_charge(dwarf, HEAD_COST);
		if (r < 0)
			return r;
		r = array_add(dwarf->units, dwarf->units_capacity, dwarf->n_units, offset);
		if (r < 0)
			return r;
		offset = cursor_offset(&cursor) + length;
	}
	return 0;
}

/* Reads a unit's head (DWARF 5, 7.5.1), up to the root entry. Errors: -ENOEXEC. */
static int read_head(const struct section *section, struct cursor *cursor, struct dwarf_unit *unit)
{
	struct dwarf_encoding *encoding = &unit->encoding;
	uint64_t length = read_length(cursor, &encoding->offset_size);
	uint8_t type = 0;

	if (cursor->bad || length > section->size - cursor_offset(cursor))
		return -ENOEXEC;
	unit->end = cursor_offset(cursor) + length;
	encoding->version = cursor_u16(cursor);
	if (encoding->version >= 5) {
		type = cursor_u8(cursor);
		encoding->address_size = cursor_u8(cursor);
		unit->abbrevs = cursor_number(cursor, encoding->offset_size);
	} else {
		unit->abbrevs = cursor_number(cursor, encoding->offset_size);
		encoding->address_size = cursor_u8(cursor);
	}
	if (type == DW_UT_skeleton || type == DW_UT_split_compile)
		cursor_skip(cursor, 8);
	if (type == DW_UT_type || type == DW_UT_split_type)
		cursor_skip(cursor, 8 + encoding->offset_size);
	if (cursor->bad || encoding->version < 2 || encoding->version > 5 ||
	    (encoding->address_size != 4 && encoding->address_size != 8) ||
	    cursor_offset(cursor) >= unit->end)
		return -ENOEXEC;
	return 0;
}

static int read_root(struct dwarf *dwarf, struct cursor *cursor, struct dwarf_unit *unit)
{
	uint64_t left = unit->end - cursor_offset(cursor), code;
	struct dwarf_abbrevs abbrevs;
	const struct dwarf_abbrev *abbrev;
	uint64_t offset;
	size_t size;
	int r;

	if (left < cursor_left(cursor))
		cursor->end = cursor->at + left;
	offset = cursor_offset(cursor);
	code = cursor_uleb(cursor);
	if (!code)
		return -ENOEXEC;
	r = dwarf_abbrevs_read(&abbrevs, &dwarf->sections[DWARF_ABBREV], unit->abbrevs,
			       unit->encoding, code, &size);
	if (dwarf_charge(dwarf, ABBREV_COST * size) < 0 && r == 0) {
		dwarf_abbrevs_done(&abbrevs);
		return -ENOEXEC;
	}
	if (r < 0)
		return r;
	abbrev = dwarf_abbrev_find(&abbrevs, code);
	if (abbrev)
		dwarf_entry_read(cursor, &abbrevs, abbrev, unit->offset, &unit->root);
	unit->root.offset = offset;
	dwarf_abbrevs_done(&abbrevs);
	return abbrev && !cursor->bad ? 0 : -ENOEXEC;
}

int dwarf_unit_read(struct dwarf *dwarf, uint64_t offset, struct dwarf_unit *ret)
{
	static const size_t views[] = {ENTRY_VIEW, ROOT_VIEW};
	struct section *section = &dwarf->sections[DWARF_INFO];
	struct dwarf_unit unit = {.offset = offset};
	int r = -ENOEXEC;

	for (size_t i = 0; i < 2; i++) {
		struct cursor cursor;
		const uint8_t *bytes;
		size_t n;

		r = dwarf_charge(dwarf, UNIT_COST);
		if (r < 0)
			return r;
		r = section_view(section, offset, views[i], &bytes, &n);
		if (r < 0)
			return r;
		cursor = cursor_make(bytes, n, offset);
		r = read_head(section, &cursor, &unit);
		if (r == 0)
			r = read_root(dwarf, &cursor, &unit);
		if (r == 0)
			*ret = unit;
		/* A root entry may hold whole command lines. */
		if (r == 0 || !cursor.bad || n < views[i])
			break;
	}
	return r;
}

int dwarf_unit_of(struct dwarf *dwarf, uint64_t offset, const struct dwarf_unit **ret)
{
	struct dwarf_unit *last = &dwarf->last_unit;
	size_t low = 0, high;
	int r;

	if (offset < last->offset || offset >= last->end) {
		r = dwarf_index(dwarf);
		if (r < 0)
			return r;
		high = dwarf->n_units;
		while (low < high) {
			size_t middle = low + (high - low) / 2;

			if (dwarf->units[middle] <= offset)
				low = middle + 1;
			else
				high = middle;
		}
		last->end = 0;
		if (!low)
			return -ENOEXEC;
		r = dwarf_unit_read(dwarf, dwarf->units[low - 1], last);
		if (r < 0)
			return r;
	}
	if (offset < last->root.offset || offset >= last->end)
		return -ENOEXEC;
	*ret = last;
	return 0;
}

int dwarf_unit_load(struct dwarf *dwarf, const struct dwarf_unit *unit, struct cursor *ret)
{
	uint64_t n = unit->end - unit->root.offset;
	const uint8_t *bytes;
	int r;

	if (n > UNIT_MAX)
		return -EFBIG;
	r = dwarf_charge(dwarf, n >> LOAD_SHIFT);
	if (r < 0)
		return r;
	r = section_load(&dwarf->sections[DWARF_INFO], unit->root.offset, n, &dwarf->buffer,
			 &dwarf->buffer_capacity, &bytes);
	if (r == 0)
		*ret = cursor_make(bytes, n, unit->root.offset);
	return r;
}

int dwarf_unit_abbrevs(struct dwarf *dwarf, const struct dwarf_unit *unit,
		       const struct dwarf_abbrevs **ret)
{
	struct dwarf_abbrevs *cached = &dwarf->abbrevs[unit->abbrevs / 64 % DWARF_CACHED_ABBREVS],
			     table;
	size_t size;
	int r;

	if (!cached->abbrevs || cached->offset != unit->abbrevs ||
	    cached->encoding.version != unit->encoding.version ||
	    cached->encoding.address_size != unit->encoding.address_size ||
	    cached->encoding.offset_size != unit->encoding.offset_size) {
		r = dwarf_abbrevs_read(&table, &dwarf->sections[DWARF_ABBREV], unit->abbrevs,
				       unit->encoding, 0, &size);
		if (dwarf_charge(dwarf, ABBREV_COST * size) < 0 && r == 0) {
			dwarf_abbrevs_done(&table);
			return -ENOEXEC;
		}
		if (r < 0)
			return r;
		dwarf_abbrevs_done(cached);
		*cached = table;
	}
	*ret = cached;
	return 0;
}

void dwarf_entry_read(struct cursor *cursor, const struct dwarf_abbrevs *abbrevs,
		      const struct dwarf_abbrev *abbrev, uint64_t unit, struct dwarf_entry *ret)
{
	const struct dwarf_attribute *attributes = &abbrevs->attributes[abbrev->first];

	ret->role = abbrev->role;
	ret->tag = abbrev->tag;
	ret->has_children = abbrev->has_children;
	memset(ret->values, 0, sizeof ret->values);
	/* Unwanted values all go to values[WANT_NONE]. */
	for (size_t i = 0; i < abbrev->n; i++)
		ret->values[attributes[i].wanted] =
			dwarf_value_read(cursor, &attributes[i], abbrevs->encoding, unit);
}

int dwarf_entry_at(struct dwarf *dwarf, const struct dwarf_unit *unit, uint64_t offset,
		   struct dwarf_entry *ret)
{
	const struct dwarf_abbrevs *abbrevs;
	const struct dwarf_abbrev *abbrev;
	const uint8_t *bytes;
	struct cursor cursor;
	uint64_t left;
	size_t n;
	int r = dwarf_charge(dwarf, ENTRY_COST);

	if (r < 0)
		return r;
	if (offset < unit->root.offset || offset >= unit->end)
		return -ENOEXEC;
	r = dwarf_unit_abbrevs(dwarf, unit, &abbrevs);
	if (r < 0)
		return r;
	left = unit->end - offset;
	r = section_view(&dwarf->sections[DWARF_INFO], offset,
			 left < ENTRY_VIEW ? left : ENTRY_VIEW, &bytes, &n);
	if (r < 0)
		return r;
	cursor = cursor_make(bytes, n, offset);
	abbrev = dwarf_abbrev_find(abbrevs, cursor_uleb(&cursor));
	if (!abbrev || dwarf_charge(dwarf, abbrev->n) < 0)
		return -ENOEXEC;
	dwarf_entry_read(&cursor, abbrevs, abbrev, unit->offset, ret);
	ret->offset = offset;
	return cursor.bad ? -ENOEXEC : 0;
}

int dwarf_indexed_address(struct dwarf *dwarf, const struct dwarf_unit *unit, uint64_t index,
			  uint64_t *ret)
{
	const struct dwarf_value *base = &unit->root.values[WANT_ADDR_BASE];
	uint64_t offset;

	if (__builtin_mul_overflow(index, unit->encoding.address_size, &offset) ||
	    __builtin_add_overflow(offset, base->number, &offset))
		return -ENOEXEC;
	return section_number(&dwarf->sections[DWARF_ADDR], offset, unit->encoding.address_size,
			      ret);
}

int dwarf_address(struct dwarf *dwarf, const struct dwarf_unit *unit, struct dwarf_value value,
		  uint64_t *ret)
{
	if (value.class == CLASS_ADDRESS_INDEX)
		return dwarf_indexed_address(dwarf, unit, value.number, ret);
	if (value.class != CLASS_ADDRESS)
		return -ENOEXEC;
	*ret = value.number;
	return 0;
}

static int indexed_text(struct dwarf *dwarf, const struct dwarf_unit *unit, uint64_t index,
			char *buffer, size_t size)
{
	const struct dwarf_value *base = &unit->root.values[WANT_STR_OFFSETS_BASE];
	uint64_t offset;
	int r;

	if (__builtin_mul_overflow(index, unit->encoding.offset_size, &offset) ||
	    __builtin_add_overflow(offset, base->number, &offset))
		return -ENOEXEC;
	r = section_number(&dwarf->sections[DWARF_STR_OFFSETS], offset, unit->encoding.offset_size,
			   &offset);
	if (r < 0)
		return r;
	return section_string(&dwarf->sections[DWARF_STR], offset, buffer, size);
}

int dwarf_text(struct dwarf *dwarf, const struct dwarf_unit *unit, struct dwarf_value value,
	       char *buffer, size_t size)
{
	enum dwarf_section section;

	switch (value.class) {
	case CLASS_TEXT: section = DWARF_INFO; break;
	case CLASS_TEXT_STR: section = DWARF_STR; break;
	case CLASS_TEXT_LINE: section = DWARF_LINE_STR; break;
	case CLASS_TEXT_ALT:
		dwarf = dwarf->alternate;
		section = DWARF_STR;
		break;
	case CLASS_TEXT_INDEX: return indexed_text(dwarf, unit, value.number, buffer, size);
	default: return -ENOEXEC;
	}
	if (!dwarf)
		return -ENOEXEC;
	return section_string(&dwarf->sections[section], value.number, buffer, size);
}
