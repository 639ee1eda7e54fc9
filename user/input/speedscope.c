/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "input/speedscope.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define MAX_PROFILES ((size_t)1 << 20)

void speedscope_done(struct speedscope *speedscope)
{
	for (size_t i = 0; i < speedscope->n_profiles; i++) {
		struct speedscope_profile *profile = &speedscope->profiles[i];

		free(profile->frames.items);
		free(profile->ends.items);
		free(profile->inlined.items);
		free(profile->inlined_ends.items);
		free(profile->numbers);
	}
	free(speedscope->profiles);
	free(speedscope->frames);
	free(speedscope->pieces[0]);
	free(speedscope->pieces[1]);
}

/* Frames */

static int read_kind(struct json_reader *reader, enum json_kind *ret)
{
	static const struct {
		const char *name;
		enum json_kind kind;
		// clang-format off
	} kinds[] = {
		{"kernel", JSON_KIND_KERNEL},
		{"jit",    JSON_KIND_JIT},
		{"note",   JSON_KIND_NOTE},
		{"interpreted", JSON_KIND_INTERPRETED},
	};
	// clang-format on
	const char *text;
	size_t n;
	int r = json_reader_text(reader, &text, &n);

	if (r < 0)
		return r;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (strcmp(text, kinds[i].name) == 0)
			*ret = kinds[i].kind;
	return 0;
}

static int read_line(struct json_stacks *stacks, uint32_t *ret_line)
{
	struct json_number line = {0};
	int r = json_stacks_number(stacks, &line);

	*ret_line = line.is_negative || line.whole > UINT32_MAX ? 0 : line.whole;
	return r;
}

static int read_frame(struct speedscope *speedscope, struct json_frame *frame)
{
	struct json_stacks *stacks = speedscope->stacks;
	const char *key;
	int r = json_reader_begin(stacks->reader, '{');

	while (r == 0 && (r = json_reader_key(stacks->reader, &key)) > 0) {
		if (strcmp(key, "name") == 0)
			r = json_stacks_text(stacks, &frame->name);
		else if (strcmp(key, "file") == 0)
			r = json_stacks_text(stacks, &frame->file);
		else if (strcmp(key, "module") == 0)
			r = json_stacks_text(stacks, &frame->module);
		else if (strcmp(key, "line") == 0)
			r = read_line(stacks, &frame->line);
		else if (strcmp(key, "kind") == 0)
			r = read_kind(stacks->reader, &frame->kind);
		else
			r = json_reader_skip(stacks->reader);
	}
	/* If the source file is unknown, the writer puts the module there. */
	if (frame->file == frame->module)
		frame->file = 0;
	return r;
}

static int read_frames(struct speedscope *speedscope)
{
	struct json_reader *reader = speedscope->stacks->reader;
	int r = json_reader_begin(reader, '[');

	if (speedscope->has_frames)
		return json_reader_fault(reader, "there are frames already");
	speedscope->has_frames = true;
	while (r == 0 && (r = json_reader_item(reader)) > 0) {
		struct json_frame frame = {0};

		r = read_frame(speedscope, &frame);
		if (r < 0)
			return r;
		r = array_add(speedscope->frames, speedscope->frames_capacity, speedscope->n_frames,
			      frame);
	}
	return r;
}

/* Profiles */

static int read_unit(struct json_stacks *stacks, uint64_t *ret)
{
	struct json_reader *reader = stacks->reader;
	static const struct {
		const char *name;
		uint64_t nanoseconds;
	} units[] = {{"nanoseconds", 1},
		     {"microseconds", 1000},
		     {"milliseconds", 1000000},
		     {"seconds", 1000000000},
		     {"none", 0},
		     {"bytes", 0}};
	const char *text;
	size_t n;
	int r = json_reader_text(reader, &text, &n);

	if (r < 0)
		return r;
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (strcmp(text, units[i].name) == 0) {
			*ret = units[i].nanoseconds;
			stacks->is_bytes |= strcmp(text, "bytes") == 0;
			return 0;
		}
	return json_reader_fault(reader, "\"%.40s\" is not a unit of speedscope", text);
}

/* Reads an array of arrays of numbers. */
static int read_lists(struct json_reader *reader, struct json_column *items,
		      struct json_column *ends)
{
	int r = json_reader_begin(reader, '[');

	while (r == 0 && (r = json_reader_item(reader)) > 0) {
		r = json_column_read(items, reader);
		if (r < 0)
			return r;
		if (items->n > UINT32_MAX)
			return -E2BIG;
		r = json_column_add(ends, items->n);
	}
	return r;
}

static int add_number(struct speedscope_profile *profile, const struct json_number *number)
{
	return array_add(profile->numbers, profile->numbers_capacity, profile->n_numbers, *number);
}

static int read_weights(struct json_reader *reader, struct speedscope_profile *profile)
{
	int r = json_reader_begin(reader, '[');

	while (r == 0 && (r = json_reader_item(reader)) > 0) {
		struct json_number number;

		r = json_reader_number(reader, &number);
		if (r < 0)
			return r;
		r = add_number(profile, &number);
	}
	return r;
}

static int read_event_type(struct json_reader *reader, uint32_t *ret_opens)
{
	const char *text;
	size_t n;
	int r = json_reader_text(reader, &text, &n);

	if (r < 0)
		return r;
	if (strcmp(text, "O") != 0 && strcmp(text, "C") != 0)
		return json_reader_fault(reader, "an event neither opens nor closes a frame");
	*ret_opens = *text == 'O';
	return 0;
}

static int read_event(struct json_reader *reader, struct speedscope_profile *profile)
{
	struct json_number at = {0};
	uint32_t frame = JSON_NO_INDEX, opens = JSON_NO_INDEX;
	const char *key;
	int r = json_reader_begin(reader, '{');

	while (r == 0 && (r = json_reader_key(reader, &key)) > 0) {
		if (strcmp(key, "type") == 0)
			r = read_event_type(reader, &opens);
		else if (strcmp(key, "frame") == 0)
			r = json_reader_index(reader, &frame);
		else if (strcmp(key, "at") == 0)
			r = json_reader_number(reader, &at);
		else
			r = json_reader_skip(reader);
	}
	if (r < 0)
		return r;
	if (frame == JSON_NO_INDEX || opens == JSON_NO_INDEX)
		return json_reader_fault(reader, "an event without its frame or its type");
	r = json_column_add(&profile->frames, frame);
	if (r < 0)
		return r;
	r = json_column_add(&profile->ends, opens);
	if (r < 0)
		return r;
	return add_number(profile, &at);
}

static int read_events(struct json_reader *reader, struct speedscope_profile *profile)
{
	int r = json_reader_begin(reader, '[');

	profile->is_evented = true;
	while (r == 0 && (r = json_reader_item(reader)) > 0)
		r = read_event(reader, profile);
	return r;
}

static int read_profile_key(struct speedscope *speedscope, struct speedscope_profile *profile,
			    const char *key)
{
	struct json_reader *reader = speedscope->stacks->reader;

	if (strcmp(key, "name") == 0)
		return json_stacks_text(speedscope->stacks, &profile->name);
	if (strcmp(key, "unit") == 0)
		return read_unit(speedscope->stacks, &profile->unit);
	if (strcmp(key, "inlined") == 0)
		return read_lists(reader, &profile->inlined, &profile->inlined_ends);
	if (strcmp(key, "samples") != 0 && strcmp(key, "weights") != 0 &&
	    strcmp(key, "events") != 0)
		return json_reader_skip(reader);
	if (*key == 'w' ? profile->n_numbers || profile->is_evented
			: profile->ends.n || profile->is_evented)
		return json_reader_fault(reader, "a profile has its samples twice");
	return *key == 's'   ? read_lists(reader, &profile->frames, &profile->ends)
	       : *key == 'w' ? read_weights(reader, profile)
			     : read_events(reader, profile);
}

static int read_profile(struct speedscope *speedscope, struct speedscope_profile *profile)
{
	struct json_reader *reader = speedscope->stacks->reader;
	const char *key;
	int r = json_reader_begin(reader, '{');

	while (r == 0 && (r = json_reader_key(reader, &key)) > 0)
		r = read_profile_key(speedscope, profile, key);
	if (r < 0)
		return r;
	if (profile->unit == SPEEDSCOPE_NO_UNIT)
		return json_reader_fault(reader, "a profile without its unit");
	if (profile->n_numbers != profile->ends.n)
		return json_reader_fault(reader, "a profile of %zu samples has %zu weights",
					 profile->ends.n, profile->n_numbers);
	return 0;
}

static int read_profiles(struct speedscope *speedscope)
{
	struct json_reader *reader = speedscope->stacks->reader;
	int r = json_reader_begin(reader, '[');

	speedscope->has_profiles = true;
	while (r == 0 && (r = json_reader_item(reader)) > 0) {
		if (speedscope->n_profiles == MAX_PROFILES)
			return json_reader_fault(reader, "there are more than %zu profiles",
						 MAX_PROFILES);
		r = array_reserve(speedscope->profiles, speedscope->profiles_capacity,
				  speedscope->n_profiles, 1);
		if (r < 0)
			return r;
		speedscope->profiles[speedscope->n_profiles] =
			(struct speedscope_profile){.unit = SPEEDSCOPE_NO_UNIT};
		r = read_profile(speedscope, &speedscope->profiles[speedscope->n_profiles++]);
	}
	return r;
}

static int read_facts(struct json_stacks *stacks)
{
	struct json_reader *reader = stacks->reader;
	const char *key;
	int r = json_reader_begin(reader, '{');

	stacks->is_ours = true;
	while (r == 0 && (r = json_reader_key(reader, &key)) > 0) {
		char name[32];
		const char *text;
		size_t n;

		strncpy(name, key, sizeof name - 1);
		name[sizeof name - 1] = '\0';
		if (json_reader_peek(reader) != JSON_TEXT) {
			r = json_reader_skip(reader);
			continue;
		}
		r = json_reader_text(reader, &text, &n);
		if (r < 0)
			return r;
		r = fact_read(&stacks->facts, &stacks->profile->strings, name, text);
	}
	return r;
}

int speedscope_read(struct speedscope *speedscope, const char *key)
{
	int r;

	if (strcmp(key, "profiles") == 0)
		r = read_profiles(speedscope);
	else if (strcmp(key, FACTS_LABEL) == 0)
		r = read_facts(speedscope->stacks);
	else
		return 0;
	return r < 0 ? r : 1;
}

int speedscope_read_shared(struct speedscope *speedscope, const char *key)
{
	int r;

	if (strcmp(key, "frames") != 0)
		return 0;
	r = read_frames(speedscope);
	return r < 0 ? r : 1;
}

/* Stacks: all is read */

static int find_piece(struct speedscope *speedscope, uint32_t frame, bool is_inlined,
		      uint32_t *ret_piece)
{
	struct json_frame from;
	uint32_t *piece;
	int r = 0;

	if (frame >= speedscope->n_frames)
		return json_stacks_fault(speedscope->stacks,
					 "a sample refers to frame %" PRIu32
					 ", where there are %zu",
					 frame, speedscope->n_frames);
	piece = &speedscope->pieces[is_inlined][frame];
	if (*piece == JSON_UNSET) {
		from = speedscope->frames[frame];
		from.is_inlined = is_inlined;
		if (speedscope->stacks->is_ours && from.kind == JSON_KIND_BY_NAME)
			from.kind = JSON_KIND_USER;
		r = json_stacks_piece(speedscope->stacks, &from, piece);
	}
	*ret_piece = *piece;
	return r;
}

/* Where list @i begins. */
static size_t begin_of(const struct json_column *ends, size_t i)
{
	return i ? ends->items[i - 1] : 0;
}

static int push_sample(struct speedscope *speedscope, const struct speedscope_profile *profile,
		       size_t i)
{
	const struct json_column *inlined = &profile->inlined;
	size_t first = begin_of(&profile->ends, i), at = 0, limit = 0;
	int r;

	if (i < profile->inlined_ends.n) {
		at = begin_of(&profile->inlined_ends, i);
		limit = profile->inlined_ends.items[i];
	}
	json_stacks_begin(speedscope->stacks);
	for (size_t k = first; k < profile->ends.items[i]; k++) {
		bool is_inlined = at < limit && inlined->items[at] == k - first;
		uint32_t piece;

		at += is_inlined;
		r = find_piece(speedscope, profile->frames.items[k], is_inlined, &piece);
		if (r < 0)
			return r;
		r = json_stacks_push(speedscope->stacks, piece);
		if (r < 0)
			return r;
	}
	return 0;
}

static int add_sampled(struct speedscope *speedscope, const struct speedscope_profile *profile,
		       const struct json_command *command)
{
	struct json_stacks *stacks = speedscope->stacks;
	int r;

	for (size_t i = 0; i < profile->ends.n; i++) {
		struct profile_sample sample;
		uint64_t weight;

		r = json_stacks_weight(stacks, &profile->numbers[i], profile->unit, &weight);
		if (r < 0)
			return r;
		if (!weight)
			continue;
		r = push_sample(speedscope, profile, i);
		if (r < 0)
			return r;
		r = json_stacks_end(stacks, command, &sample);
		if (r < 0)
			return r;
		r = json_stacks_add(stacks, sample, weight);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Events: the stacks opened so far, each as its parent and a frame. */

#define NO_NODE UINT32_MAX

struct node {
	uint32_t parent, frame;
	uint32_t depth;
	bool has_sample;
	struct profile_sample sample;
};

struct nodes {
	struct node *items;
	size_t n, capacity;
	struct table index;
	uint32_t *path; /* root first */
	size_t path_capacity;
};

static bool node_equal(const void *items, uint32_t position, const void *key)
{
	const struct node *a = (const struct node *)items + position, *b = key;

	return a->parent == b->parent && a->frame == b->frame;
}

static int find_node(struct nodes *nodes, uint32_t parent, uint32_t frame, uint32_t *ret)
{
	struct node node = {.parent = parent,
			    .frame = frame,
			    .depth = parent == NO_NODE ? 1 : nodes->items[parent].depth + 1};

	return table_intern(&nodes->index, hash_mix(parent, frame), node_equal, nodes->items,
			    nodes->capacity, nodes->n, &node, ret);
}

static int make_sample(struct speedscope *speedscope, struct nodes *nodes, struct node *node,
		       const struct json_command *command)
{
	const struct node *at = node;
	int r = array_reserve(nodes->path, nodes->path_capacity, 0, node->depth);

	if (r < 0)
		return r;
	for (uint32_t i = node->depth; i-- > 0; at = &nodes->items[at->parent]) {
		nodes->path[i] = at->frame;
		if (!i)
			break;
	}
	json_stacks_begin(speedscope->stacks);
	for (uint32_t i = 0; i < node->depth; i++) {
		uint32_t piece;

		r = find_piece(speedscope, nodes->path[i], false, &piece);
		if (r < 0)
			return r;
		r = json_stacks_push(speedscope->stacks, piece);
		if (r < 0)
			return r;
	}
	r = json_stacks_end(speedscope->stacks, command, &node->sample);
	node->has_sample = r == 0;
	return r;
}

/* Adds @weight to the node's stack. */
static int add_node(struct speedscope *speedscope, struct nodes *nodes, struct node *node,
		    const struct json_command *command, uint64_t weight)
{
	int r = node->has_sample ? 0 : make_sample(speedscope, nodes, node, command);

	if (r < 0)
		return r;
	return json_stacks_add(speedscope->stacks, node->sample, weight);
}

static int open_or_close(const struct speedscope *speedscope,
			 const struct speedscope_profile *profile, size_t i, struct nodes *nodes,
			 uint32_t *current)
{
	uint32_t frame = profile->frames.items[i];

	if (profile->ends.items[i])
		return find_node(nodes, *current, frame, current);
	if (*current == NO_NODE || nodes->items[*current].frame != frame)
		return json_stacks_fault(speedscope->stacks,
					 "event %zu of a profile closes frame %" PRIu32
					 ", which is not the one opened last",
					 i + 1, frame);
	*current = nodes->items[*current].parent;
	return 0;
}

static int walk_events(struct speedscope *speedscope, const struct speedscope_profile *profile,
		       const struct json_command *command, struct nodes *nodes)
{
	struct json_stacks *stacks = speedscope->stacks;
	uint32_t current = NO_NODE;
	uint64_t before = 0, now;
	int r;

	for (size_t i = 0; i < profile->ends.n; i++) {
		r = json_stacks_weight(stacks, &profile->numbers[i], profile->unit, &now);
		if (r < 0)
			return r;
		if (i && now < before)
			return json_stacks_fault(
				stacks, "event %zu of a profile is before the last", i + 1);
		if (current != NO_NODE && now > before) {
			r = add_node(speedscope, nodes, &nodes->items[current], command,
				     now - before);
			if (r < 0)
				return r;
		}
		before = now;
		r = open_or_close(speedscope, profile, i, nodes, &current);
		if (r < 0)
			return r;
	}
	return 0;
}

static int add_evented(struct speedscope *speedscope, const struct speedscope_profile *profile,
		       const struct json_command *command)
{
	struct nodes nodes = {0};
	int r = walk_events(speedscope, profile, command, &nodes);

	free(nodes.items);
	free(nodes.path);
	table_done(&nodes.index);
	return r;
}

/* The whole file */

static int make_room(struct speedscope *speedscope)
{
	for (int i = 0; i < 2; i++) {
		size_t n = (speedscope->n_frames + 1) * sizeof *speedscope->pieces[i];

		speedscope->pieces[i] = malloc(n);
		if (!speedscope->pieces[i])
			return -ENOMEM;
		memset(speedscope->pieces[i], 0xff, n);
	}
	return 0;
}

/* Sums of times and other values mean nothing. */
static int find_mode(struct speedscope *speedscope)
{
	const struct speedscope_profile *profiles = speedscope->profiles;
	bool is_time = speedscope->n_profiles ? profiles[0].unit != 0
					      : json_stacks_is_of_time(speedscope->stacks);

	for (size_t i = 1; i < speedscope->n_profiles; i++)
		if (!profiles[i].unit == is_time)
			return json_stacks_fault(speedscope->stacks,
						 "profile %zu of it holds %s, the first one %s",
						 i + 1, is_time ? "no times" : "times",
						 is_time ? "does" : "does not");
	return json_stacks_set_mode(speedscope->stacks, is_time);
}

int speedscope_finish(struct speedscope *speedscope)
{
	int r = find_mode(speedscope);

	if (r < 0)
		return r;
	r = make_room(speedscope);
	if (r < 0)
		return r;
	for (size_t i = 0; i < speedscope->n_profiles; i++) {
		const struct speedscope_profile *profile = &speedscope->profiles[i];
		struct json_command command;

		r = json_stacks_command(speedscope->stacks, profile->name, &command);
		if (r < 0)
			return r;
		r = profile->is_evented ? add_evented(speedscope, profile, &command)
					: add_sampled(speedscope, profile, &command);
		if (r < 0)
			return r;
	}
	return 0;
}
