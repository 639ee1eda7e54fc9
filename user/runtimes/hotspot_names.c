/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names, files and lines of Java's methods, read from the memory of a process that goes on
 * meanwhile. What identifies the frame is compared before and after: a compiled method's number,
 * which no other has; of an interpreted one, the two bytes of chance that each name has, with
 * where all that was. Classes and compiled methods go at safepoints only, which the end of this
 * reading would notice: a method whose class was unloaded is no longer in use.
 */
#include "runtimes/hotspot.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_CHARACTERS 500
#define HEADER_BYTES	256
#define SYMBOL_BYTES	96 /* that most have at most */

static uint64_t word_at(const uint8_t *bytes, uint32_t at)
{
	uint64_t word;

	memcpy(&word, bytes + at, sizeof word);
	return word;
}

static uint16_t short_at(const uint8_t *bytes, uint32_t at)
{
	uint16_t number;

	memcpy(&number, bytes + at, sizeof number);
	return number;
}

/* A name, as it is in memory. */
struct symbol {
	uint64_t address;
	uint16_t hash;
	char text[MOST_CHARACTERS + 1];
};

static bool is_printable(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f || *text == ';')
			return false;
	return true;
}

static int read_symbol(const uint32_t *o, const struct runtime_memory *memory, uint64_t address,
		       struct symbol *ret)
{
	uint8_t bytes[SYMBOL_BYTES] = {};
	uint32_t n, n_read = sizeof bytes;
	int r;

	if (!address || address & 7)
		return -ESTALE;
	r = hotspot_read(memory, address, bytes, n_read);
	if (r < 0) { /* the end of what is mapped */
		n_read = o[SYMBOL_BODY];
		r = hotspot_read(memory, address, bytes, n_read);
	}
	if (r < 0)
		return r;
	ret->address = address;
	ret->hash = short_at(bytes, o[SYMBOL_HASH] + 2);
	n = short_at(bytes, o[SYMBOL_LENGTH]);
	if (!n)
		return -ESTALE;
	n = n < MOST_CHARACTERS ? n : MOST_CHARACTERS;
	if (o[SYMBOL_BODY] + n <= n_read)
		memcpy(ret->text, bytes + o[SYMBOL_BODY], n);
	else
		r = hotspot_read(memory, address + o[SYMBOL_BODY], ret->text, n);
	if (r < 0)
		return r;
	ret->text[n] = '\0';
	return strlen(ret->text) == n && is_printable(ret->text) ? 0 : -ESTALE;
}

int hotspot_name(const uint32_t *o, const struct runtime_memory *memory, uint64_t address, char *to,
		 size_t size)
{
	struct symbol symbol;
	int r = read_symbol(o, memory, address, &symbol);

	if (r < 0)
		return r;
	snprintf(to, size, "%s", symbol.text);
	return 0;
}

/* All that is read of one method. */
struct method {
	uint64_t constant, pool; /* ConstMethod, ConstantPool */
	uint32_t code_size, flags, words;
	uint64_t name_slot; /* as it is in the pool */
	struct symbol name, class, source;
	bool has_source;
};

/* The @index'th value of @pool. */
static int read_slot(const uint32_t *o, const struct runtime_memory *memory, uint64_t pool,
		     uint32_t index, uint64_t *ret)
{
	return hotspot_read(memory, pool + o[POOL_SIZE] + 8 * (uint64_t)index, ret, 8);
}

static int read_constant(const uint32_t *o, const struct runtime_memory *memory, uint64_t address,
			 struct method *ret, uint32_t *ret_name)
{
	uint8_t bytes[HEADER_BYTES];
	int r = hotspot_read(memory, address + o[METHOD_CONST], &ret->constant, 8);

	if (r < 0)
		return r;
	r = hotspot_read(memory, ret->constant, bytes, o[CONST_SIZE]);
	if (r < 0)
		return r;
	ret->pool = word_at(bytes, o[CONST_POOL]);
	ret->code_size = short_at(bytes, o[CONST_CODE_SIZE]);
	ret->flags = short_at(bytes, o[CONST_FLAGS]);
	ret->words = word_at(bytes, o[CONST_WORDS]);
	*ret_name = short_at(bytes, o[CONST_NAME]);
	return 0;
}

static int read_method(const uint32_t *o, const struct runtime_memory *memory, uint64_t address,
		       struct method *ret)
{
	uint8_t pool[HEADER_BYTES];
	uint64_t class, slot;
	uint32_t name, length, source;
	int r = read_constant(o, memory, address, ret, &name);

	if (r < 0)
		return r;
	r = hotspot_read(memory, ret->pool, pool, o[POOL_SIZE]);
	if (r < 0)
		return r;
	length = word_at(pool, o[POOL_LENGTH]);
	source = short_at(pool, o[POOL_SOURCE]);
	if (!name || name >= length)
		return -ESTALE;
	r = read_slot(o, memory, ret->pool, name, &ret->name_slot);
	if (r < 0)
		return r;
	r = read_symbol(o, memory, ret->name_slot & ~1ULL, &ret->name);
	if (r < 0)
		return r;
	r = hotspot_read(memory, word_at(pool, o[POOL_CLASS]) + o[CLASS_NAME], &class, 8);
	if (r < 0)
		return r;
	r = read_symbol(o, memory, class, &ret->class);
	if (r < 0)
		return r;
	ret->has_source = source && source < length &&
			  read_slot(o, memory, ret->pool, source, &slot) == 0 &&
			  read_symbol(o, memory, slot & ~1ULL, &ret->source) == 0;
	return 0;
}

/* As the text makes it: hotspot.c, write_check(). */
static uint32_t check_of(const struct method *method)
{
	return (uint32_t)(method->constant >> 3) ^ (uint32_t)(method->class.address >> 3) ^
	       (uint32_t)method->class.hash << 16 ^ (uint32_t)(method->name_slot * HOTSPOT_SPREAD) ^
	       method->name.hash;
}

/* `package.Class.method`; classes that are made at run time have addresses in their names. */
static void put_name(const struct method *method, char *to, size_t size)
{
	char class[MOST_CHARACTERS + 1];
	char *end;

	snprintf(class, sizeof class, "%s", method->class.text);
	end = strstr(class, "+0x");
	end = end ?: strstr(class, "/0x");
	if (end)
		*end = '\0';
	for (char *c = class; *c; c++)
		if (*c == '/')
			*c = '.';
	snprintf(to, size, "%s.%s", class, method->name.text);
}

/* `package/Source.java` */
static void put_file(const struct method *method, char *to, size_t size)
{
	const char *slash = strrchr(method->class.text, '/');
	int n = slash ? (int)(slash + 1 - method->class.text) : 0;

	if (slash && strncmp(slash, "/0x", 3) == 0) {
		n = 0;
		for (const char *c = method->class.text; c < slash; c++)
			if (*c == '/')
				n = (int)(c + 1 - method->class.text);
	}
	if (method->has_source)
		snprintf(to, size, "%.*s%s", n, method->class.text, method->source.text);
	else
		snprintf(to, size, "%s", "");
}

#define FLAG_HAS_LINES 1
#define MOST_WORDS     (1u << 17)

/* The table of lines follows the bytecode; where it ends, it says itself. */
static int read_lines(const uint32_t *o, const struct runtime_memory *memory,
		      const struct method *method, uint8_t **ret, uint32_t *ret_n)
{
	uint32_t from = o[CONST_SIZE] + method->code_size, n;
	uint8_t *lines;

	*ret = NULL;
	*ret_n = 0;
	if (!(method->flags & FLAG_HAS_LINES) || method->words > MOST_WORDS ||
	    method->words * 8 <= from)
		return 0;
	n = method->words * 8 - from;
	n = n < RUNTIME_LINES_MAX ? n : RUNTIME_LINES_MAX;
	lines = malloc(n);
	if (!lines)
		return -ENOMEM;
	if (hotspot_read(memory, method->constant + from, lines, n) < 0) {
		free(lines);
		return 0;
	}
	*ret = lines;
	*ret_n = n;
	return 0;
}

static int32_t signed_number(uint32_t version, const uint8_t *bytes, uint32_t n, uint32_t *at)
{
	uint32_t value = hotspot_number(version, bytes, n, at);

	return (int32_t)(value >> 1) ^ -(int32_t)(value & 1);
}

/* A byte of five bits of bytecode and three of lines, or two numbers after an escape. */
uint32_t hotspot_line(const struct runtime_facts *facts, const uint8_t *lines, uint32_t n_lines,
		      uint32_t first_line, uint32_t detail)
{
	uint32_t at = 0, bytecode = 0, line = 0, best = 0;

	(void)first_line;
	while (detail != HOTSPOT_NO_BYTECODE && at < n_lines && lines[at]) {
		uint8_t byte = lines[at++];

		if (byte == 0xff) {
			bytecode += signed_number(facts->version, lines, n_lines, &at);
			line += signed_number(facts->version, lines, n_lines, &at);
		} else {
			bytecode += byte >> 3;
			line += byte & 7;
		}
		if (bytecode > detail)
			break;
		best = line;
	}
	return best;
}

/* --- frames --- */

static int describe_interpreted(const struct runtime_facts *facts,
				const struct runtime_memory *memory,
				const struct runtime_frame *frame, struct runtime_code *ret)
{
	const uint32_t *o = facts->offsets;
	struct method method, again;
	int r = read_method(o, memory, frame->code, &method);

	if (r < 0)
		return r;
	if (check_of(&method) != frame->check)
		return -ESTALE;
	put_name(&method, ret->name, sizeof ret->name);
	put_file(&method, ret->file, sizeof ret->file);
	r = read_lines(o, memory, &method, &ret->lines, &ret->n_lines);
	if (r < 0)
		return r;
	r = read_method(o, memory, frame->code, &again);
	if (r < 0)
		return r;
	return check_of(&again) == frame->check ? 0 : -ESTALE;
}

/* Reads what a method at @place is called. Errors: -ENOMEM, those of memory. */
static int describe_place(const struct runtime_facts *facts, const struct runtime_memory *memory,
			  const struct hotspot_place *place, char *name, char *file, size_t size,
			  uint32_t *ret_line)
{
	const uint32_t *o = facts->offsets;
	struct method method;
	uint32_t n_lines;
	uint8_t *lines;
	int r = read_method(o, memory, place->method, &method);

	if (r < 0)
		return r;
	r = read_lines(o, memory, &method, &lines, &n_lines);
	if (r < 0)
		return r;
	put_name(&method, name, size);
	put_file(&method, file, size);
	*ret_line = lines && place->bytecode >= 0
			    ? hotspot_line(facts, lines, n_lines, 0, place->bytecode)
			    : 0;
	free(lines);
	return 0;
}

/* A compiled method's number and what else must stay as it is. */
struct identity {
	uint32_t id;
	uint64_t method;
	int8_t state;
};

#define STATE_IN_USE	  0
#define STATE_NOT_ENTRANT 2 /* or so: gone ones have higher numbers */

static int identify(const uint32_t *o, const struct runtime_memory *memory,
		    const struct runtime_frame *frame, struct identity *ret)
{
	const struct runtime_piece pieces[] = {
		{frame->code + o[COMPILED_ID], sizeof ret->id, &ret->id},
		{frame->code + o[COMPILED_METHOD], sizeof ret->method, &ret->method},
		{frame->code + o[COMPILED_STATE], sizeof ret->state, &ret->state},
	};
	int r = memory->read(memory->context, pieces, 3);

	if (r < 0)
		return r;
	return (uint32_t)(ret->id * (uint32_t)HOTSPOT_SPREAD ^ (uint32_t)(ret->method >> 3)) ==
				       frame->check &&
			       ret->state >= 0 && ret->state <= STATE_NOT_ENTRANT
		       ? 0
		       : -ESTALE;
}

static int add_inlined(const struct runtime_facts *facts, const struct runtime_memory *memory,
		       const struct hotspot_place *place, struct runtime_code *ret)
{
	struct runtime_inlined *to = &ret->inlined[ret->n_inlined];
	char name[RUNTIME_NAME_MAX], file[RUNTIME_NAME_MAX];
	int r = describe_place(facts, memory, place, name, file, sizeof name, &to->line);

	if (r < 0)
		return r;
	to->name = strdup(name);
	to->file = strdup(file);
	ret->n_inlined++;
	return to->name && to->file ? 0 : -ENOMEM;
}

/* What enters a virtual thread. Walks that come from its chunks don't see it. */
#define ENTRY "jdk.internal.vm.Continuation.enterSpecial"

static int describe_compiled(const struct runtime_facts *facts, const struct runtime_memory *memory,
			     const struct runtime_frame *frame, struct runtime_code *ret)
{
	struct hotspot_place places[RUNTIME_MAX_INLINED + 1];
	struct identity identity;
	int n, r = identify(facts->offsets, memory, frame, &identity);

	if (r < 0)
		return r;
	n = hotspot_scopes(facts, memory, frame->code, frame->detail,
			   frame->kind == HOTSPOT_COMPILED, places);
	if (!n || places[n - 1].method != identity.method) { /* at least what was compiled */
		n = 0;
		places[n++] = (struct hotspot_place){identity.method, -1};
	}
	r = describe_place(facts, memory, &places[n - 1], ret->name, ret->file, sizeof ret->name,
			   &ret->line);
	if (r < 0)
		return r;
	ret->is_hidden = strcmp(ret->name, ENTRY) == 0;
	if (n > 1) {
		ret->inlined = calloc(n - 1, sizeof *ret->inlined);
		if (!ret->inlined)
			return -ENOMEM;
	}
	for (int i = 0; i + 1 < n; i++) {
		r = add_inlined(facts, memory, &places[i], ret);
		if (r < 0)
			return r;
	}
	return identify(facts->offsets, memory, frame, &identity);
}

static int describe_stub(const struct runtime_facts *facts, const struct runtime_memory *memory,
			 const struct runtime_frame *frame, struct runtime_code *ret)
{
	char name[64 + 1] = "";
	uint64_t at;
	int r = hotspot_read(memory, frame->code + facts->offsets[BLOB_NAME], &at, 8);

	if (r < 0)
		return r;
	if ((uint32_t)at != frame->check)
		return -ESTALE;
	r = hotspot_read(memory, at, name, sizeof name - 1);
	if (r < 0)
		return r;
	if (!*name || !is_printable(name))
		return -ESTALE;
	snprintf(ret->name, sizeof ret->name, "%s", name);
	return 0;
}

int hotspot_describe(const struct runtime_facts *facts, const struct runtime_memory *memory,
		     const struct runtime_frame *frame, struct runtime_code *ret)
{
	int r;

	ret->is_compiled = frame->kind != HOTSPOT_INTERPRETED;
	if (frame->kind == HOTSPOT_INTERPRETED)
		r = describe_interpreted(facts, memory, frame, ret);
	else if (frame->kind == HOTSPOT_STUB)
		r = describe_stub(facts, memory, frame, ret);
	else
		r = describe_compiled(facts, memory, frame, ret);
	if (r < 0)
		runtime_code_done(ret);
	return r;
}
