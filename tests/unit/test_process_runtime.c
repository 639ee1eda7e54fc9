/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cmocka_all.h"

#include <errno.h>
#include <signal.h>
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

static const struct runtime_facts *runtime;

/* In place of the tables': what each file is. */
const struct runtime_facts *tables_runtime(const struct tables *tables, uint32_t file)
{
	return runtime;
}

static void a_search_in_vain_is_not_repeated_before_something_is_new(void **state)
{
	struct runtime_facts facts = {};
	struct tables tables = {};
	struct mapping mapping = {0x1000, 0x2000, 0, 0};
	struct mapping_list list = {.version = 1, .items = &mapping, .n = 1};
	struct process process = {.mappings = &list};
	int64_t bias;
	uint32_t index;

	assert_null(process_runtime(&tables, &process, &bias, &index));
	runtime = &facts;
	assert_null(process_runtime(&tables, &process, &bias, &index));
	tables.n_runtimes++;
	assert_ptr_equal(process_runtime(&tables, &process, &bias, &index), &facts);
	assert_int_equal(bias, 0x1000);

	runtime = NULL;
	assert_null(process_runtime(&tables, &process, &bias, &index));
	runtime = &facts;
	list.version++;
	assert_ptr_equal(process_runtime(&tables, &process, &bias, &index), &facts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reading_the_memory_of_a_user_is_limited),
		cmocka_unit_test(a_search_in_vain_is_not_repeated_before_something_is_new),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
