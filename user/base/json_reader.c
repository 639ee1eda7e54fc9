/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/json_reader.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/utf8.h"

/* Most numbers and all escapes are shorter; they are read in place. */
#define AT_HAND 64

/* No number in a profile has a larger power of ten. */
#define MAX_EXPONENT 1000

void json_reader_init(struct json_reader *reader, struct stream *stream, struct failure *failure)
{
	*reader = (struct json_reader){.stream = stream,
				       .failure = failure,
				       .at = stream_bytes(stream),
				       .end = stream_bytes(stream) + stream_available(stream)};
}

void json_reader_done(struct json_reader *reader)
{
	free(reader->text);
	*reader = (struct json_reader){0};
}

/* Keeps the error, and sees to it that next_byte() returns it. */
static int fail(struct json_reader *reader, int error)
{
	reader->error = error;
	reader->at = reader->end;
	return error;
}

int json_reader_fault(struct json_reader *reader, const char *format, ...)
{
	uint64_t offset = reader->stream->taken + (reader->at - stream_bytes(reader->stream));
	char what[256];
	va_list arguments;

	if (reader->error)
		return reader->error;
	va_start(arguments, format);
	vsnprintf(what, sizeof what, format, arguments);
	va_end(arguments);
	failure_set(reader->failure, -EINVAL, "%s: damaged JSON at byte %" PRIu64 ": %s",
		    reader->stream->name, offset, what);
	return fail(reader, -EINVAL);
}

/* Bytes */

/* Makes the window hold @n bytes from here on, or up to the file's end. */
static int refill(struct json_reader *reader, size_t n)
{
	int r;

	stream_take(reader->stream, reader->at - stream_bytes(reader->stream));
	r = stream_fill(reader->stream, n, reader->failure);
	reader->at = stream_bytes(reader->stream);
	reader->end = reader->at + stream_available(reader->stream);
	return r < 0 ? fail(reader, r) : 0;
}

static inline int need(struct json_reader *reader, size_t n)
{
	return (size_t)(reader->end - reader->at) >= n ? 0 : refill(reader, n);
}

static inline bool is_space(char byte)
{
	return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
}

/*
 * Peeks at the first byte that is not white space; 0 at the file's end. The window then holds
 * AT_HAND bytes from it on, or up to the file's end.
 */
static inline int next_byte(struct json_reader *reader)
{
	for (;;) {
		int r;

		while (reader->at < reader->end && is_space(*reader->at))
			reader->at++;
		if (reader->end - reader->at >= AT_HAND)
			return (unsigned char)*reader->at;
		if (reader->error)
			return reader->error;
		if (reader->stream->at_end)
			return reader->at < reader->end ? (unsigned char)*reader->at : 0;
		r = refill(reader, AT_HAND);
		if (r < 0)
			return r;
	}
}

static int fail_byte(struct json_reader *reader, int byte, const char *wanted)
{
	if (byte < 0)
		return byte;
	if (!byte && reader->at == reader->end)
		return json_reader_fault(reader, "the file ends where %s should be", wanted);
	return json_reader_fault(reader,
				 byte > ' ' && byte < 0x7f ? "found '%c' where %s should be"
							   : "found byte %d where %s should be",
				 byte, wanted);
}

int json_reader_peek(struct json_reader *reader)
{
	int byte = next_byte(reader);

	switch (byte) {
	case '{': return JSON_OBJECT;
	case '[': return JSON_ARRAY;
	case '"': return JSON_TEXT;
	case 't':
	case 'f': return JSON_BOOL;
	case 'n': return JSON_NULL;
	case '-':
	case '0' ... '9': return JSON_NUMBER;
	default: return fail_byte(reader, byte, "a value");
	}
}

/* Structure */

int json_reader_begin(struct json_reader *reader, char bracket)
{
	int byte = next_byte(reader);

	if (byte != bracket)
		return fail_byte(reader, byte, bracket == '{' ? "an object" : "an array");
	if (reader->depth == JSON_MAX_DEPTH)
		return json_reader_fault(reader, "nested more than %d deep", JSON_MAX_DEPTH);
	reader->open[reader->depth++] = bracket;
	reader->is_first = true;
	reader->at++;
	return 0;
}

/* 1 before another item, 0 past the closing @bracket. */
static inline int next_of(struct json_reader *reader, char bracket)
{
	int byte = next_byte(reader);

	if (byte == bracket) {
		reader->at++;
		reader->depth--;
		reader->is_first = false;
		return 0;
	}
	if (reader->is_first) {
		reader->is_first = false;
		return byte > 0 ? 1 : fail_byte(reader, byte, "a value");
	}
	if (byte != ',')
		return fail_byte(reader, byte, bracket == '}' ? "',' or '}'" : "',' or ']'");
	reader->at++;
	return 1;
}

int json_reader_item(struct json_reader *reader)
{
	return next_of(reader, ']');
}

int json_reader_key(struct json_reader *reader, const char **ret_key)
{
	size_t n;
	int r = next_of(reader, '}'), byte;

	if (r <= 0)
		return r;
	r = json_reader_text(reader, ret_key, &n);
	if (r < 0)
		return r;
	byte = next_byte(reader);
	if (byte != ':')
		return fail_byte(reader, byte, "':'");
	reader->at++;
	return 1;
}

int json_reader_end(struct json_reader *reader)
{
	int byte = next_byte(reader);

	return byte ? fail_byte(reader, byte, "the file's end") : 0;
}

/* Text */

static int append_text(struct json_reader *reader, const char *bytes, size_t n)
{
	int r = array_reserve(reader->text, reader->capacity, reader->n_text, n + 1);

	if (r < 0)
		return fail(reader, r);
	if (reader->n_text + n > JSON_MAX_TEXT)
		return json_reader_fault(reader, "a text of more than %zu bytes", JSON_MAX_TEXT);
	memcpy(reader->text + reader->n_text, bytes, n);
	reader->n_text += n;
	return 0;
}

static bool read_hex(const char *digits, unsigned int *ret)
{
	unsigned int value = 0;

	for (int i = 0; i < 4; i++) {
		unsigned char digit = digits[i];

		if (!isxdigit(digit))
			return false;
		value = value << 4 | (digit <= '9' ? digit - '0' : (digit | 0x20) - 'a' + 10);
	}
	*ret = value;
	return true;
}

/* Reads \\uXXXX; two of them for a code point above 0xffff. */
static int append_code(struct json_reader *reader)
{
	const char *at = reader->at;
	unsigned int code, low;
	char bytes[4];

	if (reader->end - at < 6 || !read_hex(at + 2, &code))
		return json_reader_fault(reader, "\\u without four digits of base 16");
	reader->at += 6;
	if (code >= 0xd800 && code < 0xdc00 && reader->end - reader->at >= 6 && at[6] == '\\' &&
	    at[7] == 'u' && read_hex(at + 8, &low) && low >= 0xdc00 && low < 0xe000) {
		code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
		reader->at += 6;
	}
	if (!code || (code >= 0xd800 && code < 0xe000))
		return append_text(reader, UTF8_REPLACEMENT, strlen(UTF8_REPLACEMENT));
	return append_text(reader, bytes, utf8_encode(code, bytes));
}

static int append_escaped(struct json_reader *reader)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *which;
	int r = need(reader, AT_HAND);

	if (r < 0)
		return r;
	if (reader->end - reader->at < 2)
		return fail_byte(reader, 0, "the rest of a text");
	if (reader->at[1] == 'u')
		return append_code(reader);
	which = reader->at[1] ? strchr(from, reader->at[1]) : NULL;
	if (!which)
		return json_reader_fault(reader, "a backslash before byte %d",
					 (unsigned char)reader->at[1]);
	reader->at += 2;
	return append_text(reader, to + (which - from), 1);
}

/* Reads up to a quote, a backslash, a control character, or the window's end. */
static int append_plain(struct json_reader *reader)
{
	const char *at = reader->at;
	size_t n;

	while (at < reader->end && *at != '"' && *at != '\\' && (unsigned char)*at >= ' ')
		at++;
	n = at - reader->at;
	reader->at = at;
	return append_text(reader, at - n, n);
}

int json_reader_text(struct json_reader *reader, const char **ret_text, size_t *ret_n)
{
	int byte = next_byte(reader), r;

	if (byte != '"')
		return fail_byte(reader, byte, "a text");
	reader->at++;
	reader->n_text = 0;
	for (;;) {
		r = append_plain(reader);
		if (r < 0)
			return r;
		r = need(reader, 1);
		if (r < 0)
			return r;
		if (reader->at == reader->end)
			return json_reader_fault(reader, "the file ends in a text");
		if (*reader->at == '"')
			break;
		if ((unsigned char)*reader->at < ' ')
			return json_reader_fault(reader, "a text holds the control character %d",
						 *reader->at);
		if (*reader->at == '\\') {
			r = append_escaped(reader);
			if (r < 0)
				return r;
		}
	}
	reader->at++;
	reader->text[reader->n_text] = '\0';
	*ret_text = reader->text;
	*ret_n = reader->n_text;
	return 0;
}

/* Numbers */

static inline bool is_digit(char byte)
{
	return byte >= '0' && byte <= '9';
}

int json_reader_index(struct json_reader *reader, uint32_t *ret)
{
	int byte = next_byte(reader);
	struct json_number number;
	uint32_t value = 0;
	const char *at = reader->at;
	int r;

	for (int i = 0; i < 9 && byte > 0 && at < reader->end && is_digit(*at); i++)
		value = value * 10 + (*at++ - '0');
	if (at != reader->at && at < reader->end && (*at == ',' || *at == ']')) {
		reader->at = at;
		*ret = value;
		return 0;
	}
	if (byte == 'n') {
		*ret = JSON_NO_INDEX;
		return json_reader_skip(reader);
	}
	r = json_reader_number(reader, &number);
	if (r < 0)
		return r;
	if (number.billionths || (!number.is_negative && number.whole >= JSON_NO_INDEX))
		return json_reader_fault(reader, "this number cannot be an item's");
	*ret = number.is_negative ? JSON_NO_INDEX : number.whole;
	return 0;
}

/* A number's digits, and the power of ten of the last one. */
struct digits {
	uint64_t value;
	int64_t exponent;
};

/* Digits that don't fit in 64 bits are too small to matter. */
static void add_digit(struct digits *digits, char digit, bool is_after_point)
{
	uint64_t value;

	if (__builtin_mul_overflow(digits->value, 10, &value) ||
	    __builtin_add_overflow(value, digit - '0', &value)) {
		digits->exponent += !is_after_point;
		return;
	}
	digits->value = value;
	digits->exponent -= is_after_point;
}

/* Reads digits from @at on. Returns where they end. */
static const char *read_digits(const struct json_reader *reader, const char *at,
			       struct digits *digits, bool is_after_point)
{
	for (; at < reader->end && is_digit(*at); at++)
		add_digit(digits, *at, is_after_point);
	return at;
}

/* Returns where it ends, or NULL. */
static const char *read_exponent(const struct json_reader *reader, const char *at,
				 struct digits *digits)
{
	bool is_negative = at < reader->end && *at == '-';
	int64_t exponent = 0;

	at += at < reader->end && (*at == '-' || *at == '+');
	if (at == reader->end || !is_digit(*at))
		return NULL;
	for (; at < reader->end && is_digit(*at); at++)
		if (exponent < MAX_EXPONENT)
			exponent = exponent * 10 + (*at - '0');
	digits->exponent += is_negative ? -exponent : exponent;
	return at;
}

static bool set_number(const struct digits *digits, struct json_number *number)
{
	uint64_t value = digits->value, unit = 1, rest;
	int64_t exponent = digits->exponent;

	for (; exponent > 0 && value; exponent--)
		if (__builtin_mul_overflow(value, 10, &value))
			return false;
	/* Round at the ninth decimal. */
	for (bool up = false; exponent < -9 && value; exponent++) {
		up = value % 10 >= 5;
		value = value / 10 + (up && exponent == -10);
	}
	if (!value)
		exponent = 0;
	for (int64_t i = exponent; i < 0; i++)
		unit *= 10;
	number->whole = value / unit;
	rest = value % unit;
	for (int64_t i = exponent; rest && i > -9; i--)
		rest *= 10;
	number->billionths = rest;
	return true;
}

int json_reader_number(struct json_reader *reader, struct json_number *ret)
{
	int byte = next_byte(reader);
	struct digits digits = {0};
	struct json_number number = {.is_negative = byte == '-'};
	const char *at = reader->at + number.is_negative, *first = at;

	if (byte != '-' && !(byte > 0 && is_digit(byte)))
		return fail_byte(reader, byte, "a number");
	at = read_digits(reader, at, &digits, false);
	if (at == first)
		return json_reader_fault(reader, "'-' without a number");
	if (at < reader->end && *at == '.') {
		first = ++at;
		at = read_digits(reader, at, &digits, true);
		if (at == first)
			return json_reader_fault(reader, "a point without decimals");
	}
	if (at < reader->end && (*at == 'e' || *at == 'E'))
		at = read_exponent(reader, at + 1, &digits);
	if (!at || (at == reader->end && !reader->stream->at_end))
		return json_reader_fault(reader, at ? "a number of more digits than are read"
						    : "an exponent without a number");
	if (!set_number(&digits, &number))
		return json_reader_fault(reader, "this number is too large");
	reader->at = at;
	*ret = number;
	return 0;
}

/* Facts */

uint64_t json_reader_count(struct json_reader *reader)
{
	struct json_number number = {0};

	if (json_reader_number(reader, &number) == 0 && (number.billionths || number.is_negative))
		json_reader_fault(reader, "this is not a whole number");
	return reader->error ? 0 : number.whole;
}

double json_reader_decimal(struct json_reader *reader, double most)
{
	struct json_number number = {0};
	double value = 0;

	if (json_reader_number(reader, &number) == 0)
		value = number.whole + number.billionths / 1e9;
	if (number.is_negative || value > most)
		json_reader_fault(reader, "this number is out of range");
	return reader->error ? 0 : value;
}

void json_reader_copy(struct json_reader *reader, char *to, size_t size)
{
	const char *text = "";
	size_t n;

	if (json_reader_text(reader, &text, &n) == 0 && utf8_span(text) < n)
		json_reader_fault(reader, "this text is not UTF-8");
	utf8_copy(to, size, reader->error ? "" : text);
}

/* Anything */

static int skip_word(struct json_reader *reader)
{
	static const char *const words[] = {"null", "true", "false"};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		size_t n = strlen(words[i]);

		if ((size_t)(reader->end - reader->at) < n || memcmp(reader->at, words[i], n) != 0)
			continue;
		reader->at += n;
		return 0;
	}
	return json_reader_fault(reader, "no value begins like this");
}

static int skip_one(struct json_reader *reader)
{
	struct json_number number;
	const char *text;
	size_t n;
	int type = json_reader_peek(reader);

	if (type < 0)
		return type;
	switch (type) {
	case JSON_OBJECT: return json_reader_begin(reader, '{');
	case JSON_ARRAY: return json_reader_begin(reader, '[');
	case JSON_TEXT: return json_reader_text(reader, &text, &n);
	case JSON_NUMBER: return json_reader_number(reader, &number);
	default: return skip_word(reader);
	}
}

int json_reader_skip(struct json_reader *reader)
{
	unsigned int depth = reader->depth;
	const char *key;
	int r;

	for (;;) {
		r = skip_one(reader);
		if (r < 0)
			return r;
		/* Go on to the next value, past everything that ends here. */
		do {
			if (reader->depth == depth)
				return 0;
			r = reader->open[reader->depth - 1] == '{' ? json_reader_key(reader, &key)
								   : json_reader_item(reader);
			if (r < 0)
				return r;
		} while (r == 0);
	}
}
