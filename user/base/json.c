/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/json.h"

#include <inttypes.h>
#include <string.h>

/* The length of the valid UTF-8 sequence at @p (RFC 3629), or 0. */
static int utf8_length(const unsigned char *p)
{
	int n = *p < 0x80		  ? 1
		: *p >= 0xc2 && *p < 0xe0 ? 2
		: *p >= 0xe0 && *p < 0xf0 ? 3
		: *p >= 0xf0 && *p < 0xf5 ? 4
					  : 0;

	for (int i = 1; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	if ((*p == 0xe0 && p[1] < 0xa0) || (*p == 0xed && p[1] > 0x9f) ||
	    (*p == 0xf0 && p[1] < 0x90) || (*p == 0xf4 && p[1] > 0x8f))
		return 0;
	return n;
}

static void write_string(FILE *stream, const char *text)
{
	const unsigned char *p = (const unsigned char *)text;

	fputc('"', stream);
	while (*p) {
		int n = utf8_length(p);

		if (n == 0) {
			fputs("\\ufffd", stream);
			n = 1;
		} else if (*p == '"' || *p == '\\') {
			fprintf(stream, "\\%c", *p);
		} else if (*p < 0x20 || *p == 0x7f) {
			fprintf(stream, "\\u%04x", *p);
		} else {
			fwrite(p, 1, n, stream);
		}
		p += n;
	}
	fputc('"', stream);
}

static void begin(struct json *json, const char *key)
{
	if (json->comma)
		fputc(',', json->stream);
	json->comma = true;
	if (key) {
		write_string(json->stream, key);
		fputc(':', json->stream);
	}
}

void json_open(struct json *json, const char *key, char bracket)
{
	begin(json, key);
	fputc(bracket, json->stream);
	json->comma = false;
}

void json_close(struct json *json, char bracket)
{
	fputc(bracket, json->stream);
	json->comma = true;
}

void json_text(struct json *json, const char *key, const char *text)
{
	begin(json, key);
	write_string(json->stream, text);
}

void json_count(struct json *json, const char *key, uint64_t number)
{
	begin(json, key);
	fprintf(json->stream, "%" PRIu64, number);
}

void json_number(struct json *json, const char *key, double number, int decimals)
{
	begin(json, key);
	fprintf(json->stream, "%.*f", decimals, number);
}

void json_bool(struct json *json, const char *key, bool value)
{
	begin(json, key);
	fputs(value ? "true" : "false", json->stream);
}
