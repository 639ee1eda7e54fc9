/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Users who map code without end. Root has no limit, so the test's users are others. */
#include "cmocka_all.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/system.h"
#include "collect/timeline.h"

#define RECORD 1024 /* bytes; a share has room for this many whole ones: */
#define SHARE  (RECORD_SHARE_BYTES / RECORD)

static pid_t process_of(uid_t user)
{
	int ends[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		if (setuid(user) < 0 || write(ends[1], "r", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	assert_true(pid > 0);
	assert_int_equal(read(ends[0], &byte, 1), 1);
	close(ends[0]);
	close(ends[1]);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* How many records of process @pid are taken, up to two shares. */
static int count_taken(struct record_share *share, struct budgets *budgets, pid_t pid, uint64_t now)
{
	int n = 0;

	while (n < 2 * (int)SHARE && record_share_take(share, budgets, pid, RECORD, now))
		n++;
	return n;
}

static void each_user_has_a_share(void **state)
{
	uint64_t now = 1000 * NSEC_PER_SEC;
	struct record_share share = {};
	struct budgets budgets = {};
	pid_t mallory, alice, ended;

	if (geteuid() != 0)
		skip();
	mallory = process_of(1001);
	alice = process_of(1002);
	ended = process_of(1003);
	end(ended);
	/* Anybody's, then her share. */
	assert_int_equal(count_taken(&share, &budgets, mallory, now), 2 * SHARE);
	assert_int_equal(budgets_refused(&budgets).n, 0);
	assert_int_equal(count_taken(&share, &budgets, mallory, now), 0);
	assert_int_equal(budgets_refused(&budgets).n, 1);
	assert_int_equal(budgets_refused(&budgets).user, 1001);
	/* The others still have theirs; who has ended could be anybody. */
	assert_int_equal(count_taken(&share, &budgets, alice, now), SHARE);
	assert_int_equal(count_taken(&share, &budgets, ended, now), SHARE);
	assert_int_equal(share.n_refused, 1);
	assert_int_equal(count_taken(&share, &budgets, getpid(), now), 2 * SHARE);
	/* It fills up. */
	assert_false(record_share_take_all(&share, &budgets, mallory, now + NSEC_PER_SEC / 2));
	assert_int_equal(count_taken(&share, &budgets, mallory, now + NSEC_PER_SEC / 2), SHARE);
	assert_true(record_share_take_all(&share, &budgets, mallory, now + 2 * NSEC_PER_SEC));
	assert_false(record_share_take_all(&share, &budgets, mallory, now + 2 * NSEC_PER_SEC));
	end(mallory);
	end(alice);
	record_share_done(&share);
	budgets_done(&budgets);
}

/* Looking up whose they are must not cost more than the records do. */
static void few_processes_are_looked_up(void **state)
{
	uint64_t now = 1000 * NSEC_PER_SEC;
	struct record_share share = {};
	struct budgets budgets = {};
	size_t n = 0;

	assert_true(record_share_take(&share, &budgets, 1, RECORD_SHARE_BYTES, now));
	for (uint32_t pid = 1 << 30; pid < (1 << 30) + 10 * RECORD_SHARE_LOOKS; pid++)
		record_share_take(&share, &budgets, pid, RECORD, now);
	for (size_t i = 0; i < RECORD_SHARE_PROCESSES; i++)
		n += share.processes[i].pid != 0;
	assert_true(n > 0 && n <= RECORD_SHARE_LOOKS);
	record_share_done(&share);
	budgets_done(&budgets);
}

/* A recorder that waits for a reader keeps no more, and reads the process afterwards. */
static void waiting_records_have_a_limit(void **state)
{
	static char path[2000] = "/";
	struct record map = {.type = RECORD_MAP, .pid = getpid(), .mapped.name.path = path};
	struct timeline *timeline = calloc(1, sizeof *timeline);
	struct processes processes;
	uint32_t process;

	assert_non_null(timeline);
	memset(path + 1, 'x', sizeof path - 2);
	processes_init(&processes);
	assert_int_equal(processes_add(&processes, getpid(), 1, 0, &process), 0);
	for (size_t bytes = 0; bytes < (64 << 20); bytes += sizeof path)
		assert_int_equal(timeline_add_record(timeline, &processes, &map), 0);
	assert_true(timeline->record_bytes > 0 && timeline->record_bytes <= (32 << 20));
	assert_true(timeline->n_dropped + budgets_refused(&processes.files.budgets).n > 0);
	assert_int_equal(processes.n_behind, 1);
	assert_int_equal(processes.processes[process].mappings->n, 0);
	if (geteuid() == 0) {
		assert_int_equal(timeline_catch_up(timeline, &processes), 0);
		assert_int_equal(processes.n_behind, 0);
		assert_true(processes.processes[process].mappings->n > 0);
	}
	timeline_done(timeline);
	processes_done(&processes);
	free(timeline);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_user_has_a_share),
		cmocka_unit_test(few_processes_are_looked_up),
		cmocka_unit_test(waiting_records_have_a_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
