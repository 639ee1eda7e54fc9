/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Comparisons of two programs with one command each, and of those that have more. */
#include "cmocka_all.h"

#include "compare/commands.h"
#include "unit/made_stacks.h"

static void add(struct stacks *stacks, enum stacks_side side, const struct made_sample *samples,
		size_t n)
{
	struct profile *profile = made_profile(PROFILE_ONCPU, samples, n);

	assert_int_equal(stacks_add(stacks, profile, side), 0);
	profile_free(profile);
}

/* Compares @n_base and @n_new runs, each with the command of the same index; aligned. */
static struct stacks compare_runs(const struct stacks_options *options, const char *const *base,
				  size_t n_base, const char *const *new_, size_t n_new)
{
	struct stacks stacks;

	assert_int_equal(stacks_init(&stacks, options), 0);
	for (size_t i = 0; i < n_base + n_new; i++) {
		bool is_base = i < n_base;
		const char *comm = is_base ? base[i] : new_[i - n_base];
		const struct made_sample samples[] = {
			{comm, "main;f", 3, .pid = 1, .tid = 1},
			{comm, "main;g", 2, .pid = 1, .tid = 1, .is_idle = true},
		};

		add(&stacks, is_base ? SIDE_BASE : SIDE_NEW, samples, COUNT(samples));
	}
	assert_int_equal(commands_align(&stacks), 0);
	assert_int_equal(stacks_finish(&stacks, SCALE_NORMALIZED), 0);
	return stacks;
}

/* Whether @name is the command of all stacks: at the root, or after [idle], or last. */
static bool has_only(const struct stacks *stacks, const char *name)
{
	for (size_t i = 0; i < stacks->n_entries; i++) {
		const struct stacks_entry *entry = &stacks->entries[i];
		const uint32_t *ids = stacks->ids + entry->first;
		uint32_t at = stacks->options.reverse ? entry->n - 1
						      : stacks_is_mark(stacks, ids[0], MARK_IDLE);

		if (strcmp(stacks_name(stacks, ids[at]), name) != 0)
			return false;
	}
	return stacks->n_entries > 0;
}

#define RUNS(...) (const char *const[]){__VA_ARGS__}, COUNT(((const char *const[]){__VA_ARGS__}))

static void only_commands_are_one(void **state)
{
	const struct stacks_options options[] = {
		{},
		{.reverse = true},
		{.in_order = true},
		{.unfold.fold_idle = true},
		{.unfold.fold_idle = true, .reverse = true},
	};

	for (size_t i = 0; i < COUNT(options); i++) {
		struct stacks stacks =
			compare_runs(&options[i], RUNS("v1", "v1"), RUNS("v2", "v2"));

		assert_true(has_only(&stacks, "v1 \u2192 v2"));
		/* Equal stacks of both sides are neighbours: their frames are the same. */
		if (!options[i].in_order)
			for (size_t k = 0; k < stacks.n_entries; k += 4)
				for (size_t m = 1; m < 4; m++)
					assert_memory_equal(
						stacks.ids + stacks.entries[k].first,
						stacks.ids + stacks.entries[k + m].first,
						stacks.entries[k].n * sizeof *stacks.ids);
		stacks_done(&stacks);
	}
}

static void equal_commands_keep_their_name(void **state)
{
	static const char text[] =
		"a command of other tools: a name with more than a hundred bytes, "
		"such as a whole line of a shell and its arguments";
	struct stacks stacks = compare_runs(&(struct stacks_options){}, RUNS(text), RUNS(text));

	assert_true(has_only(&stacks, text));
	stacks_done(&stacks);
}

/* Whatever the order of the runs. */
static void several_commands_are_kept(void **state)
{
	static const char *const sides[][2][2] = {
		{{"a", "a"}, {"b", "c"}},
		{{"a", "a"}, {"c", "b"}},
		{{"a", "b"}, {"c", "c"}},
		{{"a", "b"}, {"b", "a"}},
	};

	for (size_t i = 0; i < COUNT(sides); i++) {
		struct stacks stacks =
			compare_runs(&(struct stacks_options){}, sides[i][0], 2, sides[i][1], 2);

		for (size_t k = 0; k < stacks.n_entries; k++) {
			uint32_t root = stacks.ids[stacks.entries[k].first];

			assert_int_equal(strlen(stacks_name(&stacks, root)), 1);
		}
		stacks_done(&stacks);
	}
}

static void threads_are_kept(void **state)
{
	struct stacks stacks = compare_runs(&(struct stacks_options){.unfold.threads = true},
					    RUNS("a"), RUNS("b"));

	assert_string_equal(stacks_name(&stacks, stacks.ids[stacks.entries[0].first]), "a-1/1");
	stacks_done(&stacks);
}

static void an_empty_side_has_no_command(void **state)
{
	struct stacks stacks;

	assert_int_equal(stacks_init(&stacks, &(struct stacks_options){}), 0);
	add(&stacks, SIDE_BASE, NULL, 0);
	add(&stacks, SIDE_NEW, mixed, 1);
	assert_int_equal(commands_align(&stacks), 0);
	assert_int_equal(stacks_finish(&stacks, SCALE_NORMALIZED), 0);
	assert_true(has_only(&stacks, "sh"));
	stacks_done(&stacks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_commands_are_one),
		cmocka_unit_test(equal_commands_keep_their_name),
		cmocka_unit_test(several_commands_are_kept),
		cmocka_unit_test(threads_are_kept),
		cmocka_unit_test(an_empty_side_has_no_command),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
