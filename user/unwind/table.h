/* SPDX-License-Identifier: GPL-2.0-or-later */
/* table: makes the unwind table of a file, in the form that the BPF programs read (bpf/wire.h). */
#ifndef UNWIND_TABLE_H
#define UNWIND_TABLE_H

#include "base/elf_file.h"
#include "unwind/table_part.h"

/*
 * Makes the table of @file from .eh_frame, then .debug_frame for what that omits, then the code
 * itself for what both omit. Errors: -ENOENT it has none of them, or is for another machine;
 * -ENOEXEC the file is damaged; -ENOMEM; read errors. Bounded: time and memory follow the size of
 * the section, after unpacking, with at most some 10 bytes of memory per byte.
 */
int unwind_table_build(struct elf_file *file, struct unwind_table *ret);

/*
 * Takes .debug_frame from @debug, the file that it was stripped into, unless that is NULL. Calls
 * @yield about every millisecond: a large file takes a hundred.
 */
int unwind_table_build_yielding(struct elf_file *file, struct elf_file *debug,
				unwind_yield_fn yield, void *context, struct unwind_table *ret);

/* Whether sections omit most of the code, so that a debug file is worth looking for. */
static inline bool unwind_table_is_bare(const struct unwind_table *table)
{
	return table->bare_bytes > table->code_bytes - table->read_bytes;
}

void unwind_table_done(struct unwind_table *table);

/* The rule for the code at file offset @offset, or NULL. */
const struct bf_rule *unwind_table_find(const struct unwind_table *table, uint64_t offset);

#endif
