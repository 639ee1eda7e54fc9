/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * text: names and figures for people, safe in any XML document.
 *
 * A name can hold any bytes. text_next() turns them into code points that are legal in XML 1.0 and
 * harmless in one line of text: white space becomes a space; bytes that are not UTF-8, control
 * characters, surrogates, noncharacters and changes of the writing direction become U+FFFD.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The code point at *@text; moves *@text past it; 0 at the end. */
uint32_t text_next(const char **text);

/* Writes a code point as UTF-8, unchanged. */
void text_put(FILE *stream, uint32_t code);

/* Writes @text for a terminal, as one line in which nothing is obeyed. */
void text_put_line(FILE *stream, const char *text);

/*
 * The same for the output of printf(). A newline at the end of @format ends the line; any other
 * becomes a space. Writes nothing if there is no memory.
 */
void text_print(FILE *stream, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The width of @text in a fixed-width font: East Asian wide characters take 2 columns. */
size_t text_columns(const char *text);
size_t text_code_columns(uint32_t code);

/*
 * Writes @text escaped for XML content and attributes. If it is wider than @columns, an ellipsis
 * replaces its end. SIZE_MAX: all of it.
 */
void text_write(FILE *stream, const char *text, size_t columns);

/* Writes two decimals of a number from 0 to 10^15: coordinates. */
void text_fixed(FILE *stream, double value);

/* `1,234,567`; `417 ns`, `12.3 µs`, `4.56 ms`, `1,234 s`: at least three significant digits. */
#define TEXT_FIGURE_SIZE 40
void text_count(char text[static TEXT_FIGURE_SIZE], uint64_t count);
void text_time(char text[static TEXT_FIGURE_SIZE], uint64_t nanoseconds);

static inline bool text_begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* What follows the last slash, unless that ends @path. */
static inline const char *text_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static inline bool text_begins_any(const char *text, const char *const *with, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (text_begins(text, with[i]))
			return true;
	return false;
}

static inline bool text_ends(const char *text, const char *with)
{
	size_t n = strlen(text), n_with = strlen(with);

	return n >= n_with && strcmp(text + n - n_with, with) == 0;
}

/* Whether the @n bytes at @text are a name followed by @suffix. */
static inline bool text_has_suffix(const char *text, size_t n, const char *suffix)
{
	size_t n_suffix = strlen(suffix);

	return n > n_suffix && memcmp(text + n - n_suffix, suffix, n_suffix) == 0;
}

#endif
