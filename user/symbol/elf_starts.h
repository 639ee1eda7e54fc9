/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * elf_starts: finds the starts of functions without symbols, by the search table that linkers add
 * to the call frame information: .eh_frame_hdr (Linux Standard Base 5.0, Core, 10.6.2). Programs
 * that are linked statically have none: then by that information itself, .eh_frame.
 */
#ifndef SYMBOL_ELF_STARTS_H
#define SYMBOL_ELF_STARTS_H

#include "base/elf_file.h"

struct elf_starts {
	struct elf_start *items; /* ascending, if the file is sound */
	size_t n;
	uint64_t base; /* the virtual address that items are relative to */
};

/* Reads the table of @file. Errors: -ENOENT none in the usual form; -ENOMEM; read errors. */
int elf_starts_open(struct elf_starts *ret, struct elf_file *file);
void elf_starts_done(struct elf_starts *starts);

/* A function's virtual addresses: from @start up to @end. */
struct elf_function {
	uint64_t start, end;
};

/* Finds the function that contains virtual address @address. */
bool elf_starts_find(const struct elf_starts *starts, const struct elf_file *file, uint64_t address,
		     struct elf_function *ret);

#endif
