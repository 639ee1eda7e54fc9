/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * table_part: writing the parts of an unwind table, from rows in ascending order.
 */
#ifndef UNWIND_TABLE_PART_H
#define UNWIND_TABLE_PART_H

#include "unwind/table.h"

struct table_writer {
	struct unwind_table *table;
	uint32_t part;	/* the one being written */
	uint32_t page;	/* in it */
	uint32_t *rows; /* offset in page << 20 | number of its rule, from 1 on; 0: none */
	uint32_t n_rows;
	uint32_t directory[BF_PART_PAGES + 1];
	uint32_t current; /* number of the rule that holds at the end of what is written */
	struct bf_rule *rules;
	uint32_t n_rules;
	uint32_t *slots; /* numbers of rules by their hash, open addressing; 0: free */
	uint32_t n_slots;
	uint64_t known_from; /* where the rules that hold without a gap began */
};

/* Errors: -ENOMEM. */
int table_writer_init(struct table_writer *writer, struct unwind_table *table);
void table_writer_done(struct table_writer *writer);

/*
 * From @offset on, @rule holds. Offsets never descend; the last word on an offset counts.
 * Errors: -ENOSPC the part is full, nothing is known from there on; -ENOMEM.
 */
int table_writer_row(struct table_writer *writer, uint64_t offset, const struct bf_rule *rule);

/* From @offset on, nothing is known. There is always room for it. Errors: -ENOMEM. */
int table_writer_gap(struct table_writer *writer, uint64_t offset);

/* Errors: -ENOMEM. */
int table_writer_finish(struct table_writer *writer);

#endif
