/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names, files and lines of Ruby's methods and blocks, read from the memory of a process that goes
 * on meanwhile. What a frame refers to must have the right type, and agree with the frame's check
 * before and after the rest is read.
 *
 * A method is Class#name, or Class.name if it is the class's own; blocks, bodies of classes and
 * files are called as in backtraces. The name of a class is at a place of its own, or, in older
 * versions, a variable of it that is called __classpath__; what a variable is called is in the
 * table of symbols. Which of the addresses that the file offered is that table is seen by its entry
 * for `+`, whose number is its character.
 */
#include "runtimes/ruby.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/system.h"

#define STRING_MAX    512
#define VARIABLES_MAX 16
#define MOST_WORDS    65536 /* of instructions */
#define MOST_ITEMS    4096
#define NAMELESS_FILE "<internal:C>" /* of functions in C */

static int peek(const struct runtime_memory *memory, uint64_t address, void *to, uint32_t n)
{
	const struct runtime_piece piece = {address, n, to};

	return memory->read(memory->context, &piece, 1);
}

/* --- objects --- */

#define EMBEDDED_STRING 24 /* bytes */

struct ruby_string {
	uint64_t flags, class, words[3];
};
#define IS_ELSEWHERE (1 << 13) /* of a string's flags; of an array's it is the opposite */

/* Copies the string, cut to @size. Returns its length in the program, or an error. */
static int64_t read_string(const struct runtime_facts *facts, const struct runtime_memory *memory,
			   uint64_t address, char *to, size_t size)
{
	uint32_t text = facts->offsets[RUBY_STRING_TEXT];
	struct ruby_string string;
	uint64_t n, at = address + text;
	int r = peek(memory, address, &string, sizeof string);

	if (r < 0)
		return r;
	if (RUBY_OBJECT_TYPE(string.flags) != RUBY_STRING)
		return -ESTALE;
	n = string.flags >> 14 & 31;
	if (string.flags & IS_ELSEWHERE) {
		n = string.words[0];
		at = string.words[1];
	} else if (text != offsetof(struct ruby_string, words)) {
		n = string.words[0];
	} else if (n > EMBEDDED_STRING) {
		return -ESTALE;
	}
	if (n > INT32_MAX)
		return -ESTALE;
	size = n < size - 1 ? n : size - 1;
	r = size ? peek(memory, at, to, size) : 0;
	if (r < 0)
		return r;
	to[size] = '\0';
	for (size_t i = 0; i < size; i++)
		if (!to[i])
			to[i] = '?';
	return n;
}

/* Element @i of an array that has it. */
static int read_element(const struct runtime_memory *memory, uint64_t address, uint64_t i,
			uint64_t *ret)
{
	uint64_t array[5]; /* flags, class, and its first elements or their number, room, address */
	int r = peek(memory, address, array, sizeof array);

	if (r < 0)
		return r;
	if (RUBY_OBJECT_TYPE(array[0]) != RUBY_ARRAY)
		return -ESTALE;
	if (array[0] & IS_ELSEWHERE) {
		/* Older versions have two bits, for up to three of them. */
		if (i >= (array[0] >> 15 & 127))
			return -ESTALE;
		return peek(memory, address + 16 + 8 * i, ret, sizeof *ret);
	}
	return i < array[2] ? peek(memory, array[4] + 8 * i, ret, 8) : -ESTALE;
}

/* --- symbols --- */

#define LAST_OPERATOR 170 /* numbers up to here are of operators, and are not shifted */
#define A_TABLE	      512 /* symbols; of each, two elements */

static int symbol_in(const struct runtime_facts *facts, const struct runtime_memory *memory,
		     uint64_t table, uint64_t id, char *to, size_t size)
{
	uint64_t serial = id > LAST_OPERATOR ? id >> 4 : id, array, string;
	int64_t r = read_element(memory, table, serial / A_TABLE, &array);

	if (r < 0)
		return r;
	r = read_element(memory, array, serial % A_TABLE * 2, &string);
	if (r < 0)
		return r;
	r = read_string(facts, memory, string, to, size);
	return r < 0 ? r : 0;
}

/* Finds the table of symbols. */
static int find_symbols(const struct runtime_facts *facts, const struct runtime_memory *memory,
			uint64_t *ret)
{
	char name[4];

	for (uint32_t i = RUBY_TABLES; i < RUBY_TABLES_END && facts->offsets[i]; i++)
		if (peek(memory, memory->bias + facts->offsets[i], ret, sizeof *ret) == 0 &&
		    symbol_in(facts, memory, *ret, '+', name, sizeof name) == 0 &&
		    strcmp(name, "+") == 0)
			return 0;
	return -ESTALE;
}

/* --- classes --- */

struct ruby_class {
	uint64_t flags, class, super, parts;
};
#define IS_SINGLETON (1 << 12)

struct ruby_names {
	const struct runtime_facts *facts;
	const struct runtime_memory *memory;
	uint64_t symbols;
};

static bool is_class(uint64_t flags)
{
	return RUBY_OBJECT_TYPE(flags) == RUBY_CLASS || RUBY_OBJECT_TYPE(flags) == RUBY_MODULE;
}

/* The class's variable @name. */
static int find_variable(const struct ruby_names *names, const struct ruby_class *class,
			 const char *name, uint64_t *ret)
{
	uint64_t table, header[7]; /* st_table: 2 number of entries, 5 bound, 6 entries */
	uint64_t entries[VARIABLES_MAX][3];
	uint32_t n;
	char symbol[32];
	int r = peek(names->memory, class->parts + names->facts->offsets[RUBY_CLASS_VARIABLES],
		     &table, sizeof table);

	if (r < 0)
		return r;
	r = peek(names->memory, table, header, sizeof header);
	if (r < 0)
		return r;
	n = header[5] < VARIABLES_MAX ? header[5] : VARIABLES_MAX;
	r = n ? peek(names->memory, header[6], entries, n * sizeof *entries) : -ESTALE;
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < n; i++)
		if (symbol_in(names->facts, names->memory, names->symbols, entries[i][1], symbol,
			      sizeof symbol) == 0 &&
		    strcmp(symbol, name) == 0) {
			*ret = entries[i][2];
			return 0;
		}
	return -ENOENT;
}

/* What @class at @address has at @offset or, if that is 0, its variable @name. */
static int find_part(const struct ruby_names *names, uint64_t address,
		     const struct ruby_class *class, uint32_t offset, const char *name,
		     uint64_t *ret)
{
	return offset ? peek(names->memory, address + offset, ret, sizeof *ret)
		      : find_variable(names, class, name, ret);
}

static int name_class(const struct ruby_names *names, uint64_t address,
		      const struct ruby_class *class, char *to, size_t size)
{
	uint64_t string;
	int64_t r = find_part(names, address, class, names->facts->offsets[RUBY_CLASS_NAME],
			      "__classpath__", &string);

	if (r < 0)
		return r;
	r = read_string(names->facts, names->memory, string, to, size);
	return r < 0 ? r : 0;
}

/* "Class#" or "Class." before the name of a method; nothing if that is not known. */
static void put_class(const struct ruby_names *names, uint64_t owner, char *to, size_t size)
{
	struct ruby_class class;
	const char *separator = "#";
	size_t n;

	*to = '\0';
	if (peek(names->memory, owner, &class, sizeof class) < 0 || !is_class(class.flags))
		return;
	if (RUBY_OBJECT_TYPE(class.flags) == RUBY_CLASS && class.flags & IS_SINGLETON) {
		uint64_t of = 0;

		if (find_part(names, owner, &class, names->facts->offsets[RUBY_CLASS_OBJECT],
			      "__attached__", &of) < 0 ||
		    peek(names->memory, of, &class, sizeof class) < 0 || !is_class(class.flags))
			return;
		owner = of;
		separator = ".";
	}
	if (name_class(names, owner, &class, to, size - 1) < 0) {
		*to = '\0';
		return;
	}
	n = strlen(to);
	snprintf(to + n, size - n, "%s", n ? separator : "");
}

/* --- method entries --- */

struct ruby_entry {
	uint64_t flags, class, definition, name, owner;
};
_Static_assert(sizeof(struct ruby_entry) == RUBY_ENTRY_BYTES, "as read by the text");

struct ruby_definition {
	uint64_t kind, code, more[2], name;
};
#define DEFINITION_KIND		15 /* bits: … */
#define DEFINITION_INSTRUCTIONS 0

static int read_entry(const struct runtime_memory *memory, uint64_t address, struct ruby_entry *ret,
		      struct ruby_definition *ret_definition)
{
	int r = peek(memory, address, ret, sizeof *ret);

	if (r < 0)
		return r;
	if (RUBY_OBJECT_TYPE(ret->flags) != RUBY_INTERNAL ||
	    RUBY_INTERNAL_KIND(ret->flags) != RUBY_METHOD_ENTRY)
		return -ESTALE;
	return peek(memory, ret->definition, ret_definition, sizeof *ret_definition);
}

static uint32_t check_of_function(const struct ruby_entry *entry)
{
	return (uint32_t)(entry->owner >> 3) ^ (uint32_t)(entry->definition >> 4) ^
	       (uint32_t)(entry->name * RUBY_SPREAD);
}

/*
 * Reads the class of the method whose entry at @address is @entry, for put_class(). Errors:
 * -ESTALE: another entry is there by now, and that class may be another one, too.
 */
static int read_owner(const struct ruby_names *names, uint64_t address,
		      const struct ruby_entry *entry, char *to, size_t size)
{
	struct ruby_definition definition;
	struct ruby_entry again;
	int r;

	put_class(names, entry->owner, to, size);
	r = read_entry(names->memory, address, &again, &definition);
	if (r < 0)
		return r;
	return check_of_function(&again) == check_of_function(entry) ? 0 : -ESTALE;
}

static int describe_function(const struct runtime_facts *facts, const struct runtime_memory *memory,
			     const struct runtime_frame *frame, struct runtime_code *ret)
{
	struct ruby_names names = {facts, memory};
	struct ruby_entry entry;
	struct ruby_definition definition;
	char class[RUNTIME_NAME_MAX / 2], name[RUNTIME_NAME_MAX / 4];
	int r = read_entry(memory, frame->code, &entry, &definition);

	if (r < 0)
		return r;
	if (check_of_function(&entry) != frame->check)
		return -ESTALE;
	r = find_symbols(facts, memory, &names.symbols);
	if (r < 0)
		return r;
	r = symbol_in(facts, memory, names.symbols, definition.name, name, sizeof name);
	if (r < 0)
		return r;
	r = read_owner(&names, frame->code, &entry, class, sizeof class);
	if (r < 0)
		return r;
	snprintf(ret->name, sizeof ret->name, "%s%s", class, name);
	snprintf(ret->file, sizeof ret->file, NAMELESS_FILE);
	return 0;
}

/* --- instructions --- */

#define BODY_MAX (512 + 32)

struct ruby_code {
	uint8_t body[BODY_MAX];
	uint64_t address; /* of the body */
	uint32_t check;
};

static uint64_t word_at(const uint8_t *bytes, uint32_t at)
{
	uint64_t word;

	memcpy(&word, bytes + at, sizeof word);
	return word;
}

/* As the text makes it (ruby.c, write_code()), but for what it has of the method. */
static int read_code(const struct runtime_facts *facts, const struct runtime_memory *memory,
		     uint64_t address, struct ruby_code *ret)
{
	const uint32_t *o = facts->offsets;
	uint64_t sequence[3], words[2], label;
	int r = peek(memory, address, sequence, sizeof sequence);

	if (r < 0)
		return r;
	if (RUBY_OBJECT_TYPE(sequence[0]) != RUBY_INTERNAL ||
	    RUBY_INTERNAL_KIND(sequence[0]) != RUBY_INSTRUCTIONS)
		return -ESTALE;
	ret->address = sequence[RUBY_SEQUENCE_BODY / 8];
	r = peek(memory, ret->address, ret->body, o[RUBY_BODY_LINES] + 32);
	if (r < 0)
		return r;
	label = word_at(ret->body, o[RUBY_BODY_LABEL]);
	r = peek(memory, label + o[RUBY_STRING_TEXT], words, sizeof words);
	if (r < 0)
		return r;
	ret->check =
		(uint32_t)(word_at(ret->body, o[RUBY_BODY_PATH]) >> 3) ^ (uint32_t)(label >> 3) ^
		(uint32_t)word_at(ret->body, o[RUBY_BODY_LINE]) * RUBY_SPREAD ^ (uint32_t)words[0] ^
		(uint32_t)(words[0] >> 32) ^ (uint32_t)(words[1] * RUBY_SPREAD);
	return 0;
}

/* A file is a string, or an array of what it was called and where it is. */
static int read_path(const struct runtime_facts *facts, const struct runtime_memory *memory,
		     uint64_t path, char *to, size_t size)
{
	uint64_t first;
	int64_t r = read_string(facts, memory, path, to, size);

	if (r == -ESTALE && read_element(memory, path, 0, &first) == 0)
		r = read_string(facts, memory, first, to, size);
	return r < 0 ? r : 0;
}

/* Reads the lines; a sequence without them has those of its first line only. */
static int read_lines(const struct runtime_facts *facts, const struct runtime_memory *memory,
		      const struct ruby_code *code, struct runtime_code *ret)
{
	const uint8_t *lines = code->body + facts->offsets[RUBY_BODY_LINES];
	uint32_t item_size = facts->offsets[RUBY_LINE_SIZE];
	uint32_t n_words = (uint32_t)(word_at(code->body, 0) >> 32), n = word_at(lines, 16);
	uint32_t n_index = ruby_index_size(n_words < MOST_WORDS ? n_words : 0);
	_cleanup_free_ uint8_t *bytes = NULL;

	if (!n || n > MOST_ITEMS || n_words > MOST_WORDS)
		return 0;
	bytes = calloc(1, n * item_size + n_index);
	ret->lines = malloc((n + 1) * sizeof(struct ruby_run));
	if (!bytes || !ret->lines)
		return -ENOMEM;
	if (peek(memory, word_at(lines, 0), bytes, n * item_size) == 0 &&
	    (n == 1 || peek(memory, word_at(lines, 24), bytes + n * item_size, n_index) == 0))
		ret->n_lines = sizeof(struct ruby_run) *
			       ruby_runs(bytes, n, item_size, bytes + n * item_size, n_index,
					 n > 1 ? n_words : 1, (struct ruby_run *)ret->lines);
	return 0;
}

static int describe_code(const struct runtime_facts *facts, const struct runtime_memory *memory,
			 uint64_t sequence, uint32_t check, const char *class,
			 struct runtime_code *ret)
{
	const uint32_t *o = facts->offsets;
	struct ruby_code code, again;
	char name[STRING_MAX];
	int64_t r = read_code(facts, memory, sequence, &code);

	if (r < 0)
		return r;
	if (code.check != check)
		return -ESTALE;
	r = read_string(facts, memory, word_at(code.body, o[RUBY_BODY_LABEL]), name, sizeof name);
	if (r < 0)
		return r;
	r = read_path(facts, memory, word_at(code.body, o[RUBY_BODY_PATH]), ret->file,
		      sizeof ret->file);
	if (r < 0)
		return r;
	r = read_lines(facts, memory, &code, ret);
	if (r < 0)
		return r;
	r = read_code(facts, memory, sequence, &again);
	if (r < 0)
		return r;
	if (again.check != check || again.address != code.address)
		return -ESTALE;
	snprintf(ret->name, sizeof ret->name, "%s%s", class, name);
	ret->first_line = (uint32_t)word_at(code.body, o[RUBY_BODY_LINE]) >>
			  (facts->version < RUBY(3, 2)); /* a Fixnum, then */
	return 0;
}

static int describe_method(const struct runtime_facts *facts, const struct runtime_memory *memory,
			   const struct runtime_frame *frame, struct runtime_code *ret)
{
	struct ruby_names names = {facts, memory};
	struct ruby_definition definition;
	struct ruby_entry entry;
	char class[RUNTIME_NAME_MAX / 2] = "";
	int r = read_entry(memory, frame->code, &entry, &definition);

	if (r < 0)
		return r;
	if ((definition.kind & DEFINITION_KIND) != DEFINITION_INSTRUCTIONS)
		return -ESTALE;
	if (find_symbols(facts, memory, &names.symbols) == 0) {
		r = read_owner(&names, frame->code, &entry, class, sizeof class);
		if (r < 0)
			return r;
	}
	return describe_code(facts, memory, definition.code,
			     frame->check ^ (uint32_t)(entry.owner >> 3) ^
				     (uint32_t)(definition.code >> 2),
			     class, ret);
}

/* After an error, @ret may have lines. */
static int describe(const struct runtime_facts *facts, const struct runtime_memory *memory,
		    const struct runtime_frame *frame, struct runtime_code *ret)
{
	switch (frame->kind) {
	case RUBY_SEQUENCE: return describe_code(facts, memory, frame->code, frame->check, "", ret);
	case RUBY_METHOD: return describe_method(facts, memory, frame, ret);
	case RUBY_FUNCTION: return describe_function(facts, memory, frame, ret);
	default: return -ESTALE;
	}
}

int ruby_describe(const struct runtime_facts *facts, const struct runtime_memory *memory,
		  const struct runtime_frame *frame, struct runtime_code *ret)
{
	int r = describe(facts, memory, frame, ret);

	if (r < 0)
		runtime_code_done(ret);
	return r;
}
