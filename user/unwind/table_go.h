/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * table_go: rows for the functions of a Go program, from the frame sizes in its own table
 * (base/go_table.h): the canonical frame address is the stack pointer, the size, and 8. x86-64
 * only.
 *
 * The table does not say where the caller's frame pointer is; the code that saves it does, which is
 * one of two kinds. Functions that move to another stack (systemstack, asmcgocall, …) have a size
 * that counts from the stack they came from: from there on, their frame pointer leads back to it.
 */
#ifndef UNWIND_TABLE_GO_H
#define UNWIND_TABLE_GO_H

#include "base/go_table.h"
#include "unwind/table_part.h"

struct table_go {
	struct go_table table;
	struct section code; /* the whole file, for looking at code */
};

/* Opens the table of @file, which must outlive @ret. Errors: as of go_table_open(). */
int table_go_open(struct table_go *ret, struct elf_file *file);
void table_go_done(struct table_go *go);

/*
 * Writes the rows of the @i-th function, the first @size bytes of it, which lie at @offset in the
 * file. What its table does not say, or wrongly, is a gap. Errors: of table_writer_row().
 */
int table_go_write(struct table_go *go, struct table_writer *writer, size_t i, uint64_t offset,
		   uint64_t size);

#endif
