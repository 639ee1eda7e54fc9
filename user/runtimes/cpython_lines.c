/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From an instruction to its line. From 3.11 on: Objects/locations.md of CPython, entries of
 * instructions and, by kind, what changes in line and column. 3.10 and 3.9:
 * Objects/lnotab_notes.txt, pairs of bytes of code and lines; those of 3.9 say where a line begins,
 * and not where it ends.
 */
#include "runtimes/cpython.h"

struct table {
	const uint8_t *bytes;
	uint32_t at, n;
};

static uint32_t next_number(struct table *table)
{
	uint32_t value = 0, shift = 0;

	while (table->at < table->n) {
		uint8_t byte = table->bytes[table->at++];

		if (shift < 32)
			value |= (uint32_t)(byte & 63) << shift;
		shift += 6;
		if (!(byte & 64))
			break;
	}
	return value;
}

static int32_t next_signed(struct table *table)
{
	uint32_t value = next_number(table);

	return value & 1 ? -(int32_t)(value >> 1) : (int32_t)(value >> 1);
}

enum { KIND_ONE_LINE = 10, KIND_SAME = 13, KIND_LONG = 14, KIND_NONE = 15 };

/* How many lines the entry of this kind is further on; passes what else it says. */
static int32_t next_entry(struct table *table, uint32_t kind)
{
	int32_t lines = 0;

	if (kind == KIND_LONG) {
		lines = next_signed(table);
		for (int i = 0; i < 3; i++)
			next_number(table);
	} else if (kind == KIND_SAME) {
		lines = next_signed(table);
	} else if (kind >= KIND_ONE_LINE && kind < KIND_SAME) {
		lines = kind - KIND_ONE_LINE;
		table->at += 2;
	} else if (kind < KIND_ONE_LINE) {
		table->at++;
	}
	return lines;
}

static uint32_t by_locations(struct table table, uint32_t line, uint64_t instruction)
{
	uint64_t at = 0;

	while (table.at < table.n) {
		uint8_t first = table.bytes[table.at++];
		uint32_t kind = first >> 3 & 15;

		at += (first & 7) + 1;
		line += next_entry(&table, kind);
		if (at > instruction)
			return kind == KIND_NONE ? 0 : line;
	}
	return 0;
}

#define NO_LINE (-128)

static uint32_t by_pairs(struct table table, uint32_t line, uint64_t byte)
{
	uint64_t at = 0;

	for (; table.at + 2 <= table.n; table.at += 2) {
		int8_t lines = table.bytes[table.at + 1];

		line += lines == NO_LINE ? 0 : lines;
		at += table.bytes[table.at];
		if (at > byte)
			return lines == NO_LINE ? 0 : line;
	}
	return 0;
}

/* PyCode_Addr2Line() of 3.9. Before its first instruction, a frame is at byte -1. */
static uint32_t by_beginnings(struct table table, uint32_t line, int32_t byte)
{
	int64_t at = 0;

	for (; table.at + 2 <= table.n; table.at += 2) {
		at += table.bytes[table.at];
		if (at > byte)
			break;
		line += (int8_t)table.bytes[table.at + 1];
	}
	return line;
}

uint32_t cpython_line(const struct runtime_facts *facts, const uint8_t *lines, uint32_t n_lines,
		      uint32_t first_line, uint32_t detail)
{
	const uint32_t *o = facts->offsets;
	struct table table = {lines, 0, n_lines};
	uint32_t line;

	if (o[FRAME_UNIT] && facts->version < CPYTHON(3, 10))
		line = by_beginnings(table, first_line, (int32_t)detail);
	else if (o[FRAME_UNIT])
		line = by_pairs(table, first_line, (uint64_t)o[FRAME_UNIT] * detail);
	else if (detail >= o[CODE_BYTES])
		line = by_locations(table, first_line, (detail - o[CODE_BYTES]) / 2);
	else /* before its first instruction */
		line = first_line;
	return line > INT32_MAX ? 0 : line;
}
