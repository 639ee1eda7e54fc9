/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/ledger.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/system.h"

int ledger_init(struct ledger *ledger)
{
	uint32_t damaged;
	int r;

	*ledger = (struct ledger){};
	r = strings_init(&ledger->strings);
	if (r < 0)
		return r;
	r = strings_add(&ledger->strings, LEDGER_DAMAGED_TEXT, &damaged);
	if (r < 0)
		return r;
	r = array_add(ledger->modules, ledger->modules_capacity, ledger->n_modules,
		      (struct ledger_module){});
	if (r < 0)
		return r;
	r = array_add(ledger->frames, ledger->frames_capacity, ledger->n_frames,
		      (struct ledger_frame){.function = damaged});
	if (r < 0)
		return r;
	r = array_add(ledger->nodes, ledger->nodes_capacity, ledger->n_nodes,
		      (struct ledger_node){});
	if (r < 0)
		return r;
	return array_add(ledger->processes, ledger->processes_capacity, ledger->n_processes,
			 (struct ledger_process){.comm = damaged});
}

void ledger_done(struct ledger *ledger)
{
	strings_done(&ledger->strings);
	free(ledger->modules);
	free(ledger->frames);
	free(ledger->nodes);
	free(ledger->processes);
	free(ledger->rows);
	table_done(&ledger->module_index);
	table_done(&ledger->frame_index);
	table_done(&ledger->node_index);
	table_done(&ledger->process_index);
	table_done(&ledger->row_index);
	*ledger = (struct ledger){};
}

void ledger_clear_rows(struct ledger *ledger)
{
	ledger->n_rows = 0;
	table_done(&ledger->row_index);
}

static size_t index_bytes(const struct table *table)
{
	return table->n_slots * sizeof *table->slots;
}

size_t ledger_bytes(const struct ledger *ledger)
{
	return ledger->strings.bytes_capacity +
	       ledger->strings.offsets_capacity * sizeof *ledger->strings.offsets +
	       ledger->modules_capacity * sizeof *ledger->modules +
	       ledger->frames_capacity * sizeof *ledger->frames +
	       ledger->nodes_capacity * sizeof *ledger->nodes +
	       ledger->processes_capacity * sizeof *ledger->processes +
	       ledger->rows_capacity * sizeof *ledger->rows + index_bytes(&ledger->strings.index) +
	       index_bytes(&ledger->module_index) + index_bytes(&ledger->frame_index) +
	       index_bytes(&ledger->node_index) + index_bytes(&ledger->process_index) +
	       index_bytes(&ledger->row_index);
}

/* Finding and adding */

static bool module_equal(const void *items, uint32_t position, const void *key)
{
	const struct ledger_module *a = (const struct ledger_module *)items + position, *b = key;

	return a->kind == b->kind && a->path == b->path && a->build_id == b->build_id;
}

static bool frame_equal(const void *items, uint32_t position, const void *key)
{
	const struct ledger_frame *a = (const struct ledger_frame *)items + position, *b = key;

	return a->kind == b->kind && a->module == b->module && a->function == b->function &&
	       a->file == b->file && a->line == b->line;
}

static bool node_equal(const void *items, uint32_t position, const void *key)
{
	const struct ledger_node *a = (const struct ledger_node *)items + position, *b = key;

	return a->parent == b->parent && a->frame == b->frame;
}

static bool process_equal(const void *items, uint32_t position, const void *key)
{
	const struct ledger_process *a = (const struct ledger_process *)items + position, *b = key;

	return a->pid == b->pid && a->start == b->start && a->comm == b->comm && a->exe == b->exe &&
	       a->cgroup == b->cgroup;
}

static bool row_equal(const void *items, uint32_t position, const void *key)
{
	const struct ledger_row *a = (const struct ledger_row *)items + position, *b = key;

	return a->process == b->process && a->node == b->node && a->reason == b->reason &&
	       a->end == b->end && a->is_idle == b->is_idle;
}

/* Finds @item in an array of the ledger, or appends it; *@ret is where it is. */
#define FIND_OR_ADD(ledger, items, index, hash, equal, item, ret)                                  \
	table_intern(&(ledger)->index, hash, equal, (ledger)->items, (ledger)->items##_capacity,   \
		     (ledger)->n_##items, item, ret)

static int add_module(struct ledger *ledger, const struct ledger_module *module, uint32_t *ret)
{
	uint64_t hash = hash_mix(hash_mix(module->kind, module->path), module->build_id);

	return FIND_OR_ADD(ledger, modules, module_index, hash, module_equal, module, ret);
}

static uint64_t hash_frame(const struct ledger_frame *frame)
{
	uint64_t hash = hash_mix(hash_mix(frame->function, frame->file), frame->line);

	return hash_mix(hash_mix(hash, frame->module), frame->kind);
}

static int add_frame(struct ledger *ledger, const struct ledger_frame *frame, uint32_t *ret)
{
	return FIND_OR_ADD(ledger, frames, frame_index, hash_frame(frame), frame_equal, frame, ret);
}

static int add_node(struct ledger *ledger, uint32_t parent, uint32_t frame, uint32_t *ret)
{
	const struct ledger_node node = {parent, frame};

	return FIND_OR_ADD(ledger, nodes, node_index, hash_mix(hash_mix(1, parent), frame),
			   node_equal, &node, ret);
}

static int add_process(struct ledger *ledger, const struct ledger_process *process, uint32_t *ret)
{
	uint64_t hash = hash_mix(hash_mix(process->pid, process->start), process->comm);

	hash = hash_mix(hash_mix(hash, process->exe), process->cgroup);
	return FIND_OR_ADD(ledger, processes, process_index, hash, process_equal, process, ret);
}

static uint64_t hash_row(const struct ledger_row *row)
{
	uint64_t hash = hash_mix(hash_mix(row->process, row->node), row->reason);

	return hash_mix(hash, row->end * 2 + row->is_idle);
}

static int add_row(struct ledger *ledger, const struct ledger_row *row)
{
	uint64_t hash = hash_row(row);
	size_t n = ledger->n_rows;
	uint32_t at;
	int r;

	r = FIND_OR_ADD(ledger, rows, row_index, hash, row_equal, row, &at);
	if (r < 0 || ledger->n_rows > n)
		return r;
	ledger->rows[at].count += row->count;
	ledger->rows[at].microseconds += row->microseconds;
	return 0;
}

/* Memos */

#define UNKNOWN	       UINT32_MAX
#define MERGED_AT_ONCE 32 /* rows */

static int memo_reserve(uint32_t **items, size_t *n, size_t wanted)
{
	uint32_t *grown;

	if (wanted <= *n)
		return 0;
	wanted += wanted / 4;
	grown = reallocarray(*items, wanted, sizeof *grown);
	if (!grown)
		return -ENOMEM;
	memset(grown + *n, 0xff, (wanted - *n) * sizeof *grown);
	*items = grown;
	*n = wanted;
	return 0;
}

void ledger_memo_done(struct ledger_memo *memo)
{
	free(memo->strings);
	free(memo->modules);
	free(memo->frames);
	free(memo->nodes);
	free(memo->processes);
	*memo = (struct ledger_memo){};
}

static int map_string(struct ledger *to, const struct strings *from, uint32_t *memo, uint32_t id,
		      uint32_t *ret)
{
	int r = 0;

	if (memo[id] == UNKNOWN)
		r = strings_add_bytes(&to->strings, strings_get(from, id), strings_length(from, id),
				      &memo[id]);
	*ret = memo[id];
	return r;
}

/* From a profile */

/* A profile that is put into a ledger. */
struct ledger_import {
	struct ledger *ledger;
	const struct profile *profile;
	uint32_t *strings, *modules, *nodes; /* by the profile's strings, mappings and stacks */
	const struct ledger_who *who;
	size_t n_who;
};

static int enter_string(struct ledger_import *import, uint32_t id, uint32_t *ret)
{
	return map_string(import->ledger, &import->profile->strings, import->strings, id, ret);
}

static int enter_module(struct ledger_import *import, uint32_t mapping, uint32_t *ret)
{
	const struct profile_mapping *from = &import->profile->mappings[mapping];
	struct ledger_module module = {.kind = from->kind};
	uint32_t *known = &import->modules[mapping];
	int r;

	if (*known == UNKNOWN) {
		r = enter_string(import, from->path, &module.path);
		if (r < 0)
			return r;
		r = enter_string(import, from->build_id, &module.build_id);
		if (r < 0)
			return r;
		r = add_module(import->ledger, &module, known);
		if (r < 0)
			return r;
	}
	*ret = *known;
	return 0;
}

/* Adds the frames of @location below @node, outermost first. */
static int enter_location(struct ledger_import *import, const struct profile_location *location,
			  uint32_t *node)
{
	const struct profile *profile = import->profile;
	struct ledger_frame frame = {};
	int r = enter_module(import, location->mapping, &frame.module);
	uint32_t added;

	if (r < 0)
		return r;
	for (uint32_t i = location->n_frames; i-- > 0;) {
		const struct profile_frame *from = &profile->frames[location->first_frame + i];

		frame.kind = from->kind;
		frame.line = from->line;
		r = enter_string(import, from->function, &frame.function);
		if (r < 0)
			return r;
		r = enter_string(import, from->file, &frame.file);
		if (r < 0)
			return r;
		r = add_frame(import->ledger, &frame, &added);
		if (r < 0)
			return r;
		r = add_node(import->ledger, *node, added, node);
		if (r < 0)
			return r;
	}
	return 0;
}

static int enter_stack(struct ledger_import *import, const struct profile_stack *stack,
		       uint32_t *ret)
{
	const struct profile *profile = import->profile;

	*ret = 0;
	for (uint32_t i = stack->n; i-- > 0;) {
		const struct profile_location *location =
			&profile->locations[profile->stack_locations[stack->first + i]];
		int r = location->hidden ? 0 : enter_location(import, location, ret);

		if (r < 0)
			return r;
	}
	return 0;
}

static int compare_who(const void *key, const void *item)
{
	uint32_t pid = *(const uint32_t *)key, other = ((const struct ledger_who *)item)->pid;

	return (pid > other) - (pid < other);
}

static const struct ledger_who *who_of(const struct ledger_import *import, uint32_t pid)
{
	return import->n_who
		       ? bsearch(&pid, import->who, import->n_who, sizeof *import->who, compare_who)
		       : NULL;
}

static uint64_t start_of(const struct ledger_who *who)
{
	return who ? who->start / LEDGER_START_UNIT * LEDGER_START_UNIT : 0;
}

static int enter_process(struct ledger_import *import, const struct profile_sample *sample,
			 uint32_t *ret)
{
	const struct ledger_who *who = who_of(import, sample->pid);
	struct ledger_process process = {.pid = sample->pid, .start = start_of(who)};
	struct strings *strings = &import->ledger->strings;
	int r = enter_string(import, sample->comm, &process.comm);

	if (r < 0)
		return r;
	if (who) {
		r = strings_add(strings, who->exe, &process.exe);
		if (r < 0)
			return r;
		r = strings_add(strings, who->cgroup, &process.cgroup);
		if (r < 0)
			return r;
	}
	return add_process(import->ledger, &process, ret);
}

/* A sample, and when its process was born. */
struct process_birth {
	uint64_t start;
	uint32_t pid, sample;
};

static int compare_births(const void *left, const void *right)
{
	const struct process_birth *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return (a->sample > b->sample) - (a->sample < b->sample);
}

/* In the order of their birth they take a third of the room in a file. */
static int enter_processes(struct ledger_import *import)
{
	const struct profile *profile = import->profile;
	_cleanup_free_ struct process_birth *births =
		malloc((profile->n_samples + 1) * sizeof *births);
	uint32_t process;

	if (!births)
		return -ENOMEM;
	for (size_t i = 0; i < profile->n_samples; i++)
		births[i] =
			(struct process_birth){start_of(who_of(import, profile->samples[i].pid)),
					       profile->samples[i].pid, i};
	if (profile->n_samples)
		qsort(births, profile->n_samples, sizeof *births, compare_births);
	for (size_t i = 0; i < profile->n_samples; i++) {
		int r = enter_process(import, &profile->samples[births[i].sample], &process);

		if (r < 0)
			return r;
	}
	return 0;
}

static int enter_sample(struct ledger_import *import, const struct profile_sample *sample)
{
	const struct profile_stack *stack = &import->profile->stacks[sample->stack];
	uint32_t *node = &import->nodes[sample->stack];
	struct ledger_row row = {
		.reason = sample->reason,
		.end = stack->end,
		.is_idle = sample->is_idle,
		.count = sample->count,
		.microseconds = (sample->nanoseconds + 500) / 1000,
	};
	int r;

	if (*node == UNKNOWN) {
		r = enter_stack(import, stack, node);
		if (r < 0)
			return r;
	}
	row.node = *node;
	r = enter_process(import, sample, &row.process);
	if (r < 0)
		return r;
	return add_row(import->ledger, &row);
}

static int enter_profile(struct ledger_import *import)
{
	const struct profile *profile = import->profile;
	size_t n_strings = 0, n_modules = 0, n_nodes = 0;
	int r = memo_reserve(&import->strings, &n_strings, profile->strings.n_strings);

	if (r < 0)
		return r;
	r = memo_reserve(&import->modules, &n_modules, profile->n_mappings);
	if (r < 0)
		return r;
	r = memo_reserve(&import->nodes, &n_nodes, profile->n_stacks);
	if (r < 0)
		return r;
	r = enter_processes(import);
	if (r < 0)
		return r;
	for (size_t i = 0; i < profile->n_samples; i++) {
		r = enter_sample(import, &profile->samples[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

int ledger_add_profile(struct ledger *ledger, const struct profile *profile,
		       const struct ledger_who *who, size_t n_who)
{
	struct ledger_import import = {
		.ledger = ledger, .profile = profile, .who = who, .n_who = n_who};
	int r = enter_profile(&import);

	free(import.strings);
	free(import.modules);
	free(import.nodes);
	return r;
}

/* From another ledger */

/* Two ledgers, of which one is added to the other. */
struct ledger_merger {
	struct ledger *to;
	const struct ledger *from;
	const struct ledger_merge *how;
	struct ledger_memo *memo;
};

static int merge_string(struct ledger_merger *merger, uint32_t id, uint32_t *ret)
{
	return map_string(merger->to, &merger->from->strings, merger->memo->strings, id, ret);
}

static int merge_module(struct ledger_merger *merger, uint32_t at, uint32_t *ret)
{
	uint32_t *known = &merger->memo->modules[at];
	struct ledger_module module = merger->from->modules[at];
	int r;

	if (at && *known == UNKNOWN) {
		r = merge_string(merger, module.path, &module.path);
		if (r < 0)
			return r;
		r = merge_string(merger, module.build_id, &module.build_id);
		if (r < 0)
			return r;
		r = add_module(merger->to, &module, known);
		if (r < 0)
			return r;
	}
	*ret = at ? *known : 0;
	return 0;
}

/* @frame of the other ledger becomes as it is in this one. */
static int merge_names(struct ledger_merger *merger, struct ledger_frame *frame)
{
	int r = merge_module(merger, frame->module, &frame->module);

	if (r < 0)
		return r;
	r = merge_string(merger, frame->function, &frame->function);
	if (r < 0)
		return r;
	return merge_string(merger, frame->file, &frame->file);
}

#define PATH_PART 256 /* nodes */

/*
 * The frames of the @n nodes of @path, of which the last is the outermost. What is looked up for
 * those that are not known yet is fetched for all of them first, as by add_rows().
 */
static int merge_frames(struct ledger_merger *merger, const uint32_t *path, size_t n)
{
	const struct ledger *from = merger->from;
	struct ledger *to = merger->to;
	uint32_t *memo = merger->memo->frames;
	struct ledger_frame frames[PATH_PART];
	int r;

	for (size_t i = n; i-- > 0;) {
		frames[i] = from->frames[from->nodes[path[i]].frame];
		if (merger->memo->strings[frames[i].function] == UNKNOWN)
			strings_fetch(&to->strings, strings_get(&from->strings, frames[i].function),
				      strings_length(&from->strings, frames[i].function));
	}
	for (size_t i = n; i-- > 0;) {
		if (memo[from->nodes[path[i]].frame] != UNKNOWN)
			continue;
		r = merge_names(merger, &frames[i]);
		if (r < 0)
			return r;
		table_fetch(&to->frame_index, hash_frame(&frames[i]));
	}
	for (size_t i = n; i-- > 0;) {
		uint32_t *known = &memo[from->nodes[path[i]].frame];

		if (*known != UNKNOWN)
			continue;
		r = add_frame(to, &frames[i], known);
		if (r < 0)
			return r;
	}
	return 0;
}

/* How far above @node there is one that is known; a path may be long, so nothing here recurses. */
static uint32_t path_to_known(const struct ledger_merger *merger, uint32_t node, uint32_t *path,
			      size_t most, size_t *ret_n)
{
	const uint32_t *memo = merger->memo->nodes;

	*ret_n = 0;
	while (node && memo[node] == UNKNOWN && *ret_n < most) {
		path[(*ret_n)++] = node;
		node = merger->from->nodes[node].parent;
	}
	return node;
}

static int merge_node(struct ledger_merger *merger, uint32_t node, uint32_t *ret)
{
	const uint32_t *frames = merger->memo->frames;
	uint32_t *memo = merger->memo->nodes;
	uint32_t path[PATH_PART], top;
	size_t n;
	int r;

	memo[0] = 0;
	while (memo[node] == UNKNOWN) {
		top = path_to_known(merger, node, path, PATH_PART, &n);
		/* Of a longer path, the part that lies highest comes first. */
		while (memo[top] == UNKNOWN)
			top = path_to_known(merger, top, path, PATH_PART, &n);
		r = merge_frames(merger, path, n);
		if (r < 0)
			return r;
		while (n-- > 0) {
			const struct ledger_node *from = &merger->from->nodes[path[n]];

			r = add_node(merger->to, memo[from->parent], frames[from->frame],
				     &memo[path[n]]);
			if (r < 0)
				return r;
		}
	}
	*ret = memo[node];
	return 0;
}

static int merge_process(struct ledger_merger *merger, uint32_t at, uint32_t *ret)
{
	const struct ledger_merge *how = merger->how;
	struct ledger_process process = merger->from->processes[at];
	uint32_t *known = &merger->memo->processes[at];
	bool is_young = how->old_before && (!process.start || process.start >= how->old_before);
	bool nameless = how->no_pids || is_young;
	int r;

	if (*known != UNKNOWN && !is_young) {
		*ret = *known;
		return 0;
	}
	if (nameless)
		process.pid = process.start = 0;
	r = merge_string(merger, process.comm, &process.comm);
	if (r < 0)
		return r;
	r = merge_string(merger, process.exe, &process.exe);
	if (r < 0)
		return r;
	r = merge_string(merger, process.cgroup, &process.cgroup);
	if (r < 0)
		return r;
	r = add_process(merger->to, &process, ret);
	if (r < 0)
		return r;
	/* It may be old in a later window. */
	if (!is_young)
		*known = *ret;
	return 0;
}

static int reserve_memo(struct ledger_memo *memo, const struct ledger *from)
{
	int r = memo_reserve(&memo->strings, &memo->n_strings, from->strings.n_strings);

	if (r < 0)
		return r;
	r = memo_reserve(&memo->modules, &memo->n_modules, from->n_modules);
	if (r < 0)
		return r;
	r = memo_reserve(&memo->frames, &memo->n_frames, from->n_frames);
	if (r < 0)
		return r;
	r = memo_reserve(&memo->nodes, &memo->n_nodes, from->n_nodes);
	if (r < 0)
		return r;
	return memo_reserve(&memo->processes, &memo->n_processes, from->n_processes);
}

static int merge_row(struct ledger_merger *merger, const struct ledger_row *row,
		     struct ledger_row *ret)
{
	int r;

	*ret = *row;
	r = merge_process(merger, row->process, &ret->process);
	if (r < 0)
		return r;
	if (!merger->how->no_stacks)
		return merge_node(merger, row->node, &ret->node);
	ret->node = ret->end = 0;
	return 0;
}

/* Their memory is fetched for all of them first: in a large ledger, that takes half the time. */
static int add_rows(struct ledger *to, const struct ledger_row *rows, size_t n)
{
	uint64_t hashes[MERGED_AT_ONCE];

	for (size_t i = 0; i < n; i++) {
		hashes[i] = hash_row(&rows[i]);
		table_fetch(&to->row_index, hashes[i]);
	}
	for (size_t i = 0; i < n; i++) {
		uint32_t at = table_fetched(&to->row_index, hashes[i]);

		if (at < to->n_rows)
			__builtin_prefetch(&to->rows[at], 1);
	}
	for (size_t i = 0; i < n; i++) {
		int r = add_row(to, &rows[i]);

		if (r < 0)
			return r;
	}
	return 0;
}

/* Whether the last of @n + 1 rows became part of one of the same node right before it. */
static bool is_joined(struct ledger_row *rows, size_t n)
{
	for (size_t i = n; i-- > 0 && rows[i].node == rows[n].node;)
		if (row_equal(rows, i, &rows[n])) {
			rows[i].count += rows[n].count;
			rows[i].microseconds += rows[n].microseconds;
			return true;
		}
	return false;
}

int ledger_merge(struct ledger *to, const struct ledger *from, const struct ledger_merge *how)
{
	struct ledger_merger merger = {to, from, how, how->memo};
	struct ledger_row rows[MERGED_AT_ONCE];
	int r = reserve_memo(how->memo, from);
	uint32_t added;
	size_t n = 0;

	if (r < 0)
		return r;
	for (size_t i = 1; how->all_processes && i < from->n_processes; i++) {
		r = merge_process(&merger, i, &added);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < from->n_rows; i++) {
		const struct ledger_row *row = &from->rows[i];

		if (how->wanted && !how->wanted(how->context, from, row))
			continue;
		r = merge_row(&merger, row, &rows[n]);
		if (r < 0)
			return r;
		n += !(how->no_pids && is_joined(rows, n));
		if (n < MERGED_AT_ONCE)
			continue;
		r = add_rows(to, rows, n);
		if (r < 0)
			return r;
		n = 0;
	}
	return add_rows(to, rows, n);
}
