/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * folded: writes `comm;root;…;leaf VALUE` lines.
 *
 * A line is made of pieces: "name;" for a frame that others follow, "name" for a leaf. No piece
 * is the beginning of another one's line, so sorting stacks by the order of their pieces sorts
 * the lines bytewise. Lines of equal text merge, whatever they mean. Nanoseconds become
 * microseconds after merging, so that rounding errors don't add up.
 *
 * A million stacks are gigabytes of text, and two thirds of each line repeat the one before:
 * that part is copied in one piece.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/system.h"
#include "base/utf8.h"
#include "core/stacks.h"
#include "export/export.h"

/* Bytes written at once. */
#define BLOCK ((size_t)1 << 20)

/* Buffered lines: the latest one, and earlier ones that are not written yet. */
struct text {
	FILE *stream;
	char *bytes;
	size_t n, capacity;
	size_t n_written; /* bytes of @buffer already written */
	size_t line;	  /* where the latest line begins */
	uint32_t *pieces; /* the latest line's pieces, and the end of each within the line */
	size_t *ends;
	size_t n_pieces, pieces_capacity, ends_capacity;
};

struct folded_writer {
	struct stacks stacks;
	struct strings pieces;
	uint32_t *texts[2]; /* a frame's piece, by whether it is the leaf */
	uint32_t *ranks[2]; /* the piece's place in the order of all */
	char *buffer;
	size_t capacity;
	struct text text;
};

/*
 * Cleans a name so that it can't break the format: one line per stack, one `;` between frames,
 * nothing that a terminal obeys. Printable text stays as it is. Returns the length, which never
 * grows.
 */
static size_t clean_name(char *to, const char *name)
{
	size_t n = 0;

	while (*name) {
		size_t length = utf8_length(name);

		if (!length || utf8_is_obeyed(utf8_code(name, length)))
			to[n++] = '?';
		else if (*name == ';')
			to[n++] = ':';
		else
			for (size_t i = 0; i < length; i++)
				to[n++] = name[i];
		name += length ? length : 1;
	}
	return n;
}

static int make_pieces(struct folded_writer *writer, uint32_t frame)
{
	const struct stacks *stacks = &writer->stacks;
	const char *name = stacks_name(stacks, frame);
	const char *suffix = frame_kind_suffix(stacks->frames[frame].kind);
	size_t n = strlen(name), n_suffix = strlen(suffix);
	int r = array_reserve(writer->buffer, writer->capacity, 0, n + n_suffix + 1);

	if (r < 0)
		return r;
	n = clean_name(writer->buffer, name);
	memcpy(writer->buffer + n, suffix, n_suffix);
	n += n_suffix;
	writer->buffer[n] = ';';
	r = strings_add_bytes(&writer->pieces, writer->buffer, n + 1, &writer->texts[0][frame]);
	if (r < 0)
		return r;
	return strings_add_bytes(&writer->pieces, writer->buffer, n, &writer->texts[1][frame]);
}

static int compare_pieces(const void *a, const void *b, void *pieces)
{
	return strcmp(strings_get(pieces, *(const uint32_t *)a),
		      strings_get(pieces, *(const uint32_t *)b));
}

static int rank_pieces(struct folded_writer *writer)
{
	size_t n = writer->pieces.n_strings;
	_cleanup_free_ uint32_t *order = calloc(n, sizeof *order);
	_cleanup_free_ uint32_t *places = calloc(n, sizeof *places);

	if (!order || !places)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		order[i] = i;
	qsort_r(order, n, sizeof *order, compare_pieces, &writer->pieces);
	for (size_t i = 0; i < n; i++)
		places[order[i]] = i;
	for (size_t i = 0; i < writer->stacks.n_frames; i++)
		for (int is_leaf = 0; is_leaf < 2; is_leaf++)
			writer->ranks[is_leaf][i] = places[writer->texts[is_leaf][i]];
	return 0;
}

static int sort_stacks(struct folded_writer *writer)
{
	const uint32_t *ranks[2];
	size_t n = writer->stacks.n_frames + 1;
	int r;

	for (int is_leaf = 0; is_leaf < 2; is_leaf++) {
		writer->texts[is_leaf] = calloc(n, sizeof *writer->texts[is_leaf]);
		writer->ranks[is_leaf] = calloc(n, sizeof *writer->ranks[is_leaf]);
		if (!writer->texts[is_leaf] || !writer->ranks[is_leaf])
			return -ENOMEM;
		ranks[is_leaf] = writer->ranks[is_leaf];
	}
	for (size_t i = 0; i < writer->stacks.n_frames; i++) {
		r = make_pieces(writer, i);
		if (r < 0)
			return r;
	}
	r = rank_pieces(writer);
	if (r < 0)
		return r;
	stacks_sort(&writer->stacks, ranks);
	return 0;
}

static uint32_t piece_of(const struct folded_writer *writer, const struct stacks_entry *entry,
			 uint32_t i)
{
	return writer->texts[i == entry->n - 1][writer->stacks.ids[entry->first + i]];
}

static bool is_same_line(const struct folded_writer *writer, const struct stacks_entry *a,
			 const struct stacks_entry *b)
{
	if (a->n != b->n)
		return false;
	for (uint32_t i = a->n; i-- > 0;)
		if (piece_of(writer, a, i) != piece_of(writer, b, i))
			return false;
	return true;
}

/* Writes what is buffered, but keeps the latest line. */
static void flush(struct text *text)
{
	/* Each name was escaped as it came. */
	fwrite_unlocked(text->bytes + text->n_written /* ours */, 1, text->n - text->n_written,
			text->stream);
	memmove(text->bytes, text->bytes + text->line, text->n - text->line);
	text->n_written = text->n -= text->line;
	text->line = 0;
}

/* Begins a line with the first @n_common pieces of the latest one. */
static int begin_line(struct text *text, size_t n_common)
{
	size_t n = n_common ? text->ends[n_common - 1] : 0;
	int r;

	if (text->n >= BLOCK)
		flush(text);
	r = array_reserve(text->bytes, text->capacity, text->n, n + 1);
	if (r < 0)
		return r;
	memcpy(text->bytes + text->n, text->bytes + text->line, n);
	text->line = text->n;
	text->n += n;
	text->n_pieces = n_common;
	return 0;
}

static int add_text(struct text *text, const char *bytes, size_t n)
{
	int r = array_reserve(text->bytes, text->capacity, text->n, n);

	if (r < 0)
		return r;
	memcpy(text->bytes + text->n, bytes, n);
	text->n += n;
	return 0;
}

static int add_piece(struct folded_writer *writer, uint32_t piece)
{
	struct text *text = &writer->text;
	int r = array_reserve(text->pieces, text->pieces_capacity, text->n_pieces, 1);

	if (r < 0)
		return r;
	r = array_reserve(text->ends, text->ends_capacity, text->n_pieces, 1);
	if (r < 0)
		return r;
	r = add_text(text, strings_get(&writer->pieces, piece),
		     strings_length(&writer->pieces, piece));
	if (r < 0)
		return r;
	text->pieces[text->n_pieces] = piece;
	text->ends[text->n_pieces++] = text->n - text->line;
	return 0;
}

static size_t count_common(const struct folded_writer *writer, const struct stacks_entry *entry)
{
	const struct text *text = &writer->text;
	size_t n = 0;

	while (n < entry->n && n < text->n_pieces && text->pieces[n] == piece_of(writer, entry, n))
		n++;
	return n;
}

static int write_line(struct folded_writer *writer, const struct stacks_entry *entry,
		      uint64_t weight)
{
	uint64_t value = writer->stacks.facts[SIDE_NEW].mode == PROFILE_ONCPU
				 ? weight
				 : (weight + 500) / 1000;
	char digits[24], *first = digits + sizeof digits;
	int r;

	if (!value)
		return 0;
	r = begin_line(&writer->text, count_common(writer, entry));
	if (r < 0)
		return r;
	for (size_t i = writer->text.n_pieces; i < entry->n; i++) {
		r = add_piece(writer, piece_of(writer, entry, i));
		if (r < 0)
			return r;
	}
	*--first = '\n';
	do
		*--first = '0' + value % 10;
	while (value /= 10);
	*--first = ' ';
	return add_text(&writer->text, first, digits + sizeof digits - first);
}

/* One line stays one line. */
static void write_clean(const struct folded_writer *writer, const char *text)
{
	char *clean = malloc(strlen(text) + 1);

	if (clean)
		fwrite_unlocked(clean /* ours */, 1, clean_name(clean, text), writer->text.stream);
	free(clean);
}

static void write_fact(const struct folded_writer *writer, const char *key, const char *text)
{
	if (!*text)
		return;
	fprintf(writer->text.stream, "# bpfflame %s\t", key /* ours */);
	write_clean(writer, text);
	fputc('\n', writer->text.stream);
}

static int compare_modules(const void *a, const void *b, void *data)
{
	const struct stacks *stacks = data;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int order = strcmp(strings_get(&stacks->strings, stacks->frames[x].module),
			   strings_get(&stacks->strings, stacks->frames[y].module));

	return order ?: (x > y) - (x < y);
}

/* Names like `[module+0x10]` say it themselves, and kernel functions have a suffix. */
static bool has_module(const struct stacks *stacks, uint32_t frame)
{
	const struct stacks_frame *it = &stacks->frames[frame];

	return it->module && it->kind < FRAME_NOTE && it->kind != FRAME_KERNEL &&
	       *stacks_name(stacks, frame) != '[' &&
	       *strings_get(&stacks->strings, it->module) != '[';
}

static int write_modules(struct folded_writer *writer)
{
	struct stacks *stacks = &writer->stacks;
	uint32_t *order = calloc(stacks->n_frames + 1, sizeof *order), n = 0;
	uint32_t module = 0;

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < stacks->n_frames; i++)
		if (has_module(stacks, i))
			order[n++] = i;
	qsort_r(order, n, sizeof *order, compare_modules, stacks);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t piece;

		if (stacks->frames[order[i]].module != module) {
			fputs(module ? "\n" : "", writer->text.stream);
			module = stacks->frames[order[i]].module;
			fputs("# bpfflame module\t", writer->text.stream);
			write_clean(writer, strings_get(&stacks->strings, module));
			fputc('\t', writer->text.stream);
		}
		piece = writer->texts[0][order[i]];
		/* Pieces were escaped as they were made. */
		fwrite_unlocked(strings_get(&writer->pieces, piece) /* ours */, 1,
				strings_length(&writer->pieces, piece), writer->text.stream);
	}
	fputs(n ? "\n" : "", writer->text.stream);
	free(order);
	return 0;
}

static int write_header(struct folded_writer *writer)
{
	const struct stacks *stacks = &writer->stacks;
	const struct stacks_facts *facts = &stacks->facts[SIDE_NEW];
	char number[32];

	if (!stacks->options.header)
		return 0;
	write_fact(writer, "command", strings_get(&stacks->strings, facts->command_line));
	write_fact(writer, "host", strings_get(&stacks->strings, facts->host));
	snprintf(number, sizeof number, "%.3f", facts->duration_ns / 1e9);
	write_fact(writer, "seconds", facts->duration_ns ? number : "");
	snprintf(number, sizeof number, "%.3f", facts->frequency);
	write_fact(writer, "hz", facts->frequency > 0 ? number : "");
	return write_modules(writer);
}

static int write_lines(struct folded_writer *writer)
{
	const struct stacks *stacks = &writer->stacks;

	for (size_t i = 0; i < stacks->n_entries;) {
		const struct stacks_entry *entry = &stacks->entries[i];
		uint64_t weight = 0;
		int r;

		for (; i < stacks->n_entries && is_same_line(writer, entry, &stacks->entries[i]);
		     i++)
			weight += stacks->entries[i].weight;
		r = write_line(writer, entry, weight);
		if (r < 0)
			return r;
	}
	if (writer->text.n)
		flush(&writer->text);
	return 0;
}

static int write_all(struct folded_writer *writer, struct profile *profile,
		     const struct stacks_options *options)
{
	int r = stacks_init(&writer->stacks, options);

	if (r < 0)
		return r;
	r = strings_init(&writer->pieces);
	if (r < 0)
		return r;
	r = stacks_add(&writer->stacks, profile, SIDE_NEW);
	if (r < 0)
		return r;
	r = sort_stacks(writer);
	if (r < 0)
		return r;
	r = write_header(writer);
	if (r < 0)
		return r;
	return write_lines(writer);
}

int export_folded(struct profile *profile, const struct stacks_options *options, FILE *stream)
{
	struct stacks_options here = *options;
	struct folded_writer writer = {.text = {.stream = stream}};
	int r;

	here.reverse = here.in_order = false;
	r = write_all(&writer, profile, &here);
	for (int is_leaf = 0; is_leaf < 2; is_leaf++) {
		free(writer.texts[is_leaf]);
		free(writer.ranks[is_leaf]);
	}
	free(writer.buffer);
	free(writer.text.bytes);
	free(writer.text.pieces);
	free(writer.text.ends);
	strings_done(&writer.pieces);
	stacks_done(&writer.stacks);
	return r;
}
