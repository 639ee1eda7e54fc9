/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * json: writes JSON as a stream. The writer only knows whether a comma is due; the caller handles
 * nesting. Text can hold any bytes: each one that is not UTF-8 becomes U+FFFD, and what a terminal
 * would obey is escaped. In a page that shows the text, the browser would obey it even then: there
 * it becomes U+FFFD, too, and `<`, which might end the element, is escaped.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json {
	FILE *stream;
	bool comma;	 /* before the next value */
	bool is_in_page; /* inside a <script>, for a page to show */
};

/* @key: NULL inside arrays and at the top. */
void json_open(struct json *json, const char *key, char bracket); /* '{' or '[' */
void json_close(struct json *json, char bracket);		  /* '}' or ']' */
void json_text(struct json *json, const char *key, const char *text);
void json_count(struct json *json, const char *key, uint64_t number);
void json_number(struct json *json, const char *key, double number, int decimals);
void json_null(struct json *json, const char *key);
void json_bool(struct json *json, const char *key, bool value);

#endif
