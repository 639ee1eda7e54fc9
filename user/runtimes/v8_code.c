/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Optimized code: which object an address lies in, and which functions are inlined there. Pages of
 * code begin at multiples of their size; an object is found from the address downwards, by its type
 * and size. It has a table of the places of its calls, which name the function inlined there by a
 * number; another table has who called that from where, and so on.
 */
#include <errno.h>
#include <string.h>

#include "runtimes/v8.h"

#define PAGE_BYTES  (256u << 10)
#define PIECE_BYTES 4096
#define MOST_TRIES  256 /* words that may be an object's type */

/* Code, and where its instructions are. */
struct code {
	uint64_t pointer; /* tagged */
	uint64_t start;
	uint32_t size;
};

/* Whether the object at @address, whose first word is @map, holds the code at @pc. */
static int consider(const struct v8_heap *heap, uint64_t address, uint64_t pc, struct code *ret)
{
	const uint32_t *o = heap->o;
	uint32_t type = o[TYPE_STREAM] ? o[TYPE_STREAM] : o[TYPE_CODE];
	int r;

	if (v8_type(heap, address + 1) != (int)type)
		return -ESTALE;
	ret->pointer = address + 1;
	ret->start = address + o[o[TYPE_STREAM] ? STREAM_START : CODE_START];
	if (o[TYPE_STREAM]) {
		r = v8_word(heap, address + 1, o[STREAM_CODE], &ret->pointer);
		if (r < 0)
			return r;
	}
	if (v8_type(heap, ret->pointer) != (int)o[TYPE_CODE])
		return -ESTALE;
	r = v8_read(heap, ret->pointer - 1 + o[CODE_SIZE], &ret->size, 4);
	if (r < 0)
		return r;
	return pc < ret->start || pc - ret->start > ret->size ? -ESTALE : 0;
}

static int find_code(const struct v8_heap *heap, uint64_t pc, struct code *ret)
{
	const uint32_t *o = heap->o;
	uint64_t page = pc & ~(uint64_t)(PAGE_BYTES - 1), piece = pc & ~(uint64_t)(PIECE_BYTES - 1);
	uint32_t begins = o[TYPE_STREAM] ? (o[CODE_ALIGN] - o[STREAM_START]) % o[CODE_ALIGN] : 0;
	uint8_t bytes[PIECE_BYTES];
	int tries = 0;

	for (;; piece -= PIECE_BYTES) {
		if (v8_read(heap, piece, bytes, sizeof bytes) < 0)
			return -ESTALE;
		for (uint32_t at = PIECE_BYTES - o[CODE_ALIGN] + begins;; at -= o[CODE_ALIGN]) {
			uint64_t word;

			memcpy(&word, bytes + at, sizeof word);
			if (piece + at < pc && V8_IS_POINTER(word)) {
				if (++tries > MOST_TRIES)
					return -ESTALE;
				if (consider(heap, piece + at, pc, ret) == 0)
					return 0;
			}
			if (at < o[CODE_ALIGN])
				break;
		}
		if (piece == page)
			return -ESTALE;
	}
}

/* --- what is inlined --- */

#define FLAGS_KIND 15

/* Elements of what code knows for its deoptimization. */
#define ELEMENT_AT(i)  (16 + 8 * (i))
#define WRAPPED_AT     8  /* from 13 on, the function is in an object of its own */
#define INLINING_BYTES 16 /* position of the call, number of the function */
#define MOST_INLININGS 65536
#define MOST_PLACES    4096

/* Arrays that say what is inlined. */
struct tables {
	uint64_t functions, shared, inlinings;
};

static int find_tables(const struct v8_heap *heap, const struct code *code, struct tables *ret)
{
	const uint32_t *o = heap->o;
	uint32_t flags;
	uint64_t data;
	int r = v8_read(heap, code->pointer - 1 + o[CODE_FLAGS], &flags, sizeof flags);

	if (r < 0)
		return r;
	if ((flags & FLAGS_KIND) <= o[CODE_BASELINE])
		return -ESTALE;
	r = v8_word(heap, code->pointer, o[CODE_DEOPTIMIZATION], &data);
	if (r < 0)
		return r;
	r = v8_word(heap, data, ELEMENT_AT(o[KNOWN_LITERALS]), &ret->functions);
	if (r < 0)
		return r;
	r = v8_word(heap, data, ELEMENT_AT(o[KNOWN_SHARED]), &ret->shared);
	if (r < 0)
		return r;
	if (v8_type(heap, ret->shared) != (int)o[TYPE_SHARED]) {
		r = v8_word(heap, ret->shared, WRAPPED_AT, &ret->shared);
		if (r < 0)
			return r;
	}
	return v8_word(heap, data, ELEMENT_AT(o[KNOWN_INLININGS]), &ret->inlinings);
}

/* The @i'th inlining: the function and where it was called. */
static int read_inlining(const struct v8_heap *heap, const struct tables *tables, int32_t i,
			 uint64_t *ret_shared, uint64_t *ret_position)
{
	uint64_t length, words[2];
	int r = v8_word(heap, tables->inlinings, 8, &length);
	int32_t number;

	if (r < 0)
		return r;
	if (!V8_IS_NUMBER(length) || V8_NUMBER(length) / INLINING_BYTES <= i || i >= MOST_INLININGS)
		return -ESTALE;
	r = v8_read(heap, tables->inlinings - 1 + ELEMENT_AT(2 * (uint64_t)i), words, sizeof words);
	if (r < 0)
		return r;
	number = (int32_t)words[1];
	*ret_position = words[0];
	r = v8_word(heap, tables->functions, 8, &length);
	if (r < 0)
		return r;
	if (!V8_IS_NUMBER(length) || number < 0 || number >= V8_NUMBER(length))
		return -ESTALE;
	r = v8_read(heap, tables->functions - 1 + ELEMENT_AT((uint64_t)number), ret_shared,
		    sizeof *ret_shared);
	if (r < 0)
		return r;
	*ret_shared &= ~2ULL; /* a weak one */
	return 0;
}

/* The place of the call that returns to @offset. */
static int find_place(const struct v8_heap *heap, const struct code *code, uint32_t offset,
		      struct v8_place *ret)
{
	struct v8_place places[MOST_PLACES];
	uint64_t table;
	int n, found = -1, r = v8_word(heap, code->pointer, heap->o[CODE_POSITIONS], &table);

	if (r < 0)
		return r;
	n = v8_places(heap, table, places, MOST_PLACES);
	for (int i = 0; i < n && places[i].offset < offset; i++)
		found = i;
	if (found < 0)
		return -ESTALE;
	*ret = places[found];
	return 0;
}

int v8_find_inlined(const struct v8_heap *heap, uint64_t pc, struct v8_inlined *ret)
{
	struct v8_place place = {0, -1, -1};
	struct tables tables;
	struct code code;
	int n = 0, r = find_code(heap, pc, &code);
	uint64_t position;

	if (r < 0)
		return r;
	r = find_tables(heap, &code, &tables);
	if (r < 0)
		return r;
	find_place(heap, &code, pc - code.start, &place);
	while (place.inlined >= 0) {
		if (n == RUNTIME_MAX_INLINED ||
		    read_inlining(heap, &tables, place.inlined, &ret[n].shared, &position) < 0) {
			n = 0;
			place.position = -1;
			break;
		}
		ret[n++].position = place.position;
		if (V8_IS_EXTERNAL(position))
			break;
		place.position = V8_SCRIPT_POSITION(position);
		place.inlined = V8_INLINED(position);
	}
	ret[n++] = (struct v8_inlined){tables.shared, place.position};
	return n;
}
