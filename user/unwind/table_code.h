/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * table_code: makes rows for the code of a file that call frame information omits, as in musl,
 * other libraries and much hand-written code. The code itself gives them, see stack_flow.h. x86-64
 * only.
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
 * Adds @n bytes of code at virtual address @address, unless it is only padding. Addresses and
 * offsets ascend. Errors: -ENOMEM, -ENOSPC there is too much of it, read errors.
 */
int table_code_add(struct table_code *code, uint64_t address, uint64_t offset, uint64_t n);

/* Analyses everything that was added. Errors: -ENOMEM. */
int table_code_run(struct table_code *code, unwind_yield_fn yield, void *context);

/* Writes the rows for the code at offsets @from to @to; both ascend. Errors: -ENOMEM. */
int table_code_write(struct table_code *code, struct table_writer *writer, uint64_t from,
		     uint64_t to);

#endif
