/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * json_scan: reads JSON (RFC 8259) in memory, value by value, on the caller's demand; for a few
 * facts. After a fault, whose place it notes, every further value is empty.
 */
#ifndef STORE_JSON_SCAN_H
#define STORE_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_scan {
	const char *begin, *at; /* ends with a NUL */
	const char *fault;	/* what was expected; NULL: no fault */
	size_t fault_line;
};

struct json_scan json_scan_of(const char *text);

/* Keeps only the first fault. */
void json_scan_fail(struct json_scan *json, const char *wanted);

/*
 * Calls @take for each key of the object that comes next, or with NULL for each item of the array;
 * it must read one value. Long keys are cut.
 */
typedef void (*json_take_fn)(void *data, struct json_scan *json, const char *key);
void json_scan_object(struct json_scan *json, json_take_fn take, void *data);
void json_scan_array(struct json_scan *json, json_take_fn take, void *data);

/* Copies as much as fits, without cutting a character. */
void json_scan_string(struct json_scan *json, char *text, size_t size);
uint64_t json_scan_count(struct json_scan *json);	      /* a whole number */
double json_scan_number(struct json_scan *json, double most); /* from 0 */
void json_scan_skip(struct json_scan *json);		      /* anything */

/* Checks that nothing follows the value at the top. */
void json_scan_end(struct json_scan *json);

#endif
