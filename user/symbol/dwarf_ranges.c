/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/dwarf_ranges.h"

#include "symbol/dwarf_constants.h"

#define ITEM_COST 16
/* A kind, and two LEB128 or addresses. */
#define ITEM_MAX 24

static bool one_range(struct dwarf_ranges *ranges, const struct dwarf_entry *entry)
{
	const struct dwarf_value *low = &entry->values[WANT_LOW_PC],
				 *high = &entry->values[WANT_HIGH_PC];

	if (dwarf_address(ranges->dwarf, ranges->unit, *low, &ranges->low) < 0)
		return false;
	if (high->class == CLASS_NUMBER)
		ranges->high = ranges->low + high->number;
	else if (dwarf_address(ranges->dwarf, ranges->unit, *high, &ranges->high) < 0)
		return false;
	return true;
}

/* Finds a list by its number, as for DW_FORM_rnglistx: DWARF 5, 7.28. */
static bool find_list(struct dwarf_ranges *ranges, uint64_t index)
{
	const struct dwarf_value *base = &ranges->unit->root.values[WANT_RNGLISTS_BASE];
	uint8_t size = ranges->unit->encoding.offset_size;
	uint64_t at, offset;

	if (__builtin_mul_overflow(index, size, &at) ||
	    __builtin_add_overflow(at, base->number, &at) ||
	    section_number(&ranges->dwarf->sections[DWARF_RNGLISTS], at, size, &offset) < 0)
		return false;
	ranges->offset = base->number + offset;
	return true;
}

struct dwarf_ranges dwarf_ranges_of(struct dwarf *dwarf, const struct dwarf_unit *unit,
				    const struct dwarf_entry *entry)
{
	const struct dwarf_value *list = &entry->values[WANT_RANGES];
	struct dwarf_ranges ranges = {.dwarf = dwarf, .unit = unit};

	if (list->class == CLASS_NUMBER || list->class == CLASS_LIST_INDEX) {
		dwarf_address(dwarf, unit, unit->root.values[WANT_LOW_PC], &ranges.base);
		ranges.offset = list->number;
		ranges.kind = unit->encoding.version >= 5 ? RANGES_NEW : RANGES_OLD;
		if (list->class == CLASS_LIST_INDEX && !find_list(&ranges, list->number))
			ranges.kind = RANGES_NONE;
	} else if (entry->values[WANT_HIGH_PC].class != CLASS_NONE) {
		ranges.kind = one_range(&ranges, entry) ? RANGES_ONE : RANGES_NONE;
	}
	return ranges;
}

static int view_item(struct dwarf_ranges *ranges, enum dwarf_section section,
		     struct cursor *ret_cursor)
{
	const uint8_t *bytes;
	size_t n;
	int r = dwarf_charge(ranges->dwarf, ITEM_COST);

	if (r < 0)
		return r;
	r = section_view(&ranges->dwarf->sections[section], ranges->offset, ITEM_MAX, &bytes, &n);
	if (r < 0)
		return r;
	*ret_cursor = cursor_make(bytes, n, ranges->offset);
	return 0;
}

/* DWARF 4, 2.17.3. */
static int next_old(struct dwarf_ranges *ranges, uint64_t *ret_low, uint64_t *ret_high)
{
	uint8_t size = ranges->unit->encoding.address_size;
	uint64_t last = size == 8 ? UINT64_MAX : UINT32_MAX;

	for (;;) {
		struct cursor cursor;
		uint64_t low, high;
		int r = view_item(ranges, DWARF_RANGES, &cursor);

		if (r < 0)
			return r;
		low = cursor_number(&cursor, size);
		high = cursor_number(&cursor, size);
		if (cursor.bad)
			return -ENOEXEC;
		ranges->offset = cursor_offset(&cursor);
		if (!low && !high)
			return 0;
		if (low == last) {
			ranges->base = high;
			continue;
		}
		*ret_low = ranges->base + low;
		*ret_high = ranges->base + high;
		return 1;
	}
}

static int indexed(struct dwarf_ranges *ranges, struct cursor *cursor, uint64_t *ret)
{
	return dwarf_indexed_address(ranges->dwarf, ranges->unit, cursor_uleb(cursor), ret);
}

/* Reads an item of a new list (DWARF 5, 7.25): 1 for a range, 0 for the end, 2 for a new base. */
static int read_item(struct dwarf_ranges *ranges, struct cursor *cursor, uint64_t *low,
		     uint64_t *high)
{
	uint8_t size = ranges->unit->encoding.address_size;
	int r = 0;

	switch (cursor_u8(cursor)) {
	case DW_RLE_end_of_list: return 0;
	case DW_RLE_base_addressx: r = indexed(ranges, cursor, &ranges->base); return r < 0 ? r : 2;
	case DW_RLE_base_address: ranges->base = cursor_number(cursor, size); return 2;
	case DW_RLE_startx_endx:
		r = indexed(ranges, cursor, low);
		if (r < 0)
			return r;
		r = indexed(ranges, cursor, high);
		break;
	case DW_RLE_startx_length:
		r = indexed(ranges, cursor, low);
		*high = *low + cursor_uleb(cursor);
		break;
	case DW_RLE_offset_pair:
		*low = ranges->base + cursor_uleb(cursor);
		*high = ranges->base + cursor_uleb(cursor);
		break;
	case DW_RLE_start_end:
		*low = cursor_number(cursor, size);
		*high = cursor_number(cursor, size);
		break;
	case DW_RLE_start_length:
		*low = cursor_number(cursor, size);
		*high = *low + cursor_uleb(cursor);
		break;
	default: return -ENOEXEC;
	}
	return r < 0 ? r : 1;
}

static int next_new(struct dwarf_ranges *ranges, uint64_t *ret_low, uint64_t *ret_high)
{
	int r;

	do {
		uint64_t low = 0, high = 0;
		struct cursor cursor;

		r = view_item(ranges, DWARF_RNGLISTS, &cursor);
		if (r < 0)
			return r;
		r = read_item(ranges, &cursor, &low, &high);
		if (cursor.bad)
			return -ENOEXEC;
		ranges->offset = cursor_offset(&cursor);
		*ret_low = low;
		*ret_high = high;
	} while (r == 2);
	return r;
}

static int next_any(struct dwarf_ranges *ranges, uint64_t *ret_low, uint64_t *ret_high)
{
	switch (ranges->kind) {
	case RANGES_ONE:
		ranges->kind = RANGES_NONE;
		*ret_low = ranges->low;
		*ret_high = ranges->high;
		return 1;
	case RANGES_OLD: return next_old(ranges, ret_low, ret_high);
	case RANGES_NEW: return next_new(ranges, ret_low, ret_high);
	default: return 0;
	}
}

int dwarf_ranges_next(struct dwarf_ranges *ranges, uint64_t *ret_low, uint64_t *ret_high)
{
	int r;

	do
		r = next_any(ranges, ret_low, ret_high);
	while (r == 1 && (*ret_low < ranges->dwarf->lowest_code || *ret_high <= *ret_low));
	return r;
}
