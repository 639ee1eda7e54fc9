/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pprof_messages: packs the used parts of the tables with the code that protobuf-c generates
 * from profile.proto. Each message is a Profile with one field.
 */
#include <stdlib.h>

#include "base/array.h"
#include "export/pprof_tables.h"
#include "profile.pb-c.h"

int pprof_write_part(struct gzip *gzip, const struct Perftools__Profiles__Profile *part)
{
	uint8_t small[512], *bytes = small;
	size_t n = perftools__profiles__profile__get_packed_size(part);

	if (n > sizeof small)
		bytes = malloc(n);
	if (!bytes)
		return -ENOMEM;
	perftools__profiles__profile__pack(part, bytes);
	gzip_write(gzip, bytes, n);
	if (bytes != small)
		free(bytes);
	return 0;
}

/* Keep what was read; otherwise use what the mapping says now. */
static void set_symbols(Perftools__Profiles__Mapping *message, const struct pprof_mapping *mapping)
{
	uint8_t symbols = mapping->symbols;
	bool is_told = symbols & SYMBOLS_TOLD;

	message->has_functions = is_told ? symbols & SYMBOLS_FUNCTIONS : true;
	message->has_filenames = is_told ? symbols & SYMBOLS_FILES : mapping->has_files;
	message->has_line_numbers = is_told ? symbols & SYMBOLS_LINES : mapping->has_lines;
	message->has_inline_frames = is_told ? symbols & SYMBOLS_INLINED : mapping->has_inlined;
}

static int write_mapping(struct pprof_tables *tables, const struct pprof_mapping *mapping,
			 struct gzip *gzip)
{
	Perftools__Profiles__Mapping message = PERFTOOLS__PROFILES__MAPPING__INIT, *one = &message;
	Perftools__Profiles__Profile part = PERFTOOLS__PROFILES__PROFILE__INIT;
	uint32_t file, build_id;
	int r = pprof_tables_index(tables, mapping->file, &file);

	r = r < 0 ? r : pprof_tables_index(tables, mapping->build_id, &build_id);
	if (r < 0)
		return r;
	message.id = mapping->id;
	message.memory_start = mapping->start;
	message.memory_limit = mapping->limit;
	message.file_offset = mapping->offset;
	message.filename = file;
	message.build_id = build_id;
	set_symbols(&message, mapping);
	part.n_mapping = 1;
	part.mapping = &one;
	return pprof_write_part(gzip, &part);
}

/* Room for a location's lines in protobuf-c's layout. */
struct line_room {
	Perftools__Profiles__Line *lines, **pointers;
	size_t n, pointers_capacity, lines_capacity;
};

static int write_location(const struct pprof_tables *tables, uint32_t item, struct line_room *room,
			  struct gzip *gzip)
{
	const struct pprof_location *location = &tables->locations[item];
	Perftools__Profiles__Location message = PERFTOOLS__PROFILES__LOCATION__INIT,
				      *one = &message;
	Perftools__Profiles__Profile part = PERFTOOLS__PROFILES__PROFILE__INIT;
	int r = array_reserve(room->lines, room->lines_capacity, 0, location->n_lines);

	r = r < 0 ? r
		  : array_reserve(room->pointers, room->pointers_capacity, 0, location->n_lines);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < location->n_lines; i++) {
		const struct pprof_line *line = &tables->lines[location->first_line + i];

		perftools__profiles__line__init(&room->lines[i]);
		room->lines[i].function_id = tables->functions[line->function].id;
		room->lines[i].line = line->line;
		room->pointers[i] = &room->lines[i];
	}
	message.id = tables->location_ids[item];
	message.mapping_id =
		location->mapping == TABLE_NONE ? 0 : tables->mappings[location->mapping].id;
	message.address = location->address;
	message.is_folded = location->is_folded;
	message.n_line = location->n_lines;
	message.line = room->pointers;
	part.n_location = 1;
	part.location = &one;
	return pprof_write_part(gzip, &part);
}

static int write_locations(const struct pprof_tables *tables, struct gzip *gzip)
{
	struct line_room room = {};
	int r = 0;

	for (size_t i = 0; i < tables->used_locations.n && r == 0; i++)
		r = write_location(tables, tables->used_locations.items[i], &room, gzip);
	free(room.lines);
	free(room.pointers);
	return r;
}

static int write_function(struct pprof_tables *tables, const struct pprof_function *function,
			  struct gzip *gzip)
{
	Perftools__Profiles__Function message = PERFTOOLS__PROFILES__FUNCTION__INIT,
				      *one = &message;
	Perftools__Profiles__Profile part = PERFTOOLS__PROFILES__PROFILE__INIT;
	uint32_t name, system_name, file;
	int r = pprof_tables_index(tables, function->name, &name);

	r = r < 0 ? r : pprof_tables_index(tables, function->system_name, &system_name);
	r = r < 0 ? r : pprof_tables_index(tables, function->file, &file);
	if (r < 0)
		return r;
	message.id = function->id;
	message.name = name;
	message.system_name = system_name;
	message.filename = file;
	message.start_line = function->start_line;
	part.n_function = 1;
	part.function = &one;
	return pprof_write_part(gzip, &part);
}

int pprof_tables_write(struct pprof_tables *tables, struct gzip *gzip)
{
	const struct pprof_order *mappings = &tables->used_mappings;
	const struct pprof_order *functions = &tables->used_functions;
	int r = 0;

	for (size_t i = 0; i < mappings->n && r == 0; i++)
		r = write_mapping(tables, &tables->mappings[mappings->items[i]], gzip);
	r = r < 0 ? r : write_locations(tables, gzip);
	for (size_t i = 0; i < functions->n && r == 0; i++)
		r = write_function(tables, &tables->functions[functions->items[i]], gzip);
	return r;
}

int pprof_tables_write_strings(struct pprof_tables *tables, struct gzip *gzip)
{
	int r = 0;

	for (size_t i = 0; i < tables->used_texts.n && r == 0; i++) {
		Perftools__Profiles__Profile part = PERFTOOLS__PROFILES__PROFILE__INIT;
		char *text = tables->profile->strings.bytes +
			     tables->profile->strings.offsets[tables->used_texts.items[i]];

		part.n_string_table = 1;
		part.string_table = &text;
		r = pprof_write_part(gzip, &part);
	}
	return r;
}
