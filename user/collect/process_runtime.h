/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * process_runtime: which runtime a process has, by the files that it has mapped. Facts that are not
 * in the file are read from the process's memory, and believed for that process only.
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

/*
 * The runtime of @process, until its mappings change, and where its file is mapped, less where that
 * wants to be; and which file that is. NULL: none is known, or it has not begun.
 */
const struct runtime_facts *process_runtime(const struct tables *tables, struct process *process,
					    int64_t *ret_bias, uint32_t *ret_file);

/* Code that is part of a file, but the runtime's: [@start, @end) of the file's offsets. */
struct generated_code {
	uint64_t start, end; /* 0: there is none */
	uint32_t file;
};

/* What of @process is such code. */
void process_generated(const struct tables *tables, struct process *process,
		       struct generated_code *ret);

#endif
