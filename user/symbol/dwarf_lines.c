/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/dwarf_lines.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "symbol/dwarf_constants.h"

#define PROGRAM_MAX  (128u << 20)
#define MAX_FILES    (1u << 20)
#define MAX_FORMATS  64
#define ADDRESS_COST 8
#define BYTE_COST    4

/* A directory, or a file in one. */
struct named {
	struct dwarf_value name;
	uint64_t directory;
	uint32_t path; /* of a file; 0: not made yet */
};

struct table_of_names {
	struct named *items;
	size_t n, capacity;
};

struct row {
	uint64_t address, file, line;
};

struct program {
	struct dwarf *dwarf;
	const struct lookups *lookups;
	const struct dwarf_scopes *scopes;
	struct strings *strings;
	struct dwarf_place *places;
	uint32_t unit_number;
	struct dwarf_unit unit;

	uint8_t *buffer;
	size_t buffer_capacity;
	struct cursor cursor;
	uint64_t end; /* of the head */
	struct dwarf_encoding encoding;
	uint8_t instruction_size, line_range, opcode_base;
	int8_t line_base;
	uint8_t operands[256]; /* of each standard opcode */
	struct table_of_names directories, files;

	struct row row, last;
	bool has_last;
	size_t next; /* the next lookup of this sequence */
};

static int add_named(struct table_of_names *table, struct dwarf_value name, uint64_t directory)
{
	if (table->n >= MAX_FILES)
		return -ENOEXEC;
	return array_add(table->items, table->capacity, table->n,
			 (struct named){.name = name, .directory = directory});
}

/* Names up to an empty one: DWARF 4, 6.2.4. */
static int read_old_names(struct program *program, struct table_of_names *table, bool is_files)
{
	struct cursor *cursor = &program->cursor;

	while (cursor_left(cursor) && *cursor->at) {
		struct dwarf_value name = {CLASS_TEXT, cursor_offset(cursor)};
		uint64_t directory = 0;
		int r;

		cursor_skip_text(cursor);
		if (is_files) {
			directory = cursor_uleb(cursor);
			cursor_skip_leb(cursor); /* time */
			cursor_skip_leb(cursor); /* size */
		}
		r = add_named(table, name, directory);
		if (r < 0)
			return r;
	}
	cursor_u8(cursor);
	return cursor->bad ? -ENOEXEC : 0;
}

/* A list of names that describes their encoding itself: DWARF 5, 6.2.4.1. */
static int read_new_names(struct program *program, struct table_of_names *table)
{
	struct cursor *cursor = &program->cursor;
	struct dwarf_attribute formats[MAX_FORMATS] = {};
	uint64_t contents[MAX_FORMATS], n;
	uint8_t n_formats = cursor_u8(cursor);
	int r;

	if (n_formats > MAX_FORMATS)
		return -ENOEXEC;
	for (size_t i = 0; i < n_formats; i++) {
		contents[i] = cursor_uleb(cursor);
		r = dwarf_attribute_set_form(&formats[i], cursor_uleb(cursor), program->encoding);
		if (r < 0)
			return r;
	}
	n = cursor_uleb(cursor);
	/* Entries of no bytes could be any number. */
	if (n > cursor_left(cursor))
		return -ENOEXEC;
	for (uint64_t k = 0; k < n; k++) {
		struct dwarf_value name = {};
		uint64_t directory = 0;

		r = dwarf_charge(program->dwarf, n_formats);
		if (r < 0)
			return r;
		for (size_t i = 0; i < n_formats; i++) {
			struct dwarf_value value =
				dwarf_value_read(cursor, &formats[i], program->encoding, 0);

			if (contents[i] == DW_LNCT_path)
				name = value;
			else if (contents[i] == DW_LNCT_directory_index)
				directory = value.number;
		}
		if (cursor->bad)
			return -ENOEXEC;
		r = add_named(table, name, directory);
		if (r < 0)
			return r;
	}
	return 0;
}

static int read_names(struct program *program)
{
	int r;

	program->directories.n = program->files.n = 0;
	if (program->encoding.version >= 5) {
		r = read_new_names(program, &program->directories);
		if (r < 0)
			return r;
		return read_new_names(program, &program->files);
	}
	/* Numbers begin at 1; 0 is the compiler's folder, and no file. */
	r = add_named(&program->directories, program->unit.root.values[WANT_COMP_DIR], 0);
	if (r < 0)
		return r;
	r = add_named(&program->files, (struct dwarf_value){}, 0);
	if (r < 0)
		return r;
	r = read_old_names(program, &program->directories, false);
	if (r < 0)
		return r;
	return read_old_names(program, &program->files, true);
}

/* The head, before the opcodes: DWARF 5, 6.2.4. */
static int read_head(struct program *program)
{
	struct cursor *cursor = &program->cursor;
	struct dwarf_encoding *encoding = &program->encoding;
	uint64_t length;

	encoding->version = cursor_u16(cursor);
	encoding->address_size = program->unit.encoding.address_size;
	if (encoding->version >= 5) {
		encoding->address_size = cursor_u8(cursor);
		cursor_u8(cursor); /* size of segment selectors */
	}
	length = cursor_number(cursor, encoding->offset_size);
	if (cursor->bad || encoding->version < 2 || encoding->version > 5 ||
	    encoding->address_size > 8 || length > cursor_left(cursor))
		return -ENOEXEC;
	program->end = cursor_offset(cursor) + length;
	program->instruction_size = cursor_u8(cursor);
	if (encoding->version >= 4)
		cursor_u8(cursor); /* operations in an instruction; more than 1 for VLIW only */
	cursor_u8(cursor);	   /* whether rows are statements at first */
	program->line_base = cursor_u8(cursor);
	program->line_range = cursor_u8(cursor);
	program->opcode_base = cursor_u8(cursor);
	for (size_t i = 1; i < program->opcode_base; i++)
		program->operands[i] = cursor_u8(cursor);
	if (cursor->bad || !program->line_range || !program->opcode_base)
		return -ENOEXEC;
	return read_names(program);
}

/* Loads the unit's program and reads its head. */
static int load(struct program *program)
{
	struct section *section = &program->dwarf->sections[DWARF_LINE];
	const struct dwarf_value *at = &program->unit.root.values[WANT_STMT_LIST];
	const uint8_t *bytes;
	struct cursor cursor;
	uint64_t length;
	size_t n;
	int r;

	if (at->class != CLASS_NUMBER)
		return -ENODATA;
	r = section_view(section, at->number, 12, &bytes, &n);
	if (r < 0)
		return r;
	cursor = cursor_make(bytes, n, at->number);
	length = cursor_u32(&cursor);
	program->encoding.offset_size = length == UINT32_MAX ? 8 : 4;
	if (length == UINT32_MAX)
		length = cursor_u64(&cursor);
	if (cursor.bad || length > PROGRAM_MAX || length > section->size - cursor_offset(&cursor))
		return -ENOEXEC;
	r = dwarf_charge(program->dwarf, BYTE_COST * length);
	if (r < 0)
		return r;
	r = section_load(section, cursor_offset(&cursor), length, &program->buffer,
			 &program->buffer_capacity, &bytes);
	if (r < 0)
		return r;
	program->cursor = cursor_make(bytes, length, cursor_offset(&cursor));
	return read_head(program);
}

/* A directory's or file's name; "" if unreadable. */
static void get_name(struct program *program, const struct table_of_names *table, uint64_t number,
		     char *text, size_t size)
{
	struct dwarf_value name = {};
	int r;

	*text = '\0';
	if (number >= table->n)
		return;
	name = table->items[number].name;
	if (name.class == CLASS_TEXT &&
	    !(table == &program->directories && number == 0 && program->encoding.version < 5))
		r = section_string(&program->dwarf->sections[DWARF_LINE], name.number, text, size);
	else
		r = dwarf_text(program->dwarf, &program->unit, name, text, size);
	if (r < 0)
		*text = '\0';
}

/* Puts @directory before the path in @path, which has room for PATH_MAX bytes. */
static void put_before(char *path, const char *directory)
{
	char whole[PATH_MAX];
	int n;

	if (path[0] == '/' || !directory[0])
		return;
	n = snprintf(whole, sizeof whole, "%s/%s", directory, path);
	if (n > 0 && (size_t)n < sizeof whole)
		memcpy(path, whole, n + 1);
}

/* The path of file @number, as a string. Errors: -ENOMEM, -E2BIG. */
static int find_path(struct program *program, uint64_t number, uint32_t *ret)
{
	char path[PATH_MAX], directory[PATH_MAX];
	struct named *file;
	int r;

	*ret = 0;
	if (number >= program->files.n)
		return 0;
	file = &program->files.items[number];
	if (!file->path) {
		get_name(program, &program->files, number, path, sizeof path);
		if (!*path)
			return 0;
		get_name(program, &program->directories, file->directory, directory,
			 sizeof directory);
		put_before(path, directory);
		get_name(program, &program->directories, 0, directory, sizeof directory);
		put_before(path, directory);
		r = strings_add(program->strings, path, &file->path);
		if (r < 0)
			return r;
	}
	*ret = file->path;
	return 0;
}

/* Gives the last row's line to the lookups from its address up to @end. */
static int give(struct program *program, uint64_t end)
{
	const struct lookups *lookups = program->lookups;
	size_t first = program->next;

	if (program->last.address < program->dwarf->lowest_code)
		return 0;
	while (program->next < lookups->n &&
	       lookups->addresses[program->next] < program->last.address)
		program->next++;
	for (; program->next < lookups->n && lookups->addresses[program->next] < end;
	     program->next++) {
		struct dwarf_place *place = &program->places[program->next];
		int r;

		if (program->scopes->unit[program->next] != program->unit_number || place->file)
			continue;
		r = find_path(program, program->last.file, &place->file);
		if (r < 0)
			return r;
		place->line = program->last.line <= UINT32_MAX ? program->last.line : 0;
	}
	return dwarf_charge(program->dwarf, ADDRESS_COST * (program->next - first));
}

/* The program has made a row; @is_end: it only ends the previous one's code. */
static int add_row(struct program *program, bool is_end)
{
	const struct row *row = &program->row;
	int r = 0;

	if (!program->has_last || row->address < program->last.address)
		program->next = lookups_lower_bound(program->lookups, row->address);
	else if (row->address > program->last.address)
		r = give(program, row->address);
	program->last = *row;
	program->has_last = !is_end;
	if (is_end)
		program->row = (struct row){.file = 1, .line = 1};
	return r;
}

/* DWARF 5, 6.2.5.3. */
static int run_extended(struct program *program)
{
	struct cursor *cursor = &program->cursor;
	uint64_t n = cursor_uleb(cursor);
	const uint8_t *start = cursor->at;
	int r = 0;

	if (!n || n > cursor_left(cursor))
		return -ENOEXEC;
	switch (cursor_u8(cursor)) {
	case DW_LNE_end_sequence: r = add_row(program, true); break;
	case DW_LNE_set_address:
		if (n - 1 > 8)
			return -ENOEXEC;
		program->row.address = cursor_number(cursor, n - 1);
		break;
	case DW_LNE_define_file: {
		struct dwarf_value name = {CLASS_TEXT, cursor_offset(cursor)};

		cursor_skip_text(cursor);
		r = add_named(&program->files, name, cursor_uleb(cursor));
		break;
	}
	default: break;
	}
	cursor->at = start + n;
	return r;
}

/* DWARF 5, 6.2.5.2. */
static int run_standard(struct program *program, uint8_t opcode)
{
	struct cursor *cursor = &program->cursor;
	struct row *row = &program->row;

	switch (opcode) {
	case DW_LNS_copy: return add_row(program, false);
	case DW_LNS_advance_pc:
		row->address += cursor_uleb(cursor) * program->instruction_size;
		return 0;
	case DW_LNS_advance_line: row->line += cursor_sleb(cursor); return 0;
	case DW_LNS_set_file: row->file = cursor_uleb(cursor); return 0;
	case DW_LNS_const_add_pc:
		row->address += (255 - program->opcode_base) / program->line_range *
				program->instruction_size;
		return 0;
	case DW_LNS_fixed_advance_pc: row->address += cursor_u16(cursor); return 0;
	default:
		for (size_t i = 0; i < program->operands[opcode]; i++)
			cursor_skip_leb(cursor);
		return 0;
	}
}

static int run_opcode(struct program *program)
{
	uint8_t opcode = cursor_u8(&program->cursor);

	if (opcode >= program->opcode_base) {
		opcode -= program->opcode_base;
		program->row.address += opcode / program->line_range * program->instruction_size;
		program->row.line += program->line_base + opcode % program->line_range;
		return add_row(program, false);
	}
	return opcode ? run_standard(program, opcode) : run_extended(program);
}

static int run_program(struct program *program)
{
	struct cursor *cursor = &program->cursor;
	int r = 0;

	cursor->at = cursor->start + (program->end - cursor->start_offset);
	program->row = (struct row){.file = 1, .line = 1};
	program->has_last = false;
	while (r == 0 && cursor_left(cursor))
		r = run_opcode(program);
	return r == 0 && cursor->bad ? -ENOEXEC : r;
}

static int set_call_files(struct program *program, const struct dwarf_seen_unit *seen,
			  uint32_t *call_files)
{
	int r = 0;

	for (uint32_t i = 0; i < seen->n_scopes && r == 0; i++) {
		uint32_t scope = seen->first_scope + i;

		if (program->scopes->scopes[scope].parent)
			r = find_path(program, program->scopes->scopes[scope].call_file,
				      &call_files[scope]);
	}
	return r;
}

/* Finds the lines in one of the units that the scopes are in. */
static int visit_unit(struct program *program, size_t number, uint32_t *call_files)
{
	const struct dwarf_seen_unit *seen = &program->scopes->units[number];
	int r = dwarf_unit_read(program->dwarf, seen->offset, &program->unit);

	if (r < 0)
		return r;
	program->unit_number = number;
	r = load(program);
	if (r < 0)
		return r;
	r = run_program(program);
	if (r < 0)
		return r;
	return set_call_files(program, seen, call_files);
}

int dwarf_lines_find(struct dwarf *dwarf, const struct lookups *lookups,
		     const struct dwarf_scopes *scopes, struct strings *strings,
		     struct dwarf_place *places, uint32_t *call_files, bool *ret_damaged)
{
	struct program program = {
		.dwarf = dwarf,
		.lookups = lookups,
		.scopes = scopes,
		.strings = strings,
		.places = places,
	};
	int r = 0;

	*ret_damaged = false;
	memset(places, 0, lookups->n * sizeof *places);
	memset(call_files, 0, scopes->n_scopes * sizeof *call_files);
	for (size_t i = 1; i < scopes->n_units && r == 0; i++) {
		r = visit_unit(&program, i, call_files);
		*ret_damaged |= r < 0 && r != -ENODATA;
		if (r != -ENOMEM && r != -E2BIG)
			r = 0;
	}
	free(program.buffer);
	free(program.directories.items);
	free(program.files.items);
	return r;
}
