/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * elf_symbols: compares all symbols, in any order, with the few requested addresses.
 *
 * Each address has two candidates: the best symbol that covers it, and the nearest one at or before
 * it. The latter is stored only at the first address it could name, and passed on to the right
 * afterwards. Candidates are symbol table entries; names are read for winners, and for those that
 * are equal in all else.
 */
#include "symbol/elf_symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/system.h"
#include "symbol/demangle.h"
#include "symbol/elf_reach.h"

#define MAX_SYMBOLS   (1 << 25)
#define CHUNK_SYMBOLS 4096
/* A limit of compared candidates for overlapping symbols: more than any sane file needs. */
#define BUDGET	     (1 << 24)
#define ADDRESS_COST 256
#define NAME_COST    16

enum binding {
	BINDING_GLOBAL,
	BINDING_WEAK,
	BINDING_LOCAL,
};

struct candidate {
	struct elf_file *file;
	uint64_t value, end; /* end == value: the symbol has no size */
	uint32_t name;	     /* in the string table */
	uint32_t strings;    /* section of the string table; 0: not a candidate */
	bool is_function;
	enum binding binding;
};

struct resolver {
	struct lookups *lookups;
	uint64_t last; /* of the lookups */
	struct candidate *covering, *nearest;
	int64_t budget;
	char *name_a, *name_b;
	bool has_locals;	/* in one of the files: not all of them are stripped */
	struct elf_reach reach; /* of the file of the last candidate without a size */
};

static enum binding binding_of(const Elf64_Sym *symbol)
{
	switch (ELF64_ST_BIND(symbol->st_info)) {
	case STB_GLOBAL:
	case STB_GNU_UNIQUE: return BINDING_GLOBAL;
	case STB_WEAK: return BINDING_WEAK;
	default: return BINDING_LOCAL;
	}
}

/* Whether @symbol is code: a function, or a label in a section of code. */
static bool is_code(const struct elf_file *file, const Elf64_Sym *symbol)
{
	switch (ELF64_ST_TYPE(symbol->st_info)) {
	case STT_FUNC:
	case STT_GNU_IFUNC: return symbol->st_shndx != SHN_UNDEF;
	case STT_NOTYPE:
		return symbol->st_shndx != SHN_UNDEF && symbol->st_shndx < file->n_sections &&
		       (file->sections[symbol->st_shndx].sh_flags & SHF_EXECINSTR);
	default: return false;
	}
}

static int read_name(struct resolver *resolver, const struct candidate *candidate, char *name)
{
	resolver->budget -= NAME_COST;
	return elf_file_string(candidate->file, candidate->strings, candidate->name, name,
			       SYMBOL_NAME_MAX + 1);
}

/* Matches names that tools give to places: `$x`, `.L12`. */
static bool is_place(struct resolver *resolver, const struct candidate *candidate)
{
	if (candidate->is_function || candidate->binding != BINDING_LOCAL)
		return false;
	return read_name(resolver, candidate, resolver->name_a) < 0 || resolver->name_a[0] == '$' ||
	       strncmp(resolver->name_a, ".L", 2) == 0;
}

/*
 * Of two candidates with one range, whether @a has the better name. Tables don't compete: .symtab,
 * which comes first, mostly also holds .dynsym's names.
 */
static bool has_better_name(struct resolver *resolver, const struct candidate *a,
			    const struct candidate *b)
{
	if (a->binding != b->binding)
		return a->binding < b->binding;
	if (a->file != b->file || a->strings != b->strings || a->name == b->name)
		return false;
	if (read_name(resolver, a, resolver->name_a) < 0)
		return false;
	if (read_name(resolver, b, resolver->name_b) < 0)
		return true;
	return symbol_name_compare(resolver->name_a, resolver->name_b) < 0;
}

static bool covers_better(struct resolver *resolver, const struct candidate *a,
			  const struct candidate *b)
{
	if (!b->strings)
		return true;
	if (a->is_function != b->is_function)
		return a->is_function;
	if (a->value != b->value)
		return a->value > b->value;
	if (a->end != b->end)
		return a->end < b->end;
	return has_better_name(resolver, a, b);
}

static bool is_nearer(struct resolver *resolver, const struct candidate *a,
		      const struct candidate *b)
{
	bool a_sized = a->end > a->value, b_sized = b->end > b->value;

	if (!b->strings)
		return true;
	if (a->value != b->value)
		return a->value > b->value;
	if (a_sized || b_sized)
		return a_sized && !b_sized;
	if (a->is_function != b->is_function)
		return a->is_function;
	return has_better_name(resolver, a, b);
}

/* Offers @symbol to every address that it may name. */
static void offer(struct resolver *resolver, struct elf_file *file, const Elf64_Sym *symbol,
		  uint32_t strings)
{
	const struct lookups *lookups = resolver->lookups;
	struct candidate candidate = {
		.file = file,
		.value = symbol->st_value,
		.name = symbol->st_name,
		.strings = strings,
		.is_function = ELF64_ST_TYPE(symbol->st_info) != STT_NOTYPE,
		.binding = binding_of(symbol),
	};
	size_t at;

	if (__builtin_add_overflow(candidate.value, symbol->st_size, &candidate.end))
		candidate.end = UINT64_MAX;
	at = lookups_lower_bound(lookups, candidate.value);
	lookups_cut_at(lookups, at, candidate.value);
	if (is_nearer(resolver, &candidate, &resolver->nearest[at]) &&
	    !is_place(resolver, &candidate))
		resolver->nearest[at] = candidate;
	for (; at < lookups->n && lookups->addresses[at] < candidate.end; at++) {
		resolver->budget--;
		if (resolver->budget < 0)
			return;
		if (covers_better(resolver, &candidate, &resolver->covering[at]) &&
		    !is_place(resolver, &candidate))
			resolver->covering[at] = candidate;
	}
	lookups_cut_at(lookups, at, candidate.end);
}

static void widen(const Elf32_Sym *from, Elf64_Sym *to, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = (Elf64_Sym){
			.st_name = from[i].st_name,
			.st_info = from[i].st_info,
			.st_other = from[i].st_other,
			.st_shndx = from[i].st_shndx,
			.st_value = from[i].st_value,
			.st_size = from[i].st_size,
		};
}

/* Reads @n symbols from number @index on; the caller has checked the bounds. */
static int read_symbols(const struct elf_file *file, const Elf64_Shdr *table, uint64_t index,
			size_t n, Elf64_Sym *symbols, Elf32_Sym *narrow)
{
	int r;

	if (!file->is_32)
		return elf_file_read(file, table->sh_offset + index * sizeof *symbols, symbols,
				     n * sizeof *symbols);
	r = elf_file_read(file, table->sh_offset + index * sizeof *narrow, narrow,
			  n * sizeof *narrow);
	if (r == 0)
		widen(narrow, symbols, n);
	return r;
}

/* The number of symbols of @table. Errors: -ENOEXEC if it is not a symbol table. */
static int64_t count_symbols(const struct elf_file *file, const Elf64_Shdr *table)
{
	uint64_t size = file->is_32 ? sizeof(Elf32_Sym) : sizeof(Elf64_Sym);

	if (table->sh_entsize != size || table->sh_size / size > MAX_SYMBOLS ||
	    table->sh_offset > file->size || table->sh_size > file->size - table->sh_offset ||
	    table->sh_link == 0 || table->sh_link >= file->n_sections)
		return -ENOEXEC;
	return table->sh_size / size;
}

static int offer_table(struct resolver *resolver, struct elf_file *file, const Elf64_Shdr *table)
{
	int64_t n = count_symbols(file, table);
	/* Arm marks functions of Thumb code with bit 0. */
	uint64_t mask = file->machine == EM_ARM ? ~1ull : ~0ull;
	_cleanup_free_ Elf64_Sym *symbols = NULL;
	int r;

	if (n < 0)
		return n;
	symbols = malloc(CHUNK_SYMBOLS * (sizeof(Elf64_Sym) + sizeof(Elf32_Sym)));
	if (!symbols)
		return -ENOMEM;
	for (int64_t i = 0; i < n; i += CHUNK_SYMBOLS) {
		size_t chunk = n - i < CHUNK_SYMBOLS ? n - i : CHUNK_SYMBOLS;

		r = read_symbols(file, table, i, chunk, symbols,
				 (Elf32_Sym *)(symbols + CHUNK_SYMBOLS));
		if (r < 0)
			return r;
		for (size_t k = 0; k < chunk; k++) {
			symbols[k].st_value &= mask;
			if (!is_code(file, &symbols[k]))
				continue;
			if (symbols[k].st_value <= resolver->last)
				offer(resolver, file, &symbols[k], table->sh_link);
			else
				lookups_cut_at(resolver->lookups, resolver->lookups->n,
					       symbols[k].st_value);
		}
		if (resolver->budget < 0)
			return -ENOEXEC;
	}
	return 0;
}

/* Offers the symbols of @file's first table of @type. */
static int offer_first(struct resolver *resolver, struct elf_file *file, uint32_t type)
{
	for (size_t i = 0; i < file->n_sections; i++)
		if (file->sections[i].sh_type == type)
			return offer_table(resolver, file, &file->sections[i]);
	return 0;
}

static bool has_table(const struct elf_file *file, uint32_t type)
{
	for (size_t i = 0; i < file->n_sections; i++)
		if (file->sections[i].sh_type == type)
			return true;
	return false;
}

static int offer_tables(struct resolver *resolver, struct elf_file *const *files, size_t n_files)
{
	static const uint32_t types[] = {SHT_SYMTAB, SHT_DYNSYM};
	int r;

	for (size_t t = 0; t < sizeof types / sizeof *types; t++)
		for (size_t i = 0; i < n_files; i++) {
			r = offer_first(resolver, files[i], types[t]);
			if (r < 0)
				return r;
		}
	return 0;
}

/* Whether the function at @candidate has @address. Returns 1 if so, 0 if not, -ENOMEM. */
static int is_in_function(struct resolver *resolver, const struct candidate *candidate,
			  uint64_t address)
{
	if (resolver->reach.file != candidate->file) {
		int r;

		elf_reach_done(&resolver->reach);
		r = elf_reach_open(&resolver->reach, candidate->file);
		if (r < 0)
			return r;
	}
	return elf_reach_has(&resolver->reach, candidate->value, address);
}

/*
 * Whether it is of the few lines that compilers put before each program's code (GCC's crtstuff.c).
 * They have no size either, and what follows has no symbols where a compiler gives none, as GHC.
 */
static bool is_start_code(struct resolver *resolver, const struct candidate *candidate)
{
	static const char *const names[] = {"deregister_tm_clones", "register_tm_clones",
					    "__do_global_dtors_aux", "frame_dummy"};

	if (candidate->binding != BINDING_LOCAL ||
	    read_name(resolver, candidate, resolver->name_a) < 0)
		return false;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(resolver->name_a, names[i]) == 0)
			return true;
	return false;
}

/*
 * Whether @candidate, the nearest symbol before @address, extends to it. Returns 1 if so, 0 if not,
 * -ENOMEM.
 */
static int reaches(struct resolver *resolver, const struct candidate *candidate, uint64_t address)
{
	const Elf64_Shdr *section;

	if (!candidate->strings || candidate->end > candidate->value)
		return 0;
	resolver->budget -= candidate->file->n_sections;
	if (resolver->budget < 0)
		return 0;
	section = elf_file_code_section(candidate->file, address);
	if (!section || candidate->value < section->sh_addr)
		return 0;
	return resolver->has_locals && !is_start_code(resolver, candidate)
		       ? 1
		       : is_in_function(resolver, candidate, address);
}

/* Interns a symbol's name without its version (`memcpy@@GLIBC_2.14`). 0 if it has none. */
static int add_name(struct resolver *resolver, const struct candidate *candidate,
		    struct strings *strings, uint32_t *ret_id)
{
	char *name = resolver->name_a, *version;

	*ret_id = 0;
	if (read_name(resolver, candidate, name) < 0 || !*name)
		return 0;
	version = strchr(name + 1, '@');
	if (version)
		*version = '\0';
	return demangle_add(strings, name, ret_id);
}

static int add_names(struct resolver *resolver, struct strings *strings)
{
	const struct candidate *nearest = &(struct candidate){}, *last = NULL;
	struct lookups *lookups = resolver->lookups;
	uint32_t last_id = 0;

	for (size_t i = 0; i < lookups->n; i++) {
		const struct candidate *winner = &resolver->covering[i];

		if (resolver->nearest[i].strings)
			nearest = &resolver->nearest[i];
		if (!winner->strings) {
			int r = reaches(resolver, nearest, lookups->addresses[i]);

			if (r < 0)
				return r;
			winner = r ? nearest : NULL;
			if (r)
				lookups_isolate(lookups, i);
		}
		if (!winner)
			continue;
		if (!last || last->file != winner->file || last->strings != winner->strings ||
		    last->name != winner->name) {
			int r = add_name(resolver, winner, strings, &last_id);

			if (r < 0)
				return r;
			last = winner;
		}
		lookups->names[i] = last_id;
	}
	return 0;
}

static int resolve(struct resolver *resolver, struct elf_file *const *files, size_t n_files,
		   struct strings *strings)
{
	size_t n = resolver->lookups->n;
	int r;

	resolver->covering = calloc(n, sizeof *resolver->covering);
	resolver->nearest = calloc(n, sizeof *resolver->nearest);
	resolver->name_a = malloc(SYMBOL_NAME_MAX + 1);
	resolver->name_b = malloc(SYMBOL_NAME_MAX + 1);
	if (!resolver->covering || !resolver->nearest || !resolver->name_a || !resolver->name_b)
		return -ENOMEM;
	r = offer_tables(resolver, files, n_files);
	if (r < 0)
		return r;
	return add_names(resolver, strings);
}

int elf_symbols_resolve(struct elf_file *const *files, size_t n_files, struct lookups *lookups,
			struct strings *strings)
{
	struct resolver resolver = {
		.lookups = lookups,
		.budget = BUDGET + lookups->n * ADDRESS_COST,
	};
	int r;

	if (!lookups->n)
		return 0;
	resolver.last = lookups->addresses[lookups->n - 1];
	for (size_t i = 0; i < n_files; i++)
		resolver.has_locals |= has_table(files[i], SHT_SYMTAB);
	r = resolve(&resolver, files, n_files, strings);
	elf_reach_done(&resolver.reach);
	free(resolver.covering);
	free(resolver.nearest);
	free(resolver.name_a);
	free(resolver.name_b);
	return r;
}

int elf_symbols_read(struct elf_file *file, const Elf64_Shdr *table, uint64_t index, char *name,
		     size_t size)
{
	int64_t n = count_symbols(file, table);
	Elf64_Sym symbol;
	Elf32_Sym narrow;
	int r;

	if (n < 0)
		return n;
	if (index >= (uint64_t)n)
		return -ENOEXEC;
	r = read_symbols(file, table, index, 1, &symbol, &narrow);
	if (r < 0)
		return r;
	return elf_file_string(file, table->sh_link, symbol.st_name, name, size);
}
