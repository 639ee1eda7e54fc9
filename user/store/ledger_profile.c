/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A node is one frame; a location is a function with all that is inlined there. So a path is cut
 * into runs: frames that are inlined, and the first above them that is not.
 */
#include "store/ledger_profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/system.h"
#include "store/cgroup_words.h"

#define SHARE	   1000000 /* a node is drawn from a millionth of the total on */
#define MAX_INLINE 64

/* A ledger that becomes a profile. */
struct ledger_export {
	struct ledger *ledger;
	struct profile *profile;
	struct ledger_elided elided;
	uint32_t *strings, *modules; /* by those of the ledger; UINT32_MAX: not there yet */
	uint32_t *by_frame;	     /* locations of runs of one frame */
	uint32_t *locations;	     /* of the run that begins at a node … */
	uint32_t *above;	     /* … and the node above that */
	uint32_t *drawn;	     /* for each node, the nearest above that is drawn; or NULL */
	uint32_t elided_location;
	/*
	 * By node the last stack made, UINT32_MAX: none, and how it ends; so again, after all nodes,
	 * the stacks that are cut at a node: most rows of a long range share these.
	 */
	uint32_t *stacks;
	uint8_t *ends;
	const struct ledger_grouping *grouping;
	uint32_t roots[N_LEDGER_GROUPS]; /* locations below the command's place: outermost first */
	size_t n_roots;
	uint32_t *path; /* locations of the stack at hand */
	size_t path_capacity;
};

static bool is_running(const struct ledger_row *row)
{
	return row->reason == REASON_ONCPU || row->reason == REASON_NONE;
}

/* Most profiles are empty, and most names were interned. */
static void leave_all_strings(struct ledger_export *export)
{
	struct strings *from = &export->ledger->strings, *to = &export->profile->strings;
	struct strings empty = *to;

	if (to->n_strings > 1 || from->index.n_used < from->n_strings)
		return;
	for (uint32_t i = 0; i < from->n_strings; i++)
		export->strings[i] = i;
	*to = *from;
	*from = empty;
}

static int leave_string(struct ledger_export *export, uint32_t id, uint32_t *ret)
{
	const struct strings *strings = &export->ledger->strings;
	int r = 0;

	if (export->strings[id] == UINT32_MAX)
		r = strings_add_bytes(&export->profile->strings, strings_get(strings, id),
				      strings_length(strings, id), &export->strings[id]);
	*ret = export->strings[id];
	return r;
}

static int leave_module(struct ledger_export *export, uint32_t at, uint32_t *ret)
{
	const struct ledger_module *module = &export->ledger->modules[at];
	struct profile_mapping mapping = {.kind = module->kind};
	uint32_t *known = &export->modules[at];
	int r;

	if (*known == UINT32_MAX) {
		r = leave_string(export, module->path, &mapping.path);
		if (r < 0)
			return r;
		r = leave_string(export, module->build_id, &mapping.build_id);
		if (r < 0)
			return r;
		r = profile_add_mapping(export->profile, &mapping, known);
		if (r < 0)
			return r;
	}
	*ret = *known;
	return 0;
}

/* The location of the run of frames that begins at @node, and what is above it. */
static int leave_run(struct ledger_export *export, uint32_t node)
{
	const struct ledger *ledger = export->ledger;
	struct profile_frame frames[MAX_INLINE];
	uint32_t n = 0, mapping = 0, at = node, first = ledger->nodes[node].frame;
	uint32_t *known = ledger->frames[first].kind == FRAME_INLINED ? &export->locations[node]
								      : &export->by_frame[first];
	bool is_inlined = true;
	int r;

	if (*known != UINT32_MAX) {
		export->locations[node] = *known;
		export->above[node] = ledger->nodes[node].parent;
		return 0;
	}
	r = leave_module(export, ledger->frames[first].module, &mapping);
	if (r < 0)
		return r;
	while (at && is_inlined && n < MAX_INLINE) {
		const struct ledger_frame *frame = &ledger->frames[ledger->nodes[at].frame];

		is_inlined = frame->kind == FRAME_INLINED;
		frames[n] = (struct profile_frame){.kind = frame->kind, .line = frame->line};
		r = leave_string(export, frame->function, &frames[n].function);
		if (r < 0)
			return r;
		r = leave_string(export, frame->file, &frames[n].file);
		if (r < 0)
			return r;
		n++;
		at = ledger->nodes[at].parent;
	}
	r = profile_add_named(export->profile, mapping, frames, n, known);
	if (r < 0)
		return r;
	export->above[node] = at;
	export->locations[node] = *known;
	return 0;
}

static int make_stack(struct ledger_export *export, uint32_t node, bool is_cut, uint32_t end,
		      uint32_t *ret)
{
	size_t n = 0;
	int r = array_reserve(export->path, export->path_capacity, 0, 1);

	if (r < 0)
		return r;
	if (is_cut)
		export->path[n++] = export->elided_location;
	for (; node; node = export->above[node]) {
		if (export->locations[node] == UINT32_MAX) {
			r = leave_run(export, node);
			if (r < 0)
				return r;
		}
		r = array_add(export->path, export->path_capacity, n, export->locations[node]);
		if (r < 0)
			return r;
	}
	for (size_t i = export->n_roots; i-- > 0;) {
		r = array_add(export->path, export->path_capacity, n, export->roots[i]);
		if (r < 0)
			return r;
	}
	return profile_add_stack(export->profile, export->path, n, end, ret);
}

/* Most stacks are of many rows: of several processes, and of several causes. */
static int leave_stack(struct ledger_export *export, uint32_t node, uint32_t end, uint32_t *ret)
{
	bool is_cut = export->drawn && export->drawn[node] != node;
	size_t at;
	int r;

	if (is_cut)
		node = export->drawn[node];
	at = is_cut ? export->ledger->n_nodes + node : node;
	if (export->stacks[at] == UINT32_MAX || export->ends[at] != end || export->n_roots) {
		r = make_stack(export, node, is_cut, end, &export->stacks[at]);
		if (r < 0)
			return r;
	}
	export->ends[at] = end;
	*ret = export->stacks[at];
	return 0;
}

/* Groups */

static const char *const group_names[N_LEDGER_GROUPS] = {
	[LEDGER_COMM] = "comm",		  [LEDGER_UNIT] = "unit",   [LEDGER_CGROUP] = "cgroup",
	[LEDGER_CONTAINER] = "container", [LEDGER_CAUSE] = "cause",
};

static int add_group(struct ledger_grouping *grouping, const char *name, size_t length)
{
	for (uint8_t group = 0; group < N_LEDGER_GROUPS; group++) {
		if (strlen(group_names[group]) != length ||
		    strncmp(group_names[group], name, length) != 0)
			continue;
		if (memchr(grouping->by, group, grouping->n))
			return -EINVAL;
		grouping->by[grouping->n++] = group;
		return 0;
	}
	return -EINVAL;
}

int ledger_grouping_parse(const char *text, struct ledger_grouping *ret)
{
	*ret = (struct ledger_grouping){};
	for (;;) {
		size_t length = strcspn(text, ",");
		int r = add_group(ret, text, length);

		if (r < 0)
			return r;
		if (!text[length])
			return 0;
		text += length + 1;
	}
}

/* Without the brackets of the mark. */
static void cause_word(const struct ledger_row *row, char word[static CGROUP_WORD_SIZE])
{
	const char *text = is_running(row) ? "[on-cpu]" : off_reason_text(row->reason);

	snprintf(word, CGROUP_WORD_SIZE, "%.*s", (int)strlen(text) - 2, text + 1 /* ours */);
}

static int leave_group(struct ledger_export *export, const struct ledger_row *row,
		       enum ledger_group group, uint32_t *ret)
{
	const struct ledger_process *process = &export->ledger->processes[row->process];
	char word[CGROUP_WORD_SIZE];
	const char *text = word, *cgroup;
	uint32_t id;
	int r;

	if (group == LEDGER_COMM)
		return leave_string(export, process->comm, ret);
	r = leave_string(export, process->cgroup, &id);
	if (r < 0)
		return r;
	cgroup = strings_get(&export->profile->strings, id);
	switch (group) {
	case LEDGER_UNIT: cgroup_unit(cgroup, word); break;
	case LEDGER_CONTAINER: cgroup_container(cgroup, word); break;
	case LEDGER_CGROUP: text = cgroup; break;
	case LEDGER_CAUSE: cause_word(row, word); break;
	default: break;
	}
	return strings_add(&export->profile->strings, *text ? text : "(none)", ret);
}

/* The location of a frame that is of no module. */
static int add_frame(struct ledger_export *export, const struct profile_frame *frame, uint32_t *ret)
{
	const struct profile_mapping none = {.kind = MAPPING_UNKNOWN};
	uint32_t mapping;
	int r = profile_add_mapping(export->profile, &none, &mapping);

	if (r < 0)
		return r;
	return profile_add_named(export->profile, mapping, frame, 1, ret);
}

/* The first group takes the place of the command, the others are frames. */
static int leave_groups(struct ledger_export *export, const struct ledger_row *row,
			uint32_t *ret_comm)
{
	static const struct ledger_grouping command = {.by = {LEDGER_COMM}, .n = 1};
	const struct ledger_grouping *grouping =
		export->grouping && export->grouping->n ? export->grouping : &command;
	int r = leave_group(export, row, grouping->by[0], ret_comm);

	if (r < 0)
		return r;
	export->n_roots = grouping->n - 1;
	for (size_t i = 0; i < export->n_roots; i++) {
		struct profile_frame frame = {.kind = FRAME_NOTE};

		r = leave_group(export, row, grouping->by[i + 1], &frame.function);
		if (r < 0)
			return r;
		r = add_frame(export, &frame, &export->roots[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

static int leave_rows(struct ledger_export *export)
{
	const struct ledger *ledger = export->ledger;
	int r;

	for (size_t i = 0; i < ledger->n_rows; i++) {
		const struct ledger_row *row = &ledger->rows[i];
		const struct ledger_process *process = &ledger->processes[row->process];
		struct profile_sample sample = {
			.pid = process->pid,
			.reason = row->reason,
			.is_idle = row->is_idle,
			.count = row->count,
			.nanoseconds = row->microseconds * 1000,
		};

		if (export->drawn && export->drawn[row->node] != row->node)
			*(is_running(row) ? &export->elided.running : &export->elided.waiting) +=
				row->microseconds;
		r = leave_groups(export, row, &sample.comm);
		if (r < 0)
			return r;
		r = leave_stack(export, row->node, row->end, &sample.stack);
		if (r < 0)
			return r;
		r = profile_add_sample(export->profile, &sample);
		if (r < 0)
			return r;
	}
	return 0;
}

static int add_elided(struct ledger_export *export)
{
	struct profile_frame frame = {.kind = FRAME_USER};
	int r = strings_add(&export->profile->strings, "[elided]", &frame.function);

	if (r < 0)
		return r;
	return add_frame(export, &frame, &export->elided_location);
}

/* Later nodes are below earlier ones: one pass sums up, another one finds the node that represents
 * each. */
static int find_light_nodes(struct ledger_export *export)
{
	const struct ledger *ledger = export->ledger;
	_cleanup_free_ uint64_t *running = calloc(ledger->n_nodes, sizeof *running);
	_cleanup_free_ uint64_t *waiting = calloc(ledger->n_nodes, sizeof *waiting);

	export->drawn = malloc(ledger->n_nodes * sizeof *export->drawn);
	if (!running || !waiting || !export->drawn)
		return -ENOMEM;
	for (size_t i = 0; i < ledger->n_rows; i++) {
		const struct ledger_row *row = &ledger->rows[i];

		*(is_running(row) ? &running[row->node] : &waiting[row->node]) += row->microseconds;
	}
	for (size_t i = ledger->n_nodes; i-- > 1;) {
		running[ledger->nodes[i].parent] += running[i];
		waiting[ledger->nodes[i].parent] += waiting[i];
	}
	export->drawn[0] = 0;
	for (size_t i = 1; i < ledger->n_nodes; i++) {
		uint32_t parent = ledger->nodes[i].parent;
		bool is_drawn = running[i] > running[0] / SHARE || waiting[i] > waiting[0] / SHARE;

		export->drawn[i] =
			is_drawn && export->drawn[parent] == parent ? i : export->drawn[parent];
	}
	return add_elided(export);
}

static uint32_t *new_memo(size_t n)
{
	uint32_t *memo = malloc((n + 1) * sizeof *memo);

	return memo ? memset(memo, 0xff, (n + 1) * sizeof *memo) : NULL;
}

static void count_totals(struct ledger_export *export)
{
	for (size_t i = 0; i < export->ledger->n_rows; i++) {
		const struct ledger_row *row = &export->ledger->rows[i];

		*(is_running(row) ? &export->elided.total_running
				  : &export->elided.total_waiting) += row->microseconds;
	}
}

static int leave_all(struct ledger_export *export, size_t most_nodes)
{
	int r;

	if (!export->strings || !export->modules || !export->by_frame || !export->locations ||
	    !export->above || !export->stacks || !export->ends)
		return -ENOMEM;
	leave_all_strings(export);
	if (most_nodes && export->ledger->n_nodes > most_nodes) {
		r = find_light_nodes(export);
		if (r < 0)
			return r;
	}
	r = leave_rows(export);
	if (r < 0)
		return r;
	count_totals(export);
	return 0;
}

int ledger_profile(struct ledger *ledger, const struct ledger_grouping *grouping, size_t most_nodes,
		   struct profile *profile, struct ledger_elided *ret_elided)
{
	struct ledger_export export = {
		.ledger = ledger,
		.profile = profile,
		.grouping = grouping,
		.strings = new_memo(ledger->strings.n_strings),
		.modules = new_memo(ledger->n_modules),
		.by_frame = new_memo(ledger->n_frames),
		.locations = new_memo(ledger->n_nodes),
		.above = new_memo(ledger->n_nodes),
		.stacks = new_memo(2 * ledger->n_nodes),
		.ends = calloc(2 * ledger->n_nodes + 1, 1),
	};
	int r;

	profile->mode = PROFILE_WALL;
	r = leave_all(&export, most_nodes);
	if (r == 0)
		*ret_elided = export.elided;
	free(export.strings);
	free(export.modules);
	free(export.by_frame);
	free(export.locations);
	free(export.above);
	free(export.drawn);
	free(export.stacks);
	free(export.ends);
	free(export.path);
	return r;
}
