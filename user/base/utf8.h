/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * utf8: recognizes UTF-8 (RFC 3629), converts code points, and identifies code points that must not
 * be written as they are.
 */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Replaces a byte that is not UTF-8. */
#define UTF8_REPLACEMENT "\ufffd"

/*
 * The length of the sequence that begins at @text, 1 to 4; 0 if none begins there. A NUL counts as
 * a sequence of length 1; nothing after it is read.
 */
static inline size_t utf8_length(const char *text)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t n = *p < 0x80		     ? 1
		   : *p >= 0xc2 && *p < 0xe0 ? 2
		   : *p >= 0xe0 && *p < 0xf0 ? 3
		   : *p >= 0xf0 && *p < 0xf5 ? 4
					     : 0;

	for (size_t i = 1; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	/* Overlong sequences, surrogates, past the last code point. */
	if ((*p == 0xe0 && p[1] < 0xa0) || (*p == 0xed && p[1] > 0x9f) ||
	    (*p == 0xf0 && p[1] < 0x90) || (*p == 0xf4 && p[1] > 0x8f))
		return 0;
	return n;
}

/* The code point of the sequence of @n bytes, a length from utf8_length(). */
static inline uint32_t utf8_code(const char *text, size_t n)
{
	uint32_t code = (unsigned char)text[0] & (n == 1 ? 0x7f : 0xff >> (n + 1));

	for (size_t i = 1; i < n; i++)
		code = code << 6 | (text[i] & 0x3f);
	return code;
}

/*
 * Whether a terminal, a viewer or a reader of lines obeys the code point instead of showing it: C0
 * and C1 controls, separators of lines, marks and changes of writing direction.
 */
static inline bool utf8_is_obeyed(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x061c || code == 0x200e ||
	       code == 0x200f || (code >= 0x2028 && code < 0x202f) ||
	       (code >= 0x2066 && code < 0x206a);
}

/* The number of UTF-8 bytes at the beginning of @text; its length if all are. */
static inline size_t utf8_span(const char *text)
{
	size_t n = 0, length;

	while (text[n] && (length = utf8_length(text + n)))
		n += length;
	return n;
}

/* Copies as much of @text, which is UTF-8, as fits in @size bytes, and no part of a character. */
static inline void utf8_copy(char *to, size_t size, const char *text)
{
	size_t n = strlen(text);

	if (n >= size)
		n = size - 1;
	while (text[n] && n > 0 && (text[n] & 0xc0) == 0x80)
		n--;
	memmove(to, text, n);
	to[n] = '\0';
}

/* Writes the sequence of @code, a code point up to 0x10ffff. Returns its length. */
static inline size_t utf8_encode(unsigned int code, char to[4])
{
	if (code < 0x80) {
		to[0] = code;
		return 1;
	}
	if (code < 0x800) {
		to[0] = 0xc0 | code >> 6;
		to[1] = 0x80 | (code & 0x3f);
		return 2;
	}
	if (code < 0x10000) {
		to[0] = 0xe0 | code >> 12;
		to[1] = 0x80 | (code >> 6 & 0x3f);
		to[2] = 0x80 | (code & 0x3f);
		return 3;
	}
	to[0] = 0xf0 | code >> 18;
	to[1] = 0x80 | (code >> 12 & 0x3f);
	to[2] = 0x80 | (code >> 6 & 0x3f);
	to[3] = 0x80 | (code & 0x3f);
	return 4;
}

#endif
