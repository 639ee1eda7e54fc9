/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/json.h"

#include "base/utf8.h"

/* Whether the byte can be written in quotes without escaping. */
static bool is_plain(unsigned char byte)
{
	return byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\' && byte != '<';
}

static bool is_space(uint32_t code)
{
	return code == '\t' || code == '\n' || code == '\r';
}

/* All code points that terminals obey are below U+FFFF. */
static void write_code(const struct json *json, uint32_t code, const char *bytes, size_t n)
{
	FILE *stream = json->stream;

	if (code == '"' || code == '\\') {
		putc_unlocked('\\', stream);
		putc_unlocked(code, stream);
	} else if (json->is_in_page && utf8_is_obeyed(code) && !is_space(code)) {
		fputs_unlocked("\\ufffd", stream);
	} else if (utf8_is_obeyed(code) || (json->is_in_page && code == '<')) {
		fprintf(stream, "\\u%04x", code);
	} else {
		fwrite_unlocked(bytes, 1, n, stream);
	}
}

static size_t write_escaped(const struct json *json, const char *text)
{
	size_t n = utf8_length(text);

	if (n == 0) {
		fputs_unlocked("\\ufffd", json->stream);
		return 1;
	}
	write_code(json, utf8_code(text, n), text, n);
	return n;
}

static void write_string(const struct json *json, const char *text)
{
	putc_unlocked('"', json->stream);
	while (*text) {
		size_t n = 0;

		while (is_plain(text[n]))
			n++;
		fwrite_unlocked(text, 1, n, json->stream);
		text += n;
		if (*text)
			text += write_escaped(json, text);
	}
	putc_unlocked('"', json->stream);
}

static void begin(struct json *json, const char *key)
{
	if (json->comma)
		putc_unlocked(',', json->stream);
	json->comma = true;
	if (key) {
		write_string(json, key);
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
	write_string(json, text);
}

/* Files of a million stacks are mostly numbers, and printf() would take ten times as long. */
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
