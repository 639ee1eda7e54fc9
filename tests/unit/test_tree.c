/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks and the trees made from them, compared with the simplest way of counting. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/select.h"
#include "core/tree.h"
#include "unit/made_stacks.h"

static const struct tree_limits no_limits;
static const struct stacks_options by_default;

/* Of the profile, which it frees. */
static struct stacks stacks_of(struct profile *profile, const struct stacks_options *options)
{
	struct stacks stacks;

	assert_int_equal(stacks_init(&stacks, options), 0);
	assert_int_equal(stacks_add(&stacks, profile, SIDE_NEW), 0);
	assert_int_equal(stacks_finish(&stacks, SCALE_ABSOLUTE), 0);
	profile_free(profile);
	return stacks;
}

static struct stacks comparison_of(struct profile *base, struct profile *new_,
				   enum stacks_scale scale)
{
	struct stacks stacks;

	assert_int_equal(stacks_init(&stacks, &by_default), 0);
	assert_int_equal(stacks_add(&stacks, base, SIDE_BASE), 0);
	assert_int_equal(stacks_add(&stacks, new_, SIDE_NEW), 0);
	assert_int_equal(stacks_finish(&stacks, scale), 0);
	profile_free(base);
	profile_free(new_);
	return stacks;
}

static struct tree tree_of(const struct stacks *stacks)
{
	struct tree tree;

	assert_int_equal(tree_build(stacks, &no_limits, &tree), 0);
	return tree;
}

static void expect_good_node(const struct tree *tree, uint32_t index)
{
	const struct tree_node *node = &tree->nodes[index], *before = NULL;
	uint64_t start = node->start, totals[N_SIDES] = {node->sides[0].self, node->sides[1].self};
	double variance = node->sides[0].self_variance;

	for (uint32_t i = index + 1; i < node->end; i = tree->nodes[i].end) {
		const struct tree_node *child = &tree->nodes[i];

		assert_int_equal(child->parent, index);
		assert_int_equal(child->depth, node->depth + 1);
		assert_true(child->depth <= tree->max_depth);
		assert_int_equal(child->start, start);
		assert_true(child->end > i && child->end <= node->end);
		start += child->width;
		for (int side = 0; side < N_SIDES; side++)
			totals[side] += child->sides[side].total;
		variance += child->sides[0].total_variance;
		/* Frames are numbered in the order of their names; the elided one comes last. */
		assert_true(!before || before->frame < child->frame);
		assert_true(child->frame < TREE_ROOT);
		before = child;
	}
	assert_int_equal(start - node->start + node->self_width, node->width);
	for (int side = 0; side < N_SIDES; side++)
		assert_int_equal(totals[side], node->sides[side].total);
	assert_true(variance == node->sides[0].total_variance);
}

static void expect_good_tree(const struct tree *tree, uint64_t total)
{
	uint32_t deepest = 0;

	assert_int_equal(tree->nodes[0].frame, TREE_ROOT);
	assert_int_equal(tree->nodes[0].parent, TREE_NONE);
	assert_int_equal(tree->nodes[0].end, tree->n_nodes);
	assert_int_equal(tree_total(&tree->nodes[0]), total);
	for (uint32_t i = 0; i < tree->n_nodes; i++) {
		expect_good_node(tree, i);
		deepest = tree->nodes[i].depth > deepest ? tree->nodes[i].depth : deepest;
	}
	assert_int_equal(tree->max_depth, deepest);
}

static void trees_are_consistent(void **state)
{
	for (uint64_t seed = 1; seed < 30; seed++) {
		struct stacks_options options = {.reverse = seed % 2, .in_order = seed % 5 == 0};
		struct profile *profile = random_profile(seed);
		struct stacks stacks;
		uint64_t sum = 0;
		struct tree tree;

		for (size_t i = 0; i < profile->n_samples; i++)
			sum += profile->samples[i].count;
		stacks = stacks_of(profile, &options);
		tree = tree_of(&stacks);
		if (!options.in_order)
			expect_good_tree(&tree, sum);
		assert_int_equal(tree_total(&tree.nodes[0]), sum);
		assert_int_equal(tree.n_elided, 0);
		tree_done(&tree);
		stacks_done(&stacks);
	}
}

/*
 * Every node of @all that is wide enough is in @pruned; missing ones are counted as elided next to
 * it.
 */
static void expect_pruned(const struct tree *all, uint32_t a, const struct tree *pruned, uint32_t p)
{
	uint32_t next = p + 1, end = pruned->nodes[p].end;
	uint64_t width = 0, n = 0, total = 0;

	assert_int_equal(all->nodes[a].frame, pruned->nodes[p].frame);
	assert_int_equal(all->nodes[a].width, pruned->nodes[p].width);
	assert_int_equal(all->nodes[a].self_width, pruned->nodes[p].self_width);
	for (uint32_t i = a + 1; i < all->nodes[a].end; i = all->nodes[i].end) {
		if (next < end && pruned->nodes[next].frame == all->nodes[i].frame) {
			expect_pruned(all, i, pruned, next);
			next = pruned->nodes[next].end;
		} else {
			assert_true(all->nodes[i].width < pruned->least_width);
			width += all->nodes[i].width;
			total += tree_total(&all->nodes[i]);
			n += all->nodes[i].end - i;
		}
	}
	if (n) {
		assert_true(next < end);
		assert_int_equal(pruned->nodes[next].frame, TREE_ELIDED);
		assert_string_equal(tree_name(pruned, &pruned->nodes[next]), "[elided]");
		assert_int_equal(pruned->nodes[next].width, width);
		assert_int_equal(tree_self(&pruned->nodes[next]), total);
		assert_int_equal(pruned->nodes[next].n_elided, n);
		next++;
	}
	assert_int_equal(next, end);
}

static void limits_elide(void **state)
{
	for (uint64_t seed = 1; seed < 60; seed++) {
		struct stacks stacks = stacks_of(random_profile(seed), &by_default);
		struct tree all = tree_of(&stacks), pruned;
		struct tree_limits limits = {.least_width = seed * 7 % 400,
					     .max_nodes = seed % 3 ? seed * seed : 0};

		assert_int_equal(tree_build(&stacks, &limits, &pruned), 0);
		expect_good_tree(&pruned, tree_total(&all.nodes[0]));
		expect_pruned(&all, 0, &pruned, 0);
		assert_true(pruned.least_width >= limits.least_width);
		/* The root always exists, with what it elided. */
		if (limits.max_nodes > 2)
			assert_true(pruned.n_nodes <= limits.max_nodes);
		tree_done(&pruned);
		tree_done(&all);
		stacks_done(&stacks);
	}
}

/* Keeps as many as allowed, also of equal nodes. */
static void limits_are_used(void **state)
{
	for (int spread = 0; spread < 2; spread++) {
		struct profile *profile = made_profile(PROFILE_ONCPU, NULL, 0);
		struct tree_limits limits = {.max_nodes = 700};
		struct stacks stacks;
		struct tree tree;
		size_t n;

		for (int i = 0; i < 1000; i++) {
			char name[16];
			struct made_sample sample = {name, "x;y;z", 1000 + i * spread};

			snprintf(name, sizeof name, "c%d", i);
			made_add(profile, &sample);
		}
		stacks = stacks_of(profile, &by_default);
		assert_int_equal(tree_build(&stacks, &limits, &tree), 0);
		assert_in_range(tree.n_nodes, 650, 700);
		n = tree.n_nodes + tree.n_elided;
		for (size_t i = 0; i < tree.n_nodes; i++)
			n -= tree.nodes[i].frame == TREE_ELIDED;
		assert_int_equal(n, 4001);
		expect_good_tree(&tree, tree_total(&tree.nodes[0]));
		tree_done(&tree);
		limits.max_nodes = 4001;
		assert_int_equal(tree_build(&stacks, &limits, &tree), 0);
		assert_int_equal(tree.n_nodes, 4001);
		assert_int_equal(tree.n_elided, 0);
		tree_done(&tree);
		stacks_done(&stacks);
	}
}

/* The child of @parent with this name, or TREE_NONE. */
static uint32_t child_named(const struct tree *tree, uint32_t parent, const char *name)
{
	for (uint32_t i = parent + 1; i < tree->nodes[parent].end; i = tree->nodes[i].end)
		if (strcmp(tree_name(tree, &tree->nodes[i]), name) == 0)
			return i;
	return TREE_NONE;
}

/* The node at this path from the root, with `;` between names. */
static const struct tree_node *node_at(const struct tree *tree, const char *way)
{
	char *copy = strdup(way), *rest = copy;
	uint32_t node = 0;

	for (char *name; (name = strsep(&rest, ";")) && node != TREE_NONE;)
		node = child_named(tree, node, name);
	free(copy);
	return node == TREE_NONE ? NULL : &tree->nodes[node];
}

static void trees_merge_from_leaves(void **state)
{
	static const struct made_sample samples[] = {{"a", "x;leaf", 2}, {"b", "y;leaf", 3}};
	struct stacks stacks =
		stacks_of(MADE(PROFILE_ONCPU, samples), &(struct stacks_options){.reverse = true});
	struct tree tree = tree_of(&stacks);

	assert_int_equal(tree_total(node_at(&tree, "leaf")), 5);
	assert_int_equal(tree_total(node_at(&tree, "leaf;y;b")), 3);
	assert_int_equal(node_at(&tree, "leaf") - tree.nodes, 1);
	assert_int_equal(tree.nodes[1].end, tree.n_nodes);
	tree_done(&tree);
	stacks_done(&stacks);
}

static void sums_past_64_bits_are_refused(void **state)
{
	static const struct made_sample samples[] = {{"a", "x", UINT64_MAX}, {"b", "y", 1}};
	struct profile *profile = MADE(PROFILE_ONCPU, samples);
	struct stacks stacks;

	assert_int_equal(stacks_init(&stacks, &by_default), 0);
	assert_int_equal(stacks_add(&stacks, profile, SIDE_NEW), -EOVERFLOW);
	stacks_done(&stacks);
	profile_free(profile);
}

static void sides_show_what_ran(void **state)
{
	struct stacks stacks = stacks_of(MADE(PROFILE_WALL, both), &by_default);
	struct tree tree = tree_of(&stacks);

	assert_int_equal(tree_total(&tree.nodes[0]), 25750 * MS);
	assert_int_equal(tree.nodes[0].sides[SIDE_RUNNING].total, 5000 * MS);
	assert_int_equal(tree.nodes[0].sides[SIDE_WAITING].total, 20750 * MS);
	assert_int_equal(node_at(&tree, "db;main;query")->sides[SIDE_RUNNING].total, 5000 * MS);
	assert_int_equal(tree_total(node_at(&tree, "db;main;query")), 6500 * MS);
	assert_int_equal(tree_total(node_at(&tree, "db;main;query;pread")), 3500 * MS);
	assert_int_equal(node_at(&tree, "db;main;query;pread")->sides[SIDE_RUNNING].total,
			 2000 * MS);
	tree_done(&tree);
	stacks_done(&stacks);
}

/* Folded waits stay under their frame, with everything else reversed. */
static void reversed_trees_keep_idle_waits_together(void **state)
{
	struct stacks_options options = {.unfold.fold_idle = true, .reverse = true};
	struct stacks stacks = stacks_of(MADE(PROFILE_WALL, both), &options);
	struct tree tree = tree_of(&stacks);

	assert_int_equal(tree_total(node_at(&tree, "[idle]")), 15000 * MS);
	assert_non_null(node_at(&tree, "[idle];[timer]"));
	assert_null(node_at(&tree, "[timer]"));
	assert_non_null(node_at(&tree, "[futex]"));
	tree_done(&tree);
	stacks_done(&stacks);
}

/* Merged from the leaves, a waiting function and a waker of the same name are two nodes. */
static void wakers_are_nodes_of_their_own(void **state)
{
	static const struct made_sample samples[] = {
		{"a", "main", 5, REASON_SLEEP},
		{"b", "main;wait", 7, REASON_PIPE, .wakers = {{"main", ""}}},
	};
	struct stacks_options options = {.unfold = {.waker_depth = 1, .no_reason = true},
					 .reverse = true};
	struct stacks stacks = stacks_of(MADE(PROFILE_OFFCPU, samples), &options);
	struct tree tree = tree_of(&stacks);
	bool waker = false, plain_one = false;

	for (uint32_t i = 1; i < tree.n_nodes; i = tree.nodes[i].end) {
		bool is_waker = stacks.frames[tree.nodes[i].frame].is_waker;

		assert_string_equal(tree_name(&tree, &tree.nodes[i]), "main");
		assert_int_equal(tree_total(&tree.nodes[i]), is_waker ? 7 : 5);
		waker |= is_waker;
		plain_one |= !is_waker;
	}
	assert_true(waker && plain_one);
	tree_done(&tree);
	stacks_done(&stacks);
}

static void flame_charts_keep_the_order(void **state)
{
	static const struct made_sample samples[] = {
		{"z", "x;y", 2}, {"z", "x;b", 3}, {"a", "x", 4}, {"z", "x;y;q", 5}};
	struct stacks stacks =
		stacks_of(MADE(PROFILE_ONCPU, samples), &(struct stacks_options){.in_order = true});
	static const char *const names[] = {"all", "z", "x", "y", "b", "a",
					    "x",   "z", "x", "y", "q"};
	static const uint64_t starts[] = {0, 0, 0, 0, 2, 5, 5, 9, 9, 9, 9};
	struct tree tree = tree_of(&stacks);

	assert_int_equal(tree.n_nodes, COUNT(names));
	for (size_t i = 0; i < COUNT(names); i++) {
		assert_string_equal(tree_name(&tree, &tree.nodes[i]), names[i]);
		assert_int_equal(tree.nodes[i].start, starts[i]);
	}
	tree_done(&tree);
	stacks_done(&stacks);
}

static const struct made_sample chosen[] = {
	{"a", "main;parse;parse;parse;read", 2},
	{"a", "main;draw", 3},
	{"b", "main;parse;draw", 4},
	{"c", "idle", 5},
};

static void some_stacks_are_chosen(void **state)
{
	static const struct {
		struct select_options select;
		struct stacks_options options;
		uint64_t total;
		const char *there, *not_there;
	} cases[] = {
		{{.include = "^dra"}, {}, 7, "a;main;draw", "a;main;parse"},
		{{.exclude = "parse|idle"}, {}, 3, "a;main;draw", "b"},
		{{"draw", "parse"}, {}, 3, "a;main;draw", "b"},
		{{.include = "nothing"}, {}, 0, NULL, "a"},
		{{}, {.merge_recursion = true}, 14, "a;main;parse;read", "a;main;parse;parse"},
		{{}, {.base = "^parse$"}, 14, "parse;parse;parse;read", "b"},
		{{}, {.base = "^parse$", .merge_recursion = true}, 14, "parse;draw", "parse;parse"},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct profile *profile = MADE(PROFILE_ONCPU, chosen);
		struct stacks stacks;
		struct tree tree;

		assert_int_equal(profile_select(profile, &plain, &cases[i].select), 0);
		stacks = stacks_of(profile, &cases[i].options);
		tree = tree_of(&stacks);
		assert_int_equal(tree_total(&tree.nodes[0]), cases[i].total);
		assert_true(!cases[i].there || node_at(&tree, cases[i].there));
		assert_null(node_at(&tree, cases[i].not_there));
		tree_done(&tree);
		stacks_done(&stacks);
	}
}

static void bad_expressions_are_refused(void **state)
{
	static const struct select_options bad[] = {
		{.include = "("}, {.exclude = "["}, {"a", "*("}};
	struct profile *profile = MADE(PROFILE_ONCPU, chosen);
	struct stacks stacks;

	for (size_t i = 0; i < COUNT(bad); i++)
		assert_int_equal(profile_select(profile, &plain, &bad[i]), -EINVAL);
	assert_int_equal(stacks_init(&stacks, &(struct stacks_options){.base = "("}), 0);
	assert_int_equal(stacks_add(&stacks, profile, SIDE_NEW), -EINVAL);
	stacks_done(&stacks);
	profile_free(profile);
}

static void comparisons_have_two_sides(void **state)
{
	static const struct made_sample base[] = {{"a", "main;x", 10}, {"a", "main;gone", 10}},
					new_[] = {{"a", "main;x", 30}, {"a", "main;new", 50}};
	struct stacks stacks = comparison_of(MADE(PROFILE_ONCPU, base), MADE(PROFILE_ONCPU, new_),
					     SCALE_NORMALIZED);
	struct tree tree = tree_of(&stacks);
	const struct tree_node *x = node_at(&tree, "a;main;x");

	expect_good_tree(&tree, 100);
	assert_int_equal(x->sides[SIDE_BASE].total, 10);
	assert_int_equal(x->sides[SIDE_NEW].total, 30);
	/* Rounded down once per stack. */
	assert_in_range(x->width, STACKS_SIDE_WIDTH / 8 * 7 - 2, STACKS_SIDE_WIDTH / 8 * 7);
	assert_int_equal(node_at(&tree, "a;main;gone")->sides[SIDE_NEW].total, 0);
	assert_int_equal(node_at(&tree, "a;main;new")->sides[SIDE_BASE].total, 0);
	assert_true(tree.nodes[0].width <= 2 * STACKS_SIDE_WIDTH &&
		    tree.nodes[0].width >= 2 * STACKS_SIDE_WIDTH - 4);
	tree_done(&tree);
	stacks_done(&stacks);

	stacks =
		comparison_of(MADE(PROFILE_ONCPU, base), MADE(PROFILE_ONCPU, new_), SCALE_ABSOLUTE);
	tree = tree_of(&stacks);
	assert_int_equal(node_at(&tree, "a;main;x")->width, 40);
	tree_done(&tree);
	stacks_done(&stacks);
}

static void an_empty_profile_has_a_root(void **state)
{
	struct tree_limits limits = {1, 1};
	struct stacks stacks;
	struct tree tree;

	stacks = stacks_of(made_profile(PROFILE_WALL, NULL, 0), &by_default);
	assert_int_equal(tree_build(&stacks, &limits, &tree), 0);
	assert_int_equal(tree.n_nodes, 1);
	assert_int_equal(tree.nodes[0].width, 0);
	tree_done(&tree);
	stacks_done(&stacks);
	stacks = comparison_of(made_profile(PROFILE_ONCPU, NULL, 0), MADE(PROFILE_ONCPU, chosen),
			       SCALE_NORMALIZED);
	tree = tree_of(&stacks);
	assert_int_equal(tree.nodes[0].sides[SIDE_NEW].total, 14);
	tree_done(&tree);
	stacks_done(&stacks);
}

/* Many stacks in any order, some very deep: sorted like strings of their numbers. */
static void sorting_is_right(void **state)
{
	uint64_t random = 99;

	for (int turn = 0; turn < 20; turn++) {
		struct stacks stacks;
		uint32_t ranks[4] = {0, 1, 2, 3};
		const uint32_t *const both_ranks[2] = {ranks, ranks};
		uint64_t sum = 0, sorted_sum = 0;

		assert_int_equal(stacks_init(&stacks, &by_default), 0);
		stacks.n_entries = 3000;
		stacks.entries = calloc(stacks.n_entries, sizeof *stacks.entries);
		stacks.ids = calloc(stacks.n_entries * 40, sizeof *stacks.ids);
		for (size_t i = 0; i < stacks.n_entries; i++) {
			stacks.entries[i] = (struct stacks_entry){
				.first = stacks.n_ids, .n = made_random(&random) % 40, .weight = i};
			sum += i;
			for (uint32_t k = 0; k < stacks.entries[i].n; k++)
				stacks.ids[stacks.n_ids++] = made_random(&random) % (turn % 4 + 1);
		}
		stacks_sort(&stacks, both_ranks);
		for (size_t i = 0; i < stacks.n_entries; i++) {
			const struct stacks_entry *a = &stacks.entries[i ? i - 1 : 0],
						  *b = &stacks.entries[i];
			uint32_t k = 0;

			sorted_sum += b->weight;
			while (k < a->n && k < b->n &&
			       stacks.ids[a->first + k] == stacks.ids[b->first + k])
				k++;
			assert_true(k == a->n || (k < b->n && stacks.ids[a->first + k] <
								      stacks.ids[b->first + k]));
		}
		assert_int_equal(sorted_sum, sum);
		stacks_done(&stacks);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trees_are_consistent),
		cmocka_unit_test(limits_elide),
		cmocka_unit_test(limits_are_used),
		cmocka_unit_test(trees_merge_from_leaves),
		cmocka_unit_test(sums_past_64_bits_are_refused),
		cmocka_unit_test(sides_show_what_ran),
		cmocka_unit_test(reversed_trees_keep_idle_waits_together),
		cmocka_unit_test(wakers_are_nodes_of_their_own),
		cmocka_unit_test(flame_charts_keep_the_order),
		cmocka_unit_test(some_stacks_are_chosen),
		cmocka_unit_test(bad_expressions_are_refused),
		cmocka_unit_test(comparisons_have_two_sides),
		cmocka_unit_test(an_empty_profile_has_a_root),
		cmocka_unit_test(sorting_is_right),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
