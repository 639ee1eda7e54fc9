/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names and files of Perl's functions, read from the memory of a process that goes on meanwhile:
 * the function first, what it refers to next, and then it again. If it does not agree with the
 * frame's check both times, it has no name.
 */
#include "runtimes/perl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_BYTES 512
#define MOST_WORD  65536

static int peek(const struct runtime_memory *memory, uint64_t address, void *to, uint32_t n)
{
	const struct runtime_piece piece = {address, n, to};

	return memory->read(memory->context, &piece, 1);
}

static int peek_word(const struct runtime_memory *memory, uint64_t address, uint64_t *ret)
{
	return peek(memory, address, ret, sizeof *ret);
}

/* The body of a value that has to be of @type. */
static int read_body(const struct runtime_memory *memory, uint64_t value, uint32_t type,
		     uint64_t *ret)
{
	uint32_t flags;
	int r = peek(memory, value + PERL_FLAGS, &flags, sizeof flags);

	if (r < 0)
		return r;
	return (flags & PERL_TYPE_MASK) == type ? peek_word(memory, value + PERL_BODY, ret)
						: -ESTALE;
}

static int read_word(const struct runtime_memory *memory, uint64_t word, char *to, size_t size)
{
	uint32_t n;
	int r = peek(memory, word + PERL_WORD_LENGTH, &n, sizeof n);

	if (r < 0)
		return r;
	if (!n || n > MOST_WORD)
		return -ESTALE;
	n = n < size - 1 ? n : size - 1;
	r = peek(memory, word + PERL_WORD_VALUE, to, n);
	if (r < 0)
		return r;
	to[n] = '\0';
	for (uint32_t i = 0; i < n; i++)
		if (!to[i])
			to[i] = '?';
	return 0;
}

/* What a package is called: a word, or the first of several. */
#define PACKAGE_COUNT 28 /* 0: it is one */

static int read_package(const struct runtime_facts *facts, const struct runtime_memory *memory,
			uint64_t package, char *to, size_t size)
{
	uint64_t body, own, word;
	int32_t count;
	int r;

	*to = '\0';
	if (!package)
		return 0;
	r = read_body(memory, package, PERL_TYPE_HASH, &body);
	if (r < 0)
		return r;
	own = body + facts->offsets[PERL_PACKAGE];
	if (!facts->offsets[PERL_PACKAGE]) {
		uint64_t array, last;

		r = peek_word(memory, body + 24, &last);
		if (r < 0)
			return r;
		r = peek_word(memory, package + PERL_ARRAY, &array);
		if (r < 0)
			return r;
		own = array + (last + 1) * sizeof word;
	}
	r = peek_word(memory, own, &word);
	if (r < 0)
		return r;
	r = peek(memory, own + PACKAGE_COUNT, &count, sizeof count);
	if (r < 0)
		return r;
	if (count) {
		r = peek_word(memory, word + (count < 0 ? sizeof word : 0), &word);
		if (r < 0)
			return r;
	}
	return read_word(memory, word, to, size);
}

/* A function, and its check. */
struct perl_function {
	uint64_t package, root, name, file;
	uint32_t check;
};

/* Reads the body of a function. As its name, that may have the glob that has the name. */
static int read_function_body(const struct runtime_memory *memory, uint64_t body,
			      struct perl_function *ret, uint32_t *ret_flags)
{
	const struct runtime_piece pieces[] = {
		{body + PERL_FUNCTION_PACKAGE, sizeof ret->package, &ret->package},
		{body + PERL_FUNCTION_ROOT, sizeof ret->root, &ret->root},
		{body + PERL_FUNCTION_NAME, sizeof ret->name, &ret->name},
		{body + PERL_FUNCTION_FILE, sizeof ret->file, &ret->file},
		{body + PERL_FUNCTION_FLAGS, sizeof *ret_flags, ret_flags},
	};

	return memory->read(memory->context, pieces, sizeof pieces / sizeof *pieces);
}

/* As the text makes it (perl.c, write_check()). */
static int read_function(const struct runtime_memory *memory, uint64_t address,
			 struct perl_function *ret)
{
	uint64_t body, hash, check, own[2];
	uint32_t flags;
	int r = read_body(memory, address, PERL_TYPE_FUNCTION, &body);

	if (r < 0)
		return r;
	r = read_function_body(memory, body, ret, &flags);
	if (r < 0)
		return r;
	if (!ret->name)
		return -ESTALE;
	check = ret->root >> 3;
	if (!(flags & PERL_IS_NAMED)) {
		r = read_body(memory, ret->name, PERL_TYPE_GLOB, &body);
		if (r < 0)
			return r;
		r = peek(memory, body + PERL_GLOB_NAME, own, sizeof own);
		if (r < 0)
			return r;
		ret->name = own[0];
		ret->package = own[1];
		check ^= own[1] >> 3;
	}
	r = peek_word(memory, ret->name, &hash);
	if (r < 0)
		return r;
	hash *= PERL_SPREAD;
	ret->check = check ^ hash ^ hash >> 32;
	return 0;
}

static int read_file(const struct runtime_memory *memory, uint64_t file, char *to, size_t size)
{
	uint64_t page_end = (file | 63) + 1;
	size_t n = 0;

	*to = '\0';
	/* Where it ends is not known: its last bytes may be the last that can be read. */
	for (uint64_t at = file; file && n + 64 < size; at = page_end, page_end += 64) {
		int r = peek(memory, at, to + n, page_end - at);

		if (r < 0)
			return r;
		if (memchr(to + n, '\0', page_end - at))
			break;
		n += page_end - at;
		to[n] = '\0';
	}
	return 0;
}

static int describe_function(const struct runtime_facts *facts, const struct runtime_memory *memory,
			     const struct runtime_frame *frame, struct runtime_code *ret)
{
	char package[MOST_BYTES], name[MOST_BYTES - 2];
	struct perl_function function, again;
	int r = read_function(memory, frame->code, &function);

	if (r < 0)
		return r;
	if (function.check != frame->check)
		return -ESTALE;
	r = read_package(facts, memory, function.package, package, sizeof package);
	if (r < 0)
		return r;
	r = read_word(memory, function.name, name, sizeof name);
	if (r < 0)
		return r;
	r = read_file(memory, function.file, ret->file, sizeof ret->file);
	if (r < 0)
		return r;
	r = read_function(memory, frame->code, &again);
	if (r < 0)
		return r;
	snprintf(ret->name, sizeof ret->name, "%s%s%s", package, *package ? "::" : "", name);
	return again.check == frame->check ? 0 : -ESTALE;
}

/* A place's check is its file: perl.c, write_place(). */
static int read_place(const struct runtime_memory *memory, const struct runtime_frame *frame,
		      uint64_t *ret_file)
{
	int r = peek_word(memory, frame->code + PERL_PLACE_FILE, ret_file);

	if (r < 0)
		return r;
	return (uint32_t)*ret_file == frame->check ? 0 : -ESTALE;
}

/* Code of a file is called by its last name. That of texts has numbers, which say nothing. */
static void name_file(struct runtime_code *code)
{
	const char *slash = strrchr(code->file, '/');

	if (strncmp(code->file, "(eval", 5) == 0)
		snprintf(code->name, sizeof code->name, "<eval>");
	else
		snprintf(code->name, sizeof code->name, "<%.256s>", slash ? slash + 1 : code->file);
}

static int describe_place(const struct runtime_memory *memory, const struct runtime_frame *frame,
			  uint32_t kind, struct runtime_code *ret)
{
	uint64_t file;
	int r = read_place(memory, frame, &file);

	if (r < 0)
		return r;
	r = read_file(memory, file, ret->file, sizeof ret->file);
	if (r < 0)
		return r;
	r = read_place(memory, frame, &file);
	if (r < 0)
		return r;
	if (kind == PERL_FILE || kind == PERL_MAIN)
		name_file(ret);
	else
		snprintf(ret->name, sizeof ret->name, kind == PERL_SORT ? "<sort>" : "<regex>");
	return 0;
}

int perl_describe(const struct runtime_facts *facts, const struct runtime_memory *memory,
		  const struct runtime_frame *frame, struct runtime_code *ret)
{
	uint32_t kind = frame->kind & ~RUNTIME_LAST;
	int r;

	if (kind > PERL_MAIN)
		return -ESTALE;
	r = kind == PERL_FUNCTION ? describe_function(facts, memory, frame, ret)
				  : describe_place(memory, frame, kind, ret);
	if (r < 0)
		return r;
	ret->lines = calloc(1, 1);
	return ret->lines ? 0 : -ENOMEM;
}
