/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a recording's command line results in, with its options in any order. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "record/options.h"

#define MAX_WORDS 16

static char words[512];
static struct failure failure;

/* @line: the options of `bpfflame -a`, with single spaces between them. */
static int parse(const char *line, struct record_options *ret)
{
	char *argv[MAX_WORDS + 1] = {"bpfflame", "-a"}, *rest = words;
	int argc = 2;

	snprintf(words, sizeof words, "%s", line);
	while (argc < MAX_WORDS && rest && *rest)
		argv[argc++] = strsep(&rest, " ");
	failure = (struct failure){};
	return options_parse(argc, argv, NULL, ret, &failure);
}

static struct record_options parsed(const char *line)
{
	struct record_options options;

	if (parse(line, &options) != 0)
		fail_msg("%s: %s", line, failure.what);
	options_done(&options);
	return options;
}

static void expect_refused(const char *line, const char *named)
{
	struct record_options options;

	if (parse(line, &options) != -EINVAL)
		fail_msg("%s is taken", line);
	if (!strstr(failure.what, named))
		fail_msg("%s: %s", line, failure.what);
	options_done(&options);
}

static void modes(void **state)
{
	assert_int_equal(parsed("").collect.mode, PROFILE_ONCPU);
	assert_int_equal(parsed("--oncpu").collect.mode, PROFILE_ONCPU);
	assert_int_equal(parsed("--offcpu").collect.mode, PROFILE_OFFCPU);
	assert_int_equal(parsed("--off-cpu").collect.mode, PROFILE_OFFCPU);
	assert_int_equal(parsed("--wall").collect.mode, PROFILE_WALL);
	assert_int_equal(parsed("--wall --wall -F 499").collect.mode, PROFILE_WALL);
	expect_refused("--wall --offcpu", "--wall");
	expect_refused("--offcpu --oncpu", "--oncpu");
	expect_refused("--oncpu --wall", "--wall");
}

static void wakers(void **state)
{
	static const struct {
		const char *line;
		unsigned int depth;
	} lines[] = {
		{"--offcpu", 0},
		{"--offcpu --wakers", 1},
		{"--wakers --wall", 1},
		{"--waker-depth 3 --offcpu", 3},
		{"--waker-depth 8 --wakers --wall", 8},
		{"--wakers --wall --waker-depth 2", 2},
	};

	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		struct record_options options = parsed(lines[i].line);

		assert_int_equal(options.collect.waker_depth, lines[i].depth);
		assert_int_equal(options.view.stacks.unfold.waker_depth, lines[i].depth);
	}
	expect_refused("--wakers", "--wakers");
	expect_refused("--waker-depth 2 --wakers --oncpu", "--waker-depth");
	expect_refused("--offcpu --waker-depth 0", "--waker-depth");
	expect_refused("--offcpu --waker-depth 9", "--waker-depth");
	expect_refused("--offcpu --waker-depth two", "--waker-depth");
}

static void offcpu_periods(void **state)
{
	assert_true(parsed("").collect.offcpu_period_ns == PERIOD_AUTO);
	assert_true(parsed("--wall").collect.offcpu_period_ns == PERIOD_AUTO);
	assert_int_equal(parsed("--offcpu --offcpu-period 0").collect.offcpu_period_ns, 0);
	assert_int_equal(parsed("--offcpu-period 250 --wall").collect.offcpu_period_ns, 250000);
	assert_int_equal(parsed("--wall --offcpu-period 2ms").collect.offcpu_period_ns, 2000000);
	assert_int_equal(parsed("--wall --offcpu-period 4s").collect.offcpu_period_ns, 4000000000);
	expect_refused("--wall --offcpu-period 4.1s", "--offcpu-period");
	expect_refused("--wall --offcpu-period soon", "--offcpu-period");
	expect_refused("--offcpu-period 1ms", "--offcpu-period");
}

static void other_options_of_offcpu_time(void **state)
{
	assert_true(parsed("--fold-idle --wall").view.stacks.unfold.fold_idle);
	assert_false(parsed("--wall").view.stacks.unfold.fold_idle);
	/* For the whole machine, idle waits are hidden, unless asked for or for certain threads. */
	assert_true(parsed("--wall").view.stacks.no_idle);
	assert_false(parsed("--wall --idle").view.stacks.no_idle);
	assert_false(parsed("--wall --fold-idle").view.stacks.no_idle);
	assert_false(parsed("--wall --comm x").view.stacks.no_idle);
	assert_true(parsed("--wall --comm x --no-idle").view.stacks.no_idle);
	/* These draw idle waits, under a frame of their own. */
	assert_true(parsed("--wall --comm x").view.gathers_idle);
	assert_false(parsed("--wall --comm x --idle").view.gathers_idle);
	assert_false(parsed("--wall").view.gathers_idle);
	expect_refused("--wall --idle --no-idle", "--idle");
	assert_int_equal(parsed("-m 5 --wall").collect.min_block_ns, 5000);
	assert_int_equal(parsed("--wall -M 5ms").collect.max_block_ns, 5000000);
	expect_refused("--fold-idle", "--fold-idle");
	expect_refused("-m 5", "--min-block");
	expect_refused("-M 5 --oncpu", "--max-block");
	expect_refused("--wall -m 2s -M 1s", "-m");
}

/* Off the CPU the kernel half is always taken, because it gives the reason. */
static void user_stacks_only(void **state)
{
	static const char *const lines[] = {"--offcpu -U", "-U --wall"};

	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		struct record_options options = parsed(lines[i]);

		assert_true(options.collect.no_kernel);
		assert_true(options.view.stacks.unfold.no_kernel);
	}
	assert_true(parsed("-U").collect.no_kernel);
	assert_false(parsed("--wall").view.stacks.unfold.no_kernel);
	assert_false(parsed("--wall -K").view.stacks.unfold.no_kernel);
}

static void sets(void **state)
{
	struct record_options options = parsed("--every 60 --keep 100 --keep 7d --keep 2G");

	assert_int_equal(options.collect.every_ns, 60 * NSEC_PER_SEC);
	assert_int_equal(options.keep.sets, 100);
	assert_int_equal(options.keep.age_ns, 7 * 24 * 3600 * NSEC_PER_SEC);
	assert_int_equal(options.keep.bytes, 2ULL << 30);
	assert_int_equal(parsed("--every 100ms").collect.every_ns, NSEC_PER_SEC / 10);
	assert_int_equal(parsed("--every 1 --keep 90m").keep.age_ns, 5400 * NSEC_PER_SEC);
	assert_int_equal(parsed("--every 1 --keep 1.5h").keep.age_ns, 5400 * NSEC_PER_SEC);
	assert_int_equal(parsed("--every 1 --keep 30s").keep.age_ns, 30 * NSEC_PER_SEC);
	assert_int_equal(parsed("--every 1 --keep 500MiB").keep.bytes, 500 << 20);
	assert_int_equal(parsed("--every 1 --keep 500MB").keep.bytes, 500 << 20);
	assert_int_equal(parsed("--every 1 --keep 4096B").keep.bytes, 4096);
	assert_int_equal(parsed("--every 1 --keep 2K").keep.bytes, 2048);
	expect_refused("--every 99ms", "--every");
	expect_refused("--every 0", "--every");
	expect_refused("--every x", "--every");
	expect_refused("--every 1 --keep 0", "--keep");
	expect_refused("--every 1 --keep 0d", "--keep");
	expect_refused("--every 1 --keep 0G", "--keep");
	expect_refused("--every 1 --keep 1.5", "--keep");
	expect_refused("--every 1 --keep 7D", "--keep");
	expect_refused("--every 1 --keep 2g", "--keep");
	expect_refused("--every 1 --keep 2Gib", "--keep");
	expect_refused("--every 1 --keep -3", "--keep");
	expect_refused("--every 1 --keep 1 --keep 2", "--keep 2");
	expect_refused("--every 1 --keep 1G --keep 7d --keep 2G", "--keep 2G");
	expect_refused("--every 1 --keep 1h --keep 7d", "--keep 7d");
	expect_refused("-q -v", "-q");
	expect_refused("--keep 3", "--every");
	expect_refused("--keep 3", "--keep");
	expect_refused("--every 1 -o x.svg", "--every");
}

static void expect_events(const char *list, const char *const names[], size_t n)
{
	char line[256];
	struct record_options options;

	snprintf(line, sizeof line, "-e %s", list);
	if (parse(line, &options) != 0)
		fail_msg("%s: %s", line, failure.what);
	assert_int_equal(options.collect.n_events, n);
	for (size_t i = 0; i < n; i++)
		assert_string_equal(options.collect.events[i].name, names[i]);
	options_done(&options);
}

#define EXPECT_EVENTS(list, ...)                                                                   \
	expect_events(list, (const char *const[]){__VA_ARGS__},                                    \
		      sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

/* A comma ends an event, except inside a file name or between the slashes of a PMU. */
static void lists_of_events(void **state)
{
	EXPECT_EVENTS("page-faults,kprobe:vfs_read", "page-faults", "kprobe:vfs_read");
	EXPECT_EVENTS("kprobe:vfs_read,page-faults:9", "kprobe:vfs_read", "page-faults");
	EXPECT_EVENTS("probe:a,cpu/event=1,umask=2/,probe:b", "probe:a", "cpu/event=1,umask=2/",
		      "probe:b");
	EXPECT_EVENTS("uprobe:/a,b:f:7,usdt:/c,d:e:g,uretprobe:libc.so.6:h", "uprobe:/a,b:f",
		      "usdt:/c,d:e:g", "uretprobe:libc.so.6:h");
	expect_refused("-e page-faults,", "-e");
	expect_refused("-e uprobe:/a,b", "-e");
}

static void commands_have_a_name(void **state)
{
	assert_string_equal(parsed("--comm *").collect.comm, "*");
	expect_refused("--comm=", "--comm: '' is not a command name");
}

static void wall_has_no_cpus(void **state)
{
	expect_refused("--wall -C 0", "-C does not go with --wall");
	assert_int_equal(parsed("--offcpu -C 0").collect.mode, PROFILE_OFFCPU);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sets),
		cmocka_unit_test(modes),
		cmocka_unit_test(wakers),
		cmocka_unit_test(offcpu_periods),
		cmocka_unit_test(other_options_of_offcpu_time),
		cmocka_unit_test(user_stacks_only),
		cmocka_unit_test(lists_of_events),
		cmocka_unit_test(commands_have_a_name),
		cmocka_unit_test(wall_has_no_cpus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
