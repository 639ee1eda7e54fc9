/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/ledger.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

int ledger_init(struct ledger *ledger)
{
	uint32_t damaged;
	int r;

	*ledger = (struct ledger){};
	r = strings_init(&ledger->strings);
	r = r < 0 ? r : strings_add(&ledger->strings, LEDGER_DAMAGED_TEXT, &damaged);
	r = r < 0 ? r : array_reserve(ledger->modules, ledger->modules_capacity, 0, 1);
	r = r < 0 ? r : array_reserve(ledger->frames, ledger->frames_capacity, 0, 1);
	r = r < 0 ? r : array_reserve(ledger->nodes, ledger->nodes_capacity, 0, 1);
	r = r < 0 ? r : array_reserve(ledger->processes, ledger->processes_capacity, 0, 1);
	if (r < 0)
		return r;
	ledger->modules[ledger->n_modules++] = (struct ledger_module){};
	ledger->frames[ledger->n_frames++] = (struct ledger_frame){.function = damaged};
	ledger->nodes[ledger->n_nodes++] = (struct ledger_node){};
	ledger->processes[ledger->n_processes++] = (struct ledger_process){.comm = damaged};
	return 0;
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
	({                                                                                         \
		uint64_t _hash = (hash);                                                           \
		int _r = 0;                                                                        \
		*(ret) = table_find(&(ledger)->index, _hash, equal, (ledger)->items, item);        \
		if (*(ret) == TABLE_NONE) {                                                        \
			if ((ledger)->n_##items >= TABLE_NONE)                                     \
				_r = -E2BIG;                                                       \
			_r = _r < 0 ? _r                                                           \
				    : array_reserve((ledger)->items, (ledger)->items##_capacity,   \
						    (ledger)->n_##items, 1);                       \
			_r = _r < 0 ? _r                                                           \
				    : table_add(&(ledger)->index, _hash, (ledger)->n_##items);     \
			if (_r == 0) {                                                             \
				*(ret) = (ledger)->n_##items;                                      \
				(ledger)->items[(ledger)->n_##items++] = *(item);                  \
			}                                                                          \
		}                                                                                  \
		_r;                                                                                \
	})

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
struct entering {
	struct ledger *ledger;
	const struct profile *profile;
	uint32_t *strings, *modules; /* by those of the profile */
	/* The nodes of a stack are found one by one; most stacks begin as the one before. */
	const struct ledger_who *who;
	size_t n_who;
};

static int enter_string(struct entering *entering, uint32_t id, uint32_t *ret)
{
	return map_string(entering->ledger, &entering->profile->strings, entering->strings, id,
			  ret);
}

static int enter_module(struct entering *entering, uint32_t mapping, uint32_t *ret)
{
	const struct profile_mapping *from = &entering->profile->mappings[mapping];
	struct ledger_module module = {.kind = from->kind};
	int r = 0;

	if (entering->modules[mapping] == UNKNOWN) {
		r = enter_string(entering, from->path, &module.path);
		r = r < 0 ? r : enter_string(entering, from->build_id, &module.build_id);
		r = r < 0 ? r : add_module(entering->ledger, &module, &entering->modules[mapping]);
	}
	*ret = entering->modules[mapping];
	return r;
}

/* Adds the frames of @location below @node, outermost first. */
static int enter_location(struct entering *entering, const struct profile_location *location,
			  uint32_t *node)
{
	const struct profile *profile = entering->profile;
	struct ledger_frame frame = {};
	int r = enter_module(entering, location->mapping, &frame.module);
	uint32_t added;

	for (uint32_t i = location->n_frames; i-- > 0 && r == 0;) {
		const struct profile_frame *from = &profile->frames[location->first_frame + i];

		frame.kind = from->kind;
		frame.line = from->line;
		r = enter_string(entering, from->function, &frame.function);
		r = r < 0 ? r : enter_string(entering, from->file, &frame.file);
		r = r < 0 ? r : add_frame(entering->ledger, &frame, &added);
		r = r < 0 ? r : add_node(entering->ledger, *node, added, node);
	}
	return r;
}

static int enter_stack(struct entering *entering, const struct profile_stack *stack, uint32_t *ret)
{
	const struct profile *profile = entering->profile;
	int r = 0;

	*ret = 0;
	for (uint32_t i = stack->n; i-- > 0 && r == 0;) {
		const struct profile_location *location =
			&profile->locations[profile->stack_locations[stack->first + i]];

		if (!location->hidden)
			r = enter_location(entering, location, ret);
	}
	return r;
}

static int compare_who(const void *key, const void *item)
{
	uint32_t pid = *(const uint32_t *)key, other = ((const struct ledger_who *)item)->pid;

	return (pid > other) - (pid < other);
}

static const struct ledger_who *who_of(const struct entering *entering, uint32_t pid)
{
	return entering->n_who ? bsearch(&pid, entering->who, entering->n_who,
					 sizeof *entering->who, compare_who)
			       : NULL;
}

static uint64_t start_of(const struct ledger_who *who)
{
	return who ? who->start / LEDGER_START_UNIT * LEDGER_START_UNIT : 0;
}

static int enter_process(struct entering *entering, const struct profile_sample *sample,
			 uint32_t *ret)
{
	const struct ledger_who *who = who_of(entering, sample->pid);
	struct ledger_process process = {.pid = sample->pid, .start = start_of(who)};
	struct strings *strings = &entering->ledger->strings;
	int r = enter_string(entering, sample->comm, &process.comm);

	if (who) {
		r = r < 0 ? r : strings_add(strings, who->exe, &process.exe);
		r = r < 0 ? r : strings_add(strings, who->cgroup, &process.cgroup);
	}
	return r < 0 ? r : add_process(entering->ledger, &process, ret);
}

/* A sample, and when its process was born. */
struct entering_birth {
	uint64_t start;
	uint32_t pid, sample;
};

static int compare_births(const void *left, const void *right)
{
	const struct entering_birth *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return (a->sample > b->sample) - (a->sample < b->sample);
}

/* In the order of their birth they take a third of the room in a file. */
static int enter_processes(struct entering *entering)
{
	const struct profile *profile = entering->profile;
	struct entering_birth *births = malloc((profile->n_samples + 1) * sizeof *births);
	int r = births ? 0 : -ENOMEM;
	uint32_t process;

	for (size_t i = 0; i < profile->n_samples && r == 0; i++)
		births[i] =
			(struct entering_birth){start_of(who_of(entering, profile->samples[i].pid)),
						profile->samples[i].pid, i};
	if (r == 0 && profile->n_samples)
		qsort(births, profile->n_samples, sizeof *births, compare_births);
	for (size_t i = 0; i < profile->n_samples && r == 0; i++)
		r = enter_process(entering, &profile->samples[births[i].sample], &process);
	free(births);
	return r;
}

static int enter_samples(struct entering *entering, uint32_t *nodes)
{
	const struct profile *profile = entering->profile;
	int r = 0;

	for (size_t i = 0; i < profile->n_samples && r == 0; i++) {
		const struct profile_sample *sample = &profile->samples[i];
		struct ledger_row row = {
			.reason = sample->reason,
			.end = profile->stacks[sample->stack].end,
			.is_idle = sample->is_idle,
			.count = sample->count,
			.microseconds = (sample->nanoseconds + 500) / 1000,
		};

		if (nodes[sample->stack] == UNKNOWN)
			r = enter_stack(entering, &profile->stacks[sample->stack],
					&nodes[sample->stack]);
		row.node = nodes[sample->stack];
		r = r < 0 ? r : enter_process(entering, sample, &row.process);
		r = r < 0 ? r : add_row(entering->ledger, &row);
	}
	return r;
}

int ledger_add_profile(struct ledger *ledger, const struct profile *profile,
		       const struct ledger_who *who, size_t n_who)
{
	struct entering entering = {
		.ledger = ledger, .profile = profile, .who = who, .n_who = n_who};
	size_t n_strings = 0, n_modules = 0, n_nodes = 0;
	uint32_t *nodes = NULL;
	int r = memo_reserve(&entering.strings, &n_strings, profile->strings.n_strings);

	r = r < 0 ? r : memo_reserve(&entering.modules, &n_modules, profile->n_mappings);
	r = r < 0 ? r : memo_reserve(&nodes, &n_nodes, profile->n_stacks);
	r = r < 0 ? r : enter_processes(&entering);
	r = r < 0 ? r : enter_samples(&entering, nodes);
	free(entering.strings);
	free(entering.modules);
	free(nodes);
	return r;
}

/* From another ledger */

struct merging {
	struct ledger *to;
	const struct ledger *from;
	const struct ledger_merge *how;
	struct ledger_memo *memo;
};

static int merge_string(struct merging *merging, uint32_t id, uint32_t *ret)
{
	return map_string(merging->to, &merging->from->strings, merging->memo->strings, id, ret);
}

static int merge_module(struct merging *merging, uint32_t at, uint32_t *ret)
{
	uint32_t *known = &merging->memo->modules[at];
	struct ledger_module module = merging->from->modules[at];
	int r = 0;

	if (at && *known == UNKNOWN) {
		r = merge_string(merging, module.path, &module.path);
		r = r < 0 ? r : merge_string(merging, module.build_id, &module.build_id);
		r = r < 0 ? r : add_module(merging->to, &module, known);
	}
	*ret = at ? *known : 0;
	return r;
}

/* @frame of the other ledger becomes as it is in this one. */
static int merge_names(struct merging *merging, struct ledger_frame *frame)
{
	int r = merge_module(merging, frame->module, &frame->module);

	r = r < 0 ? r : merge_string(merging, frame->function, &frame->function);
	return r < 0 ? r : merge_string(merging, frame->file, &frame->file);
}

#define PATH_PART 256 /* nodes */

/*
 * The frames of the @n nodes of @path, of which the last is the outermost. What is looked up for
 * those that are not known yet is fetched for all of them first, as by add_rows().
 */
static int merge_frames(struct merging *merging, const uint32_t *path, size_t n)
{
	const struct ledger *from = merging->from;
	struct ledger *to = merging->to;
	uint32_t *memo = merging->memo->frames;
	struct ledger_frame frames[PATH_PART];
	int r = 0;

	for (size_t i = n; i-- > 0;) {
		frames[i] = from->frames[from->nodes[path[i]].frame];
		if (merging->memo->strings[frames[i].function] == UNKNOWN)
			strings_fetch(&to->strings, strings_get(&from->strings, frames[i].function),
				      strings_length(&from->strings, frames[i].function));
	}
	for (size_t i = n; i-- > 0 && r == 0;) {
		if (memo[from->nodes[path[i]].frame] != UNKNOWN)
			continue;
		r = merge_names(merging, &frames[i]);
		table_fetch(&to->frame_index, hash_frame(&frames[i]));
	}
	for (size_t i = n; i-- > 0 && r == 0;) {
		uint32_t *known = &memo[from->nodes[path[i]].frame];

		if (*known == UNKNOWN)
			r = add_frame(to, &frames[i], known);
	}
	return r;
}

/* How far above @node there is one that is known; a path may be long, so nothing here recurses. */
static uint32_t path_to_known(const struct merging *merging, uint32_t node, uint32_t *path,
			      size_t most, size_t *ret_n)
{
	const uint32_t *memo = merging->memo->nodes;

	*ret_n = 0;
	while (node && memo[node] == UNKNOWN && *ret_n < most) {
		path[(*ret_n)++] = node;
		node = merging->from->nodes[node].parent;
	}
	return node;
}

static int merge_node(struct merging *merging, uint32_t node, uint32_t *ret)
{
	const uint32_t *frames = merging->memo->frames;
	uint32_t *memo = merging->memo->nodes;
	uint32_t path[PATH_PART], top;
	size_t n;
	int r = 0;

	memo[0] = 0;
	while (memo[node] == UNKNOWN && r == 0) {
		top = path_to_known(merging, node, path, PATH_PART, &n);
		/* Of a longer path, the part that lies highest comes first. */
		while (memo[top] == UNKNOWN)
			top = path_to_known(merging, top, path, PATH_PART, &n);
		r = merge_frames(merging, path, n);
		while (n-- > 0 && r == 0) {
			const struct ledger_node *from = &merging->from->nodes[path[n]];

			r = add_node(merging->to, memo[from->parent], frames[from->frame],
				     &memo[path[n]]);
		}
	}
	*ret = r < 0 ? 0 : memo[node];
	return r;
}

static int merge_process(struct merging *merging, uint32_t at, uint32_t *ret)
{
	const struct ledger_merge *how = merging->how;
	struct ledger_process process = merging->from->processes[at];
	uint32_t *known = &merging->memo->processes[at];
	bool is_young = how->old_before && (!process.start || process.start >= how->old_before);
	bool nameless = how->no_pids || is_young;
	uint32_t added;
	int r;

	if (*known != UNKNOWN && !is_young) {
		*ret = *known;
		return 0;
	}
	if (nameless)
		process.pid = process.start = 0;
	r = merge_string(merging, process.comm, &process.comm);
	r = r < 0 ? r : merge_string(merging, process.exe, &process.exe);
	r = r < 0 ? r : merge_string(merging, process.cgroup, &process.cgroup);
	r = r < 0 ? r : add_process(merging->to, &process, &added);
	if (r == 0) {
		/* It may be old in a later window. */
		if (!is_young)
			*known = added;
		*ret = added;
	}
	return r;
}

static int reserve_memo(struct ledger_memo *memo, const struct ledger *from)
{
	int r = memo_reserve(&memo->strings, &memo->n_strings, from->strings.n_strings);

	r = r < 0 ? r : memo_reserve(&memo->modules, &memo->n_modules, from->n_modules);
	r = r < 0 ? r : memo_reserve(&memo->frames, &memo->n_frames, from->n_frames);
	r = r < 0 ? r : memo_reserve(&memo->nodes, &memo->n_nodes, from->n_nodes);
	return r < 0 ? r : memo_reserve(&memo->processes, &memo->n_processes, from->n_processes);
}

static int merge_row(struct merging *merging, const struct ledger_row *row, struct ledger_row *ret)
{
	int r;

	*ret = *row;
	r = merge_process(merging, row->process, &ret->process);
	if (merging->how->no_stacks)
		ret->node = ret->end = 0;
	else
		r = r < 0 ? r : merge_node(merging, row->node, &ret->node);
	return r;
}

/* Their memory is fetched for all of them first: in a large ledger, that takes half the time. */
static int add_rows(struct ledger *to, const struct ledger_row *rows, size_t n)
{
	uint64_t hashes[MERGED_AT_ONCE];
	int r = 0;

	for (size_t i = 0; i < n; i++) {
		hashes[i] = hash_row(&rows[i]);
		table_fetch(&to->row_index, hashes[i]);
	}
	for (size_t i = 0; i < n; i++) {
		uint32_t at = table_fetched(&to->row_index, hashes[i]);

		if (at < to->n_rows)
			__builtin_prefetch(&to->rows[at], 1);
	}
	for (size_t i = 0; i < n && r == 0; i++)
		r = add_row(to, &rows[i]);
	return r;
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
	struct merging merging = {to, from, how, how->memo};
	struct ledger_row rows[MERGED_AT_ONCE];
	int r = reserve_memo(how->memo, from);
	uint32_t added;
	size_t n = 0;

	for (size_t i = 1; how->all_processes && i < from->n_processes && r == 0; i++)
		r = merge_process(&merging, i, &added);
	for (size_t i = 0; i < from->n_rows && r == 0; i++) {
		const struct ledger_row *row = &from->rows[i];

		if (how->wanted && !how->wanted(how->context, from, row))
			continue;
		r = merge_row(&merging, row, &rows[n]);
		n += r == 0 && !(how->no_pids && is_joined(rows, n));
		if (n == MERGED_AT_ONCE && r == 0) {
			r = add_rows(to, rows, n);
			n = 0;
		}
	}
	return r < 0 ? r : add_rows(to, rows, n);
}
