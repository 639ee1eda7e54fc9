/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Those parts of the daemon that need no rights: its clock, its options and their file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/system.h"
#include "cmd/daemon_board.h"
#include "cmd/daemon_budget.h"
#include "cmd/daemon_clock.h"
#include "cmd/daemon_options.h"
#include "cmd/daemon_usage.h"

#define SECOND NSEC_PER_SEC
#define WINDOW (10 * SECOND)
#define HOUR   (3600 * SECOND)
#define REAL   (1795600800 * SECOND)

static struct daemon_clock clock_;
static struct daemon_moment now;
static uint64_t end_ns;

static int begin(void **state)
{
	clock_ = (struct daemon_clock){};
	now = (struct daemon_moment){1000 * SECOND, 1500 * SECOND, REAL};
	end_ns = 1000 * SECOND;
	return 0;
}

static void pass(uint64_t ns)
{
	now.monotonic += ns;
	now.boot += ns;
	now.real += ns;
}

/* A window passes; the look at it comes some time after its end. */
static struct store_window next(enum store_gap gap)
{
	struct store_window window = {};

	end_ns += WINDOW;
	pass(WINDOW + SECOND / 20);
	daemon_clock_stamp(&clock_, &now, end_ns, WINDOW, gap, &window);
	now.monotonic -= SECOND / 20;
	now.boot -= SECOND / 20;
	now.real -= SECOND / 20;
	return window;
}

static void test_back_to_back(void **state)
{
	struct store_window before = next(GAP_STARTED), window;

	assert_int_equal(before.start, REAL);
	assert_int_equal(before.gap, GAP_STARTED);
	for (int i = 0; i < 100; i++) {
		now.real += i % 3 * 1000000; /* slewed, by up to 200 ppm */
		window = next(GAP_NONE);
		assert_int_equal(window.start, before.start + before.span);
		assert_int_equal(window.gap, GAP_NONE);
		assert_in_range(window.span, WINDOW, WINDOW + 2000000);
		assert_int_equal(window.covered, WINDOW);
		before = window;
	}
}

static void test_clock_set(void **state)
{
	struct store_window before, window;

	next(GAP_STARTED);
	before = next(GAP_NONE);
	now.real += HOUR;
	window = next(GAP_NONE);
	assert_int_equal(window.gap, GAP_CLOCK);
	assert_int_equal(window.start, before.start + before.span + HOUR);
	assert_int_equal(window.span, WINDOW);
	before = next(GAP_NONE);
	assert_int_equal(before.gap, GAP_NONE);
	now.real -= 2 * HOUR;
	window = next(GAP_NONE);
	assert_int_equal(window.gap, GAP_CLOCK);
	assert_int_equal(window.start, before.start + before.span - 2 * HOUR);
	assert_int_equal(window.span, WINDOW);
	assert_int_equal(next(GAP_NONE).gap, GAP_NONE);
}

/* CLOCK_MONOTONIC stops during suspend. */
static void test_suspended(void **state)
{
	struct store_window before, window;

	next(GAP_STARTED);
	before = next(GAP_NONE);
	now.boot += 8 * HOUR;
	now.real += 8 * HOUR;
	window = next(GAP_NONE);
	assert_int_equal(window.gap, GAP_SUSPENDED);
	assert_int_equal(window.start, before.start + before.span + 8 * HOUR);
	assert_int_equal(window.span, WINDOW);
	assert_int_equal(window.boot, before.boot + 8 * HOUR + WINDOW);
	assert_int_equal(next(GAP_NONE).gap, GAP_NONE);
}

static uint64_t spent_at = 1000 * SECOND;
static struct daemon_use spent;
static uint64_t switches_each = 100000; /* in ten seconds */

/*
 * Uses @share of a CPU, and memory, for a minute, in steps of ten seconds. Returns the sum of all
 * changes.
 */
static int spend_both(struct daemon_budget *budget, double share, uint64_t bytes)
{
	int changes = 0;

	spent.bytes = bytes;
	for (int i = 0; i < 6; i++) {
		spent_at += WINDOW;
		spent.cpu_ns += share * WINDOW;
		spent.switches += switches_each;
		changes += daemon_budget_look(budget, spent_at, &spent);
	}
	return changes;
}

/* Names take it all. */
static int spend(struct daemon_budget *budget, double share)
{
	spent.names_ns += share * 6 * WINDOW;
	return spend_both(budget, share, 0);
}

/* The BPF programs do. */
static int spend_in_programs(struct daemon_budget *budget, double share)
{
	spent.programs_ns += share * 6 * WINDOW;
	return spend_both(budget, share, 0);
}

static void look_first(struct daemon_budget *budget)
{
	spent.bytes = 0;
	assert_int_equal(daemon_budget_look(budget, spent_at, &spent), 0);
}

static void test_budget(void **state)
{
	struct daemon_budget budget = {.share = 0.01, .look_ns = 6 * WINDOW, .most = EFFORT_LOOKS};

	look_first(&budget);			  /* use before it does not count */
	assert_int_equal(spend(&budget, 0.5), 0); /* the names of all that runs are learned */
	spend(&budget, 0.005);
	assert_int_equal(budget.effort, EFFORT_ALL);
	for (int effort = EFFORT_NAMES_LATER; effort < N_EFFORTS; effort++) {
		assert_int_equal(spend(&budget, 0.014), 1);
		assert_int_equal(budget.effort, effort);
	}
	assert_int_equal(spend(&budget, 0.03), 0);
	assert_int_equal(budget.effort, EFFORT_LOOKS);
	/* Five minutes of peace for each step back; less than that counts for nothing. */
	for (int minute = 0; minute < 4; minute++)
		assert_int_equal(spend(&budget, 0.005), 0);
	assert_int_equal(spend(&budget, 0.02), 0);
	for (int step = EFFORT_HALF_RATE; step >= EFFORT_ALL; step--) {
		for (int minute = 0; minute < 4; minute++)
			assert_int_equal(spend(&budget, 0.005), 0);
		assert_int_equal(spend(&budget, 0.005), -1);
		assert_int_equal(budget.effort, step);
	}
	assert_int_equal(spend(&budget, 0.005), 0);

	/* Far above it, in half the time. */
	assert_int_equal(spend(&budget, 0.016), 1);
	assert_int_equal(budget.effort, EFFORT_FEWER_STACKS);
	assert_int_equal(spend(&budget, 0.014), 1);
	assert_int_equal(budget.effort, EFFORT_FEWEST);
	assert_int_equal(spend(&budget, 0.016), 1);
	assert_int_equal(budget.effort, EFFORT_LOOKS);

	budget = (struct daemon_budget){.look_ns = 6 * WINDOW};
	for (int minute = 0; minute < 5; minute++)
		assert_int_equal(spend_both(&budget, 1, 1ULL << 40), 0);
}

/*
 * Where no other step can save enough, programs run no more at each switch: at once, and for longer
 * each time that this turns out to have been right. Not all kernels can do without.
 */
static void test_budget_of_programs(void **state)
{
	struct daemon_budget budget = {.share = 0.01, .look_ns = 6 * WINDOW, .most = EFFORT_LOOKS};

	look_first(&budget);
	assert_int_equal(spend_in_programs(&budget, 0.009), 0);
	assert_int_equal(spend_in_programs(&budget, 0.009), 0);
	assert_int_equal(spend_in_programs(&budget, 0.012), 1);
	assert_int_equal(budget.effort, EFFORT_NAMES_LATER);
	assert_int_equal(spend_in_programs(&budget, 0.013), 1);
	assert_int_equal(budget.effort, EFFORT_LOOKS);

	/* In the minute after the start, names take more than later. */
	budget = (struct daemon_budget){.share = 0.01, .look_ns = 6 * WINDOW, .most = EFFORT_LOOKS};
	look_first(&budget);
	spent.programs_ns += 0.008 * 6 * WINDOW;
	assert_int_equal(spend(&budget, 0.02), 1);
	assert_int_equal(budget.effort, EFFORT_LOOKS);
	/* As often as before, they would take as much again. */
	for (int minute = 0; minute < 10; minute++)
		assert_int_equal(spend_both(&budget, 0.005, 0), 0);
	assert_int_equal(budget.effort, EFFORT_LOOKS);
	spend_in_programs(&budget, 0.02); /* not five minutes of peace */
	for (int minutes = 5; minutes < 90; minutes = minutes < 80 ? 2 * minutes : 90) {
		switches_each = 10;
		for (int minute = 1; minute < minutes; minute++)
			assert_int_equal(spend(&budget, 0.005), 0);
		assert_int_equal(spend(&budget, 0.005), -1);
		assert_int_equal(budget.effort, EFFORT_HALF_RATE);
		switches_each = 100000;
		assert_int_equal(spend_in_programs(&budget, 0.013), 1);
		assert_int_equal(budget.effort, EFFORT_LOOKS);
	}

	budget = (struct daemon_budget){
		.share = 0.01, .look_ns = 6 * WINDOW, .most = EFFORT_HALF_RATE};
	look_first(&budget);
	assert_int_equal(spend_in_programs(&budget, 0.011), 1);
	assert_int_equal(spend_in_programs(&budget, 0.011), 0);
	assert_int_equal(budget.effort, EFFORT_HALF_RATE);
}

/* Memory has the same steps, but the last; both have to be below their budgets for a step back. */
static void test_memory_budget(void **state)
{
	struct daemon_budget budget = {.share = 0.01,
				       .most_bytes = 100 << 20,
				       .look_ns = 6 * WINDOW,
				       .most = EFFORT_LOOKS};

	look_first(&budget);
	assert_int_equal(spend_both(&budget, 0.005, 200 << 20), 0);
	spend_both(&budget, 0.005, 90 << 20);
	assert_int_equal(budget.effort, EFFORT_ALL);
	assert_int_equal(spend_both(&budget, 0.005, 101 << 20), 1);
	assert_int_equal(spend_both(&budget, 0.005, 101 << 20), 1);
	assert_int_equal(budget.effort, EFFORT_FEWER_STACKS);
	for (int minute = 0; minute < 4; minute++)
		assert_int_equal(spend_both(&budget, 0.005, 99 << 20), 0);
	assert_int_equal(spend_both(&budget, 0.012, 99 << 20), 1);
	for (int minute = 0; minute < 4; minute++)
		assert_int_equal(spend_both(&budget, 0.005, 99 << 20), 0);
	assert_int_equal(spend_both(&budget, 0.005, 99 << 20), -1);
	assert_int_equal(budget.effort, EFFORT_FEWER_STACKS);
	for (int minute = 0; minute < 4; minute++)
		spend_both(&budget, 0.005, 200 << 20);
	assert_int_equal(budget.effort, EFFORT_HALF_RATE);
}

/* A child's memory counts, and so does that of its child; what both share counts once. */
static void test_memory(void **state)
{
	const size_t n = 32 << 20;
	int ready[2];
	struct daemon_board *board = calloc(1, sizeof *board);
	uint64_t before = daemon_usage(getpid(), board).bytes, with;
	char *shared = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child;
	char byte;

	assert_true(shared != MAP_FAILED && before > 0);
	assert_int_equal(pipe(ready), 0);
	memset(shared, 1, n);
	child = fork();
	if (child == 0) {
		if (fork() == 0) {
			char *own = malloc(n);

			prctl(PR_SET_NAME, "bpfflame-names");
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			memset(own, 1, n);
			for (size_t i = 0; i < n; i += 4096)
				byte = shared[i] + own[i];
			_exit(write(ready[1], &byte, 1) == 1 && pause());
		}
		if (fork() == 0) {
			char *own = malloc(4 * n);

			prctl(PR_SET_NAME, "bpfflame-query"); /* does not count */
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			memset(own, 1, 4 * n);
			_exit(write(ready[1], own, 1) == 1 && pause());
		}
		_exit(pause());
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	with = daemon_usage(getpid(), board).bytes;
	/* Pages from before the forks are a share of who does not count, too. */
	assert_in_range(with - before, 2 * n - n / 8, 2 * n + n / 2);
	assert_in_range(board->memory[BOARD_NAMES], n, with);
	assert_in_range(board->memory[BOARD_DAEMON], 1, with - n);
	assert_in_range(board->memory[BOARD_QUERY], 4 * n, 5 * n);
	assert_int_equal(board->memory[BOARD_WRITE], 0);
	free(board);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	munmap(shared, n);
	close(ready[0]);
	close(ready[1]);
}

static uint64_t process_cpu_ns(void)
{
	struct timespec used;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	return used.tv_sec * NSEC_PER_SEC + used.tv_nsec;
}

static void compute(uint64_t ns)
{
	uint64_t end = process_cpu_ns() + ns;

	while (process_cpu_ns() < end)
		;
}

/* A child that lives counts, and so does a grandchild that has ended; who serves does not. */
static void test_cpu_time(void **state)
{
	const uint64_t each = SECOND / 5, ticks = 20 * SECOND / sysconf(_SC_CLK_TCK);
	struct daemon_board *board = calloc(1, sizeof *board);
	uint64_t before, with;
	int ready[2];
	pid_t child;
	char byte;

	assert_int_equal(pipe(ready), 0);
	before = daemon_usage(getpid(), board).cpu_ns;
	child = fork();
	if (child == 0) {
		pid_t ended, serves;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		ended = fork();

		if (ended == 0) {
			compute(each);
			_exit(0);
		}
		serves = fork();
		if (serves == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			prctl(PR_SET_NAME, "bpfflame-serve"); /* does not count */
			compute(2 * each);
			_exit(write(ready[1], "", 1) == 1 && pause());
		}
		compute(each);
		_exit(waitpid(ended, NULL, 0) == ended && write(ready[1], "", 1) == 1 && pause());
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	with = daemon_usage(getpid(), board).cpu_ns;
	/* More than either of them. */
	assert_in_range(with - before, each + each / 2, 2 * each + ticks);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	/* Waited for, nothing of it is lost. */
	assert_in_range(daemon_usage(getpid(), board).cpu_ns, with, with + ticks);
	close(ready[0]);
	close(ready[1]);
	free(board);
}

static char path[] = "/tmp/test_daemon.XXXXXX";

static void write_config(const char *text)
{
	FILE *stream = fopen(path, "w");

	assert_non_null(stream);
	fputs(text, stream);
	fclose(stream);
}

static int make_config(void **state)
{
	int fd = mkstemp(path);

	return fd < 0 ? -1 : close(fd);
}

static int remove_config(void **state)
{
	return unlink(path);
}

static int read_options(struct daemon_options *ret, struct failure *failure, const char *more)
{
	char *words[] = {"daemon", "--config", path, (char *)more, NULL};

	*failure = (struct failure){};
	return daemon_options_read(more ? 4 : 3, words, ret, failure);
}

static void test_config(void **state)
{
	struct daemon_options options;
	struct failure failure;

	write_config("# what is kept\n\nstore = /srv/flames\n  keep 10s=1h\nkeep=2G # of all\n"
		     "freq\t49\r\nno-inline\nuser '\"me' \r\nunwind-memory=\"8M\"\n");
	assert_int_equal(read_options(&options, &failure, NULL), 0);
	assert_string_equal(options.store, "/srv/flames");
	assert_int_equal(options.keep.age_ns[LEVEL_FINEST], HOUR);
	assert_int_equal(options.keep.age_ns[LEVEL_MINUTE], 14 * STORE_DAY);
	assert_int_equal(options.keep.bytes, 2ULL << 30);
	assert_int_equal(options.frequency, 49);
	assert_true(options.no_inline);
	assert_string_equal(options.user, "\"me");
	assert_int_equal(options.unwind_memory, 8 << 20);
	assert_int_equal(options.memory_budget, 100 << 20);
	daemon_options_done(&options);
	assert_int_equal(read_options(&options, &failure, "--memory-budget=64M"), 0);
	assert_int_equal(options.memory_budget, 64 << 20);
	daemon_options_done(&options);
	/* The command line takes precedence. */
	assert_int_equal(read_options(&options, &failure, "--freq=7"), 0);
	assert_int_equal(options.frequency, 7);
	daemon_options_done(&options);
	assert_int_equal(read_options(&options, &failure, "--keep=3d"), 0);
	assert_int_equal(options.keep.age_ns[LEVEL_FINEST], 3 * STORE_DAY);
	assert_int_equal(options.keep.age_ns[LEVEL_DAY], 3 * STORE_DAY);
	daemon_options_done(&options);
	assert_int_equal(read_options(&options, &failure, "--keep=1d=1y"), 0);
	assert_int_equal(options.keep.age_ns[LEVEL_DAY], 365 * STORE_DAY);
	daemon_options_done(&options);
}

/* getopt takes abbreviations; help needs no file. */
static void test_which_config(void **state)
{
	struct daemon_options options;
	struct failure failure = {};

	write_config("freq 49\n");
	assert_int_equal(daemon_options_read(3, (char *[]){"daemon", "--conf", path, NULL},
					     &options, &failure),
			 0);
	assert_int_equal(options.frequency, 49);
	daemon_options_done(&options);
	write_config("freq many\n");
	assert_int_equal(read_options(&options, &failure, "--help"), 1);
	daemon_options_done(&options);
}

static void test_wrong_config(void **state)
{
	static const char *const wrong[] = {
		"frequency 49\n",     "freq many\n",	"freq 0\n",
		"keep 5s=1h\n",	      "keep\n",		"window 0.1\n",
		"--freq 49\n",	      "freq 49 more\n", "config /etc/x\n",
		"memory-budget 1M\n", "help\n",		"keep 1m=x\n",
		"unwind-memory 1\n",  "keep 1000\n",	"keep 0\n",
		"keep 4096B\n",	      "keep 0d\n",	"keep 10s=0s\n",
		"store =\n",	      "store \"\"\n",	"freq \"49\n"};
	struct daemon_options options;
	struct failure failure;

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		write_config(wrong[i]);
		if (read_options(&options, &failure, NULL) != -EINVAL)
			fail_msg("'%s' is taken", wrong[i]);
		assert_non_null(strstr(failure.what, path));
	}
	write_config("frq 49\n");
	assert_int_equal(read_options(&options, &failure, NULL), -EINVAL);
	assert_non_null(strstr(failure.fix, "--freq"));
	assert_int_equal(truncate(path, 10), 0);
	assert_int_equal(read_options(&options, &failure, NULL), -EINVAL);
	assert_non_null(strstr(failure.what, "NUL"));
	write_config("");
	assert_int_equal(read_options(&options, &failure, "--freq=x"), -EINVAL);
	assert_null(strstr(failure.what, path));
}

/* Whoever writes it decides where root makes files. */
static void test_config_of_others(void **state)
{
	struct daemon_options options;
	struct failure failure;

	write_config("freq 49\n");
	assert_int_equal(chmod(path, 0602), 0);
	assert_int_equal(read_options(&options, &failure, NULL), -EPERM);
	assert_non_null(strstr(failure.what, path));
	assert_non_null(strstr(failure.fix, "chmod"));
	assert_int_equal(chmod(path, 0644), 0);
	assert_int_equal(read_options(&options, &failure, NULL), 0);
	daemon_options_done(&options);
	if (geteuid() != 0)
		return;
	assert_int_equal(chown(path, 12345, 0), 0);
	assert_int_equal(read_options(&options, &failure, NULL), -EPERM);
	/* They called sudo: they could have been root anyway. */
	setenv("SUDO_UID", "12345", 1);
	assert_int_equal(read_options(&options, &failure, NULL), 0);
	daemon_options_done(&options);
	unsetenv("SUDO_UID");
	assert_int_equal(chown(path, 0, 12345), 0);
	assert_int_equal(chmod(path, 0664), 0);
	assert_int_equal(read_options(&options, &failure, NULL), -EPERM);
	assert_int_equal(chown(path, 0, 0), 0);
}

static void test_config_without_end(void **state)
{
	char *words[] = {"daemon", "--config", "/dev/zero", NULL};
	struct daemon_options options;
	struct failure failure = {};

	assert_int_equal(daemon_options_read(3, words, &options, &failure), -EFBIG);
	words[2] = "/dev/null";
	assert_int_equal(daemon_options_read(3, words, &options, &failure), 0);
	daemon_options_done(&options);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_back_to_back, begin),
		cmocka_unit_test_setup(test_clock_set, begin),
		cmocka_unit_test_setup(test_suspended, begin),
		cmocka_unit_test(test_budget),
		cmocka_unit_test(test_budget_of_programs),
		cmocka_unit_test(test_memory_budget),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_cpu_time),
		cmocka_unit_test(test_config),
		cmocka_unit_test(test_which_config),
		cmocka_unit_test(test_wrong_config),
		cmocka_unit_test(test_config_of_others),
		cmocka_unit_test(test_config_without_end),
	};

	return cmocka_run_group_tests(tests, make_config, remove_config);
}
