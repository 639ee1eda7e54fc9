/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tables: the unwind tables of files, one for all processes that map it, made when a stack first
 * goes through it, and where BPF finds them: in segments, by slots of the map `tables`.
 */
#ifndef COLLECT_TABLES_H
#define COLLECT_TABLES_H

#include "collect/process.h"
#include "collect/segments.h"
#include "unwind/walk.h"

struct tables {
	int map_fd; /* of the slots */
	uint32_t n_slots, next_slot;
	/* Of files that were forgotten; BPF may still read the quiet ones. */
	struct slot_list {
		struct slot_range {
			uint32_t first, n;
		} * ranges;
		size_t n, capacity;
	} free, quiet;
	const struct files *files;
	struct segments *segments;
	struct file_table *tables; /* by index of the file; [0] is the vDSO's, [i + 1] of file i */
	size_t n_tables;
	unwind_breathe_fn breathe;
	void *breathe_context;
	bool refused; /* parts had no room lately */
	uint64_t n_built, n_damaged;
};

/* What is not ours stays the caller's. @n_slots: of map @map_fd. */
void tables_init(struct tables *tables, int map_fd, uint32_t n_slots, const struct files *files,
		 struct segments *segments, unwind_breathe_fn breathe, void *breathe_context);
void tables_done(struct tables *tables);

/*
 * Tells of the code at @offset of @mapping; the part of the table is made, or made again, if there
 * is room. @epoch: of now. Errors: -ENOMEM.
 */
int tables_look_up(struct tables *tables, const struct mapping *mapping, uint64_t offset,
		   uint32_t epoch, struct walk_code *ret);

/*
 * Sets what BPF is to know of the table of @mapping's file, in @ret, whose addresses are
 * @mapping's: what lies behind the file's end is cut off. Makes no table. Errors: -ENOMEM.
 */
int tables_describe(struct tables *tables, const struct mapping *mapping, struct bf_mapping *ret);

/*
 * Files have got new numbers; of those with UINT32_MAX the tables are freed, and segments that held
 * nothing else. @n_files: of @numbers. Errors: -ENOMEM.
 */
int tables_renumber(struct tables *tables, const uint32_t *numbers, size_t n_files);

/* Takes the parts in @segment back. */
void tables_evict(struct tables *tables, uint32_t segment);

/* Parts that had no room may be asked for again. */
void tables_allow_again(struct tables *tables);

#endif
