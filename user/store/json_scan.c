/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/json_scan.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

#define MAX_DEPTH 64
#define KEY_SIZE  64

struct json_scan json_scan_of(const char *text)
{
	return (struct json_scan){.begin = text, .at = text};
}

void json_scan_fail(struct json_scan *json, const char *wanted)
{
	if (json->fault)
		return;
	json->fault = wanted;
	json->fault_line = 1;
	for (const char *p = json->begin; p < json->at; p++)
		json->fault_line += *p == '\n';
	/* Stop reading. */
	json->at += strlen(json->at);
}

/* Whether @c comes next; if so, goes past it. */
static bool eat(struct json_scan *json, char c)
{
	json->at += strspn(json->at, " \t\r\n");
	if (*json->at != c)
		return false;
	json->at++;
	return true;
}

static bool eat_word(struct json_scan *json, const char *word)
{
	size_t n = strlen(word);

	if (strncmp(json->at, word, n) != 0)
		return false;
	json->at += n;
	return true;
}

/* Reads the items of an open object or array. */
static void read_items(struct json_scan *json, char close, json_take_fn take, void *data)
{
	char key[KEY_SIZE];

	if (eat(json, close))
		return;
	do {
		if (close == '}') {
			json_scan_string(json, key, sizeof key);
			if (!eat(json, ':'))
				json_scan_fail(json, "a colon");
		}
		if (!json->fault)
			take(data, json, close == '}' ? key : NULL);
	} while (eat(json, ','));
	if (!eat(json, close))
		json_scan_fail(json, close == '}' ? "a } or a comma" : "a ] or a comma");
}

void json_scan_object(struct json_scan *json, json_take_fn take, void *data)
{
	if (eat(json, '{'))
		read_items(json, '}', take, data);
	else
		json_scan_fail(json, "an object");
}

void json_scan_array(struct json_scan *json, json_take_fn take, void *data)
{
	if (eat(json, '['))
		read_items(json, ']', take, data);
	else
		json_scan_fail(json, "a list");
}

/* Four hexadecimal digits. */
static unsigned int read_unit(struct json_scan *json)
{
	unsigned int unit = 0;

	for (int i = 0; i < 4; i++) {
		static const char digits[] = "0123456789abcdef";
		const char *digit = *json->at ? strchr(digits, tolower(*json->at)) : NULL;

		if (!digit) {
			json_scan_fail(json, "four hexadecimal digits");
			return 0;
		}
		unit = unit << 4 | (digit - digits);
		json->at++;
	}
	return unit;
}

/* Reads the code after `\\u`. A NUL, which would end the text, and invalid codes become U+FFFD. */
static size_t read_code(struct json_scan *json, char to[static 4])
{
	unsigned int code = read_unit(json);

	if (code >= 0xd800 && code < 0xdc00 && eat_word(json, "\\u")) {
		unsigned int low = read_unit(json);

		code = low >= 0xdc00 && low < 0xe000
			       ? 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00)
			       : 0xfffd;
	}
	return utf8_encode(code == 0 || (code >= 0xd800 && code < 0xe000) ? 0xfffd : code, to);
}

static size_t read_escape(struct json_scan *json, char to[static 4])
{
	static const char names[] = "\"\\/bfnrt", codes[] = "\"\\/\b\f\n\r\t";
	char name = *json->at;
	const char *known = name ? strchr(names, name) : NULL;

	json->at += name != '\0';
	if (name == 'u')
		return read_code(json, to);
	if (!known)
		json_scan_fail(json, "a known escape");
	to[0] = known ? codes[known - names] : '\0';
	return known ? 1 : 0;
}

/* Reads the next character of a string; 0: none. */
static size_t read_character(struct json_scan *json, char to[static 4])
{
	size_t n = utf8_length(json->at);

	if (n == 0 || (unsigned char)*json->at < 0x20) {
		json_scan_fail(json, *json->at ? "text" : "the end of a text");
		return 0;
	}
	memcpy(to, json->at, n);
	json->at += n;
	return *to == '\\' ? read_escape(json, to) : n;
}

void json_scan_string(struct json_scan *json, char *text, size_t size)
{
	size_t n = 0;
	bool is_cut = false;

	if (!eat(json, '"'))
		json_scan_fail(json, "a text");
	while (!json->fault && *json->at != '"') {
		char character[4];
		size_t length = read_character(json, character);

		is_cut |= n + length >= size;
		if (is_cut)
			continue;
		memcpy(text + n, character, length);
		n += length;
	}
	if (!json->fault)
		json->at++;
	text[n] = '\0';
}

/* Returns the end of the number that comes next; NULL: not a number. */
static const char *end_of_number(struct json_scan *json)
{
	const char *p = json->at + strspn(json->at, " \t\r\n");

	json->at = p;
	p += *p == '-';
	if (!isdigit((unsigned char)*p))
		return NULL;
	p += *p == '0' ? 1 : strspn(p, "0123456789");
	if (*p == '.' && isdigit((unsigned char)p[1]))
		p += 1 + strspn(p + 1, "0123456789");
	if (*p == 'e' || *p == 'E') {
		size_t sign = p[1] == '+' || p[1] == '-';

		if (isdigit((unsigned char)p[1 + sign]))
			p += 1 + sign + strspn(p + 1 + sign, "0123456789");
	}
	return p;
}

uint64_t json_scan_count(struct json_scan *json)
{
	const char *end = end_of_number(json);
	unsigned long long count;
	char *digits_end;

	errno = 0;
	count = strtoull(json->at, &digits_end, 10);
	if (!end || *json->at == '-' || digits_end != end || errno) {
		json_scan_fail(json, "a whole number");
		return 0;
	}
	json->at = end;
	return count;
}

double json_scan_number(struct json_scan *json, double most)
{
	const char *end = end_of_number(json);
	double number = end ? strtod(json->at, NULL) : -1;

	if (!(number >= 0 && number <= most)) {
		json_scan_fail(json, "a number that can be");
		return 0;
	}
	json->at = end;
	return number;
}

struct skip_depth {
	int depth;
};

static void skip_value(void *data, struct json_scan *json, const char *key)
{
	struct skip_depth deeper = {((struct skip_depth *)data)->depth + 1};
	const char *end;
	char nothing[1];

	json->at += strspn(json->at, " \t\r\n");
	if (deeper.depth > MAX_DEPTH)
		json_scan_fail(json, "less nesting");
	else if (*json->at == '{')
		json_scan_object(json, skip_value, &deeper);
	else if (*json->at == '[')
		json_scan_array(json, skip_value, &deeper);
	else if (*json->at == '"')
		json_scan_string(json, nothing, sizeof nothing);
	else if ((end = end_of_number(json)))
		json->at = end;
	else if (!eat_word(json, "true") && !eat_word(json, "false") && !eat_word(json, "null"))
		json_scan_fail(json, "a value");
}

void json_scan_skip(struct json_scan *json)
{
	skip_value(&(struct skip_depth){0}, json, NULL);
}

void json_scan_end(struct json_scan *json)
{
	json->at += strspn(json->at, " \t\r\n");
	if (*json->at)
		json_scan_fail(json, "the end");
}
