/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/process_runtime.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/foreign.h"
#include "base/system.h"

/* Reads all @pieces, one after the other, to @to. */
static int read_charged(const struct process_memory *memory, const struct foreign_piece *pieces,
			size_t n, void *to)
{
	uint32_t budget = budgets_of_process(memory->budgets, memory->pid);
	uint64_t start = monotonic_ns();
	int r;

	if (!budgets_may_read(memory->budgets, budget)) {
		budgets_refuse(memory->budgets, budget);
		return -EDQUOT;
	}
	r = foreign_read_memory(memory->pid, pieces, n, to);
	budgets_spend(memory->budgets, budget, monotonic_ns() - start);
	return r;
}

static int read_pieces(void *context, const struct runtime_piece *pieces, size_t n)
{
	struct foreign_piece wanted[FOREIGN_MAX_PIECES] = {};
	uint8_t *bytes;
	size_t total = 0;
	int r;

	for (size_t i = 0; i < n; i++) {
		wanted[i] = (struct foreign_piece){pieces[i].address, pieces[i].n};
		total += pieces[i].n;
	}
	bytes = malloc(total + 1);
	if (!bytes)
		return -ENOMEM;
	r = read_charged(context, wanted, n, bytes);
	total = 0;
	for (size_t i = 0; i < n && r == 0; i++) {
		memcpy(pieces[i].to, bytes + total, pieces[i].n);
		total += pieces[i].n;
	}
	free(bytes);
	return r;
}

struct runtime_memory process_memory(struct files *files, const struct process *process,
				     struct process_memory *to)
{
	*to = (struct process_memory){&files->memory_budgets, process->pid};
	return (struct runtime_memory){read_pieces, to};
}

/* Asks again a process that was too early to say all. What it says now, BPF has to know, too. */
static void complete_again(struct process *process, const struct runtime_memory *memory)
{
	struct runtime_facts facts = process->runtime->facts;

	if (runtime_complete(&facts, memory) < 0 || facts.is_early || facts.problem != RUNTIME_FINE)
		return;
	process->runtime->facts = facts;
	process->pushed = 0;
}

/* Reads the rest of the facts, once; twice from what has just begun. */
static const struct runtime_facts *complete(struct files *files, struct process *process,
					    const struct runtime_facts *partial, int64_t bias)
{
	struct process_memory reading;
	struct runtime_memory memory = process_memory(files, process, &reading);
	struct process_runtime *runtime = process->runtime;

	memory.bias = bias;
	if (runtime && memcmp(&runtime->partial, partial, sizeof *partial) == 0) {
		if (runtime->facts.is_early && !process->ended)
			complete_again(process, &memory);
		return &runtime->facts;
	}
	if (process->ended)
		return NULL;
	runtime = malloc(sizeof *runtime);
	if (!runtime)
		return NULL;
	*runtime = (struct process_runtime){*partial, *partial};
	if (runtime_complete(&runtime->facts, &memory) < 0) {
		free(runtime);
		return NULL;
	}
	free(process->runtime);
	process->runtime = runtime;
	return &runtime->facts;
}

/*
 * The first mapping whose file is a runtime, or NULL. There may be thousands of mappings, so a search
 * in vain is not repeated before something is new.
 */
static const struct mapping *find_runtime(const struct tables *tables, struct process *process)
{
	const struct mapping_list *list = process->mappings;

	if (process->no_runtime.version == list->version &&
	    process->no_runtime.n_runtimes == tables->n_runtimes)
		return NULL;
	for (size_t i = 0; i < list->n; i++)
		if (tables_runtime(tables, list->items[i].file))
			return &list->items[i];
	process->no_runtime.version = list->version;
	process->no_runtime.n_runtimes = tables->n_runtimes;
	return NULL;
}

const struct runtime_facts *process_runtime(const struct tables *tables, struct process *process,
					    int64_t *ret_bias, uint32_t *ret_file)
{
	const struct mapping *mapping = find_runtime(tables, process);
	const struct runtime_facts *facts;

	if (!mapping)
		return NULL;
	facts = tables_runtime(tables, mapping->file);
	*ret_bias = (int64_t)(mapping->start - mapping->offset) - facts->code_shift;
	*ret_file = mapping->file;
	return facts->is_partial && facts->problem == RUNTIME_FINE
		       ? complete(tables->files, process, facts, *ret_bias)
		       : facts;
}

void process_generated(const struct tables *tables, struct process *process,
		       struct generated_code *ret)
{
	const struct runtime_facts *facts;
	int64_t bias;

	*ret = (struct generated_code){};
	facts = process_runtime(tables, process, &bias, &ret->file);
	if (!facts || facts->problem != RUNTIME_FINE || !facts->generated_size)
		return;
	ret->start = facts->generated - facts->code_shift;
	ret->end = ret->start + facts->generated_size;
}
