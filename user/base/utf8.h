/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * utf8: which bytes are UTF-8 (RFC 3629).
 */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stddef.h>

/* What stands for a byte that is none. */
#define UTF8_REPLACEMENT "\ufffd"

/*
 * The length of the sequence that begins at @text, 1 to 4; 0 if none begins there. NUL counts as
 * one of length 1; nothing is read behind one.
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
	/* Longer than need be, surrogates, past the last code point. */
	if ((*p == 0xe0 && p[1] < 0xa0) || (*p == 0xed && p[1] > 0x9f) ||
	    (*p == 0xf0 && p[1] < 0x90) || (*p == 0xf4 && p[1] > 0x8f))
		return 0;
	return n;
}

/* How many bytes @text begins with that are UTF-8; its length if all are. */
static inline size_t utf8_span(const char *text)
{
	size_t n = 0, length;

	while (text[n] && (length = utf8_length(text + n)))
		n += length;
	return n;
}

#endif
