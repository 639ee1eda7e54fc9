/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/json.h"

#include "base/utf8.h"

/* As it stands between quotes, without what escapes it. */
static bool is_plain(unsigned char byte)
{
	return byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\';
}

/*
 * The code point at @text, if a terminal or a script would obey it and JSON has it as it is: the
 * controls from U+0080, line separators and changes of writing direction. Else 0.
 */
static unsigned int obeyed(const char *text)
{
	const unsigned char *p = (const unsigned char *)text;

	if (p[0] == 0xc2 && p[1] < 0xa0)
		return p[1];
	if (p[0] != 0xe2)
		return 0;
	if (p[1] == 0x80 && p[2] >= 0xa8 && p[2] <= 0xae)
		return 0x2000 | (p[2] & 0x3f);
	return p[1] == 0x81 && p[2] >= 0xa6 && p[2] <= 0xa9 ? 0x2040 | (p[2] & 0x3f) : 0;
}

static size_t write_escaped(FILE *stream, const char *text)
{
	unsigned char byte = *text;
	size_t n = utf8_length(text);

	if (n == 0) {
		fputs_unlocked("\\ufffd", stream);
		return 1;
	}
	if (byte == '"' || byte == '\\') {
		putc_unlocked('\\', stream);
		putc_unlocked(byte, stream);
	} else if (byte < 0x20 || byte == 0x7f) {
		fprintf(stream, "\\u%04x", byte);
	} else if (obeyed(text)) {
		fprintf(stream, "\\u%04x", obeyed(text));
	} else {
		fwrite_unlocked(text, 1, n, stream);
	}
	return n;
}

static void write_string(FILE *stream, const char *text)
{
	putc_unlocked('"', stream);
	while (*text) {
		size_t n = 0;

		while (is_plain(text[n]))
			n++;
		fwrite_unlocked(text, 1, n, stream);
		text += n;
		if (*text)
			text += write_escaped(stream, text);
	}
	putc_unlocked('"', stream);
}

static void begin(struct json *json, const char *key)
{
	if (json->comma)
		putc_unlocked(',', json->stream);
	json->comma = true;
	if (key) {
		write_string(json->stream, key);
		putc_unlocked(':', json->stream);
	}
}

void json_open(struct json *json, const char *key, char bracket)
{
	begin(json, key);
	putc_unlocked(bracket, json->stream);
	json->comma = false;
}

void json_close(struct json *json, char bracket)
{
	putc_unlocked(bracket, json->stream);
	json->comma = true;
}

void json_text(struct json *json, const char *key, const char *text)
{
	begin(json, key);
	write_string(json->stream, text);
}

/* Files of a million stacks are mostly numbers, and printf() takes ten times as long. */
void json_count(struct json *json, const char *key, uint64_t number)
{
	char digits[20], *p = digits + sizeof digits;

	begin(json, key);
	do
		*--p = '0' + number % 10;
	while (number /= 10);
	fwrite_unlocked(p, 1, digits + sizeof digits - p, json->stream);
}

void json_number(struct json *json, const char *key, double number, int decimals)
{
	begin(json, key);
	fprintf(json->stream, "%.*f", decimals, number);
}

void json_null(struct json *json, const char *key)
{
	begin(json, key);
	fputs_unlocked("null", json->stream);
}

void json_bool(struct json *json, const char *key, bool value)
{
	begin(json, key);
	fputs(value ? "true" : "false", json->stream);
}
