/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * elf_reach: how far a symbol without a size reaches, in a file whose local symbols are stripped.
 *
 * Assembly often gives its functions no size. Where all symbols are there, one reaches to the next.
 * In a stripped file the next ones may be missing, so a symbol names no more than its own function:
 * what the call frame information of that covers, or what its code shows.
 */
#ifndef SYMBOL_ELF_REACH_H
#define SYMBOL_ELF_REACH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/elf_file.h"
#include "symbol/elf_starts.h"

struct elf_reach {
	struct elf_file *file;
	struct elf_starts starts;
	bool has_starts;
	uint64_t value, end; /* of the last function that was looked at */
};

/* @file must live as long as @reach. Errors: -ENOMEM. */
int elf_reach_open(struct elf_reach *reach, struct elf_file *file);

void elf_reach_done(struct elf_reach *reach);

/* Whether @address is in the function that begins at @value. Both are virtual addresses. */
bool elf_reach_has(struct elf_reach *reach, uint64_t value, uint64_t address);

#endif
