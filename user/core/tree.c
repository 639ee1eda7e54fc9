/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/*
 * Sweeping visits the stacks in order, with the frames from the root to the latest one open. From
 * one stack to the next, common frames at the beginning stay open; the sweep leaves the other open
 * ones and enters the new ones.
 */
struct sweep {
	const struct stacks *stacks;
	const uint32_t *ids; /* of the previous stack */
	uint32_t n;
	void (*leave)(void *data); /* the deepest frame */
	int (*enter)(void *data, uint32_t frame);
	void (*end)(void *data, const struct stacks_entry *entry); /* at its deepest frame */
	void *data;
};

static uint32_t common(const uint32_t *a, uint32_t n_a, const uint32_t *b, uint32_t n_b)
{
	uint32_t n = n_a < n_b ? n_a : n_b, i = 0;

	while (i < n && a[i] == b[i])
		i++;
	return i;
}

static int sweep_to(struct sweep *sweep, const uint32_t *ids, uint32_t n)
{
	uint32_t shared = common(sweep->ids, sweep->n, ids, n);

	for (; sweep->n > shared; sweep->n--)
		sweep->leave(sweep->data);
	sweep->ids = ids;
	for (; sweep->n < n; sweep->n++) {
		int r = sweep->enter(sweep->data, ids[sweep->n]);

		if (r < 0)
			return r;
	}
	return 0;
}

/* Of all stacks, from entering the root to leaving it. */
static int sweep_all(struct sweep *sweep)
{
	const struct stacks *stacks = sweep->stacks;
	int r = sweep->enter(sweep->data, TREE_ROOT);

	if (r < 0)
		return r;
	for (size_t i = 0; i < stacks->n_entries; i++) {
		const struct stacks_entry *entry = &stacks->entries[i];

		r = sweep_to(sweep, stacks->ids + entry->first, entry->n);
		if (r < 0)
			return r;
		sweep->end(sweep->data, entry);
	}
	for (; sweep->n; sweep->n--)
		sweep->leave(sweep->data);
	sweep->leave(sweep->data);
	return 0;
}

/*
 * Counts the nodes for each least width, in buckets, 32 per power of two. A node is kept for every
 * least width up to its own; it has an elided child for every least width above that of its
 * children, but not above its own.
 */
#define PER_OCTAVE 32
#define N_BUCKETS  ((64 - 5 + 1) * PER_OCTAVE)

static unsigned int bucket_of(uint64_t width)
{
	unsigned int shift;

	if (width < 2 * PER_OCTAVE)
		return width;
	shift = 63 - __builtin_clzll(width) - 5;
	return shift * PER_OCTAVE + (width >> shift);
}

static uint64_t bucket_start(unsigned int bucket)
{
	if (bucket < 2 * PER_OCTAVE)
		return bucket;
	return (uint64_t)(bucket % PER_OCTAVE + PER_OCTAVE) << (bucket / PER_OCTAVE - 1);
}

struct counted {
	uint64_t width, least_child;
};

struct width_counts {
	struct counted *path;
	size_t n, capacity;
	uint64_t least_width; /* of its own, beside the buckets */
	size_t n_least;
	uint64_t kept[N_BUCKETS + 1];  /* nodes by the bucket of their width */
	int64_t elided[N_BUCKETS + 1]; /* change of the number of elided ones at each */
};

static int count_enter(void *data, uint32_t frame __attribute__((unused)))
{
	struct width_counts *counts = data;

	return array_add(counts->path, counts->capacity, counts->n,
			 (struct counted){0, UINT64_MAX});
}

static void count_leave(void *data)
{
	struct width_counts *counts = data;
	struct counted node = counts->path[--counts->n];
	unsigned int bucket = bucket_of(node.width);

	counts->kept[bucket]++;
	if (node.width >= counts->least_width)
		counts->n_least += 1 + (node.least_child < counts->least_width);
	if (node.least_child != UINT64_MAX) {
		counts->elided[bucket_of(node.least_child) + 1]++;
		counts->elided[bucket + 1]--;
	}
	if (counts->n) {
		struct counted *parent = &counts->path[counts->n - 1];

		parent->width += node.width;
		if (node.width < parent->least_child)
			parent->least_child = node.width;
	}
}

static void count_end(void *data, const struct stacks_entry *entry)
{
	struct width_counts *counts = data;

	counts->path[counts->n - 1].width += entry->width;
}

/*
 * The nodes to keep: all of @least_width or more, and @n_marginal of those down to @marginal_width.
 * If many have the same width, no least width alone would use up the limit.
 */
struct tree_fit {
	uint64_t least_width, marginal_width;
	size_t n_marginal;
};

static struct tree_fit find_fit(const struct width_counts *counts, size_t max_nodes)
{
	uint64_t marginal = counts->least_width;
	int64_t kept[N_BUCKETS + 1], elided = 0;

	if (counts->n_least <= max_nodes)
		return (struct tree_fit){counts->least_width, counts->least_width, 0};
	kept[N_BUCKETS] = 0;
	for (unsigned int b = N_BUCKETS; b-- > 0;)
		kept[b] = kept[b + 1] + counts->kept[b];
	for (unsigned int b = 0; b < N_BUCKETS; b++) {
		elided += counts->elided[b];
		if (bucket_start(b) <= counts->least_width)
			continue;
		if (kept[b] + elided <= (int64_t)max_nodes)
			return (struct tree_fit){bucket_start(b), marginal,
						 max_nodes - kept[b] - elided};
		marginal = bucket_start(b);
	}
	return (struct tree_fit){UINT64_MAX, UINT64_MAX, 0};
}

static int fit(const struct stacks *stacks, const struct tree_limits *limits, struct tree_fit *ret)
{
	struct width_counts *counts;
	struct sweep sweep = {stacks, .leave = count_leave, .enter = count_enter, .end = count_end};
	int r;

	if (!limits->max_nodes) {
		*ret = (struct tree_fit){limits->least_width, limits->least_width, 0};
		return 0;
	}
	counts = calloc(1, sizeof *counts);
	if (!counts)
		return -ENOMEM;
	counts->least_width = limits->least_width;
	sweep.data = counts;
	r = sweep_all(&sweep);
	if (r == 0)
		*ret = find_fit(counts, limits->max_nodes);
	free(counts->path);
	free(counts);
	return r;
}

/* What an open node has elided so far. */
struct elided {
	uint64_t width, n;
	struct tree_side sides[N_SIDES];
};

struct tree_builder {
	struct tree tree;
	struct tree_fit fit;	/* n_marginal: how many may still be kept */
	uint32_t *path;		/* the open nodes */
	struct elided *elided;
	size_t n, path_capacity, elided_capacity;
};

static int push_node(struct tree *tree, uint32_t frame, uint32_t parent, uint32_t depth)
{
	int r;

	if (tree->n_nodes >= TREE_ELIDED)
		return -E2BIG;
	r = array_reserve(tree->nodes, tree->nodes_capacity, tree->n_nodes, 1);
	if (r < 0)
		return r;
	tree->nodes[tree->n_nodes++] =
		(struct tree_node){.frame = frame, .parent = parent, .depth = depth};
	return 0;
}

static int grow_enter(void *data, uint32_t frame)
{
	struct tree_builder *builder = data;
	uint32_t parent = builder->n ? builder->path[builder->n - 1] : TREE_NONE;
	int r = array_reserve(builder->path, builder->path_capacity, builder->n, 1);

	if (r < 0)
		return r;
	r = array_reserve(builder->elided, builder->elided_capacity, builder->n, 1);
	if (r < 0)
		return r;
	/* One more, so that leaving a node always finds room for its elided child. */
	r = array_reserve(builder->tree.nodes, builder->tree.nodes_capacity, builder->tree.n_nodes,
			  2 + builder->n);
	if (r < 0)
		return r;
	r = push_node(&builder->tree, frame, parent, builder->n);
	if (r < 0)
		return r;
	builder->path[builder->n] = builder->tree.n_nodes - 1;
	builder->elided[builder->n++] = (struct elided){};
	return 0;
}

static void add_side(struct tree_side *to, const struct tree_side *from)
{
	to->total += from->total;
	to->total_variance += from->total_variance;
}

/* Whether @node stays. A marginal one uses up room for itself and its elided child. */
static bool is_kept(struct tree_builder *builder, const struct tree_node *node,
		    const struct elided *below)
{
	size_t n = 1 + (below->n > 0);

	if (node->width >= builder->fit.least_width)
		return true;
	if (node->width < builder->fit.marginal_width || builder->fit.n_marginal < n)
		return false;
	builder->fit.n_marginal -= n;
	return true;
}

/*
 * Adds the weight of @node to its parent as elided. Nodes kept below it go, too: they were marginal
 * like it, and their room is free again.
 */
static void elide(struct tree_builder *builder, uint32_t index, const struct elided *below)
{
	struct tree *tree = &builder->tree;
	const struct tree_node *node = &tree->nodes[index];
	struct elided *elided = &builder->elided[builder->n - 1];

	elided->width += node->width;
	elided->n += 1 + below->n;
	for (int side = 0; side < N_SIDES; side++)
		add_side(&elided->sides[side], &node->sides[side]);
	for (size_t i = index + 1; i < tree->n_nodes; i++) {
		bool is_elided = tree->nodes[i].frame == TREE_ELIDED;

		elided->n += is_elided ? tree->nodes[i].n_elided : 1;
		if (is_elided) {
			tree->n_elided -= tree->nodes[i].n_elided;
			tree->elided_width -= tree->nodes[i].width;
		}
	}
	builder->fit.n_marginal += tree->n_nodes - index - 1;
	tree->n_nodes = index;
}

static void append_elided(struct tree *tree, uint32_t parent, const struct elided *elided)
{
	struct tree_node *node;

	/* The room was reserved when the parent was entered. */
	(void)!push_node(tree, TREE_ELIDED, parent, tree->nodes[parent].depth + 1);
	node = &tree->nodes[tree->n_nodes - 1];
	node->width = node->self_width = elided->width;
	node->n_elided = elided->n;
	node->end = tree->n_nodes;
	for (int side = 0; side < N_SIDES; side++) {
		node->sides[side] = elided->sides[side];
		node->sides[side].self = node->sides[side].total;
		node->sides[side].self_variance = node->sides[side].total_variance;
	}
	tree->n_elided += elided->n;
	tree->elided_width += elided->width;
}

static void grow_leave(void *data)
{
	struct tree_builder *builder = data;
	struct tree *tree = &builder->tree;
	uint32_t index = builder->path[--builder->n];
	struct tree_node *node = &tree->nodes[index];
	const struct elided *below = &builder->elided[builder->n];
	struct tree_node *parent;

	if (builder->n) {
		parent = &tree->nodes[node->parent];
		parent->width += node->width;
		for (int side = 0; side < N_SIDES; side++)
			add_side(&parent->sides[side], &node->sides[side]);
		if (!is_kept(builder, node, below)) {
			elide(builder, index, below);
			return;
		}
	}
	if (below->n)
		append_elided(tree, index, below);
	node = &tree->nodes[index];
	node->end = tree->n_nodes;
}

static void grow_end(void *data, const struct stacks_entry *entry)
{
	struct tree_builder *builder = data;
	struct tree_node *node = &builder->tree.nodes[builder->path[builder->n - 1]];
	struct tree_side *side = &node->sides[entry->side];

	node->width += entry->width;
	node->self_width += entry->width;
	side->self += entry->weight;
	side->total += entry->weight;
	side->self_variance += entry->variance;
	side->total_variance += entry->variance;
}

/*
 * Places children one after another, each beginning where the previous one ends. Sets max_depth,
 * too.
 */
static int place(struct tree *tree)
{
	uint64_t *next = calloc(tree->n_nodes, sizeof *next);

	if (!next)
		return -ENOMEM;
	for (size_t i = 1; i < tree->n_nodes; i++) {
		struct tree_node *node = &tree->nodes[i];

		if (node->depth > tree->max_depth)
			tree->max_depth = node->depth;
		node->start = next[node->parent];
		next[node->parent] += node->width;
		next[i] = node->start;
	}
	free(next);
	return 0;
}

int tree_build(const struct stacks *stacks, const struct tree_limits *limits, struct tree *ret)
{
	struct tree_builder builder = {.tree = {.stacks = stacks}};
	struct sweep sweep = {stacks, .leave = grow_leave, .enter = grow_enter, .end = grow_end,
			      .data = &builder};
	int r = fit(stacks, limits, &builder.fit);

	if (r < 0)
		return r;
	builder.tree.least_width = builder.fit.least_width;
	r = sweep_all(&sweep);
	free(builder.path);
	free(builder.elided);
	if (r == 0)
		r = place(&builder.tree);
	if (r < 0) {
		tree_done(&builder.tree);
		return r;
	}
	*ret = builder.tree;
	return 0;
}

void tree_done(struct tree *tree)
{
	free(tree->nodes);
	*tree = (struct tree){};
}

const char *tree_name(const struct tree *tree, const struct tree_node *node)
{
	if (node->frame == TREE_ROOT)
		return "all";
	return node->frame == TREE_ELIDED ? "[elided]" : stacks_name(tree->stacks, node->frame);
}

enum frame_kind tree_kind(const struct tree *tree, const struct tree_node *node)
{
	return node->frame >= TREE_ELIDED ? FRAME_NOTE : tree->stacks->frames[node->frame].kind;
}
