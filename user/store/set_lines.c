/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/set_lines.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/json_reader.h"
#include "base/utf8.h"
#include "store/set_names.h"

#define MOST_SECONDS 0x1p32 /* up to this, doubles distinguish microseconds */
#define MOST_FILES   256
#define MOST_LOSSES  64

/* Writing */

static const char *text_of(const struct sets *sets, uint32_t id)
{
	return strings_get(&sets->strings, id);
}

static void put_times(const struct set *set, struct json *json)
{
	char text[SET_TIME_SIZE];

	set_time(set->start_realtime_ns, text);
	json_text(json, "start", text);
	set_time(set_end_ns(set), text);
	json_text(json, "end", text);
	json_number(json, "start_unix_seconds", set->start_realtime_ns / 1000 / 1e6, 6);
	json_number(json, "duration_seconds", set->duration_ns / 1000 / 1e6, 6);
	json_count(json, "windows", set->windows);
}

static void put_losses(const struct sets *sets, const struct set *set, struct json *json)
{
	json_number(json, "loss_percent", set->loss_percent, 4);
	json_open(json, "losses", '{');
	for (size_t i = 0; i < set->losses.n; i++) {
		const struct set_loss *loss = &sets->losses[set->losses.first + i];

		json_count(json, text_of(sets, loss->kind), loss->n);
	}
	json_close(json, '}');
}

static void put_functions(const struct sets *sets, const struct set *set, struct json *json)
{
	json_open(json, "functions", '[');
	for (size_t i = 0; i < set->functions.n; i++) {
		const struct set_function *function = &sets->functions[set->functions.first + i];

		json_open(json, NULL, '{');
		json_text(json, "name", text_of(sets, function->name));
		json_text(json, "module", text_of(sets, function->module));
		json_count(json, "self", function->self);
		json_number(json, "percent", set->total ? 100.0 * function->self / set->total : 0,
			    3);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_commands(const struct sets *sets, const struct set *set, struct json *json)
{
	json_open(json, "commands", '[');
	for (size_t i = 0; i < set->commands.n; i++) {
		const struct set_command *command = &sets->commands[set->commands.first + i];

		json_open(json, NULL, '{');
		json_text(json, "name", text_of(sets, command->name));
		json_count(json, "total", command->total);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_files(const struct sets *sets, const struct set *set, struct json *json)
{
	json_open(json, "files", '[');
	for (size_t i = 0; i < set->files.n; i++) {
		const struct set_file *file = &sets->files[set->files.first + i];

		json_open(json, NULL, '{');
		json_text(json, "name", text_of(sets, file->name));
		json_count(json, "bytes", file->bytes);
		json_close(json, '}');
	}
	json_close(json, ']');
}

/* Writes the line, beginning with SET_LINE_START. */
void set_line_write(const struct sets *sets, const struct set *set, FILE *stream)
{
	struct json json = {.stream = stream};

	json_open(&json, NULL, '{');
	json_text(&json, "bpfflame", text_of(sets, set->version));
	json_text(&json, "set", text_of(sets, set->name));
	json_text(&json, "mode", profile_mode_name(set->mode));
	json_text(&json, "event", text_of(sets, set->event));
	json_number(&json, "frequency_hz", set->frequency, 3);
	put_times(set, &json);
	json_count(&json, "samples", set->samples);
	json_text(&json, "unit", text_of(sets, set->unit));
	json_count(&json, "total", set->total);
	json_number(&json, "complete_percent", set->complete_percent, 3);
	put_losses(sets, set, &json);
	put_functions(sets, set, &json);
	put_commands(sets, set, &json);
	put_files(sets, set, &json);
	json_text(&json, "host", text_of(sets, set->host));
	json_text(&json, "kernel", text_of(sets, set->kernel));
	json_text(&json, "command_line", text_of(sets, set->command_line));
	json_close(&json, '}');
	fputc('\n', stream);
}

/* Reading: missing values are 0 or "", unknown keys are ignored. */

#define TEXT_SIZE 4096

struct set_reader {
	struct sets *sets;
	struct set set;
	/* The current item. */
	char name[TEXT_SIZE], module[TEXT_SIZE];
	uint64_t number;
	size_t n_files, n_losses;
	bool is_ours;
	int error; /* -ENOMEM, -E2BIG */
};

static void note_error(struct set_reader *reader, int r)
{
	if (reader->error == 0 && r < 0)
		reader->error = r;
}

static bool is_key(const char *key, const char *wanted)
{
	return strcmp(key, wanted) == 0;
}

static void take_text(struct set_reader *reader, struct json_reader *json, uint32_t *ret)
{
	json_reader_copy(json, reader->name, sizeof reader->name);
	note_error(reader, strings_add(&reader->sets->strings, reader->name, ret));
}

static void take_mode(struct set_reader *reader, struct json_reader *json)
{
	char text[32];

	json_reader_copy(json, text, sizeof text);
	for (int i = 0; i < N_PROFILE_MODES; i++) {
		if (is_key(text, profile_mode_name(i))) {
			reader->set.mode = i;
			return;
		}
	}
	json_reader_fault(json, "this is no mode");
}

static void take_name(struct set_reader *reader, struct json_reader *json)
{
	take_text(reader, json, &reader->set.name);
	if (!set_name_is_ours(reader->name))
		json_reader_fault(json, "this is not the name of a set");
}

static void take_losses(struct set_reader *reader, struct json_reader *json)
{
	const char *key;

	json_reader_begin(json, '{');
	while (json_reader_key(json, &key) > 0) {
		uint64_t n = json_reader_count(json);

		if (++reader->n_losses > MOST_LOSSES)
			json_reader_fault(json, "too many losses");
		if (key[utf8_span(key)])
			json_reader_fault(json, "this name of a loss is not UTF-8");
		if (n && !json->error)
			note_error(reader, sets_add_loss(reader->sets, key, n));
	}
}

static void take_item_fact(struct set_reader *reader, struct json_reader *json, const char *key)
{
	if (is_key(key, "name"))
		json_reader_copy(json, reader->name, sizeof reader->name);
	else if (is_key(key, "module"))
		json_reader_copy(json, reader->module, sizeof reader->module);
	else if (is_key(key, "self") || is_key(key, "total") || is_key(key, "bytes"))
		reader->number = json_reader_count(json);
	else
		json_reader_skip(json);
}

/* The next function or file of the array. Returns false at its end, and after an error. */
static bool take_item(struct set_reader *reader, struct json_reader *json)
{
	const char *key;

	if (json_reader_item(json) <= 0)
		return false;
	reader->name[0] = reader->module[0] = '\0';
	reader->number = 0;
	json_reader_begin(json, '{');
	while (json_reader_key(json, &key) > 0)
		take_item_fact(reader, json, key);
	return !json->error;
}

static void take_functions(struct set_reader *reader, struct json_reader *json)
{
	const struct set *set = &reader->sets->items[reader->sets->n - 1];

	json_reader_begin(json, '[');
	while (take_item(reader, json))
		if (set->functions.n < SET_MOST_FUNCTIONS)
			note_error(reader, sets_add_function(reader->sets, reader->name,
							     reader->module, reader->number));
}

static void take_commands(struct set_reader *reader, struct json_reader *json)
{
	const struct set *set = &reader->sets->items[reader->sets->n - 1];

	json_reader_begin(json, '[');
	while (take_item(reader, json))
		if (set->commands.n < SET_MOST_COMMANDS)
			note_error(reader,
				   sets_add_command(reader->sets, reader->name, reader->number));
}

static void take_files(struct set_reader *reader, struct json_reader *json)
{
	json_reader_begin(json, '[');
	while (take_item(reader, json)) {
		if (!set_name_is_ours(reader->name))
			json_reader_fault(json, "this is not the name of a set's file");
		else if (++reader->n_files > MOST_FILES)
			json_reader_fault(json, "too many files");
		else
			note_error(reader,
				   sets_add_file(reader->sets, reader->name, reader->number));
	}
}

static uint64_t take_seconds(struct json_reader *json)
{
	return llround(json_reader_decimal(json, MOST_SECONDS) * 1e6) * 1000;
}

static void take_text_fact(struct set_reader *reader, struct json_reader *json, const char *key)
{
	struct set *set = &reader->set;
	const struct {
		const char *key;
		uint32_t *id;
		// clang-format off
	} texts[] = {
		{"event",        &set->event},
		{"unit",         &set->unit},
		{"host",         &set->host},
		{"kernel",       &set->kernel},
		{"bpfflame",     &set->version},
		{"command_line", &set->command_line},
	};
	// clang-format on

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		if (is_key(key, texts[i].key)) {
			reader->is_ours |= is_key(key, "bpfflame");
			take_text(reader, json, texts[i].id);
			return;
		}
	}
	json_reader_skip(json);
}

static void take_fact(struct set_reader *reader, struct json_reader *json, const char *key)
{
	struct set *set = &reader->set;

	if (is_key(key, "set"))
		take_name(reader, json);
	else if (is_key(key, "mode"))
		take_mode(reader, json);
	else if (is_key(key, "frequency_hz"))
		set->frequency = json_reader_decimal(json, 1e9);
	else if (is_key(key, "start_unix_seconds"))
		set->start_realtime_ns = take_seconds(json);
	else if (is_key(key, "duration_seconds"))
		set->duration_ns = take_seconds(json);
	else if (is_key(key, "windows"))
		set->windows = json_reader_count(json);
	else if (is_key(key, "samples"))
		set->samples = json_reader_count(json);
	else if (is_key(key, "total"))
		set->total = json_reader_count(json);
	else if (is_key(key, "complete_percent"))
		set->complete_percent = json_reader_decimal(json, 100);
	else if (is_key(key, "loss_percent"))
		set->loss_percent = json_reader_decimal(json, 100);
	else if (is_key(key, "losses"))
		take_losses(reader, json);
	else if (is_key(key, "functions"))
		take_functions(reader, json);
	else if (is_key(key, "commands"))
		take_commands(reader, json);
	else if (is_key(key, "files"))
		take_files(reader, json);
	else
		take_text_fact(reader, json, key);
}

/* Adds the set first, so that its items can be added to it, and fills in its facts afterwards. */
int set_line_read(const char *line, struct sets *sets)
{
	struct stream stream = stream_of("index.jsonl", line);
	struct set_reader reader = {.sets = sets, .set.windows = 1};
	int r = sets_add(sets, &reader.set);
	struct failure failure;
	struct json_reader json;
	const char *key;
	struct set *set;

	if (r < 0)
		return r;
	json_reader_init(&json, &stream, &failure);
	json_reader_begin(&json, '{');
	while (json_reader_key(&json, &key) > 0)
		take_fact(&reader, &json, key);
	note_error(&reader, json_reader_end(&json));
	json_reader_done(&json);
	set = &sets->items[sets->n - 1];
	if (reader.error == 0 && reader.is_ours && reader.set.name && set->files.n) {
		reader.set.functions = set->functions;
		reader.set.commands = set->commands;
		reader.set.losses = set->losses;
		reader.set.files = set->files;
		*set = reader.set;
		return 0;
	}
	sets_drop_last(sets);
	return reader.error ? reader.error : -EINVAL;
}
