/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "compare/gate_sums.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/system.h"
#include "core/functions.h"

#define NO_ITEM UINT32_MAX

/* Windows with a shorter gap between them are back to back. */
#define GAP_NS 100000000ull

// clang-format off
const char *const gate_by_names[N_GATE_BY] = {
	[GATE_FUNCTION] = "function",
	[GATE_MODULE]   = "module",
	[GATE_ALL]      = "total",
};
// clang-format on

int gate_sums_init(struct gate_sums *sums)
{
	uint32_t all;
	int r;

	*sums = (struct gate_sums){};
	r = strings_init(&sums->strings);
	if (r < 0)
		return r;
	return gate_sums_item(sums, &(struct gate_item){.by = GATE_ALL}, &all);
}

void gate_sums_done(struct gate_sums *sums)
{
	strings_done(&sums->strings);
	free(sums->items);
	table_done(&sums->index);
	*sums = (struct gate_sums){};
}

static bool item_equal(const void *items, uint32_t position, const void *key)
{
	const struct gate_item *a = (const struct gate_item *)items + position, *b = key;

	return a->name == b->name && a->by == b->by && a->is_kernel == b->is_kernel;
}

static uint64_t hash_item(const struct gate_item *item)
{
	return hash_mix((uint64_t)item->name << 32 | item->by, item->is_kernel);
}

bool gate_sums_find(const struct gate_sums *sums, const struct gate_item *like, uint32_t *ret)
{
	*ret = table_find(&sums->index, hash_item(like), item_equal, sums->items, like);
	return *ret != TABLE_NONE;
}

int gate_sums_item(struct gate_sums *sums, const struct gate_item *like, uint32_t *ret)
{
	uint64_t hash = hash_item(like);
	int r = table_intern(&sums->index, hash, item_equal, sums->items, sums->items_capacity,
			     sums->n_items, like, ret);

	if (r < 0)
		return r;
	if (!sums->items[*ret].module)
		sums->items[*ret].module = like->module;
	return 0;
}

void gate_sums_weigh(struct gate_sums *sums, uint32_t item, enum stacks_side side,
		     enum gate_weight weight, double value, double variance, double run_total)
{
	struct gate_sum *sum = &sums->items[item].sums[side][weight];

	sum->weight += value;
	sum->variance += variance;
	sum->squares += value * value;
	if (run_total > 0)
		sum->squares_by_total += value * value / run_total;
}

/* Whether a run that starts at @start_ns continues the previous one. */
static bool goes_on(const struct gate_side *side, uint64_t start_ns)
{
	return side->end_ns && start_ns && start_ns + GAP_NS >= side->end_ns &&
	       start_ns <= side->end_ns + GAP_NS;
}

void gate_sums_end_run(struct gate_sums *sums, enum stacks_side side, double total, double variance,
		       const uint64_t when_ns[2])
{
	struct gate_side *this = &sums->sides[side];

	for (int weight = 0; weight < N_GATE_WEIGHTS; weight++)
		gate_sums_weigh(sums, 0, side, weight, total, variance, total);
	this->n_runs++;
	this->n_recordings += !goes_on(this, when_ns[0]);
	this->end_ns = when_ns[0] && when_ns[1] ? when_ns[0] + when_ns[1] : 0;
	this->total += total;
	this->variance += variance;
	this->squares += total * total;
}

/* A module's name without its version: two releases are the same module. */
static size_t module_length(const char *name)
{
	const char *end = strstr(name, ".so.");

	if (end && !end[4 + strspn(end + 4, "0123456789.")])
		return end + 3 - name;
	return strlen(name);
}

/*
 * The length of `[MODULE` in `[MODULE+0xADDRESS]`; 0: @name is something else. Code without a
 * symbol moves in the next build, so all such code of a module counts as one function.
 */
static size_t unnamed_length(const char *name)
{
	const char *plus = *name == '[' ? strrchr(name, '+') : NULL;
	size_t digits =
		plus && strncmp(plus, "+0x", 3) == 0 ? strspn(plus + 3, "0123456789abcdef") : 0;

	return digits && strcmp(plus + 3 + digits, "]") == 0 ? plus - name : 0;
}

/* The name that identifies a function. Errors: -ENOMEM, -E2BIG. */
static int function_name(struct gate_sums *sums, const char *name, uint32_t *ret)
{
	size_t n = unnamed_length(name);
	char text[NAME_MAX + 4];

	if (!n || n > NAME_MAX)
		return strings_add(&sums->strings, name, ret);
	snprintf(text, sizeof text, "%.*s", (int)n, name);
	strcpy(text + module_length(text), "]");
	return strings_add(&sums->strings, text, ret);
}

static bool is_code(const struct stacks_frame *frame)
{
	return frame->kind < FRAME_NOTE && !frame->is_waker;
}

/* The item that a frame belongs to, or NO_ITEM. */
static int find_item(struct gate_sums *sums, const struct stacks *run, uint32_t frame,
		     enum gate_by by, uint32_t *ret)
{
	const struct stacks_frame *this = &run->frames[frame];
	const char *module = strings_get(&run->strings, this->module);
	struct gate_item like = {.by = by};
	int r;

	if (!is_code(this)) {
		*ret = NO_ITEM;
		return 0;
	}
	if (by == GATE_MODULE && !*module)
		module = GATE_UNKNOWN;
	r = strings_add(&sums->strings, module, &like.module);
	if (r < 0)
		return r;
	if (by == GATE_FUNCTION) {
		like.is_kernel = this->kind == FRAME_KERNEL;
		r = function_name(sums, stacks_name(run, frame), &like.name);
	} else {
		r = strings_add_bytes(&sums->strings, module, module_length(module), &like.name);
	}
	if (r < 0)
		return r;
	return gate_sums_item(sums, &like, ret);
}

static void weigh_all(struct gate_sums *sums, const struct functions *functions, double run_total,
		      enum stacks_side side)
{
	for (size_t i = 0; i < functions->n; i++) {
		/* Of wall time: waiting, running. */
		const struct tree_side *a = &functions->frames[i][0], *b = &functions->frames[i][1];

		if (a->self || b->self)
			gate_sums_weigh(sums, i, side, GATE_SELF, (double)a->self + b->self,
					a->self_variance + b->self_variance, run_total);
		if (a->total || b->total)
			gate_sums_weigh(sums, i, side, GATE_TOTAL, (double)a->total + b->total,
					a->total_variance + b->total_variance, run_total);
	}
}

/* @groups has room for all frames. */
static int add_by(struct gate_sums *sums, const struct stacks *run, enum stacks_side side,
		  enum gate_by by, uint32_t *groups)
{
	struct functions functions;
	int r;

	for (size_t i = 0; i < run->n_frames; i++) {
		r = find_item(sums, run, i, by, &groups[i]);
		if (r < 0)
			return r;
	}
	r = functions_count_groups(run, groups, sums->n_items, &functions);
	if (r < 0)
		return r;
	weigh_all(sums, &functions, (double)run->totals[0] + run->totals[1], side);
	functions_done(&functions);
	return 0;
}

int gate_sums_add(struct gate_sums *sums, const struct stacks *run, enum stacks_side side)
{
	const struct stacks_facts *facts = &run->facts[SIDE_NEW];
	_cleanup_free_ uint32_t *groups = calloc(run->n_frames + 1, sizeof *groups);
	double variance = 0;

	if (!groups)
		return -ENOMEM;
	for (int by = 0; by < GATE_ALL; by++) {
		int r = add_by(sums, run, side, by, groups);

		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < run->n_entries; i++)
		variance += run->entries[i].variance;
	sums->mode = facts->mode;
	gate_sums_end_run(sums, side, (double)run->totals[0] + run->totals[1], variance,
			  (const uint64_t[]){facts->start_realtime_ns, facts->duration_ns});
	return 0;
}
