/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "input/json_stacks.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/*
 * Where a file has stacks as a tree, a small file can mean unbounded stacks. This many frames, plus
 * one per byte of the file, suffice for a million stacks of 50.
 */
#define MIN_FRAMES ((uint64_t)1 << 26)

int json_stacks_fault(const struct json_stacks *stacks, const char *format, ...)
{
	char what[256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(what, sizeof what, format, arguments);
	va_end(arguments);
	return failure_set(stacks->reader->failure, -EINVAL, "%s: %s", stacks->reader->stream->name,
			   what);
}

int json_stacks_init(struct json_stacks *stacks, struct input *input, struct json_reader *reader)
{
	const struct profile *profile = input->profile;
	int r;

	*stacks = (struct json_stacks){.input = input,
				       .reader = reader,
				       .profile = input->profile,
				       .is_first = !input_earlier(input)};
	r = pieces_init(&stacks->pieces, input->profile, NULL);
	stacks->stack.pieces = &stacks->pieces;
	stacks->stack.no_inline = input->options.no_inline;
	for (size_t i = 0; i < profile->n_samples; i++) {
		stacks->total_count += profile->samples[i].count;
		stacks->total_time += profile->samples[i].nanoseconds;
	}
	return r;
}

void json_stacks_done(struct json_stacks *stacks)
{
	pieces_done(&stacks->pieces);
	folded_stack_done(&stacks->stack);
}

/* Columns and texts */

int json_column_add(struct json_column *column, uint32_t item)
{
	int r = 0;

	if (column->n == column->capacity)
		r = array_reserve(column->items, column->capacity, column->n, 1);
	if (r == 0)
		column->items[column->n++] = item;
	return r;
}

int json_column_read(struct json_column *column, struct json_reader *reader)
{
	int r = json_reader_begin(reader, '[');

	while (r == 0 && (r = json_reader_item(reader)) > 0) {
		uint32_t item;

		r = json_reader_index(reader, &item);
		if (r < 0)
			return r;
		r = json_column_add(column, item);
	}
	return r;
}

int json_stacks_text(struct json_stacks *stacks, uint32_t *ret_text)
{
	const char *text;
	size_t n;
	int r;

	if (json_reader_peek(stacks->reader) != JSON_TEXT)
		return json_reader_skip(stacks->reader);
	r = json_reader_text(stacks->reader, &text, &n);
	if (r < 0)
		return r;
	return strings_add_bytes(&stacks->profile->strings, text, n, ret_text);
}

int json_stacks_number(struct json_stacks *stacks, struct json_number *ret)
{
	if (json_reader_peek(stacks->reader) != JSON_NUMBER)
		return json_reader_skip(stacks->reader);
	return json_reader_number(stacks->reader, ret);
}

/* The mode */

bool json_stacks_is_of_time(const struct json_stacks *stacks)
{
	return stacks->facts.has_mode && stacks->facts.mode != PROFILE_ONCPU;
}

int json_stacks_set_mode(struct json_stacks *stacks, bool is_time)
{
	/*
	 * Other producers' times lie between an entry and an exit, or belong to threads that may
	 * wait.
	 */
	enum profile_mode mode = is_time ? PROFILE_WALL : PROFILE_ONCPU;
	struct profile_event event = stacks->facts.event;
	int r;

	if (stacks->is_bytes && !event.name) {
		event.is_counted = event.is_unsampled = true;
		r = strings_add(&stacks->profile->strings, "bytes", &event.name);
		if (r < 0)
			return r;
	}
	event.frequency = stacks->facts.frequency;
	if (stacks->facts.has_mode && json_stacks_is_of_time(stacks) == is_time)
		mode = stacks->facts.mode;
	event.is_counted &= event.name && !is_time;
	r = input_set_mode(stacks->input, mode, stacks->reader->stream->name,
			   stacks->reader->failure);
	if (r < 0)
		return r;
	return input_set_event(stacks->input, &event, stacks->reader->stream->name,
			       stacks->reader->failure);
}

/* Pieces */

static uint8_t json_frame_kind(const struct json_frame *frame, const char *name, size_t *n)
{
	enum frame_kind kind = mark_suffix(name, *n);

	if (frame->kind == JSON_KIND_BY_NAME && !frame->is_inlined && kind != FRAME_USER) {
		*n -= MARK_SUFFIX;
		return kind;
	}
	return frame->is_inlined		      ? FRAME_INLINED
	       : frame->kind == JSON_KIND_KERNEL      ? FRAME_KERNEL
	       : frame->kind == JSON_KIND_JIT	      ? FRAME_JIT
	       : frame->kind == JSON_KIND_INTERPRETED ? FRAME_INTERPRETED
						      : FRAME_USER;
}

static int find_mapping(struct json_stacks *stacks, const struct json_frame *frame, uint8_t kind,
			uint32_t *ret_mapping)
{
	static const struct {
		const char *module;
		enum mapping_kind kind;
		// clang-format off
	} known[] = {
		{"[kernel]", MAPPING_KERNEL},
		{"[vdso]",   MAPPING_VDSO},
		{"[anon]",   MAPPING_ANON},
	};
	// clang-format on
	struct profile_mapping mapping = {.kind = MAPPING_UNKNOWN};
	const char *module = strings_get(&stacks->profile->strings, frame->module);

	if (frame->module) {
		mapping.kind = MAPPING_FILE;
		mapping.path = frame->module;
	}
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (strcmp(module, known[i].module) == 0)
			mapping = (struct profile_mapping){.kind = known[i].kind};
	if (kind == FRAME_KERNEL || frame->kind == JSON_KIND_KERNEL)
		mapping.kind = MAPPING_KERNEL;
	return profile_add_mapping(stacks->profile, &mapping, ret_mapping);
}

static int add_piece(struct json_stacks *stacks, const struct piece *piece, uint32_t *ret_piece)
{
	struct pieces *pieces = &stacks->pieces;

	if (pieces->n_items >= JSON_UNSET)
		return -E2BIG;
	*ret_piece = pieces->n_items;
	return array_add(pieces->items, pieces->capacity, pieces->n_items, *piece);
}

static struct piece piece_of(const struct profile *profile, uint32_t text, uint8_t kind)
{
	return (struct piece){.text = profile->strings.offsets[text],
			      .n = strings_length(&profile->strings, text),
			      .kind = kind,
			      .locations = {PIECE_UNSET, PIECE_UNSET},
			      .commands = {PIECE_UNSET, PIECE_UNSET}};
}

/* The function's name without the suffix for its kind. */
static int cut_name(struct json_stacks *stacks, uint32_t name, size_t n, uint32_t *ret)
{
	struct strings *strings = &stacks->profile->strings;
	char *copy;
	int r;

	*ret = name;
	if (n == strings_length(strings, name))
		return 0;
	copy = strndup(strings_get(strings, name), n);
	r = copy ? strings_add_bytes(strings, copy, n, ret) : -ENOMEM;
	free(copy);
	return r;
}

int json_stacks_piece(struct json_stacks *stacks, const struct json_frame *from,
		      uint32_t *ret_piece)
{
	struct strings *strings = &stacks->profile->strings;
	size_t n = strings_length(strings, from->name);
	struct profile_frame frame = {.file = from->file, .line = from->line};
	struct piece piece;
	uint32_t mapping;
	int r;

	frame.kind = json_frame_kind(from, strings_get(strings, from->name), &n);
	r = cut_name(stacks, from->name, n, &frame.function);
	if (r < 0)
		return r;
	r = find_mapping(stacks, from, frame.kind, &mapping);
	if (r < 0)
		return r;
	piece = piece_of(stacks->profile, frame.function, frame.kind);
	if (frame.kind == FRAME_USER)
		piece_set_mark(&piece, strings->bytes + piece.text, piece.n);
	/* It may be the command, which is a frame if the stack has nothing else. */
	if (from->kind == JSON_KIND_NOTE)
		piece.commands[0] = frame.function;
	r = profile_add_named(stacks->profile, mapping, &frame, 1, &piece.locations[0]);
	if (r < 0)
		return r;
	return add_piece(stacks, &piece, ret_piece);
}

/* Splits `comm-PID/TID`, if the file names its threads so. */
static int split_thread(struct json_stacks *stacks, struct json_command *command, uint32_t *comm)
{
	struct strings *strings = &stacks->profile->strings;
	const char *text = strings_get(strings, command->name);
	size_t n = strings_length(strings, command->name);

	*comm = command->name;
	if (!stacks->facts.by_thread ||
	    !piece_split_thread(text, n, &n, &command->pid, &command->tid))
		return 0;
	return cut_name(stacks, command->name, n, comm);
}

int json_stacks_command(struct json_stacks *stacks, uint32_t name, struct json_command *command)
{
	struct piece piece;
	uint32_t comm;
	int r;

	*command = (struct json_command){.name = name};
	r = split_thread(stacks, command, &comm);
	if (r < 0)
		return r;
	piece = piece_of(stacks->profile, comm, FRAME_USER);
	piece.commands[0] = comm;
	return add_piece(stacks, &piece, &command->piece);
}

/* Stacks */

void json_stacks_begin(struct json_stacks *stacks)
{
	/* The first frame is the command's. */
	stacks->stack.n = 1;
}

static int put_frame(struct folded_stack *stack, size_t i, uint32_t piece)
{
	int r = 0;

	if (i >= stack->capacity)
		r = array_reserve(stack->frames, stack->capacity, i, 1);
	if (r == 0)
		stack->frames[i] = (struct folded_frame){
			.piece = piece, .location = stack->pieces->items[piece].locations[0]};
	return r;
}

int json_stacks_push(struct json_stacks *stacks, uint32_t piece)
{
	struct folded_stack *stack = &stacks->stack;
	int r;

	if (stack->n > FOLDED_MAX_FRAMES)
		return json_stacks_fault(stacks, "a stack has more than 1048576 frames");
	if (stacks->n_frames++ == MIN_FRAMES + stacks->reader->stream->taken)
		return json_stacks_fault(stacks, "its stacks have more than %llu frames together",
					 (unsigned long long)stacks->n_frames - 1);
	r = put_frame(stack, stack->n, piece);
	stack->n += r == 0;
	return r;
}

int json_stacks_end(struct json_stacks *stacks, const struct json_command *command,
		    struct profile_sample *ret)
{
	struct folded_stack *stack = &stacks->stack;
	const struct piece *items = stacks->pieces.items;
	struct folded_frame *frames;
	int r = put_frame(stack, 0, command->piece);

	if (r < 0)
		return r;
	frames = stack->frames;
	/* In our files the command is a frame if the stack has nothing else. */
	if (stack->n == 2 && items[frames[1].piece].commands[0] == command->name)
		stack->n = 1;
	/* [idle] precedes the command, as in folded lines. */
	if (stack->n > 1 && items[frames[1].piece].mark == MARK_IDLE) {
		struct folded_frame idle = frames[1];

		frames[1] = frames[0];
		frames[0] = idle;
	}
	for (size_t i = 1; i < stack->n; i++)
		frames[i].n_separators = frames[i - 1].n_separators +
					 (items[frames[i].piece].mark == MARK_SEPARATOR);
	r = folded_stack_read(stack, 0, ret);
	if (r == 0) {
		ret->pid = command->pid;
		ret->tid = command->tid;
	}
	return r;
}

/* Weights */

int json_stacks_weight(struct json_stacks *stacks, const struct json_number *number, uint64_t unit,
		       uint64_t *ret)
{
	uint64_t weight, rest = 0;

	if (number->is_negative && (number->whole || number->billionths))
		return json_stacks_fault(
			stacks, "has negative values, like the difference of two profiles");
	if (stacks->profile->mode == PROFILE_ONCPU) {
		unit = 1;
		stacks->input->stats.rounded += number->billionths != 0;
	}
	rest = (number->billionths * unit + 500000000) / 1000000000;
	if (__builtin_mul_overflow(number->whole, unit, &weight) ||
	    __builtin_add_overflow(weight, rest, &weight))
		return json_stacks_fault(stacks, "a value is too large");
	*ret = weight;
	return 0;
}

int json_stacks_add(struct json_stacks *stacks, struct profile_sample sample, uint64_t weight)
{
	const struct profile *profile = stacks->profile;

	if (!weight)
		return 0;
	sample.count = weight;
	if (profile_is_counted(profile)) {
		uint64_t period = profile_event(profile)->period;

		sample.count = period ? weight / period + (weight % period != 0) : 1;
		sample.nanoseconds = weight;
	} else if (profile->mode != PROFILE_ONCPU) {
		sample.count = 1;
		sample.nanoseconds = weight;
	}
	if (__builtin_add_overflow(stacks->total_count, sample.count, &stacks->total_count) ||
	    __builtin_add_overflow(stacks->total_time, sample.nanoseconds, &stacks->total_time))
		return json_stacks_fault(stacks, "the values are too large to be added up");
	return profile_add_sample(stacks->profile, &sample);
}

void json_stacks_finish(struct json_stacks *stacks)
{
	facts_add(stacks->profile, &stacks->facts, stacks->is_first);
}
