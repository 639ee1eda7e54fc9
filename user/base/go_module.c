/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/go_module.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/system.h"

#define MAX_SEARCHED	(512ul << 20) /* bytes of data */
#define CHUNK		(256ul << 10)
#define N_RELOCATIONS	4096 /* read at a time */
#define MAX_RELOCATIONS (1ul << 23)
#define MAX_TRIED	4096 /* functions looked at for inlined ones */
#define ENOUGH_TREES	1024 /* a wrong word may make sense of a few */
#define N_WORDS		64
#define WORD_NAMES	1  /* where the names are */
#define WORD_TEXT	22 /* moduledata.text, in all of 1.16 … 1.27 */
#define FIRST_FUNCDATA	24 /* gofunc lies somewhere from there on */

/* --- relocations --- */

struct relocations {
	/* Called with each place of a pointer and what it points at. Returns false to stop. */
	bool (*see)(void *context, uint64_t place, uint64_t target);
	void *context;
	uint64_t left; /* that may still be read */
};

static bool is_relative(const struct elf_file *file, const Elf64_Rela *relocation)
{
	uint32_t type = ELF64_R_TYPE(relocation->r_info);

	return type == (file->machine == EM_AARCH64 ? R_AARCH64_RELATIVE : R_X86_64_RELATIVE);
}

static bool see_section(const struct elf_file *file, const Elf64_Shdr *section,
			struct relocations *relocations, Elf64_Rela *room)
{
	uint64_t n = section->sh_size / sizeof *room, offset = section->sh_offset;

	while (n && relocations->left) {
		size_t chunk = n < N_RELOCATIONS ? n : N_RELOCATIONS;

		if (elf_file_read(file, offset, room, chunk * sizeof *room) < 0)
			return true;
		for (size_t i = 0; i < chunk; i++)
			if (is_relative(file, &room[i]) &&
			    !relocations->see(relocations->context, room[i].r_offset,
					      room[i].r_addend))
				return false;
		offset += chunk * sizeof *room;
		n -= chunk;
		relocations->left -= chunk < relocations->left ? chunk : relocations->left;
	}
	return true;
}

/* Shows what the loader of @file writes where. Errors: -ENOMEM. */
static int see_relocations(const struct elf_file *file, struct relocations *relocations)
{
	_cleanup_free_ Elf64_Rela *room = malloc(N_RELOCATIONS * sizeof *room);

	if (!room)
		return -ENOMEM;
	relocations->left = MAX_RELOCATIONS;
	for (size_t i = 0; i < file->n_sections; i++)
		if (file->sections[i].sh_type == SHT_RELA &&
		    (file->sections[i].sh_flags & SHF_ALLOC) &&
		    !see_section(file, &file->sections[i], relocations, room))
			break;
	return 0;
}

/* Words of memory, as the loader leaves them. */
struct words {
	uint64_t address;
	uint64_t values[N_WORDS];
};

static bool fill_in(void *context, uint64_t place, uint64_t target)
{
	struct words *words = context;
	uint64_t within = place - words->address;

	if (within < sizeof words->values && within % 8 == 0)
		words->values[within / 8] = target;
	return true;
}

/* Reads the words at @words->address; those past the end of its segment are 0. */
static int read_words(const struct elf_file *file, struct words *words)
{
	struct relocations relocations = {fill_in, words, 0};
	uint64_t offset, n;

	memset(words->values, 0, sizeof words->values);
	if (!elf_file_offset(file, words->address, &offset, &n))
		return -ENOENT;
	if (n > sizeof words->values)
		n = sizeof words->values;
	if (elf_file_read(file, offset, words->values, n) < 0)
		return -ENOENT;
	return see_relocations(file, &relocations);
}

/* --- the module data --- */

static uint64_t names_address(const struct go_table *table)
{
	return table->address + table->at[GO_NAMES];
}

struct module_search {
	uint64_t table, names; /* addresses */
	uint64_t place;	       /* of the last pointer to the table */
	uint64_t found;	       /* the module data; 0: not yet */
};

/* The pointers to the table and to its names are neighbours, in the order of addresses. */
static bool see_pointer(void *context, uint64_t place, uint64_t target)
{
	struct module_search *search = context;

	if (target == search->table)
		search->place = place;
	if (target == search->names && search->place && place == search->place + 8)
		search->found = search->place;
	return !search->found;
}

/* Looks for the two words in @segment; *@left is what may still be looked at. */
static int search_segment(const struct elf_file *file, const Elf64_Phdr *segment,
			  struct module_search *search, uint64_t *left)
{
	_cleanup_free_ uint64_t *words = malloc(CHUNK);
	uint64_t address = (segment->p_vaddr + 7) & ~7ull, offset, size;

	if (!words)
		return -ENOMEM;
	while (!search->found && *left && address - segment->p_vaddr < segment->p_filesz &&
	       elf_file_offset(file, address, &offset, &size)) {
		size_t n = size < CHUNK ? size : CHUNK;

		if (n < 16 || elf_file_read(file, offset, words, n) < 0)
			break;
		for (size_t i = 0; i + 1 < n / 8 && !search->found; i++)
			if (words[i] == search->table && words[i + 1] == search->names)
				search->found = address + 8 * i;
		/* The last word may be the first of two. */
		address += (n & ~7ul) - 8;
		*left -= n < *left ? n : *left;
	}
	return 0;
}

static int find_address(struct go_table *table)
{
	struct module_search search = {.table = table->address, .names = names_address(table)};
	struct relocations relocations = {see_pointer, &search, 0};
	uint64_t left = MAX_SEARCHED;
	int r = see_relocations(table->file, &relocations);

	if (r < 0)
		return r;
	for (size_t i = 0; i < table->file->n_segments && !search.found; i++) {
		const Elf64_Phdr *segment = &table->file->segments[i];

		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_W))
			continue;
		r = search_segment(table->file, segment, &search, &left);
		if (r < 0)
			return r;
	}
	table->module = search.found;
	return 0;
}

int go_module_find(struct go_table *table)
{
	struct words words;
	int r = find_address(table);

	if (r < 0)
		return r;
	words.address = table->module;
	if (table->module && read_words(table->file, &words) == 0 &&
	    words.values[WORD_NAMES] == names_address(table) && table->version >= 18)
		table->text = words.values[WORD_TEXT];
	return table->text ? 0 : -ENOENT;
}

/* --- where funcdata are --- */

/* Whether the trees of some functions make sense. Those that have none say nothing. */
static bool has_trees(struct go_table *table)
{
	struct go_function function;
	struct go_inlined inlined;
	char name[2];
	size_t n = 0;

	for (size_t i = 0; i < table->n && i < MAX_TRIED && n < ENOUGH_TREES; i++) {
		if (go_table_function(table, i, &function) < 0 || !function.tree)
			continue;
		if (go_table_inlined(table, &function, 0, &inlined) < 0 ||
		    go_table_name(table, inlined.name, name, sizeof name) < 0)
			return false;
		n++;
	}
	return n;
}

int go_module_find_funcdata(struct go_table *table)
{
	struct words words = {.address = table->module};
	int r;

	if (!table->module || table->version < 18)
		return 0;
	r = read_words(table->file, &words);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	for (size_t i = FIRST_FUNCDATA; i < N_WORDS; i++) {
		uint64_t offset, n;

		table->funcdata = words.values[i];
		if (elf_file_offset(table->file, table->funcdata, &offset, &n) && has_trees(table))
			return 0;
	}
	table->funcdata = 0;
	return 0;
}
