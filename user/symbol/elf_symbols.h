/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * elf_symbols: names virtual addresses after the symbol tables of an ELF file, and of those that
 * hold what was stripped from it.
 */
#ifndef SYMBOL_ELF_SYMBOLS_H
#define SYMBOL_ELF_SYMBOLS_H

#include "base/strings.h"
#include "base/elf_file.h"
#include "symbol/lookups.h"

/*
 * Sets the names of those @lookups that .symtab or .dynsym of @files tells; the others stay as they
 * are. The files are a mapped file and what belongs to it, the best first.
 *
 * A symbol with a size names exactly its range; one without names what follows in its section, up
 * to the next symbol. Functions go before labels, inner ranges before outer, and of several names
 * of one range, global before weak before local, then symbol_name_compare().
 *
 * Errors: -ENOMEM; -ENOEXEC and read errors when a table is damaged, and then nothing is named.
 */
int elf_symbols_resolve(struct elf_file *const *files, size_t n_files, struct lookups *lookups,
			struct strings *strings);

/* Names the @lookups that lie in the procedure linkage table and have no name: `read@plt`. */
int elf_plt_resolve(struct elf_file *file, struct lookups *lookups, struct strings *strings);

/*
 * Names those @lookups without a name that lie where threads begin: `_start` at the file's entry
 * point, `clone3` and `clone` behind that system call.
 */
int elf_entry_resolve(struct elf_file *file, struct lookups *lookups, struct strings *strings);

/* Reads symbol @index of @table (SHT_SYMTAB or SHT_DYNSYM) and its name. Errors: as above. */
int elf_symbols_read(struct elf_file *file, const Elf64_Shdr *table, uint64_t index, char *name,
		     size_t size);

#endif
