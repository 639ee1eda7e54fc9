/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Baselines with memory running out at each allocation in turn. Compiles the sources in, with
 * allocators that fail on request; the sanitizer reports leaks.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned int n_allocations, failing;

static int fails(void)
{
	if (++n_allocations != failing)
		return 0;
	errno = ENOMEM;
	return 1;
}

#define malloc(n)		 (fails() ? NULL : malloc(n))
#define calloc(n, size)		 (fails() ? NULL : calloc(n, size))
#define realloc(p, n)		 (fails() ? NULL : realloc(p, n))
#define reallocarray(p, n, size) (fails() ? NULL : reallocarray(p, n, size))
#define strdup(text)		 (fails() ? NULL : strdup(text))
#define asprintf(...)		 (fails() ? -1 : asprintf(__VA_ARGS__))
#define fdopendir(fd)		 (fails() ? NULL : fdopendir(fd))

#include "store/baseline.c"
#define take_name  list_name
#define begin_line list_begin_line
#include "store/baselines_list.c"
#undef take_name
#include "store/baselines_save.c"

#undef malloc
#undef calloc
#undef realloc
#undef reallocarray
#undef strdup
#undef asprintf
#undef fdopendir

#include "unit/made_files.h"

static int write_run(void *data, FILE *stream)
{
	fputs("run", stream);
	return 0;
}

static int save(const char *commit)
{
	struct baseline_run runs[3] = {};
	struct baseline facts = {.runs = runs, .n_runs = 3, .saved_ns = 1};
	struct baselines_saving saving = BASELINES_SAVING_NONE;
	struct failure failure = {};
	int r;

	baseline_copy(facts.name, "bench");
	baseline_copy(facts.commit, commit);
	r = baselines_saving_begin(made_path("store"), "bench", commit, true, &saving, &failure);
	for (int i = 0; i < 3 && r == 0; i++)
		r = baselines_saving_add(&saving, write_run, NULL, &runs[i].bytes, &failure);
	r = r < 0 ? r : baselines_saving_commit(&saving, &facts, &failure);
	baselines_saving_abort(&saving);
	return r;
}

static size_t n_listed(void)
{
	struct baselines_list list;
	struct failure failure;
	size_t n;

	assert_int_equal(baselines_list(made_path("store"), NULL, &list, &failure), 0);
	n = list.n;
	for (size_t i = 0; i < n; i++)
		assert_string_equal(list.items[i].damage, "");
	baselines_list_done(&list);
	return n;
}

/* Existing files stay complete; a failure leaves nothing that the next change would not remove. */
static void saving(void **state)
{
	unsigned int total;
	int r;

	n_allocations = 0;
	assert_int_equal(save("abc"), 0);
	total = n_allocations;
	assert_true(total > 2);
	for (unsigned int at = 1; at <= total; at++) {
		n_allocations = 0;
		failing = at;
		r = save("abc");
		failing = 0;
		/* Removes leftovers of earlier changes, as far as memory allows. */
		assert_true(r == -ENOMEM || r == 0);
		assert_int_equal(n_listed(), 1);
	}
	assert_int_equal(save("abc"), 0);
	assert_int_equal(n_listed(), 1);
	assert_true(made_try("test \"$(ls -A store/bench)\" = abc"));
}

static int list_and_rotate(void)
{
	struct baseline saved = {.name = "bench", .commit = "c0"};
	struct baselines_list list = {};
	struct failure failure = {};
	char **paths;
	size_t n;
	int r = baselines_list(made_path("store"), NULL, &list, &failure);

	if (r == 0) {
		r = baselines_run_paths("x", &list.items[0], &paths);
		for (size_t i = 0; r == 0 && i < list.items[0].n_runs; i++)
			free(paths[i]);
		if (r == 0)
			free(paths);
		baselines_list_done(&list);
	}
	return r < 0 ? r : baselines_rotate(made_path("store"), &saved, 20, &n, &failure);
}

static void listing(void **state)
{
	unsigned int total;

	for (int i = 0; i < 20; i++) {
		char commit[16];

		snprintf(commit, sizeof commit, "c%d", i);
		assert_int_equal(save(commit), 0);
	}
	n_allocations = 0;
	assert_int_equal(list_and_rotate(), 0);
	total = n_allocations;
	assert_true(total > 60);
	for (unsigned int at = 1; at <= total; at++) {
		n_allocations = 0;
		failing = at;
		assert_int_equal(list_and_rotate(), -ENOMEM);
		failing = 0;
	}
	assert_int_equal(n_listed(), 20);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, made_setup, made_done)
	const struct CMUnitTest tests[] = {TEST(saving), TEST(listing)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
