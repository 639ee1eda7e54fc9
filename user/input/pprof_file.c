/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "input/pprof_file.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "core/pprof_fields.h"
#include "input/pprof_wire.h"

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

/* Messages */

/* A field of the message at the top. */
struct part {
	uint32_t field;
	uint64_t value;	      /* the number, or how many bytes there are */
	const uint8_t *bytes; /* NULL: it is a number */
	uint64_t at;	      /* the byte of the file where it begins */
};

#define ADD_ITEM(file, items, n_items, capacity, ...)                                              \
	array_add((file)->items, (file)->capacity, (file)->n_items, __VA_ARGS__)

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
	int r;

	if (!id)
		return pprof_file_fault(file, at, "a %s has the id 0", what);
	if (number != PPROF_UNSET && ids->items[number].item != PPROF_UNSET)
		return pprof_file_fault(file, at, "%s %" PRIu64 " is there twice", what, id);
	if (number == PPROF_UNSET) {
		r = pprof_ids_add(ids, id, at, &number);
		if (r < 0)
			return r;
	}
	ids->items[number].item = item;
	return 0;
}

static int fail_decoding(const struct pprof_file *file, const struct part *part)
{
	return pprof_file_fault(file, part->at, "field %u cannot be decoded", part->field);
}

/* Sets the @n_numbers of a message that has nothing else. */
static int read_numbers(const struct pprof_file *file, const struct part *part, uint64_t *numbers,
			uint32_t n_numbers)
{
	return wire_numbers(part->bytes, part->value, numbers, n_numbers)
		       ? 0
		       : fail_decoding(file, part);
}

static int read_type(const struct pprof_file *file, const struct part *part, struct pprof_type *ret)
{
	uint64_t numbers[N_TYPE_FIELDS] = {0};
	int r = read_numbers(file, part, numbers, N_TYPE_FIELDS);

	if (r == 0)
		*ret = (struct pprof_type){numbers[TYPE_TYPE], numbers[TYPE_UNIT]};
	return r;
}

static int add_type(struct pprof_file *file, const struct part *part)
{
	struct pprof_type type;
	int r = read_type(file, part, &type);

	if (r < 0)
		return r;
	if (file->n_types == PPROF_MAX_VALUES)
		return pprof_file_fault(file, part->at, "there are more than %zu types of values",
					PPROF_MAX_VALUES);
	return ADD_ITEM(file, types, n_types, types_capacity, type);
}

static uint8_t symbols_of(const uint64_t mapping[N_MAPPING_FIELDS])
{
	return SYMBOLS_KNOWN | (mapping[MAPPING_HAS_FUNCTIONS] ? SYMBOLS_FUNCTIONS : 0) |
	       (mapping[MAPPING_HAS_FILENAMES] ? SYMBOLS_FILES : 0) |
	       (mapping[MAPPING_HAS_LINES] ? SYMBOLS_LINES : 0) |
	       (mapping[MAPPING_HAS_INLINED] ? SYMBOLS_INLINED : 0);
}

static int add_mapping(struct pprof_file *file, const struct part *part)
{
	uint64_t from[N_MAPPING_FIELDS] = {0};
	int r = read_numbers(file, part, from, N_MAPPING_FIELDS);

	if (r < 0)
		return r;
	r = check_room(file, file->n_mappings, part->at, "mappings");
	if (r < 0)
		return r;
	r = add_id(file, &file->mapping_ids, from[MAPPING_ID], file->n_mappings, part->at,
		   "mapping");
	if (r < 0)
		return r;
	return ADD_ITEM(file, mappings, n_mappings, mappings_capacity,
			(struct pprof_file_mapping){.start = from[MAPPING_START],
						    .limit = from[MAPPING_LIMIT],
						    .offset = from[MAPPING_OFFSET],
						    .file = from[MAPPING_FILENAME],
						    .build_id = from[MAPPING_BUILD_ID],
						    .symbols = symbols_of(from),
						    .at = part->at});
}

static int add_line(struct pprof_file *file, const struct part *part,
		    const struct wire_field *field)
{
	uint64_t line[N_LINE_FIELDS] = {0};

	if (field->type != WIRE_BYTES ||
	    !wire_numbers(field->bytes, field->value, line, N_LINE_FIELDS))
		return fail_decoding(file, part);
	return ADD_ITEM(file, lines, n_lines, lines_capacity,
			(struct pprof_file_line){line[LINE_FUNCTION], line[LINE_LINE]});
}

/* Adds the location's lines, and returns its numbers. */
static int read_location(struct pprof_file *file, const struct part *part,
			 uint64_t numbers[N_LOCATION_FIELDS])
{
	struct wire wire = {part->bytes, part->bytes + part->value};
	struct wire_field field;
	int more, r = 0;

	while (r == 0 && (more = wire_next(&wire, &field))) {
		if (more > 0 && field.number == LOCATION_LINE)
			r = add_line(file, part, &field);
		else if (more < 0 || !wire_keep(&field, numbers, N_LOCATION_FIELDS))
			r = fail_decoding(file, part);
	}
	return r;
}

static int add_location(struct pprof_file *file, const struct part *part)
{
	uint64_t from[N_LOCATION_FIELDS] = {0};
	size_t first_line = file->n_lines;
	int r = check_room(file, file->n_locations + first_line, part->at, "locations and lines");

	if (r < 0)
		return r;
	r = read_location(file, part, from);
	if (r < 0)
		return r;
	r = add_id(file, &file->samples.location_ids, from[LOCATION_ID], file->n_locations,
		   part->at, "location");
	if (r < 0)
		return r;
	return ADD_ITEM(file, locations, n_locations, locations_capacity,
			(struct pprof_file_location){.mapping_id = from[LOCATION_MAPPING],
						     .address = from[LOCATION_ADDRESS],
						     .first_line = first_line,
						     .n_lines = file->n_lines - first_line,
						     .is_folded = from[LOCATION_IS_FOLDED],
						     .at = part->at});
}

static int add_function(struct pprof_file *file, const struct part *part)
{
	uint64_t from[N_FUNCTION_FIELDS] = {0};
	int r = read_numbers(file, part, from, N_FUNCTION_FIELDS);

	if (r < 0)
		return r;
	r = check_room(file, file->n_functions, part->at, "functions");
	if (r < 0)
		return r;
	r = add_id(file, &file->function_ids, from[FUNCTION_ID], file->n_functions, part->at,
		   "function");
	if (r < 0)
		return r;
	return ADD_ITEM(file, functions, n_functions, functions_capacity,
			(struct pprof_file_function){.name = from[FUNCTION_NAME],
						     .system_name = from[FUNCTION_SYSTEM_NAME],
						     .file = from[FUNCTION_FILENAME],
						     .start_line = from[FUNCTION_START_LINE],
						     .at = part->at});
}

/* A string ends at its first NUL. */
static int add_string(struct pprof_file *file, const struct part *part)
{
	const char *bytes = (const char *)part->bytes;
	size_t n = strnlen(bytes, part->value);
	uint32_t text;
	int r = check_room(file, file->n_texts, part->at, "strings");

	if (r < 0)
		return r;
	if (!file->n_texts && n)
		return pprof_file_fault(file, part->at, "the first string is not empty");
	r = strings_add_bytes(file->strings, bytes, n, &text);
	if (r < 0)
		return r;
	return ADD_ITEM(file, texts, n_texts, texts_capacity, text);
}

static int add_comment(struct pprof_file *file, uint64_t comment, uint64_t at)
{
	int r = check_room(file, file->n_comments, at, "comments");

	if (r < 0)
		return r;
	return ADD_ITEM(file, comments, n_comments, comments_capacity, comment);
}

/* One number, or several packed ones. */
static int add_comments(struct pprof_file *file, const struct part *part)
{
	struct wire wire;
	int r = 0;

	if (!part->bytes)
		return add_comment(file, part->value, part->at);
	wire = (struct wire){part->bytes, part->bytes + part->value};
	while (wire.at < wire.end && r == 0) {
		uint64_t comment;

		r = wire_varint(&wire, &comment) ? add_comment(file, comment, part->at)
						 : fail_decoding(file, part);
	}
	return r;
}

static int add_part(struct pprof_file *file, const struct part *part)
{
	switch (part->field) {
	case PROFILE_SAMPLE_TYPE: return add_type(file, part);
	case PROFILE_MAPPING: return add_mapping(file, part);
	case PROFILE_LOCATION: return add_location(file, part);
	case PROFILE_FUNCTION: return add_function(file, part);
	case PROFILE_STRING: return add_string(file, part);
	case PROFILE_COMMENT: return add_comments(file, part);
	case PROFILE_TIME: file->time_nanos = part->value; return 0;
	case PROFILE_DURATION: file->duration_nanos = part->value; return 0;
	case PROFILE_PERIOD: file->period = part->value; return 0;
	case PROFILE_DROP_FRAMES: file->drop_frames = part->value; return 0;
	case PROFILE_KEEP_FRAMES: file->keep_frames = part->value; return 0;
	case PROFILE_DEFAULT_TYPE: file->default_type = part->value; return 0;
	case PROFILE_PERIOD_TYPE: return read_type(file, part, &file->period_type);
	default: return 0;
	}
}

/* The stream */

static bool is_known(uint32_t field)
{
	return field >= PROFILE_SAMPLE_TYPE && field <= PROFILE_DEFAULT_TYPE;
}

/* Whether fields with this number have a length, as messages and strings do. */
static bool has_length(uint32_t field)
{
	return (field >= PROFILE_SAMPLE_TYPE && field <= PROFILE_STRING) ||
	       field == PROFILE_PERIOD_TYPE;
}

static int check_field(const struct pprof_file *file, const struct wire_field *field, uint64_t at)
{
	uint64_t most = field->number == PROFILE_SAMPLE	  ? MAX_SAMPLE
			: field->number == PROFILE_STRING ? MAX_STRING
							  : MAX_MESSAGE;
	bool is_right = has_length(field->number)
				? field->type == WIRE_BYTES
				: field->type == WIRE_NUMBER || (field->number == PROFILE_COMMENT &&
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

/* Appends @part, which is in the window. */
static int add_field(struct pprof_file *file, const struct part *part)
{
	const char *fault = NULL;
	int r;

	if (part->field != PROFILE_SAMPLE)
		return add_part(file, part);
	r = pprof_samples_add(&file->samples, part->bytes, part->value, part->at, &fault);
	return fault ? pprof_file_fault(file, part->at, "%s", fault) : r;
}

static int read_field(struct pprof_file *file)
{
	struct stream *stream = file->stream;
	struct wire wire = {(const uint8_t *)stream_bytes(stream),
			    (const uint8_t *)stream_bytes(stream) + stream_available(stream)};
	struct wire_field field;
	uint64_t at = stream->taken;
	struct part part;
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
	part = (struct part){.field = field.number, .value = field.value, .at = at};
	if (field.type == WIRE_BYTES)
		part.bytes = (const uint8_t *)stream_bytes(stream) + n - field.value;
	r = add_field(file, &part);
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
