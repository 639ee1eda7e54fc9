/* SPDX-License-Identifier: GPL-2.0-or-later */
/* perf_script: parses each distinct frame line once. Recordings repeat few of them many times. */
#include "input/perf_script.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "input/lines.h"
#include "input/perf_line.h"
#include "input/perf_names.h"
#include "input/values.h"

/* A location holds at most this many functions inlined into each other. */
#define MAX_INLINED 256
/* Lines examined at the beginning. */
#define MAX_LOOK  400
#define MAX_STACK ((size_t)1 << 20)

/* A distinct line of a frame. */
struct known_frame {
	bool is_frame, is_inlined;
	uint64_t address;
	struct profile_frame frame;
	uint32_t mapping;
	uint32_t location; /* + 1, of this frame alone; 0: not needed yet */
};

struct reader {
	struct input *input;
	struct profile *profile;
	struct lines lines;
	struct strings texts; /* frames' lines; a text's number is its known frame's */
	struct known_frame *known;
	size_t n_known, known_capacity;

	bool has_time;			  /* a header had a time: all do */
	bool has_event;			  /* one was chosen: the first, or the requested one */
	bool is_first;			  /* no earlier file held anything */
	uint64_t n_understood, n_strange; /* lines: headers and frames; neither, nor comments */
	bool is_refused;  /* its event can't be added to that of earlier files; *failure is set */
	bool other_event; /* the current frames belong to another event */
	uint32_t event;	  /* string id */
	uint64_t period;  /* of all samples; 0: they vary, or have none */

	/* The current sample. */
	bool in_sample;
	struct profile_sample sample;
	uint32_t *locations; /* leaf first */
	size_t n_locations, locations_capacity;
	/* Wait for the function they are inlined into. */
	struct profile_frame inlined[MAX_INLINED];
	uint32_t n_inlined, inlined_mapping;
	uint64_t inlined_address;
};

static void skip_line(struct reader *reader)
{
	struct input_stats *stats = &reader->input->stats;

	reader->n_strange++;
	if (!stats->skipped++)
		stats->first_skipped = reader->lines.number;
}

/* Samples */

static int push_location(struct reader *reader, uint32_t location)
{
	return array_add(reader->locations, reader->locations_capacity, reader->n_locations,
			 location);
}

/* Pushes a location of @n frames; the last one is not inlined. */
static int push_named(struct reader *reader, uint32_t mapping, const struct profile_frame *frames,
		      uint32_t n)
{
	uint32_t location;
	int r;

	if (reader->input->options.no_inline) {
		frames += n - 1;
		n = 1;
	}
	r = profile_add_named(reader->profile, mapping, frames, n, &location);
	if (r < 0)
		return r;
	return push_location(reader, location);
}

/*
 * Ends a run of inlined functions. None of them has an address of its own, so the last one is the
 * function that was called. perf marks that as inlined, too, if the symbol at its address has
 * another name, such as `work.constprop.0` for `work`.
 */
static int end_inlined(struct reader *reader)
{
	uint32_t n = reader->n_inlined;

	if (!n)
		return 0;
	reader->n_inlined = 0;
	reader->inlined[n - 1].kind = perf_kind_of_address(reader->inlined_address);
	return push_named(reader, reader->inlined_mapping, reader->inlined, n);
}

static int end_sample(struct reader *reader)
{
	int r;

	if (!reader->in_sample)
		return 0;
	reader->in_sample = false;
	r = end_inlined(reader);
	if (r < 0)
		return r;
	r = profile_add_stack(reader->profile, reader->locations, reader->n_locations,
			      STACK_COMPLETE, &reader->sample.stack);
	if (r < 0)
		return r;
	reader->n_locations = 0;
	return profile_add_sample(reader->profile, &reader->sample);
}

static void begin_sample(struct reader *reader)
{
	reader->in_sample = true;
	reader->sample = (struct profile_sample){.count = 1};
}

/* Frames */

static int know_frame(struct reader *reader, const struct line *line, struct known_frame *ret)
{
	struct known_frame known = {0};
	struct perf_frame frame;
	int r = 0;

	known.is_frame = perf_frame_parse(line->text, line->n, &frame);
	if (known.is_frame) {
		known.is_inlined = frame.is_inlined;
		known.address = frame.address;
		r = perf_name(reader->profile, &frame, &known.frame, &known.mapping);
	}
	if (r == 0)
		*ret = known;
	return r;
}

static int find_frame(struct reader *reader, const struct line *line, struct known_frame **ret)
{
	uint32_t id;
	int r = strings_add_bytes(&reader->texts, line->text, line->n, &id);

	if (r < 0)
		return r;
	/* Number 0 is the empty text. */
	while (reader->n_known <= id) {
		r = array_reserve(reader->known, reader->known_capacity, reader->n_known, 1);
		if (r < 0)
			return r;
		r = know_frame(reader, line, &reader->known[reader->n_known]);
		if (r < 0)
			return r;
		reader->n_known++;
	}
	*ret = &reader->known[id];
	return 0;
}

static int push_inlined(struct reader *reader, const struct known_frame *known)
{
	/* Leave room for the function they are inlined into. */
	if (reader->n_inlined == MAX_INLINED - 1)
		return -E2BIG;
	reader->inlined_address = known->address;
	reader->inlined_mapping = known->mapping;
	reader->inlined[reader->n_inlined++] = known->frame;
	return 0;
}

/* Pushes a frame that is not inlined, with the functions waiting to be inlined into it. */
static int push_frame(struct reader *reader, struct known_frame *known)
{
	uint32_t n = reader->n_inlined, location;
	int r;

	if (n) {
		reader->n_inlined = 0;
		reader->inlined[n] = known->frame;
		return push_named(reader, known->mapping, reader->inlined, n + 1);
	}
	if (!known->location) {
		r = profile_add_named(reader->profile, known->mapping, &known->frame, 1, &location);
		if (r < 0)
			return r;
		known->location = location + 1;
	}
	return push_location(reader, known->location - 1);
}

/* `  FILE:LINE` below a frame, as `-F +srcline` writes. */
static bool is_place(const struct reader *reader, const struct line *line)
{
	return (reader->n_locations || reader->n_inlined) && line->n > 2 && line->text[0] == ' ' &&
	       line->text[1] == ' ' && line->text[2] != ' ';
}

static int add_frame(struct reader *reader, const struct line *line)
{
	struct known_frame *known;
	int r;

	reader->n_understood++;
	if (reader->other_event)
		return 0;
	r = find_frame(reader, line, &known);
	if (r < 0)
		return r;
	if (!known->is_frame) {
		reader->n_understood--;
		if (!is_place(reader, line))
			skip_line(reader);
		return 0;
	}
	if (!reader->in_sample)
		begin_sample(reader);
	if (reader->n_locations == MAX_STACK)
		return -E2BIG;
	if (reader->n_inlined && reader->inlined_address != known->address)
		r = end_inlined(reader);
	if (r < 0)
		return r;
	return known->is_inlined ? push_inlined(reader, known) : push_frame(reader, known);
}

/* Events */

/* Compares without modifiers: `cycles` matches `cycles:u`. */
static bool is_called(const struct perf_part *event, const char *name)
{
	size_t n = strlen(name);

	return event->n >= n && memcmp(event->text, name, n) == 0 &&
	       (event->n == n || event->text[n] == ':');
}

/*
 * A clock's samples all count for the same time, so they count as samples; other events weigh what
 * they count.
 */
static bool is_clock(const struct perf_part *event)
{
	return is_called(event, "cpu-clock") || is_called(event, "task-clock");
}

static void copy_name(char to[static INPUT_EVENT_SIZE], const struct perf_part *event)
{
	size_t n = event->n < INPUT_EVENT_SIZE ? event->n : INPUT_EVENT_SIZE - 1;

	if (n)
		memcpy(to, event->text, n);
	to[n] = '\0';
}

static int choose_event(struct reader *reader, const struct perf_header *header)
{
	struct profile_event event = {.is_counted = header->event.n && header->period &&
						    !is_clock(&header->event)};
	struct lines *lines = &reader->lines;
	int r = strings_add_bytes(&reader->profile->strings,
				  header->event.n ? header->event.text : "", header->event.n,
				  &reader->event);

	if (r < 0)
		return r;
	event.name = reader->event;
	r = input_set_event(reader->input, &event, lines->stream->name, lines->failure);
	reader->has_event = r == 0;
	reader->is_refused = r < 0;
	reader->period = event.is_counted ? header->period : 0;
	copy_name(reader->input->stats.event, &header->event);
	return r;
}

static void count_other(struct reader *reader, const struct perf_header *header)
{
	struct input_stats *stats = &reader->input->stats;

	reader->other_event = true;
	if (!stats->other_events++)
		copy_name(stats->other_event, &header->event);
}

/* Whether the event is the chosen one. */
static bool is_event(const struct reader *reader, const struct perf_part *event)
{
	const struct strings *strings = &reader->profile->strings;

	return strings_length(strings, reader->event) == event->n &&
	       (!event->n ||
		memcmp(strings_get(strings, reader->event), event->text, event->n) == 0);
}

/* Sums of several events mean nothing: one is read, the others are counted. */
static int check_event(struct reader *reader, const struct perf_header *header)
{
	const char *wanted = reader->input->options.event;
	int r = 0;

	reader->other_event = false;
	if (!reader->has_event && (!wanted || is_called(&header->event, wanted)))
		r = choose_event(reader, header);
	if (r < 0)
		return r;
	if (!reader->has_event || !is_event(reader, &header->event))
		count_other(reader, header);
	return 0;
}

static void weigh_sample(struct reader *reader, const struct perf_header *header)
{
	if (!profile_is_counted(reader->profile))
		return;
	reader->sample.nanoseconds = header->period ? header->period : 1;
	if (header->period != reader->period)
		reader->period = 0;
}

/* Lines */

static int add_header(struct reader *reader, const struct perf_header *header)
{
	struct perf_frame frame;
	int r = end_sample(reader);

	if (r < 0)
		return r;
	reader->n_understood++;
	/* A note about the recording or a process. */
	if (header->event.n >= 12 && memcmp(header->event.text, "PERF_RECORD_", 12) == 0)
		return 0;
	r = check_event(reader, header);
	if (r < 0 || reader->other_event)
		return r;
	begin_sample(reader);
	weigh_sample(reader, header);
	reader->sample.pid = header->pid;
	reader->sample.tid = header->tid;
	r = strings_add_bytes(&reader->profile->strings, header->comm.text, header->comm.n,
			      &reader->sample.comm);
	if (r < 0)
		return r;
	/* Without call graphs a sample is a single line. */
	if (perf_frame_parse(header->rest.text, header->rest.n, &frame) && frame.file.n) {
		struct line rest = {(char *)header->rest.text, header->rest.n};

		return add_frame(reader, &rest);
	}
	return 0;
}

static bool is_blank(const struct line *line)
{
	for (size_t i = 0; i < line->n; i++)
		if (line->text[i] != ' ' && line->text[i] != '\t')
			return false;
	return true;
}

/* Frames without indentation, as older versions of perf write them. */
static bool is_bare_frame(const struct reader *reader, const struct line *line)
{
	struct perf_frame frame;

	return reader->in_sample && perf_frame_parse(line->text, line->n, &frame) &&
	       (frame.file.n || frame.is_inlined);
}

static int read_line(struct reader *reader, const struct line *line)
{
	struct perf_header header;

	/* A sample ends with a blank line, but one below its header comes before its frames. */
	if (is_blank(line))
		return reader->n_locations || reader->n_inlined ? end_sample(reader) : 0;
	if (memchr(line->text, '\0', line->n))
		return -EINVAL;
	if (perf_header_parse(line->text, line->n, &header) &&
	    (header.has_time || !reader->has_time)) {
		reader->has_time = header.has_time;
		return add_header(reader, &header);
	}
	if (line->text[0] == ' ' || line->text[0] == '\t' || is_bare_frame(reader, line))
		return add_frame(reader, line);
	if (line->text[0] != '#')
		skip_line(reader);
	return 0;
}

static int fail_line(const struct reader *reader, int error)
{
	if (reader->is_refused)
		return error;
	switch (error) {
	case -EINVAL:
		return lines_fail(&reader->lines, error, "a NUL byte; this is not a text file");
	case -E2BIG: return lines_fail(&reader->lines, error, "this stack has too many frames");
	default: return lines_fail(&reader->lines, error, strerror(-error));
	}
}

static int read_lines(struct reader *reader)
{
	struct line line;
	int r;

	while ((r = lines_next(&reader->lines, &line)) > 0) {
		r = read_line(reader, &line);
		if (r < 0)
			return fail_line(reader, r);
	}
	if (r < 0)
		return r;
	r = end_sample(reader);
	return r < 0 ? fail_line(reader, r) : 0;
}

/* Text that looks like perf's here and there is that of another program. */
static int check_lines(const struct reader *reader)
{
	if (reader->n_strange <= reader->n_understood)
		return 0;
	return failure_set(reader->lines.failure, -EINVAL,
			   "%s: neither folded lines nor the text of perf script: "
			   "%" PRIu64 " of its %" PRIu64
			   " lines are neither samples nor frames, the first is line %" PRIu64,
			   reader->lines.stream->name, reader->n_strange, reader->lines.number,
			   reader->input->stats.first_skipped);
}

static int finish_event(struct reader *reader)
{
	const char *wanted = reader->input->options.event;

	if (!reader->has_event && wanted)
		return failure_set(reader->lines.failure, -EINVAL,
				   "%s: has no samples of event %.64s, but of %s",
				   reader->lines.stream->name, wanted,
				   reader->input->stats.other_events
					   ? reader->input->stats.other_event
					   : "none");
	if (reader->is_first && reader->period)
		reader->profile->events[0].period = reader->period;
	return 0;
}

static int read_script(struct reader *reader)
{
	int r = strings_init(&reader->texts);

	if (r < 0)
		return fail_line(reader, r);
	r = read_lines(reader);
	if (r < 0)
		return r;
	r = check_lines(reader);
	if (r < 0)
		return r;
	return finish_event(reader);
}

int perf_script_read(struct input *input, struct stream *stream, struct failure *failure)
{
	struct reader *reader;
	int r;

	if (input->profile->mode != PROFILE_ONCPU)
		return failure_set(failure, -EINVAL,
				   "%s: holds samples, where the files before it hold times",
				   stream->name);
	reader = calloc(1, sizeof *reader);
	if (!reader)
		return failure_set(failure, -ENOMEM, "%s: %s", stream->name, strerror(ENOMEM));
	reader->input = input;
	reader->profile = input->profile;
	reader->is_first = !input_earlier(input);
	reader->lines = (struct lines){.stream = stream, .failure = failure};
	r = read_script(reader);
	input->stats.lines += reader->lines.number;
	strings_done(&reader->texts);
	free(reader->known);
	free(reader->locations);
	free(reader);
	return r;
}

/* Detection */

enum look { LOOK_ON, LOOK_PERF, LOOK_OTHER };

static enum look look_at(const struct line *line)
{
	struct perf_header header;
	struct perf_frame frame;
	struct value value;

	if (is_blank(line))
		return LOOK_ON;
	if (perf_header_parse(line->text, line->n, &header) && header.has_time)
		return LOOK_PERF;
	if (line->text[0] == '#')
		return LOOK_ON;
	if (perf_frame_parse(line->text, line->n, &frame) &&
	    (line->text[0] == '\t' || line->text[0] == ' ' || frame.file.n) &&
	    (perf_frame_is_named(&frame) ? value_read(line->text, line->n, &value) == 0
					 : line->text[0] == '\t'))
		return LOOK_PERF;
	/* The first line of a sample without a time may end in a number, too. */
	if (memchr(line->text, ';', line->n) && value_read(line->text, line->n, &value) == 1)
		return LOOK_OTHER;
	return LOOK_ON;
}

bool perf_script_is(const struct stream *stream)
{
	const char *bytes = stream_bytes(stream);
	size_t left = stream_available(stream);
	enum look look = LOOK_ON;

	for (int i = 0; i < MAX_LOOK && left && look == LOOK_ON; i++) {
		const char *end = memchr(bytes, '\n', left);
		struct line line = {(char *)bytes, end ? (size_t)(end - bytes) : left};

		if (line.n && bytes[line.n - 1] == '\r')
			line.n--;
		look = look_at(&line);
		left -= end ? (size_t)(end + 1 - bytes) : left;
		bytes = end ? end + 1 : bytes;
	}
	return look == LOOK_PERF;
}
