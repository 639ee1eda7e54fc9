/* SPDX-License-Identifier: GPL-2.0-or-later */
/* store_writer after one that died: what it had not rolled up is made again, once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <sys/wait.h>
#include <zlib.h>

#include "made_store.h"

#define MINUTE (60 * NSEC_PER_SEC)

/* Writes the next @n windows, and dies. */
static void add_and_die(unsigned int n, unsigned int *seed, struct made_sums *sums)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		open_writer();
		add_windows(n, seed, sums);
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	for (; n > 0; n--, clock_ns += WINDOW)
		profile_free(made_profile((*seed)++, sums));
}

/* Everything that was written, @sums, is in each level once, when the last day is over. */
static void assert_levels(const struct made_sums *sums)
{
	struct made_sums level;
	unsigned int seed = 0;

	open_writer();
	clock_ns += 24 * HOUR;
	add_windows(1, &seed, &(struct made_sums){});
	store_writer_close(writer);
	for (int i = LEVEL_MINUTE; i <= LEVEL_SERIES; i++) {
		read_level(i, &level);
		if (memcmp(&level, sums, sizeof level) != 0)
			fail_msg("level %d: %lu samples of %lu", i, level.count, sums->count);
	}
}

/* A dead writer's open windows are made again in parts, too: same sums. */
static void test_recovered_in_parts(void **state)
{
	const struct store_options small = {
		.path = path, .window_ns = WINDOW, .now = now, .dictionary_bytes = 32 << 10};
	struct made_sums sums = {}, level;
	unsigned int seed = 0;

	clock_ns = MADE_START - MADE_START % (24 * HOUR) + 23 * HOUR;
	add_and_die(355, &seed, &sums);
	assert_int_equal(store_writer_open(&small, &writer, &failure), 0);
	add_windows(5, &seed, &sums);
	add_windows(1, &seed, &(struct made_sums){}); /* the day is over */
	store_writer_close(writer);
	for (int i = LEVEL_MINUTE; i <= LEVEL_SERIES; i++) {
		uint64_t n = read_level(i, &level);

		assert_memory_equal(&level, &sums, sizeof sums);
		assert_true(i != LEVEL_HOUR || n > 2);
	}
}

/*
 * Killed many times without warning: the coarse levels hold everything that the finest one holds.
 */
static void test_killed(void **state)
{
	struct made_sums finest, minutes, series;
	unsigned int seed = 0, chance = 1;

	for (int i = 0; i < 12; i++) {
		pid_t pid = fork();
		int status;

		if (pid == 0) {
			struct made_sums unused = {};

			open_writer();
			for (unsigned int k = rand_r(&chance) % 40 + i; k > 0; k--)
				add_windows(1, &seed, &unused);
			kill(getpid(), SIGKILL);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));
		rand_r(&chance);
		clock_ns += 40 * 60 * NSEC_PER_SEC;
	}
	open_writer(); /* rolls up completed windows */
	add_windows(1, &seed, &(struct made_sums){});
	store_writer_close(writer);
	read_level(LEVEL_FINEST, &finest);
	/*
	 * Each writer redoes the open part of each coarse level, because its last window is
	 * missing.
	 */
	assert_in_range(read_level(LEVEL_MINUTE, &minutes), 1, 1000);
	read_range(0, UINT64_MAX / 4, false, &series);
	assert_memory_equal(&series, &finest, sizeof finest);
	read_range(0, UINT64_MAX / 4, true, &series);
	assert_memory_equal(&series, &finest, sizeof finest);
}

static void set_clock(int minutes)
{
	clock_ns += minutes * (int64_t)MINUTE;
	ahead_ns += minutes * (int64_t)MINUTE;
}

/* The clock goes ahead and back while writers die: files of the future hide nothing that follows. */
static void test_clock_of_the_dead(void **state)
{
	static const int steps[] = {0, 60, -60, -30, 180, -120, 1800, -1800};
	struct made_sums sums = {};
	unsigned int seed = 0, chance = 1;

	for (unsigned int i = 0; i < 24; i++) {
		set_clock(steps[i % (sizeof steps / sizeof *steps)]);
		add_and_die(rand_r(&chance) % 50, &seed, &sums);
	}
	assert_levels(&sums);
}

/* One that goes on after the clock was set, and then dies. */
static void test_clock_of_the_living(void **state)
{
	struct made_sums sums = {};
	unsigned int seed = 0;

	open_writer();
	add_windows(100, &seed, &sums);
	set_clock(60);
	add_windows(100, &seed, &sums);
	set_clock(-60);
	add_windows(100, &seed, &sums);
	store_writer_close(writer);
	assert_levels(&sums);
}

/* Files of @from become those of another boot. */
static void rename_boot(const uint8_t from[static 16], const uint8_t to[static 16])
{
	struct store_files files;
	int folder = open(path, O_RDONLY | O_DIRECTORY);

	assert_int_equal(store_files_list(folder, &files), 0);
	for (size_t i = 0; i < files.n; i++) {
		uint8_t header[64];
		uint32_t sum;
		int fd = openat(folder, files.items[i].name, O_RDWR);

		assert_int_equal(read(fd, header, sizeof header), sizeof header);
		if (memcmp(header + 32, from, 16) == 0) {
			memcpy(header + 32, to, 16);
			sum = crc32(0, header, 60);
			memcpy(header + 60, &sum, sizeof sum);
			assert_int_equal(pwrite(fd, header, sizeof header, 0), sizeof header);
		}
		close(fd);
	}
	store_files_done(&files);
	close(folder);
}

/* Windows of a boot do not share coarse ones with those of the next. */
static void test_reboots(void **state)
{
	struct made_sums sums = {};
	unsigned int seed = 0;
	struct store_files files;
	uint8_t ours[16], another[16] = "another boot";
	int folder = open(path, O_RDONLY | O_DIRECTORY);

	for (int i = 0; i < 6; i++) {
		add_and_die(7 + 20 * i, &seed, &sums);
		if (i == 0) {
			assert_int_equal(store_files_list(folder, &files), 0);
			memcpy(ours, files.items[0].header.boot_id, sizeof ours);
			store_files_done(&files);
		}
		if (i % 2) {
			another[15] = 9 - i;
			rename_boot(ours, another);
			ahead_ns = clock_ns - MADE_START; /* boot-time begins anew */
		}
	}
	assert_levels(&sums);
	close(folder);
}

/* What can't be read of the coarse levels is made again. */
static void test_damaged_end(void **state)
{
	struct made_sums sums = {}, minutes;
	struct store_files files;
	unsigned int seed = 0, damaged = 0;
	int folder = open(path, O_RDONLY | O_DIRECTORY);

	add_and_die(100, &seed, &sums);
	assert_int_equal(store_files_list(folder, &files), 0);
	for (size_t i = 0; i < files.n; i++) {
		int fd = openat(folder, files.items[i].name, O_RDWR);

		if (files.items[i].level == LEVEL_MINUTE)
			assert_int_equal(
				pwrite(fd, "\0\1\2\3\4\5\6\7", 8, files.items[i].last + 60), 8);
		close(fd);
	}
	store_files_done(&files);
	close(folder);
	open_writer();
	set_clock(60);
	add_windows(1, &(unsigned int){0}, &(struct made_sums){});
	store_writer_close(writer);
	read_readable(LEVEL_MINUTE, &minutes, &damaged);
	assert_int_equal(damaged, 1);
	assert_memory_equal(&minutes, &sums, sizeof sums);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_recovered_in_parts),	TEST(test_killed),  TEST(test_clock_of_the_dead),
		TEST(test_clock_of_the_living), TEST(test_reboots), TEST(test_damaged_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
