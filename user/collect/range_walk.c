/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/range_walk.h"

#include <errno.h>
#include <string.h>

#include "runtimes/machine_run.h"

#define PAGE 4096

void range_walk_init(struct range_walk *walk, const struct runtime_memory *memory)
{
	walk->memory = *memory;
	walk->n_pages = walk->n_reads = 0;
	walk->n = walk->turns = walk->last = 0;
}

bool range_walk_add(struct range_walk *walk, const struct runtime_facts *facts, int64_t bias)
{
	struct range_runtime *to = &walk->runtimes[walk->n];

	if (walk->n == BF_PROCESS_RUNTIMES || facts->problem != RUNTIME_FINE ||
	    runtime_write(facts, BF_HOOK_RANGE, &to->text) < 0)
		return false;
	to->facts = facts;
	to->bias = bias;
	to->machine = (struct bf_machine){.parameters = {0, 1}, .owner = facts->runtime};
	walk->n++;
	return true;
}

static const uint8_t *find_page(struct range_walk *walk, uint64_t address)
{
	struct runtime_piece piece = {address, PAGE, walk->pages[walk->n_pages % RANGE_PAGES]};

	for (uint32_t i = 0; i < walk->n_pages && i < RANGE_PAGES; i++)
		if (walk->addresses[i] == address)
			return walk->pages[i];
	if (walk->n_reads++ >= RANGE_READS)
		return NULL;
	if (walk->memory.read(walk->memory.context, &piece, 1) < 0) {
		walk->addresses[walk->n_pages % RANGE_PAGES] = UINT64_MAX;
		return NULL;
	}
	walk->addresses[walk->n_pages % RANGE_PAGES] = address;
	return walk->pages[walk->n_pages++ % RANGE_PAGES];
}

static int read_process(struct range_walk *walk, uint64_t from, uint8_t *to, uint32_t n)
{
	while (n) {
		uint32_t in_page = from % PAGE, many = n < PAGE - in_page ? n : PAGE - in_page;
		const uint8_t *page = find_page(walk, from - in_page);

		if (!page)
			return -EFAULT;
		memcpy(to, page + in_page, many);
		from += many;
		to += many;
		n -= many;
	}
	return 0;
}

/* The stack as it was; all else as it is. */
static int read_pieces(void *context, const struct runtime_piece *pieces, size_t n)
{
	struct range_walk *walk = context;
	const struct walk_memory *stack = walk->stack;

	for (size_t i = 0; i < n; i++) {
		uint64_t at = pieces[i].address - stack->start;
		int r;

		if (at < stack->n && pieces[i].n <= stack->n - at) {
			memcpy(pieces[i].to, stack->bytes + at, pieces[i].n);
			continue;
		}
		r = read_process(walk, pieces[i].address, pieces[i].to, pieces[i].n);
		if (r < 0)
			return r;
	}
	return 0;
}

/*
 * The stack holds where objects were when it was taken; by now others may be there. Clears what is
 * taken for their identity: these frames have no names, for next to no object has a check of 0.
 */
static void clear_checks(__u64 *words, uint32_t n)
{
	for (uint32_t i = 0; i + 1 < n; i++)
		if (words[i] & BF_FRAME_RUNTIME)
			words[++i] &= UINT32_MAX;
}

uint32_t range_walk_on(void *context, struct bf_walk *walk, const struct walk_memory *memory,
		       __u64 *frames, uint32_t n, int *ret_end)
{
	struct range_walk *range = context;
	uint64_t sp = walk->sp;
	uint32_t count = 0, first = range->last;

	range->stack = memory;
	*ret_end = BF_END_NONE;
	for (uint32_t k = 0; k < range->n && !*ret_end && !count && walk->sp == sp; k++) {
		uint32_t i = k == 0 ? first : k <= first ? k - 1 : k;
		struct range_runtime *runtime = &range->runtimes[i];
		const struct runtime_memory both = {read_pieces, range, runtime->bias};

		runtime->machine.turns = range->turns;
		count = machine_run_range(&runtime->machine, &runtime->text, walk, &both, frames, n,
					  ret_end);
		range->turns = runtime->machine.turns;
		if (runtime_moves_objects(runtime->facts))
			clear_checks(frames + n, count);
		range->last = *ret_end || count || walk->sp != sp ? i : first;
	}
	return count;
}
