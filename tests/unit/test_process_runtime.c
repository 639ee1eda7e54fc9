/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmocka_all.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/process_runtime.h"

static uint64_t word = 0x1122334455667788;

/* A process of another user than root, with the same memory. */
static pid_t start_child(void)
{
	int ends[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		if (geteuid() == 0 && setresuid(1001, 1001, 1001) < 0)
			_exit(1);
		_exit(write(ends[1], "r", 1) == 1 ? pause() : 1);
	}
	close(ends[1]);
	assert_int_equal(read(ends[0], &byte, 1), 1);
	close(ends[0]);
	return pid;
}

static int read_word(const struct runtime_memory *memory, uint64_t *to)
{
	const struct runtime_piece piece = {(uint64_t)&word, sizeof word, to};

	return memory->read(memory->context, &piece, 1);
}

static void reading_the_memory_of_a_user_is_limited(void **state)
{
	struct process process = {.pid = start_child()};
	struct process_memory to;
	struct runtime_memory memory;
	struct files files;
	uint64_t seen = 0;

	files_init(&files);
	memory = process_memory(&files, &process, &to);
	assert_int_equal(read_word(&memory, &seen), 0);
	assert_int_equal(seen, word);
	assert_int_equal(read_word(&memory, &seen), 0);
	files.memory_budgets.cpu_ns = 1;
	files.memory_budgets.since_ns = 0;
	assert_int_equal(read_word(&memory, &seen), -EDQUOT);
	assert_int_equal(budgets_refused(&files.memory_budgets).n, 1);
	kill(process.pid, SIGKILL);
	waitpid(process.pid, NULL, 0);
	files_done(&files);
}

/* What each file is: in place of the tables'. */
static const struct runtime_facts *runtimes[8];

const struct runtime_facts *tables_runtime(const struct tables *tables, uint32_t file)
{
	return runtimes[file];
}

/* Files 0, 1, … are mapped at 0x1000, 0x2000, … */
static struct mapping mappings[8];
static struct mapping_list list;

static struct process made_process(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		mappings[i] = (struct mapping){0x1000 * (i + 1), 0x1000 * (i + 2), 0, i};
	memset(runtimes, 0, sizeof runtimes);
	list = (struct mapping_list){.version = 1, .items = mappings, .n = n};
	return (struct process){.mappings = &list};
}

static void a_search_is_not_repeated_before_something_is_new(void **state)
{
	struct runtime_facts facts = {.runtime = 1};
	struct tables tables = {};
	struct process process = made_process(1);
	struct found_runtime found[BF_PROCESS_RUNTIMES];

	assert_int_equal(process_runtimes(&tables, &process, found), 0);
	runtimes[0] = &facts;
	assert_int_equal(process_runtimes(&tables, &process, found), 0);
	tables.n_runtimes++;
	assert_int_equal(process_runtimes(&tables, &process, found), 1);
	assert_ptr_equal(found[0].facts, &facts);
	assert_int_equal(found[0].bias, 0x1000);

	runtimes[0] = NULL;
	assert_int_equal(process_runtimes(&tables, &process, found), 0);
	runtimes[0] = &facts;
	list.version++;
	assert_int_equal(process_runtimes(&tables, &process, found), 1);
}

/* The second may be loaded later, and lower. */
static void a_process_can_have_several_runtimes(void **state)
{
	struct runtime_facts python = {.runtime = 1}, perl = {.runtime = 6, .code_shift = 0x100};
	struct tables tables = {.n_runtimes = 1};
	struct process process = made_process(3);
	struct found_runtime found[BF_PROCESS_RUNTIMES], of;

	runtimes[2] = &python;
	assert_int_equal(process_runtimes(&tables, &process, found), 1);
	runtimes[1] = &perl;
	tables.n_runtimes++;
	assert_int_equal(process_runtimes(&tables, &process, found), 2);

	assert_true(process_runtime_of(&tables, &process, 1ULL << BF_FRAME_OWNER_SHIFT, &of));
	assert_ptr_equal(of.facts, &python);
	assert_int_equal(of.bias, 0x3000);
	assert_int_equal(of.file, 2);
	assert_true(process_runtime_of(
		&tables, &process, BF_FRAME_RUNTIME | 6ULL << BF_FRAME_OWNER_SHIFT | 0x1234, &of));
	assert_ptr_equal(of.facts, &perl);
	assert_int_equal(of.bias, 0x2000 - 0x100);
	assert_false(process_runtime_of(&tables, &process, 2ULL << BF_FRAME_OWNER_SHIFT, &of));
	assert_false(process_runtime_of(&tables, &process, 0, &of));
}

/* Frames say only the kind of their runtime. */
static void one_of_each_kind_is_used(void **state)
{
	struct runtime_facts old = {.runtime = 1, .problem = RUNTIME_VERSION};
	struct runtime_facts first = {.runtime = 1}, second = {.runtime = 1};
	struct tables tables = {.n_runtimes = 3};
	struct process process = made_process(3);
	struct found_runtime found[BF_PROCESS_RUNTIMES];

	runtimes[0] = &old;
	assert_int_equal(process_runtimes(&tables, &process, found), 1);
	assert_ptr_equal(found[0].facts, &old);
	runtimes[1] = &first;
	runtimes[2] = &second;
	list.version++;
	assert_int_equal(process_runtimes(&tables, &process, found), 1);
	assert_ptr_equal(found[0].facts, &first);
}

static void a_process_has_so_many_runtimes_only(void **state)
{
	struct runtime_facts facts[BF_PROCESS_RUNTIMES + 1] = {};
	struct tables tables = {.n_runtimes = 1};
	struct process process = made_process(BF_PROCESS_RUNTIMES + 1);
	struct found_runtime found[BF_PROCESS_RUNTIMES];

	for (uint32_t i = 0; i <= BF_PROCESS_RUNTIMES; i++) {
		facts[i].runtime = i + 1;
		runtimes[i] = &facts[i];
	}
	assert_int_equal(process_runtimes(&tables, &process, found), BF_PROCESS_RUNTIMES);
	assert_ptr_equal(found[BF_PROCESS_RUNTIMES - 1].facts, &facts[BF_PROCESS_RUNTIMES - 1]);
}

/* PCRE2, row 10, which any program may have. */
static void regular_expressions_give_way(void **state)
{
	struct runtime_facts facts[BF_PROCESS_RUNTIMES + 1] = {{.runtime = 10}};
	struct tables tables = {.n_runtimes = 1};
	struct process process = made_process(BF_PROCESS_RUNTIMES + 1);
	struct found_runtime found[BF_PROCESS_RUNTIMES];

	runtimes[0] = &facts[0];
	assert_true(process_has_ranges(&tables, &process));
	assert_false(process_has_own_ranges(&tables, &process));
	for (uint32_t i = 1; i <= BF_PROCESS_RUNTIMES; i++) {
		facts[i].runtime = i;
		runtimes[i] = &facts[i];
	}
	tables.n_runtimes++;
	assert_int_equal(process_runtimes(&tables, &process, found), BF_PROCESS_RUNTIMES);
	assert_ptr_equal(found[0].facts, &facts[BF_PROCESS_RUNTIMES]);
	assert_ptr_equal(found[1].facts, &facts[1]);
	assert_true(process_has_own_ranges(&tables, &process)); /* the fourth is Java */
	/* Last, they get none. */
	facts[0].runtime = BF_PROCESS_RUNTIMES;
	facts[BF_PROCESS_RUNTIMES].runtime = 10;
	list.version++;
	assert_int_equal(process_runtimes(&tables, &process, found), BF_PROCESS_RUNTIMES);
	assert_ptr_equal(found[0].facts, &facts[0]);
}

/* LuaJIT and V8: rows 8 and 5. */
static void code_that_is_built_in_has_an_owner(void **state)
{
	struct runtime_facts lua = {.runtime = 8, .generated = 0x1100, .generated_size = 0x80};
	struct runtime_facts v8 = {.runtime = 5, .generated = 0x200, .generated_size = 0x10};
	struct tables tables = {.n_runtimes = 2};
	struct process process = made_process(2);
	struct generated_code generated;

	lua.code_shift = 0x1000;
	runtimes[0] = &lua;
	runtimes[1] = &v8;
	process_generated(&tables, &process, &generated);
	assert_int_equal(generated.n, 2);
	assert_int_equal(generated_find(&generated, 0, 0x100)->owner, 8);
	assert_int_equal(generated_find(&generated, 0, 0x17f)->owner, 8);
	assert_null(generated_find(&generated, 0, 0x180));
	assert_int_equal(generated_find(&generated, 1, 0x200)->owner, 5);
	assert_null(generated_find(&generated, 0, 0x200));
}

/* A single-file program of .NET has libraries after its own code, mapped where there is room. */
static void code_after_a_runtime_does_not_say_where_that_is(void **state)
{
	struct runtime_facts net = {.runtime = 9, .generated = 0x10000, .generated_size = 0x8000};
	struct tables tables = {.n_runtimes = 1};
	struct process process = made_process(2);
	struct found_runtime found[BF_PROCESS_RUNTIMES];

	mappings[0].offset = 0x17000;
	mappings[1].file = mappings[0].file;
	mappings[1].offset = 0;
	runtimes[0] = &net;
	assert_int_equal(process_runtimes(&tables, &process, found), 1);
	assert_int_equal(found[0].bias, mappings[1].start);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reading_the_memory_of_a_user_is_limited),
		cmocka_unit_test(a_search_is_not_repeated_before_something_is_new),
		cmocka_unit_test(a_process_can_have_several_runtimes),
		cmocka_unit_test(one_of_each_kind_is_used),
		cmocka_unit_test(a_process_has_so_many_runtimes_only),
		cmocka_unit_test(regular_expressions_give_way),
		cmocka_unit_test(code_that_is_built_in_has_an_owner),
		cmocka_unit_test(code_after_a_runtime_does_not_say_where_that_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
