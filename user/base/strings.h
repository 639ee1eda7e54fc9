/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * strings: interned strings. Each distinct string is kept once and identified by a uint32_t; 0 is
 * "".
 *
 * All bytes are in one buffer, each string followed by a NUL; offsets[id] is its start. Strings may
 * hold any byte except NUL.
 */
#ifndef BASE_STRINGS_H
#define BASE_STRINGS_H

#include "base/table.h"

struct strings {
	char *bytes;
	size_t n_bytes, bytes_capacity;
	uint64_t *offsets;
	size_t n_strings, offsets_capacity;
	struct table index;
};

int strings_init(struct strings *strings);
void strings_done(struct strings *strings);

/* The id of the @n bytes at @text, added if new. Errors: -ENOMEM, -E2BIG. */
int strings_add_bytes(struct strings *strings, const char *text, size_t n, uint32_t *ret_id);
int strings_add(struct strings *strings, const char *text, uint32_t *ret_id);

/*
 * The same without looking for it, in less time: it is another one than equal ones that are there,
 * and is never found. strings_cut() takes off what was appended since there were @n_strings of
 * @n_bytes. Errors: -ENOMEM, -E2BIG.
 */
int strings_append(struct strings *strings, const char *text, size_t n);
void strings_cut(struct strings *strings, size_t n_strings, size_t n_bytes);

/* As table_fetch(). */
static inline void strings_fetch(const struct strings *strings, const char *text, size_t n)
{
	table_fetch(&strings->index, hash_bytes(text, n));
}

/* Valid until the next string is added. */
static inline const char *strings_get(const struct strings *strings, uint32_t id)
{
	return strings->bytes + strings->offsets[id];
}

static inline size_t strings_length(const struct strings *strings, uint32_t id)
{
	size_t end = id + 1 < strings->n_strings ? strings->offsets[id + 1] : strings->n_bytes;

	return end - strings->offsets[id] - 1;
}

#endif
