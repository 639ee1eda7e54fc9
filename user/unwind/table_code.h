/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * table_code: rows for the code of a file that call frame information leaves out, which musl's and
 * other libraries' is, and much that was written by hand. They are found in the code itself, see
 * stack_flow.h. x86-64 only.
 */
#ifndef UNWIND_TABLE_CODE_H
#define UNWIND_TABLE_CODE_H

#include "unwind/stack_flow.h"
#include "unwind/table_part.h"

struct table_code {
	struct elf_file *file;
	bool is_most; /* of the file's code */
	struct stack_flow flow;
	uint8_t *bytes;
	size_t capacity;
	struct flow_range *ranges;
	size_t n_ranges, ranges_capacity;
	size_t next; /* range to write */
};

void table_code_done(struct table_code *code);

/*
 * Adds @n bytes of code at virtual address @address, if it is not only padding; both ascend.
 * Errors: -ENOMEM, -ENOSPC there is too much of it, read errors.
 */
int table_code_add(struct table_code *code, uint64_t address, uint64_t offset, uint64_t n);

/* Finds out about all that was added. Errors: -ENOMEM. */
int table_code_run(struct table_code *code, unwind_breathe_fn breathe, void *context);

/* Writes what is known of the code at offsets from @from to @to; both ascend. Errors: -ENOMEM. */
int table_code_write(struct table_code *code, struct table_writer *writer, uint64_t from,
		     uint64_t to);

#endif
