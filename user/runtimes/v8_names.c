/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names, files and lines of JavaScript's functions, read from the memory of a process that goes on
 * meanwhile, and whose collector moves objects. A function is known by the number of its script and
 * its own in that, which no other has, and by a hash of its name, for the parts of what was freed
 * are used again one by one: they are compared before and after, and with what is found in the
 * frame's place. What has moved away has no name.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/system.h"
#include "runtimes/v8.h"

static uint64_t word_at(const uint8_t *bytes, uint32_t at)
{
	uint64_t word;

	memcpy(&word, bytes + at, sizeof word);
	return word;
}

/* Where what follows the variables of @scope is, less the address of the first. */
static int find_tail(const struct v8_heap *heap, uint64_t scope, uint64_t *ret)
{
	uint64_t word, n;
	int r = v8_word(heap, scope, 8 * V8_SCOPE_LOCALS, &word);

	if (r < 0)
		return r;
	n = (uint32_t)V8_NUMBER(word);
	*ret = 8 * ((uint64_t)heap->o[SCOPE_NAMES] + 1 + (n < V8_SCOPE_MOST_NAMES ? 2 * n : n + 1));
	return 0;
}

/* The hash and the length of a string, if there is one. */
static int read_string_hash(const struct v8_heap *heap, uint64_t pointer, uint64_t *ret)
{
	*ret = 0;
	return pointer & 1 ? v8_read(heap, pointer - 1 + V8_STRING_HASH, ret, sizeof *ret) : 0;
}

/* What the text has of the name of a function with @scope: write_name() in v8.c. */
static int hash_name(const struct v8_heap *heap, uint64_t scope, uint32_t *ret)
{
	struct v8_tail tail;
	uint64_t at, hash;
	int r = find_tail(heap, scope, &at);

	if (r < 0)
		return r;
	r = v8_read(heap, scope - 1 + at, &tail, sizeof tail);
	if (r < 0)
		return r;
	if (V8_RANGE_IS_FIRST(heap->o)) {
		r = v8_read(heap, scope - 1 + 8 * V8_SCOPE_RANGE, &tail.start, 16);
		if (r < 0)
			return r;
	}
	r = read_string_hash(heap, tail.name, &hash);
	if (r < 0)
		return r;
	if (!(hash >> 32)) {
		r = read_string_hash(heap, tail.inferred, &hash);
		if (r < 0)
			return r;
	}
	hash ^= hash >> 32;
	hash ^= (tail.start >> 32) * V8_SPREAD;
	*ret = (uint32_t)(hash + (tail.end >> 32)) * V8_SPREAD_2;
	return 0;
}

#define SHARED_BYTES 80

int v8_shared(const struct v8_heap *heap, uint64_t pointer, struct v8_shared *ret)
{
	const uint32_t *o = heap->o;
	uint8_t bytes[SHARED_BYTES];
	uint32_t literal, name;
	uint64_t id;
	int r;

	if (!V8_IS_POINTER(pointer) || v8_type(heap, pointer) != (int)o[TYPE_SHARED])
		return -ESTALE;
	r = v8_read(heap, pointer - 1, bytes, o[SHARED_LITERAL] + 4);
	if (r < 0)
		return r;
	*ret = (struct v8_shared){
		.pointer = pointer,
		.data = word_at(bytes, o[SHARED_DATA]),
		.name = word_at(bytes, o[SHARED_NAME]),
		.script = word_at(bytes, o[SHARED_SCRIPT]),
	};
	memcpy(&literal, bytes + o[SHARED_LITERAL], sizeof literal);
	ret->has_script = v8_type(heap, ret->script) == (int)o[TYPE_SCRIPT];
	ret->identity = (uint32_t)(ret->name >> 3);
	if (!ret->has_script)
		return 0;
	r = v8_word(heap, ret->script, o[SCRIPT_ID], &id);
	if (r < 0)
		return r;
	r = hash_name(heap, ret->name, &name);
	if (r < 0)
		return r;
	ret->identity = (uint32_t)(id >> 32) * (uint32_t)V8_SPREAD ^ literal ^ name;
	return 0;
}

/* --- names --- */

#define SCOPE_MOST_LOCALS (1 << 20) /* a bundle's own function has thousands */
#define SCOPE_TAIL	  8	    /* words after the variables that are looked at */

/*
 * After the variables comes the function's name, if it has one, and where that is; then what the
 * compiler has called it, a string or undefined; then, up to 11, its first and last position. Which
 * of these there are can be seen: only names are strings, and what follows is an object, or the
 * type of the next one.
 */
static int scan_scope(const struct v8_heap *heap, const uint64_t *words, char *name, size_t size,
		      int32_t *ret_start)
{
	uint32_t i, n_numbers = 0;

	for (i = 0; i < SCOPE_TAIL; i++) {
		int type = v8_type(heap, words[i]), r = 0;

		if (V8_IS_NUMBER(words[i])) {
			n_numbers++;
			continue;
		}
		if (type >= 0 && type < (int)heap->o[TYPE_NOT_STRING]) {
			if (!*name)
				r = v8_string(heap, words[i], name, size);
		} else if (n_numbers >= 2 || (type >= 0 && V8_RANGE_IS_FIRST(heap->o))) {
			break;
		} else if (type < 0) {
			r = -ESTALE;
		}
		if (r < 0)
			return r;
		n_numbers = 0;
	}
	if (n_numbers >= 2 && !V8_RANGE_IS_FIRST(heap->o))
		*ret_start = V8_NUMBER(words[i - 2]);
	return 0;
}

static int scope_name(const struct v8_heap *heap, uint64_t scope, char *name, size_t size,
		      int32_t *ret_start)
{
	uint64_t words[SCOPE_TAIL], at, range;
	int r = find_tail(heap, scope, &at);

	if (r < 0)
		return r;
	if (at > 8 * 2 * SCOPE_MOST_LOCALS)
		return -ESTALE;
	r = v8_read(heap, scope - 1 + at, words, sizeof words);
	if (r < 0)
		return r;
	r = scan_scope(heap, words, name, size, ret_start);
	if (r < 0)
		return r;
	if (V8_RANGE_IS_FIRST(heap->o)) {
		r = v8_word(heap, scope, 8 * V8_SCOPE_RANGE, &range);
		if (r < 0)
			return r;
		*ret_start = V8_NUMBER(range);
	}
	return 0;
}

/* The path, without the scheme of a URL. */
static void put_file(const char *name, char *to, size_t size)
{
	static const char scheme[] = "file://";

	snprintf(to, size, "%s",
		 strncmp(name, scheme, sizeof scheme - 1) == 0 ? name + sizeof scheme - 1 : name);
}

int v8_name(const struct v8_heap *heap, const struct v8_shared *shared, char *name, char *file,
	    size_t size, int32_t *ret_start)
{
	char text[RUNTIME_NAME_MAX];
	int type = v8_type(heap, shared->name), r = 0;
	uint64_t script;

	*ret_start = -1;
	*name = *file = '\0';
	if (type >= 0 && type < (int)heap->o[TYPE_NOT_STRING])
		r = v8_string(heap, shared->name, name, size);
	else if (type == (int)heap->o[TYPE_SCOPE])
		r = scope_name(heap, shared->name, name, size, ret_start);
	else if (!V8_IS_NUMBER(shared->name))
		r = -ESTALE;
	if (r < 0)
		return r;
	if (!*name)
		snprintf(name, size, "%s", "(anonymous)");
	if (!shared->has_script)
		return 0;
	r = v8_word(heap, shared->script, heap->o[SCRIPT_NAME], &script);
	if (r < 0)
		return r;
	if (v8_string(heap, script, text, sizeof text) == 0)
		put_file(text, file, size);
	return 0;
}

/* --- lines --- */

/* What runtime_line() looks up: from this offset on, this line. */
struct line {
	uint32_t offset, line;
};

uint32_t v8_line(const struct runtime_facts *facts, const uint8_t *lines, uint32_t n_lines,
		 uint32_t first_line, uint32_t detail)
{
	uint32_t best = first_line;

	(void)facts;
	for (uint32_t at = 0; at + sizeof(struct line) <= n_lines; at += sizeof(struct line)) {
		struct line line;

		memcpy(&line, lines + at, sizeof line);
		if (detail == V8_NO_OFFSET || line.offset > detail)
			break;
		best = line.line;
	}
	return best;
}

#define MOST_PLACES (RUNTIME_LINES_MAX / sizeof(struct line) - 1)

/* The bytecode of a function, or 0. */
static uint64_t bytecode_of(const struct v8_heap *heap, const struct v8_shared *shared)
{
	uint64_t data = shared->data;

	for (int i = 0; i < 2; i++) {
		int type = v8_type(heap, data);

		if (type == (int)heap->o[TYPE_BYTECODE])
			return data;
		if (type == (int)heap->o[TYPE_CODE]) {
			if (v8_word(heap, data, heap->o[CODE_DEOPTIMIZATION], &data) < 0)
				return 0;
		} else if (type == (int)heap->o[TYPE_INTERPRETER_DATA]) {
			if (v8_word(heap, data, V8_INTERPRETER_BYTECODE, &data) < 0)
				return 0;
		} else {
			return 0;
		}
	}
	return v8_type(heap, data) == (int)heap->o[TYPE_BYTECODE] ? data : 0;
}

/* The lines of bytecode, as far as the function has its table: V8 makes it when it needs it. */
static int read_lines(const struct v8_heap *heap, const struct v8_shared *shared, int32_t start,
		      struct runtime_code *ret)
{
	_cleanup_free_ struct v8_place *places = malloc((MOST_PLACES + 1) * sizeof *places);
	uint64_t bytecode = bytecode_of(heap, shared), table;
	struct line *lines = NULL;
	int n = 0, r;

	if (!places)
		return -ENOMEM;
	places[0] = (struct v8_place){0, start, -1};
	if (bytecode && v8_word(heap, bytecode, heap->o[BYTECODE_POSITIONS], &table) == 0)
		n = v8_places(heap, table, places + 1, MOST_PLACES);
	n = n < 0 ? 0 : n;
	r = v8_find_lines(heap, shared->script, places, n + 1);
	if (r < 0)
		return r;
	if (n) {
		lines = malloc(n * sizeof *lines);
		if (!lines)
			return -ENOMEM;
	}
	for (int i = 0; i < n; i++)
		lines[i] = (struct line){places[i + 1].offset, places[i + 1].position};
	ret->first_line = places[0].position;
	ret->line = places[0].position;
	ret->lines = (uint8_t *)lines;
	ret->n_lines = n * sizeof *lines;
	return 0;
}

/* --- frames --- */

/*
 * What @shared was read from, and its name and file, are as they were before v8_read_anew().
 * Otherwise the collector may have moved the name meanwhile, and made another one in its place.
 */
static int check_again(const struct v8_heap *heap, const struct v8_shared *shared, const char *name,
		       const char *file)
{
	char again_name[RUNTIME_NAME_MAX], again_file[RUNTIME_NAME_MAX];
	struct v8_shared again;
	int32_t start;
	int r = v8_shared(heap, shared->pointer, &again);

	if (r < 0)
		return r;
	r = v8_name(heap, &again, again_name, again_file, sizeof again_name, &start);
	if (r < 0)
		return r;
	if (again.identity != shared->identity || again.name != shared->name ||
	    again.script != shared->script)
		return -ESTALE;
	return strcmp(again_name, name) == 0 && strcmp(again_file, file) == 0 ? 0 : -ESTALE;
}

/* It is found by its own address. */
static int describe_function(const struct v8_heap *heap, const struct runtime_frame *frame,
			     struct runtime_code *ret)
{
	uint64_t pointer = (frame->code & ~3ULL) | 1;
	struct v8_shared shared;
	int32_t start;
	int r = v8_shared(heap, pointer, &shared);

	if (r < 0)
		return r;
	if (shared.identity != frame->check)
		return -ESTALE;
	r = v8_name(heap, &shared, ret->name, ret->file, sizeof ret->name, &start);
	if (r < 0)
		return r;
	if (shared.has_script && start >= 0) {
		r = read_lines(heap, &shared, start, ret);
		if (r < 0)
			return r;
	}
	v8_read_anew(heap);
	return check_again(heap, &shared, ret->name, ret->file);
}

/* Names what is inlined, innermost first. */
static int add_inlined(const struct v8_heap *heap, const struct v8_inlined *from,
		       struct runtime_code *ret, struct v8_shared *ret_shared)
{
	char name[RUNTIME_NAME_MAX], file[RUNTIME_NAME_MAX];
	struct runtime_inlined *to = &ret->inlined[ret->n_inlined];
	struct v8_place place = {0, from->position, -1};
	int32_t start;
	int r = v8_shared(heap, from->shared, ret_shared);

	if (r < 0)
		return r;
	r = v8_name(heap, ret_shared, name, file, sizeof name, &start);
	if (r < 0)
		return r;
	r = v8_find_lines(heap, ret_shared->script, &place, 1);
	if (r < 0)
		return r;
	*to = (struct runtime_inlined){strdup(name), strdup(file), place.position};
	ret->n_inlined++;
	return to->name && to->file ? 0 : -ENOMEM;
}

/* The same for all @n. */
static int add_all_inlined(const struct v8_heap *heap, const struct v8_inlined *from, int n,
			   struct runtime_code *ret, struct v8_shared *ret_shared)
{
	if (!n)
		return 0;
	ret->inlined = calloc(n, sizeof *ret->inlined);
	if (!ret->inlined)
		return -ENOMEM;
	for (int i = 0; i < n; i++) {
		int r = add_inlined(heap, &from[i], ret, &ret_shared[i]);

		if (r < 0)
			return r;
	}
	return 0;
}

/* The code at the frame's address must be of the frame's function. */
static int check_code(const struct v8_heap *heap, const struct runtime_frame *frame,
		      uint64_t pointer, struct v8_shared *ret)
{
	uint64_t bytes;
	int r = v8_read(heap, frame->code - V8_CODE_BYTES, &bytes, sizeof bytes);

	if (r < 0)
		return r;
	if (v8_hash_code(bytes) != frame->detail)
		return -ESTALE;
	r = v8_shared(heap, pointer, ret);
	if (r < 0)
		return r;
	return ret->identity == frame->check ? 0 : -ESTALE;
}

/* The code at the frame's address runs what it did: the collector has moved none of it. */
static int check_inlined(const struct v8_heap *heap, const struct runtime_frame *frame,
			 const struct v8_inlined *inlined, int n)
{
	struct v8_inlined again[RUNTIME_MAX_INLINED + 1];
	int n_again = v8_find_inlined(heap, frame->code, again);

	if (n_again != n)
		return -ESTALE;
	for (int i = 0; i < n; i++)
		if (again[i].shared != inlined[i].shared)
			return -ESTALE;
	return 0;
}

static int describe_optimized(const struct v8_heap *heap, const struct runtime_frame *frame,
			      struct runtime_code *ret)
{
	struct v8_inlined inlined[RUNTIME_MAX_INLINED + 1];
	struct v8_shared within[RUNTIME_MAX_INLINED], shared;
	struct v8_place place = {0, 0, -1};
	int32_t start;
	int r, n = v8_find_inlined(heap, frame->code, inlined);

	if (n < 0)
		return n;
	r = check_code(heap, frame, inlined[n - 1].shared, &shared);
	if (r < 0)
		return r;
	r = v8_name(heap, &shared, ret->name, ret->file, sizeof ret->name, &start);
	if (r < 0)
		return r;
	place.position = inlined[n - 1].position >= 0 ? inlined[n - 1].position : start;
	r = v8_find_lines(heap, shared.script, &place, 1);
	if (r < 0)
		return r;
	ret->line = place.position;
	r = add_all_inlined(heap, inlined, n - 1, ret, within);
	if (r < 0)
		return r;
	v8_read_anew(heap);
	for (int i = 0; i + 1 < n; i++) {
		r = check_again(heap, &within[i], ret->inlined[i].name, ret->inlined[i].file);
		if (r < 0)
			return r;
	}
	r = check_again(heap, &shared, ret->name, ret->file);
	if (r < 0)
		return r;
	r = check_code(heap, frame, inlined[n - 1].shared, &shared);
	if (r < 0)
		return r;
	return check_inlined(heap, frame, inlined, n);
}

int v8_describe(const struct runtime_facts *facts, const struct runtime_memory *memory,
		const struct runtime_frame *frame, struct runtime_code *ret)
{
	uint32_t source_left = V8_MOST_SOURCE;
	struct v8_blocks blocks;
	const struct v8_heap heap = {facts->offsets, memory, &source_left, &blocks};
	int r;

	blocks.n = 0;
	ret->is_compiled = frame->kind != V8_INTERPRETED;
	if (frame->kind == V8_OPTIMIZED)
		r = describe_optimized(&heap, frame, ret);
	else
		r = describe_function(&heap, frame, ret);
	if (r < 0)
		runtime_code_done(ret);
	return r;
}
