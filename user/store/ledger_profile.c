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
#include "store/cgroup_words.h"

#define SHARE	   1000000 /* a node is drawn from a millionth of the total on */
#define MAX_INLINE 64

struct leaving {
	struct ledger *ledger;
	struct profile *profile;
	struct ledger_elided elided;
	uint32_t *strings, *modules; /* by those of the ledger; UINT32_MAX: not there yet */
	uint32_t *by_frame;	     /* locations of runs of one frame */
	uint32_t *locations;	     /* of the run that begins at a node … */
	uint32_t *above;	     /* … and the node above that */
	uint32_t *stands;	     /* for each node, the nearest above that is drawn; or NULL */
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
static void leave_all_strings(struct leaving *leaving)
{
	struct strings *from = &leaving->ledger->strings, *to = &leaving->profile->strings;
	struct strings empty = *to;

	if (to->n_strings > 1 || from->index.n_used < from->n_strings)
		return;
	for (uint32_t i = 0; i < from->n_strings; i++)
		leaving->strings[i] = i;
	*to = *from;
	*from = empty;
}

static int leave_string(struct leaving *leaving, uint32_t id, uint32_t *ret)
{
	const struct strings *strings = &leaving->ledger->strings;
	int r = 0;

	if (leaving->strings[id] == UINT32_MAX)
		r = strings_add_bytes(&leaving->profile->strings, strings_get(strings, id),
				      strings_length(strings, id), &leaving->strings[id]);
	*ret = leaving->strings[id];
	return r;
}

static int leave_module(struct leaving *leaving, uint32_t at, uint32_t *ret)
{
	const struct ledger_module *module = &leaving->ledger->modules[at];
	struct profile_mapping mapping = {.kind = module->kind};
	int r = 0;

	if (leaving->modules[at] == UINT32_MAX) {
		r = leave_string(leaving, module->path, &mapping.path);
		r = r < 0 ? r : leave_string(leaving, module->build_id, &mapping.build_id);
		r = r < 0 ? r
			  : profile_add_mapping(leaving->profile, &mapping, &leaving->modules[at]);
	}
	*ret = leaving->modules[at];
	return r;
}

/* The location of the run of frames that begins at @node, and what is above it. */
static int leave_run(struct leaving *leaving, uint32_t node)
{
	const struct ledger *ledger = leaving->ledger;
	struct profile_frame frames[MAX_INLINE];
	uint32_t n = 0, mapping = 0, at = node, first = ledger->nodes[node].frame;
	uint32_t *known = ledger->frames[first].kind == FRAME_INLINED ? &leaving->locations[node]
								      : &leaving->by_frame[first];
	bool is_inlined = true;
	int r = 0;

	if (*known != UINT32_MAX) {
		leaving->locations[node] = *known;
		leaving->above[node] = ledger->nodes[node].parent;
		return 0;
	}
	r = leave_module(leaving, ledger->frames[first].module, &mapping);
	while (at && is_inlined && n < MAX_INLINE && r == 0) {
		const struct ledger_frame *frame = &ledger->frames[ledger->nodes[at].frame];

		is_inlined = frame->kind == FRAME_INLINED;
		frames[n] = (struct profile_frame){.kind = frame->kind, .line = frame->line};
		r = leave_string(leaving, frame->function, &frames[n].function);
		r = r < 0 ? r : leave_string(leaving, frame->file, &frames[n].file);
		n++;
		at = ledger->nodes[at].parent;
	}
	leaving->above[node] = at;
	r = r < 0 ? r : profile_add_named(leaving->profile, mapping, frames, n, known);
	leaving->locations[node] = *known;
	return r;
}

static int make_stack(struct leaving *leaving, uint32_t node, bool is_cut, uint32_t end,
		      uint32_t *ret)
{
	size_t n = 0;
	int r = array_reserve(leaving->path, leaving->path_capacity, 0, 1);

	if (is_cut && r == 0)
		leaving->path[n++] = leaving->elided_location;
	while (node && r == 0) {
		if (leaving->locations[node] == UINT32_MAX)
			r = leave_run(leaving, node);
		r = r < 0 ? r : array_reserve(leaving->path, leaving->path_capacity, n, 1);
		if (r == 0)
			leaving->path[n++] = leaving->locations[node];
		node = leaving->above[node];
	}
	for (size_t i = leaving->n_roots; i-- > 0 && r == 0;) {
		r = array_reserve(leaving->path, leaving->path_capacity, n, 1);
		if (r == 0)
			leaving->path[n++] = leaving->roots[i];
	}
	return r < 0 ? r : profile_add_stack(leaving->profile, leaving->path, n, end, ret);
}

/* Most stacks are of many rows: of several processes, and of several causes. */
static int leave_stack(struct leaving *leaving, uint32_t node, uint32_t end, uint32_t *ret)
{
	bool is_cut = leaving->stands && leaving->stands[node] != node;
	size_t at;
	int r = 0;

	if (is_cut)
		node = leaving->stands[node];
	at = is_cut ? leaving->ledger->n_nodes + node : node;
	if (leaving->stacks[at] == UINT32_MAX || leaving->ends[at] != end || leaving->n_roots)
		r = make_stack(leaving, node, is_cut, end, &leaving->stacks[at]);
	leaving->ends[at] = end;
	*ret = leaving->stacks[at];
	return r;
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
	int r = 0;

	*ret = (struct ledger_grouping){};
	while (r == 0) {
		size_t length = strcspn(text, ",");

		r = add_group(ret, text, length);
		if (!text[length])
			break;
		text += length + 1;
	}
	return r;
}

/* Without the brackets of the mark. */
static void cause_word(const struct ledger_row *row, char word[static CGROUP_WORD_SIZE])
{
	const char *text = is_running(row) ? "[on-cpu]" : off_reason_text(row->reason);

	snprintf(word, CGROUP_WORD_SIZE, "%.*s", (int)strlen(text) - 2, text + 1 /* ours */);
}

static int leave_group(struct leaving *leaving, const struct ledger_row *row,
		       enum ledger_group group, uint32_t *ret)
{
	const struct ledger_process *process = &leaving->ledger->processes[row->process];
	char word[CGROUP_WORD_SIZE];
	const char *text = word, *cgroup;
	uint32_t id;
	int r;

	if (group == LEDGER_COMM)
		return leave_string(leaving, process->comm, ret);
	r = leave_string(leaving, process->cgroup, &id);
	if (r < 0)
		return r;
	cgroup = strings_get(&leaving->profile->strings, id);
	switch (group) {
	case LEDGER_UNIT: cgroup_unit(cgroup, word); break;
	case LEDGER_CONTAINER: cgroup_container(cgroup, word); break;
	case LEDGER_CGROUP: text = cgroup; break;
	case LEDGER_CAUSE: cause_word(row, word); break;
	default: break;
	}
	return strings_add(&leaving->profile->strings, *text ? text : "(none)", ret);
}

/* The first group takes the place of the command, the others are frames. */
static int leave_groups(struct leaving *leaving, const struct ledger_row *row, uint32_t *ret_comm)
{
	static const struct ledger_grouping command = {.by = {LEDGER_COMM}, .n = 1};
	const struct ledger_grouping *grouping =
		leaving->grouping && leaving->grouping->n ? leaving->grouping : &command;
	const struct profile_mapping none = {.kind = MAPPING_UNKNOWN};
	int r = leave_group(leaving, row, grouping->by[0], ret_comm);

	leaving->n_roots = grouping->n - 1;
	for (size_t i = 0; i < leaving->n_roots && r == 0; i++) {
		struct profile_frame frame = {.kind = FRAME_NOTE};
		uint32_t mapping;

		r = leave_group(leaving, row, grouping->by[i + 1], &frame.function);
		r = r < 0 ? r : profile_add_mapping(leaving->profile, &none, &mapping);
		r = r < 0 ? r
			  : profile_add_named(leaving->profile, mapping, &frame, 1,
					      &leaving->roots[i]);
	}
	return r;
}

static int leave_rows(struct leaving *leaving)
{
	const struct ledger *ledger = leaving->ledger;
	int r = 0;

	for (size_t i = 0; i < ledger->n_rows && r == 0; i++) {
		const struct ledger_row *row = &ledger->rows[i];
		const struct ledger_process *process = &ledger->processes[row->process];
		struct profile_sample sample = {
			.pid = process->pid,
			.reason = row->reason,
			.is_idle = row->is_idle,
			.count = row->count,
			.nanoseconds = row->microseconds * 1000,
		};

		if (leaving->stands && leaving->stands[row->node] != row->node)
			*(is_running(row) ? &leaving->elided.running : &leaving->elided.waiting) +=
				row->microseconds;
		r = leave_groups(leaving, row, &sample.comm);
		r = r < 0 ? r : leave_stack(leaving, row->node, row->end, &sample.stack);
		r = r < 0 ? r : profile_add_sample(leaving->profile, &sample);
	}
	return r;
}

static int add_elided(struct leaving *leaving)
{
	struct profile_frame frame = {.kind = FRAME_USER};
	const struct profile_mapping none = {.kind = MAPPING_UNKNOWN};
	uint32_t mapping = 0;
	int r = strings_add(&leaving->profile->strings, "[elided]", &frame.function);

	r = r < 0 ? r : profile_add_mapping(leaving->profile, &none, &mapping);
	return r < 0 ? r
		     : profile_add_named(leaving->profile, mapping, &frame, 1,
					 &leaving->elided_location);
}

/* Later nodes are below earlier ones: one pass sums up, another one finds the node that represents
 * each. */
static int find_light_nodes(struct leaving *leaving)
{
	const struct ledger *ledger = leaving->ledger;
	uint64_t *running = calloc(ledger->n_nodes, sizeof *running);
	uint64_t *waiting = calloc(ledger->n_nodes, sizeof *waiting);
	int r = 0;

	leaving->stands = malloc(ledger->n_nodes * sizeof *leaving->stands);
	if (!running || !waiting || !leaving->stands) {
		r = -ENOMEM;
	} else {
		for (size_t i = 0; i < ledger->n_rows; i++) {
			const struct ledger_row *row = &ledger->rows[i];

			*(is_running(row) ? &running[row->node] : &waiting[row->node]) +=
				row->microseconds;
		}
		for (size_t i = ledger->n_nodes; i-- > 1;) {
			running[ledger->nodes[i].parent] += running[i];
			waiting[ledger->nodes[i].parent] += waiting[i];
		}
		leaving->stands[0] = 0;
		for (size_t i = 1; i < ledger->n_nodes; i++) {
			uint32_t parent = ledger->nodes[i].parent;
			bool is_drawn =
				running[i] > running[0] / SHARE || waiting[i] > waiting[0] / SHARE;

			leaving->stands[i] = is_drawn && leaving->stands[parent] == parent
						     ? i
						     : leaving->stands[parent];
		}
		r = add_elided(leaving);
	}
	free(running);
	free(waiting);
	return r;
}

static uint32_t *new_memo(size_t n)
{
	uint32_t *memo = malloc((n + 1) * sizeof *memo);

	return memo ? memset(memo, 0xff, (n + 1) * sizeof *memo) : NULL;
}

static void count_totals(struct leaving *leaving)
{
	for (size_t i = 0; i < leaving->ledger->n_rows; i++) {
		const struct ledger_row *row = &leaving->ledger->rows[i];

		*(is_running(row) ? &leaving->elided.total_running
				  : &leaving->elided.total_waiting) += row->microseconds;
	}
}

int ledger_profile(struct ledger *ledger, const struct ledger_grouping *grouping, size_t most_nodes,
		   struct profile *profile, struct ledger_elided *ret_elided)
{
	struct leaving leaving = {
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
	int r = leaving.strings && leaving.modules && leaving.by_frame && leaving.locations &&
				leaving.above && leaving.stacks && leaving.ends
			? 0
			: -ENOMEM;

	profile->mode = PROFILE_WALL;
	if (r == 0)
		leave_all_strings(&leaving);
	if (r == 0 && most_nodes && ledger->n_nodes > most_nodes)
		r = find_light_nodes(&leaving);
	r = r < 0 ? r : leave_rows(&leaving);
	if (r == 0) {
		count_totals(&leaving);
		*ret_elided = leaving.elided;
	}
	free(leaving.strings);
	free(leaving.modules);
	free(leaving.by_frame);
	free(leaving.locations);
	free(leaving.above);
	free(leaving.stands);
	free(leaving.stacks);
	free(leaving.ends);
	free(leaving.path);
	return r;
}
