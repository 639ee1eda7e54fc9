/* SPDX-License-Identifier: GPL-2.0-or-later */
/* values: parses the numbers at the end of folded lines. */
#ifndef INPUT_VALUES_H
#define INPUT_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct value {
	uint64_t number; /* rounded */
	bool was_rounded;
	size_t n; /* bytes of the line before it and before the space or tab that precedes it */
};

/*
 * Reads the value that ends the @n bytes at @text: digits, or digits, a point and digits. Returns
 * 1; 0 if there is none; -ERANGE if it is above 2^64 - 1.
 */
int value_read(const char *text, size_t n, struct value *ret);

#endif
