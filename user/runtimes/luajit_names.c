/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names, files and lines of LuaJIT's functions, read from the memory of a process that goes on
 * meanwhile: the prototype first, what it refers to next, and then it again. If it does not agree
 * with the frame's check both times, it has no name.
 *
 * A function in Lua has no name of its own, only variables that hold it. It is called by where it
 * was defined, as in tracebacks: file.lua:12. What is no function but a file is <file.lua>.
 */
#include "runtimes/luajit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_CHUNK	  (1u << 26)
#define MOST_INSTRUCTIONS (1u << 26)
#define BUILT_IN	  UINT32_MAX /* a first line: it is the library's own; its chunk is its name */

static int read_bytes(const struct runtime_memory *memory, uint64_t address, void *to, uint32_t n)
{
	const struct runtime_piece piece = {address, n, to};

	return memory->read(memory->context, &piece, 1);
}

struct luajit_prototype {
	uint64_t chunk, lines;
	uint32_t n_instructions, first_line, n_lines, check;
	struct {
		uint32_t hash, length;
	} name;
};

static void mix(uint32_t *check, uint64_t word)
{
	word *= (int64_t)LUAJIT_SPREAD;
	*check ^= (uint32_t)word ^ (uint32_t)(word >> 32);
}

static int read_type(const struct runtime_memory *memory, uint64_t object, uint8_t type)
{
	uint8_t there;
	int r = read_bytes(memory, object + LUAJIT_TYPE, &there, 1);

	if (r < 0)
		return r;
	return there == type ? 0 : -ESTALE;
}

/* As the text makes it (luajit.c, write_check()). */
static int read_prototype(const struct runtime_memory *memory, uint64_t address,
			  struct luajit_prototype *ret)
{
	uint8_t bytes[LUAJIT_PROTOTYPE];
	int r = read_bytes(memory, address, bytes, sizeof bytes);

	if (r < 0)
		return r;
	if (bytes[LUAJIT_TYPE] != LUAJIT_TYPE_PROTOTYPE)
		return -ESTALE;
	memcpy(&ret->n_instructions, bytes + LUAJIT_N_INSTRUCTIONS, 4);
	memcpy(&ret->chunk, bytes + LUAJIT_CHUNK, 8);
	memcpy(&ret->first_line, bytes + LUAJIT_FIRST_LINE, 4);
	memcpy(&ret->n_lines, bytes + LUAJIT_N_LINES, 4);
	memcpy(&ret->lines, bytes + LUAJIT_LINES, 8);
	r = read_type(memory, ret->chunk, LUAJIT_TYPE_STRING);
	if (r < 0)
		return r;
	r = read_bytes(memory, ret->chunk + LUAJIT_STRING_HASH, &ret->name, sizeof ret->name);
	if (r < 0)
		return r;
	ret->check = (uint32_t)(ret->chunk >> 4);
	mix(&ret->check, ret->n_instructions);
	mix(&ret->check, (uint64_t)ret->n_lines << 32 | ret->first_line);
	mix(&ret->check, (uint64_t)ret->name.length << 32 | ret->name.hash);
	return 0;
}

static int read_chunk(const struct runtime_memory *memory, const struct luajit_prototype *prototype,
		      char *to, size_t size)
{
	uint32_t n = prototype->name.length < size - 1 ? prototype->name.length : size - 1;
	int r;

	if (!n || prototype->name.length > MOST_CHUNK)
		return -ESTALE;
	r = read_bytes(memory, prototype->chunk + LUAJIT_STRING_VALUE, to, n);
	if (r < 0)
		return r;
	to[n] = '\0';
	for (uint32_t i = 0; i < n; i++)
		if (!to[i])
			to[i] = '?';
	return 0;
}

/* Reads the lines; without them, the function is in its first. */
static int read_lines(const struct runtime_memory *memory, const struct luajit_prototype *prototype,
		      struct runtime_code *ret)
{
	uint32_t item = prototype->n_lines < 256     ? 1
			: prototype->n_lines < 65536 ? 2
						     : 4;
	uint32_t n = prototype->n_instructions;

	if (!prototype->lines || n < 2 || n > MOST_INSTRUCTIONS ||
	    (n - 1) * item + 1 > RUNTIME_LINES_MAX)
		return 0;
	n = (n - 1) * item;
	ret->lines = malloc(n + 1);
	if (!ret->lines)
		return -ENOMEM;
	ret->lines[0] = item;
	if (read_bytes(memory, prototype->lines, ret->lines + 1, n) == 0)
		ret->n_lines = n + 1;
	return 0;
}

/* Chunks are called @FILE, =NAME, or are the text itself. */
static void name_function(const struct luajit_prototype *prototype, const char *chunk,
			  struct runtime_code *ret)
{
	bool is_file = *chunk == '@';
	const char *slash = is_file ? strrchr(chunk, '/') : NULL, *name = chunk + 1;

	if (slash && slash[1])
		name = slash + 1;
	if (prototype->first_line == BUILT_IN) {
		snprintf(ret->name, sizeof ret->name, "%.500s", chunk + (is_file || *chunk == '='));
		snprintf(ret->file, sizeof ret->file, "[builtin]");
		return;
	}
	if (!is_file && *chunk != '=')
		name = "[string]";
	snprintf(ret->file, sizeof ret->file, "%s", is_file ? chunk + 1 : name);
	if (prototype->first_line)
		snprintf(ret->name, sizeof ret->name, "%.500s:%" PRIu32, name,
			 prototype->first_line);
	else
		snprintf(ret->name, sizeof ret->name, "<%.500s>", name);
	ret->first_line = prototype->first_line;
}

/* After an error, @ret may have lines. */
static int describe(const struct runtime_memory *memory, const struct runtime_frame *frame,
		    struct runtime_code *ret)
{
	char chunk[RUNTIME_NAME_MAX];
	struct luajit_prototype prototype, again;
	int r = read_prototype(memory, frame->code, &prototype);

	if (r < 0)
		return r;
	if (prototype.check != frame->check)
		return -ESTALE;
	r = read_chunk(memory, &prototype, chunk, sizeof chunk);
	if (r < 0)
		return r;
	r = read_lines(memory, &prototype, ret);
	if (r < 0)
		return r;
	r = read_prototype(memory, frame->code, &again);
	if (r < 0)
		return r;
	if (again.check != frame->check)
		return -ESTALE;
	name_function(&prototype, chunk, ret);
	return 0;
}

int luajit_describe(const struct runtime_facts *facts, const struct runtime_memory *memory,
		    const struct runtime_frame *frame, struct runtime_code *ret)
{
	int r;

	if (frame->kind != LUAJIT_FUNCTION && frame->kind != LUAJIT_TRACE)
		return -ESTALE;
	ret->is_compiled = frame->kind == LUAJIT_TRACE;
	r = describe(memory, frame, ret);
	if (r < 0)
		runtime_code_done(ret);
	return r;
}

uint32_t luajit_line(const struct runtime_facts *facts, const uint8_t *lines, uint32_t n_lines,
		     uint32_t first_line, uint32_t detail)
{
	uint32_t item, line = 0;

	if (!n_lines)
		return 0;
	item = lines[0];
	if (item != 1 && item != 2 && item != 4)
		return 0;
	/* @detail is the instruction after the one that runs; the first has no line. */
	if (detail < 2)
		return first_line;
	detail -= 2;
	if (detail >= (n_lines - 1) / item)
		return 0;
	memcpy(&line, lines + 1 + (size_t)detail * item, item);
	return first_line + line;
}
