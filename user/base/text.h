/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * text: names and figures as a person reads them, in any XML document.
 *
 * A name can hold any bytes. text_next() turns them into code points that are legal in XML 1.0
 * and harmless in one line of text: white space becomes a space; whatever is not UTF-8, or is a
 * control character, a surrogate, a noncharacter or changes the writing direction becomes U+FFFD.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The code point at *@text, which it moves past; 0 at the end. */
uint32_t text_next(const char **text);

/* Writes a code point as UTF-8, as it is. */
void text_put(FILE *stream, uint32_t code);

/* Writes @text for a terminal: one line, of which nothing is obeyed. */
void text_put_line(FILE *stream, const char *text);

/*
 * The same of what printf() would write. A newline at the end of @format ends the line; any other
 * becomes a space. Nothing is written if there is no memory.
 */
void text_print(FILE *stream, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Columns that @text takes in a fixed-width font: 2 for East Asian wide characters. */
size_t text_columns(const char *text);
size_t text_code_columns(uint32_t code);

/*
 * Writes @text escaped for XML content and attributes. If it takes more than @columns, its end
 * is left out and an ellipsis put in its place. SIZE_MAX: all of it.
 */
void text_write(FILE *stream, const char *text, size_t columns);

/* Two decimals, of what is not negative and below 10^15: coordinates. */
void text_fixed(FILE *stream, double value);

/* `1,234,567`; `417 ns`, `12.3 µs`, `4.56 ms`, `1,234 s`: three digits or more that matter. */
#define TEXT_FIGURE_SIZE 40
void text_count(char text[static TEXT_FIGURE_SIZE], uint64_t count);
void text_time(char text[static TEXT_FIGURE_SIZE], uint64_t nanoseconds);

#endif
