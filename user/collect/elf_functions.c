/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/elf_functions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/system.h"

#define MAX_SYMBOLS	(16u << 20)
#define SYMBOLS_AT_ONCE 512
#define NAME_SIZE	512

static int offset_in(const struct elf_file *file, uint64_t address, uint32_t flags,
		     uint64_t *ret_offset)
{
	for (size_t i = 0; i < file->n_segments; i++) {
		const Elf64_Phdr *segment = &file->segments[i];

		if (segment->p_type != PT_LOAD || (segment->p_flags & flags) != flags ||
		    address < segment->p_vaddr || address - segment->p_vaddr >= segment->p_filesz)
			continue;
		*ret_offset = address - segment->p_vaddr + segment->p_offset;
		return 0;
	}
	return -ENOENT;
}

int elf_functions_offset(const struct elf_file *file, uint64_t address, uint64_t *ret_offset)
{
	return offset_in(file, address, PF_X, ret_offset);
}

static int add_place(struct event_places *places, struct event_place place)
{
	for (size_t i = 0; i < places->n; i++)
		if (places->items[i].offset == place.offset)
			return 0;
	if (places->n == MAX_EVENT_PLACES)
		return -E2BIG;
	places->items[places->n++] = place;
	return 0;
}

struct search {
	struct elf_file *file, *symbols;
	const char *name;
	struct event_places *places;
	struct nearest *nearest;
	bool is_chosen_late; /* found as an IFUNC */
};

static int consider(struct search *search, const Elf64_Sym *symbol, uint32_t strings)
{
	uint8_t type = ELF64_ST_TYPE(symbol->st_info);
	struct event_place place = {};
	char name[NAME_SIZE];

	if (symbol->st_shndx == SHN_UNDEF || (type != STT_FUNC && type != STT_GNU_IFUNC) ||
	    elf_file_string(search->symbols, strings, symbol->st_name, name, sizeof name) < 0)
		return 0;
	name[strcspn(name, "@")] = '\0'; /* its version */
	if (search->nearest)
		nearest_offer(search->nearest, name);
	if (strcmp(name, search->name) != 0)
		return 0;
	if (type == STT_GNU_IFUNC) {
		search->is_chosen_late = true;
		return 0;
	}
	if (elf_functions_offset(search->file, symbol->st_value, &place.offset) < 0)
		return 0;
	return add_place(search->places, place);
}

static void widen(const Elf32_Sym *from, Elf64_Sym *to)
{
	*to = (Elf64_Sym){.st_name = from->st_name,
			  .st_info = from->st_info,
			  .st_shndx = from->st_shndx,
			  .st_value = from->st_value,
			  .st_size = from->st_size};
}

static int search_table(struct search *search, const Elf64_Shdr *table)
{
	bool is_32 = search->symbols->is_32;
	size_t size = is_32 ? sizeof(Elf32_Sym) : sizeof(Elf64_Sym);
	uint64_t n = table->sh_size / size;
	Elf64_Sym read[SYMBOLS_AT_ONCE], wide;

	if (n > MAX_SYMBOLS)
		return -ENOEXEC;
	for (uint64_t i = 0; i < n; i += SYMBOLS_AT_ONCE) {
		size_t some = n - i < SYMBOLS_AT_ONCE ? n - i : SYMBOLS_AT_ONCE;
		int r = elf_file_read(search->symbols, table->sh_offset + i * size, read,
				      some * size);

		if (r < 0)
			return r;
		for (size_t k = 0; k < some; k++) {
			if (is_32)
				widen((const Elf32_Sym *)read + k, &wide);
			r = consider(search, is_32 ? &wide : &read[k], table->sh_link);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

int elf_functions_find(struct elf_file *file, struct elf_file *symbols, const char *name,
		       struct event_places *ret, struct nearest *nearest)
{
	struct search search = {file, symbols, name, ret, nearest, false};

	for (size_t i = 0; i < symbols->n_sections; i++) {
		const Elf64_Shdr *section = &symbols->sections[i];
		int r;

		if (section->sh_type != SHT_SYMTAB && section->sh_type != SHT_DYNSYM)
			continue;
		r = search_table(&search, section);
		if (r < 0)
			return r;
	}
	if (search.is_chosen_late) /* a function beside it is an old version */
		return -ENOTSUP;
	return ret->n ? 0 : -ENOENT;
}

/* USDT */

#define NOTE_TYPE      3
#define MAX_NOTE_BYTES (8u << 20)

static uint64_t word_at(const uint8_t *bytes, size_t index, bool is_32)
{
	uint64_t wide;
	uint32_t narrow;

	if (is_32) {
		memcpy(&narrow, bytes + 4 * index, sizeof narrow);
		return narrow;
	}
	memcpy(&wide, bytes + 8 * index, sizeof wide);
	return wide;
}

/* Reads a string that ends before @end and moves *@rest past it. */
static bool take_string(const char **rest, const char *end, char text[static USDT_NAME_SIZE])
{
	size_t n = strnlen(*rest, end - *rest);

	if (*rest + n == end || n >= USDT_NAME_SIZE)
		return false;
	memcpy(text, *rest, n + 1);
	*rest += n + 1;
	return true;
}

/* @base: the linker's place of the section that prelinking moves along, or 0. */
static bool read_note(const struct elf_file *file, const uint8_t *note, size_t n, uint64_t base,
		      struct usdt_probe *ret)
{
	size_t words = file->is_32 ? 12 : 24;
	const char *rest = (const char *)note + words, *end = (const char *)note + n;
	uint64_t pc, moved, counter;

	if (n < words + 2 || !take_string(&rest, end, ret->provider) ||
	    !take_string(&rest, end, ret->name))
		return false;
	pc = word_at(note, 0, file->is_32);
	moved = base ? base - word_at(note, 1, file->is_32) : 0;
	counter = word_at(note, 2, file->is_32);
	ret->place.counter = 0;
	if (elf_functions_offset(file, pc + moved, &ret->place.offset) < 0)
		return false;
	return !counter || offset_in(file, counter + moved, PF_W, &ret->place.counter) == 0;
}

static int list_notes(const struct elf_file *file, const uint8_t *bytes, size_t size, uint64_t base,
		      usdt_fn fn, void *context)
{
	while (size >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr header; /* the same in both classes */
		uint64_t name, all;
		struct usdt_probe probe;

		memcpy(&header, bytes, sizeof header);
		name = sizeof header + ((uint64_t)header.n_namesz + 3) / 4 * 4;
		all = name + ((uint64_t)header.n_descsz + 3) / 4 * 4;
		if (all > size)
			break;
		if (header.n_type == NOTE_TYPE && header.n_namesz == 8 &&
		    memcmp(bytes + sizeof header, "stapsdt", 8) == 0 &&
		    read_note(file, bytes + name, header.n_descsz, base, &probe)) {
			int r = fn(context, &probe);

			if (r != 0)
				return r;
		}
		bytes += all;
		size -= all;
	}
	return 0;
}

int usdt_list(struct elf_file *file, usdt_fn fn, void *context)
{
	const Elf64_Shdr *notes = elf_file_section(file, ".note.stapsdt");
	const Elf64_Shdr *base = elf_file_section(file, ".stapsdt.base");
	_cleanup_free_ uint8_t *bytes = NULL;
	int r;

	if (!notes || !notes->sh_size)
		return 0;
	if (notes->sh_size > MAX_NOTE_BYTES)
		return -ENOEXEC;
	bytes = malloc(notes->sh_size);
	if (!bytes)
		return -ENOMEM;
	r = elf_file_read(file, notes->sh_offset, bytes, notes->sh_size);
	if (r < 0)
		return r;
	return list_notes(file, bytes, notes->sh_size, base ? base->sh_addr : 0, fn, context);
}
