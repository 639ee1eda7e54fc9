/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

int tree_init(struct tree *tree)
{
	*tree = (struct tree){0};
	if (array_reserve(tree->nodes, tree->nodes_capacity, 0, 1) < 0)
		return -ENOMEM;
	tree->nodes[tree->n_nodes++] = (struct tree_node){.parent = TREE_NONE,
							  .first_child = TREE_NONE,
							  .next = TREE_NONE,
							  .kind = FRAME_NOTE};
	return 0;
}

void tree_done(struct tree *tree)
{
	free(tree->nodes);
	table_done(&tree->index);
	*tree = (struct tree){0};
}

static bool node_equal(const void *items, uint32_t position, const void *key)
{
	const struct tree_node *a = (const struct tree_node *)items + position, *b = key;

	return a->parent == b->parent && a->name == b->name && a->kind == b->kind &&
	       a->is_waker == b->is_waker;
}

static int find_child(struct tree *tree, uint32_t parent, struct named_frame frame, uint32_t *ret)
{
	struct tree_node node = {.name = frame.name,
				 .kind = frame.kind,
				 .is_waker = frame.is_waker,
				 .parent = parent,
				 .first_child = TREE_NONE,
				 .next = TREE_NONE,
				 .depth = tree->nodes[parent].depth + 1};
	uint64_t hash =
		hash_mix((uint64_t)parent << 32 | frame.name, frame.kind << 1 | frame.is_waker);
	uint32_t found = table_find(&tree->index, hash, node_equal, tree->nodes, &node);
	int r;

	if (found != TABLE_NONE) {
		*ret = found;
		return 0;
	}
	if (tree->n_nodes >= TREE_NONE)
		return -E2BIG;
	r = array_reserve(tree->nodes, tree->nodes_capacity, tree->n_nodes, 1);
	if (r < 0)
		return r;
	r = table_add(&tree->index, hash, tree->n_nodes);
	if (r < 0)
		return r;
	if (node.depth > tree->max_depth)
		tree->max_depth = node.depth;
	*ret = tree->n_nodes;
	tree->nodes[tree->n_nodes++] = node;
	return 0;
}

int tree_add(struct tree *tree, const struct named_frame *frames, size_t n, uint64_t weight,
	     bool is_running)
{
	uint32_t node = 0;
	uint64_t sum;
	int r;

	/* No node is heavier than the root, so one check is enough. */
	if (__builtin_add_overflow(tree->nodes[0].total, weight, &sum))
		return -EOVERFLOW;
	/* All nodes first: a failure half-way leaves nodes of no weight, and consistent sums. */
	for (size_t i = 0; i < n; i++) {
		r = find_child(tree, node, frames[i], &node);
		if (r < 0)
			return r;
	}
	tree->nodes[node].self += weight;
	for (; node != TREE_NONE; node = tree->nodes[node].parent) {
		tree->nodes[node].total += weight;
		tree->nodes[node].running += is_running ? weight : 0;
	}
	return 0;
}

static int compare_names(const void *a, const void *b, void *strings)
{
	return strcmp(strings_get(strings, *(const uint32_t *)a),
		      strings_get(strings, *(const uint32_t *)b));
}

/* Gives every name in the tree its place in bytewise order: (*ret_ranks)[name]. */
static int rank_names(const struct tree *tree, const struct strings *strings, uint32_t **ret_ranks,
		      size_t *ret_n)
{
	uint32_t *ranks = calloc(strings->n_strings, sizeof *ranks);
	uint32_t *names = calloc(strings->n_strings, sizeof *names);
	size_t n = 0;

	if (!ranks || !names) {
		free(ranks);
		free(names);
		return -ENOMEM;
	}
	for (size_t i = 0; i < tree->n_nodes; i++)
		ranks[tree->nodes[i].name] = 1;
	for (size_t i = 0; i < strings->n_strings; i++)
		if (ranks[i])
			names[n++] = i;
	qsort_r(names, n, sizeof *names, compare_names, (void *)strings);
	for (size_t i = 0; i < n; i++)
		ranks[names[i]] = i;
	free(names);
	*ret_ranks = ranks;
	*ret_n = n;
	return 0;
}

/*
 * A counting sort of all nodes by (name, kind, half), then each is put in front of its parent's
 * list, last ones first: every list comes out sorted, in linear time.
 */
static int link_children(struct tree *tree, const uint32_t *ranks, size_t n_ranks)
{
	const size_t n_buckets = n_ranks * N_FRAME_KINDS * 2;
	size_t *starts = calloc(n_buckets + 1, sizeof *starts);
	uint32_t *order = calloc(tree->n_nodes, sizeof *order);

	if (!starts || !order) {
		free(starts);
		free(order);
		return -ENOMEM;
	}
#define BUCKET(node)                                                                               \
	(((size_t)ranks[(node)->name] * N_FRAME_KINDS + (node)->kind) * 2 + (node)->is_waker)
	for (size_t i = 0; i < tree->n_nodes; i++)
		starts[BUCKET(&tree->nodes[i]) + 1]++;
	for (size_t i = 0; i < n_buckets; i++)
		starts[i + 1] += starts[i];
	for (size_t i = 0; i < tree->n_nodes; i++)
		order[starts[BUCKET(&tree->nodes[i])]++] = i;
#undef BUCKET
	for (size_t i = 0; i < tree->n_nodes; i++)
		tree->nodes[i].first_child = TREE_NONE;
	for (size_t i = tree->n_nodes; i-- > 0;) {
		struct tree_node *node = &tree->nodes[order[i]];

		if (node->parent == TREE_NONE)
			continue;
		node->next = tree->nodes[node->parent].first_child;
		tree->nodes[node->parent].first_child = order[i];
	}
	free(starts);
	free(order);
	return 0;
}

static void place_children(struct tree *tree, struct tree_node *parent)
{
	uint64_t start = parent->start;

	for (uint32_t i = parent->first_child; i != TREE_NONE; i = tree->nodes[i].next) {
		tree->nodes[i].start = start;
		start += tree->nodes[i].total;
	}
}

int tree_arrange(struct tree *tree, const struct strings *strings)
{
	uint32_t *ranks;
	size_t n_ranks;
	int r;

	r = rank_names(tree, strings, &ranks, &n_ranks);
	if (r < 0)
		return r;
	r = link_children(tree, ranks, n_ranks);
	free(ranks);
	if (r < 0)
		return r;
	/* A parent is always older than its children, so it is placed before them. */
	for (size_t i = 0; i < tree->n_nodes; i++)
		place_children(tree, &tree->nodes[i]);
	return 0;
}

int tree_visit_stacks(struct profile *profile, const struct unfold_options *unfold,
		      tree_visit_fn visit, void *data)
{
	struct named_frame *frames = NULL;
	size_t capacity = 0;
	int r = 0;

	for (size_t i = 0; i < profile->n_samples && r == 0; i++) {
		const struct profile_sample *sample = &profile->samples[i];
		struct tree_stack stack = {.sample = sample};

		stack.weight = profile->mode == PROFILE_ONCPU ? sample->count : sample->nanoseconds;
		if (!stack.weight)
			continue;
		r = profile_unfold(profile, sample, unfold, &frames, &capacity);
		if (r < 0)
			break;
		stack.n = r;
		stack.frames = frames;
		r = visit(data, &stack);
	}
	free(frames);
	return r;
}

struct building {
	struct tree *tree;
	bool reverse, fold_idle;
};

static void reverse_frames(struct named_frame *frames, size_t n)
{
	for (size_t i = 0; i < n / 2; i++) {
		struct named_frame frame = frames[i];

		frames[i] = frames[n - 1 - i];
		frames[n - 1 - i] = frame;
	}
}

static int add_stack(void *data, const struct tree_stack *stack)
{
	const struct building *building = data;
	const struct profile_sample *sample = stack->sample;
	size_t kept = building->fold_idle && sample->is_idle; /* under [idle] either way */

	if (building->reverse)
		reverse_frames(stack->frames + kept, stack->n - kept);
	return tree_add(building->tree, stack->frames, stack->n, stack->weight,
			sample->reason == REASON_NONE || sample->reason == REASON_ONCPU);
}

int tree_build(struct profile *profile, const struct unfold_options *unfold, bool reverse,
	       struct tree *ret_tree)
{
	struct tree tree;
	struct building building = {&tree, reverse, unfold->fold_idle};
	int r = tree_init(&tree);

	if (r == 0)
		r = tree_visit_stacks(profile, unfold, add_stack, &building);
	if (r == 0)
		r = tree_arrange(&tree, &profile->strings);
	if (r < 0) {
		tree_done(&tree);
		return r;
	}
	*ret_tree = tree;
	return 0;
}

uint32_t tree_walk(const struct tree *tree, uint32_t node, bool into)
{
	if (into && tree->nodes[node].first_child != TREE_NONE)
		return tree->nodes[node].first_child;
	while (node != TREE_NONE && tree->nodes[node].next == TREE_NONE)
		node = tree->nodes[node].parent;
	return node == TREE_NONE ? TREE_NONE : tree->nodes[node].next;
}
