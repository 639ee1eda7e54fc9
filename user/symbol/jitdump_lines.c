/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jitdump_lines: each entry is stored at the first address that it could describe, where the
 * nearest one stays, and is passed on to the right at the end: one pass, whatever the order of the
 * entries.
 */
#include "symbol/jitdump_lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/system.h"

/* V8 and LLVM add the size of the ELF header that perf puts before the code. */
#define ELF_HEADER_SIZE 0x40
#define FILE_NAME_MAX	4096

/* On disk; the file's name follows, or "\\xff" for the previous entry's. */
struct debug_entry {
	uint64_t address;
	uint32_t line, column;
};

struct place {
	uint64_t address;
	uint64_t name; /* offset in the file; 0: unknown */
	uint32_t line;
};

/* The bytes of a name with its NUL, or 0 if it is incomplete. */
static size_t name_size(struct jit_reader *reader, uint64_t offset, uint64_t end, bool *ret_is_same)
{
	size_t n, most = end - offset < JIT_BUFFER_SIZE ? end - offset : JIT_BUFFER_SIZE;
	const char *name = most ? jit_reader_at(reader, offset, 1, &n) : NULL;
	const char *nul = name ? memchr(name, '\0', n < most ? n : most) : NULL;

	if (name && !nul && n < most) {
		name = jit_reader_at(reader, offset, most, &n);
		nul = name ? memchr(name, '\0', most) : NULL;
	}
	if (!nul)
		return 0;
	*ret_is_same = strcmp(name, "\xff") == 0;
	return nul - name + 1;
}

/* Takes the next entry off @entries; *@name is the previous entry's, then its own. */
static bool next_entry(struct jit_reader *reader, struct jitdump_entries *entries,
		       struct debug_entry *ret, uint64_t *name)
{
	const char *bytes;
	bool is_same;
	size_t n;

	if (!entries->n || entries->end - entries->offset < sizeof *ret)
		return false;
	bytes = jit_reader_at(reader, entries->offset, sizeof *ret, &n);
	if (!bytes)
		return false;
	memcpy(ret, bytes, sizeof *ret);
	entries->offset += sizeof *ret;
	n = name_size(reader, entries->offset, entries->end, &is_same);
	if (!n)
		return false;
	if (!is_same)
		*name = entries->offset;
	entries->offset += n;
	entries->n--;
	return true;
}

/* How far the addresses of @entries are above those of the code. */
static uint64_t find_shift(struct jit_reader *reader, struct jitdump_entries entries)
{
	uint64_t least = UINT64_MAX, name = 0;
	struct debug_entry entry;

	while (next_entry(reader, &entries, &entry, &name))
		if (entry.address < least)
			least = entry.address;
	return least >= entries.address && least - entries.address >= ELF_HEADER_SIZE
		       ? ELF_HEADER_SIZE
		       : 0;
}

static size_t lower_bound(const uint64_t *addresses, size_t n, uint64_t value)
{
	size_t low = 0;

	while (low < n) {
		size_t middle = low + (n - low) / 2;

		if (addresses[middle] < value)
			low = middle + 1;
		else
			n = middle;
	}
	return low;
}

static void find_places(struct jit_reader *reader, struct jitdump_entries entries,
			const uint64_t *addresses, size_t n, struct place *places)
{
	uint64_t shift = find_shift(reader, entries), name = 0;
	struct debug_entry entry;

	while (next_entry(reader, &entries, &entry, &name)) {
		uint64_t address = entry.address - shift;
		size_t at = lower_bound(addresses, n, address);

		if (at < n && (!places[at].name || address >= places[at].address))
			places[at] = (struct place){address, name, entry.line};
	}
	for (size_t i = 1; i < n; i++)
		if (!places[i].name)
			places[i] = places[i - 1];
}

int jitdump_lines_resolve(struct jit_reader *reader, const struct jitdump_entries *entries,
			  const uint64_t *addresses, size_t n, struct strings *strings,
			  struct jit_line *lines)
{
	_cleanup_free_ struct place *places = calloc(n + 1, sizeof *places);
	uint64_t last = 0;
	uint32_t file = 0;
	int r = 0;

	if (!places)
		return -ENOMEM;
	find_places(reader, *entries, addresses, n, places);
	for (size_t i = 0; i < n; i++) {
		if (!places[i].name)
			continue;
		if (places[i].name != last)
			r = jit_reader_name(reader, places[i].name,
					    entries->end - places[i].name < FILE_NAME_MAX
						    ? entries->end - places[i].name
						    : FILE_NAME_MAX,
					    '\0', strings, &file);
		if (r < 0)
			return r;
		last = places[i].name;
		lines[i] = (struct jit_line){file, file ? places[i].line : 0};
	}
	return 0;
}
