/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * json_reader: JSON (RFC 8259) from a stream, value by value, as the caller asks for them.
 *
 * Nothing of the file is kept: a tree of values takes eight times the file (jansson, 100 MB of
 * stacks: 810 MB), and columns of numbers, which such files are, take four bytes a number where
 * they are wanted.
 *
 *	begin → (key → a value)… or (item → a value)… ; a value: begin, text, index, number, skip
 */
#ifndef INPUT_JSON_READER_H
#define INPUT_JSON_READER_H

#include "input/stream.h"

/* What is nested deeper, or a longer text, is no profile. */
#define JSON_MAX_DEPTH 256
#define JSON_MAX_TEXT  ((size_t)64 << 20)

/* What json_reader_index() gives for null and for negative numbers. */
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
	const char *at, *end; /* the window's bytes from here on; before them it was read */
	char *text;
	size_t n_text, capacity;
	unsigned int depth;
	bool is_first; /* nothing of the innermost object or array was read */
	char open[JSON_MAX_DEPTH];
};

/* json_reader_done() is fine on a zeroed one. */
void json_reader_init(struct json_reader *reader, struct stream *stream, struct failure *failure);
void json_reader_done(struct json_reader *reader);

/*
 * All of them return -EINVAL if something else is there, with *failure saying at which byte; the
 * errors of stream_fill(); -ENOMEM, which is left to the caller to tell.
 */

/* What comes next, an enum json_type. */
int json_reader_peek(struct json_reader *reader);

/* @bracket: '{' or '['. */
int json_reader_begin(struct json_reader *reader, char bracket);

/* 1 if another item, or key, comes, which is read then; 0 at the end, behind which it goes. */
int json_reader_item(struct json_reader *reader);
int json_reader_key(struct json_reader *reader, const char **ret_key);

/*
 * A text, in UTF-8 where the file is; a NUL in it becomes U+FFFD. Valid until the next text or key.
 */
int json_reader_text(struct json_reader *reader, const char **ret_text, size_t *ret_n);

/* A whole number below 2^32 - 1, or JSON_NO_INDEX. */
int json_reader_index(struct json_reader *reader, uint32_t *ret);

int json_reader_number(struct json_reader *reader, struct json_number *ret);

/* Any value. */
int json_reader_skip(struct json_reader *reader);

/* Makes sure that nothing comes behind the value at the top. */
int json_reader_end(struct json_reader *reader);

/* Tells *failure what is wrong here. Returns -EINVAL. */
int json_reader_fault(const struct json_reader *reader, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
