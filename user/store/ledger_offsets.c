/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/ledger_offsets.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The last parts of modules' paths. */
struct offset_modules {
	const struct ledger *ledger;
	struct table index;
};

struct offset_key {
	const char *name;
	size_t n;
};

static const char *module_name(const struct ledger *ledger, uint32_t module)
{
	return basename(strings_get(&ledger->strings, ledger->modules[module].path));
}

static bool module_equal(const void *items, uint32_t position, const void *key)
{
	const char *name = module_name(items, position);
	const struct offset_key *wanted = key;

	return strncmp(name, wanted->name, wanted->n) == 0 && !name[wanted->n];
}

static uint32_t find_module(const struct offset_modules *modules, const struct offset_key *key)
{
	return table_find(&modules->index, hash_bytes(key->name, key->n), module_equal,
			  modules->ledger, key);
}

static int index_modules(struct offset_modules *modules)
{
	const struct ledger *ledger = modules->ledger;

	for (size_t i = 1; i < ledger->n_modules; i++) {
		const char *name = module_name(ledger, i);
		const struct offset_key key = {name, strlen(name)};
		int r;

		if (find_module(modules, &key) != TABLE_NONE)
			continue;
		r = table_add(&modules->index, hash_bytes(name, key.n), i);
		if (r < 0)
			return r;
	}
	return 0;
}

size_t ledger_offset_text(const struct strings *strings, const struct ledger_offset *offset,
			  char text[static LEDGER_OFFSET_SIZE])
{
	const char *name = basename(strings_get(strings, offset->path));

	if (strlen(name) > NAME_MAX)
		return 0;
	return snprintf(text, LEDGER_OFFSET_SIZE, "[%s+0x%" PRIx64 "]", name, offset->offset);
}

/* What @string is, if its text can be made again from that. */
static struct ledger_offset parse(const struct offset_modules *modules, uint32_t string)
{
	const struct strings *strings = &modules->ledger->strings;
	const char *text = strings_get(strings, string), *plus = strrchr(text, '+');
	struct ledger_offset found = {};
	char again[LEDGER_OFFSET_SIZE];
	struct offset_key key;
	uint32_t module;

	if (*text != '[' || !plus || strncmp(plus, "+0x", 3) != 0)
		return found;
	key = (struct offset_key){text + 1, plus - text - 1};
	module = find_module(modules, &key);
	if (module == TABLE_NONE)
		return found;
	found.path = modules->ledger->modules[module].path;
	found.offset = strtoull(plus + 3, NULL, 16);
	if (found.path >= string || !ledger_offset_text(strings, &found, again) ||
	    strcmp(again, text) != 0)
		found = (struct ledger_offset){};
	return found;
}

static int parse_all(struct offset_modules *modules, size_t first, size_t n,
		     struct ledger_offset *offsets)
{
	int r = index_modules(modules);

	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++)
		offsets[i] = parse(modules, first + i);
	return 0;
}

int ledger_offsets_find(const struct ledger *ledger, size_t first, struct ledger_offset **ret)
{
	struct offset_modules modules = {.ledger = ledger};
	size_t n = ledger->strings.n_strings - first;
	struct ledger_offset *offsets = calloc(n + 1, sizeof *offsets);
	int r;

	if (!offsets)
		return -ENOMEM;
	r = n ? parse_all(&modules, first, n, offsets) : 0;
	table_done(&modules.index);
	if (r < 0)
		free(offsets);
	else
		*ret = offsets;
	return r;
}
