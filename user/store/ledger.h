/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ledger: the windows of a store in memory: who ran or waited, in which stack, why, how long.
 *
 *	row ──▶ process ──▶ strings
 *	  └───▶ node ──▶ parent node … (a stack is a path to the root, node 0)
 *	          └────▶ frame ──▶ module
 *
 * The dictionaries (all but the rows) only grow, and later items refer to earlier ones alone, so a
 * file holds of each window what is new. Item 0 of modules and nodes means none; string 1, frame 0
 * and process 0 are those whose block is damaged.
 *
 * A ledger is filled in one of two ways: by ledger_add_…(), which find the equal item; or by
 * ledger_decode(), which appends what a file holds and never looks for anything.
 */
#ifndef STORE_LEDGER_H
#define STORE_LEDGER_H

#include "core/profile.h"

struct ledger_module {
	uint32_t kind; /* enum mapping_kind */
	uint32_t path, build_id;
};

struct ledger_frame {
	uint32_t kind; /* enum frame_kind */
	uint32_t module, function, file, line;
};

struct ledger_node {
	uint32_t parent, frame;
};

struct ledger_process {
	uint64_t start; /* boot-time ns, in whole LEDGER_START_UNIT; 0: not known */
	uint32_t pid;	/* 0: of several processes, see ledger_merge() */
	uint32_t comm, exe, cgroup;
};

/* Rows that are equal in all but the figures are one. */
struct ledger_row {
	uint32_t process, node;
	uint8_t reason; /* enum off_reason */
	uint8_t end;	/* enum stack_end */
	bool is_idle;
	uint64_t count;	       /* samples, or off-CPU periods that were kept */
	uint64_t microseconds; /* of the thread's time */
};

struct ledger {
	struct strings strings;
	struct ledger_module *modules;
	size_t n_modules, modules_capacity;
	struct ledger_frame *frames;
	size_t n_frames, frames_capacity;
	struct ledger_node *nodes;
	size_t n_nodes, nodes_capacity;
	struct ledger_process *processes;
	size_t n_processes, processes_capacity;
	struct ledger_row *rows;
	size_t n_rows, rows_capacity;
	struct table module_index, frame_index, node_index, process_index, row_index;
};

#define LEDGER_DAMAGED	    1 /* a string */
#define LEDGER_DAMAGED_TEXT "[damaged]"
#define LEDGER_START_UNIT   10000000 /* ns */

/* Errors: -ENOMEM; ledger_done() is due either way, and fine on a zeroed struct. */
int ledger_init(struct ledger *ledger);
void ledger_done(struct ledger *ledger);
void ledger_clear_rows(struct ledger *ledger);
/* Memory that it takes. */
size_t ledger_bytes(const struct ledger *ledger);

/* What else is known of a process. */
struct ledger_who {
	uint32_t pid;
	uint64_t start;		  /* boot-time ns */
	const char *exe, *cgroup; /* "" where not known */
};

/*
 * Adds the samples of a named profile, of threads that ran and of those that waited. @who: sorted
 * by pid. Errors: -ENOMEM, -E2BIG.
 */
int ledger_add_profile(struct ledger *ledger, const struct profile *profile,
		       const struct ledger_who *who, size_t n_who);

/* Where the items of one ledger are in another one. As long as both grow, it stays true. */
struct ledger_memo {
	uint32_t *strings, *modules, *frames, *nodes, *processes;
	size_t n_strings, n_modules, n_frames, n_nodes, n_processes;
};

void ledger_memo_done(struct ledger_memo *memo);

struct ledger_merge {
	struct ledger_memo *memo;
	bool all_processes;  /* come first, in the order of @from, whether they have rows or not */
	bool no_stacks;	     /* all rows go to the root … */
	bool no_pids;	     /* … and to one process for each command, executable and cgroup */
	uint64_t old_before; /* … so do those of processes born since (boot-time ns); 0: none do */
	/* NULL, or whether a row counts. */
	bool (*wanted)(void *context, const struct ledger *from, const struct ledger_row *row);
	void *context;
};

/* Adds the rows of @from, and what they refer to. Errors: -ENOMEM, -E2BIG. */
int ledger_merge(struct ledger *to, const struct ledger *from, const struct ledger_merge *how);

#endif
