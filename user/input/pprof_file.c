/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "input/pprof_file.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "input/pprof_wire.h"
#include "profile.pb-c.h"

/*
 * Larger files are no profile. A message of a few bytes costs many more in memory, so the number of
 * messages is bounded, too.
 */
#define MAX_MESSAGE ((uint64_t)1 << 20)
#define MAX_STRING  ((uint64_t)16 << 20)
#define MAX_SAMPLE  ((uint64_t)16 << 20)
#define MAX_ITEMS   ((size_t)1 << 24)

/* Bytes of a field's number and length. */
#define MAX_HEAD (2 * WIRE_MAX_VARINT)

enum {
	FIELD_SAMPLE_TYPE = 1,
	FIELD_SAMPLE,
	FIELD_MAPPING,
	FIELD_LOCATION,
	FIELD_FUNCTION,
	FIELD_STRING,
	FIELD_DROP_FRAMES,
	FIELD_KEEP_FRAMES,
	FIELD_TIME,
	FIELD_DURATION,
	FIELD_PERIOD_TYPE,
	FIELD_PERIOD,
	FIELD_COMMENT,
	FIELD_DEFAULT_TYPE,
};

int pprof_file_fault(const struct pprof_file *file, uint64_t at, const char *format, ...)
{
	char what[256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(what, sizeof what, format, arguments);
	va_end(arguments);
	return failure_set(file->failure, -EINVAL, "%s: damaged pprof at byte %" PRIu64 ": %s",
			   file->stream->name, at, what);
}

int pprof_file_text(const struct pprof_file *file, int64_t index, uint64_t at, uint32_t *ret_text)
{
	if (index < 0 || (uint64_t)index >= file->n_texts)
		return pprof_file_fault(file, at,
					"this refers to string %" PRId64 ", where there are %zu",
					index, file->n_texts);
	*ret_text = file->texts[index];
	return 0;
}

void pprof_file_done(struct pprof_file *file)
{
	pprof_samples_done(&file->samples);
	free(file->types);
	free(file->mappings);
	free(file->locations);
	free(file->lines);
	free(file->functions);
	pprof_ids_done(&file->mapping_ids);
	pprof_ids_done(&file->function_ids);
	free(file->texts);
	free(file->comments);
}

/* Messages. Each @part is a Profile with one field, from byte @at. */

#define ADD_ITEM(file, items, n_items, capacity, ...)                                              \
	({                                                                                         \
		int _add = array_reserve((file)->items, (file)->capacity, (file)->n_items, 1);     \
		if (_add == 0)                                                                     \
			(file)->items[(file)->n_items++] = (__VA_ARGS__);                          \
		_add;                                                                              \
	})

static int check_room(const struct pprof_file *file, size_t n, uint64_t at, const char *what)
{
	return n < MAX_ITEMS
		       ? 0
		       : pprof_file_fault(file, at, "there are more than %zu %s", MAX_ITEMS, what);
}

/* Adds @id for @item; fails if the id exists. */
static int add_id(const struct pprof_file *file, struct pprof_ids *ids, uint64_t id, size_t item,
		  uint64_t at, const char *what)
{
	uint32_t number = pprof_ids_find(ids, id);
	int r = 0;

	if (!id)
		return pprof_file_fault(file, at, "a %s has the id 0", what);
	if (number != PPROF_UNSET && ids->items[number].item != PPROF_UNSET)
		return pprof_file_fault(file, at, "%s %" PRIu64 " is there twice", what, id);
	if (number == PPROF_UNSET)
		r = pprof_ids_add(ids, id, at, &number);
	if (r == 0)
		ids->items[number].item = item;
	return r;
}

static int add_type(struct pprof_file *file, const Perftools__Profiles__Profile *part, uint64_t at)
{
	const Perftools__Profiles__ValueType *type = part->sample_type[0];

	if (file->n_types == PPROF_MAX_VALUES)
		return pprof_file_fault(file, at, "there are more than %zu types of values",
					PPROF_MAX_VALUES);
	return ADD_ITEM(file, types, n_types, types_capacity,
			(struct pprof_type){type->type, type->unit});
}

static uint8_t symbols_of(const Perftools__Profiles__Mapping *mapping)
{
	return SYMBOLS_TOLD | (mapping->has_functions ? SYMBOLS_FUNCTIONS : 0) |
	       (mapping->has_filenames ? SYMBOLS_FILES : 0) |
	       (mapping->has_line_numbers ? SYMBOLS_LINES : 0) |
	       (mapping->has_inline_frames ? SYMBOLS_INLINED : 0);
}

static int file_add_mapping(struct pprof_file *file, const Perftools__Profiles__Profile *part,
			    uint64_t at)
{
	const Perftools__Profiles__Mapping *from = part->mapping[0];
	int r = check_room(file, file->n_mappings, at, "mappings");

	r = r < 0 ? r : add_id(file, &file->mapping_ids, from->id, file->n_mappings, at, "mapping");
	return r < 0 ? r
		     : ADD_ITEM(file, mappings, n_mappings, mappings_capacity,
				(struct pprof_mapping){.start = from->memory_start,
						       .limit = from->memory_limit,
						       .offset = from->file_offset,
						       .file = from->filename,
						       .build_id = from->build_id,
						       .symbols = symbols_of(from),
						       .at = at});
}

static int add_lines(struct pprof_file *file, const Perftools__Profiles__Location *from)
{
	int r = array_reserve(file->lines, file->lines_capacity, file->n_lines, from->n_line);

	for (size_t i = 0; i < from->n_line && r == 0; i++)
		file->lines[file->n_lines++] =
			(struct pprof_line){from->line[i]->function_id, from->line[i]->line};
	return r;
}

static int add_location(struct pprof_file *file, const Perftools__Profiles__Profile *part,
			uint64_t at)
{
	const Perftools__Profiles__Location *from = part->location[0];
	struct pprof_location location = {.mapping_id = from->mapping_id,
					  .address = from->address,
					  .first_line = file->n_lines,
					  .n_lines = from->n_line,
					  .is_folded = from->is_folded,
					  .at = at};
	int r = check_room(file, file->n_locations + file->n_lines, at, "locations and lines");

	r = r < 0 ? r
		  : add_id(file, &file->samples.location_ids, from->id, file->n_locations, at,
			   "location");
	r = r < 0 ? r : add_lines(file, from);
	return r < 0 ? r : ADD_ITEM(file, locations, n_locations, locations_capacity, location);
}

static int add_function(struct pprof_file *file, const Perftools__Profiles__Profile *part,
			uint64_t at)
{
	const Perftools__Profiles__Function *from = part->function[0];
	int r = check_room(file, file->n_functions, at, "functions");

	r = r < 0 ? r
		  : add_id(file, &file->function_ids, from->id, file->n_functions, at, "function");
	return r < 0 ? r
		     : ADD_ITEM(file, functions, n_functions, functions_capacity,
				(struct pprof_function){.name = from->name,
							.system_name = from->system_name,
							.file = from->filename,
							.start_line = from->start_line,
							.at = at});
}

static int add_string(struct pprof_file *file, const Perftools__Profiles__Profile *part,
		      uint64_t at)
{
	uint32_t text;
	int r = check_room(file, file->n_texts, at, "strings");

	if (r == 0 && !file->n_texts && *part->string_table[0])
		return pprof_file_fault(file, at, "the first string is not empty");
	r = r < 0 ? r : strings_add(file->strings, part->string_table[0], &text);
	return r < 0 ? r : ADD_ITEM(file, texts, n_texts, texts_capacity, text);
}

static int add_comments(struct pprof_file *file, const Perftools__Profiles__Profile *part,
			uint64_t at)
{
	int r = check_room(file, file->n_comments, at, "comments");

	for (size_t i = 0; i < part->n_comment && r == 0; i++)
		r = ADD_ITEM(file, comments, n_comments, comments_capacity, part->comment[i]);
	return r;
}

static int add_part(struct pprof_file *file, uint32_t field,
		    const Perftools__Profiles__Profile *part, uint64_t at)
{
	switch (field) {
	case FIELD_SAMPLE_TYPE: return add_type(file, part, at);
	case FIELD_MAPPING: return file_add_mapping(file, part, at);
	case FIELD_LOCATION: return add_location(file, part, at);
	case FIELD_FUNCTION: return add_function(file, part, at);
	case FIELD_STRING: return add_string(file, part, at);
	case FIELD_COMMENT: return add_comments(file, part, at);
	case FIELD_TIME: file->time_nanos = part->time_nanos; return 0;
	case FIELD_DURATION: file->duration_nanos = part->duration_nanos; return 0;
	case FIELD_PERIOD: file->period = part->period; return 0;
	case FIELD_DROP_FRAMES: file->drop_frames = part->drop_frames; return 0;
	case FIELD_KEEP_FRAMES: file->keep_frames = part->keep_frames; return 0;
	case FIELD_DEFAULT_TYPE: file->default_type = part->default_sample_type; return 0;
	case FIELD_PERIOD_TYPE:
		file->period_type =
			(struct pprof_type){part->period_type->type, part->period_type->unit};
		return 0;
	default: return 0;
	}
}

/* The stream */

static bool is_known(uint32_t field)
{
	return field >= FIELD_SAMPLE_TYPE && field <= FIELD_DEFAULT_TYPE;
}

/* Whether fields with this number have a length, as messages and strings do. */
static bool has_length(uint32_t field)
{
	return (field >= FIELD_SAMPLE_TYPE && field <= FIELD_STRING) || field == FIELD_PERIOD_TYPE;
}

static int check_field(const struct pprof_file *file, const struct wire_field *field, uint64_t at)
{
	uint64_t most = field->number == FIELD_SAMPLE	? MAX_SAMPLE
			: field->number == FIELD_STRING ? MAX_STRING
							: MAX_MESSAGE;
	bool is_right = has_length(field->number)
				? field->type == WIRE_BYTES
				: field->type == WIRE_NUMBER || (field->number == FIELD_COMMENT &&
								 field->type == WIRE_BYTES);

	if (!is_right)
		return pprof_file_fault(file, at, "field %u has the wrong type", field->number);
	if (field->type == WIRE_BYTES && field->value > most)
		return pprof_file_fault(file, at, "field %u has %" PRIu64 " bytes", field->number,
					field->value);
	return 0;
}

/* Skips a field that we don't use. */
static int skip(struct pprof_file *file, uint64_t n, uint64_t at)
{
	while (n) {
		size_t available;
		int r = stream_fill(file->stream, 1, file->failure);

		if (r < 0)
			return r;
		available = stream_available(file->stream);
		if (!available)
			return pprof_file_fault(file, at, "the file ends in this field");
		if (available > n)
			available = n;
		stream_take(file->stream, available);
		n -= available;
	}
	return 0;
}

/* Adds the field whose @n bytes lie at the window's start. */
static int add_field(struct pprof_file *file, const struct wire_field *field, size_t n, uint64_t at)
{
	const uint8_t *bytes = (const uint8_t *)stream_bytes(file->stream);
	const char *fault = NULL;
	Perftools__Profiles__Profile *part;
	int r;

	if (field->number == FIELD_SAMPLE) {
		r = pprof_samples_add(&file->samples, bytes + n - field->value, field->value, at,
				      &fault);
		return fault ? pprof_file_fault(file, at, "%s", fault) : r;
	}
	part = perftools__profiles__profile__unpack(NULL, n, bytes);
	if (!part)
		return pprof_file_fault(file, at, "field %u cannot be decoded", field->number);
	r = add_part(file, field->number, part, at);
	perftools__profiles__profile__free_unpacked(part, NULL);
	return r;
}

static int read_field(struct pprof_file *file)
{
	struct stream *stream = file->stream;
	struct wire wire = {(const uint8_t *)stream_bytes(stream),
			    (const uint8_t *)stream_bytes(stream) + stream_available(stream)};
	struct wire_field field;
	uint64_t at = stream->taken;
	size_t n;
	int r;

	if (!wire_head(&wire, &field))
		return pprof_file_fault(file, at, "%s",
					stream_available(stream) < MAX_HEAD
						? "the file ends in the middle of a field"
						: "no field of a message begins here");
	n = wire.at - (const uint8_t *)stream_bytes(stream);
	if (!is_known(field.number)) {
		stream_take(stream, n);
		return skip(file, field.type == WIRE_NUMBER ? 0 : field.value, at);
	}
	r = check_field(file, &field, at);
	if (r < 0)
		return r;
	if (field.type == WIRE_BYTES)
		n += field.value;
	r = stream_fill(stream, n, file->failure);
	if (r < 0)
		return r;
	if (stream_available(stream) < n)
		return pprof_file_fault(file, at, "the file ends in the middle of a field");
	r = add_field(file, &field, n, at);
	stream_take(stream, n);
	return r;
}

int pprof_file_read(struct pprof_file *file, struct stream *stream, struct strings *strings,
		    bool in_order, struct failure *failure)
{
	int r;

	*file = (struct pprof_file){.stream = stream, .failure = failure, .strings = strings};
	r = pprof_samples_init(&file->samples, in_order);
	while (r == 0) {
		r = stream_fill(stream, MAX_HEAD, failure);
		if (r < 0 || !stream_available(stream))
			break;
		r = read_field(file);
	}
	if (r == 0)
		pprof_samples_close(&file->samples);
	return r;
}
