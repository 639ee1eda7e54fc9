/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nearest: suggests existing names for a mistyped one. */
#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

#include <stddef.h>

#define NEAREST_NAMES 3
#define NEAREST_SIZE  96 /* longer names are not considered */

struct nearest {
	const char *wanted;
	char names[NEAREST_NAMES][NEAREST_SIZE]; /* nearest first */
	unsigned int distances[NEAREST_NAMES];
	size_t n;
};

/* Considers @name, by the number of changed characters and whether one contains the other. */
void nearest_offer(struct nearest *nearest, const char *name);

/* `did you mean a, b or c?`, or "" if nothing was near. Returns @text. */
#define NEAREST_TEXT_SIZE (NEAREST_NAMES * NEAREST_SIZE + 32)
const char *nearest_text(const struct nearest *nearest, char text[static NEAREST_TEXT_SIZE]);

#endif
