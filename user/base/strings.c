/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/strings.h"

#include <string.h>

#include "base/array.h"

struct key {
	const char *text;
	size_t n;
};

static bool equal(const void *items, uint32_t position, const void *key)
{
	const struct strings *strings = items;
	const struct key *k = key;

	return strings_length(strings, position) == k->n &&
	       memcmp(strings_get(strings, position), k->text, k->n) == 0;
}

int strings_init(struct strings *strings)
{
	uint32_t empty;

	*strings = (struct strings){};
	return strings_add(strings, "", &empty);
}

void strings_done(struct strings *strings)
{
	free(strings->bytes);
	free(strings->offsets);
	table_done(&strings->index);
	*strings = (struct strings){};
}

static int reserve(struct strings *strings, size_t n)
{
	int r;

	if (strings->n_strings >= TABLE_NONE)
		return -E2BIG;
	r = array_reserve(strings->bytes, strings->bytes_capacity, strings->n_bytes, n + 1);
	if (r < 0)
		return r;
	return array_reserve(strings->offsets, strings->offsets_capacity, strings->n_strings, 1);
}

static void put(struct strings *strings, const char *text, size_t n)
{
	memcpy(strings->bytes + strings->n_bytes, text, n);
	strings->bytes[strings->n_bytes + n] = '\0';
	strings->offsets[strings->n_strings++] = strings->n_bytes;
	strings->n_bytes += n + 1;
}

int strings_add_bytes(struct strings *strings, const char *text, size_t n, uint32_t *ret_id)
{
	struct key key = {text, n};
	uint64_t hash = hash_bytes(text, n);
	/* It may be part of another string here, which moves. */
	bool is_ours = text >= strings->bytes && text < strings->bytes + strings->n_bytes;
	size_t at = is_ours ? text - strings->bytes : 0;
	uint32_t id = table_find(&strings->index, hash, equal, strings, &key);
	int r;

	if (id != TABLE_NONE) {
		*ret_id = id;
		return 0;
	}
	r = reserve(strings, n);
	if (r < 0)
		return r;
	r = table_add(&strings->index, hash, strings->n_strings);
	if (r < 0)
		return r;
	put(strings, is_ours ? strings->bytes + at : text, n);
	*ret_id = strings->n_strings - 1;
	return 0;
}

int strings_append(struct strings *strings, const char *text, size_t n)
{
	int r = reserve(strings, n);

	if (r == 0)
		put(strings, text, n);
	return r;
}

void strings_cut(struct strings *strings, size_t n_strings, size_t n_bytes)
{
	strings->n_strings = n_strings;
	strings->n_bytes = n_bytes;
}

int strings_add(struct strings *strings, const char *text, uint32_t *ret_id)
{
	return strings_add_bytes(strings, text, strlen(text), ret_id);
}
