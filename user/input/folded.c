/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * folded: built for speed. Files are mostly sorted, so a line often begins like the one before:
 * that part is compared, not parsed, and its frames are kept. The rest is cut into names, each
 * hashed and looked up in one pass (pieces.h). Nothing is copied.
 */
#include "input/folded.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "input/folded_stack.h"
#include "input/lines.h"
#include "input/values.h"

/* Where values go: one column to the first profile; two to the second, then to the first. */
enum { NEW = 0, BASE = 1 };

struct side {
	struct profile *profile;
	size_t first_sample; /* first one that this file may have added to */
	uint64_t total;	     /* of the profile's values */
};

struct reader {
	struct input *input;
	struct failure *failure;
	struct lines lines;
	struct pieces pieces;
	struct folded_stack stack;
	struct side sides[PIECE_SIDES];
	int n_columns;
	const char *before; /* the previous line; its stack's last `;` ends it */
	size_t n_before;    /* 0: it is gone */
	/*
	 * The profile was empty, so the end of this file decides its mode. Until then, samples hold
	 * the plain values, and the number of lines in place of nanoseconds.
	 */
	bool is_raw;
	uint64_t overflow_line; /* first line at which a total overflows in nanoseconds */
};

/* The values at the end of a line. */
struct values {
	struct value sides[PIECE_SIDES];
	size_t n; /* bytes of the stack before them */
};

static size_t trimmed(const char *text, size_t n)
{
	while (n && (text[n - 1] == ' ' || text[n - 1] == '\t'))
		n--;
	return n;
}

/* Up to @n_columns values. Returns their number, or -ERANGE. */
static int read_values(const struct line *line, int n_columns, struct values *ret)
{
	size_t n = trimmed(line->text, line->n);
	int r = value_read(line->text, n, &ret->sides[NEW]);

	if (r <= 0)
		return r;
	ret->n = ret->sides[NEW].n;
	if (n_columns == 1)
		return 1;
	r = value_read(line->text, ret->n, &ret->sides[BASE]);
	if (r <= 0)
		return r < 0 ? r : 1;
	ret->n = ret->sides[BASE].n;
	return 2;
}

/* Empty lines and `# …`. `#…` only without a value: a command's name may begin with #. */
static bool is_no_stack(const struct line *line)
{
	struct values values;

	if (!trimmed(line->text, line->n))
		return true;
	if (line->text[0] != '#')
		return false;
	return line->n == 1 || line->text[1] == ' ' || read_values(line, 1, &values) == 0;
}

#define HEADER "# bpfflame "

/* What export_folded() writes before the lines. */
static bool is_header(const struct line *line)
{
	return line->n > strlen(HEADER) && memcmp(line->text, HEADER, strlen(HEADER)) == 0;
}

static bool is_key(const char *text, size_t n, const char *key)
{
	return n == strlen(key) && memcmp(text, key, n) == 0;
}

/* `NAME<TAB>function;function;…` */
static int read_module(struct reader *reader, const char *text, const char *end)
{
	const char *tab = memchr(text, '\t', end - text), *at = tab + 1;

	if (!tab || tab == text)
		return 0;
	while (at < end && memchr(at, ';', end - at)) {
		struct cut cut = cut_at(at);
		int r = 0;

		if (cut.n)
			r = pieces_set_module(&reader->pieces, at, cut, text, tab - text);
		if (r < 0)
			return r;
		at += cut.n + 1;
	}
	return 0;
}

/* Of several files, the first one's facts count. */
static int read_header(struct reader *reader, const struct line *line)
{
	const char *text = line->text + strlen(HEADER), *end = line->text + line->n;
	const char *tab = memchr(text, '\t', end - text);
	struct profile *profile = reader->sides[NEW].profile;
	size_t n = tab ? tab - text : 0, n_value = tab ? end - tab - 1 : 0;
	char number[32];

	if (memchr(line->text, '\0', line->n))
		return 0;
	if (is_key(text, n, "module"))
		return read_module(reader, tab + 1, end);
	if (is_key(text, n, "command") && !profile->command_line)
		return strings_add_bytes(&profile->strings, tab + 1, n_value,
					 &profile->command_line);
	if (is_key(text, n, "host") && !profile->host)
		return strings_add_bytes(&profile->strings, tab + 1, n_value, &profile->host);
	if (!tab || n_value >= sizeof number)
		return 0;
	memcpy(number, tab + 1, n_value);
	number[n_value] = '\0';
	if (is_key(text, n, "seconds") && strtod(number, NULL) > 0 && strtod(number, NULL) < 1e9)
		profile->duration_ns += strtod(number, NULL) * 1e9;
	if (is_key(text, n, "hz") && strtod(number, NULL) > 0 && strtod(number, NULL) < 1e9)
		profile->frequency = strtod(number, NULL);
	return 0;
}

/* Columns */

/* Cuts a line out of the window without changing the bytes. */
static bool next_of_window(const struct stream *stream, size_t *at, struct line *ret)
{
	char *text = stream_bytes(stream) + *at, *end;
	size_t left = stream_available(stream) - *at;

	end = memchr(text, '\n', left);
	if (!left || (!end && !stream->at_end))
		return false;
	ret->text = text;
	ret->n = end ? (size_t)(end - text) : left;
	*at += ret->n + !!end;
	if (ret->n && text[ret->n - 1] == '\r')
		ret->n--;
	return true;
}

static int count_columns(const struct stream *stream)
{
	struct values values;
	struct line line;
	bool has_stack = false;

	for (size_t at = 0; next_of_window(stream, &at, &line);) {
		if (is_no_stack(&line))
			continue;
		if (read_values(&line, 2, &values) != 2)
			return 1;
		has_stack = true;
	}
	return has_stack ? 2 : 1;
}

/* Lines */

/* Counts equal bytes at the beginning. */
static size_t common_prefix(const char *a, const char *b, size_t n)
{
	size_t i = 0;

	for (; i + 8 <= n; i += 8) {
		uint64_t x, y;

		memcpy(&x, a + i, 8);
		memcpy(&y, b + i, 8);
		if (x != y)
			break;
	}
	while (i < n && a[i] == b[i])
		i++;
	return i;
}

/* Keeps the frames that this line shares with the beginning of the previous one. */
static void keep_common(struct reader *reader, const struct line *line, size_t n)
{
	struct folded_stack *stack = &reader->stack;
	size_t shorter = reader->n_before < n ? reader->n_before : n;
	size_t common = common_prefix(reader->before, line->text, shorter);

	while (stack->n && stack->frames[stack->n - 1].end >= common)
		stack->n--;
}

/* Where frame @i begins in its line. */
static inline size_t begin_of(const struct folded_stack *stack, size_t i)
{
	return i ? stack->frames[i - 1].end + 1 : 0;
}

/* Cuts and hashes the pieces of the rest of a line. */
static int cut_frames(struct reader *reader, const char *text, size_t n)
{
	struct folded_stack *stack = &reader->stack;
	size_t at = begin_of(stack, stack->n);

	while (at <= n) {
		struct cut cut = cut_at(text + at);
		int r = 0;

		if (stack->n == FOLDED_MAX_FRAMES)
			return -E2BIG;
		if (stack->n == stack->capacity)
			r = array_reserve(stack->frames, stack->capacity, stack->n, 1);
		if (r < 0)
			return r;
		at += cut.n;
		stack->frames[stack->n++] = (struct folded_frame){
			.end = at++, .hash = cut.hash, .location = PIECE_UNSET};
		pieces_prefetch(&reader->pieces, cut.hash);
	}
	return 0;
}

/* Finds the piece of frame @i, given its hash and a guess. */
static int find_frame(struct reader *reader, const char *text, size_t i)
{
	struct folded_frame *frame = &reader->stack.frames[i];
	size_t begin = begin_of(&reader->stack, i);
	struct cut cut = {frame->end - begin, frame->hash};
	int r = pieces_find(&reader->pieces, text + begin, cut, frame->piece, &frame->piece);

	frame->n_separators = 0;
	if (r < 0 || i == 0)
		return r;
	frame->n_separators = frame[-1].n_separators +
			      (reader->pieces.items[frame->piece].mark == MARK_SEPARATOR);
	return pieces_locate(&reader->pieces, frame->piece, NEW, &frame->location);
}

static int find_frames(struct reader *reader, const char *text, size_t first)
{
	const size_t ahead = 4;
	struct folded_stack *stack = &reader->stack;

	for (size_t i = first; i < stack->n; i++)
		stack->frames[i].piece = pieces_expect(&reader->pieces, stack->frames[i].hash);
	for (size_t i = first; i < stack->n; i++) {
		int r;

		if (i + ahead < stack->n)
			pieces_prefetch_text(&reader->pieces, stack->frames[i + ahead].piece);
		r = find_frame(reader, text, i);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Turns the @n bytes of a line's stack into frames; a `;` replaces what ends it. */
static int read_frames(struct reader *reader, const struct line *line, size_t n)
{
	size_t first;
	int r;

	keep_common(reader, line, n);
	first = reader->stack.n;
	line->text[n] = ';';
	reader->before = line->text;
	reader->n_before = n + 1;
	r = cut_frames(reader, line->text, n);
	if (r < 0)
		return r;
	return find_frames(reader, line->text, first);
}

static int add_value(struct reader *reader, int side, const struct value *value)
{
	uint64_t *total = &reader->sides[side].total, count = value->number, nanoseconds = 1;

	reader->input->stats.rounded += value->was_rounded;
	if (!value->number)
		return 0;
	if (__builtin_add_overflow(*total, value->number, total))
		return -ERANGE;
	if (*total > UINT64_MAX / 1000 && !reader->overflow_line)
		reader->overflow_line = reader->lines.number;
	if (!reader->is_raw) {
		bool is_time = reader->sides[side].profile->mode != PROFILE_ONCPU;

		if (is_time && reader->overflow_line)
			return -ERANGE;
		nanoseconds = is_time ? value->number * 1000 : 0;
		count = is_time ? 1 : value->number;
	}
	return folded_stack_add(&reader->stack, side, count, nanoseconds);
}

static int fail_line(const struct reader *reader, int error)
{
	switch (error) {
	case -ERANGE:
		return lines_fail(&reader->lines, -EINVAL,
				  "the values are too large to be added up");
	case -EINVAL:
		return lines_fail(&reader->lines, -EINVAL, "a NUL byte; this is not a text file");
	case -E2BIG:
		return lines_fail(&reader->lines, -E2BIG,
				  reader->stack.n == FOLDED_MAX_FRAMES
					  ? "this stack has more than 1048576 frames"
					  : "more different names or stacks than can be numbered");
	default: return lines_fail(&reader->lines, error, strerror(-error));
	}
}

static int fail_value(const struct reader *reader)
{
	lines_fail(&reader->lines, -EINVAL, "no value at the end of the line");
	return failure_fix(reader->failure, -EINVAL,
			   "a folded line ends in a space and digits: main;work;wait 3");
}

static int add_line(struct reader *reader, const struct line *line, const struct values *values)
{
	int r = read_frames(reader, line, values->n);

	for (int side = 0; side < reader->n_columns && r == 0; side++)
		r = add_value(reader, side, &values->sides[side]);
	return r;
}

static int read_line(struct reader *reader, const struct line *line)
{
	struct values values;
	int r;

	if (is_header(line))
		return read_header(reader, line);
	if (is_no_stack(line)) {
		reader->input->stats.comments++;
		return 0;
	}
	r = read_values(line, reader->n_columns, &values);
	if (r == 0)
		return fail_value(reader);
	if (r > 0 && r < reader->n_columns)
		return lines_fail(&reader->lines, -EINVAL,
				  "one value, where the lines before it have two");
	if (r > 0)
		r = add_line(reader, line, &values);
	return r < 0 ? fail_line(reader, r) : 0;
}

static int read_lines(struct reader *reader)
{
	struct line line;
	int r;

	while ((r = lines_next(&reader->lines, &line)) > 0) {
		if (reader->lines.moved)
			reader->n_before = 0;
		r = read_line(reader, &line);
		if (r < 0)
			break;
	}
	reader->input->stats.lines += reader->lines.number;
	return r;
}

/* The file's end: decides what the values meant */

static enum profile_mode mode_of(const struct folded_stack *stack)
{
	return stack->has_running   ? PROFILE_WALL
	       : stack->has_waiting ? PROFILE_OFFCPU
				    : PROFILE_ONCPU;
}

static void set_weights(struct profile *profile, enum profile_mode mode)
{
	for (size_t i = 0; i < profile->n_samples; i++) {
		struct profile_sample *sample = &profile->samples[i];
		uint64_t value = sample->count, lines = sample->nanoseconds;

		sample->count = mode == PROFILE_ONCPU ? value : lines;
		sample->nanoseconds = mode == PROFILE_ONCPU ? 0 : value * 1000;
	}
}

static void finish_profile(const struct reader *reader, struct profile *profile,
			   enum profile_mode mode)
{
	if (reader->is_raw)
		set_weights(profile, mode);
	profile->mode = mode;
}

static int finish_mode(struct reader *reader)
{
	enum profile_mode mode = mode_of(&reader->stack), *have = &reader->input->profile->mode;

	if (!reader->is_raw && (mode == PROFILE_ONCPU) != (*have == PROFILE_ONCPU))
		return failure_set(reader->failure, -EINVAL,
				   "%s: holds %s, where the files before it hold %s",
				   reader->lines.stream->name,
				   mode == PROFILE_ONCPU ? "samples" : "times of waiting",
				   mode == PROFILE_ONCPU ? "times of waiting" : "samples");
	if (mode != PROFILE_ONCPU && reader->overflow_line) {
		reader->lines.number = reader->overflow_line;
		return fail_line(reader, -ERANGE);
	}
	/* Time running and time waiting add up to wall time. */
	if (!reader->is_raw && mode != *have)
		mode = PROFILE_WALL;
	finish_profile(reader, reader->input->profile, mode);
	if (reader->input->base)
		finish_profile(reader, reader->input->base, mode);
	return 0;
}

/* Splits `comm-PID/TID` into its parts. */
static int split_thread(struct profile *profile, struct profile_sample *sample)
{
	const char *text = strings_get(&profile->strings, sample->comm);
	size_t n = strings_length(&profile->strings, sample->comm);
	char comm[256];

	if (!piece_split_thread(text, n, &n, &sample->pid, &sample->tid))
		return 0;
	memcpy(comm, text, n);
	return strings_add_bytes(&profile->strings, comm, n, &sample->comm);
}

/* The roots come from --threads only if all look so: a single one may be a command's name. */
static int finish_threads(struct reader *reader)
{
	int r;

	if (reader->stack.has_no_thread)
		return 0;
	for (int k = 0; k < PIECE_SIDES; k++) {
		struct side *side = &reader->sides[k];

		if (!side->profile || side->first_sample == side->profile->n_samples)
			continue;
		side->profile->by_thread = true;
		for (size_t i = side->first_sample; i < side->profile->n_samples; i++) {
			r = split_thread(side->profile, &side->profile->samples[i]);
			if (r < 0)
				return r;
		}
		r = profile_index_samples(side->profile);
		if (r < 0)
			return r;
	}
	return 0;
}

/* The file's beginning */

static void begin_side(struct reader *reader, int side, struct profile *profile)
{
	uint64_t total = 0;

	for (size_t i = 0; i < profile->n_samples; i++)
		total += profile_sample_weight(profile, &profile->samples[i]);
	reader->sides[side] = (struct side){profile, profile->n_samples, total};
}

static int begin_folded(struct reader *reader)
{
	struct input *input = reader->input;
	int r = 0;

	reader->n_columns = count_columns(reader->lines.stream);
	if (reader->n_columns == 2 && !input->base) {
		r = profile_new(input->profile->mode, &input->base);
		if (r < 0)
			return r;
		input->base->in_order = input->profile->in_order;
	}
	/* One of them may still be empty. */
	if (input->base && input->base->n_samples)
		input->profile->mode = input->base->mode;
	else if (input->base)
		input->base->mode = input->profile->mode;
	begin_side(reader, NEW, input->profile);
	if (reader->n_columns == 2)
		begin_side(reader, BASE, input->base);
	reader->is_raw = !input->profile->n_samples && (!input->base || !input->base->n_samples);
	r = pieces_init(&reader->pieces, reader->sides[NEW].profile, reader->sides[BASE].profile);
	reader->stack.pieces = &reader->pieces;
	reader->stack.no_inline = input->options.no_inline;
	return r;
}

static int read_folded(struct reader *reader)
{
	int r = input_set_event(reader->input, &(struct profile_event){},
				reader->lines.stream->name, reader->failure);

	if (r < 0)
		return r;
	r = begin_folded(reader);
	if (r < 0)
		return r;
	r = read_lines(reader);
	if (r < 0)
		return r;
	r = finish_mode(reader);
	if (r < 0)
		return r;
	return finish_threads(reader);
}

int folded_read(struct input *input, struct stream *stream, struct failure *failure)
{
	struct reader reader = {.input = input,
				.failure = failure,
				.lines = {.stream = stream, .failure = failure}};
	int r = read_folded(&reader);

	if (r == -ENOMEM)
		failure_set(failure, r, "%s: %s", stream->name, strerror(-r));
	pieces_done(&reader.pieces);
	folded_stack_done(&reader.stack);
	return r;
}
