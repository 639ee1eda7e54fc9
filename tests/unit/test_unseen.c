/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compares samples with the scheduler's books, for a child that computes. */
#include "cmocka_all.h"

#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "record/unseen.h"

#define FREQUENCY 1000

/* Forks a child that computes until it is killed. */
static pid_t fork_computing(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_NAME, "a) R 1 (b");
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			clock();
	}
	return pid;
}

/* Lets it use 0.3 s of CPU time. */
static void wait_for_cpu_time(pid_t pid)
{
	struct timespec now = {}, step = {.tv_nsec = 1000000}, start = {};
	clockid_t clock;

	assert_int_equal(clock_getcpuclockid(pid, &clock), 0);
	clock_gettime(clock, &start);
	do {
		nanosleep(&step, NULL);
		clock_gettime(clock, &now);
	} while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 <
		 300);
}

/* Of a window as long as both readings are apart. */
static struct profile *made(void)
{
	struct profile *profile;

	assert_int_equal(profile_new(PROFILE_ONCPU, &profile), 0);
	profile->duration_ns = UINT64_MAX;
	return profile;
}

/* The verdict on @pid, given this percentage of the expected samples. */
static struct unseen judged(pid_t pid, bool of_all, unsigned int percent)
{
	struct profile *profile = made();
	struct profile_sample sample = {.pid = pid};
	uint32_t pids[] = {pid};
	struct unseen unseen = {};

	assert_int_equal(profile_add_stack(profile, NULL, 0, STACK_COMPLETE, &sample.stack), 0);
	assert_int_equal(unseen_begin(&unseen, pids, !of_all), 0);
	wait_for_cpu_time(pid);
	assert_int_equal(unseen_end(&unseen, pids, !of_all), 0);
	for (size_t i = 0; i < unseen.n; i++)
		if (unseen.processes[i].pid == (uint32_t)pid)
			sample.count = unseen.processes[i].cpu_ns / 1e9 * FREQUENCY * percent / 100;
	if (sample.count)
		assert_int_equal(profile_add_sample(profile, &sample), 0);
	assert_int_equal(unseen_judge(&unseen, profile, FREQUENCY, 0), 0);
	profile_free(profile);
	return unseen;
}

static const struct unseen_process *find(const struct unseen *unseen, pid_t pid)
{
	for (size_t i = 0; i < unseen->n; i++)
		if (unseen->processes[i].pid == (uint32_t)pid)
			return &unseen->processes[i];
	return NULL;
}

static void processes_with_too_few_samples_are_kept(void **state)
{
	static const struct {
		unsigned int percent;
		bool is_unseen;
	} cases[] = {{0, true}, {50, true}, {60, true}, {90, false}, {100, false}, {130, false}};
	pid_t pid = fork_computing();

	assert_true(pid > 0);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		for (int of_all = 0; of_all < 2; of_all++) {
			struct unseen unseen = judged(pid, of_all, cases[i].percent);
			const struct unseen_process *found = find(&unseen, pid);

			if (!found != !cases[i].is_unseen)
				fail_msg("%u %%: %s", cases[i].percent, found ? "kept" : "not");
			if (found) {
				assert_string_equal(found->comm, "a) R 1 (b");
				assert_in_range(found->n_expected, 250, 2000);
				assert_true(found->n_samples <= found->n_expected * 4 / 5);
			}
			unseen_done(&unseen);
		}
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Whoever ran before and after the window has no samples of that. */
static void time_outside_the_window_is_not_expected(void **state)
{
	pid_t pid = fork_computing();
	uint32_t pids[] = {pid};

	assert_true(pid > 0);
	for (int has_window = 0; has_window < 2; has_window++) {
		struct profile *profile = made();
		struct unseen unseen = {};

		assert_int_equal(unseen_begin(&unseen, pids, 1), 0);
		wait_for_cpu_time(pid);
		assert_int_equal(unseen_end(&unseen, pids, 1), 0);
		profile->duration_ns = has_window ? unseen.ended_ns - unseen.began_ns : 0;
		assert_int_equal(unseen_judge(&unseen, profile, FREQUENCY, 0), 0);
		assert_int_equal(!find(&unseen, pid), !has_window);
		unseen_done(&unseen);
		profile_free(profile);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Of a second outside the window, a process of one thread can't have used two. */
static void threads_limit_the_time_outside(void **state)
{
	static const struct {
		uint32_t n_threads;
		bool is_unseen;
	} cases[] = {{1, true}, {2, false}};

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		skip();
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct profile *profile = made();
		struct unseen unseen = {.ended_ns = 2000000000, .n = 1};

		unseen.processes = calloc(1, sizeof *unseen.processes);
		assert_non_null(unseen.processes);
		unseen.processes[0] = (struct unseen_process){
			.pid = 7, .cpu_ns = 2000000000, .n_threads = cases[i].n_threads};
		profile->duration_ns = 1000000000;
		assert_int_equal(unseen_judge(&unseen, profile, FREQUENCY, 0), 0);
		assert_int_equal(unseen.n, cases[i].is_unseen);
		unseen_done(&unseen);
		profile_free(profile);
	}
}

/* A process that existed before counts only from the first look on, one that is gone not at all. */
static void ended_processes_are_left_out(void **state)
{
	struct profile *profile = made();
	pid_t pid = fork_computing();
	uint32_t pids[] = {pid};
	struct unseen unseen = {};

	assert_int_equal(unseen_begin(&unseen, pids, 1), 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(unseen_end(&unseen, pids, 1), 0);
	assert_int_equal(unseen_judge(&unseen, profile, FREQUENCY, 0), 0);
	assert_int_equal(unseen.n, 0);
	unseen_done(&unseen);
	profile_free(profile);
}

/* Who forks so often that each process is in no reading. Samples of others don't count for them. */
static void those_that_came_and_went_are_judged_together(void **state)
{
	static const struct {
		uint32_t samples;
		bool is_unseen;
	} cases[] = {{0, true}, {700, true}, {900, false}, {1100, false}};
	static const uint32_t others[] = {0, 7, 8};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct profile *profile = made();
		struct unseen unseen = {.n_before = 1, .n = 1};
		struct profile_sample sample = {.pid = 1000, .count = cases[i].samples};

		unseen.before = calloc(1, sizeof *unseen.before);
		unseen.processes = calloc(1, sizeof *unseen.processes);
		assert_true(unseen.before && unseen.processes);
		unseen.before[0].pid = 7;
		unseen.processes[0].pid = 8;
		assert_int_equal(profile_add_stack(profile, NULL, 0, STACK_COMPLETE, &sample.stack),
				 0);
		if (sample.count)
			assert_int_equal(profile_add_sample(profile, &sample), 0);
		sample.count = 500;
		for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
			sample.pid = others[k];
			assert_int_equal(profile_add_sample(profile, &sample), 0);
		}
		assert_int_equal(unseen_judge(&unseen, profile, 1000, 1000000000), 0);
		assert_int_equal(unseen.n, cases[i].is_unseen);
		if (unseen.n) {
			assert_int_equal(unseen.processes[0].pid, 0);
			assert_int_equal(unseen.processes[0].n_expected, 1000);
			assert_int_equal(unseen.processes[0].n_samples, cases[i].samples);
		}
		unseen_done(&unseen);
		profile_free(profile);
	}
}

/* Without a first look there is no verdict. */
static void without_a_first_look_there_is_no_second(void **state)
{
	struct profile *profile = made();
	struct unseen unseen = {};

	assert_true(unseen_end(&unseen, NULL, 0) < 0);
	assert_int_equal(unseen_judge(&unseen, profile, FREQUENCY, 0), 0);
	assert_int_equal(unseen.n, 0);
	unseen_done(&unseen);
	profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(processes_with_too_few_samples_are_kept),
		cmocka_unit_test(those_that_came_and_went_are_judged_together),
		cmocka_unit_test(time_outside_the_window_is_not_expected),
		cmocka_unit_test(threads_limit_the_time_outside),
		cmocka_unit_test(ended_processes_are_left_out),
		cmocka_unit_test(without_a_first_look_there_is_no_second),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
