/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names and files of PHP's functions, read from the memory of a process that goes on meanwhile: the
 * function first, what it refers to next, and then it again. If it does not agree with the frame's
 * check both times, it has no name.
 */
#include "runtimes/php.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_BYTES    512
#define INTERNAL_FILE "<php>" /* of functions in C */
#define CLASS_NAME    8	      /* of a class (zend_class_entry) */

static int peek(const struct runtime_memory *memory, uint64_t address, void *to, uint32_t n)
{
	const struct runtime_piece piece = {address, n, to};

	return memory->read(memory->context, &piece, 1);
}

static int read_string(const struct runtime_memory *memory, uint64_t address, char *to, size_t size)
{
	uint64_t n;
	int r = peek(memory, address + PHP_STRING_LENGTH, &n, sizeof n);

	if (r < 0)
		return r;
	if (n > INT32_MAX)
		return -ESTALE;
	n = n < size - 1 ? n : size - 1;
	r = n ? peek(memory, address + PHP_STRING_VALUE, to, n) : 0;
	if (r < 0)
		return r;
	to[n] = '\0';
	for (uint64_t i = 0; i < n; i++)
		if (!to[i])
			to[i] = '?';
	return 0;
}

/* A function, and its check. */
struct php_function {
	uint64_t words[3]; /* type, name, class */
	uint64_t code;
	uint32_t check;
};

static uint8_t type_of(const struct php_function *function)
{
	return function->words[0];
}

/* As the text makes it (php.c, write_check()). */
static int read_function(const struct runtime_facts *facts, const struct runtime_memory *memory,
			 uint64_t address, struct php_function *ret)
{
	uint64_t name[3] = {}, check;
	int r = peek(memory, address, ret->words, sizeof ret->words);

	if (r < 0)
		return r;
	if (ret->words[PHP_NAME / 8]) {
		r = peek(memory, ret->words[PHP_NAME / 8] + PHP_STRING_LENGTH, name, sizeof name);
		if (r < 0)
			return r;
	}
	check = ret->words[PHP_SCOPE / 8] >> 3 ^ ret->words[PHP_NAME / 8] >> 3;
	for (uint32_t i = 0; i < 3; i++) {
		uint64_t x = name[i] * (PHP_SPREAD + 2 * i);

		check ^= x ^ x >> 32;
	}
	if (type_of(ret) != PHP_TYPE_INTERNAL) {
		r = peek(memory, address + facts->offsets[PHP_CODE], &ret->code, sizeof ret->code);
		if (r < 0)
			return r;
		check ^= ret->code >> 4;
	}
	ret->check = check;
	return 0;
}

/* "Class::" before the name of a method. */
static int read_class(const struct runtime_memory *memory, uint64_t class, char *to, size_t size)
{
	uint64_t name;
	size_t n;
	int r;

	*to = '\0';
	if (!class)
		return 0;
	r = peek(memory, class + CLASS_NAME, &name, sizeof name);
	if (r < 0)
		return r;
	r = read_string(memory, name, to, size - 2);
	if (r < 0)
		return r;
	n = strlen(to);
	snprintf(to + n, size - n, "::");
	return 0;
}

static int read_names(const struct runtime_facts *facts, const struct runtime_memory *memory,
		      const struct runtime_frame *frame, const struct php_function *function,
		      struct runtime_code *ret)
{
	char class[MOST_BYTES], name[MOST_BYTES] = "<main>";
	bool is_internal = type_of(function) == PHP_TYPE_INTERNAL;
	uint64_t file;
	int r = read_class(memory, function->words[PHP_SCOPE / 8], class, sizeof class);

	if (r < 0)
		return r;
	if (function->words[PHP_NAME / 8]) {
		r = read_string(memory, function->words[PHP_NAME / 8], name, sizeof name);
		if (r < 0)
			return r;
	}
	snprintf(ret->name, sizeof ret->name, "%s%s", class, name);
	if (is_internal) {
		snprintf(ret->file, sizeof ret->file, INTERNAL_FILE);
		return 0;
	}
	r = peek(memory, frame->code + facts->offsets[PHP_LINE], &ret->first_line,
		 sizeof ret->first_line);
	if (r < 0)
		return r;
	r = peek(memory, frame->code + facts->offsets[PHP_FILE], &file, sizeof file);
	if (r < 0)
		return r;
	return read_string(memory, file, ret->file, sizeof ret->file);
}

int php_describe(const struct runtime_facts *facts, const struct runtime_memory *memory,
		 const struct runtime_frame *frame, struct runtime_code *ret)
{
	bool is_internal = (frame->kind & ~RUNTIME_LAST) == PHP_INTERNAL;
	struct php_function function, again;
	uint8_t type;
	int r = read_function(facts, memory, frame->code, &function);

	if (r < 0)
		return r;
	type = type_of(&function);
	if (function.check != frame->check ||
	    (is_internal ? type != PHP_TYPE_INTERNAL
			 : type != PHP_TYPE_USER && type != PHP_TYPE_EVAL))
		return -ESTALE;
	r = read_names(facts, memory, frame, &function, ret);
	if (r < 0)
		return r;
	r = read_function(facts, memory, frame->code, &again);
	if (r < 0)
		return r;
	if (again.check != frame->check || type_of(&again) != type)
		return -ESTALE;
	/* Functions in C have no lines. */
	ret->lines = is_internal ? NULL : calloc(1, 1);
	return is_internal || ret->lines ? 0 : -ENOMEM;
}
