/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "input/firefox.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/system.h"
#include "input/firefox_stacks.h"

#define MAX_THREADS ((size_t)1 << 20)

static const struct {
	const char *table, *key;
} column_names[N_FIREFOX_COLUMNS] = {
	[STACK_PREFIX] = {"stackTable", "prefix"},
	[STACK_OFFSET] = {"stackTable", "prefixOffset"},
	[STACK_FRAME] = {"stackTable", "frame"},
	[FRAME_FUNCTION] = {"frameTable", "func"},
	[FRAME_CATEGORY] = {"frameTable", "category"},
	[FRAME_DEPTH] = {"frameTable", "inlineDepth"},
	[FRAME_LINE] = {"frameTable", "line"},
	[FUNCTION_NAME] = {"funcTable", "name"},
	[FUNCTION_FILE] = {"funcTable", "fileName"},
	[FUNCTION_SOURCE] = {"funcTable", "source"},
	[FUNCTION_RESOURCE] = {"funcTable", "resource"},
	[RESOURCE_NAME] = {"resourceTable", "name"},
	[RESOURCE_TYPE] = {"resourceTable", "type"},
	[SOURCE_FILE] = {"sources", "filename"},
	[STRINGS] = {"", "stringArray"},
};

static void tables_done(struct firefox_tables *tables)
{
	for (int i = 0; i < N_FIREFOX_COLUMNS; i++)
		free(tables->columns[i].items);
	free(tables->pieces);
	free(tables->threads);
	free(tables->sample_of);
}

void firefox_done(struct firefox *firefox)
{
	for (size_t i = 0; i < firefox->n_threads; i++) {
		free(firefox->threads[i].stacks.items);
		free(firefox->threads[i].weights);
		tables_done(&firefox->threads[i].tables);
	}
	tables_done(&firefox->shared);
	free(firefox->threads);
	free(firefox->categories.items);
	free(firefox->samples);
	free(firefox->path.items);
}

/* Tables */

static int read_strings(struct json_stacks *stacks, struct json_column *column)
{
	int r = json_reader_begin(stacks->reader, '[');

	while (r == 0 && (r = json_reader_item(stacks->reader)) > 0) {
		uint32_t text = 0;

		r = json_stacks_text(stacks, &text);
		if (r < 0)
			return r;
		r = json_column_add(column, text);
	}
	return r;
}

/* The column called @key, or N_FIREFOX_COLUMNS. */
static int find_column(const char *table, const char *key)
{
	int i = 0;

	while (i < N_FIREFOX_COLUMNS &&
	       (strcmp(column_names[i].table, table) != 0 || strcmp(column_names[i].key, key) != 0))
		i++;
	return i;
}

/* Reads a column, which may also be null. */
static int read_column(struct json_reader *reader, struct json_column *column)
{
	if (json_reader_peek(reader) != JSON_ARRAY)
		return json_reader_skip(reader);
	if (column->n)
		return json_reader_fault(reader, "a table has a column twice");
	return json_column_read(column, reader);
}

static int read_table(struct firefox *firefox, struct firefox_tables *tables, const char *table)
{
	struct json_reader *reader = firefox->stacks->reader;
	const char *key;
	int r = json_reader_begin(reader, '{');

	while (r == 0 && (r = json_reader_key(reader, &key)) > 0) {
		int column = find_column(table, key);

		r = column < N_FIREFOX_COLUMNS ? read_column(reader, &tables->columns[column])
					       : json_reader_skip(reader);
	}
	return r;
}

/* Returns whether @key names a table. */
static int read_tables(struct firefox *firefox, struct firefox_tables *tables, const char *key)
{
	struct json_column *strings = &tables->columns[STRINGS];
	int r, i = 0;

	if (strcmp(key, column_names[STRINGS].key) == 0) {
		r = strings->n ? json_reader_fault(firefox->stacks->reader, "strings twice")
			       : read_strings(firefox->stacks, strings);
		return r < 0 ? r : 1;
	}
	while (i < STRINGS && strcmp(column_names[i].table, key) != 0)
		i++;
	if (i == STRINGS)
		return 0;
	r = read_table(firefox, tables, column_names[i].table);
	return r < 0 ? r : 1;
}

/* Threads */

static int read_weights(struct json_reader *reader, struct firefox_thread *thread)
{
	int r;

	if (json_reader_peek(reader) != JSON_ARRAY)
		return json_reader_skip(reader);
	r = json_reader_begin(reader, '[');
	while (r == 0 && (r = json_reader_item(reader)) > 0) {
		struct json_number weight;

		r = json_reader_number(reader, &weight);
		if (r < 0)
			return r;
		r = array_add(thread->weights, thread->weights_capacity, thread->n_weights, weight);
	}
	return r;
}

static int read_weight_type(struct json_stacks *stacks, bool *is_time)
{
	struct json_reader *reader = stacks->reader;
	const char *text;
	size_t n;
	int r = json_reader_text(reader, &text, &n);

	if (r < 0)
		return r;
	*is_time = strcmp(text, "tracing-ms") == 0;
	stacks->is_bytes |= strcmp(text, "bytes") == 0;
	return 0;
}

static int read_samples(struct firefox *firefox, struct firefox_thread *thread)
{
	struct json_reader *reader = firefox->stacks->reader;
	const char *key;
	int r = json_reader_begin(reader, '{');

	while (r == 0 && (r = json_reader_key(reader, &key)) > 0) {
		if (strcmp(key, "stack") == 0)
			r = read_column(reader, &thread->stacks);
		else if (strcmp(key, "weight") == 0 && !thread->n_weights)
			r = read_weights(reader, thread);
		else if (strcmp(key, "weightType") == 0)
			r = read_weight_type(firefox->stacks, &thread->is_time);
		else
			r = json_reader_skip(reader);
	}
	if (r < 0)
		return r;
	if (thread->n_weights && thread->n_weights != thread->stacks.n)
		return json_reader_fault(reader, "a thread of %zu samples has %zu weights",
					 thread->stacks.n, thread->n_weights);
	return 0;
}

/* Process ids are strings from version 44 on. */
static int read_id(struct json_reader *reader, uint32_t *ret_id)
{
	struct json_number number;
	const char *text;
	size_t n;
	int type = json_reader_peek(reader), r;

	if (type == JSON_NUMBER) {
		r = json_reader_number(reader, &number);
		if (r == 0 && !number.is_negative && number.whole <= UINT32_MAX)
			*ret_id = number.whole;
		return r;
	}
	if (type != JSON_TEXT)
		return json_reader_skip(reader);
	r = json_reader_text(reader, &text, &n);
	if (r == 0 && strtoull(text, NULL, 10) <= UINT32_MAX)
		*ret_id = strtoull(text, NULL, 10);
	return r;
}

static int read_thread(struct firefox *firefox, struct firefox_thread *thread)
{
	struct json_reader *reader = firefox->stacks->reader;
	const char *key;
	int r = json_reader_begin(reader, '{');

	while (r == 0 && (r = json_reader_key(reader, &key)) > 0) {
		if (strcmp(key, "name") == 0)
			r = json_stacks_text(firefox->stacks, &thread->name);
		else if (strcmp(key, "pid") == 0)
			r = read_id(reader, &thread->pid);
		else if (strcmp(key, "tid") == 0)
			r = read_id(reader, &thread->tid);
		else if (strcmp(key, "samples") == 0)
			r = read_samples(firefox, thread);
		else if ((r = read_tables(firefox, &thread->tables, key)) == 0)
			r = json_reader_skip(reader);
		if (r > 0)
			r = 0;
	}
	return r;
}

static int read_threads(struct firefox *firefox)
{
	struct json_reader *reader = firefox->stacks->reader;
	int r = json_reader_begin(reader, '[');

	firefox->has_threads = true;
	while (r == 0 && (r = json_reader_item(reader)) > 0) {
		if (firefox->n_threads == MAX_THREADS)
			return json_reader_fault(reader, "there are more than %zu threads",
						 MAX_THREADS);
		r = array_reserve(firefox->threads, firefox->threads_capacity, firefox->n_threads,
				  1);
		if (r < 0)
			return r;
		firefox->threads[firefox->n_threads] = (struct firefox_thread){0};
		r = read_thread(firefox, &firefox->threads[firefox->n_threads++]);
	}
	return r;
}

/* Facts about the whole */

static int read_category(struct firefox *firefox)
{
	static const struct {
		const char *name;
		enum json_kind kind;
		// clang-format off
	} names[] = {
		{"Kernel", JSON_KIND_KERNEL},
		{"JIT",    JSON_KIND_JIT},
		{"User",   JSON_KIND_USER},
		{"Interpreted", JSON_KIND_INTERPRETED},
	};
	// clang-format on
	struct json_reader *reader = firefox->stacks->reader;
	enum json_kind kind = JSON_KIND_NOTE;
	const char *key, *name;
	size_t n;
	int r = json_reader_begin(reader, '{');

	while (r == 0 && (r = json_reader_key(reader, &key)) > 0) {
		if (strcmp(key, "name") != 0) {
			r = json_reader_skip(reader);
			continue;
		}
		r = json_reader_text(reader, &name, &n);
		if (r < 0)
			return r;
		for (size_t i = 0; i < sizeof names / sizeof *names; i++)
			if (strcmp(name, names[i].name) == 0)
				kind = names[i].kind;
	}
	if (r < 0)
		return r;
	return json_column_add(&firefox->categories, kind);
}

static int read_categories(struct firefox *firefox)
{
	int r = json_reader_begin(firefox->stacks->reader, '[');

	while (r == 0 && (r = json_reader_item(firefox->stacks->reader)) > 0)
		r = read_category(firefox);
	return r;
}

/* Reads one fact of the section; ours have a known name. */
static int read_entry(struct json_stacks *stacks, struct json_column *entries)
{
	uint32_t label = 0, value = 0;
	const char *key;
	int r = json_reader_begin(stacks->reader, '{');

	while (r == 0 && (r = json_reader_key(stacks->reader, &key)) > 0) {
		if (strcmp(key, "label") == 0)
			r = json_stacks_text(stacks, &label);
		else if (strcmp(key, "value") == 0)
			r = json_stacks_text(stacks, &value);
		else
			r = json_reader_skip(stacks->reader);
	}
	if (r < 0)
		return r;
	r = json_column_add(entries, label);
	if (r < 0)
		return r;
	return json_column_add(entries, value);
}

static int take_facts(struct json_stacks *stacks, const struct json_column *entries)
{
	struct strings *strings = &stacks->profile->strings;
	int r;

	stacks->is_ours = true;
	for (size_t i = 0; i + 1 < entries->n; i += 2) {
		_cleanup_free_ char *label = strdup(strings_get(strings, entries->items[i]));
		_cleanup_free_ char *value = strdup(strings_get(strings, entries->items[i + 1]));

		if (!label || !value)
			return -ENOMEM;
		r = fact_read(&stacks->facts, strings, label, value);
		if (r < 0)
			return r;
	}
	return 0;
}

static int read_section(struct json_stacks *stacks, struct json_column *entries)
{
	struct json_reader *reader = stacks->reader;
	uint32_t label = 0;
	const char *key;
	int r = json_reader_begin(reader, '{');

	while (r == 0 && (r = json_reader_key(reader, &key)) > 0) {
		if (strcmp(key, "label") == 0) {
			r = json_stacks_text(stacks, &label);
		} else if (strcmp(key, "entries") == 0) {
			r = json_reader_begin(reader, '[');
			while (r == 0 && (r = json_reader_item(reader)) > 0)
				r = read_entry(stacks, entries);
		} else {
			r = json_reader_skip(reader);
		}
	}
	if (r < 0 || strcmp(strings_get(&stacks->profile->strings, label), FACTS_LABEL) != 0)
		return r;
	return take_facts(stacks, entries);
}

static int read_extra(struct json_stacks *stacks)
{
	int r = json_reader_begin(stacks->reader, '[');

	while (r == 0 && (r = json_reader_item(stacks->reader)) > 0) {
		struct json_column entries = {0};

		r = read_section(stacks, &entries);
		free(entries.items);
	}
	return r;
}

static int read_meta(struct firefox *firefox)
{
	struct json_reader *reader = firefox->stacks->reader;
	const char *key;
	int r = json_reader_begin(reader, '{');

	firefox->has_meta = true;
	while (r == 0 && (r = json_reader_key(reader, &key)) > 0) {
		if (strcmp(key, "preprocessedProfileVersion") == 0)
			r = json_reader_index(reader, &firefox->version);
		else if (strcmp(key, "interval") == 0)
			r = json_stacks_number(firefox->stacks, &firefox->interval);
		else if (strcmp(key, "startTime") == 0)
			r = json_stacks_number(firefox->stacks, &firefox->start);
		else if (strcmp(key, "categories") == 0 && !firefox->categories.n)
			r = read_categories(firefox);
		else if (strcmp(key, "extra") == 0)
			r = read_extra(firefox->stacks);
		else
			r = json_reader_skip(reader);
	}
	return r;
}

int firefox_read(struct firefox *firefox, const char *key)
{
	int r;

	if (strcmp(key, "meta") == 0)
		r = read_meta(firefox);
	else if (strcmp(key, "threads") == 0)
		r = read_threads(firefox);
	else
		return 0;
	return r < 0 ? r : 1;
}

int firefox_read_shared(struct firefox *firefox, const char *key)
{
	return read_tables(firefox, &firefox->shared, key);
}

/* The whole file */

/* Our own files give the facts more precisely. */
static void add_facts(struct firefox *firefox)
{
	struct json_stacks *stacks = firefox->stacks;
	const struct json_number *start = &firefox->start, *interval = &firefox->interval;
	double milliseconds = interval->whole + interval->billionths / 1e9;

	if (stacks->is_ours)
		return;
	if (!start->is_negative && start->whole < UINT64_MAX / 1000000 - 1)
		stacks->facts.start_realtime_ns = start->whole * 1000000 + start->billionths / 1000;
	if (stacks->profile->mode == PROFILE_ONCPU && !interval->is_negative && milliseconds > 0)
		stacks->facts.frequency = 1000 / milliseconds;
}

static int find_mode(struct firefox *firefox)
{
	const struct firefox_thread *threads = firefox->threads;
	bool is_time =
		firefox->n_threads ? threads[0].is_time : json_stacks_is_of_time(firefox->stacks);

	for (size_t i = 1; i < firefox->n_threads; i++)
		if (threads[i].is_time != is_time)
			return json_stacks_fault(firefox->stacks,
						 "thread %zu of it holds %s, the first one %s",
						 i + 1, is_time ? "no times" : "times",
						 is_time ? "does" : "does not");
	return json_stacks_set_mode(firefox->stacks, is_time);
}

int firefox_finish(struct firefox *firefox)
{
	int r;

	if (!firefox->has_meta || !firefox->version)
		return json_stacks_fault(firefox->stacks,
					 "is as Firefox recorded it, not as its profiler saves it: "
					 "meta.preprocessedProfileVersion is missing");
	r = find_mode(firefox);
	if (r < 0)
		return r;
	add_facts(firefox);
	for (size_t i = 0; i < firefox->n_threads && r == 0; i++)
		r = firefox_add_thread(firefox, i);
	return r;
}
