/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * elf_find: what a runtime is recognized by: symbols that even a stripped file keeps for its
 * libraries (.dynsym), and the bytes at them.
 */
#ifndef RUNTIMES_ELF_FIND_H
#define RUNTIMES_ELF_FIND_H

#include "base/elf_file.h"

struct elf_wanted {
	const char *name;
	uint64_t address; /* 0: the file does not define it */
};

/* Looks for @n symbols. A file without symbols is no error. Errors: -ENOMEM. */
int elf_find_symbols(struct elf_file *elf, struct elf_wanted *wanted, size_t n);

/* Reads @n bytes at @address, as they are before the program starts. Errors: -ENOEXEC. */
int elf_find_bytes(const struct elf_file *elf, uint64_t address, void *to, size_t n);

/* Address less file offset of the code; 0: there is none. */
int64_t elf_find_code_shift(const struct elf_file *elf);

#endif
