/* SPDX-License-Identifier: GPL-2.0-or-later */
/* elf_symbols: names virtual addresses by the symbol tables of an ELF file and its debug files. */
#ifndef SYMBOL_ELF_SYMBOLS_H
#define SYMBOL_ELF_SYMBOLS_H

#include "base/strings.h"
#include "base/elf_file.h"
#include "symbol/lookups.h"

/*
 * Sets the names of those @lookups that .symtab or .dynsym of @files has; leaves the others. The
 * files are a mapped file and its debug files, the best first.
 *
 * A symbol with a size names exactly its range; one without names what follows in its section, up
 * to the next symbol, where all symbols are there. Functions win over labels, and inner ranges
 * over outer ones; of several names for one range, global wins over weak over local, then
 * symbol_name_compare() decides.
 *
 * Spans of unnamed lookups hold only where a function of elf_starts.h ends them.
 *
 * Errors: -ENOMEM; -ENOEXEC and read errors if a table is damaged; nothing is named then.
 */
int elf_symbols_resolve(struct elf_file *const *files, size_t n_files, struct lookups *lookups,
			struct strings *strings);

/* Names the @lookups in the procedure linkage table that have no name: `read@plt`. */
int elf_plt_resolve(struct elf_file *file, struct lookups *lookups, struct strings *strings);

/*
 * Names those unnamed @lookups where threads begin: `_start` at the file's entry point, `clone3`
 * and `clone` after that system call.
 */
int elf_entry_resolve(struct elf_file *file, struct lookups *lookups, struct strings *strings);
/* Whether it may name one of the virtual addresses from @from up to @to, 1 KB at most. */
bool elf_entry_is_near(const struct elf_file *file, uint64_t from, uint64_t to);

/* Reads symbol @index of @table (SHT_SYMTAB or SHT_DYNSYM) and its name. Errors: as above. */
int elf_symbols_read(struct elf_file *file, const Elf64_Shdr *table, uint64_t index, char *name,
		     size_t size);

#endif
