/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Trees of calls and of callers: the order of their lines and their weights. */
#include "report/call_tree.h"

#include <errno.h>

#include "unit/cmocka_all.h"
#include "unit/made_stacks.h"

struct fixture {
	struct profile *profile;
	struct stacks stacks;
	struct report_source source;
	struct call_tree tree;
};

/* Takes ownership of @profile. @pattern: for a tree of callers; NULL: the tree of calls. */
static void set_up(struct fixture *fixture, struct profile *profile, const char *pattern,
		   double percent)
{
	struct stacks_options options = {};

	fixture->profile = profile;
	made_check(stacks_init(&fixture->stacks, &options), "stacks_init");
	made_check(stacks_add(&fixture->stacks, profile, SIDE_NEW), "stacks_add");
	made_check(stacks_finish(&fixture->stacks, SCALE_ABSOLUTE), "stacks_finish");
	made_check(report_source_init(&fixture->source, &fixture->stacks), "report_source_init");
	made_check(
		pattern ? call_tree_make_callers(&fixture->source, pattern, percent, &fixture->tree)
			: call_tree_make(&fixture->source, percent, &fixture->tree),
		"call_tree_make");
}

static void tear_down(struct fixture *fixture)
{
	call_tree_done(&fixture->tree);
	report_source_done(&fixture->source);
	stacks_done(&fixture->stacks);
	profile_free(fixture->profile);
}

/*
 * Lines as `LEVEL[+|-] NAME TOTAL SELF`: + is a branch, - the last one; `(N)`: N elided siblings.
 */
static void expect(struct fixture *fixture, const char *expected)
{
	const struct call_tree *call_tree = &fixture->tree;
	const struct tree *tree = &call_tree->tree;
	char *text;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	for (size_t i = 0; i < call_tree->n_lines; i++) {
		const struct call_line *line = &call_tree->lines[i];
		const struct tree_node *node = &tree->nodes[line->node];

		fprintf(stream, "%u%s %s %d %d", line->level,
			!line->is_branch ? ""
			: line->is_last	 ? "-"
					 : "+",
			tree_name(tree, node), (int)tree_total(node), (int)tree_self(node));
		if (line->elided != TREE_NONE)
			fprintf(stream, " (%d)", (int)tree->nodes[line->elided].n_elided);
		fputc('\n', stream);
	}
	fclose(stream);
	assert_string_equal(text, expected);
	free(text);
	tear_down(fixture);
}

static const struct made_sample calls[] = {
	{"sh", "main;f;g", 40, .pid = 1, .tid = 1},  {"sh", "main;f;g;f;h", 20, .pid = 1, .tid = 1},
	{"sh", "main;a;g", 30, .pid = 1, .tid = 1},  {"sh", "main;x", 1, .pid = 1, .tid = 1},
	{"sh", "main;a;y;z", 2, .pid = 1, .tid = 1}, {"cat", "main;f", 5, .pid = 1, .tid = 1},
	{"tr", "main", 2, .pid = 1, .tid = 1},
};

static void heaviest_first(void **state)
{
	struct fixture fixture;

	set_up(&fixture, MADE(PROFILE_ONCPU, calls), NULL, 0);
	expect(&fixture, "0+ sh 93 0\n"
			 "0 main 93 0\n"
			 "1+ f 60 0\n"
			 "1 g 60 40\n"
			 "1 f 20 0\n"
			 "1 h 20 20\n"
			 "1+ a 32 0\n"
			 "2+ g 30 30\n"
			 "2- y 2 0\n"
			 "2 z 2 2\n"
			 "1- x 1 1\n"
			 "0+ cat 5 0\n"
			 "0 main 5 0\n"
			 "0 f 5 5\n"
			 "0- tr 2 0\n"
			 "0 main 2 2\n");
}

/* An only child's elided siblings appear with its parent; otherwise they are the last branch. */
static void elided_ones(void **state)
{
	struct fixture fixture;

	set_up(&fixture, MADE(PROFILE_ONCPU, calls), NULL, 4);
	expect(&fixture, "0+ sh 93 0\n"
			 "0 main 93 0\n"
			 "1+ f 60 0\n"
			 "1 g 60 40\n"
			 "1 f 20 0\n"
			 "1 h 20 20\n"
			 "1+ a 32 0 (2)\n"
			 "1 g 30 30\n"
			 "1- [elided] 1 1\n"
			 "0+ cat 5 0\n"
			 "0 main 5 0\n"
			 "0 f 5 5\n"
			 "0- [elided] 2 2\n");
	set_up(&fixture, MADE(PROFILE_ONCPU, calls), NULL, 100);
	expect(&fixture, "0- [elided] 100 100\n");
}

static void outermost_match_counts(void **state)
{
	struct fixture fixture;

	set_up(&fixture, MADE(PROFILE_ONCPU, calls), "^[fx]$", 0);
	expect(&fixture, "0+ f 65 0\n"
			 "0 main 65 0\n"
			 "1+ sh 60 60\n"
			 "1- cat 5 5\n"
			 "0- x 1 0\n"
			 "0 main 1 0\n"
			 "0 sh 1 1\n");
	set_up(&fixture, MADE(PROFILE_ONCPU, calls), "g", 0);
	expect(&fixture, "0- g 90 0\n"
			 "1+ f 60 0\n"
			 "1 main 60 0\n"
			 "1 sh 60 60\n"
			 "1- a 30 0\n"
			 "1 main 30 0\n"
			 "1 sh 30 30\n");
	/* Commands are not functions. */
	set_up(&fixture, MADE(PROFILE_ONCPU, calls), "sh|cat", 0);
	expect(&fixture, "");
}

static void reasons_match_and_wakers_do_not(void **state)
{
	struct profile *profile = MADE(PROFILE_WALL, both);
	struct fixture fixture;

	set_up(&fixture, profile, "futex\\]|unlock", 0);
	assert_int_equal(tree_total(&fixture.tree.tree.nodes[0]), 4000 * MS);
	assert_string_equal(
		tree_name(&fixture.tree.tree, &fixture.tree.tree.nodes[fixture.tree.lines[0].node]),
		"[futex]");
	tear_down(&fixture);
}

static void bad_expression(void **state)
{
	struct fixture fixture;
	struct call_tree tree;

	set_up(&fixture, MADE(PROFILE_ONCPU, calls), NULL, 0);
	assert_int_equal(call_tree_make_callers(&fixture.source, "[", 0, &tree), -EINVAL);
	tear_down(&fixture);
}

/* The weight of all stacks that contain this frame of code. */
static uint64_t weight_with(const struct stacks *stacks, const char *part)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < stacks->n_entries; i++) {
		const struct stacks_entry *entry = &stacks->entries[i];
		uint32_t k = 0;

		while (k < entry->n &&
		       (stacks->frames[stacks->ids[entry->first + k]].kind == FRAME_NOTE ||
			!strstr(stacks_name(stacks, stacks->ids[entry->first + k]), part)))
			k++;
		sum += k < entry->n ? entry->weight : 0;
	}
	return sum;
}

/*
 * A node's weight is its own plus its children's; every node has one line or is counted as elided.
 */
static void expect_sums(const struct call_tree *call_tree)
{
	const struct tree_node *nodes = call_tree->tree.nodes;
	size_t n = call_tree->tree.n_nodes, counted = 1;

	for (size_t i = 0; i < n; i++) {
		uint64_t sum = tree_self(&nodes[i]);

		for (size_t k = i + 1; k < nodes[i].end; k = nodes[k].end)
			sum += tree_total(&nodes[k]);
		assert_int_equal(sum, tree_total(&nodes[i]));
	}
	for (size_t i = 0; i < call_tree->n_lines; i++)
		counted += 1 + (call_tree->lines[i].elided != TREE_NONE);
	assert_int_equal(counted, n);
}

static void random_stacks(void **state)
{
	static const char *const parts[] = {"a", "b", " ", ":", "zz"};

	for (uint64_t seed = 1; seed <= 20; seed++) {
		const char *part = parts[seed % COUNT(parts)];
		struct fixture fixture;

		set_up(&fixture, random_profile(seed), NULL, seed % 3);
		assert_int_equal(tree_total(&fixture.tree.tree.nodes[0]), fixture.source.whole);
		expect_sums(&fixture.tree);
		tear_down(&fixture);
		set_up(&fixture, random_profile(seed), part, seed % 3);
		assert_int_equal(tree_total(&fixture.tree.tree.nodes[0]),
				 weight_with(&fixture.stacks, part));
		expect_sums(&fixture.tree);
		tear_down(&fixture);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(heaviest_first),
		cmocka_unit_test(elided_ones),
		cmocka_unit_test(outermost_match_counts),
		cmocka_unit_test(reasons_match_and_wakers_do_not),
		cmocka_unit_test(bad_expression),
		cmocka_unit_test(random_stacks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
