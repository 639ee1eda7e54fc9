/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/baseline.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/json_reader.h"

#define MAX_SECONDS 9e9 /* since 1970, and of a recording */

static const char *const virtual_names[N_MACHINE_VIRTUALS] = {"unknown", "no", "yes"};

void baseline_done(struct baseline *baseline)
{
	free(baseline->runs);
	baseline->runs = NULL;
	baseline->n_runs = 0;
}

uint64_t baseline_total(const struct baseline *baseline)
{
	uint64_t total = 0;

	for (size_t i = 0; i < baseline->n_runs; i++)
		total += baseline->mode == PROFILE_ONCPU ? baseline->runs[i].samples
							 : baseline->runs[i].nanoseconds;
	return total;
}

/* Writing */

struct put {
	struct json *json;
	bool on_lines;
	int depth; /* of open objects and lists */
};

static void new_line(const struct put *put)
{
	if (put->on_lines)
		fprintf(put->json->stream, "\n%*s", 2 * put->depth, "");
}

/* Begins a line for a key or an item. */
static void begin_line(const struct put *put)
{
	if (!put->on_lines)
		return;
	/* The comma ends the previous line. */
	if (put->json->comma)
		fputc(',', put->json->stream);
	put->json->comma = false;
	new_line(put);
}

static void put_open(struct put *put, const char *key, char bracket)
{
	begin_line(put);
	json_open(put->json, key, bracket);
	put->depth++;
}

static void put_close(struct put *put, char bracket)
{
	put->depth--;
	new_line(put);
	json_close(put->json, bracket);
}

static void put_text(struct put *put, const char *key, const char *text)
{
	begin_line(put);
	json_text(put->json, key, text);
}

static void put_count(struct put *put, const char *key, uint64_t count)
{
	begin_line(put);
	json_count(put->json, key, count);
}

static void put_number(struct put *put, const char *key, double number, int decimals)
{
	begin_line(put);
	json_number(put->json, key, number, decimals);
}

static void put_seconds(struct put *put, const char *key, uint64_t nanoseconds)
{
	put_number(put, key, nanoseconds / 1e9, 6);
}

static void put_saved(struct put *put, uint64_t saved_ns)
{
	time_t seconds = saved_ns / 1000000000;
	char text[32] = "";
	struct tm tm;

	if (gmtime_r(&seconds, &tm))
		strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm);
	put_text(put, "saved", text);
	put_seconds(put, "saved_unix_seconds", saved_ns);
}

static void put_machine(struct put *put, const struct machine *machine)
{
	put_open(put, "machine", '{');
	put_text(put, "host", machine->host);
	put_text(put, "kernel", machine->kernel);
	put_text(put, "architecture", machine->architecture);
	put_text(put, "cpu_model", machine->cpu_model);
	put_count(put, "cpus", machine->cpus);
	put_count(put, "memory_bytes", machine->memory);
	put_text(put, "virtual", virtual_names[machine->is_virtual]);
	put_text(put, "product", machine->product);
	put_text(put, "governor", machine->governor);
	put_count(put, "max_kilohertz", machine->max_kilohertz);
	put_close(put, '}');
}

static void put_run(struct put *put, const struct baseline_run *run, size_t i)
{
	char file[32];

	snprintf(file, sizeof file, "run-%zu.pb.gz", i + 1);
	put_open(put, NULL, '{');
	put_text(put, "file", file);
	put_count(put, "bytes", run->bytes);
	put_count(put, "samples", run->samples);
	put_count(put, "nanoseconds", run->nanoseconds);
	put_seconds(put, "start_unix_seconds", run->start_realtime_ns);
	put_seconds(put, "duration_seconds", run->duration_ns);
	put_text(put, "source", run->source);
	put_close(put, '}');
}

void baseline_put(const struct baseline *baseline, struct json *json, bool on_lines)
{
	struct put put = {json, on_lines, 1};

	put_count(&put, "format", BASELINE_FORMAT);
	put_text(&put, "name", baseline->name);
	put_text(&put, "commit", baseline->commit);
	put_text(&put, "branch", baseline->branch);
	put_text(&put, "note", baseline->note);
	put_text(&put, "bpfflame", baseline->version);
	put_saved(&put, baseline->saved_ns);
	put_machine(&put, &baseline->machine);
	put_text(&put, "mode", profile_mode_name(baseline->mode));
	put_text(&put, "event", baseline->event);
	put_number(&put, "frequency_hz", baseline->frequency, 3);
	put_text(&put, "unit", baseline->mode == PROFILE_ONCPU ? "samples" : "nanoseconds");
	put_count(&put, "total", baseline_total(baseline));
	put_open(&put, "runs", '[');
	for (size_t i = 0; i < baseline->n_runs; i++)
		put_run(&put, &baseline->runs[i], i);
	put_close(&put, ']');
}

void baseline_write(const struct baseline *baseline, FILE *stream)
{
	struct json json = {.stream = stream};

	json_open(&json, NULL, '{');
	baseline_put(baseline, &json, true);
	fputc('\n', stream);
	json_close(&json, '}');
	fputc('\n', stream);
}

/* Reading */

/* Missing keys mean unknown, and unknown keys are ignored. */
struct baseline_reader {
	struct baseline *baseline;
	size_t capacity; /* of the runs */
	uint64_t format;
	int error; /* -ENOMEM */
};

static uint64_t take_seconds(struct json_reader *json)
{
	return llround(json_reader_decimal(json, MAX_SECONDS) * 1e9);
}

/* The index of one of @names. */
static int take_name(struct json_reader *json, const char *const *names, int n)
{
	char text[32] = "";

	json_reader_copy(json, text, sizeof text);
	for (int i = 0; i < n; i++)
		if (strcmp(names[i], text) == 0)
			return i;
	json_reader_fault(json, "this word is not known here");
	return 0;
}

static bool is_key(const char *key, const char *wanted)
{
	return strcmp(key, wanted) == 0;
}

#define TAKE_TEXT(json, field) json_reader_copy(json, field, sizeof(field))

static void take_machine_fact(struct json_reader *json, const char *key, struct machine *machine)
{
	if (is_key(key, "host"))
		TAKE_TEXT(json, machine->host);
	else if (is_key(key, "kernel"))
		TAKE_TEXT(json, machine->kernel);
	else if (is_key(key, "architecture"))
		TAKE_TEXT(json, machine->architecture);
	else if (is_key(key, "cpu_model"))
		TAKE_TEXT(json, machine->cpu_model);
	else if (is_key(key, "cpus"))
		machine->cpus = json_reader_count(json);
	else if (is_key(key, "memory_bytes"))
		machine->memory = json_reader_count(json);
	else if (is_key(key, "virtual"))
		machine->is_virtual = take_name(json, virtual_names, N_MACHINE_VIRTUALS);
	else if (is_key(key, "product"))
		TAKE_TEXT(json, machine->product);
	else if (is_key(key, "governor"))
		TAKE_TEXT(json, machine->governor);
	else if (is_key(key, "max_kilohertz"))
		machine->max_kilohertz = json_reader_count(json);
	else
		json_reader_skip(json);
}

static void take_machine(struct json_reader *json, struct machine *machine)
{
	const char *key;

	json_reader_begin(json, '{');
	while (json_reader_key(json, &key) > 0)
		take_machine_fact(json, key, machine);
}

static void take_run_fact(struct json_reader *json, const char *key, struct baseline_run *run)
{
	if (is_key(key, "bytes"))
		run->bytes = json_reader_count(json);
	else if (is_key(key, "samples"))
		run->samples = json_reader_count(json);
	else if (is_key(key, "nanoseconds"))
		run->nanoseconds = json_reader_count(json);
	else if (is_key(key, "start_unix_seconds"))
		run->start_realtime_ns = take_seconds(json);
	else if (is_key(key, "duration_seconds"))
		run->duration_ns = take_seconds(json);
	else if (is_key(key, "source"))
		TAKE_TEXT(json, run->source);
	else
		json_reader_skip(json);
}

static void take_run(struct baseline_reader *reader, struct json_reader *json)
{
	struct baseline *baseline = reader->baseline;
	struct baseline_run run = {};
	const char *key;

	json_reader_begin(json, '{');
	while (json_reader_key(json, &key) > 0)
		take_run_fact(json, key, &run);
	if (baseline->n_runs == BASELINE_MAX_RUNS)
		json_reader_fault(json, "there are more than %d runs", BASELINE_MAX_RUNS);
	if (json->error || reader->error)
		return;
	reader->error = array_reserve(baseline->runs, reader->capacity, baseline->n_runs, 1);
	if (reader->error == 0)
		baseline->runs[baseline->n_runs++] = run;
}

static void take_runs(struct baseline_reader *reader, struct json_reader *json)
{
	json_reader_begin(json, '[');
	while (json_reader_item(json) > 0)
		take_run(reader, json);
}

static void take_fact(struct baseline_reader *reader, struct json_reader *json, const char *key)
{
	static const char *modes[N_PROFILE_MODES];
	struct baseline *baseline = reader->baseline;

	for (int i = 0; i < N_PROFILE_MODES; i++)
		modes[i] = profile_mode_name(i);
	if (is_key(key, "format"))
		reader->format = json_reader_count(json);
	else if (is_key(key, "branch"))
		TAKE_TEXT(json, baseline->branch);
	else if (is_key(key, "note"))
		TAKE_TEXT(json, baseline->note);
	else if (is_key(key, "bpfflame"))
		TAKE_TEXT(json, baseline->version);
	else if (is_key(key, "saved_unix_seconds"))
		baseline->saved_ns = take_seconds(json);
	else if (is_key(key, "mode"))
		baseline->mode = take_name(json, modes, N_PROFILE_MODES);
	else if (is_key(key, "event"))
		TAKE_TEXT(json, baseline->event);
	else if (is_key(key, "frequency_hz"))
		baseline->frequency = json_reader_decimal(json, 1e9);
	else if (is_key(key, "runs"))
		take_runs(reader, json);
	else if (is_key(key, "machine"))
		take_machine(json, &baseline->machine);
	else
		json_reader_skip(json);
}

/* Returns what makes it useless although it parses; NULL: nothing. */
static const char *find_lack(const struct baseline_reader *reader)
{
	const struct baseline *baseline = reader->baseline;

	if (reader->format != BASELINE_FORMAT)
		return reader->format > BASELINE_FORMAT ? "is of a newer bpfflame"
							: "has no \"format\"";
	if (!baseline->n_runs)
		return "names no runs";
	for (size_t i = 0; i < baseline->n_runs; i++)
		if (!baseline->runs[i].bytes)
			return "names a run of no bytes";
	return NULL;
}

int baseline_read(const char *text, struct baseline *baseline)
{
	struct baseline_reader reader = {.baseline = baseline};
	struct stream stream = stream_of("baseline.json", text);
	struct failure failure;
	struct json_reader json;
	const char *key, *lack;
	int r;

	baseline->damage[0] = '\0';
	json_reader_init(&json, &stream, &failure);
	json_reader_begin(&json, '{');
	while (json_reader_key(&json, &key) > 0)
		take_fact(&reader, &json, key);
	r = json_reader_end(&json);
	json_reader_done(&json);
	if (reader.error || r == -ENOMEM)
		return -ENOMEM;
	lack = find_lack(&reader);
	if (r < 0)
		baseline_copy(baseline->damage, failure.what);
	else if (lack)
		snprintf(baseline->damage, sizeof baseline->damage, "baseline.json %s", lack);
	return *baseline->damage ? -EINVAL : 0;
}
