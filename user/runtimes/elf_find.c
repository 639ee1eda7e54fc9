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

static void consider(const Elf64_Sym *symbol, const char *strings, size_t n_strings,
		     struct elf_wanted *wanted, size_t n)
{
	const char *name = strings + symbol->st_name;

	if (symbol->st_shndx == SHN_UNDEF || symbol->st_name >= n_strings)
		return;
	for (size_t i = 0; i < n; i++)
		if (strcmp(name, wanted[i].name) == 0)
			wanted[i].address = symbol->st_value;
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

	if (!table || elf->is_32 || table->sh_link >= elf->n_sections)
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
	return 0;
}

int elf_find_bytes(const struct elf_file *elf, uint64_t address, void *to, size_t n)
{
	uint64_t offset, most;

	if (!elf_file_offset(elf, address, &offset, &most) || most < n)
		return -ENOEXEC;
	return elf_file_read(elf, offset, to, n);
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
