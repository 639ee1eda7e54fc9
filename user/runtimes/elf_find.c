/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "runtimes/elf_find.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/system.h"

#define SYMBOLS_AT_ONCE	  512
#define MAX_SYMBOLS	  (1u << 20)
#define MAX_STRINGS_BYTES (16u << 20)

static const Elf64_Shdr *find_section(const struct elf_file *elf, uint32_t type)
{
	for (size_t i = 0; i < elf->n_sections; i++)
		if (elf->sections[i].sh_type == type)
			return &elf->sections[i];
	return NULL;
}

/* The head of a SHT_GNU_HASH section; words of 64 bits follow, the Bloom filter. */
struct hash_head {
	uint32_t n_buckets, first_symbol, n_words, shift;
};

static uint32_t hash_name(const char *name)
{
	uint32_t hash = 5381;

	for (; *name; name++)
		hash = hash * 33 + (uint8_t)*name;
	return hash;
}

/* Whether the filter of the section @hashes lets @name pass; if it can't be read, too. */
static bool may_have(const struct elf_file *elf, const Elf64_Shdr *hashes, const char *name)
{
	uint32_t hash = hash_name(name);
	struct hash_head head;
	uint64_t word;

	if (elf_file_read(elf, hashes->sh_offset, &head, sizeof head) < 0 || !head.n_words ||
	    head.shift > 31 ||
	    elf_file_read(elf,
			  hashes->sh_offset + sizeof head + hash / 64 % head.n_words * sizeof word,
			  &word, sizeof word) < 0)
		return true;
	return word >> hash % 64 & word >> (hash >> head.shift) % 64 & 1;
}

/* Whether what is needed may be there. Most files have none of it, and some 100,000 other symbols.
 */
static bool may_have_needed(const struct elf_file *elf, const struct elf_wanted *wanted, size_t n)
{
	const Elf64_Shdr *hashes = find_section(elf, SHT_GNU_HASH);

	for (size_t i = 0; hashes && i < n; i++)
		if (wanted[i].is_needed && !may_have(elf, hashes, wanted[i].name))
			return false;
	return true;
}

static bool has_needed(const struct elf_wanted *wanted, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (wanted[i].is_needed && !wanted[i].address)
			return false;
	return true;
}

static void consider(const Elf64_Sym *symbol, const char *strings, size_t n_strings,
		     struct elf_wanted *wanted, size_t n)
{
	if (symbol->st_shndx == SHN_UNDEF || symbol->st_name >= n_strings)
		return;
	for (size_t i = 0; i < n; i++)
		if (strcmp(strings + symbol->st_name, wanted[i].name) == 0) {
			wanted[i].address = symbol->st_value;
			wanted[i].size = symbol->st_size;
		}
}

/* @strings end with a 0. */
static void scan(const struct elf_file *elf, const Elf64_Shdr *table, const char *strings,
		 size_t n_strings, struct elf_wanted *wanted, size_t n)
{
	Elf64_Sym symbols[SYMBOLS_AT_ONCE];
	uint64_t left = table->sh_size / sizeof *symbols, at = table->sh_offset;

	if (left > MAX_SYMBOLS)
		left = MAX_SYMBOLS;
	while (left) {
		size_t many = left < SYMBOLS_AT_ONCE ? left : SYMBOLS_AT_ONCE;

		if (elf_file_read(elf, at, symbols, many * sizeof *symbols) < 0)
			return;
		for (size_t i = 0; i < many; i++)
			consider(&symbols[i], strings, n_strings, wanted, n);
		at += many * sizeof *symbols;
		left -= many;
	}
}

int elf_find_symbols(struct elf_file *elf, struct elf_wanted *wanted, size_t n)
{
	const Elf64_Shdr *table = find_section(elf, SHT_DYNSYM), *names;
	_cleanup_free_ char *strings = NULL;

	if (!table || elf->is_32 || table->sh_link >= elf->n_sections ||
	    !may_have_needed(elf, wanted, n))
		return 0;
	names = &elf->sections[table->sh_link];
	if (names->sh_type != SHT_STRTAB || !names->sh_size || names->sh_size > MAX_STRINGS_BYTES)
		return 0;
	strings = malloc(names->sh_size + 1);
	if (!strings)
		return -ENOMEM;
	if (elf_file_read(elf, names->sh_offset, strings, names->sh_size) < 0)
		return 0;
	strings[names->sh_size] = '\0';
	scan(elf, table, strings, names->sh_size, wanted, n);
	return has_needed(wanted, n);
}

int elf_find_bytes(const struct elf_file *elf, uint64_t address, void *to, size_t n)
{
	uint64_t offset, most;

	if (!elf_file_offset(elf, address, &offset, &most) || most < n)
		return -ENOEXEC;
	return elf_file_read(elf, offset, to, n);
}

#define TEXT_PIECE 65536
#define MOST_TEXT  (64u << 20)

/* In @n bytes from @offset on. */
static int find_text_in(const struct elf_file *elf, uint64_t offset, uint64_t n, const char *text,
			char *to, size_t size)
{
	size_t many = strlen(text) + size - 1;
	_cleanup_free_ char *piece = malloc(TEXT_PIECE);

	if (!piece)
		return -ENOMEM;
	n = n < MOST_TEXT ? n : MOST_TEXT;
	for (uint64_t at = 0; at + many <= n; at += TEXT_PIECE - many + 1) {
		size_t bytes = n - at < TEXT_PIECE ? n - at : TEXT_PIECE;
		char *found;

		if (elf_file_read(elf, offset + at, piece, bytes) < 0)
			return -ENOENT;
		found = memmem(piece, bytes - size + 1, text, strlen(text));
		if (found) {
			memcpy(to, found + strlen(text), size - 1);
			to[size - 1] = '\0';
			return 0;
		}
	}
	return -ENOENT;
}

int elf_find_text(const struct elf_file *elf, const char *text, char *to, size_t size)
{
	int r = -ENOENT;

	for (size_t i = 0; i < elf->n_segments && r == -ENOENT; i++) {
		const Elf64_Phdr *segment = &elf->segments[i];

		if (segment->p_type == PT_LOAD && !(segment->p_flags & PF_W))
			r = find_text_in(elf, segment->p_offset, segment->p_filesz, text, to, size);
	}
	return r;
}

#define MAX_RELOCATIONS (1u << 20)
#define AT_ONCE		256

/* Whether a relocation is of the file's own variables. */
static bool is_own(const struct elf_file *elf, const Elf64_Shdr *table,
		   const Elf64_Rela *relocation)
{
	uint64_t number = ELF64_R_SYM(relocation->r_info);
	const Elf64_Shdr *symbols;
	Elf64_Sym symbol;

	if (ELF64_R_TYPE(relocation->r_info) != R_X86_64_DTPMOD64)
		return false;
	if (!number)
		return true;
	if (table->sh_link >= elf->n_sections)
		return false;
	symbols = &elf->sections[table->sh_link];
	return number < symbols->sh_size / sizeof symbol &&
	       elf_file_read(elf, symbols->sh_offset + number * sizeof symbol, &symbol,
			     sizeof symbol) == 0 &&
	       symbol.st_shndx != SHN_UNDEF;
}

static uint64_t find_own_in(const struct elf_file *elf, const Elf64_Shdr *table)
{
	uint64_t left = table->sh_size / sizeof(Elf64_Rela), at = table->sh_offset;
	Elf64_Rela relocations[AT_ONCE];

	if (left > MAX_RELOCATIONS)
		left = MAX_RELOCATIONS;
	while (left) {
		size_t many = left < AT_ONCE ? left : AT_ONCE;

		if (elf_file_read(elf, at, relocations, many * sizeof *relocations) < 0)
			return 0;
		for (size_t i = 0; i < many; i++)
			if (is_own(elf, table, &relocations[i]))
				return relocations[i].r_offset;
		at += many * sizeof *relocations;
		left -= many;
	}
	return 0;
}

uint64_t elf_find_own_module(const struct elf_file *elf)
{
	uint64_t found = 0;

	if (elf->is_32 || elf->machine != EM_X86_64)
		return 0;
	for (size_t i = 0; i < elf->n_sections && !found; i++)
		if (elf->sections[i].sh_type == SHT_RELA)
			found = find_own_in(elf, &elf->sections[i]);
	return found;
}

uint64_t elf_find_own_size(const struct elf_file *elf)
{
	for (size_t i = 0; i < elf->n_segments; i++) {
		const Elf64_Phdr *segment = &elf->segments[i];
		uint64_t align = segment->p_align ? segment->p_align : 1;

		if (segment->p_type == PT_TLS && align <= 4096 && segment->p_memsz <= 1u << 20)
			return (segment->p_memsz + align - 1) / align * align;
	}
	return 0;
}

/* Puts the values of @relocations that lie in the @n bytes of @address there. */
static void relocate(const Elf64_Rela *relocations, size_t n_relocations, uint32_t kind,
		     uint64_t address, uint8_t *to, size_t n)
{
	for (size_t i = 0; i < n_relocations; i++) {
		uint64_t at = relocations[i].r_offset - address;

		if (ELF64_R_TYPE(relocations[i].r_info) == kind && at < n && n - at >= 8)
			memcpy(to + at, &relocations[i].r_addend, 8);
	}
}

int elf_find_relocated(const struct elf_file *elf, uint64_t address, void *to, size_t n)
{
	const Elf64_Shdr *table = find_section(elf, SHT_RELA);
	uint32_t kind = elf->machine == EM_AARCH64 ? R_AARCH64_RELATIVE : R_X86_64_RELATIVE;
	Elf64_Rela relocations[AT_ONCE];
	uint64_t left, at;
	int r = elf_find_bytes(elf, address, to, n);

	if (r < 0 || !table || elf->is_32)
		return r;
	at = table->sh_offset;
	left = table->sh_size / sizeof *relocations;
	if (left > MAX_RELOCATIONS)
		left = MAX_RELOCATIONS;
	while (left) {
		size_t many = left < AT_ONCE ? left : AT_ONCE;

		r = elf_file_read(elf, at, relocations, many * sizeof *relocations);
		if (r < 0)
			return r;
		relocate(relocations, many, kind, address, to, n);
		at += many * sizeof *relocations;
		left -= many;
	}
	return 0;
}

int64_t elf_find_code_shift(const struct elf_file *elf)
{
	for (size_t i = 0; i < elf->n_segments; i++) {
		const Elf64_Phdr *segment = &elf->segments[i];

		if (segment->p_type == PT_LOAD && segment->p_flags & PF_X)
			return (int64_t)(segment->p_vaddr - segment->p_offset);
	}
	return 0;
}
