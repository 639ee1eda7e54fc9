/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pprof_messages: writes the used items of the tables as messages. */
#include <stdlib.h>

#include "export/pprof_bytes.h"
#include "export/pprof_tables.h"

/* What the file said of its symbols; if nothing was read, what the locations have. */
static void put_symbols(struct pprof_bytes *bytes, const struct pprof_mapping *mapping)
{
	uint8_t symbols = mapping->symbols;
	bool is_known = symbols & SYMBOLS_KNOWN;

	pprof_put_number(bytes, MAPPING_HAS_FUNCTIONS,
			 is_known ? !!(symbols & SYMBOLS_FUNCTIONS) : true);
	pprof_put_number(bytes, MAPPING_HAS_FILENAMES,
			 is_known ? !!(symbols & SYMBOLS_FILES) : mapping->has_files);
	pprof_put_number(bytes, MAPPING_HAS_LINES,
			 is_known ? !!(symbols & SYMBOLS_LINES) : mapping->has_lines);
	pprof_put_number(bytes, MAPPING_HAS_INLINED,
			 is_known ? !!(symbols & SYMBOLS_INLINED) : mapping->has_inlined);
}

static int write_mapping(struct pprof_tables *tables, const struct pprof_mapping *mapping,
			 struct gzip *gzip)
{
	uint8_t room[N_MAPPING_FIELDS * PPROF_MAX_NUMBER];
	struct pprof_bytes bytes = PPROF_BYTES_IN(room);
	uint32_t file, build_id;
	int r = pprof_tables_index(tables, mapping->file, &file);

	if (r < 0)
		return r;
	r = pprof_tables_index(tables, mapping->build_id, &build_id);
	if (r < 0)
		return r;
	pprof_put_number(&bytes, MAPPING_ID, mapping->id);
	pprof_put_number(&bytes, MAPPING_START, mapping->start);
	pprof_put_number(&bytes, MAPPING_LIMIT, mapping->limit);
	pprof_put_number(&bytes, MAPPING_OFFSET, mapping->offset);
	pprof_put_number(&bytes, MAPPING_FILENAME, file);
	pprof_put_number(&bytes, MAPPING_BUILD_ID, build_id);
	put_symbols(&bytes, mapping);
	pprof_write_bytes(gzip, PROFILE_MAPPING, bytes.at, bytes.n);
	return 0;
}

static int put_line(const struct pprof_tables *tables, const struct pprof_line *line,
		    struct pprof_bytes *location)
{
	uint8_t room[N_LINE_FIELDS * PPROF_MAX_NUMBER];
	struct pprof_bytes bytes = PPROF_BYTES_IN(room);

	pprof_put_number(&bytes, LINE_FUNCTION, tables->functions[line->function].id);
	pprof_put_number(&bytes, LINE_LINE, line->line);
	return pprof_put_bytes(location, LOCATION_LINE, &bytes);
}

/* @bytes: room, which grows. */
static int write_location(const struct pprof_tables *tables, uint32_t item,
			  struct pprof_bytes *bytes, struct gzip *gzip)
{
	const struct pprof_location *location = &tables->locations[item];
	const struct pprof_line *lines = tables->lines + location->first_line;
	bool has_mapping = location->mapping != TABLE_NONE;
	int r;

	bytes->n = 0;
	r = pprof_reserve(bytes, N_LOCATION_FIELDS * PPROF_MAX_NUMBER);
	if (r < 0)
		return r;
	pprof_put_number(bytes, LOCATION_ID, tables->location_ids[item]);
	pprof_put_number(bytes, LOCATION_MAPPING,
			 has_mapping ? tables->mappings[location->mapping].id : 0);
	pprof_put_number(bytes, LOCATION_ADDRESS, location->address);
	for (uint32_t i = 0; i < location->n_lines; i++) {
		r = put_line(tables, &lines[i], bytes);
		if (r < 0)
			return r;
	}
	r = pprof_reserve(bytes, PPROF_MAX_NUMBER);
	if (r < 0)
		return r;
	pprof_put_number(bytes, LOCATION_IS_FOLDED, location->is_folded);
	pprof_write_bytes(gzip, PROFILE_LOCATION, bytes->at, bytes->n);
	return 0;
}

static int write_locations(const struct pprof_tables *tables, struct gzip *gzip)
{
	struct pprof_bytes bytes = {};
	int r = 0;

	for (size_t i = 0; i < tables->used_locations.n; i++) {
		r = write_location(tables, tables->used_locations.items[i], &bytes, gzip);
		if (r < 0)
			break;
	}
	free(bytes.at);
	return r;
}

static int write_function(struct pprof_tables *tables, const struct pprof_function *function,
			  struct gzip *gzip)
{
	uint8_t room[N_FUNCTION_FIELDS * PPROF_MAX_NUMBER];
	struct pprof_bytes bytes = PPROF_BYTES_IN(room);
	uint32_t name, system_name, file;
	int r = pprof_tables_index(tables, function->name, &name);

	if (r < 0)
		return r;
	r = pprof_tables_index(tables, function->system_name, &system_name);
	if (r < 0)
		return r;
	r = pprof_tables_index(tables, function->file, &file);
	if (r < 0)
		return r;
	pprof_put_number(&bytes, FUNCTION_ID, function->id);
	pprof_put_number(&bytes, FUNCTION_NAME, name);
	pprof_put_number(&bytes, FUNCTION_SYSTEM_NAME, system_name);
	pprof_put_number(&bytes, FUNCTION_FILENAME, file);
	pprof_put_number(&bytes, FUNCTION_START_LINE, function->start_line);
	pprof_write_bytes(gzip, PROFILE_FUNCTION, bytes.at, bytes.n);
	return 0;
}

int pprof_tables_write(struct pprof_tables *tables, struct gzip *gzip)
{
	const struct pprof_order *mappings = &tables->used_mappings;
	const struct pprof_order *functions = &tables->used_functions;
	int r;

	for (size_t i = 0; i < mappings->n; i++) {
		r = write_mapping(tables, &tables->mappings[mappings->items[i]], gzip);
		if (r < 0)
			return r;
	}
	r = write_locations(tables, gzip);
	if (r < 0)
		return r;
	for (size_t i = 0; i < functions->n; i++) {
		r = write_function(tables, &tables->functions[functions->items[i]], gzip);
		if (r < 0)
			return r;
	}
	return 0;
}

void pprof_tables_write_strings(const struct pprof_tables *tables, struct gzip *gzip)
{
	const struct strings *strings = &tables->profile->strings;

	for (size_t i = 0; i < tables->used_texts.n; i++) {
		uint32_t text = tables->used_texts.items[i];

		pprof_write_bytes(gzip, PROFILE_STRING, strings_get(strings, text),
				  strings_length(strings, text));
	}
}
