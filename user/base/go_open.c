/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/go_open.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/go_module.h"
#include "base/system.h"

#define MAGIC_16 0xfffffffa
#define MAGIC_18 0xfffffff0
#define MAGIC_20 0xfffffff1

#define MAX_FUNCTIONS (1u << 22)
#define MAX_SEARCHED  (512ul << 20) /* bytes that the magic number is looked for in */
#define CHUNK	      (256ul << 10)
#define STEPS	      (1 << 25) /* of programs of values, and some for each byte of the table */

struct go_header {
	uint32_t magic;
	uint8_t zeros[2], quantum, pointer;
	uint64_t n, n_files;
	uint64_t rest[6]; /* from 1.18 on the start of the text, then the parts */
};

static unsigned int version_of(uint32_t magic)
{
	switch (magic) {
	case MAGIC_16: return 16;
	case MAGIC_18: return 18;
	case MAGIC_20: return 20;
	default: return 0;
	}
}

static bool is_header(const struct go_header *header)
{
	return version_of(header->magic) && !header->zeros[0] && !header->zeros[1] &&
	       (header->quantum == 1 || header->quantum == 2 || header->quantum == 4) &&
	       header->pointer == 8;
}

/* --- where it is --- */

bool go_table_is_go(struct elf_file *file)
{
	return elf_file_section(file, ".go.buildinfo");
}

static bool find_section(struct go_table *table)
{
	static const char *const names[] = {".gopclntab", ".data.rel.ro.gopclntab"};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const Elf64_Shdr *section = elf_file_section(table->file, names[i]);

		if (!section || section->sh_type == SHT_NOBITS)
			continue;
		table->address = section->sh_addr;
		table->offset = section->sh_offset;
		table->size = section->sh_size;
		return true;
	}
	return false;
}

/* The first of @n bytes at @bytes, 8 by 8, that may be a header; @n: none. */
static size_t find_magic(const uint8_t *bytes, size_t n)
{
	for (size_t at = 0; at + 8 <= n; at += 8) {
		struct go_header header = {};

		memcpy(&header, bytes + at, 8);
		if (is_header(&header))
			return at;
	}
	return n;
}

/* Tries what may be the table at @within of @segment. */
static bool is_table_at(struct go_table *table, const Elf64_Phdr *segment, uint64_t within);

/* Looks for the table in @segment; *@left is what may still be looked at. */
static int search_segment(struct go_table *table, const Elf64_Phdr *segment, uint64_t *left)
{
	_cleanup_free_ uint8_t *bytes = malloc(CHUNK);
	uint64_t within = -segment->p_vaddr & 7;

	if (!bytes)
		return -ENOMEM;
	while (within < segment->p_filesz && segment->p_offset < table->file->size &&
	       within < table->file->size - segment->p_offset && *left) {
		uint64_t size = table->file->size - segment->p_offset - within;
		size_t n = size < CHUNK ? size : CHUNK;

		if (n > segment->p_filesz - within)
			n = segment->p_filesz - within;
		if (n > *left)
			n = *left;
		if (elf_file_read(table->file, segment->p_offset + within, bytes, n) < 0)
			return -ENOENT;
		*left -= n;
		for (size_t at = 0; at < n; at += 8) {
			at += find_magic(bytes + at, n - at);
			if (at < n && is_table_at(table, segment, within + at))
				return 0;
		}
		within += CHUNK;
	}
	return -ENOENT;
}

/* Linkers merge the table with others, or leave the names of sections out. */
static int search(struct go_table *table)
{
	uint64_t left = MAX_SEARCHED;
	int r = -ENOENT;

	for (size_t i = 0; i < table->file->n_segments && r == -ENOENT; i++)
		if (table->file->segments[i].p_type == PT_LOAD &&
		    !(table->file->segments[i].p_flags & PF_X))
			r = search_segment(table, &table->file->segments[i], &left);
	return r;
}

/* --- opening it --- */

static int open_parts(struct go_table *table)
{
	const Elf64_Shdr section = {.sh_offset = table->offset, .sh_size = table->size};

	for (size_t i = 0; i < N_GO_PARTS; i++) {
		int r = section_open(&table->parts[i], table->file, &section, false, NULL);

		if (r < 0)
			return r;
	}
	return 0;
}

/* Reads the header at @table->offset, and whether what it says can be so. */
static int read_header(struct go_table *table)
{
	struct go_header header;
	size_t first;
	int r = table->size < sizeof header
			? -ENOEXEC
			: elf_file_read(table->file, table->offset, &header, sizeof header);

	if (r < 0)
		return r;
	if (!is_header(&header) || header.n == 0 || header.n > MAX_FUNCTIONS)
		return -ENOEXEC;
	table->version = version_of(header.magic);
	table->quantum = header.quantum;
	table->n = header.n;
	first = table->version >= 18;
	table->text = first ? header.rest[0] : 0;
	for (size_t i = 0; i < N_GO_PARTS; i++) {
		table->at[i] = header.rest[first + i];
		if (table->at[i] >= table->size || (i > 0 && table->at[i] < table->at[i - 1]))
			return -ENOEXEC;
	}
	return 0;
}

static bool is_table_at(struct go_table *table, const Elf64_Phdr *segment, uint64_t within)
{
	table->address = segment->p_vaddr + within;
	table->offset = segment->p_offset + within;
	table->size = segment->p_filesz - within;
	if (table->size > table->file->size - table->offset)
		table->size = table->file->size - table->offset;
	return read_header(table) == 0;
}

/* Reads where the functions are: the last entry is where the last one ends, and has no record. */
static int read_entries(struct go_table *table)
{
	size_t word = table->version >= 18 ? 4 : 8, n_bytes = (2 * table->n + 1) * word;
	uint64_t at = table->at[GO_RECORDS], offset, left;
	_cleanup_free_ uint8_t *bytes = NULL;

	if (n_bytes > table->size - at)
		return -ENOEXEC;
	bytes = malloc(n_bytes + word);
	table->entries = malloc((table->n + 1) * sizeof *table->entries);
	if (!bytes || !table->entries)
		return -ENOMEM;
	if (elf_file_read(table->file, table->offset + at, bytes, n_bytes) < 0)
		return -ENOEXEC;
	memset(bytes + n_bytes, 0, word);
	for (size_t i = 0; i <= table->n; i++) {
		struct go_entry *entry = &table->entries[i];
		uint64_t pair[2] = {};

		memcpy(&pair[0], bytes + 2 * i * word, word);
		memcpy(&pair[1], bytes + (2 * i + 1) * word, word);
		*entry = (struct go_entry){table->text + pair[0], pair[1]};
		if (pair[1] > UINT32_MAX || (i > 0 && entry->start < entry[-1].start))
			return -ENOEXEC;
	}
	return elf_file_offset(table->file, table->entries[0].start, &offset, &left) ? 0 : -ENOENT;
}

static int open_table(struct go_table *table)
{
	int r = find_section(table) ? read_header(table) : -ENOENT;

	if (r == -ENOENT && (go_table_is_go(table->file) || !table->file->names_section))
		r = search(table);
	if (r < 0)
		return r;
	table->budget = STEPS + 4 * (int64_t)table->size;
	r = open_parts(table);
	if (r < 0)
		return r;
	r = go_module_find(table);
	if (r < 0 && (r != -ENOENT || table->version >= 18))
		return r;
	r = read_entries(table);
	if (r < 0)
		return r;
	return go_module_find_funcdata(table);
}

int go_table_open(struct go_table *ret, struct elf_file *file)
{
	struct go_table table = {.file = file};
	int r = file->is_32 ? -ENOENT : open_table(&table);

	if (r < 0)
		go_table_done(&table);
	else
		*ret = table;
	return r;
}
