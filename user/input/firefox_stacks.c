/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "input/firefox_stacks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define TYPE_LIBRARY 1

/* The tables that a thread's samples refer to: its own or the file's. */
struct lookup {
	struct firefox *firefox;
	struct firefox_tables *stacks, *frames;
	const struct firefox_tables *strings;
	uint32_t thread; /* counts from 1 */
	struct json_command command;
};

static bool has(const struct firefox_tables *tables, enum firefox_column column)
{
	return tables->columns[column].n != 0;
}

static void choose_tables(struct lookup *lookup, struct firefox_thread *thread)
{
	struct firefox_tables *own = &thread->tables, *shared = &lookup->firefox->shared;

	lookup->stacks = has(own, STACK_FRAME) ? own : shared;
	lookup->frames = lookup->stacks == own && has(own, FRAME_FUNCTION) ? own : shared;
	lookup->strings = lookup->frames == own && has(own, STRINGS) ? own : shared;
}

/* Item @i of a column; JSON_NO_INDEX: none. */
static uint32_t get(const struct firefox_tables *tables, enum firefox_column column, uint32_t i)
{
	return i < tables->columns[column].n ? tables->columns[column].items[i] : JSON_NO_INDEX;
}

static uint32_t string_at(const struct lookup *lookup, uint32_t i)
{
	uint32_t text = get(lookup->strings, STRINGS, i);

	return text == JSON_NO_INDEX ? 0 : text;
}

/* Frames */

static enum json_kind category_kind(const struct firefox *firefox, uint32_t category)
{
	enum json_kind kind = category < firefox->categories.n ? firefox->categories.items[category]
							       : JSON_KIND_NOTE;

	/* Other producers name categories as they like. */
	return firefox->stacks->is_ours || kind == JSON_KIND_KERNEL ? kind : JSON_KIND_BY_NAME;
}

static uint32_t file_of(const struct lookup *lookup, uint32_t function)
{
	uint32_t source = get(lookup->frames, FUNCTION_SOURCE, function);

	if (source != JSON_NO_INDEX)
		return string_at(lookup, get(&lookup->firefox->shared, SOURCE_FILE, source));
	return string_at(lookup, get(lookup->frames, FUNCTION_FILE, function));
}

static uint32_t module_of(const struct lookup *lookup, uint32_t function)
{
	uint32_t resource = get(lookup->frames, FUNCTION_RESOURCE, function);

	if (get(lookup->frames, RESOURCE_TYPE, resource) != TYPE_LIBRARY)
		return 0;
	return string_at(lookup, get(lookup->frames, RESOURCE_NAME, resource));
}

static int make_piece(const struct lookup *lookup, uint32_t i, uint32_t *ret_piece)
{
	const struct firefox_tables *tables = lookup->frames;
	uint32_t function = get(tables, FRAME_FUNCTION, i), line = get(tables, FRAME_LINE, i);
	uint32_t depth = get(tables, FRAME_DEPTH, i);
	struct json_frame frame = {
		.name = string_at(lookup, get(tables, FUNCTION_NAME, function)),
		.file = file_of(lookup, function),
		.module = module_of(lookup, function),
		.line = line == JSON_NO_INDEX ? 0 : line,
		.kind = category_kind(lookup->firefox, get(tables, FRAME_CATEGORY, i)),
		.is_inlined = depth && depth != JSON_NO_INDEX};

	if (function == JSON_NO_INDEX || get(tables, FUNCTION_NAME, function) == JSON_NO_INDEX)
		return json_stacks_fault(lookup->firefox->stacks,
					 "frame %" PRIu32 " has no function", i);
	return json_stacks_piece(lookup->firefox->stacks, &frame, ret_piece);
}

static int find_piece(const struct lookup *lookup, uint32_t frame, uint32_t *ret_piece)
{
	struct firefox_tables *tables = lookup->frames;
	size_t n = tables->columns[FRAME_FUNCTION].n;
	int r = 0;

	if (frame >= n)
		return json_stacks_fault(lookup->firefox->stacks,
					 "a stack refers to frame %" PRIu32 ", where there are %zu",
					 frame, n);
	if (!tables->pieces) {
		tables->pieces = reallocarray(NULL, n, sizeof *tables->pieces);
		if (!tables->pieces)
			return -ENOMEM;
		memset(tables->pieces, 0xff, n * sizeof *tables->pieces);
	}
	if (tables->pieces[frame] == JSON_UNSET)
		r = make_piece(lookup, frame, &tables->pieces[frame]);
	*ret_piece = tables->pieces[frame];
	return r;
}

/* Stacks */

/* The row below @stack, or JSON_NO_INDEX at the root. Returns false if it can't be valid. */
static bool find_parent(const struct firefox_tables *tables, uint32_t stack, uint32_t *ret)
{
	uint32_t offset = get(tables, STACK_OFFSET, stack);

	if (has(tables, STACK_OFFSET)) {
		*ret = offset == JSON_NO_INDEX || !offset ? JSON_NO_INDEX : stack - offset;
		return offset == JSON_NO_INDEX || offset <= stack;
	}
	*ret = get(tables, STACK_PREFIX, stack);
	/* Parents come first, which rules out circles. */
	return *ret == JSON_NO_INDEX || *ret < stack;
}

/* Sets firefox->path to the stack's frames, leaf first. */
static int find_path(const struct lookup *lookup, uint32_t stack)
{
	const struct firefox_tables *tables = lookup->stacks;
	struct json_column *path = &lookup->firefox->path;
	uint32_t parent = stack;
	int r;

	path->n = 0;
	while (parent != JSON_NO_INDEX) {
		uint32_t at = parent;

		if (path->n > FOLDED_MAX_FRAMES)
			return json_stacks_fault(lookup->firefox->stacks,
						 "a stack has more than 1048576 frames");
		if (!find_parent(tables, at, &parent))
			return json_stacks_fault(lookup->firefox->stacks,
						 "stack %" PRIu32 " begins with a later one", at);
		r = json_column_add(path, get(tables, STACK_FRAME, at));
		if (r < 0)
			return r;
	}
	return 0;
}

static int make_sample(const struct lookup *lookup, uint32_t stack, struct profile_sample *ret)
{
	struct json_stacks *stacks = lookup->firefox->stacks;
	const struct json_column *path = &lookup->firefox->path;
	int r = find_path(lookup, stack);

	if (r < 0)
		return r;
	json_stacks_begin(stacks);
	for (size_t i = path->n; i-- > 0;) {
		uint32_t piece = 0;

		r = find_piece(lookup, path->items[i], &piece);
		if (r < 0)
			return r;
		r = json_stacks_push(stacks, piece);
		if (r < 0)
			return r;
	}
	return json_stacks_end(stacks, &lookup->command, ret);
}

static int reserve_stacks(struct firefox_tables *tables)
{
	size_t n = tables->columns[STACK_FRAME].n;

	if (tables->threads)
		return 0;
	tables->threads = calloc(n, sizeof *tables->threads);
	tables->sample_of = calloc(n, sizeof *tables->sample_of);
	return tables->threads && tables->sample_of ? 0 : -ENOMEM;
}

/* The sample of a stack, made once per thread. */
static int find_sample(const struct lookup *lookup, uint32_t stack,
		       const struct profile_sample **ret)
{
	struct firefox *firefox = lookup->firefox;
	struct firefox_tables *tables = lookup->stacks;
	size_t n = tables->columns[STACK_FRAME].n;
	int r;

	if (stack >= n)
		return json_stacks_fault(
			firefox->stacks,
			"a sample refers to stack %" PRIu32 ", where there are %zu", stack, n);
	r = reserve_stacks(tables);
	if (r < 0)
		return r;
	if (tables->threads[stack] != lookup->thread) {
		r = array_reserve(firefox->samples, firefox->samples_capacity, firefox->n_samples,
				  1);
		if (r < 0)
			return r;
		r = make_sample(lookup, stack, &firefox->samples[firefox->n_samples]);
		if (r < 0)
			return r;
		tables->threads[stack] = lookup->thread;
		tables->sample_of[stack] = firefox->n_samples++;
	}
	*ret = &firefox->samples[tables->sample_of[stack]];
	return 0;
}

/* Threads */

static int add_samples(const struct lookup *lookup, const struct firefox_thread *thread)
{
	struct json_stacks *stacks = lookup->firefox->stacks;
	int r;

	for (size_t i = 0; i < thread->stacks.n; i++) {
		struct json_number one = {.whole = 1};
		const struct profile_sample *sample = NULL;
		uint64_t weight;

		/* The thread did not exist yet, or its stack is unknown. */
		if (thread->stacks.items[i] == JSON_NO_INDEX)
			continue;
		r = json_stacks_weight(stacks, thread->n_weights ? &thread->weights[i] : &one,
				       1000000, &weight);
		if (r < 0)
			return r;
		if (!weight)
			continue;
		r = find_sample(lookup, thread->stacks.items[i], &sample);
		if (r < 0)
			return r;
		r = json_stacks_add(stacks, *sample, weight);
		if (r < 0)
			return r;
	}
	return 0;
}

int firefox_add_thread(struct firefox *firefox, size_t i)
{
	struct firefox_thread *thread = &firefox->threads[i];
	struct lookup lookup = {.firefox = firefox, .thread = i + 1};
	int r = json_stacks_command(firefox->stacks, thread->name, &lookup.command);

	if (r < 0)
		return r;
	/* Our processes have names; others get numbers for the format's sake. */
	if (!firefox->stacks->is_ours) {
		lookup.command.pid = thread->pid;
		lookup.command.tid = thread->tid;
	}
	choose_tables(&lookup, thread);
	firefox->n_samples = 0;
	return add_samples(&lookup, thread);
}
