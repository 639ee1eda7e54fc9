/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/go_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Numbers of a record's lists: PCDATA_InlTreeIndex and FUNCDATA_InlTree. */
#define INLINED_PROGRAM 2
#define INLINED_TREE	3

void go_table_done(struct go_table *table)
{
	for (size_t i = 0; i < N_GO_PARTS; i++)
		section_done(&table->parts[i]);
	free(table->entries);
	*table = (struct go_table){};
}

/* --- functions --- */

/* Reads exactly @n bytes at @offset of the table through @part's window. */
static int read_part(struct go_table *table, enum go_part part, uint64_t offset, void *to, size_t n)
{
	const uint8_t *bytes;
	size_t got;
	int r = section_view(&table->parts[part], offset, n, &bytes, &got);

	if (r < 0)
		return r;
	if (got < n)
		return -ENOEXEC;
	memcpy(to, bytes, n);
	return 0;
}

/* Where the tree of @record is, whose lists are @lists bytes from the table's start. */
static int read_tree(struct go_table *table, uint64_t lists, uint32_t n_programs, uint64_t *ret)
{
	uint64_t at = lists + 4ull * n_programs, pointer = 0;
	uint32_t offset = 0;
	int r;

	if (table->version < 18) {
		at += -(table->address + at) & 7;
		r = read_part(table, GO_RECORDS, at + 8 * INLINED_TREE, &pointer, 8);
		*ret = pointer;
		return r;
	}
	r = read_part(table, GO_RECORDS, at + 4 * INLINED_TREE, &offset, 4);
	*ret = offset != UINT32_MAX && table->funcdata ? table->funcdata + offset : 0;
	return r;
}

/* Go's struct _func: after its address, which has 8 bytes in the oldest form. */
struct record {
	int32_t name;
	uint32_t arguments, defer_return, sizes, files, lines, n_programs, cu;
	uint8_t rest[8]; /* from 1.20 on a line; the function's kind, flags, 0, lists */
};

int go_table_function(struct go_table *table, size_t i, struct go_function *ret)
{
	uint64_t at = table->at[GO_RECORDS] + table->entries[i].record;
	size_t rest = table->version == 18 ? 4 : 8;
	struct record record = {};
	struct go_function function;
	const uint8_t *kind;
	int r;

	at += table->version >= 18 ? 4 : 8;
	if (table->version < 18)
		rest = 4;
	r = read_part(table, GO_RECORDS, at, &record, offsetof(struct record, rest) + rest);
	if (r < 0)
		return r;
	at += offsetof(struct record, rest) + rest;
	kind = record.rest + rest - 4;
	function = (struct go_function){
		.start = table->entries[i].start,
		.end = table->entries[i + 1].start,
		.name = record.name,
		.sizes = record.sizes,
		.files = record.files,
		.lines = record.lines,
		.cu = record.cu,
		.flags = kind[1],
	};
	if (record.n_programs > INLINED_PROGRAM && kind[3] > INLINED_TREE) {
		r = read_part(table, GO_RECORDS, at + 4 * INLINED_PROGRAM, &function.inlined, 4);
		if (r < 0)
			return r;
	}
	if (function.inlined) {
		r = read_tree(table, at, record.n_programs, &function.tree);
		if (r < 0)
			return r;
	}
	*ret = function;
	return 0;
}

int go_table_find(struct go_table *table, uint64_t address, struct go_function *ret)
{
	size_t low = 0, n = table->n;

	if (address < table->entries[0].start || address >= table->entries[table->n].start)
		return -ENOENT;
	while (n > 1) {
		size_t half = n / 2;

		if (table->entries[low + half].start <= address)
			low += half;
		n -= half;
	}
	return go_table_function(table, low, ret);
}

/* --- what they are called --- */

int go_table_name(struct go_table *table, int32_t name, char *buffer, size_t size)
{
	uint64_t at = table->at[GO_NAMES] + (uint32_t)name;
	char before = 0;
	int r;

	if (name < 0 || at >= table->at[GO_CUS])
		return -ENOEXEC;
	if (name > 0) {
		r = read_part(table, GO_NAMES, at - 1, &before, 1);
		if (r < 0)
			return r;
	}
	/* Names don't begin in the middle of another one. */
	if (before)
		return -ENOEXEC;
	r = section_string(&table->parts[GO_NAMES], at, buffer, size);
	if (r < 0)
		return r;
	return *buffer ? 0 : -ENOEXEC;
}

int go_table_path(struct go_table *table, const struct go_function *function, int32_t file,
		  char *buffer, size_t size)
{
	uint64_t at = table->at[GO_CUS] + 4 * ((uint64_t)function->cu + (uint32_t)file);
	uint32_t path;
	int r;

	if (file < 0 || at >= table->at[GO_FILES])
		return -ENOEXEC;
	r = read_part(table, GO_CUS, at, &path, 4);
	if (r < 0)
		return r;
	if (path == UINT32_MAX || path >= table->at[GO_VALUES] - table->at[GO_FILES])
		return -ENOEXEC;
	return section_string(&table->parts[GO_FILES], table->at[GO_FILES] + path, buffer, size);
}

int go_table_inlined(struct go_table *table, const struct go_function *function, uint32_t i,
		     struct go_inlined *ret)
{
	size_t size = table->version >= 20 ? 16 : 20, at = table->version >= 20 ? 4 : 12;
	uint64_t address = function->tree + (uint64_t)size * i, offset, n;
	uint8_t bytes[20];
	int r;

	if (!function->tree || !elf_file_offset(table->file, address, &offset, &n) || n < size)
		return -ENOEXEC;
	r = elf_file_read(table->file, offset, bytes, size);
	if (r < 0)
		return r;
	memcpy(&ret->name, bytes + at, 4);
	memcpy(&ret->called_at, bytes + at + 4, 4);
	return ret->called_at < function->end - function->start ? 0 : -ENOEXEC;
}

/* --- programs of values --- */

void go_values_start(const struct go_table *table, const struct go_function *function,
		     uint32_t program, struct go_values *ret)
{
	*ret = (struct go_values){
		.at = program ? table->at[GO_VALUES] + program : UINT64_MAX,
		.start = function->start,
		.end = function->start,
		.limit = function->end,
		.value = -1,
		.is_first = true,
	};
}

/* A number of at most 5 bytes, 7 bits each, the lowest first. Returns its length; 0: no such. */
static size_t read_varint(const uint8_t *bytes, size_t n, uint32_t *ret)
{
	*ret = 0;
	for (size_t i = 0; i < n && i < 5; i++) {
		*ret |= (uint32_t)(bytes[i] & 0x7f) << 7 * i;
		if (!(bytes[i] & 0x80))
			return i + 1;
	}
	return 0;
}

int go_values_next(struct go_table *table, struct go_values *values)
{
	uint32_t change, distance;
	const uint8_t *bytes;
	size_t n, first, second;
	int r;

	if (values->at == UINT64_MAX || values->end >= values->limit)
		return 0;
	if (--table->budget < 0 || values->at >= table->at[GO_RECORDS])
		return -ENOEXEC;
	r = section_view(&table->parts[GO_VALUES], values->at, 10, &bytes, &n);
	if (r < 0)
		return r;
	first = read_varint(bytes, n, &change);
	if (first && !change && !values->is_first)
		return 0;
	second = first ? read_varint(bytes + first, n - first, &distance) : 0;
	if (!second || !distance)
		return -ENOEXEC;
	values->is_first = false;
	values->at += first + second;
	values->value += (uint32_t)((change >> 1) ^ -(change & 1));
	values->start = values->end;
	values->end += (uint64_t)distance * table->quantum;
	if (values->end > values->limit)
		values->end = values->limit;
	return 1;
}

int go_values_find(struct go_table *table, const struct go_function *function, uint32_t program,
		   uint64_t address, int32_t *ret)
{
	struct go_values values;
	int r;

	go_values_start(table, function, program, &values);
	while ((r = go_values_next(table, &values)) > 0)
		if (address < values.end) {
			*ret = values.value;
			return 0;
		}
	return r < 0 ? r : -ENOENT;
}
