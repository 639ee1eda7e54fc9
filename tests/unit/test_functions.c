/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Weights of functions: exact ones, and those of random stacks against a naive count. */
#include "core/functions.h"

#include <math.h>

#include "unit/cmocka_all.h"
#include "unit/made_stacks.h"

/* Frees @profile. */
static void read_profile(struct profile *profile, const struct unfold_options *unfold, bool finish,
			 struct stacks *stacks)
{
	struct stacks_options options = {.unfold = *unfold};

	made_check(stacks_init(stacks, &options), "stacks_init");
	made_check(stacks_add(stacks, profile, SIDE_NEW), "stacks_add");
	if (finish)
		made_check(stacks_finish(stacks, SCALE_ABSOLUTE), "stacks_finish");
	profile_free(profile);
}

/* The weights of the only frame with this name. */
static const struct tree_side *sides_of(const struct stacks *stacks,
					const struct functions *functions, const char *name)
{
	const struct tree_side *found = NULL;

	for (size_t i = 0; i < stacks->n_frames; i++)
		if (strcmp(stacks_name(stacks, i), name) == 0) {
			assert_null(found);
			found = functions->frames[i];
		}
	assert_non_null(found);
	return found;
}

static void expect(const struct stacks *stacks, const struct functions *functions, const char *name,
		   uint64_t self, uint64_t total)
{
	const struct tree_side *sides = sides_of(stacks, functions, name);

	assert_int_equal(sides[SIDE_NEW].self, self);
	assert_int_equal(sides[SIDE_NEW].total, total);
}

/* Each frame is a group of its own. */
static void count_each(const struct stacks *stacks, struct functions *functions)
{
	uint32_t *groups = malloc((stacks->n_frames + 1) * sizeof *groups);

	assert_non_null(groups);
	for (size_t i = 0; i < stacks->n_frames; i++)
		groups[i] = i;
	assert_int_equal(functions_count_groups(stacks, groups, stacks->n_frames, functions), 0);
	free(groups);
}

static void exact(bool finish)
{
	static const struct made_sample samples[] = {
		{"sh", "main;f;g", 10, .pid = 1, .tid = 1},
		{"sh", "main;f;g;f", 5, .pid = 1, .tid = 1},
		{"sh", "main;f;f;f", 3, .pid = 1, .tid = 1},
		{"sh", "main", 2, .pid = 1, .tid = 1},
		{"cat", "main;g", 7, .pid = 1, .tid = 1},
		{"cat", "", 4, .pid = 1, .tid = 1},
	};
	struct functions functions;
	struct stacks stacks;

	read_profile(MADE(PROFILE_ONCPU, samples), &plain, finish, &stacks);
	count_each(&stacks, &functions);
	assert_int_equal(functions.n, stacks.n_frames);
	expect(&stacks, &functions, "f", 8, 18); /* recursion counts once */
	expect(&stacks, &functions, "g", 17, 22);
	expect(&stacks, &functions, "main", 2, 27);
	expect(&stacks, &functions, "sh", 0, 20);
	expect(&stacks, &functions, "cat", 4, 11);
	/* On-CPU, the variance of a count is the count. */
	assert_true(fabs(sides_of(&stacks, &functions, "f")[SIDE_NEW].total_variance - 18) < 1e-6);
	assert_true(fabs(sides_of(&stacks, &functions, "f")[SIDE_NEW].self_variance - 8) < 1e-6);
	functions_done(&functions);
	stacks_done(&stacks);
}

static void recursion_counts_once(void **state)
{
	exact(false);
	exact(true);
}

static void sides_stay_apart(void **state)
{
	struct functions functions;
	struct stacks stacks;
	const struct tree_side *sides;

	read_profile(MADE(PROFILE_WALL, both), &plain, true, &stacks);
	count_each(&stacks, &functions);
	sides = sides_of(&stacks, &functions, "query");
	assert_int_equal(sides[SIDE_RUNNING].total, 5000 * MS);
	assert_int_equal(sides[SIDE_WAITING].total, 1500 * MS);
	assert_int_equal(sides[SIDE_RUNNING].self + sides[SIDE_WAITING].self, 0);
	sides = sides_of(&stacks, &functions, "[futex]");
	assert_int_equal(sides[SIDE_RUNNING].total, 0);
	assert_int_equal(sides[SIDE_WAITING].self, 4000 * MS);
	functions_done(&functions);
	stacks_done(&stacks);
}

static void nothing(void **state)
{
	struct functions functions;
	struct stacks stacks;

	read_profile(made_profile(PROFILE_ONCPU, NULL, 0), &plain, true, &stacks);
	count_each(&stacks, &functions);
	assert_int_equal(functions.n, 0);
	functions_done(&functions);
	assert_int_equal(functions_count_groups(&stacks, NULL, 0, &functions), 0);
	functions_done(&functions);
	functions_done(&functions);
	stacks_done(&stacks);
}

/* Puts each frame into a group by the beginning of its name. */
static uint32_t *group_by_name(const struct stacks *stacks, const char *beginnings)
{
	uint32_t *groups = malloc((stacks->n_frames + 1) * sizeof *groups);

	for (size_t i = 0; i < stacks->n_frames; i++) {
		const char *at = strchr(beginnings, stacks_name(stacks, i)[0]);

		groups[i] = at && *at ? at - beginnings : UINT32_MAX;
	}
	return groups;
}

static void groups_count_once(void **state)
{
	static const struct made_sample samples[] = {
		{"sh", "a1;a2;b1;x", 10, .pid = 1, .tid = 1}, /* x is in no group: b's self */
		{"sh", "b1;a1;b2;a1", 3, .pid = 1, .tid = 1},
		{"sh", "x;y", 5, .pid = 1, .tid = 1},
	};
	struct functions functions;
	struct stacks stacks;
	uint32_t *groups;

	read_profile(MADE(PROFILE_ONCPU, samples), &plain, true, &stacks);
	groups = group_by_name(&stacks, "abc");
	assert_int_equal(functions_count_groups(&stacks, groups, 3, &functions), 0);
	assert_int_equal(functions.n, 3);
	assert_int_equal(functions.frames[0][SIDE_NEW].total, 13);
	assert_int_equal(functions.frames[0][SIDE_NEW].self, 3);
	assert_int_equal(functions.frames[1][SIDE_NEW].total, 13);
	assert_int_equal(functions.frames[1][SIDE_NEW].self, 10);
	assert_int_equal(functions.frames[2][SIDE_NEW].total, 0);
	free(groups);
	functions_done(&functions);
	stacks_done(&stacks);
}

/*
 * The naive way: for one group, looks at all stacks. @group: group of each frame; UINT32_MAX: none.
 */
static struct tree_side count_naively(const struct stacks *stacks, const uint32_t *groups,
				      uint32_t group, enum stacks_side side)
{
	struct tree_side sum = {};

	for (size_t i = 0; i < stacks->n_entries; i++) {
		const struct stacks_entry *entry = &stacks->entries[i];
		uint32_t last = UINT32_MAX;
		bool is_on_it = false;

		if (entry->side != side)
			continue;
		for (uint32_t k = 0; k < entry->n; k++) {
			uint32_t own = groups[stacks->ids[entry->first + k]];

			is_on_it |= own == group;
			last = own == UINT32_MAX ? last : own;
		}
		sum.total += is_on_it ? entry->weight : 0;
		sum.total_variance += is_on_it ? entry->variance : 0;
		sum.self += last == group ? entry->weight : 0;
		sum.self_variance += last == group ? entry->variance : 0;
	}
	return sum;
}

static void expect_as_naive(const struct stacks *stacks, const struct functions *functions,
			    const uint32_t *groups)
{
	for (size_t i = 0; i < functions->n; i++)
		for (int side = 0; side < N_SIDES; side++) {
			struct tree_side sum = count_naively(stacks, groups, i, side);
			const struct tree_side *ours = &functions->frames[i][side];

			assert_int_equal(ours->total, sum.total);
			assert_int_equal(ours->self, sum.self);
			assert_true(fabs(ours->total_variance - sum.total_variance) < 1e-6);
			assert_true(fabs(ours->self_variance - sum.self_variance) < 1e-6);
		}
}

static void random_stacks_of(uint64_t seed)
{
	struct profile *base = random_profile(seed + 1000), *changed = random_profile(seed);
	struct functions functions;
	struct stacks stacks;
	uint32_t *groups;

	made_check(stacks_init(&stacks, &(struct stacks_options){}), "stacks_init");
	made_check(stacks_add(&stacks, base, SIDE_BASE), "stacks_add");
	made_check(stacks_add(&stacks, changed, SIDE_NEW), "stacks_add");
	profile_free(base);
	profile_free(changed);
	if (seed % 2)
		made_check(stacks_finish(&stacks, SCALE_NORMALIZED), "stacks_finish");
	groups = malloc((stacks.n_frames + 1) * sizeof *groups);
	for (size_t i = 0; i < stacks.n_frames; i++)
		groups[i] = i;
	count_each(&stacks, &functions);
	expect_as_naive(&stacks, &functions, groups);
	functions_done(&functions);
	for (size_t i = 0; i < stacks.n_frames; i++)
		groups[i] = made_random(&seed) % 4 ? made_random(&seed) % 7 : UINT32_MAX;
	assert_int_equal(functions_count_groups(&stacks, groups, 7, &functions), 0);
	expect_as_naive(&stacks, &functions, groups);
	functions_done(&functions);
	free(groups);
	stacks_done(&stacks);
}

static void random_stacks(void **state)
{
	for (uint64_t seed = 1; seed <= 20; seed++)
		random_stacks_of(seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recursion_counts_once),
		cmocka_unit_test(sides_stay_apart),
		cmocka_unit_test(nothing),
		cmocka_unit_test(groups_count_once),
		cmocka_unit_test(random_stacks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
