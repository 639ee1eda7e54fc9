/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pprof: samples refer to later parts of the file, so they wait (pprof_samples.h) until all of it
 * is read (pprof_file.h). Then locations get their names (pprof_names.h), and each sample becomes
 * one of the profile, as if its frames were a folded line.
 */
#include "input/pprof.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/huge_pages.h"
#include "base/system.h"
#include "base/text.h"
#include "core/pprof_fields.h"
#include "input/folded_stack.h"
#include "input/pprof_extras.h"
#include "input/pprof_names.h"
#include "input/pprof_values.h"
#include "input/pprof_wire.h"

/* The labels we understand, including perf_data_converter's thread_comm. */
enum label {
	LABEL_COMM,
	LABEL_THREAD_COMM,
	LABEL_PID,
	LABEL_TID,
	LABEL_REASON,
	LABEL_IDLE,
	N_LABELS
};

// clang-format off
static const char *const label_names[N_LABELS] = {
	[LABEL_COMM]        = "comm",
	[LABEL_THREAD_COMM] = "thread_comm",
	[LABEL_PID]         = "pid",
	[LABEL_TID]         = "tid",
	[LABEL_REASON]      = "reason",
	[LABEL_IDLE]        = "idle",
};
// clang-format on

/* The meaning of a set of labels. */
struct labels {
	bool is_set;
	bool is_idle;
	enum off_reason reason;
	uint32_t command; /* piece */
	uint32_t pid, tid;
	uint32_t others; /* of the profile's extras */
};

struct pprof_reader {
	struct profile *profile;
	struct pprof_file file;
	struct pprof_values values;
	struct pprof_names names;
	struct folded_stack stack;
	struct labels *labels;	     /* by string id of the file's samples */
	struct pprof_label *decoded; /* of the sample that is read */
	size_t n_decoded, decoded_capacity;
	uint32_t label_keys[N_LABELS];	  /* string ids */
	uint32_t reasons[N_OFF_REASONS];  /* string ids: without brackets */
	uint32_t yes;			  /* string id */
	uint64_t total_count, total_time; /* of the profile */
	bool is_first;			  /* no earlier file held anything */
	bool has_rows;			  /* keep all values of samples */
};

/* Labels */

static int add_texts(struct pprof_reader *reader)
{
	struct strings *strings = &reader->profile->strings;
	int r = strings_add(strings, "true", &reader->yes);

	for (int i = 0; i < N_LABELS && r == 0; i++)
		r = strings_add(strings, label_names[i], &reader->label_keys[i]);
	for (int i = REASON_ONCPU; i < N_OFF_REASONS && r == 0; i++) {
		const char *text = off_reason_text(i);

		r = strings_add_bytes(strings, text + 1, strlen(text) - 2, &reader->reasons[i]);
	}
	return r;
}

static uint32_t to_number(int64_t number)
{
	return number > 0 && number <= UINT32_MAX ? number : 0;
}

static enum off_reason reason_of(const struct pprof_reader *reader, uint32_t text)
{
	for (int i = REASON_ONCPU; i < N_OFF_REASONS; i++)
		if (reader->reasons[i] == text)
			return i;
	return REASON_NONE;
}

/* @comms: string ids by label, 0: not there. Returns whether nothing of the label is left. */
static int read_label(const struct pprof_reader *reader, const struct pprof_label *label,
		      uint64_t at, struct labels *labels, uint32_t comms[N_LABELS])
{
	bool is_number = !label->text && !label->unit && to_number(label->number);
	bool is_text = label->text && !label->number && !label->unit;
	uint32_t key, text;
	int r = pprof_file_text(&reader->file, label->key, at, &key), which = 0;

	if (r < 0)
		return r;
	r = pprof_file_text(&reader->file, label->text, at, &text);
	if (r < 0)
		return r;
	while (which < N_LABELS && reader->label_keys[which] != key)
		which++;
	switch (which) {
	case LABEL_COMM:
	case LABEL_THREAD_COMM:
		if (!is_text || comms[which])
			return 0;
		comms[which] = text;
		return which == LABEL_COMM;
	case LABEL_PID:
		if (!is_number || labels->pid)
			return 0;
		labels->pid = label->number;
		return 1;
	case LABEL_TID:
		if (!is_number || labels->tid)
			return 0;
		labels->tid = label->number;
		return 1;
	case LABEL_REASON:
		if (!is_text || labels->reason != REASON_NONE)
			return 0;
		labels->reason = reason_of(reader, text);
		return labels->reason != REASON_NONE;
	case LABEL_IDLE:
		if (!is_text || labels->is_idle || text != reader->yes)
			return 0;
		labels->is_idle = true;
		return 1;
	default: return 0;
	}
}

/* Finds the piece of the command that the sample belongs to. */
static int find_command(struct pprof_reader *reader, const uint32_t comms[N_LABELS],
			uint32_t *ret_piece)
{
	/* Prefer the thread's name, as everywhere, to its process's. */
	uint32_t comm = comms[LABEL_THREAD_COMM] ? comms[LABEL_THREAD_COMM] : comms[LABEL_COMM];
	int r;

	if (!comm) {
		r = pprof_names_program(&reader->names, &comm);
		if (r < 0)
			return r;
		if (reader->is_first)
			reader->profile->extras.program = comm;
	}
	return pprof_names_command(&reader->names, comm, ret_piece);
}

/* Labels of a sample that are kept: fields of a message, one after another. */
static int decode_labels(struct pprof_reader *reader, const struct pprof_sample *sample)
{
	const struct strings *bytes = &reader->file.samples.labels;
	const uint8_t *at = (const uint8_t *)strings_get(bytes, sample->labels);
	struct wire wire = {at, at + strings_length(bytes, sample->labels)};
	struct wire_field field;
	int r;

	reader->n_decoded = 0;
	while ((r = wire_next(&wire, &field)) > 0) {
		uint64_t label[N_LABEL_FIELDS] = {0};

		if (!wire_numbers(field.bytes, field.value, label, N_LABEL_FIELDS))
			return pprof_file_fault(&reader->file, sample->at,
						"the labels of a sample cannot be decoded");
		r = array_add(reader->decoded, reader->decoded_capacity, reader->n_decoded,
			      (struct pprof_label){.key = label[LABEL_KEY],
						   .text = label[LABEL_STR],
						   .number = label[LABEL_NUM],
						   .unit = label[LABEL_UNIT]});
		if (r < 0)
			return r;
	}
	return r;
}

static int read_labels(struct pprof_reader *reader, const struct pprof_sample *sample,
		       struct labels *labels)
{
	uint32_t comms[N_LABELS] = {0};
	int r = decode_labels(reader, sample);

	if (r < 0)
		return r;
	for (size_t i = 0; i < reader->n_decoded; i++) {
		r = read_label(reader, &reader->decoded[i], sample->at, labels, comms);
		if (r < 0)
			return r;
		reader->decoded[i].is_kept = r == 0;
	}
	/* Keeps both names, because we would write a different one. */
	for (size_t i = 0; i < reader->n_decoded && comms[LABEL_THREAD_COMM]; i++) {
		struct pprof_label *label = &reader->decoded[i];
		uint32_t key;

		r = pprof_file_text(&reader->file, label->key, sample->at, &key);
		if (r < 0)
			return r;
		label->is_kept |= key == reader->label_keys[LABEL_COMM];
	}
	r = pprof_extras_labels(&reader->file, reader->profile, reader->decoded, reader->n_decoded,
				sample->at, &labels->others);
	if (r < 0)
		return r;
	r = find_command(reader, comms, &labels->command);
	labels->is_set = r == 0;
	return r;
}

static int find_labels(struct pprof_reader *reader, const struct pprof_sample *sample,
		       const struct labels **ret)
{
	struct labels *labels = &reader->labels[sample->labels];
	int r = labels->is_set ? 0 : read_labels(reader, sample, labels);

	*ret = labels;
	return r;
}

/* Samples */

static void push_frame(struct folded_stack *stack, uint32_t piece)
{
	const struct piece *item = &stack->pieces->items[piece];
	struct folded_frame *frame = &stack->frames[stack->n];

	*frame = (struct folded_frame){.piece = piece, .location = item->locations[0]};
	if (stack->n)
		frame->n_separators = frame[-1].n_separators + (item->mark == MARK_SEPARATOR);
	stack->n++;
}

/* Orders the sample's frames as in a folded line: [idle], the command, then all from the root. */
static int read_frames(struct pprof_reader *reader, const struct pprof_stack *from,
		       uint32_t command)
{
	struct folded_stack *stack = &reader->stack;
	bool has_command = false;
	int r = array_reserve(stack->frames, stack->capacity, 0, (size_t)from->n + 1);

	if (r < 0)
		return r;
	stack->n = 0;
	for (uint32_t i = from->n; i-- > 0;) {
		uint32_t piece;

		r = pprof_names_piece(&reader->names, from->locations[i], &piece);
		if (r < 0)
			return r;
		if (piece == PPROF_LEFT_OUT)
			continue;
		if (!has_command && reader->names.all.items[piece].mark != MARK_IDLE) {
			push_frame(stack, command);
			has_command = true;
		}
		push_frame(stack, piece);
		if (!has_command) {
			push_frame(stack, command);
			has_command = true;
		}
	}
	if (!has_command)
		push_frame(stack, command);
	return 0;
}

static int add_up(struct pprof_reader *reader, const struct pprof_sample *from,
		  const struct profile_sample *sample)
{
	if (__builtin_add_overflow(reader->total_count, sample->count, &reader->total_count) ||
	    __builtin_add_overflow(reader->total_time, sample->nanoseconds, &reader->total_time))
		return pprof_file_fault(&reader->file, from->at,
					"the values are too large to be added up");
	return 0;
}

/* Reads all of a sample except its labels and values. */
static int read_stack(struct pprof_reader *reader, struct pprof_stack *from,
		      const struct labels *labels, struct profile_sample *ret)
{
	const struct piece *command = &reader->names.all.items[labels->command];
	int r;

	*ret = (struct profile_sample){.comm = command->commands[0]};
	if (!from->made) {
		r = pprof_names_plain_stack(&reader->names, from->locations, from->n, &ret->stack);
		if (r < 0)
			return r;
		if (r > 0)
			from->made = ret->stack + 1;
	}
	if (from->made) {
		ret->stack = from->made - 1;
		return 0;
	}
	r = read_frames(reader, from, labels->command);
	if (r < 0)
		return r;
	return folded_stack_read(&reader->stack, 0, ret);
}

static int add_sample(struct pprof_reader *reader, size_t i)
{
	struct pprof_samples *samples = &reader->file.samples;
	const struct pprof_sample *from = &samples->items[i];
	struct profile_sample weights = {0}, sample;
	const struct labels *labels;
	uint32_t row = 0;
	int r = pprof_values_read(&reader->values, &reader->file, i, &weights);

	if (r < 0)
		return r;
	r = add_up(reader, from, &weights);
	if (r < 0)
		return r;
	if (reader->has_rows)
		r = pprof_extras_row(&reader->file, reader->profile, i, &row);
	if (r < 0 || (!weights.count && !weights.nanoseconds && !row))
		return r;
	r = find_labels(reader, from, &labels);
	if (r < 0)
		return r;
	r = read_stack(reader, &samples->stacks[from->stack], labels, &sample);
	if (r < 0)
		return r;
	sample.pid = labels->pid;
	sample.tid = labels->tid;
	sample.is_idle |= labels->is_idle;
	if (sample.reason == REASON_NONE)
		sample.reason = labels->reason;
	sample.count = weights.count;
	sample.nanoseconds = weights.nanoseconds;
	sample.labels = labels->others;
	sample.values = row;
	return profile_add_sample(reader->profile, &sample);
}

/* Reserves room for all stacks at once; growing would move them again and again. */
static int reserve_stacks(struct pprof_reader *reader)
{
	const struct pprof_samples *samples = &reader->file.samples;
	struct profile *profile = reader->profile;
	size_t n = 0;
	int r;

	for (size_t i = 0; i < samples->n_blocks; i++)
		n += samples->blocks[i].n;
	r = array_reserve(profile->stack_locations, profile->stack_locations_capacity,
			  profile->n_stack_locations, n);
	if (r == 0)
		huge_pages_ask(profile->stack_locations, profile->stack_locations_capacity *
								 sizeof *profile->stack_locations);
	return r;
}

static int add_samples(struct pprof_reader *reader)
{
	struct pprof_samples *samples = &reader->file.samples;
	int r = reserve_stacks(reader);

	if (r < 0)
		return r;
	reader->labels = calloc(samples->labels.n_strings, sizeof *reader->labels);
	if (!reader->labels)
		return -ENOMEM;
	for (size_t i = 0; i < samples->n; i++) {
		r = add_sample(reader, i);
		if (r < 0)
			return r;
		pprof_samples_release(samples, i);
	}
	return 0;
}

/* The whole file */

static void add_totals(struct pprof_reader *reader, const struct profile *profile)
{
	for (size_t i = 0; i < profile->n_samples; i++) {
		reader->total_count += profile->samples[i].count;
		reader->total_time += profile->samples[i].nanoseconds;
	}
}

static int read_comment(struct pprof_reader *reader, int64_t index)
{
	struct profile *profile = reader->profile;
	const struct {
		const char *name;
		uint32_t *text;
	} facts[] = {{"command: ", &profile->command_line},
		     {"host: ", &profile->host},
		     {"kernel: ", &profile->kernel}};
	uint32_t text;
	int r = pprof_file_text(&reader->file, index, 0, &text);

	if (r < 0)
		return r;
	if (strcmp(strings_get(&profile->strings, text), PROFILE_BY_THREAD) == 0) {
		profile->by_thread = true;
		return 0;
	}
	for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
		const char *comment = strings_get(&profile->strings, text);
		size_t n = strlen(facts[i].name);
		_cleanup_free_ char *copy = NULL;

		if (*facts[i].text || strncmp(comment, facts[i].name, n) != 0)
			continue;
		copy = strdup(comment + n);
		return copy ? strings_add(&profile->strings, copy, facts[i].text) : -ENOMEM;
	}
	if (text_begins(strings_get(&profile->strings, text), PPROF_EVENT))
		return 0;
	return extras_add_comment(&profile->extras, text);
}

/* Names the sampled or counted event, and its unit. */
static int name_event(struct pprof_reader *reader, struct profile_event *event)
{
	const struct pprof_values *values = &reader->values;
	struct strings *strings = &reader->profile->strings;
	int r = 0;

	if (values->event) {
		/* Copy it: adding a string may move it. */
		char *copy = strdup(values->event);

		r = copy ? strings_add(strings, copy, &event->name) : -ENOMEM;
		free(copy);
	}
	if (r < 0 || !values->is_counted)
		return r;
	r = pprof_file_text(&reader->file, values->name, 0, &event->name);
	if (r < 0)
		return r;
	if (values->is_time)
		return strings_add(strings, "nanoseconds", &event->unit);
	return pprof_file_text(&reader->file, values->counts, 0, &event->unit);
}

static int read_event(struct pprof_reader *reader, struct input *input, const char *name,
		      struct failure *failure)
{
	const struct pprof_values *values = &reader->values;
	struct profile_event event = {.is_counted = values->is_counted,
				      .is_unsampled = values->is_unsampled,
				      .period = values->period,
				      .frequency = values->frequency};
	int r = name_event(reader, &event);

	if (r < 0)
		return r;
	return input_set_event(input, &event, name, failure);
}

/* The first file sets the facts; later ones add their time. */
static int read_facts(struct pprof_reader *reader, bool is_first)
{
	const struct pprof_file *file = &reader->file;
	struct profile *profile = reader->profile;
	int r = 0;

	if (!profile->start_realtime_ns && file->time_nanos > 0)
		profile->start_realtime_ns = file->time_nanos;
	if (file->duration_nanos > 0)
		profile->duration_ns += file->duration_nanos;
	if (is_first)
		profile->frequency = reader->values.frequency;
	else if (profile->frequency != reader->values.frequency)
		profile->frequency = 0;
	for (size_t i = 0; i < file->n_comments && r == 0; i++)
		r = read_comment(reader, file->comments[i]);
	return r;
}

static int read_fields(struct pprof_reader *reader, struct input *input, struct stream *stream,
		       struct failure *failure)
{
	bool is_first = reader->is_first = !input_earlier(input);
	int r = pprof_file_read(&reader->file, stream, &reader->profile->strings,
				reader->profile->in_order, failure);

	if (r < 0)
		return r;
	r = pprof_values_choose(&reader->file, input->options.sample_type, &reader->values);
	if (r < 0)
		return r;
	r = input_set_mode(input, reader->values.mode, stream->name, failure);
	if (r < 0)
		return r;
	r = read_event(reader, input, stream->name, failure);
	if (r < 0)
		return r;
	r = add_texts(reader);
	if (r < 0)
		return r;
	r = pprof_names_init(&reader->names, &reader->file, reader->profile,
			     input->options.no_inline);
	if (r < 0)
		return r;
	reader->stack.pieces = &reader->names.all;
	add_totals(reader, reader->profile);
	reader->profile->extras.has_main_mapping |= is_first && reader->file.n_mappings;
	r = pprof_extras_types(&reader->file, &reader->values, reader->profile, is_first,
			       &reader->has_rows);
	if (r < 0)
		return r;
	r = add_samples(reader);
	if (r < 0)
		return r;
	if (is_first)
		r = pprof_extras_frames(&reader->file, reader->profile);
	if (r < 0)
		return r;
	return read_facts(reader, is_first);
}

int pprof_read(struct input *input, struct stream *stream, struct failure *failure)
{
	struct pprof_reader reader = {.profile = input->profile};
	int r;

	*failure->what = '\0';
	r = read_fields(&reader, input, stream, failure);
	if (r == -E2BIG && !*failure->what)
		failure_set(failure, r, "%s: more different names or stacks than can be numbered",
			    stream->name);
	else if (r < 0 && !*failure->what)
		failure_set(failure, r, "%s: %s", stream->name, strerror(-r));
	free(reader.labels);
	free(reader.decoded);
	folded_stack_done(&reader.stack);
	pprof_names_done(&reader.names);
	pprof_file_done(&reader.file);
	return r;
}
