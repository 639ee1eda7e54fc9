/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Objects of V8's heap, above all strings, read from a process that goes on meanwhile. */
#include <errno.h>
#include <string.h>

#include "runtimes/v8.h"

static int read_memory(const struct v8_heap *heap, uint64_t address, void *to, uint32_t n)
{
	return heap->memory->read(heap->memory->context, &(struct runtime_piece){address, n, to},
				  1);
}

void v8_read_anew(const struct v8_heap *heap)
{
	struct v8_blocks *blocks = heap->blocks;
	uint32_t n = blocks->n < V8_MOST_BLOCKS ? blocks->n : V8_MOST_BLOCKS, many;

	for (uint32_t i = 0; i < n; i += many) {
		struct runtime_piece pieces[RUNTIME_MAX_PIECES];

		for (many = 0; many < RUNTIME_MAX_PIECES && i + many < n; many++)
			pieces[many] = (struct runtime_piece){
				blocks->address[i + many], V8_BLOCK_BYTES, blocks->bytes[i + many]};
		if (heap->memory->read(heap->memory->context, pieces, many) < 0) {
			blocks->n = 0;
			return;
		}
	}
}

/* The block at @address; NULL if it can't be read. */
static const uint8_t *find_block(const struct v8_heap *heap, uint64_t address)
{
	struct v8_blocks *blocks = heap->blocks;
	uint32_t n = blocks->n < V8_MOST_BLOCKS ? blocks->n : V8_MOST_BLOCKS;
	uint32_t next = blocks->n % V8_MOST_BLOCKS;

	for (uint32_t i = 0; i < n; i++)
		if (blocks->address[i] == address)
			return blocks->bytes[i];
	blocks->address[next] = UINT64_MAX; /* none begins there */
	if (read_memory(heap, address, blocks->bytes[next], V8_BLOCK_BYTES) < 0)
		return NULL;
	blocks->address[next] = address;
	blocks->n++;
	return blocks->bytes[next];
}

int v8_read(const struct v8_heap *heap, uint64_t address, void *to, uint32_t n)
{
	uint64_t within = address % V8_BLOCK_BYTES;
	const uint8_t *block;

	if (n > V8_BLOCK_BYTES - within)
		return read_memory(heap, address, to, n);
	/* Within a page, all can be read or nothing. */
	block = find_block(heap, address - within);
	if (!block)
		return -EFAULT;
	memcpy(to, block + within, n);
	return 0;
}

int v8_word(const struct v8_heap *heap, uint64_t pointer, uint32_t offset, uint64_t *ret)
{
	return V8_IS_POINTER(pointer) ? v8_read(heap, pointer - 1 + offset, ret, sizeof *ret)
				      : -ESTALE;
}

int v8_type(const struct v8_heap *heap, uint64_t pointer)
{
	uint64_t map;
	uint16_t type;

	if (v8_word(heap, pointer, 0, &map) < 0 || !V8_IS_POINTER(map) ||
	    v8_read(heap, map - 1 + heap->o[MAP_TYPE], &type, sizeof type) < 0)
		return -1;
	return type;
}

/* --- strings --- */

/* Of the type of a string. */
#define REPRESENTATION 7
#define WHOLE	       0
#define CONS	       1
#define EXTERNAL       2
#define SLICED	       3
#define THIN	       5
#define ONE_BYTE       8
#define UNCACHED       16 /* of an external one: no address is kept */

/* Of a string of two, or a part of one. */
#define CONS_FIRST    16
#define CONS_SECOND   24
#define SLICED_PARENT 16
#define SLICED_OFFSET 24

#define MOST_TURNS 64 /* strings that one is made of */

static bool is_string(const struct v8_heap *heap, int type)
{
	return type >= 0 && type < (int)heap->o[TYPE_NOT_STRING];
}

static bool is_whole(int type)
{
	return (type & REPRESENTATION) == WHOLE || (type & REPRESENTATION) == EXTERNAL;
}

static int read_length(const struct v8_heap *heap, uint64_t pointer, uint32_t *ret)
{
	return v8_read(heap, pointer - 1 + heap->o[STRING_LENGTH], ret, sizeof *ret);
}

/* Sets *@ret if the string @pointer of @type is in one piece. */
static int whole_string(const struct v8_heap *heap, uint64_t pointer, int type,
			struct v8_characters *ret)
{
	int r = read_length(heap, pointer, &ret->n);

	if (r < 0)
		return r;
	if (ret->n > INT32_MAX)
		return -ESTALE;
	ret->bytes = type & ONE_BYTE ? 1 : 2;
	ret->address = pointer - 1 + heap->o[STRING_CHARACTERS];
	if ((type & REPRESENTATION) != EXTERNAL)
		return 0;
	if (type & UNCACHED)
		return -ESTALE;
	return v8_read(heap, pointer - 1 + heap->o[STRING_DATA], &ret->address, 8);
}

/* The first part of a string of two that was flattened: the second one is empty. */
static int first_part(const struct v8_heap *heap, uint64_t pointer, uint64_t *ret)
{
	uint64_t second;
	uint32_t length;
	int r = v8_word(heap, pointer, CONS_SECOND, &second);

	if (r < 0)
		return r;
	r = read_length(heap, second, &length);
	if (r < 0)
		return r;
	return length ? -ESTALE : v8_word(heap, pointer, CONS_FIRST, ret);
}

int v8_characters(const struct v8_heap *heap, uint64_t pointer, struct v8_characters *ret)
{
	for (int i = 0; i < MOST_TURNS; i++) {
		int type = v8_type(heap, pointer), r;

		if (!is_string(heap, type))
			return -ESTALE;
		switch (type & REPRESENTATION) {
		case WHOLE:
		case EXTERNAL: return whole_string(heap, pointer, type, ret);
		case THIN: r = v8_word(heap, pointer, heap->o[STRING_ACTUAL], &pointer); break;
		case CONS: r = first_part(heap, pointer, &pointer); break;
		default: return -ESTALE;
		}
		if (r < 0)
			return r;
	}
	return -ESTALE;
}

/* UTF-8 while it is written. */
struct writer {
	char *to;
	size_t size, n;
	uint32_t high; /* the first half of a pair; 0: none */
};

static void put_bytes(struct writer *writer, const char *bytes, size_t n)
{
	if (writer->n + n + 1 > writer->size)
		return;
	memcpy(writer->to + writer->n, bytes, n);
	writer->n += n;
}

static void put_character(struct writer *writer, uint32_t code)
{
	const char four[] = {(char)(0xf0 | code >> 18), (char)(0x80 | (code >> 12 & 63)),
			     (char)(0x80 | (code >> 6 & 63)), (char)(0x80 | (code & 63))};
	const char three[] = {(char)(0xe0 | code >> 12), four[2], four[3]};
	const char two[] = {(char)(0xc0 | code >> 6), four[3]};
	const char one = (char)code;

	if (code < 0x80)
		put_bytes(writer, &one, 1);
	else if (code < 0x800)
		put_bytes(writer, two, sizeof two);
	else if (code < 0x10000)
		put_bytes(writer, three, sizeof three);
	else
		put_bytes(writer, four, sizeof four);
}

/* One of UTF-16; halves without their other half, and 0, become '?'. */
static void put_unit(struct writer *writer, uint32_t unit)
{
	if (writer->high && unit >= 0xdc00 && unit < 0xe000) {
		put_character(writer, 0x10000 + ((writer->high - 0xd800) << 10) + unit - 0xdc00);
		writer->high = 0;
		return;
	}
	if (writer->high)
		put_character(writer, '?');
	writer->high = unit >= 0xd800 && unit < 0xdc00 ? unit : 0;
	if (!writer->high)
		put_character(writer, !unit || (unit >= 0xdc00 && unit < 0xe000) ? '?' : unit);
}

static int put_whole(const struct v8_heap *heap, const struct v8_characters *from, uint32_t skip,
		     uint32_t n, struct writer *writer)
{
	uint8_t bytes[2 * V8_MOST_CHARACTERS];
	int r;

	if (skip > from->n)
		return -ESTALE;
	n = n < from->n - skip ? n : from->n - skip;
	n = n < V8_MOST_CHARACTERS ? n : V8_MOST_CHARACTERS;
	r = v8_read(heap, from->address + (uint64_t)skip * from->bytes, bytes, n * from->bytes);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < n; i++)
		put_unit(writer, from->bytes == 1
					 ? bytes[i]
					 : (uint32_t)(bytes[2 * i] | bytes[2 * i + 1] << 8));
	return 0;
}

/* A part of a string that is left to write: @n characters after @skip. */
struct part {
	uint64_t pointer;
	uint32_t skip, n;
};

/* Puts the parts of a string that is made of others on top of @parts, the first uppermost. */
static int take_apart(const struct v8_heap *heap, int type, struct part *parts, uint32_t *n)
{
	struct part *part = &parts[*n - 1];
	uint64_t first, second = 0;
	uint32_t length;
	int r = v8_word(heap, part->pointer, SLICED_PARENT, &first);

	_Static_assert(SLICED_PARENT == CONS_FIRST && SLICED_OFFSET == CONS_SECOND, "read so");
	if (r < 0)
		return r;
	if ((type & REPRESENTATION) != THIN) {
		r = v8_word(heap, part->pointer, SLICED_OFFSET, &second);
		if (r < 0)
			return r;
	}
	part->pointer = first;
	if ((type & REPRESENTATION) == SLICED)
		part->skip += V8_NUMBER(second);
	if ((type & REPRESENTATION) != CONS || part->skip)
		return (type & REPRESENTATION) == CONS ? -ESTALE : 0;
	r = read_length(heap, first, &length);
	if (r < 0)
		return r;
	if (length < part->n) {
		const struct part rest = {second, 0, part->n - length};

		part->n = length;
		parts[*n] = *part;
		*part = rest;
		++*n;
	}
	return 0;
}

/* Writes the uppermost of @parts, or puts its own parts in its place. */
static int put_part(const struct v8_heap *heap, struct part *parts, uint32_t *n,
		    struct writer *writer)
{
	const struct part *part = &parts[*n - 1];
	int type = v8_type(heap, part->pointer), r;
	struct v8_characters whole;

	if (!is_string(heap, type))
		return -ESTALE;
	if (!is_whole(type))
		return take_apart(heap, type, parts, n);
	r = whole_string(heap, part->pointer, type, &whole);
	if (r < 0)
		return r;
	--*n;
	return put_whole(heap, &whole, part->skip, part->n, writer);
}

int v8_string(const struct v8_heap *heap, uint64_t pointer, char *to, size_t size)
{
	struct part parts[MOST_TURNS + 1] = {{pointer, 0, V8_MOST_CHARACTERS}};
	struct writer writer = {to, size};
	uint32_t n = 1, length;
	int r;

	if (!is_string(heap, v8_type(heap, pointer)))
		return -ESTALE;
	r = read_length(heap, pointer, &length);
	if (r < 0)
		return r;
	if (length < parts[0].n)
		parts[0].n = length;
	for (int i = 0; i < MOST_TURNS && n; i++) {
		r = put_part(heap, parts, &n, &writer);
		if (r < 0)
			return r;
	}
	to[writer.n] = '\0';
	return n ? -ESTALE : 0;
}
