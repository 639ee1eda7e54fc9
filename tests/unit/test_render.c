/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Folded lines, and what pictures are made of, from profiles made by hand.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "render/layout.h"
#include "render/render.h"
#include "render/text.h"
#include "render/tree.h"
#include "unit/made_stacks.h"

static char *folded(struct profile *profile, const struct unfold_options *unfold)
{
	char *text;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	assert_int_equal(render_folded(profile, unfold, stream), 0);
	fclose(stream);
	return text;
}

/* Frees @profile. */
static void expect_folded(struct profile *profile, const struct unfold_options *unfold,
			  const char *expected)
{
	char *text = folded(profile, unfold);

	assert_string_equal(text, expected);
	free(text);
	profile_free(profile);
}

/* Folded lines */

static void folded_oncpu(void **state)
{
	expect_folded(MADE(PROFILE_ONCPU, mixed), &plain,
		      "[unknown] 6\n"
		      "sh 2\n"
		      "sh;[truncated];loop 5\n"
		      "sh;main;inner_[i];run_[j] 1\n"
		      "sh;main;read;vfs_read_[k] 7\n");
}

static void folded_options(void **state)
{
	expect_folded(MADE(PROFILE_ONCPU, mixed),
		      &(struct unfold_options){.threads = true, .no_inline = true},
		      "-9/9 6\n"
		      "sh-7/7 2\n"
		      "sh-7/7;[truncated];loop 5\n"
		      "sh-7/7;main;read;vfs_read_[k] 3\n"
		      "sh-7/7;main;run_[j] 1\n"
		      "sh-7/8;main;read;vfs_read_[k] 4\n");
}

static void folded_offcpu(void **state)
{
	static const struct made_sample samples[] = {
	    {"a", "f", 400, REASON_SLEEP, 1, 1}, /* three times 0.4 us are 1.2 us */
	    {"a", "f", 400, REASON_SLEEP, 1, 2},       {"a", "f", 400, REASON_SLEEP, 1, 3},
	    {"a", "f", 1500, REASON_DISK, 1, 1},       {"a", "f", 499, REASON_STOPPED, 1, 1},
	    {"a", "", 2000000, REASON_RUNQUEUE, 1, 1}, {"a", "g", 3000, REASON_PREEMPTED, 1, 1},
	};

	expect_folded(MADE(PROFILE_OFFCPU, samples), &plain,
		      "a;[runqueue] 2000\n"
		      "a;f;[disk] 2\n"
		      "a;f;[sleep] 1\n"
		      "a;g;[preempted] 3\n");
	expect_folded(MADE(PROFILE_OFFCPU, samples), &(struct unfold_options){.no_reason = true},
		      "a 2000\n"
		      "a;f 3\n"
		      "a;g 3\n");
}

static void folded_names(void **state)
{
	struct profile *profile = made_profile(PROFILE_ONCPU, NULL, 0);
	struct made_sample sample = {"a;b\n", "", 1};
	uint32_t locations[2] = {made_location(profile, FRAME_KERNEL, "x;y\t\x7f"),
				 made_location(profile, FRAME_USER, "n\xc3\xa9 \xff")};

	made_add_locations(profile, &sample, locations, 2);
	/* Different names, equal text. */
	sample.comm = "a:b?";
	locations[0] = made_location(profile, FRAME_USER, "x:y??_[k]");
	made_add_locations(profile, &sample, locations, 2);
	expect_folded(profile, &plain, "a:b?;n\xc3\xa9 \xff;x:y??_[k] 2\n");
}

/* What follows a frame's name sorts by its byte, `;` or not. */
static void folded_order(void **state)
{
	static const struct made_sample samples[] = {
	    {"a", "", 1},  {"a", "z", 1},  {"a b", "x", 1},  {"a b", "", 1},	   {"a!", "y", 1},
	    {"ab", "", 1}, {"a<", "q", 1}, {"a b c", "", 1}, {"a\xc3\xa9", "", 1},
	};

	expect_folded(MADE(PROFILE_ONCPU, samples), &plain,
		      "a 1\n"
		      "a b 1\n"
		      "a b c 1\n"
		      "a b;x 1\n"
		      "a!;y 1\n"
		      "a;z 1\n"
		      "a<;q 1\n"
		      "ab 1\n"
		      "a\xc3\xa9 1\n");
}

static void folded_empty(void **state)
{
	expect_folded(made_profile(PROFILE_ONCPU, NULL, 0), &plain, "");
}

static void folded_wall(void **state)
{
	expect_folded(MADE(PROFILE_WALL, both), &plain,
		      "cron;main;sleep;nanosleep_[k];[timer] 9000000\n"
		      "db;main;accept;epoll_wait_[k];[poll] 6000000\n"
		      "db;main;lock;futex_wait_[k];[futex] 4000000\n"
		      "db;main;lock;futex_wait_[k];[runqueue] 250000\n"
		      "db;main;query;pread;copy_page_[k];[on-cpu] 2000000\n"
		      "db;main;query;pread;io_schedule_[k];[disk] 1500000\n"
		      "db;main;query;scan;[on-cpu] 3000000\n");
	expect_folded(MADE(PROFILE_WALL, both),
		      &(struct unfold_options){.waker_depth = 8, .fold_idle = true},
		      "[idle];cron;main;sleep;nanosleep_[k];[timer] 9000000\n"
		      "[idle];db;main;accept;epoll_wait_[k];[poll] 6000000\n"
		      "db;main;lock;futex_wait_[k];[futex];--;futex_wake_[k];unlock;main;db-7;--;"
		      "send;[truncated];client 4000000\n"
		      "db;main;lock;futex_wait_[k];[runqueue] 250000\n"
		      "db;main;query;pread;copy_page_[k];[on-cpu] 2000000\n"
		      "db;main;query;pread;io_schedule_[k];[disk];--;nvme_irq_[k];irq_[k];"
		      "[interrupt] 1500000\n"
		      "db;main;query;scan;[on-cpu] 3000000\n");
}

/* Trees */

static void expect_good_node(const struct tree *tree, const struct strings *strings, uint32_t index)
{
	const struct tree_node *node = &tree->nodes[index], *before = NULL;
	uint64_t start = node->start, children = 0;

	for (uint32_t i = node->first_child; i != TREE_NONE; i = tree->nodes[i].next) {
		const struct tree_node *child = &tree->nodes[i];

		assert_int_equal(child->parent, index);
		assert_int_equal(child->depth, node->depth + 1);
		assert_int_equal(child->start, start);
		start += child->total;
		children += child->total;
		if (before) {
			int order = strcmp(strings_get(strings, before->name),
					   strings_get(strings, child->name));

			assert_true(order < 0 || (order == 0 && before->kind < child->kind));
		}
		before = child;
	}
	assert_int_equal(children + node->self, node->total);
}

static void tree_is_consistent(void **state)
{
	for (uint64_t seed = 1; seed < 30; seed++) {
		struct profile *profile = random_profile(seed);
		uint64_t sum = 0, n = 0;
		struct tree tree;

		for (size_t i = 0; i < profile->n_samples; i++)
			sum += profile->samples[i].count;
		assert_int_equal(tree_build(profile, &plain, seed % 2, &tree), 0);
		assert_int_equal(tree.nodes[0].total, sum);
		for (uint32_t i = 0; i < tree.n_nodes; i++)
			expect_good_node(&tree, &profile->strings, i);
		for (uint32_t i = 0; i != TREE_NONE; i = tree_walk(&tree, i, true))
			n++;
		assert_int_equal(n, tree.n_nodes);
		tree_done(&tree);
		profile_free(profile);
	}
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Of each line, without its value. */
static void folded_is_sorted_and_distinct(void **state)
{
	for (uint64_t seed = 1; seed < 10; seed++) {
		struct profile *profile = random_profile(seed);
		char *text = folded(profile, &plain), *rest = text, *before = NULL;
		uint64_t sum = 0, expected = 0;

		for (size_t i = 0; i < profile->n_samples; i++)
			expected += profile->samples[i].count;
		for (char *line; (line = strsep(&rest, "\n")) && *line; before = line) {
			char *space = strrchr(line, ' ');

			sum += strtoull(space + 1, NULL, 10);
			*space = '\0';
			assert_true(!before || compare_lines(&before, &line) < 0);
		}
		assert_int_equal(sum, expected);
		free(text);
		profile_free(profile);
	}
}

static void tree_merges_from_leaves(void **state)
{
	static const struct made_sample samples[] = {{"a", "x;leaf", 2}, {"b", "y;leaf", 3}};
	struct profile *profile = MADE(PROFILE_ONCPU, samples);
	struct tree tree;
	uint32_t leaf;

	assert_int_equal(tree_build(profile, &plain, true, &tree), 0);
	leaf = tree.nodes[0].first_child;
	assert_string_equal(strings_get(&profile->strings, tree.nodes[leaf].name), "leaf");
	assert_int_equal(tree.nodes[leaf].total, 5);
	assert_int_equal(tree.nodes[leaf].next, TREE_NONE);
	tree_done(&tree);
	profile_free(profile);
}

static void tree_refuses_overflow(void **state)
{
	struct named_frame frame = {FRAME_USER, 0};
	struct tree tree;

	assert_int_equal(tree_init(&tree), 0);
	assert_int_equal(tree_add(&tree, &frame, 1, UINT64_MAX, true), 0);
	assert_int_equal(tree_add(&tree, &frame, 1, 1, true), -EOVERFLOW);
	tree_done(&tree);
}

/* A node of the name that is the first of its parent's, or TREE_NONE. */
static uint32_t child_named(const struct tree *tree, const struct strings *strings, uint32_t parent,
			    const char *name)
{
	uint32_t i = tree->nodes[parent].first_child;

	while (i != TREE_NONE && strcmp(strings_get(strings, tree->nodes[i].name), name) != 0)
		i = tree->nodes[i].next;
	return i;
}

static void tree_knows_what_ran(void **state)
{
	struct profile *profile = MADE(PROFILE_WALL, both);
	struct tree tree;
	uint32_t node = 0;

	assert_int_equal(tree_build(profile, &plain, false, &tree), 0);
	assert_int_equal(tree.nodes[0].total, 25750 * MS);
	assert_int_equal(tree.nodes[0].running, 5000 * MS);
	node = child_named(&tree, &profile->strings, node, "db");
	assert_int_equal(tree.nodes[node].running, 5000 * MS);
	node = child_named(&tree, &profile->strings, node, "main");
	node = child_named(&tree, &profile->strings, node, "query");
	assert_int_equal(tree.nodes[node].total, 6500 * MS);
	assert_int_equal(tree.nodes[node].running, 5000 * MS);
	node = child_named(&tree, &profile->strings, node, "pread");
	assert_int_equal(tree.nodes[node].total, 3500 * MS);
	assert_int_equal(tree.nodes[node].running, 2000 * MS);
	tree_done(&tree);
	profile_free(profile);
}

/* What is folded stays under its frame, with all else reversed. */
static void reversed_tree_keeps_idle_waits_together(void **state)
{
	static const struct unfold_options fold = {.fold_idle = true};
	struct profile *profile = MADE(PROFILE_WALL, both);
	struct tree tree;
	uint32_t idle;

	assert_int_equal(tree_build(profile, &fold, true, &tree), 0);
	idle = child_named(&tree, &profile->strings, 0, "[idle]");
	assert_int_not_equal(idle, TREE_NONE);
	assert_int_equal(tree.nodes[idle].total, 15000 * MS);
	assert_int_not_equal(child_named(&tree, &profile->strings, idle, "[timer]"), TREE_NONE);
	assert_int_equal(child_named(&tree, &profile->strings, 0, "[timer]"), TREE_NONE);
	assert_int_not_equal(child_named(&tree, &profile->strings, 0, "[futex]"), TREE_NONE);
	tree_done(&tree);
	profile_free(profile);
}

/* Merged from the leaves, one that waited and a waker of the same name are two. */
static void wakers_are_nodes_of_their_own(void **state)
{
	static const struct unfold_options options = {.waker_depth = 1, .no_reason = true};
	static const struct made_sample samples[] = {
	    {"a", "main", 5, REASON_SLEEP},
	    {"b", "main;wait", 7, REASON_PIPE, .wakers = {{"main", ""}}},
	};
	struct profile *profile = MADE(PROFILE_OFFCPU, samples);
	struct tree tree;
	bool waker = false, plain_one = false;

	assert_int_equal(tree_build(profile, &options, true, &tree), 0);
	for (uint32_t i = tree.nodes[0].first_child; i != TREE_NONE; i = tree.nodes[i].next) {
		assert_string_equal(strings_get(&profile->strings, tree.nodes[i].name), "main");
		assert_int_equal(tree.nodes[i].total, tree.nodes[i].is_waker ? 7 : 5);
		waker |= tree.nodes[i].is_waker;
		plain_one |= !tree.nodes[i].is_waker;
	}
	assert_true(waker && plain_one);
	tree_done(&tree);
	profile_free(profile);
}

static void layout_leaves_narrow_out(void **state)
{
	static const struct made_sample samples[] = {
	    {"a", "wide;x", 995}, {"a", "narrow;y;z", 4}, {"b", "", 1}};
	struct profile *profile = MADE(PROFILE_ONCPU, samples);
	struct layout layout;
	struct tree tree;

	assert_int_equal(tree_build(profile, &plain, false, &tree), 0);
	assert_int_equal(layout_make(&tree, 1000, 5, &layout), 0);
	assert_int_equal(layout.n_rows, 4);
	for (size_t d = 0; d <= layout.n_rows; d++)
		assert_int_equal(layout.rows[d], d);
	layout_done(&layout);
	assert_int_equal(layout_make(&tree, 1000, 0, &layout), 0);
	assert_int_equal(layout.n_rows, 5);
	assert_int_equal(layout.rows[layout.n_rows], tree.n_nodes);
	layout_done(&layout);
	tree_done(&tree);
	profile_free(profile);
}

/* Text */

static void expect_text(const char *name, size_t columns, const char *expected)
{
	char *text;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	text_write(stream, name, columns);
	fclose(stream);
	assert_string_equal(text, expected);
	free(text);
}

#define R "\xef\xbf\xbd"

static void text_is_escaped(void **state)
{
	expect_text("<a href=\"x\">&'", SIZE_MAX, "&lt;a href=&quot;x&quot;&gt;&amp;'");
	expect_text("a\nb\tc\x01", SIZE_MAX, "a b c" R);
	expect_text("\xc3\xa9\xe6\xbc\xa2\xf0\x9f\x94\xa5", SIZE_MAX,
		    "\xc3\xa9\xe6\xbc\xa2\xf0\x9f\x94\xa5");
	expect_text("\xff\xc0\xaf\xed\xa0\x80", SIZE_MAX, R R R R);
	expect_text("\xef\xbf\xbe\xef\xbf\xbf\xe2\x80\xae", SIZE_MAX, R R R);
	expect_text("\xe2\x82", SIZE_MAX, R R);
	expect_text("\xf4\x90\x80\x80", SIZE_MAX, R R R R);
}

static void text_is_cut(void **state)
{
	expect_text("abcdef", 6, "abcdef");
	expect_text("abcdef", 5, "abcd\u2026");
	expect_text("&&&&", 3, "&amp;&amp;\u2026");
	expect_text("\xe6\xbc\xa2\xe5\xad\x97", 4, "\xe6\xbc\xa2\xe5\xad\x97");
	expect_text("\xe6\xbc\xa2\xe5\xad\x97", 3, "\xe6\xbc\xa2\u2026");
	expect_text("abc", 0, "");
}

static void figures_for_people(void **state)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} times[] = {
	    {0, "0 ns"},	   {999, "999 ns"},	    {1000, "1.00 µs"},
	    {12345, "12.3 µs"},	   {999999, "999 µs"},	    {4560000, "4.56 ms"},
	    {999700000, "999 ms"}, {61000000000, "61.0 s"}, {1234567000000, "1,235 s"},
	};
	char text[TEXT_FIGURE_SIZE];

	for (size_t i = 0; i < COUNT(times); i++) {
		text_time(text, times[i].ns);
		assert_string_equal(text, times[i].text);
	}
	text_count(text, 999);
	assert_string_equal(text, "999");
	text_count(text, UINT64_MAX);
	assert_string_equal(text, "18,446,744,073,709,551,615");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(folded_oncpu),
	    cmocka_unit_test(folded_options),
	    cmocka_unit_test(folded_offcpu),
	    cmocka_unit_test(folded_names),
	    cmocka_unit_test(folded_order),
	    cmocka_unit_test(folded_empty),
	    cmocka_unit_test(folded_wall),
	    cmocka_unit_test(folded_is_sorted_and_distinct),
	    cmocka_unit_test(tree_is_consistent),
	    cmocka_unit_test(tree_merges_from_leaves),
	    cmocka_unit_test(tree_refuses_overflow),
	    cmocka_unit_test(tree_knows_what_ran),
	    cmocka_unit_test(reversed_tree_keeps_idle_waits_together),
	    cmocka_unit_test(wakers_are_nodes_of_their_own),
	    cmocka_unit_test(layout_leaves_narrow_out),
	    cmocka_unit_test(text_is_escaped),
	    cmocka_unit_test(text_is_cut),
	    cmocka_unit_test(figures_for_people),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
