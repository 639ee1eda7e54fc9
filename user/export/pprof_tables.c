/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/pprof_tables.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/utf8.h"
#include "core/marks.h"

/* Names that perf, and so pprof, gives the kernel and memory without a file. */
#define KERNEL_FILE    "[kernel.kallsyms]"
#define ANONYMOUS_FILE "//anon"

/* Strings */

static int reserve_texts(struct pprof_tables *tables, uint32_t text)
{
	size_t n = tables->n_texts, wanted = (size_t)text + 1;
	int r;

	if (wanted <= n)
		return 0;
	if (wanted < tables->profile->strings.n_strings)
		wanted = tables->profile->strings.n_strings;
	r = array_reserve(tables->texts, tables->texts_capacity, n, wanted - n);
	if (r < 0)
		return r;
	memset(tables->texts + n, 0, (wanted - n) * sizeof *tables->texts);
	tables->n_texts = wanted;
	return 0;
}

static int replace_invalid(struct strings *strings, uint32_t text, uint32_t *ret)
{
	const size_t n_replacement = strlen(UTF8_REPLACEMENT);
	const char *from = strings_get(strings, text);
	char *clean = malloc(strings_length(strings, text) * n_replacement + 1);
	size_t n = 0;
	int r;

	if (!clean)
		return -ENOMEM;
	while (*from) {
		size_t length = utf8_length(from);

		memcpy(clean + n, length ? from : UTF8_REPLACEMENT,
		       length ? length : n_replacement);
		n += length ? length : n_replacement;
		from += length ? length : 1;
	}
	r = strings_add_bytes(strings, clean, n, ret);
	free(clean);
	return r;
}

int pprof_tables_clean(struct pprof_tables *tables, uint32_t text, uint32_t *ret_clean)
{
	struct strings *strings = &tables->profile->strings;
	int r = reserve_texts(tables, text);

	if (r < 0)
		return r;
	if (!tables->texts[text].clean && text) {
		uint32_t clean = text;

		if (utf8_span(strings_get(strings, text)) != strings_length(strings, text)) {
			tables->has_merged = true;
			r = replace_invalid(strings, text, &clean);
			if (r < 0)
				return r;
		}
		tables->texts[text].clean = clean;
	}
	*ret_clean = tables->texts[text].clean;
	return 0;
}

/* Gives @item the next number; numbers count from @first. */
static int number_item(struct pprof_order *order, uint32_t item, uint32_t first, uint32_t *number)
{
	int r = array_reserve(order->items, order->capacity, order->n, 1);

	if (r < 0)
		return r;
	*number = order->n + first;
	order->items[order->n++] = item;
	return 0;
}

int pprof_tables_index(struct pprof_tables *tables, uint32_t text, uint32_t *ret_index)
{
	int r = pprof_tables_clean(tables, text, &text);

	if (r < 0)
		return r;
	r = reserve_texts(tables, text);
	if (r < 0)
		return r;
	if (text && !tables->texts[text].index) {
		r = number_item(&tables->used_texts, text, 0, &tables->texts[text].index);
		if (r < 0)
			return r;
	}
	*ret_index = tables->texts[text].index;
	return 0;
}

int pprof_tables_index_text(struct pprof_tables *tables, const char *text, uint32_t *ret_index)
{
	uint32_t string;
	int r = strings_add(&tables->profile->strings, text, &string);

	if (r < 0)
		return r;
	return pprof_tables_index(tables, string, ret_index);
}

/* Functions */

static bool function_equal(const void *items, uint32_t position, const void *key)
{
	const struct pprof_function *a = (const struct pprof_function *)items + position, *b = key;

	return a->name == b->name && a->system_name == b->system_name && a->file == b->file &&
	       a->start_line == b->start_line;
}

static int add_function(struct pprof_tables *tables, const struct pprof_function *function,
			uint32_t *ret)
{
	uint64_t hash =
		hash_mix((uint64_t)function->name << 32 | function->system_name, function->file);

	hash = hash_mix(hash, function->start_line);
	return table_intern(&tables->function_index, hash, function_equal, tables->functions,
			    tables->functions_capacity, tables->n_functions, function, ret);
}

static int add_system_name(struct pprof_tables *tables, enum frame_kind kind,
			   struct pprof_function *function)
{
	struct strings *strings = &tables->profile->strings;
	const char *suffix = frame_kind_suffix(kind);
	size_t n = strings_length(strings, function->name);
	char *text = malloc(n + strlen(suffix) + 1);
	int r;

	if (!text)
		return -ENOMEM;
	memcpy(text, strings_get(strings, function->name), n);
	strcpy(text + n, suffix);
	r = strings_add(strings, text, &function->system_name);
	free(text);
	return r;
}

/* @is_inside: shares a location with the function it is inlined into. */
static int make_function(struct pprof_tables *tables, const struct profile_frame *frame,
			 bool is_inside, uint32_t *ret)
{
	struct pprof_function function = {.name = frame->function};
	struct strings *strings = &tables->profile->strings;
	bool has_suffix = *frame_kind_suffix(frame->kind) && !is_inside;
	int r = 0;

	if (!function.name)
		r = strings_add(strings, "[unknown]", &function.name);
	else if (!has_suffix && frame->kind != FRAME_NOTE)
		r = marks_add_function(strings, strings_get(strings, function.name),
				       &function.name);
	if (r < 0)
		return r;
	r = pprof_tables_clean(tables, function.name, &function.name);
	if (r < 0)
		return r;
	r = pprof_tables_clean(tables, frame->file, &function.file);
	if (r < 0)
		return r;
	if (frame->detail) {
		const struct extras_detail *detail =
			&tables->profile->extras.details[frame->detail];

		function.start_line = detail->start_line;
		r = pprof_tables_clean(tables, detail->system_name, &function.system_name);
	} else if (has_suffix) {
		r = add_system_name(tables, frame->kind, &function);
	}
	if (r < 0)
		return r;
	return add_function(tables, &function, ret);
}

/* Mappings */

static bool mapping_equal(const void *items, uint32_t position, const void *key)
{
	const struct pprof_mapping *a = (const struct pprof_mapping *)items + position, *b = key;

	return a->file == b->file && a->build_id == b->build_id && a->start == b->start &&
	       a->limit == b->limit && a->offset == b->offset;
}

static int tables_add_mapping(struct pprof_tables *tables, const struct pprof_mapping *mapping,
			      uint32_t *ret)
{
	uint64_t hash = hash_mix((uint64_t)mapping->file << 32 | mapping->build_id, mapping->start);

	hash = hash_mix(hash_mix(hash, mapping->limit), mapping->offset);
	return table_intern(&tables->mapping_index, hash, mapping_equal, tables->mappings,
			    tables->mappings_capacity, tables->n_mappings, mapping, ret);
}

/* Names a mapping so that its kind can be recognized. */
static int name_mapping(struct pprof_tables *tables, const struct profile_mapping *from,
			uint32_t *ret_file)
{
	struct strings *strings = &tables->profile->strings;
	const char *path = strings_get(strings, from->path);

	if (from->file)
		return pprof_tables_clean(tables, from->file, ret_file);
	if (from->kind == MAPPING_KERNEL && (!*path || strcmp(path, "[kernel]") == 0))
		return strings_add(strings, KERNEL_FILE, ret_file);
	if (from->kind == MAPPING_VDSO)
		return strings_add(strings, "[vdso]", ret_file);
	if (from->kind == MAPPING_ANON && !*path)
		return strings_add(strings, ANONYMOUS_FILE, ret_file);
	return pprof_tables_clean(tables, from->path, ret_file);
}

/*
 * The start to write for a mapping. For a file that was recorded here, whose device is known,
 * starts are invented and far apart: real ones are random to keep them secret.
 */
static uint64_t start_of(const struct profile *profile, const struct profile_mapping *mapping)
{
	uint64_t number = mapping - profile->mappings;

	return mapping->kind == MAPPING_FILE && mapping->device ? (number + 1) << 40
								: mapping->start;
}

static int make_mapping(struct pprof_tables *tables, const struct profile_mapping *from,
			uint32_t *ret)
{
	uint64_t start = start_of(tables->profile, from);
	struct pprof_mapping mapping = {.start = start,
					.limit = from->limit - from->start + start,
					.offset = from->offset,
					.symbols = from->symbols};
	int r = name_mapping(tables, from, &mapping.file);

	if (r < 0)
		return r;
	r = pprof_tables_clean(tables, from->build_id, &mapping.build_id);
	if (r < 0)
		return r;
	if (!mapping.file && !mapping.build_id && !mapping.start && !mapping.limit) {
		*ret = TABLE_NONE;
		return 0;
	}
	return tables_add_mapping(tables, &mapping, ret);
}

static int make_mappings(struct pprof_tables *tables)
{
	const struct profile *profile = tables->profile;

	tables->mapping_of = calloc(profile->n_mappings + 1, sizeof *tables->mapping_of);
	if (!tables->mapping_of)
		return -ENOMEM;
	for (size_t i = 0; i < profile->n_mappings; i++) {
		int r = make_mapping(tables, &profile->mappings[i], &tables->mapping_of[i]);

		if (r < 0)
			return r;
	}
	return 0;
}

/* Locations */

struct location_key {
	const struct pprof_tables *tables;
	const struct pprof_location *location; /* its lines are appended already */
};

static bool location_equal(const void *items, uint32_t position, const void *key)
{
	const struct pprof_location *a = (const struct pprof_location *)items + position;
	const struct location_key *k = key;
	const struct pprof_location *b = k->location;

	return a->mapping == b->mapping && a->address == b->address && a->n_lines == b->n_lines &&
	       a->is_folded == b->is_folded &&
	       memcmp(k->tables->lines + a->first_line, k->tables->lines + b->first_line,
		      a->n_lines * sizeof *k->tables->lines) == 0;
}

/* Adds @location, whose lines are the last ones. Removes them again if the location exists. */
static int add_location(struct pprof_tables *tables, const struct pprof_location *location,
			uint32_t *ret)
{
	struct location_key key = {tables, location};
	const struct pprof_line *lines = tables->lines + location->first_line;
	uint64_t hash = hash_mix(hash_mix(location->mapping, location->address),
				 hash_bytes(lines, location->n_lines * sizeof *lines));
	uint32_t found =
		table_find(&tables->location_index, hash, location_equal, tables->locations, &key);
	int r;

	if (found != TABLE_NONE) {
		tables->n_lines = location->first_line;
		tables->has_merged = true;
		*ret = found;
		return 0;
	}
	if (tables->n_locations >= TABLE_NONE)
		return -E2BIG;
	r = array_reserve(tables->locations, tables->locations_capacity, tables->n_locations, 1);
	if (r < 0)
		return r;
	r = array_reserve(tables->location_ids, tables->location_ids_capacity, tables->n_locations,
			  1);
	if (r < 0)
		return r;
	r = table_add(&tables->location_index, hash, tables->n_locations);
	if (r < 0)
		return r;
	*ret = tables->n_locations;
	tables->location_ids[tables->n_locations] = 0;
	tables->locations[tables->n_locations++] = *location;
	return 0;
}

static int add_line(struct pprof_tables *tables, uint32_t function, uint32_t line)
{
	if (tables->n_lines >= TABLE_NONE)
		return -E2BIG;
	return array_add(tables->lines, tables->lines_capacity, tables->n_lines,
			 (struct pprof_line){function, line});
}

/*
 * The address to write for a location. Offsets in a file are written relative to its mapping, or
 * outside of it, so that readers get the same offsets back. A caller's address must be inside its
 * call instruction, as pprof expects.
 */
static uint64_t address_of(const struct profile *profile, const struct profile_location *location)
{
	const struct profile_mapping *mapping = &profile->mappings[location->mapping];
	uint64_t address = location->address;

	if (location->is_named)
		return 0;
	if (location->is_return && address)
		address--;
	return mapping->kind == MAPPING_FILE
		       ? address - mapping->offset + start_of(profile, mapping)
		       : address;
}

static int make_location(struct pprof_tables *tables, const struct profile_location *from,
			 uint32_t *ret)
{
	const struct profile_frame *frames = tables->profile->frames + from->first_frame;
	struct pprof_location location = {.mapping = tables->mapping_of[from->mapping],
					  .first_line = tables->n_lines,
					  .is_folded = from->is_folded,
					  .address = address_of(tables->profile, from)};

	for (uint32_t i = 0; i < from->n_frames && !from->is_unnamed; i++) {
		bool is_inlined = frames[i].kind == FRAME_INLINED;
		uint32_t function;
		int r;

		if (is_inlined && tables->no_inline)
			continue;
		r = make_function(tables, &frames[i], is_inlined && i + 1 < from->n_frames,
				  &function);
		if (r < 0)
			return r;
		r = add_line(tables, function, frames[i].line);
		if (r < 0)
			return r;
	}
	location.n_lines = tables->n_lines - location.first_line;
	if (!location.n_lines && !from->is_unnamed) {
		*ret = TABLE_NONE;
		return 0;
	}
	return add_location(tables, &location, ret);
}

static int make_locations(struct pprof_tables *tables)
{
	const struct profile *profile = tables->profile;

	tables->location_of = calloc(profile->n_locations + 1, sizeof *tables->location_of);
	if (!tables->location_of)
		return -ENOMEM;
	for (size_t i = 0; i < profile->n_locations; i++) {
		int r = make_location(tables, &profile->locations[i], &tables->location_of[i]);

		if (r < 0)
			return r;
	}
	return 0;
}

static int make_note(struct pprof_tables *tables, uint32_t text, uint32_t *ret)
{
	struct profile_frame frame = {.kind = FRAME_NOTE, .function = text};
	struct pprof_location location = {
		.mapping = TABLE_NONE, .first_line = tables->n_lines, .n_lines = 1};
	uint32_t function;
	int r = make_function(tables, &frame, false, &function);

	if (r < 0)
		return r;
	r = add_line(tables, function, 0);
	if (r < 0)
		return r;
	return add_location(tables, &location, ret);
}

int pprof_tables_note(struct pprof_tables *tables, uint32_t text, uint32_t *ret_location)
{
	uint32_t location;
	int r = reserve_texts(tables, text);

	if (r < 0)
		return r;
	if (!tables->texts[text].note) {
		r = make_note(tables, text, &location);
		if (r < 0)
			return r;
		tables->texts[text].note = location + 1;
	}
	*ret_location = tables->texts[text].note - 1;
	return 0;
}

int pprof_tables_init(struct pprof_tables *tables, struct profile *profile, bool no_inline)
{
	uint32_t index;
	int r;

	*tables = (struct pprof_tables){.profile = profile, .no_inline = no_inline};
	r = reserve_texts(tables, 0);
	if (r < 0)
		return r;
	r = number_item(&tables->used_texts, 0, 0, &index);
	if (r < 0)
		return r;
	r = make_mappings(tables);
	if (r < 0)
		return r;
	/* pprof takes the first mapping for the main program, used or not. */
	if (profile->extras.has_main_mapping && profile->n_mappings &&
	    tables->mapping_of[0] != TABLE_NONE) {
		r = number_item(&tables->used_mappings, tables->mapping_of[0], 1,
				&tables->mappings[tables->mapping_of[0]].id);
		if (r < 0)
			return r;
	}
	return make_locations(tables);
}

void pprof_tables_done(struct pprof_tables *tables)
{
	free(tables->texts);
	free(tables->functions);
	free(tables->mappings);
	free(tables->lines);
	free(tables->locations);
	free(tables->location_ids);
	table_done(&tables->function_index);
	table_done(&tables->mapping_index);
	table_done(&tables->location_index);
	free(tables->mapping_of);
	free(tables->location_of);
	free(tables->used_texts.items);
	free(tables->used_functions.items);
	free(tables->used_mappings.items);
	free(tables->used_locations.items);
}

/* Used items */

static int use_lines(struct pprof_tables *tables, const struct pprof_location *location,
		     struct pprof_mapping *mapping)
{
	for (uint32_t i = 0; i < location->n_lines; i++) {
		const struct pprof_line *line = &tables->lines[location->first_line + i];
		struct pprof_function *function = &tables->functions[line->function];

		if (!function->id) {
			int r = number_item(&tables->used_functions, line->function, 1,
					    &function->id);

			if (r < 0)
				return r;
		}
		if (mapping) {
			mapping->has_files |= function->file != 0;
			mapping->has_lines |= line->line != 0;
		}
	}
	return 0;
}

int pprof_tables_use_new(struct pprof_tables *tables, uint32_t item)
{
	struct pprof_location *location = &tables->locations[item];
	struct pprof_mapping *mapping = NULL;
	int r;

	if (location->mapping != TABLE_NONE) {
		mapping = &tables->mappings[location->mapping];
		mapping->has_inlined |= location->n_lines > 1;
		if (!mapping->id) {
			r = number_item(&tables->used_mappings, location->mapping, 1, &mapping->id);
			if (r < 0)
				return r;
		}
	}
	r = use_lines(tables, location, mapping);
	if (r < 0)
		return r;
	return number_item(&tables->used_locations, item, 1, &tables->location_ids[item]);
}
