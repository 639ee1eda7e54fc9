/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Why not libiberty: it reads parts of malicious names twice, and those within them, too.
 *
 * Each function here reads one part from left to right and writes what it means; it returns false
 * if the name is none of D's, has taken too many steps, or fills the room. Return types are read,
 * but not written, for they come last; attributes neither.
 */
#include "symbol/demangle_d.h"

#include <stdint.h>
#include <string.h>

#define MOST_STEPS 16384
#define MOST_DEPTH 256

struct reader {
	const char *start, *at, *end;
	char *to;
	size_t n, size;
	uint32_t steps, depth;
	uint32_t quiet; /* parts around this one that are not written */
	bool is_cut;
};

static bool read_type(struct reader *reader);
static bool read_qualified(struct reader *reader);

static bool put_bytes(struct reader *reader, const char *bytes, size_t n)
{
	size_t room = reader->size - reader->n;

	if (reader->quiet)
		return true;
	reader->is_cut |= n > room;
	memcpy(reader->to + reader->n, bytes, n < room ? n : room);
	reader->n += n < room ? n : room;
	return !reader->is_cut;
}

static bool put(struct reader *reader, const char *text)
{
	return put_bytes(reader, text, strlen(text));
}

static char peek(const struct reader *reader, size_t i)
{
	return (size_t)(reader->end - reader->at) > i ? reader->at[i] : '\0';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool skip(struct reader *reader, const char *text)
{
	size_t n = strlen(text);

	if ((size_t)(reader->end - reader->at) < n || memcmp(reader->at, text, n) != 0)
		return false;
	reader->at += n;
	return true;
}

static bool read_number(struct reader *reader, size_t *ret)
{
	if (!is_digit(peek(reader, 0)))
		return false;
	for (*ret = 0; is_digit(peek(reader, 0)); reader->at++) {
		*ret = *ret * 10 + (*reader->at - '0');
		if (*ret > UINT32_MAX)
			return false;
	}
	return true;
}

static bool enter(struct reader *reader)
{
	if (!reader->steps || reader->depth >= MOST_DEPTH)
		return false;
	reader->steps--;
	reader->depth++;
	return true;
}

/* 'Q' and how far back the part is that is meant, in base 26: the last digit is a small letter. */
static const char *read_reference(struct reader *reader)
{
	const char *from = reader->at;
	uint64_t distance = 0;

	for (reader->at++; peek(reader, 0) >= 'A' && peek(reader, 0) <= 'Z'; reader->at++) {
		distance = distance * 26 + (*reader->at - 'A');
		if (distance > UINT32_MAX)
			return NULL;
	}
	if (peek(reader, 0) < 'a' || peek(reader, 0) > 'z')
		return NULL;
	distance = distance * 26 + (*reader->at++ - 'a');
	return distance && distance <= (uint64_t)(from - reader->start) ? from - distance : NULL;
}

/* Reads what a reference means with @read. */
static bool follow_reference(struct reader *reader, bool (*read)(struct reader *))
{
	const char *meant = read_reference(reader), *next = reader->at;
	bool r;

	if (!meant || !enter(reader))
		return false;
	reader->at = meant;
	r = read(reader);
	reader->depth--;
	reader->at = next;
	return r;
}

/* Whether a name begins at @at: a reference may also mean a type. */
static bool begins_name(const struct reader *reader)
{
	struct reader ahead = *reader;
	const char *meant;

	if (peek(reader, 0) != 'Q')
		return is_digit(peek(reader, 0)) || (peek(reader, 0) == '_' && peek(reader, 1) == '_' &&
						     (peek(reader, 2) == 'T' || peek(reader, 2) == 'U'));
	meant = read_reference(&ahead);
	return meant && is_digit(*meant);
}

static bool read_float(struct reader *reader)
{
	const char *from = reader->at;

	while (peek(reader, 0) && strchr("0123456789ABCDEFINP", *reader->at))
		reader->at++;
	return put_bytes(reader, from, reader->at - from);
}

static uint8_t hex(char c)
{
	return is_digit(c) ? c - '0' : (c | 32) - 'a' + 10;
}

static bool read_string(struct reader *reader)
{
	size_t n;

	reader->at++;
	if (!read_number(reader, &n) || !skip(reader, "_") ||
	    (size_t)(reader->end - reader->at) / 2 < n || !put(reader, "\""))
		return false;
	for (; n; n--, reader->at += 2) {
		char c = hex(reader->at[0]) << 4 | hex(reader->at[1]);

		if (!put_bytes(reader, c >= ' ' && c <= '~' ? &c : "?", 1))
			return false;
	}
	return put(reader, "\"");
}

static bool read_value(struct reader *reader);

/* @n values, or pairs of them. */
static bool read_values(struct reader *reader, bool are_pairs, const char *open, const char *close)
{
	size_t n;

	reader->at++;
	if (!read_number(reader, &n) || !put(reader, open))
		return false;
	for (size_t i = 0; i < n; i++)
		if ((i && !put(reader, ", ")) || !read_value(reader) ||
		    (are_pairs && !(put(reader, ": ") && read_value(reader))))
			return false;
	return put(reader, close);
}

static bool read_plain_value(struct reader *reader)
{
	const char *from;

	if (skip(reader, "N") && !put(reader, "-"))
		return false;
	skip(reader, "i");
	from = reader->at;
	while (is_digit(peek(reader, 0)))
		reader->at++;
	return reader->at != from && put_bytes(reader, from, reader->at - from);
}

static bool read_value(struct reader *reader)
{
	bool r;

	if (!enter(reader))
		return false;
	switch (peek(reader, 0)) {
	case 'n': r = skip(reader, "n") && put(reader, "null"); break;
	case 'e': r = skip(reader, "e") && read_float(reader); break;
	case 'c':
		r = skip(reader, "c") && read_float(reader) && skip(reader, "c") &&
		    put(reader, "+") && read_float(reader) && put(reader, "i");
		break;
	case 'a':
	case 'w':
	case 'd': r = read_string(reader); break;
	case 'A': r = read_values(reader, false, "[", "]"); break;
	case 'H': r = read_values(reader, true, "[", "]"); break;
	case 'S': r = read_values(reader, false, "(", ")"); break;
	case 'f':
		r = skip(reader, "f_D") && read_qualified(reader);
		reader->quiet++;
		r = r && read_type(reader);
		reader->quiet--;
		break;
	default: r = read_plain_value(reader);
	}
	reader->depth--;
	return r;
}

/* `V` and a type before it say what a value is. */
static bool read_typed_value(struct reader *reader)
{
	bool are_pairs = peek(reader, 0) == 'H', r;

	reader->quiet++;
	r = read_type(reader);
	reader->quiet--;
	if (!r)
		return false;
	return are_pairs && peek(reader, 0) == 'A' ? read_values(reader, true, "[", "]")
						   : read_value(reader);
}

static bool read_symbol_argument(struct reader *reader)
{
	bool r;

	if (!skip(reader, "_D"))
		return read_qualified(reader);
	r = read_qualified(reader);
	reader->quiet++;
	r = r && (skip(reader, "Z") || read_type(reader));
	reader->quiet--;
	return r;
}

static bool read_argument(struct reader *reader)
{
	size_t n;

	skip(reader, "H");
	if (skip(reader, "T"))
		return read_type(reader);
	if (skip(reader, "V"))
		return read_typed_value(reader);
	if (skip(reader, "S"))
		return read_symbol_argument(reader);
	if (!skip(reader, "X") || !read_number(reader, &n) ||
	    (size_t)(reader->end - reader->at) < n)
		return false;
	reader->at += n;
	return put_bytes(reader, reader->at - n, n);
}

static bool read_name(struct reader *reader);

/* `__T`, a name, arguments, `Z`. */
static bool read_template(struct reader *reader)
{
	reader->at += 3;
	if (!read_name(reader) || !put(reader, "!("))
		return false;
	for (bool more = false; !skip(reader, "Z"); more = true)
		if ((more && !put(reader, ", ")) || !read_argument(reader))
			return false;
	return put(reader, ")");
}

static bool read_identifier(struct reader *reader)
{
	const char *name;
	size_t n;

	if (!read_number(reader, &n) || (size_t)(reader->end - reader->at) < n)
		return false;
	name = reader->at;
	/* Older compilers say how long a template is. */
	if (n > 3 && (memcmp(name, "__T", 3) == 0 || memcmp(name, "__U", 3) == 0))
		return read_template(reader) && reader->at == name + n;
	reader->at += n;
	if (n == 6 && memcmp(name, "__ctor", n) == 0)
		return put(reader, "this");
	if (n == 6 && memcmp(name, "__dtor", n) == 0)
		return put(reader, "~this");
	return put_bytes(reader, name, n);
}

static bool read_name(struct reader *reader)
{
	bool r;

	if (!begins_name(reader) || !enter(reader))
		return false;
	if (peek(reader, 0) == 'Q')
		r = follow_reference(reader, read_identifier);
	else
		r = *reader->at == '_' ? read_template(reader) : read_identifier(reader);
	reader->depth--;
	return r;
}

static bool begins_function(const struct reader *reader, size_t i)
{
	char c = peek(reader, i);

	return c && strchr("FUWVRY", c);
}

/* Attributes (`Na` …) but for those that begin a parameter. */
static void skip_attributes(struct reader *reader)
{
	while (peek(reader, 0) == 'N' && peek(reader, 1) && !strchr("ghkn", peek(reader, 1)))
		reader->at += 2;
}

static bool read_parameter(struct reader *reader)
{
	for (;; reader->at++)
		switch (peek(reader, 0)) {
		case 'N':
			if (peek(reader, 1) != 'k')
				return read_type(reader);
			reader->at++;
			break;
		case 'M':
		case 'I': break;
		case 'J':
			if (!put(reader, "out "))
				return false;
			break;
		case 'K':
			if (!put(reader, "ref "))
				return false;
			break;
		case 'L':
			if (!put(reader, "lazy "))
				return false;
			break;
		default: return read_type(reader);
		}
}

/* The way of calling, attributes, parameters, and how they end. */
static bool read_parameters(struct reader *reader)
{
	if (!begins_function(reader, 0) || !put(reader, "("))
		return false;
	reader->at++;
	skip_attributes(reader);
	for (bool more = false;; more = true) {
		if (skip(reader, "X"))
			return put(reader, "...)");
		if (skip(reader, "Y"))
			return put(reader, more ? ", ...)" : "...)");
		if (skip(reader, "Z"))
			return put(reader, ")");
		if ((more && !put(reader, ", ")) || !read_parameter(reader))
			return false;
	}
}

static void skip_modifiers(struct reader *reader)
{
	while (skip(reader, "x") || skip(reader, "y") || skip(reader, "O") || skip(reader, "Ng"))
		;
}

/*
 * The parameters of a function that is part of a name. Where there are none, what follows is not of
 * the name.
 */
static bool try_parameters(struct reader *reader)
{
	const char *at = reader->at;
	size_t n = reader->n;

	if (skip(reader, "M"))
		skip_modifiers(reader);
	if (read_parameters(reader) && reader->at < reader->end)
		return true;
	reader->at = at;
	reader->n = n;
	return !reader->is_cut && reader->steps;
}

static bool read_qualified(struct reader *reader)
{
	bool r = true;

	if (!enter(reader))
		return false;
	for (bool more = false; r && (!more || begins_name(reader)); more = true) {
		while (skip(reader, "0"))
			; /* anonymous */
		r = (!more || put(reader, ".")) && read_name(reader) && try_parameters(reader);
	}
	reader->depth--;
	return r;
}

static bool read_wrapped(struct reader *reader, const char *open, const char *close)
{
	return put(reader, open) && read_type(reader) && put(reader, close);
}

static bool read_function_type(struct reader *reader, const char *word)
{
	bool r;

	skip_modifiers(reader);
	if (!put(reader, word) || (peek(reader, 0) != 'Q' && !read_parameters(reader)))
		return false;
	reader->quiet++;
	r = read_type(reader); /* what it returns, or which function this is */
	reader->quiet--;
	return r;
}

/* The key's type comes first, but is written last. */
static bool read_map(struct reader *reader)
{
	const char *key = reader->at, *next;

	reader->quiet++;
	if (!read_type(reader)) {
		reader->quiet--;
		return false;
	}
	reader->quiet--;
	if (!read_type(reader) || !put(reader, "["))
		return false;
	next = reader->at;
	reader->at = key;
	if (!read_type(reader) || !put(reader, "]"))
		return false;
	reader->at = next;
	return true;
}

static bool read_array(struct reader *reader)
{
	const char *from = reader->at, *to;
	size_t n;

	if (!read_number(reader, &n))
		return false;
	to = reader->at;
	return read_type(reader) && put(reader, "[") && put_bytes(reader, from, to - from) &&
	       put(reader, "]");
}

static bool read_tuple(struct reader *reader)
{
	size_t n;

	if (!read_number(reader, &n) || !put(reader, "Tuple!("))
		return false;
	for (size_t i = 0; i < n; i++)
		if ((i && !put(reader, ", ")) || !read_type(reader))
			return false;
	return put(reader, ")");
}

static bool read_basic(struct reader *reader, char c)
{
	static const char *const names[26] = {
		['a' - 'a'] = "char",	['b' - 'a'] = "bool",	 ['c' - 'a'] = "creal",
		['d' - 'a'] = "double", ['e' - 'a'] = "real",	 ['f' - 'a'] = "float",
		['g' - 'a'] = "byte",	['h' - 'a'] = "ubyte",	 ['i' - 'a'] = "int",
		['j' - 'a'] = "ireal",	['k' - 'a'] = "uint",	 ['l' - 'a'] = "long",
		['m' - 'a'] = "ulong",	['n' - 'a'] = "null",	 ['o' - 'a'] = "ifloat",
		['p' - 'a'] = "idouble", ['q' - 'a'] = "cfloat", ['r' - 'a'] = "cdouble",
		['s' - 'a'] = "short",	['t' - 'a'] = "ushort",	 ['u' - 'a'] = "wchar",
		['v' - 'a'] = "void",	['w' - 'a'] = "dchar",
	};

	if (c == 'z' && skip(reader, "i"))
		return put(reader, "cent");
	if (c == 'z' && skip(reader, "k"))
		return put(reader, "ucent");
	return c >= 'a' && c <= 'z' && names[c - 'a'] && put(reader, names[c - 'a']);
}

static bool read_type_of(struct reader *reader, char c)
{
	switch (c) {
	case 'x': return read_wrapped(reader, "const(", ")");
	case 'y': return read_wrapped(reader, "immutable(", ")");
	case 'O': return read_wrapped(reader, "shared(", ")");
	case 'N':
		if (skip(reader, "g"))
			return read_wrapped(reader, "inout(", ")");
		if (skip(reader, "h"))
			return read_wrapped(reader, "__vector(", ")");
		return skip(reader, "n") && put(reader, "noreturn");
	case 'A': return read_wrapped(reader, "", "[]");
	case 'G': return read_array(reader);
	case 'H': return read_map(reader);
	case 'P':
		if (begins_function(reader, 0))
			return read_function_type(reader, "function");
		return read_wrapped(reader, "", "*");
	case 'D': return read_function_type(reader, "delegate");
	case 'B': return read_tuple(reader);
	case 'C':
	case 'S':
	case 'E':
	case 'T':
	case 'I': return read_qualified(reader);
	default: return read_basic(reader, c);
	}
}

static bool read_type(struct reader *reader)
{
	char c = peek(reader, 0);
	bool r;

	if (c == 'Q')
		return follow_reference(reader, read_type);
	if (!c || !enter(reader))
		return false;
	if (begins_function(reader, 0)) {
		r = read_function_type(reader, "function");
	} else {
		reader->at++;
		r = read_type_of(reader, c);
	}
	reader->depth--;
	return r;
}

static bool read_whole(struct reader *reader)
{
	if (!read_qualified(reader))
		return false;
	reader->quiet++;
	if (skip(reader, "M"))
		skip_modifiers(reader);
	return skip(reader, "Z") || read_type(reader);
}

size_t demangle_d(const char *name, size_t n, char *to, size_t size, bool *is_cut)
{
	struct reader reader = {.start = name,
				.at = name,
				.end = name + n,
				.to = to,
				.size = size,
				.steps = MOST_STEPS};

	if (!skip(&reader, "_D") || !is_digit(peek(&reader, 0)))
		return 0;
	if ((!read_whole(&reader) || reader.at != reader.end) && !reader.is_cut)
		return 0;
	*is_cut = reader.is_cut;
	return reader.n;
}
