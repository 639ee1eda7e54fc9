/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Limits on what one user's files may cost. Root's own files have no limit, so the test gives its
 * files to another user.
 */
#include "cmocka_all.h"

#include <fcntl.h>
#include <stdlib.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/budgets.h"
#include "base/system.h"

static int file_of(uid_t user)
{
	int fd = memfd_create("file", MFD_CLOEXEC);

	assert_true(fd >= 0);
	if (geteuid() == 0)
		assert_int_equal(fchown(fd, user, -1), 0);
	return fd;
}

static uint32_t budget_of(struct budgets *budgets, uid_t user, bool is_our_root)
{
	uint32_t budget;
	int fd = file_of(user);

	assert_int_equal(budgets_find(budgets, fd, is_our_root, &budget), 0);
	close(fd);
	return budget;
}

static void each_user_has_descriptors(void **state)
{
	struct budgets budgets = {.most_open = 3};
	uint32_t mallory = budget_of(&budgets, 1001, true), alice;

	for (int i = 0; i < 10; i++)
		assert_int_equal(budgets_open(&budgets, mallory), i < 3);
	assert_int_equal(budgets_refused(&budgets).n, 7);
	budgets_close(&budgets, mallory);
	assert_true(budgets_open(&budgets, mallory));
	assert_false(budgets_open(&budgets, mallory));
	assert_int_equal(budget_of(&budgets, 1001, false), mallory);
	if (geteuid() == 0) {
		alice = budget_of(&budgets, 1002, true);
		assert_int_not_equal(alice, mallory);
		for (int i = 0; i < 3; i++)
			assert_true(budgets_open(&budgets, alice));
		assert_int_equal(budgets_refused(&budgets).user, 1001);
	}
	budgets_done(&budgets);
}

static void each_user_has_mappings(void **state)
{
	struct budgets budgets = {.most_mapped = 100};
	uint32_t mallory = budget_of(&budgets, 1001, true), others[5];

	assert_true(budgets_map(&budgets, mallory, 60));
	assert_false(budgets_map(&budgets, mallory, 41));
	assert_true(budgets_has_room(&budgets, mallory, 40));
	assert_true(budgets_map(&budgets, mallory, 40));
	assert_true(budgets_map(&budgets, BUDGETS_UNLIMITED, 1000));
	budgets_unmap(&budgets, mallory, 60);
	assert_true(budgets_map(&budgets, mallory, 60));
	assert_int_equal(budgets_refused(&budgets).n, 0);
	/* Four users have this share each, which uses up the total. */
	for (uid_t i = 0; geteuid() == 0 && i < 5; i++) {
		others[i] = budget_of(&budgets, 2000 + i, true);
		assert_int_equal(budgets_map(&budgets, others[i], 100), i < 3);
	}
	budgets_done(&budgets);
}

/* A process of another user that does not allow itself to be inspected. */
static void processes_are_their_users(void **state)
{
	struct budgets budgets = {};
	int ends[2];
	uint32_t budget;
	char byte;
	pid_t pid;

	assert_int_equal(budgets_find_process(&budgets, getpid(), &budget), 0);
	assert_int_equal(budget == BUDGETS_UNLIMITED, geteuid() == 0);
	assert_int_equal(budgets_find_process(&budgets, 0x7fffffff, &budget), 0);
	assert_int_equal(budget, BUDGETS_UNLIMITED);
	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		if (geteuid() == 0 && setresuid(1001, 1001, 1001) < 0)
			_exit(1);
		prctl(PR_SET_DUMPABLE, 0);
		_exit(write(ends[1], "r", 1) == 1 ? pause() : 1);
	}
	assert_int_equal(read(ends[0], &byte, 1), 1);
	assert_int_equal(budgets_find_process(&budgets, pid, &budget), 0);
	assert_int_not_equal(budget, BUDGETS_UNLIMITED);
	assert_int_equal(budgets.items[budget].user, geteuid() ? geteuid() : 1001);
	/* A few that don't answer are waited for. */
	for (int i = 0; i < 4; i++) {
		assert_true(budgets_may_ask(&budgets, budget));
		budgets_hang(&budgets, pid);
	}
	assert_false(budgets_may_ask(&budgets, budget));
	assert_int_equal(budgets_refused(&budgets).n, 1);
	assert_true(budgets_may_ask(&budgets, BUDGETS_UNLIMITED));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(ends[0]);
	close(ends[1]);
	budgets_done(&budgets);
}

static void each_user_has_cpu_time(void **state)
{
	struct budgets budgets = {.cpu_ns = 1000};
	uint32_t mallory = budget_of(&budgets, 1001, true);

	assert_true(budgets_may_read(&budgets, mallory));
	budgets_spend(&budgets, mallory, 999);
	assert_true(budgets_may_read(&budgets, mallory));
	budgets_spend(&budgets, mallory, 1);
	assert_false(budgets_may_read(&budgets, mallory));
	/* The budget refills with time. */
	budgets.since_ns = monotonic_ns() - NSEC_PER_SEC;
	budgets.cpu_share = 0.5;
	assert_true(budgets_may_read(&budgets, mallory));
	budgets_spend(&budgets, mallory, NSEC_PER_SEC);
	assert_false(budgets_may_read(&budgets, mallory));
	budgets_refuse(&budgets, mallory);
	assert_int_equal(budgets_refused(&budgets).n, 1);
	budgets_done(&budgets);
}

static void root_has_no_limit_but_in_containers(void **state)
{
	struct budgets budgets = {.most_open = 1, .cpu_ns = 1};
	uint32_t root = 0, inside;

	if (geteuid() != 0)
		skip();
	root = budget_of(&budgets, 0, true);
	inside = budget_of(&budgets, 0, false);
	assert_int_equal(root, BUDGETS_UNLIMITED);
	assert_int_not_equal(inside, BUDGETS_UNLIMITED);
	budgets_spend(&budgets, root, NSEC_PER_SEC);
	budgets_spend(&budgets, inside, NSEC_PER_SEC);
	for (int i = 0; i < 100; i++)
		assert_true(budgets_open(&budgets, root));
	assert_true(budgets_may_read(&budgets, root));
	assert_false(budgets_may_read(&budgets, inside));
	budgets_refuse(&budgets, root);
	assert_int_equal(budgets_refused(&budgets).n, 0);
	budgets_close(&budgets, root);
	budgets_done(&budgets);
}

static void files_that_are_not_open_have_none(void **state)
{
	struct budgets budgets = {};
	uint32_t budget;

	assert_int_equal(budgets_find(&budgets, -1, false, &budget), 0);
	assert_int_equal(budget, BUDGETS_UNLIMITED);
	budgets_done(&budgets);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_user_has_descriptors),
		cmocka_unit_test(each_user_has_mappings),
		cmocka_unit_test(processes_are_their_users),
		cmocka_unit_test(each_user_has_cpu_time),
		cmocka_unit_test(root_has_no_limit_but_in_containers),
		cmocka_unit_test(files_that_are_not_open_have_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
