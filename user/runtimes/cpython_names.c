/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names, files and lines of CPython's code objects, read from the memory of a process that goes on
 * meanwhile: the object is read first, what it refers to next, and then once more itself. If it is
 * no code object, not the one that the frame was made of, or another one by then, it has no name.
 */
#include "runtimes/cpython.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/system.h"

#define CODE_MAX	1024
#define HEADER_MAX	128
#define MOST_CHARACTERS 512

struct python_string {
	uint8_t header[HEADER_MAX];
	uint64_t address, data;
	uint32_t n;    /* characters that are read */
	uint32_t kind; /* bytes a character */
	uint8_t bytes[4 * MOST_CHARACTERS];
};

static uint64_t word_at(const uint8_t *bytes, uint32_t at)
{
	uint64_t word;

	memcpy(&word, bytes + at, sizeof word);
	return word;
}

static uint32_t number_at(const uint8_t *bytes, uint32_t at)
{
	uint32_t number;

	memcpy(&number, bytes + at, sizeof number);
	return number;
}

static uint32_t code_size(const uint32_t *o)
{
	uint32_t size = CPYTHON_OBJECT_TYPE + 8;
	const enum cpython_offset members[] = {CODE_FIRST_LINE, CODE_VERSION, CODE_FILE, CODE_NAME,
					       CODE_LINES};

	for (size_t i = 0; i < sizeof members / sizeof *members; i++)
		size = o[members[i]] + 8 > size ? o[members[i]] + 8 : size;
	return size;
}

static uint32_t header_size(const uint32_t *o)
{
	uint32_t size = CPYTHON_STRING_HASH + 8;

	size = o[STRING_LENGTH] + 8 > size ? o[STRING_LENGTH] + 8 : size;
	size = o[STRING_STATE] + 4 > size ? o[STRING_STATE] + 4 : size;
	return o[BYTES_SIZE] + 8 > size ? o[BYTES_SIZE] + 8 : size;
}

/* As the text makes it: cpython.c, write_check(). */
static uint32_t check_of(const uint32_t *o, const uint8_t *code, const uint8_t *name_header)
{
	uint64_t name = word_at(code, o[CODE_NAME]), file = word_at(code, o[CODE_FILE]);
	uint32_t check = number_at(code, o[CODE_FIRST_LINE]);

	if (o[CODE_VERSION])
		check ^= number_at(code, o[CODE_VERSION]) * (uint32_t)CPYTHON_SPREAD;
	return check ^ (uint32_t)(file >> 4) ^ (uint32_t)(name >> 4) ^
	       number_at(name_header, CPYTHON_STRING_HASH);
}

/* What the header says of the characters. */
static int measure(const uint32_t *o, struct python_string *string)
{
	uint32_t state = number_at(string->header, o[STRING_STATE]);
	uint64_t n = word_at(string->header, o[STRING_LENGTH]);
	bool is_compact = state >> 5 & 1, is_ascii = state >> 6 & 1;

	string->kind = state >> 2 & 7;
	if (!is_compact || (string->kind != 1 && string->kind != 2 && string->kind != 4) ||
	    (is_ascii && string->kind != 1) || n > UINT32_MAX)
		return -ESTALE;
	string->n = n < MOST_CHARACTERS ? n : MOST_CHARACTERS;
	string->data = string->address + o[is_ascii ? STRING_ASCII : STRING_WIDE];
	return 0;
}

static uint32_t character(const struct python_string *string, uint32_t i)
{
	const uint8_t *at = string->bytes + i * string->kind;

	return string->kind == 1   ? *at
	       : string->kind == 2 ? (uint32_t)(at[0] | at[1] << 8)
				   : number_at(at, 0);
}

static size_t put_character(char *to, uint32_t code)
{
	if (!code || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		code = '?';
	if (code < 0x80) {
		*to = code;
		return 1;
	}
	if (code < 0x800) {
		to[0] = 0xc0 | code >> 6;
		to[1] = 0x80 | (code & 63);
		return 2;
	}
	if (code < 0x10000) {
		to[0] = 0xe0 | code >> 12;
		to[1] = 0x80 | (code >> 6 & 63);
		to[2] = 0x80 | (code & 63);
		return 3;
	}
	to[0] = 0xf0 | code >> 18;
	to[1] = 0x80 | (code >> 12 & 63);
	to[2] = 0x80 | (code >> 6 & 63);
	to[3] = 0x80 | (code & 63);
	return 4;
}

/* Writes it as UTF-8, cut to @size. */
static void put_string(char *to, size_t size, const struct python_string *string)
{
	size_t n = 0;

	for (uint32_t i = 0; i < string->n && n + 5 <= size; i++)
		n += put_character(to + n, character(string, i));
	to[n] = '\0';
}

/* Where the name of the package begins in a path: below the folders that hold libraries. */
static const char *below_libraries(const char *path)
{
	static const char *const folders[] = {"/site-packages/", "/dist-packages/",
					      "/lib-dynload/"};
	const char *at = NULL, *found;

	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
		found = strstr(path, folders[i]);
		if (found && found + strlen(folders[i]) > at)
			at = found + strlen(folders[i]);
	}
	found = at ? NULL : strstr(path, "/lib/python");
	if (found)
		at = strchr(found + strlen("/lib/"), '/');
	if (at)
		return *at == '/' ? at + 1 : at;
	at = strrchr(path, '/');
	return at ? at + 1 : path;
}

/* Removes @end from the end of @text, if it is there. */
static void cut_end(char *text, const char *end)
{
	size_t n = strlen(text), k = strlen(end);

	if (n > k && strcmp(text + n - k, end) == 0)
		text[n - k] = '\0';
}

/* The module's name by the name of its file. */
static void name_module(const char *file, char *to, size_t size)
{
	static const char frozen[] = "<frozen ";

	if (strncmp(file, frozen, strlen(frozen)) == 0) {
		snprintf(to, size, "%.*s", (int)size - 1, file + strlen(frozen));
		cut_end(to, ">");
		return;
	}
	if (*file == '<') {
		snprintf(to, size, "%.*s", (int)size - 1, file);
		return;
	}
	snprintf(to, size, "%.*s", (int)size - 1, below_libraries(file));
	if (strcmp(to, "__init__.py") == 0 || strcmp(to, "__main__.py") == 0) {
		const char *slash = file + strlen(file) - strlen(to), *before = slash - 1;

		while (before > file && before[-1] != '/')
			before--;
		if (before > file && before < slash)
			snprintf(to, size, "%.*s", (int)(slash - 1 - before), before);
	}
	cut_end(to, ".py");
	cut_end(to, "/__init__");
	for (; *to; to++)
		if (*to == '/')
			*to = '.';
}

/* All that is read of one code object. */
struct code_object {
	uint8_t code[CODE_MAX], again[CODE_MAX];
	struct python_string name, file;
	uint8_t lines_header[HEADER_MAX];
	uint64_t lines;
	uint32_t n_lines;
};

static int read_object(const uint32_t *o, const struct runtime_memory *memory, uint64_t type,
		       const struct runtime_frame *frame, struct code_object *to)
{
	uint32_t size = code_size(o);
	int r;

	if (size > CODE_MAX || header_size(o) > HEADER_MAX)
		return -EINVAL;
	r = memory->read(memory->context, &(struct runtime_piece){frame->code, size, to->code}, 1);
	if (r < 0)
		return r;
	if (word_at(to->code, CPYTHON_OBJECT_TYPE) != type)
		return -ESTALE;
	to->name.address = word_at(to->code, o[CODE_NAME]);
	to->file.address = word_at(to->code, o[CODE_FILE]);
	to->lines = word_at(to->code, o[CODE_LINES]);
	return 0;
}

static int read_headers(const uint32_t *o, const struct runtime_memory *memory,
			const struct runtime_frame *frame, struct code_object *to)
{
	uint32_t size = header_size(o);
	const struct runtime_piece pieces[] = {
		{to->name.address, size, to->name.header},
		{to->file.address, size, to->file.header},
		{to->lines, size, to->lines_header},
	};
	uint64_t n_lines;
	int r = memory->read(memory->context, pieces, 3);

	if (r < 0)
		return r;
	if (check_of(o, to->code, to->name.header) != frame->check)
		return -ESTALE;
	n_lines = word_at(to->lines_header, o[BYTES_SIZE]);
	to->n_lines = n_lines <= RUNTIME_LINES_MAX ? n_lines : 0;
	r = measure(o, &to->name);
	if (r < 0)
		return r;
	return measure(o, &to->file);
}

static int read_texts(const uint32_t *o, const struct runtime_memory *memory,
		      const struct runtime_frame *frame, struct code_object *to, uint8_t *lines)
{
	const struct runtime_piece pieces[] = {
		{to->name.data, to->name.n * to->name.kind, to->name.bytes},
		{to->file.data, to->file.n * to->file.kind, to->file.bytes},
		{to->lines + o[BYTES_VALUE], to->n_lines, lines},
		{to->name.address, header_size(o), to->name.header},
		{frame->code, code_size(o), to->again},
	};
	int r = memory->read(memory->context, pieces, sizeof pieces / sizeof *pieces);

	if (r < 0)
		return r;
	/* Counts of references lie before the type. */
	if (memcmp(to->code + CPYTHON_OBJECT_TYPE, to->again + CPYTHON_OBJECT_TYPE, 8) != 0 ||
	    check_of(o, to->again, to->name.header) != frame->check ||
	    word_at(to->again, o[CODE_LINES]) != to->lines)
		return -ESTALE;
	return 0;
}

static void put_names(const struct code_object *from, struct runtime_code *ret)
{
	size_t n;

	put_string(ret->file, sizeof ret->file, &from->file);
	name_module(ret->file, ret->name, sizeof ret->name / 2);
	n = strlen(ret->name);
	ret->name[n++] = '.';
	put_string(ret->name + n, sizeof ret->name - n, &from->name);
}

int cpython_describe(const struct runtime_facts *facts, const struct runtime_memory *memory,
		     const struct runtime_frame *frame, struct runtime_code *ret)
{
	const uint32_t *o = facts->offsets;
	_cleanup_free_ struct code_object *object = calloc(1, sizeof *object);
	_cleanup_free_ uint8_t *lines = NULL;
	int r;

	if (!object)
		return -ENOMEM;
	r = read_object(o, memory, facts->type + memory->bias, frame, object);
	if (r < 0)
		return r;
	r = read_headers(o, memory, frame, object);
	if (r < 0)
		return r;
	lines = malloc(object->n_lines + 1);
	if (!lines)
		return -ENOMEM;
	r = read_texts(o, memory, frame, object, lines);
	if (r < 0)
		return r;
	put_names(object, ret);
	ret->first_line = number_at(object->code, o[CODE_FIRST_LINE]);
	/* The interpreter's own code, such as what follows a class's __init__(). In 3.9, functions
	 * of one line have an empty table, too. */
	ret->is_hidden = !o[FRAME_UNIT] && !word_at(object->lines_header, o[BYTES_SIZE]);
	ret->n_lines = object->n_lines;
	ret->lines = lines;
	lines = NULL;
	return 0;
}
