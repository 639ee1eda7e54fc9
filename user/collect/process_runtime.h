/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * process_runtime: which runtimes a process has, by the files that it has mapped: up to
 * BF_PROCESS_RUNTIMES, one of each kind. Facts that are not in the file are read from the process's
 * memory, and believed for that process only.
 */
#ifndef COLLECT_PROCESS_RUNTIME_H
#define COLLECT_PROCESS_RUNTIME_H

#include "collect/process.h"
#include "collect/tables.h"

/* What a process with partial facts has said. */
struct process_runtime {
	struct runtime_facts partial, facts;
};

/* Where the memory of a process is read: within the limits of its user. */
struct process_memory {
	struct budgets *budgets;
	uint32_t pid;
};

/* Reads the memory of @process by @to, which outlives what this returns. The bias is not set. */
struct runtime_memory process_memory(struct files *files, const struct process *process,
				     struct process_memory *to);

/* A runtime of a process, until its mappings change. */
struct found_runtime {
	const struct runtime_facts *facts;
	int64_t bias; /* where its file is mapped, less where that wants to be */
	uint32_t file;
};

/*
 * The runtimes of @process, the first of each kind, or the first of them that can be used. Those
 * that have not begun are left out. Returns how many.
 */
uint32_t process_runtimes(const struct tables *tables, struct process *process,
			  struct found_runtime ret[static BF_PROCESS_RUNTIMES]);

/* The one that owns the frame whose first word is @word. Returns whether there is one. */
bool process_runtime_of(const struct tables *tables, struct process *process, uint64_t word,
			struct found_runtime *ret);

/* Whether frames of one are found where walks come to code that is no file's. */
bool process_has_ranges(const struct tables *tables, struct process *process);
/* The same without those that leave other code to others, or whose frames are found without, too. */
bool process_has_own_ranges(const struct tables *tables, struct process *process);

/* Code that is part of a file, but a runtime's: [@start, @end) of the file's offsets. */
struct generated_code {
	uint32_t n;
	struct generated_part {
		uint64_t start, end;
		uint32_t file, owner;
	} parts[BF_PROCESS_RUNTIMES];
};

/* What of @process is such code. */
void process_generated(const struct tables *tables, struct process *process,
		       struct generated_code *ret);

/* The part that @offset of @file is in, or NULL. */
const struct generated_part *generated_find(const struct generated_code *generated, uint32_t file,
					    uint64_t offset);

#endif
