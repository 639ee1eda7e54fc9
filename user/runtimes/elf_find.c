/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "runtimes/elf_find.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/system.h"

#define MAX_SYMBOLS   (1u << 20)
#define MAX_IN_BUCKET 256
#define MAX_NAME      128

static const Elf64_Shdr *find_section(const struct elf_file *elf, uint32_t type)
{
	for (size_t i = 0; i < elf->n_sections; i++)
		if (elf->sections[i].sh_type == type)
			return &elf->sections[i];
	return NULL;
}

/*
 * A SHT_GNU_HASH section: a head, the words of a Bloom filter, buckets, and a number for each
 * symbol from the first one on. A bucket is the number of the first of its symbols; the last one of
 * them is marked.
 */
struct hashes {
	uint64_t filter, buckets, chains; /* offsets in the file */
	struct {
		uint32_t n_buckets, first_symbol, n_words, shift;
	} head;
};

static bool open_hashes(const struct elf_file *elf, struct hashes *ret)
{
	const Elf64_Shdr *section = find_section(elf, SHT_GNU_HASH);

	if (!section || elf_file_read(elf, section->sh_offset, &ret->head, sizeof ret->head) < 0 ||
	    !ret->head.n_words || !ret->head.n_buckets || ret->head.shift > 31)
		return false;
	ret->filter = section->sh_offset + sizeof ret->head;
	ret->buckets = ret->filter + ret->head.n_words * sizeof(uint64_t);
	ret->chains = ret->buckets + ret->head.n_buckets * sizeof(uint32_t);
	return true;
}

static uint32_t hash_name(const char *name)
{
	uint32_t hash = 5381;

	for (; *name; name++)
		hash = hash * 33 + (uint8_t)*name;
	return hash;
}

/* Whether the filter lets @hash pass. */
static bool may_have(const struct elf_file *elf, const struct hashes *hashes, uint32_t hash)
{
	uint64_t word;

	return elf_file_read(elf, hashes->filter + hash / 64 % hashes->head.n_words * sizeof word,
			     &word, sizeof word) == 0 &&
	       (word >> hash % 64 & word >> (hash >> hashes->head.shift) % 64 & 1);
}

/* Fills in each of @n symbols that is the @i-th of @table. Returns whether one is. */
static bool consider(struct elf_file *elf, const Elf64_Shdr *table, uint64_t i,
		     struct elf_wanted *wanted, size_t n)
{
	char name[MAX_NAME];
	bool found = false;
	Elf64_Sym symbol;

	if (i >= table->sh_size / sizeof symbol ||
	    elf_file_read(elf, table->sh_offset + i * sizeof symbol, &symbol, sizeof symbol) < 0 ||
	    symbol.st_shndx == SHN_UNDEF ||
	    elf_file_string(elf, table->sh_link, symbol.st_name, name, sizeof name) < 0)
		return false;
	for (size_t k = 0; k < n; k++)
		if (strcmp(name, wanted[k].name) == 0) {
			wanted[k].address = symbol.st_value;
			wanted[k].size = symbol.st_size;
			found = true;
		}
	return found;
}

static void look_up(struct elf_file *elf, const Elf64_Shdr *table, const struct hashes *hashes,
		    struct elf_wanted *wanted)
{
	uint32_t hash = hash_name(wanted->name), first = hashes->head.first_symbol, at, link;

	if (!may_have(elf, hashes, hash) ||
	    elf_file_read(elf, hashes->buckets + hash % hashes->head.n_buckets * sizeof at, &at,
			  sizeof at) < 0 ||
	    at < first)
		return;
	for (uint64_t i = at - first; i < at - first + (uint64_t)MAX_IN_BUCKET; i++) {
		if (elf_file_read(elf, hashes->chains + i * sizeof link, &link, sizeof link) < 0)
			return;
		if ((link | 1) == (hash | 1) && consider(elf, table, first + i, wanted, 1))
			return;
		if (link & 1)
			return;
	}
}

/* Looks at all symbols, until @n are found. */
static void scan(struct elf_file *elf, const Elf64_Shdr *table, struct elf_wanted *wanted, size_t n)
{
	uint64_t most = table->sh_size / sizeof(Elf64_Sym);
	size_t found = 0;

	for (uint64_t i = 0; i < most && i < MAX_SYMBOLS && found < n; i++)
		found += consider(elf, table, i, wanted, n);
}

void elf_find_hidden(struct elf_file *elf, struct elf_wanted *wanted, size_t n)
{
	const Elf64_Shdr *table = find_section(elf, SHT_SYMTAB);

	if (table && !elf->is_32)
		scan(elf, table, wanted, n);
}

static bool has_needed(const struct elf_wanted *wanted, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (wanted[i].is_needed && !wanted[i].address)
			return false;
	return true;
}

int elf_find_symbols(struct elf_file *elf, struct elf_wanted *wanted, size_t n)
{
	const Elf64_Shdr *table = find_section(elf, SHT_DYNSYM);
	struct hashes hashes;

	if (!table || elf->is_32)
		return 0;
	if (!open_hashes(elf, &hashes)) {
		scan(elf, table, wanted, n);
		return has_needed(wanted, n);
	}
	for (size_t i = 0; i < n; i++)
		if (wanted[i].is_needed)
			look_up(elf, table, &hashes, &wanted[i]);
	if (!has_needed(wanted, n)) /* as nearly all files */
		return 0;
	for (size_t i = 0; i < n; i++)
		if (!wanted[i].is_needed)
			look_up(elf, table, &hashes, &wanted[i]);
	return 1;
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

static int find_text(const struct elf_file *elf, uint32_t writable, const char *text, char *to,
		     size_t size)
{
	for (size_t i = 0; i < elf->n_segments; i++) {
		const Elf64_Phdr *segment = &elf->segments[i];
		int r;

		if (segment->p_type != PT_LOAD || (segment->p_flags & PF_W) != writable)
			continue;
		r = find_text_in(elf, segment->p_offset, segment->p_filesz, text, to, size);
		if (r != -ENOENT)
			return r;
	}
	return -ENOENT;
}

int elf_find_text(const struct elf_file *elf, const char *text, char *to, size_t size)
{
	return find_text(elf, 0, text, to, size);
}

int elf_find_variable_text(const struct elf_file *elf, const char *text, char *to, size_t size)
{
	return find_text(elf, PF_W, text, to, size);
}

#define MOST_SHAPE 64

struct shape {
	uint8_t bytes[MOST_SHAPE], mask[MOST_SHAPE];
	uint32_t n, n_found;
};

static void read_shape(const char *text, struct shape *ret)
{
	*ret = (struct shape){};
	for (; text[0] && text[1] && ret->n < MOST_SHAPE; text += 2) {
		const char digits[] = {text[0], text[1], '\0'};

		ret->mask[ret->n] = text[0] == '.' ? 0 : 0xff;
		ret->bytes[ret->n++] = text[0] == '.' ? 0 : strtoul(digits, NULL, 16);
	}
}

static bool has_shape(const uint8_t *code, const struct shape *shape)
{
	for (uint32_t i = 0; i < shape->n; i++)
		if ((code[i] & shape->mask[i]) != shape->bytes[i])
			return false;
	return true;
}

static void find_code_in(const struct elf_file *elf, const Elf64_Phdr *segment, uint8_t *piece,
			 struct elf_code *wanted, struct shape *shapes, size_t n)
{
	uint64_t left = segment->p_filesz < MOST_TEXT ? segment->p_filesz : MOST_TEXT;

	for (uint64_t at = 0; at < left; at += TEXT_PIECE - MOST_SHAPE) {
		uint32_t bytes = left - at < TEXT_PIECE ? left - at : TEXT_PIECE;

		if (elf_file_read(elf, segment->p_offset + at, piece, bytes) < 0)
			return;
		memset(piece + bytes, 0, MOST_SHAPE);
		for (uint32_t i = 0; i < bytes && i < TEXT_PIECE - MOST_SHAPE; i++)
			for (size_t k = 0; k < n; k++)
				if (has_shape(piece + i, &shapes[k])) {
					wanted[k].address = segment->p_vaddr + at + i;
					shapes[k].n_found++;
				}
	}
}

int elf_find_code(const struct elf_file *elf, struct elf_code *wanted, size_t n)
{
	_cleanup_free_ struct shape *shapes = calloc(n, sizeof *shapes);
	_cleanup_free_ uint8_t *piece = malloc(TEXT_PIECE + MOST_SHAPE);

	if (!shapes || !piece)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		read_shape(wanted[i].shape, &shapes[i]);
	for (size_t i = 0; i < elf->n_segments; i++)
		if (elf->segments[i].p_type == PT_LOAD && elf->segments[i].p_flags & PF_X)
			find_code_in(elf, &elf->segments[i], piece, wanted, shapes, n);
	for (size_t i = 0; i < n; i++)
		if (shapes[i].n_found != 1)
			wanted[i].address = 0;
	return 0;
}

uint64_t elf_find_target(const struct elf_file *elf, uint64_t address)
{
	int32_t distance;

	if (elf_find_bytes(elf, address, &distance, sizeof distance) < 0)
		return 0;
	return address + sizeof distance + distance;
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

/* The address of .eh_frame_hdr; 0: there is none. */
static uint64_t find_function_list(const struct elf_file *elf)
{
	for (size_t i = 0; i < elf->n_segments; i++)
		if (elf->segments[i].p_type == PT_GNU_EH_FRAME)
			return elf->segments[i].p_vaddr;
	return 0;
}

#define LIST_FORMAT "\1\x1b\3\x3b" /* the table: 4 bytes each, from the list's address on */
#define LIST_HEAD   12		   /* format, where .eh_frame is, number of functions */

uint64_t elf_find_function_around(const struct elf_file *elf, uint64_t address, uint64_t *ret_start)
{
	uint64_t list = find_function_list(elf), at;
	struct {
		char format[4];
		uint32_t at, n;
	} head;
	struct {
		int32_t start, description;
	} function = {}, last = {};
	struct {
		uint32_t length, cie;
		int32_t start;
		uint32_t size;
	} description;
	uint32_t low = 0, high;

	if (!list || elf_find_bytes(elf, list, &head, sizeof head) < 0 ||
	    memcmp(head.format, LIST_FORMAT, sizeof head.format) != 0)
		return 0;
	/* The last one that begins at or before @address. */
	high = head.n;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		at = list + LIST_HEAD + (uint64_t)middle * sizeof function;
		if (elf_find_bytes(elf, at, &function, sizeof function) < 0)
			return 0;
		if (list + function.start > address) {
			high = middle;
			continue;
		}
		memcpy(&last, &function, sizeof last);
		low = middle + 1;
	}
	at = list + last.description;
	if (!low || elf_find_bytes(elf, at, &description, sizeof description) < 0 ||
	    at + 8 + description.start != list + last.start ||
	    address - (list + last.start) >= description.size)
		return 0;
	*ret_start = list + last.start;
	return description.size;
}

uint64_t elf_find_function_size(const struct elf_file *elf, uint64_t address)
{
	uint64_t start = 0, size = elf_find_function_around(elf, address, &start);

	return start == address ? size : 0;
}

#define JUMP_BYTES 6 /* jcc rel32 */

uint64_t elf_find_cold_part(const struct elf_file *elf, uint64_t address, uint64_t size,
			    uint64_t *ret_size)
{
	uint8_t code[4096];
	uint64_t end = address + size, at = address;

	while (at + JUMP_BYTES <= end) {
		uint32_t n = end - at < sizeof code ? end - at : sizeof code;
		uint32_t i = 0;

		if (elf_find_bytes(elf, at, code, n) < 0)
			return 0;
		for (; i + JUMP_BYTES <= n; i++) {
			uint64_t to, found;
			int32_t distance;

			if (code[i] != 0x0f || (code[i + 1] & 0xf0) != 0x80)
				continue;
			memcpy(&distance, code + i + 2, sizeof distance);
			to = at + i + JUMP_BYTES + distance;
			found = to < address || to >= end ? elf_find_function_size(elf, to) : 0;
			if (found) {
				*ret_size = found;
				return to;
			}
		}
		at += i;
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
