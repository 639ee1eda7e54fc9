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
	_cleanup_free_ uint8_t *bytes = NULL;
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
	if (r < 0)
		return r;
	total = 0;
	for (size_t i = 0; i < n; i++) {
		memcpy(pieces[i].to, bytes + total, pieces[i].n);
		total += pieces[i].n;
	}
	return 0;
}

struct runtime_memory process_memory(struct files *files, const struct process *process,
				     struct process_memory *to)
{
	*to = (struct process_memory){&files->memory_budgets, process->pid};
	return (struct runtime_memory){read_pieces, to};
}

/* Asks again a process that was too early to say all. What it says now, BPF has to know, too. */
static void complete_again(struct process *process, struct process_runtime *said,
			   const struct runtime_memory *memory)
{
	struct runtime_facts facts = said->facts;

	if (runtime_complete(&facts, memory) < 0 || facts.is_early || facts.problem != RUNTIME_FINE)
		return;
	said->facts = facts;
	process->pushed = 0;
}

/* Reads the rest of the facts, once; twice from what has just begun. */
static const struct runtime_facts *complete(struct files *files, struct process *process,
					    const struct runtime_facts *partial, int64_t bias)
{
	struct process_memory source;
	struct runtime_memory memory = process_memory(files, process, &source);
	struct process_runtime **slot = &process->said[partial->runtime % RUNTIME_ROWS];
	struct process_runtime *said = *slot;

	memory.bias = bias;
	if (said && memcmp(&said->partial, partial, sizeof *partial) == 0) {
		if (said->facts.is_early && !process->ended)
			complete_again(process, said, &memory);
		return &said->facts;
	}
	if (process->ended)
		return NULL;
	said = malloc(sizeof *said);
	if (!said)
		return NULL;
	*said = (struct process_runtime){*partial, *partial};
	if (runtime_complete(&said->facts, &memory) < 0) {
		free(said);
		return NULL;
	}
	free(*slot);
	*slot = said;
	return &said->facts;
}

/* Keeps where a runtime is: one that can be used takes the place of one of its kind that can't. */
static void keep_place(const struct tables *tables, struct process *process,
		       const struct mapping *mapping, const struct runtime_facts *facts)
{
	struct runtime_place place = {mapping->file, (int64_t)(mapping->start - mapping->offset)};
	uint32_t i = 0, yielding = BF_PROCESS_RUNTIMES;

	for (; i < process->runtimes.n; i++) {
		const struct runtime_facts *other =
			tables_runtime(tables, process->runtimes.places[i].file);

		if (other && runtime_gives_way(other) && !runtime_gives_way(facts))
			yielding = i;
		if (!other || other->runtime != facts->runtime)
			continue;
		if (other->problem == RUNTIME_FINE || facts->problem != RUNTIME_FINE)
			return;
		break;
	}
	i = i == BF_PROCESS_RUNTIMES ? yielding : i;
	if (i == BF_PROCESS_RUNTIMES)
		return;
	process->runtimes.places[i] = place;
	process->runtimes.n += i == process->runtimes.n;
}

/* Whether @mapping is of code that the runtime has, after its own: not where that is. */
static bool is_generated(const struct mapping *mapping, const struct runtime_facts *facts)
{
	return mapping->offset - (facts->generated - facts->code_shift) < facts->generated_size;
}

/* There may be thousands of mappings: they are looked through when something is new. */
static void find_places(const struct tables *tables, struct process *process)
{
	const struct mapping_list *list = process->mappings;
	const struct runtime_facts *facts;

	if (process->runtimes.version == list->version &&
	    process->runtimes.n_known == tables->n_runtimes)
		return;
	process->runtimes.n = 0;
	for (size_t i = 0; i < list->n; i++) {
		facts = tables_runtime(tables, list->items[i].file);
		if (facts && !is_generated(&list->items[i], facts))
			keep_place(tables, process, &list->items[i], facts);
	}
	process->runtimes.version = list->version;
	process->runtimes.n_known = tables->n_runtimes;
}

uint32_t process_runtimes(const struct tables *tables, struct process *process,
			  struct found_runtime ret[static BF_PROCESS_RUNTIMES])
{
	uint32_t n = 0;

	find_places(tables, process);
	for (uint32_t i = 0; i < process->runtimes.n; i++) {
		const struct runtime_place *place = &process->runtimes.places[i];
		const struct runtime_facts *facts = tables_runtime(tables, place->file);
		int64_t bias;

		if (!facts)
			continue;
		bias = place->shift - facts->code_shift;
		if (facts->is_partial && facts->problem == RUNTIME_FINE)
			facts = complete(tables->files, process, facts, bias);
		if (facts)
			ret[n++] = (struct found_runtime){facts, bias, place->file};
	}
	return n;
}

bool process_runtime_of(const struct tables *tables, struct process *process, uint64_t word,
			struct found_runtime *ret)
{
	struct found_runtime found[BF_PROCESS_RUNTIMES];
	uint32_t n = process_runtimes(tables, process, found);

	for (uint32_t i = 0; i < n; i++)
		if (found[i].facts->runtime ==
		    (word >> BF_FRAME_OWNER_SHIFT & (BF_FRAME_OWNERS - 1))) {
			*ret = found[i];
			return true;
		}
	return false;
}

static bool has_ranges(const struct tables *tables, struct process *process, bool of_any)
{
	struct found_runtime found[BF_PROCESS_RUNTIMES];
	uint32_t n = process_runtimes(tables, process, found);

	for (uint32_t i = 0; i < n; i++)
		if (of_any ? runtime_has_ranges(found[i].facts)
			   : runtime_has_only_ranges(found[i].facts) &&
				     !runtime_gives_way(found[i].facts))
			return true;
	return false;
}

bool process_has_ranges(const struct tables *tables, struct process *process)
{
	return has_ranges(tables, process, true);
}

bool process_has_own_ranges(const struct tables *tables, struct process *process)
{
	return has_ranges(tables, process, false);
}

void process_generated(const struct tables *tables, struct process *process,
		       struct generated_code *ret)
{
	struct found_runtime found[BF_PROCESS_RUNTIMES];
	uint32_t n = process_runtimes(tables, process, found);

	ret->n = 0;
	for (uint32_t i = 0; i < n; i++) {
		const struct runtime_facts *facts = found[i].facts;
		uint64_t start = facts->generated - facts->code_shift;

		if (facts->problem == RUNTIME_FINE && facts->generated_size)
			ret->parts[ret->n++] =
				(struct generated_part){start, start + facts->generated_size,
							found[i].file, facts->runtime};
	}
}

const struct generated_part *generated_find(const struct generated_code *generated, uint32_t file,
					    uint64_t offset)
{
	for (uint32_t i = 0; i < generated->n; i++) {
		const struct generated_part *part = &generated->parts[i];

		if (part->file == file && offset >= part->start && offset < part->end)
			return part;
	}
	return NULL;
}
