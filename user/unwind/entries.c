/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/entries.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/system.h"
#include "unwind/flow_function.h"

#define MAX_TABLE (4u << 20) /* bytes of a symbol table, and of its strings, to look at */
#define MAX_CODE  1024	     /* bytes of a function to look at */
#define MAX_ENTRY 256	     /* bytes of an entry whose symbol has no size */
#define NO_SYMBOL 64	     /* bytes of an entry without a symbol, where the code does not say */

static const char *const makers[] = {"makecontext", "make_fcontext"};
#define N_MAKERS (sizeof makers / sizeof *makers)

/* greenlet::UserGreenlet::inner_bootstrap(): it runs a new greenlet, and switches to another one at
 * its end. The types of its arguments follow, which differ by version. */
static const char sharer[] = "_ZN8greenlet12UserGreenlet15inner_bootstrapE";

struct entries {
	struct elf_file *file;
	struct unwind_entry *found;
	size_t n;
};

static void add_entry(struct entries *entries, uint64_t start, uint64_t size, enum bf_cfa cfa)
{
	if (entries->n < UNWIND_MAX_ENTRIES && size)
		entries->found[entries->n++] = (struct unwind_entry){start, size, cfa, false};
}

static void add_sharer(struct entries *entries, const Elf64_Sym *symbol)
{
	if (entries->n < UNWIND_MAX_ENTRIES && symbol->st_shndx != SHN_UNDEF)
		entries->found[entries->n++] = (struct unwind_entry){
			symbol->st_value, symbol->st_size, BF_CFA_ENTRY, true};
}

/* Reads the whole section @i. *@ret stays NULL if that fails. */
static int read_section(struct elf_file *file, size_t i, uint8_t **ret, size_t *ret_n)
{
	const Elf64_Shdr *section = &file->sections[i];
	_cleanup_free_ uint8_t *bytes = NULL;

	if (i >= file->n_sections || section->sh_type == SHT_NOBITS || !section->sh_size ||
	    section->sh_size > MAX_TABLE || section->sh_size > file->size)
		return 0;
	bytes = malloc(section->sh_size);
	if (!bytes)
		return -ENOMEM;
	if (elf_file_read(file, section->sh_offset, bytes, section->sh_size) < 0)
		return 0;
	*ret = bytes;
	*ret_n = section->sh_size;
	bytes = NULL;
	return 0;
}

/* Reads the code of the function @symbol, as far as the file has it. Returns its length. */
static size_t read_code(const struct elf_file *file, const Elf64_Sym *symbol,
			uint8_t code[static MAX_CODE])
{
	size_t n = symbol->st_size < MAX_CODE ? symbol->st_size : MAX_CODE;
	uint64_t offset, left;

	return elf_file_offset(file, symbol->st_value, &offset, &left) && n <= left &&
			       elf_file_read(file, offset, code, n) == 0
		       ? n
		       : 0;
}

/*
 * Adds the targets of `lea address(%rip), register` in the code of @symbol, each with the byte
 * before it, where return addresses are looked up. The caller weeds out targets that are data.
 */
static void add_planted(struct entries *entries, const Elf64_Sym *symbol)
{
	uint8_t code[MAX_CODE];
	size_t n = read_code(entries->file, symbol, code);

	for (size_t i = 0; i + 7 <= n; i++) {
		int32_t distance;

		if ((code[i] & 0xfb) != 0x48 || code[i + 1] != 0x8d || (code[i + 2] & 0xc7) != 5)
			continue;
		memcpy(&distance, &code[i + 3], sizeof distance);
		add_entry(entries, symbol->st_value + i + 7 + distance - 1, 1, BF_CFA_PLANTED);
	}
}

static bool is_maker(const char *name)
{
	for (size_t i = 0; i < N_MAKERS; i++)
		if (strcmp(name, makers[i]) == 0)
			return true;
	return false;
}

/* The entry ends where its symbol does or, if that has no size, at the next symbol. */
static void add_start(struct entries *entries, const Elf64_Sym *symbols, size_t n)
{
	uint64_t start = entries->file->entry, size = 0, next = MAX_ENTRY;
	bool is_named = false;

	for (size_t i = 0; i < n; i++) {
		uint64_t distance = symbols[i].st_value - start;

		if (symbols[i].st_shndx == SHN_UNDEF || symbols[i].st_shndx >= SHN_LORESERVE)
			continue;
		if (distance && distance < next)
			next = distance;
		if (distance || ELF64_ST_TYPE(symbols[i].st_info) == STT_SECTION)
			continue;
		is_named = true;
		if (symbols[i].st_size > size)
			size = symbols[i].st_size;
	}
	if (is_named && start)
		add_entry(entries, start, size ? size : next, BF_CFA_ENTRY);
}

/* Searches one symbol table, section @i. */
static int search(struct entries *entries, size_t i)
{
	struct elf_file *file = entries->file;
	_cleanup_free_ uint8_t *table = NULL, *names = NULL;
	size_t n_bytes = 0, n_names = 0, n;
	const Elf64_Sym *symbols;
	int r = read_section(file, i, &table, &n_bytes);

	if (r < 0 || !table)
		return r;
	r = read_section(file, file->sections[i].sh_link, &names, &n_names);
	if (r < 0 || !names || names[n_names - 1])
		return r;
	symbols = (const Elf64_Sym *)table;
	n = n_bytes / sizeof *symbols;
	for (size_t k = 0; k < n; k++) {
		const char *name;

		if (ELF64_ST_TYPE(symbols[k].st_info) != STT_FUNC || !symbols[k].st_size ||
		    symbols[k].st_name >= n_names)
			continue;
		name = (const char *)names + symbols[k].st_name;
		if (is_maker(name))
			add_planted(entries, &symbols[k]);
		else if (strncmp(name, sharer, sizeof sharer - 1) == 0)
			add_sharer(entries, &symbols[k]);
	}
	if (file->sections[i].sh_type == SHT_SYMTAB)
		add_start(entries, symbols, n);
	return 0;
}

/* Whether the entry clears the frame pointer: then stack_flow.h recognizes it if it follows the code. */
static bool clears_frame_pointer(const struct elf_file *file)
{
	const Elf64_Sym entry = {.st_value = file->entry, .st_size = 3};
	uint8_t code[MAX_CODE];

	return read_code(file, &entry, code) == 3 &&
	       (memcmp(code, "\x31\xed", 2) == 0 || memcmp(code, "\x48\x31\xed", 3) == 0);
}

/* The bytes of an entry without a symbol, which ends where its code goes no further; 0: not known. */
static uint64_t entry_size(const struct elf_file *file)
{
	const Elf64_Sym entry = {.st_value = file->entry, .st_size = MAX_ENTRY};
	uint8_t code[MAX_CODE];
	size_t n = read_code(file, &entry, code);
	struct x86_insn insn;

	for (size_t at = 0; at < n && x86_decode(code + at, n - at, &insn) == 0;) {
		at += insn.length;
		if (insn.opcode == 0xc3 || flow_stops(&insn))
			return at;
		if (flow_jumps(&insn) || flow_jumps_anywhere(&insn))
			break;
	}
	return 0;
}

/* Not all tables of symbols have the entry: those of bun name what its plugins may call. */
static bool has_start(const struct entries *entries)
{
	for (size_t i = 0; i < entries->n; i++)
		if (entries->found[i].start == entries->file->entry)
			return true;
	return false;
}

static void add_nameless_start(struct entries *entries, bool has_symbols)
{
	const struct elf_file *file = entries->file;
	uint64_t size;

	if (!file->entry || has_start(entries))
		return;
	size = entry_size(file);
	if (!size && !has_symbols && !clears_frame_pointer(file))
		size = NO_SYMBOL;
	add_entry(entries, file->entry, size, BF_CFA_ENTRY);
}

int unwind_entries_find(struct elf_file *file, struct unwind_entry *ret, size_t *ret_n)
{
	struct entries entries = {.file = file, .found = ret};
	bool has_symbols = false;

	for (size_t i = 0; i < file->n_sections; i++) {
		uint32_t type = file->sections[i].sh_type;
		int r;

		has_symbols |= type == SHT_SYMTAB;
		if (file->machine != EM_X86_64 || (type != SHT_DYNSYM && type != SHT_SYMTAB))
			continue;
		r = search(&entries, i);
		if (r < 0)
			return r;
	}
	add_nameless_start(&entries, has_symbols);
	*ret_n = entries.n;
	return 0;
}
