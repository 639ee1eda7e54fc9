/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * json_reader: reads JSON (RFC 8259) from a stream, value by value, on the caller's demand.
 *
 * It keeps nothing of the file. A tree of values takes eight times the file's size (jansson, 100 MB
 * of stacks: 810 MB); these files are mostly columns of numbers, which take four bytes each where
 * the caller wants them.
 *
 * begin → (key → a value)… or (item → a value)… ; a value: begin, text, index, number, skip
 */
#ifndef BASE_JSON_READER_H
#define BASE_JSON_READER_H

#include "base/stream.h"

/* Deeper nesting or longer texts are no profile. */
#define JSON_MAX_DEPTH 256
#define JSON_MAX_TEXT  ((size_t)64 << 20)

/* json_reader_index() gives this for null and for negative numbers. */
#define JSON_NO_INDEX UINT32_MAX

enum json_type {
	JSON_NULL,
	JSON_BOOL,
	JSON_NUMBER,
	JSON_TEXT,
	JSON_ARRAY,
	JSON_OBJECT,
};

struct json_number {
	uint64_t whole;
	uint32_t billionths; /* below 10^9, rounded */
	bool is_negative;
};

struct json_reader {
	struct stream *stream; /* the caller's */
	struct failure *failure;

	/* Its own. */
	int error;	      /* the first one */
	const char *at, *end; /* the rest of the window; bytes before it are read */
	char *text;
	size_t n_text, capacity;
	unsigned int depth;
	bool is_first; /* nothing of the innermost object or array is read yet */
	char open[JSON_MAX_DEPTH];
};

/* json_reader_done() is fine on a zeroed reader. */
void json_reader_init(struct json_reader *reader, struct stream *stream, struct failure *failure);
void json_reader_done(struct json_reader *reader);

/*
 * All return -EINVAL if something else follows, with *failure naming the byte; the
 * errors of stream_fill(); and -ENOMEM, which the caller reports. After an error nothing
 * more is read and all return that error: json_reader_end() is enough to check.
 */

/* The type of the next value, an enum json_type. */
int json_reader_peek(struct json_reader *reader);

/* @bracket: '{' or '['. */
int json_reader_begin(struct json_reader *reader, char bracket);

/* Returns 1 if another item or key follows, and reads the key; 0 at the end, and goes past it. */
int json_reader_item(struct json_reader *reader);
int json_reader_key(struct json_reader *reader, const char **ret_key);

/*
 * Reads a text, in UTF-8 if the file is; NULs in it become U+FFFD. Valid until the next text or
 * key.
 */
int json_reader_text(struct json_reader *reader, const char **ret_text, size_t *ret_n);

/* Reads a whole number below 2^32 - 1, or JSON_NO_INDEX. */
int json_reader_index(struct json_reader *reader, uint32_t *ret);

int json_reader_number(struct json_reader *reader, struct json_number *ret);

/*
 * For facts: a whole number; a number from 0 to @most; as much of a text as fits, and no part of a
 * character. Give 0 or "" after an error.
 */
uint64_t json_reader_count(struct json_reader *reader);
double json_reader_decimal(struct json_reader *reader, double most);
void json_reader_copy(struct json_reader *reader, char *to, size_t size);

/* Skips a value of any type. */
int json_reader_skip(struct json_reader *reader);

/* Checks that nothing follows the value at the top. */
int json_reader_end(struct json_reader *reader);

/* Says in *failure what is wrong here, unless there is an error already. Returns the error. */
int json_reader_fault(struct json_reader *reader, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
