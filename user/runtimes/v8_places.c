/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Places: a table leads from offsets of code to positions in the text of a script, and the text
 * itself leads from there to lines. Tables are differences, of 7 bits a byte, the sign lowest.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/system.h"
#include "runtimes/v8.h"

#define MOST_TABLE (1u << 20)
#define MOST_BITS  64

struct bytes {
	const uint8_t *at, *end;
};

static bool next_number(struct bytes *bytes, int64_t *ret)
{
	uint64_t value = 0;

	for (uint32_t shift = 0; bytes->at < bytes->end && shift < MOST_BITS; shift += 7) {
		uint8_t byte = *bytes->at++;

		value |= (uint64_t)(byte & 127) << shift;
		if (byte & 128)
			continue;
		*ret = (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
		return true;
	}
	return false;
}

#define LENGTH_AT 8 /* of a ByteArray, or any other array */
#define DATA_AT	  16

/* Returns the bytes of the array @pointer, malloc'ed, or NULL. */
static uint8_t *read_bytes(const struct v8_heap *heap, uint64_t pointer, uint32_t *ret_n)
{
	uint8_t *bytes = NULL;
	uint64_t length;

	if (v8_type(heap, pointer) != (int)heap->o[TYPE_BYTES] ||
	    v8_word(heap, pointer, LENGTH_AT, &length) < 0 || !V8_IS_NUMBER(length) ||
	    V8_NUMBER(length) <= 0 || V8_NUMBER(length) > (int32_t)MOST_TABLE)
		return NULL;
	*ret_n = V8_NUMBER(length);
	bytes = malloc(*ret_n);
	if (bytes && v8_read(heap, pointer - 1 + DATA_AT, bytes, *ret_n) < 0) {
		free(bytes);
		bytes = NULL;
	}
	return bytes;
}

int v8_places(const struct v8_heap *heap, uint64_t pointer, struct v8_place *ret, uint32_t most)
{
	uint32_t n = 0, n_bytes;
	uint8_t *all = read_bytes(heap, pointer, &n_bytes);
	int64_t offset = -1, position = 0, by;
	struct bytes bytes;

	if (!all)
		return -ESTALE;
	bytes = (struct bytes){all, all + n_bytes};
	while (n < most && next_number(&bytes, &by)) {
		by = by >= 0 ? by : -(by + 1); /* the sign says if it begins a statement */
		if (by > INT32_MAX)
			break;
		offset += by >> heap->o[PLACE_FLAGS];
		if (offset > INT32_MAX || !next_number(&bytes, &by))
			break;
		position = (int64_t)((uint64_t)position + (uint64_t)by);
		if (V8_IS_EXTERNAL(position))
			continue;
		ret[n++] = (struct v8_place){(uint32_t)(offset < 0 ? 0 : offset),
					     V8_SCRIPT_POSITION(position), V8_INLINED(position)};
	}
	free(all);
	return (int)n;
}

/* --- lines --- */

#define PIECE 65536

static int compare(const void *a, const void *b)
{
	const struct v8_place *const *x = a, *const *y = b;

	return ((*x)->position > (*y)->position) - ((*x)->position < (*y)->position);
}

/* Ends of lines among the characters [@from, @to) of a piece. */
static uint32_t count_ends(const uint8_t *piece, uint32_t from, uint32_t to, uint32_t bytes)
{
	uint32_t n = 0;

	for (uint32_t i = from; i < to; i++)
		n += piece[i * bytes] == '\n' && (bytes == 1 || !piece[i * bytes + 1]);
	return n;
}

/* Turns positions into lines; @places are in the order of their positions, and not before @text. */
static void count_lines(const struct v8_heap *heap, const struct v8_characters *text,
			uint32_t first_line, struct v8_place **places, uint32_t n, uint8_t *piece)
{
	uint32_t most = PIECE / text->bytes, line = first_line, i = 0;

	for (uint32_t at = 0; at < text->n && i < n; at += most) {
		uint32_t many = text->n - at < most ? text->n - at : most, done = 0;

		if (many * text->bytes > *heap->source_left ||
		    v8_read(heap, text->address + (uint64_t)at * text->bytes, piece,
			    many * text->bytes) < 0)
			break;
		*heap->source_left -= many * text->bytes;
		for (; i < n && (uint32_t)places[i]->position - at <= many; i++) {
			uint32_t to = (uint32_t)places[i]->position - at;

			line += count_ends(piece, done, to, text->bytes);
			done = to;
			places[i]->position = (int32_t)line;
		}
		line += count_ends(piece, done, many, text->bytes);
	}
	for (; i < n; i++)
		places[i]->position = 0;
}

int v8_find_lines(const struct v8_heap *heap, uint64_t script, struct v8_place *places, uint32_t n)
{
	_cleanup_free_ struct v8_place **sorted = malloc(n * sizeof *sorted);
	_cleanup_free_ uint8_t *piece = malloc(PIECE);
	struct v8_characters text;
	uint64_t source, line;
	uint32_t unknown = 0;

	if (!sorted || !piece)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		sorted[i] = &places[i];
	qsort(sorted, n, sizeof *sorted, compare);
	if (v8_word(heap, script, heap->o[SCRIPT_SOURCE], &source) < 0 ||
	    v8_characters(heap, source, &text) < 0 ||
	    v8_word(heap, script, heap->o[SCRIPT_LINE], &line) < 0 || !V8_IS_NUMBER(line))
		text = (struct v8_characters){.bytes = 1}, line = 0;
	while (unknown < n && sorted[unknown]->position < 0)
		sorted[unknown++]->position = 0;
	count_lines(heap, &text, (uint32_t)V8_NUMBER(line) + 1, sorted + unknown, n - unknown,
		    piece);
	return 0;
}
