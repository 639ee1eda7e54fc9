/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tables: the unwind tables of files, one for all processes that map it, made when a stack first
 * goes through it; and where BPF finds them: in segments, by slots of the map `tables`.
 *
 * Slots belong to parts of a file, only to mapped ones, and are free again when the file is closed.
 */
#ifndef COLLECT_TABLES_H
#define COLLECT_TABLES_H

#include "collect/process.h"
#include "collect/segments.h"
#include "runtimes/runtime.h"
#include "unwind/table_job.h"
#include "unwind/walk.h"

struct tables {
	int map_fd; /* of the slots */
	uint32_t n_slots, next_slot;
	/* Of closed files; BPF may still read the quiet ones. */
	struct slot_list {
		struct slot_range {
			uint32_t first, n;
		} * ranges;
		size_t n, capacity;
	} free, quiet;
	struct files *files;
	struct segments *segments;
	unwind_yield_fn yield;
	void *yield_context;
	const struct reader_debug *debug; /* or NULL */
	/* Builds the tables, and limits the wait, as in struct reader_call; or NULL. */
	struct reader *reader;
	bool (*wait)(void *context, uint64_t quiet_ns);
	char *unread;	    /* the first file that the reader did not survive, or NULL */
	bool refused;	    /* parts had no room recently */
	bool slots_refused; /* there were no slots recently */
	uint64_t n_built, n_damaged, n_refused, n_unread;
	uint64_t n_runtimes; /* files that turned out to be one */
};

/*
 * The caller keeps what it passes; the files' tables are freed with the files. @n_slots: of map
 * @map_fd.
 */
void tables_init(struct tables *tables, int map_fd, uint32_t n_slots, struct files *files,
		 struct segments *segments, unwind_yield_fn yield, void *yield_context);
void tables_done(struct tables *tables);

/*
 * Describes the code at @offset of @mapping; makes the part of the table, or makes it again, if
 * there is room. @epoch: the current one. Errors: -ENOMEM.
 */
int tables_look_up(struct tables *tables, const struct mapping *mapping, uint64_t offset,
		   uint32_t epoch, struct walk_code *ret);

/*
 * Sets in @ret what BPF should know about the table of @mapping's file; the addresses are
 * @mapping's, cut at the file's end. Makes no table. Errors: -ENOMEM.
 */
int tables_describe(struct tables *tables, const struct mapping *mapping, struct bf_mapping *ret);

/* The runtime that @file is, as far as it was looked at: NULL if it is none. */
const struct runtime_facts *tables_runtime(const struct tables *tables, uint32_t file);

/* Takes back the parts in @segment, which is about to be emptied. */
void tables_evict(struct tables *tables, uint32_t segment);

/* Frees slots that are quiet by now. Call it after each drain. Errors: -ENOMEM. */
int tables_reclaim(struct tables *tables);

/* Allows requests again for parts and files without room. Returns whether files had no slots. */
bool tables_allow_again(struct tables *tables);

#endif
