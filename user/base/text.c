/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

#define REPLACEMENT 0xfffd
#define ELLIPSIS    "\u2026"

static bool is_space(uint32_t code)
{
	return code == '\t' || code == '\n' || code == '\r' || code == 0x2028 || code == 0x2029;
}

/* XML 1.0 does not allow noncharacters. */
static bool is_harmful(uint32_t code)
{
	return utf8_is_obeyed(code) || (code & 0xfffe) == 0xfffe ||
	       (code >= 0xfdd0 && code < 0xfdf0);
}

uint32_t text_next(const char **text)
{
	size_t n = utf8_length(*text);
	uint32_t code = n ? utf8_code(*text, n) : REPLACEMENT;

	if (!**text)
		return 0;
	*text += n ? n : 1;
	return is_space(code) ? ' ' : is_harmful(code) ? REPLACEMENT : code;
}

size_t text_code_columns(uint32_t code)
{
	return (code >= 0x1100 && code < 0x1160) || (code >= 0x2e80 && code < 0xa4d0) ||
			       (code >= 0xac00 && code < 0xd7a4) ||
			       (code >= 0xf900 && code < 0xfb00) ||
			       (code >= 0xff00 && code < 0xff61) ||
			       (code >= 0x1f300 && code < 0x1fb00) ||
			       (code >= 0x20000 && code < 0x40000)
		       ? 2
		       : 1;
}

size_t text_columns(const char *text)
{
	size_t columns = 0;

	for (uint32_t code; (code = text_next(&text));)
		columns += text_code_columns(code);
	return columns;
}

void text_put(FILE *stream, uint32_t code)
{
	if (code < 0x80) {
		putc_unlocked(code, stream);
		return;
	}
	if (code < 0x800) {
		putc_unlocked(0xc0 | code >> 6, stream);
	} else {
		if (code < 0x10000) {
			putc_unlocked(0xe0 | code >> 12, stream);
		} else {
			putc_unlocked(0xf0 | code >> 18, stream);
			putc_unlocked(0x80 | (code >> 12 & 0x3f), stream);
		}
		putc_unlocked(0x80 | (code >> 6 & 0x3f), stream);
	}
	putc_unlocked(0x80 | (code & 0x3f), stream);
}

void text_put_line(FILE *stream, const char *text)
{
	for (uint32_t code; (code = text_next(&text));)
		text_put(stream, code);
}

void text_print(FILE *stream, const char *format, ...)
{
	size_t n = strlen(format);
	bool ends_line = n && format[n - 1] == '\n';
	va_list arguments;
	char *text;
	int length;

	va_start(arguments, format);
	length = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (length < 0)
		return;
	if (ends_line)
		text[length - 1] = '\0';
	text_put_line(stream, text);
	if (ends_line)
		putc_unlocked('\n', stream);
	free(text);
}

static void write_code(FILE *stream, uint32_t code)
{
	switch (code) {
	case '&': fputs_unlocked("&amp;", stream); break;
	case '<': fputs_unlocked("&lt;", stream); break;
	case '>': fputs_unlocked("&gt;", stream); break;
	case '"': fputs_unlocked("&quot;", stream); break;
	default: text_put(stream, code);
	}
}

/* How many of the first @most bytes are plain characters of one column each. */
static size_t plain_span(const char *text, size_t most)
{
	size_t n = 0;

	while (n < most && text[n] >= ' ' && text[n] < 0x7f && text[n] != '&' && text[n] != '<' &&
	       text[n] != '>' && text[n] != '"')
		n++;
	return n;
}

void text_write(FILE *stream, const char *text, size_t columns)
{
	bool fits = columns == SIZE_MAX || text_columns(text) <= columns;
	size_t left = fits ? SIZE_MAX : columns ? columns - 1 : 0;

	for (;;) {
		size_t n = plain_span(text, left);
		uint32_t code;

		fwrite_unlocked(text, 1, n, stream);
		text += n;
		left -= n;
		code = text_next(&text);
		n = text_code_columns(code);
		if (!code || n > left)
			break;
		left -= n;
		write_code(stream, code);
	}
	if (!fits && columns)
		fputs_unlocked(ELLIPSIS, stream);
}

void text_fixed(FILE *stream, double value)
{
	uint64_t hundredths = value * 100 + 0.5;
	char text[24], *at = text + sizeof text;

	for (int i = 0; i < 3 || hundredths; i++) {
		if (i == 2)
			*--at = '.';
		*--at = '0' + hundredths % 10;
		hundredths /= 10;
	}
	fwrite_unlocked(at, 1, text + sizeof text - at, stream);
}

void text_count(char text[static TEXT_FIGURE_SIZE], uint64_t count)
{
	char digits[TEXT_FIGURE_SIZE], *at = digits + sizeof digits;

	*--at = '\0';
	for (int i = 0; i == 0 || count; i++) {
		if (i && i % 3 == 0)
			*--at = ',';
		*--at = '0' + count % 10;
		count /= 10;
	}
	memcpy(text, at, digits + sizeof digits - at);
}

void text_time(char text[static TEXT_FIGURE_SIZE], uint64_t nanoseconds)
{
	static const struct {
		uint64_t size;
		const char *name;
	} units[] = {{1000000000, "s"}, {1000000, "ms"}, {1000, "µs"}, {1, "ns"}};
	size_t unit = 0;
	double value;
	size_t n;

	while (units[unit].size > 1 && nanoseconds < units[unit].size)
		unit++;
	value = (double)nanoseconds / units[unit].size;
	if (value >= 1000) {
		text_count(text, (nanoseconds + units[unit].size / 2) / units[unit].size);
	} else {
		int decimals = units[unit].size == 1 ? 0 : value < 10 ? 2 : value < 100 ? 1 : 0;

		/* 999.7 ms must not become "1000 ms". */
		if (unit > 0 && value > 999)
			value = 999;
		snprintf(text, TEXT_FIGURE_SIZE, "%.*f", decimals, value);
	}
	n = strlen(text);
	snprintf(text + n, TEXT_FIGURE_SIZE - n, " %s", units[unit].name);
}
