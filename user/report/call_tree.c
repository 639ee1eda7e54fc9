/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/call_tree.h"

#include <errno.h>
#include <math.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* Lines still to come, the next one last. */
struct pending_lines {
	struct call_line *lines;
	size_t n, capacity;
	uint32_t *children; /* of one node */
	size_t n_children, children_capacity;
};

static int compare_children(const void *a, const void *b, void *data)
{
	const struct tree_node *nodes = data;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	uint64_t first = tree_total(&nodes[x]), second = tree_total(&nodes[y]);

	if (first != second)
		return first < second ? 1 : -1;
	return x < y ? -1 : x > y;
}

/*
 * Lists the children of @node that are not elided, heaviest first; *@ret_elided is the elided one.
 */
static int list_children(const struct tree *tree, uint32_t node, struct pending_lines *pending,
			 uint32_t *ret_elided)
{
	const struct tree_node *nodes = tree->nodes;

	pending->n_children = 0;
	*ret_elided = TREE_NONE;
	for (uint32_t i = node + 1; i < nodes[node].end; i = nodes[i].end) {
		int r = array_reserve(pending->children, pending->children_capacity,
				      pending->n_children, 1);

		if (r < 0)
			return r;
		if (nodes[i].frame == TREE_ELIDED)
			*ret_elided = i;
		else
			pending->children[pending->n_children++] = i;
	}
	if (pending->n_children > 1)
		qsort_r(pending->children, pending->n_children, sizeof *pending->children,
			compare_children, tree->nodes);
	return 0;
}

static void push(struct pending_lines *pending, struct call_line line)
{
	pending->lines[pending->n++] = line;
}

/*
 * Pushes the children of @line's node. An only child stays at the level of its parent, so that deep
 * stacks stay narrow; the line then also shows what was elided beside it.
 */
static int push_children(const struct tree *tree, struct call_line *line,
			 struct pending_lines *pending)
{
	bool is_root = line->node == 0;
	uint32_t level = is_root ? 0 : line->level + 1, elided;
	size_t n;
	int r = list_children(tree, line->node, pending, &elided);

	if (r < 0)
		return r;
	n = pending->n_children;
	r = array_reserve(pending->lines, pending->capacity, pending->n, n + 1);
	if (r < 0)
		return r;
	if (n <= 1 && !is_root) {
		line->elided = elided;
		if (n == 1)
			push(pending, (struct call_line){pending->children[0], TREE_NONE,
							 line->level, false, line->is_last});
		return 0;
	}
	if (elided != TREE_NONE)
		push(pending, (struct call_line){elided, TREE_NONE, level, true, true});
	for (size_t i = n; i-- > 0;)
		push(pending, (struct call_line){pending->children[i], TREE_NONE, level, true,
						 i == n - 1 && elided == TREE_NONE});
	return 0;
}

static int put_in_order(struct call_tree *call_tree)
{
	const struct tree *tree = &call_tree->tree;
	struct call_line root = {}, *line = &root;
	struct pending_lines pending = {};
	int r;

	call_tree->lines = calloc(tree->n_nodes, sizeof *call_tree->lines);
	if (!call_tree->lines)
		return -ENOMEM;
	for (;;) {
		r = push_children(tree, line, &pending);
		if (r < 0 || !pending.n)
			break;
		line = &call_tree->lines[call_tree->n_lines++];
		*line = pending.lines[--pending.n];
	}
	free(pending.lines);
	free(pending.children);
	return r;
}

static int make(const struct stacks *stacks, uint64_t whole, double percent, struct call_tree *ret)
{
	struct tree_limits limits = {.least_width = ceil(whole * percent / 100),
				     .max_nodes = REPORT_MAX_NODES};
	int r = tree_build(stacks, &limits, &ret->tree);

	if (r < 0)
		return r;
	return put_in_order(ret);
}

int call_tree_make(const struct report_source *source, double percent, struct call_tree *ret)
{
	struct call_tree tree = {};
	int r = make(source->stacks, source->whole, percent, &tree);

	if (r < 0)
		call_tree_done(&tree);
	else
		*ret = tree;
	return r;
}

/* Collects stacks of callers. */
struct caller_stacks {
	const struct stacks *from;
	struct stacks *to;
	bool *matches; /* by frame */
};

static int find_matches(struct caller_stacks *callers, const char *pattern)
{
	const struct stacks *stacks = callers->from;
	regex_t regex;

	callers->matches = calloc(stacks->n_frames + 1, sizeof *callers->matches);
	if (!callers->matches)
		return -ENOMEM;
	if (regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB) != 0)
		return -EINVAL;
	for (size_t i = 0; i < stacks->n_frames; i++) {
		const struct stacks_frame *frame = &stacks->frames[i];

		callers->matches[i] = !frame->is_waker && frame->kind != FRAME_NOTE &&
				      regexec(&regex, stacks_name(stacks, i), 0, NULL, 0) == 0;
	}
	regfree(&regex);
	return 0;
}

/* Whether the last stack of callers is the reverse of the @n frames at @ids. */
static bool is_latest(const struct stacks *stacks, const struct stacks_entry *entry,
		      const uint32_t *ids, uint32_t n)
{
	const struct stacks_entry *latest;

	if (stacks->n_entries == 0)
		return false;
	latest = &stacks->entries[stacks->n_entries - 1];
	if (latest->n != n || latest->side != entry->side)
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (stacks->ids[latest->first + n - 1 - i] != ids[i])
			return false;
	return true;
}

/*
 * Adds the part of a stack up to its outermost match, reversed. If it equals the previous one, adds
 * its weight to that: sorted stacks with a common beginning are neighbours, so memory follows the
 * distinct ways to the matches.
 */
static int add_callers(struct stacks *to, const struct stacks_entry *entry, const uint32_t *ids,
		       uint32_t n)
{
	struct stacks_entry *added;
	int r;

	if (!is_latest(to, entry, ids, n)) {
		r = array_reserve(to->ids, to->ids_capacity, to->n_ids, n);
		if (r < 0)
			return r;
		r = array_reserve(to->entries, to->entries_capacity, to->n_entries, 1);
		if (r < 0)
			return r;
		to->entries[to->n_entries++] =
			(struct stacks_entry){.first = to->n_ids, .n = n, .side = entry->side};
		for (uint32_t i = n; i-- > 0;)
			to->ids[to->n_ids++] = ids[i];
	}
	added = &to->entries[to->n_entries - 1];
	added->weight += entry->weight;
	added->width += entry->width;
	added->variance += entry->variance;
	to->totals[entry->side] += entry->weight;
	to->width += entry->width;
	return 0;
}

static int collect_callers(struct caller_stacks *callers)
{
	const struct stacks *from = callers->from;

	for (size_t i = 0; i < from->n_entries; i++) {
		const struct stacks_entry *entry = &from->entries[i];
		const uint32_t *ids = from->ids + entry->first;
		uint32_t n = 0;
		int r;

		while (n < entry->n && !callers->matches[ids[n]])
			n++;
		if (n == entry->n)
			continue;
		r = add_callers(callers->to, entry, ids, n + 1);
		if (r < 0)
			return r;
	}
	return 0;
}

static int sort_callers(struct stacks *callers)
{
	uint32_t *identity = malloc((callers->n_frames + 1) * sizeof *identity);
	const uint32_t *const ranks[2] = {identity, identity};

	if (!identity)
		return -ENOMEM;
	for (size_t i = 0; i < callers->n_frames; i++)
		identity[i] = i;
	stacks_sort(callers, ranks);
	free(identity);
	return 0;
}

static int make_callers(struct caller_stacks *callers, const char *pattern, double percent,
			struct call_tree *ret)
{
	int r = find_matches(callers, pattern);

	if (r < 0)
		return r;
	r = collect_callers(callers);
	if (r < 0)
		return r;
	r = sort_callers(callers->to);
	if (r < 0)
		return r;
	return make(callers->to, callers->to->width, percent, ret);
}

int call_tree_make_callers(const struct report_source *source, const char *pattern, double percent,
			   struct call_tree *ret)
{
	const struct stacks *stacks = source->stacks;
	struct call_tree tree = {.callers = {.options = stacks->options,
					     .strings = stacks->strings,
					     .frames = stacks->frames,
					     .n_frames = stacks->n_frames}};
	struct caller_stacks callers = {.from = stacks, .to = &tree.callers};
	int r = make_callers(&callers, pattern, percent, &tree);

	free(callers.matches);
	if (r < 0) {
		call_tree_done(&tree);
		return r;
	}
	*ret = tree;
	ret->tree.stacks = &ret->callers;
	return 0;
}

void call_tree_done(struct call_tree *tree)
{
	free(tree->callers.ids);
	free(tree->callers.entries);
	tree_done(&tree->tree);
	free(tree->lines);
	*tree = (struct call_tree){};
}
