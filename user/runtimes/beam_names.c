/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of Erlang's functions: from an address to its module, to its function, to the atoms that
 * are their names; and files and lines. What a module's checksum does not vouch for has no name: it
 * is read first and, for code may be purged meanwhile, last.
 */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

#include "runtimes/beam.h"

#define MOST_MODULES   (1u << 20)
#define MOST_FUNCTIONS (1u << 20)
#define MOST_ARITY     255
#define ATOM_BITS      63
#define ATOM_TAG       11
#define ATOM_SHIFT     6
#define ATOM_LENGTH    24 /* 2 bytes */
#define ATOM_TEXT      32
#define MOST_ATOM      (255 * 4 + 1)
#define BOXED_BITS     3
#define BOXED_TAG      2
#define HEADER_BITS    63
#define TEXT_IN_PLACE  0x20 /* ErlHeapBits */
#define TEXT_ELSEWHERE 0x24 /* ErlSubBits */
#define LIST_BITS      3
#define LIST_TAG       1
#define EMPTY_LIST     0x3b
#define SMALL_BITS     15
#define SMALL_TAG      15
#define SMALL_SHIFT    4
#define SMALL(n)       ((uint64_t)(n) << SMALL_SHIFT | SMALL_TAG)
#define MOST_FILE      256

static int read_bytes(const struct runtime_memory *memory, uint64_t address, void *to, uint32_t n)
{
	const struct runtime_piece piece = {address, n, to};

	return memory->read(memory->context, &piece, 1);
}

static int read_word(const struct runtime_memory *memory, uint64_t address, uint64_t *ret)
{
	return read_bytes(memory, address, ret, sizeof *ret);
}

/* The module that @pc lies in. Errors here and below: -ESTALE: it is none. */
static int find_module(const struct runtime_facts *facts, const struct runtime_memory *memory,
		       uint64_t pc, uint64_t *ret)
{
	uint64_t low = 0, high, range[2];
	uint32_t active;
	int r = read_bytes(memory, memory->bias + facts->offsets[BEAM_ACTIVE], &active, 4);

	if (r < 0)
		return r;
	r = read_bytes(memory, memory->bias + facts->offsets[BEAM_RANGES] + 32 * (active & 3),
		       range, sizeof range);
	if (r < 0)
		return r;
	high = range[1];
	if (high > MOST_MODULES)
		return -ESTALE;
	for (uint64_t modules = range[0]; low < high;) {
		uint64_t half = (low + high) / 2;

		r = read_bytes(memory, modules + 16 * half, range, sizeof range);
		if (r < 0)
			return r;
		if (pc >= range[0] && pc < range[1]) {
			*ret = range[0];
			return 0;
		}
		if (pc < range[0])
			high = half;
		else
			low = half + 1;
	}
	return -ESTALE;
}

/* The function of @module that @pc lies in, and its number. */
static int find_function(const struct runtime_facts *facts, const struct runtime_memory *memory,
			 uint64_t module, uint64_t pc, uint64_t *ret, uint32_t *ret_number)
{
	uint64_t low = 0, high, function, table = module + facts->offsets[BEAM_MODULE_FUNCTIONS];
	int r = read_word(memory, module + BEAM_MODULE_N, &high);

	if (r < 0)
		return r;
	if (high == 0 || high > MOST_FUNCTIONS)
		return -ESTALE;
	while (high - low > 1) {
		uint64_t half = (low + high) / 2;

		r = read_word(memory, table + 8 * half, &function);
		if (r < 0)
			return r;
		if (pc < function)
			high = half;
		else
			low = half;
	}
	*ret_number = low;
	r = read_word(memory, table + 8 * low, ret);
	if (r < 0)
		return r;
	return pc < *ret ? -ESTALE : 0;
}

/* The text of a binary: in place, or, if it is long, elsewhere. */
static int find_text(const struct runtime_memory *memory, uint64_t term, uint64_t *ret)
{
	uint64_t words[3]; /* header, bits; or header, address, the first bit */
	int r;

	if ((term & BOXED_BITS) != BOXED_TAG)
		return -ESTALE;
	r = read_bytes(memory, term - BOXED_TAG, words, sizeof words);
	if (r < 0)
		return r;
	if ((words[0] & HEADER_BITS) == TEXT_IN_PLACE)
		*ret = term - BOXED_TAG + 16;
	else if ((words[0] & HEADER_BITS) == TEXT_ELSEWHERE && !(words[2] & 7))
		*ret = (words[1] & ~3ULL) + words[2] / 8;
	else
		return -ESTALE;
	return 0;
}

static int read_atom(const struct runtime_facts *facts, const struct runtime_memory *memory,
		     uint64_t atom, char *to, size_t size)
{
	uint64_t at = 0, number = atom >> ATOM_SHIFT;
	/* From the table to a piece of it, to the atom. */
	const uint64_t path[] = {memory->bias + facts->offsets[BEAM_ATOMS] + BEAM_ATOMS_TABLE,
				 (number >> 10) * 8, (number & 1023) * 8};
	uint16_t length;
	int r;

	if ((atom & ATOM_BITS) != ATOM_TAG)
		return -ESTALE;
	for (size_t i = 0; i < sizeof path / sizeof *path; i++) {
		r = read_word(memory, at + path[i], &at);
		if (r < 0)
			return r;
	}
	r = read_bytes(memory, at + ATOM_LENGTH, &length, sizeof length);
	if (r < 0)
		return r;
	if (!length || length >= size)
		return -ESTALE;
	r = read_word(memory, at + ATOM_TEXT, &at);
	if (r == 0 && facts->offsets[BEAM_ATOM_IS_TERM])
		r = find_text(memory, at, &at);
	if (r < 0)
		return r;
	r = read_bytes(memory, at, to, length);
	if (r < 0)
		return r;
	to[length] = '\0';
	for (uint16_t i = 0; i < length; i++)
		if (!to[i])
			to[i] = '?';
	return 0;
}

/* A string, as a list of characters. Errors, too: -ESTALE: it is none, or longer than @size. */
static int read_list(const struct runtime_memory *memory, uint64_t list, char *to, size_t size)
{
	uint64_t pair[2]; /* the first and the rest */
	size_t n = 0;

	for (; list != EMPTY_LIST; list = pair[1]) {
		int r = (list & LIST_BITS) == LIST_TAG && n + 1 < size
				? read_bytes(memory, list - LIST_TAG, pair, sizeof pair)
				: -ESTALE;

		if (r < 0)
			return r;
		to[n++] = (pair[0] & SMALL_BITS) == SMALL_TAG && pair[0] > SMALL(31) &&
					  pair[0] < SMALL(127)
				  ? pair[0] >> SMALL_SHIFT
				  : '?';
	}
	to[n] = '\0';
	return 0;
}

/* --- lines --- */

/* Of a table of lines: files, bytes of a place, places, and where each function's begin. */
struct line_table {
	uint64_t files;
	uint32_t place_bytes, pad;
	uint64_t places;
	uint64_t first;
};

#define LINE_BITS 24 /* of a place; above it is the file, 0: the module's own */

/* The place of @pc, which is in function @number; 0: it is not known. */
static uint32_t find_place(const struct runtime_memory *memory, uint64_t at, uint32_t number,
			   uint64_t pc, struct line_table *table)
{
	uint64_t bounds[2], address;
	uint32_t place = 0;

	if (!at || read_bytes(memory, at, table, sizeof *table) < 0 ||
	    read_bytes(memory, at + offsetof(struct line_table, first) + 8 * (uint64_t)number,
		       bounds, sizeof bounds) < 0)
		return 0;
	if (bounds[0] < table->first || bounds[1] < bounds[0] ||
	    bounds[1] - bounds[0] > 8ull * MOST_FUNCTIONS ||
	    (table->place_bytes != 2 && table->place_bytes != 4))
		return 0;
	/* The last one at or before pc. */
	at = bounds[0];
	for (uint64_t n = (bounds[1] - at) / 8; n;) {
		uint64_t half = n / 2;

		if (read_word(memory, at + 8 * half, &address) < 0)
			return 0;
		if (pc >= address) {
			at += 8 * (half + 1);
			half = n - half - 1;
		}
		n = half;
	}
	if (at == bounds[0] ||
	    read_bytes(memory, table->places + (at - 8 - table->first) / 8 * table->place_bytes,
		       &place, table->place_bytes) < 0)
		return 0;
	return place;
}

static void read_line(const struct runtime_memory *memory, uint64_t module, uint32_t number,
		      uint64_t pc, const char *module_name, struct runtime_code *ret)
{
	struct line_table table;
	uint64_t at, file = 0;
	uint32_t place = 0;

	if (read_word(memory, module + BEAM_MODULE_LINES, &at) == 0)
		place = find_place(memory, at, number, pc, &table);
	if (!place)
		return;
	if (!(place >> LINE_BITS)) {
		snprintf(ret->file, sizeof ret->file, "%.500s.erl", module_name);
	} else if (read_word(memory, table.files + 8 * (uint64_t)((place >> LINE_BITS) - 1),
			     &file) < 0 ||
		   read_list(memory, file, ret->file, MOST_FILE) < 0) {
		*ret->file = '\0';
		return;
	}
	ret->line = place & ((1u << LINE_BITS) - 1);
}

/* --- */

/* The module that @frame is in, if it is the same as when the frame was made. */
static int read_module(const struct runtime_facts *facts, const struct runtime_memory *memory,
		       const struct runtime_frame *frame, uint64_t *ret)
{
	uint64_t checksum;
	uint32_t check;
	int r = find_module(facts, memory, frame->code, ret);

	if (r < 0)
		return r;
	r = read_word(memory, *ret + facts->offsets[BEAM_MODULE_CHECKSUM], &checksum);
	if (r < 0)
		return r;
	r = read_bytes(memory, checksum, &check, sizeof check);
	if (r < 0)
		return r;
	return check == frame->check ? 0 : -ESTALE;
}

int beam_describe(const struct runtime_facts *facts, const struct runtime_memory *memory,
		  const struct runtime_frame *frame, struct runtime_code *ret)
{
	char module_name[MOST_ATOM], name[MOST_ATOM];
	uint64_t module, function, own[3]; /* its module, name, and arity */
	uint32_t number;
	int r = read_module(facts, memory, frame, &module);

	if (r < 0)
		return r;
	r = find_function(facts, memory, module, frame->code, &function, &number);
	if (r < 0)
		return r;
	r = read_bytes(memory, function + BEAM_FUNCTION_NAME, own, sizeof own);
	if (r < 0)
		return r;
	if (own[2] > MOST_ARITY)
		return -ESTALE;
	r = read_atom(facts, memory, own[0], module_name, sizeof module_name);
	if (r < 0)
		return r;
	r = read_atom(facts, memory, own[1], name, sizeof name);
	if (r < 0)
		return r;
	snprintf(ret->name, sizeof ret->name, "%.500s:%.500s/%" PRIu64, module_name, name, own[2]);
	ret->is_compiled = true;
	read_line(memory, module, number, frame->code, module_name, ret);
	return read_module(facts, memory, frame, &module);
}
