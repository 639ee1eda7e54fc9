/* SPDX-License-Identifier: GPL-2.0-or-later */
/* table_part: an unwind table, and a writer for its parts that takes rows in ascending order. */
#ifndef UNWIND_TABLE_PART_H
#define UNWIND_TABLE_PART_H

#include <stdbool.h>
#include <stdint.h>

#include "base/elf_file.h"
#include "bpf/wire.h"

/* Called about every millisecond while a table is made: a large file takes a hundred. */
typedef void (*unwind_yield_fn)(void *context);

/* A part of BF_PART_SHIFT bits of file offsets. No words: nothing is known about it. */
struct unwind_part {
	uint32_t *words;
	uint32_t n_words; /* ≤ BF_SEGMENT_WORDS - BF_SEGMENT_FIRST */
};

struct unwind_table {
	struct unwind_part *parts; /* the i-th covers file offsets from i << BF_PART_SHIFT on */
	uint32_t n_parts;
	void *block;	  /* holds the words of all parts; NULL: each has its own, malloc'ed */
	uint16_t machine; /* EM_X86_64, EM_AARCH64 */
	bool is_go;	  /* the program says that it is one of Go's */
	/* Figures about its making. */
	uint64_t code_bytes; /* covered by rows */
	uint64_t read_bytes; /* of these: known from the code itself, not from a section */
	uint64_t bare_bytes; /* code that no section covers, known or not */
	uint32_t n_functions, n_rows, n_rules;
	uint32_t n_skipped; /* left out: damaged, too much for a part, or overlapping */
};

struct table_writer {
	struct unwind_table *table;
	uint32_t part;	/* the one being written */
	uint32_t page;	/* in it */
	uint32_t *rows; /* offset in page << 20 | number of its rule, from 1 on; 0: none */
	uint32_t n_rows;
	uint32_t directory[BF_PART_PAGES + 1];
	uint32_t current; /* number of the rule that holds at the end of the written part */
	struct bf_rule *rules;
	uint32_t n_rules;
	uint32_t *slots; /* numbers of rules by their hash, open addressing; 0: free */
	uint32_t n_slots;
	uint64_t known_from; /* start of the current range without a gap */
};

/* Errors: -ENOMEM. */
int table_writer_init(struct table_writer *writer, struct unwind_table *table);
void table_writer_done(struct table_writer *writer);

/*
 * Sets @rule from @offset on. Offsets never descend; the last call for an offset counts. Errors:
 * -ENOSPC the part is full, nothing is known from there on; -ENOMEM.
 */
int table_writer_row(struct table_writer *writer, uint64_t offset, const struct bf_rule *rule);

/* Marks a gap from @offset on; there is always room for it. Errors: -ENOMEM. */
int table_writer_gap(struct table_writer *writer, uint64_t offset);

/* Errors: -ENOMEM. */
int table_writer_finish(struct table_writer *writer);

#endif
