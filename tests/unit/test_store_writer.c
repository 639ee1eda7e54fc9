/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * store_writer and store_read: all levels agree, whatever happens to clocks, processes and limits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "made_store.h"

/* Two days and an hour, followed by a writer that closes the last open windows. */
static void test_levels_are_equal(void **state)
{
	struct made_sums sums = {}, level, all;
	unsigned int seed = 0;
	struct store_answer answer;

	clock_ns = MADE_START - MADE_START % (24 * HOUR);
	open_writer();
	add_windows(24 * 360, &seed, &sums);
	all = sums;
	add_windows(1, &seed, &all); /* the day is over */
	assert_int_equal(store_writer_counts(writer)->windows, 24 * 360 + 1);
	store_writer_close(writer);

	assert_int_equal(read_level(LEVEL_FINEST, &level), 24 * 360 + 1);
	assert_memory_equal(&level, &all, sizeof all);
	assert_int_equal(read_level(LEVEL_MINUTE, &level), 24 * 60);
	assert_memory_equal(&level, &sums, sizeof sums);
	assert_int_equal(read_level(LEVEL_SERIES, &level), 24 * 60);
	assert_memory_equal(&level, &sums, sizeof sums);
	assert_int_equal(read_level(LEVEL_HOUR, &level), 24);
	assert_memory_equal(&level, &sums, sizeof sums);
	assert_int_equal(read_level(LEVEL_DAY, &level), 1);
	assert_memory_equal(&level, &sums, sizeof sums);

	/* A range is read from all available windows, each moment once. */
	answer = read_range(0, UINT64_MAX / 4, false, &level);
	assert_memory_equal(&level, &all, sizeof all);
	assert_int_equal(answer.windows[LEVEL_DAY], 1);
	assert_int_equal(answer.windows[LEVEL_FINEST], 1);
	answer = read_range(clock_ns - 24 * HOUR - WINDOW, clock_ns, false, &level);
	assert_memory_equal(&level, &all, sizeof all);
	assert_int_equal(answer.windows[LEVEL_HOUR], 24);
	assert_int_equal(answer.covered, 24 * HOUR + WINDOW);
	answer = read_range(clock_ns - WINDOW - 12 * HOUR, clock_ns - WINDOW, false, &level);
	assert_int_equal(answer.windows[LEVEL_HOUR], 0);
	assert_int_equal(answer.windows[LEVEL_MINUTE], 12 * 60);
	assert_int_equal(answer.covered, 12 * HOUR);
	answer = read_range(clock_ns - 14 * 24 * HOUR, clock_ns, false, &level);
	assert_memory_equal(&level, &all, sizeof all);
	assert_int_equal(answer.windows[LEVEL_HOUR], 24);
	answer = read_range(clock_ns - 15 * 24 * HOUR, clock_ns, false, &level);
	assert_memory_equal(&level, &all, sizeof all);
	assert_int_equal(answer.windows[LEVEL_DAY], 1);
	answer = read_range(0, UINT64_MAX / 4, true, &level);
	assert_memory_equal(&level, &all, sizeof all);
	assert_int_equal(answer.windows[LEVEL_SERIES], 24 * 60);
}

/* With little memory for dictionaries, files are more and coarse windows come in parts: same sums.
 */
static void test_small_dictionaries(void **state)
{
	const struct store_options options = {
		.path = path, .window_ns = WINDOW, .now = now, .dictionary_bytes = 32 << 10};
	struct made_sums sums = {}, level, all;
	struct store_answer answer;
	unsigned int seed = 0;

	clock_ns = MADE_START - MADE_START % (24 * HOUR) + 23 * HOUR;
	assert_int_equal(store_writer_open(&options, &writer, &failure), 0);
	add_windows(360, &seed, &sums);
	all = sums;
	add_windows(1, &seed, &all);
	store_writer_close(writer);
	for (int i = LEVEL_MINUTE; i <= LEVEL_SERIES; i++) {
		uint64_t n = read_level(i, &level);

		assert_memory_equal(&level, &sums, sizeof sums);
		assert_true(i == LEVEL_SERIES || n > 60);
	}
	answer = read_range(0, UINT64_MAX / 4, false, &level);
	assert_memory_equal(&level, &all, sizeof all);
	assert_int_equal(answer.covered, HOUR + WINDOW);
	answer = read_range(clock_ns - HOUR - WINDOW, clock_ns, false, &level);
	assert_memory_equal(&level, &all, sizeof all);
}

/* Where a range begins or ends inside a coarse window, finer ones are read. */
static void test_edges(void **state)
{
	struct made_sums sums[3] = {}, found;
	unsigned int seed = 0;
	uint64_t from;

	open_writer();
	add_windows(200, &seed, &sums[0]);
	from = clock_ns;
	add_windows(1000, &seed, &sums[1]);
	read_range(from, clock_ns, false, &found);
	assert_memory_equal(&found, &sums[1], sizeof found);
	/* Less than half of the last window is missing. */
	add_windows(1, &seed, &sums[2]);
	read_range(from, clock_ns - 6 * NSEC_PER_SEC, false, &found);
	assert_memory_equal(&found, &sums[1], sizeof found);
	store_writer_close(writer);
}

/* The clock goes back an hour and later ahead: nothing is lost or counted twice. */
static void test_clock(void **state)
{
	struct made_sums sums = {}, found, before = {};
	unsigned int seed = 0;
	uint64_t start = clock_ns;

	open_writer();
	add_windows(100, &seed, &sums);
	clock_ns -= HOUR;
	add_windows(50, &seed, &before);
	clock_ns += 2 * HOUR;
	add_windows(50, &seed, &sums);
	store_writer_close(writer);
	for (int i = 1; i <= MADE_PIDS; i++) {
		sums.running[i] += before.running[i];
		sums.waiting[i] += before.waiting[i];
	}
	sums.count += before.count;
	read_level(LEVEL_FINEST, &found);
	assert_memory_equal(&found, &sums, sizeof sums);
	read_range(start - 2 * HOUR, clock_ns, false, &found);
	assert_memory_equal(&found, &sums, sizeof sums);
	read_range(start + 1000 * NSEC_PER_SEC - HOUR, start + 1500 * NSEC_PER_SEC - HOUR, false,
		   &found);
	assert_memory_equal(&found, &before, sizeof before);
}

static size_t count_files(enum store_level level, uint64_t *ret_bytes)
{
	struct store_files files;
	size_t n = 0;
	int folder = open(path, O_RDONLY | O_DIRECTORY);

	*ret_bytes = 0;
	assert_int_equal(store_files_list(folder, &files), 0);
	for (size_t i = 0; i < files.n; i++) {
		n += files.items[i].level == level;
		*ret_bytes += files.items[i].bytes;
	}
	store_files_done(&files);
	close(folder);
	return n;
}

#define MANY 200000 /* more processes than a dictionary takes */

/* A window of one sample of each process from @pid on. */
static void add_many_processes(uint32_t pid)
{
	struct store_window window = window_at(clock_ns);
	struct profile *profile;
	struct ledger ledger;

	assert_int_equal(profile_new(PROFILE_WALL, &profile), 0);
	for (uint32_t i = 0; i < MANY; i++) {
		struct profile_sample sample = {.pid = pid + i, .reason = REASON_FUTEX, .count = 1};

		assert_int_equal(profile_add_stack(profile, NULL, 0, STACK_COMPLETE, &sample.stack),
				 0);
		assert_int_equal(profile_add_sample(profile, &sample), 0);
	}
	assert_int_equal(ledger_init(&ledger), 0);
	assert_int_equal(ledger_add_profile(&ledger, profile, NULL, 0), 0);
	assert_int_equal(store_writer_add(writer, &ledger, &window), 0);
	ledger_done(&ledger);
	profile_free(profile);
	clock_ns += WINDOW;
}

/* Short-lived processes of one command end a file, too, though they add no text and no node. */
static void test_many_processes(void **state)
{
	uint64_t bytes;

	clock_ns = MADE_START - MADE_START % HOUR;
	open_writer();
	add_many_processes(1);
	add_many_processes(1 + MANY);
	store_writer_close(writer);
	assert_int_equal(count_files(LEVEL_FINEST, &bytes), 2);
}

#define LASTING 100 /* a process that was there before; the others live for a window each */

static void add_short_life(uint32_t pid)
{
	struct store_window window = window_at(clock_ns);
	const struct ledger_who who[] = {
		{LASTING, NSEC_PER_SEC, "", ""},
		{pid, window.boot - WINDOW / 2, "", ""},
	};
	struct profile *profile;
	struct ledger ledger;

	assert_int_equal(profile_new(PROFILE_WALL, &profile), 0);
	for (int i = 0; i < 2; i++) {
		struct profile_sample sample = {
			.pid = who[i].pid, .reason = REASON_FUTEX, .count = 1, .nanoseconds = 1000};

		assert_int_equal(profile_add_stack(profile, NULL, 0, STACK_COMPLETE, &sample.stack),
				 0);
		assert_int_equal(profile_add_sample(profile, &sample), 0);
	}
	assert_int_equal(ledger_init(&ledger), 0);
	assert_int_equal(ledger_add_profile(&ledger, profile, who, 2), 0);
	assert_int_equal(store_writer_add(writer, &ledger, &window), 0);
	ledger_done(&ledger);
	profile_free(profile);
	clock_ns += WINDOW;
}

/* How often processes have a pid, how many pids there are, and the time of all of them. */
struct pids_found {
	uint64_t windows, rows, lasting, others, nameless, microseconds;
};

static int count_pids(void *context, const struct ledger *ledger, const struct store_window *window,
		      bool is_first)
{
	struct pids_found *found = context;

	found->windows++;
	for (size_t i = 0; i < ledger->n_rows; i++) {
		uint32_t pid = ledger->processes[ledger->rows[i].process].pid;

		found->rows++;
		found->lasting += pid == LASTING;
		found->nameless += pid == 0;
		found->others += pid != 0 && pid != LASTING;
		found->microseconds += ledger->rows[i].microseconds;
	}
	return 0;
}

/* Minutes have one row for short lives that are alike; whoever wants pids reads finer windows. */
static void test_pids(void **state)
{
	struct pids_found found = {};
	struct store_question question = {.path = path, .on_window = count_pids, .context = &found};
	struct store_answer answer;
	uint64_t begin;

	begin = question.from = clock_ns = MADE_START - MADE_START % HOUR;
	question.to = begin + 3 * HOUR;
	open_writer();
	for (uint32_t i = 0; i < 7; i++)
		add_short_life(200 + i);
	assert_int_equal(store_read(&question, &answer, &failure), 0);
	assert_int_equal(answer.windows[LEVEL_MINUTE], 1);
	assert_int_equal(found.windows, 2); /* and one that is of no minute yet */
	assert_int_equal(found.rows, 4);
	assert_int_equal(found.lasting, 2);
	assert_int_equal(found.nameless, 1);
	assert_int_equal(found.others, 1);
	assert_int_equal(found.microseconds, 14);
	found = (struct pids_found){};
	question.wants_pids = true;
	assert_int_equal(store_read(&question, &answer, &failure), 0);
	assert_int_equal(answer.windows[LEVEL_FINEST], 7);
	assert_int_equal(found.lasting, 7);
	assert_int_equal(found.others, 7);
	assert_int_equal(found.microseconds, 14);
	store_writer_close(writer);
}

/* A coarse window that can't be written is counted, and costs none of the finer ones. */
static void test_not_rolled(void **state)
{
	struct rlimit before, small;
	struct made_sums sums = {}, found;
	unsigned int seed = 0;
	struct stat st;
	char name[128];

	clock_ns = MADE_START - MADE_START % (24 * HOUR);
	open_writer();
	add_windows(360 + 1, &seed, &sums);
	assert_int_equal(store_writer_counts(writer)->not_rolled, 0);
	snprintf(name, sizeof name, "%s/1m-20261124T000000Z.bfs", path);
	assert_int_equal(stat(name, &st), 0);
	/* Files of another hour are smaller than that of all minutes. */
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = (struct rlimit){st.st_size, before.rlim_max};
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	add_windows(6, &seed, &sums);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(store_writer_counts(writer)->not_rolled, 1);
	assert_int_equal(store_writer_counts(writer)->lost, 0);
	store_writer_close(writer);
	read_range(0, UINT64_MAX / 4, false, &found);
	assert_memory_equal(&found, &sums, sizeof sums);
}

/* What others put into a folder that is like /tmp keeps the writer from nothing. */
static void test_strange_files(void **state)
{
	static const char *const names[] = {"link.bfs", "pipe.bfs", "folder.bfs"};
	struct store_limits limits = STORE_LIMITS_DEFAULT;
	struct made_sums sums = {};
	unsigned int seed = 0;
	uint64_t bytes;
	int folder;

	open_writer_within(&limits);
	add_windows(8 * 360, &seed, &sums);
	store_writer_close(writer);
	folder = open(path, O_RDONLY | O_DIRECTORY);
	assert_int_equal(symlinkat("/etc/passwd", folder, names[0]), 0);
	assert_int_equal(mkfifoat(folder, names[1], 0600), 0);
	assert_int_equal(mkdirat(folder, names[2], 0700), 0);
	limits.age_ns[LEVEL_FINEST] = 3 * HOUR;
	open_writer_within(&limits);
	assert_in_range(count_files(LEVEL_FINEST, &bytes), 3, 5);
	add_windows(1, &seed, &sums);
	for (size_t i = 0; i < 3; i++) /* they are nobody's to remove */
		assert_int_equal(unlinkat(folder, names[i], i == 2 ? AT_REMOVEDIR : 0), 0);
	close(folder);
}

/* Removes files that are too old, by level; and the finest level first when all are too large. */
static void test_limits(void **state)
{
	struct store_limits limits = STORE_LIMITS_DEFAULT;
	struct made_sums sums = {};
	unsigned int seed = 0;
	uint64_t bytes;

	limits.age_ns[LEVEL_FINEST] = 3 * HOUR;
	open_writer_within(&limits);
	add_windows(10 * 360, &seed, &sums);
	store_writer_limit(writer, &limits);
	assert_in_range(count_files(LEVEL_FINEST, &bytes), 3, 5);
	assert_int_equal(count_files(LEVEL_MINUTE, &bytes), 1);
	limits.bytes = bytes / 2;
	store_writer_limit(writer, &limits);
	assert_in_range(count_files(LEVEL_FINEST, &bytes), 1, 3);
	assert_int_equal(count_files(LEVEL_MINUTE, &bytes), 1);
	store_writer_close(writer);
}

static void set_clock(int64_t days)
{
	clock_ns += days * (int64_t)STORE_DAY;
	ahead_ns += days * (int64_t)STORE_DAY;
}

/* Writes windows, and opens the store again @days later by the clock. */
static void open_after(int days, unsigned int *seed, struct made_sums *sums)
{
	open_writer();
	add_windows(20, seed, sums);
	store_writer_close(writer);
	set_clock(days);
	open_writer();
}

/* A clock that is a year ahead when the daemon begins, or for a while, removes nothing. */
static void test_a_clock_that_is_ahead(void **state)
{
	struct made_sums sums = {};
	unsigned int seed = 0;
	uint64_t bytes;

	open_after(366, &seed, &sums);
	assert_int_equal(count_files(LEVEL_FINEST, &bytes), 1);
	add_windows(2 * 360, &seed, &sums);
	set_clock(-366);
	add_windows(360, &seed, &sums);
	set_clock(366);
	add_windows(360, &seed, &sums);
	set_clock(-366);
	store_writer_close(writer);
	assert_in_range(count_files(LEVEL_FINEST, &bytes), 5, 9);
}

/* After a pause, windows of before it age on, if slowly. */
static void test_a_pause_of_a_month(void **state)
{
	struct made_sums sums = {};
	unsigned int seed = 0;
	uint64_t bytes, n_minutes;

	open_after(30, &seed, &sums);
	assert_int_equal(count_files(LEVEL_FINEST, &bytes), 1);
	add_windows(16 * 360, &seed, &sums);
	store_writer_limit(writer, &STORE_LIMITS_DEFAULT);
	/* The finest file of before is gone. Minutes are kept longer: theirs goes when the store opens again, for
	 * the windows since then say that this is the time. */
	assert_in_range(count_files(LEVEL_FINEST, &bytes), 16, 17);
	n_minutes = count_files(LEVEL_MINUTE, &bytes);
	store_writer_close(writer);
	open_writer();
	assert_int_equal(count_files(LEVEL_MINUTE, &bytes), n_minutes - 1);
	store_writer_close(writer);
}

static void test_one_writer(void **state)
{
	const struct store_options options = {.path = path, .window_ns = WINDOW, .now = now};
	struct store_writer *second;

	open_writer();
	assert_int_equal(store_writer_open(&options, &second, &failure), -EWOULDBLOCK);
	assert_non_null(strstr(failure.what, "another daemon"));
	store_writer_close(writer);
	open_writer();
	store_writer_close(writer);
}

/* A killed writer holds the lock until it gets a CPU to end with. */
static void test_a_writer_that_is_about_to_end(void **state)
{
	int ends[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		open_writer();
		if (write(ends[1], "", 1) == 1)
			usleep(200000);
		_exit(0);
	}
	assert_int_equal(read(ends[0], &byte, 1), 1);
	open_writer();
	store_writer_close(writer);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	close(ends[0]);
	close(ends[1]);
}

/* Skips and names files that are not segments, are of another version, or are cut off. */
static void test_damaged(void **state)
{
	struct made_sums sums = {}, found;
	struct store_answer answer;
	unsigned int seed = 0;
	char name[128];
	FILE *stream;

	open_writer();
	add_windows(30, &seed, &sums);
	store_writer_close(writer);
	snprintf(name, sizeof name, "%s/10s-20200101T000000Z.bfs", path);
	stream = fopen(name, "w");
	fputs("this is no segment, though it is called like one", stream);
	fclose(stream);
	snprintf(name, sizeof name, "%s/10s-20200102T000000Z.bfs", path);
	stream = fopen(name, "w");
	fputs("BPFFLAME\x09", stream);
	for (int i = 0; i < 100; i++)
		fputc(0, stream);
	fclose(stream);
	answer = read_range(0, UINT64_MAX / 4, false, &found);
	assert_memory_equal(&found, &sums, sizeof sums);
	assert_int_equal(answer.n_damaged, 1);
	assert_string_equal(answer.damaged, "10s-20200101T000000Z.bfs");
	assert_int_equal(answer.n_unknown, 1);
	assert_string_equal(answer.unknown, "10s-20200102T000000Z.bfs");
	open_writer();
	store_writer_close(writer);
	assert_int_equal(access(name, F_OK), 0);
}

/* Has somebody put links in the place of all files that a reader has listed and not opened yet. */
static int exchange_files(void *context, const struct ledger *ledger,
			  const struct store_window *window, bool is_first)
{
	size_t *n_windows = context;
	DIR *folder = opendir(path);
	const struct dirent *entry;

	while (!*n_windows && (entry = readdir(folder)))
		if (store_is_segment(entry->d_name)) {
			assert_int_equal(unlinkat(dirfd(folder), entry->d_name, 0), 0);
			assert_int_equal(symlinkat("/dev/null", dirfd(folder), entry->d_name), 0);
		}
	closedir(folder);
	++*n_windows;
	return 0;
}

/* A file that can't be opened any more is a loss that is counted. */
static void test_exchanged(void **state)
{
	size_t n_windows = 0;
	const struct store_question question = {.path = path,
						.from = 0,
						.to = MADE_START + 2 * HOUR,
						.is_finest = true,
						.on_window = exchange_files,
						.context = &n_windows};
	struct made_sums sums = {};
	struct store_answer answer;
	unsigned int seed = 0;

	clock_ns = MADE_START - MADE_START % HOUR;
	open_writer();
	add_windows(360 + 5, &seed, &sums);
	store_writer_close(writer);
	assert_int_equal(store_read(&question, &answer, &failure), 0);
	assert_int_equal(n_windows, 360);
	assert_int_equal(answer.n_damaged, 1);
	assert_true(answer.damaged_bytes > 0);
}

/* A file that is damaged in the middle and cut is one file. */
static void test_damaged_twice(void **state)
{
	struct made_sums sums = {}, found;
	struct store_answer answer;
	unsigned int seed = 0;
	char name[128];
	struct stat st;
	int fd;

	clock_ns = MADE_START - MADE_START % HOUR;
	open_writer();
	add_windows(360 + 5, &seed, &sums);
	store_writer_close(writer);
	snprintf(name, sizeof name, "%s/10s-20261124T060000Z.bfs", path);
	fd = open(name, O_RDWR | O_CLOEXEC);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(pwrite(fd, "damage", 6, st.st_size / 2), 6);
	assert_int_equal(ftruncate(fd, st.st_size - 10), 0);
	close(fd);
	answer = read_range(clock_ns - HOUR - 5 * WINDOW, clock_ns, false, &found);
	assert_int_equal(answer.n_damaged, 1);
	assert_string_equal(answer.damaged, "10s-20261124T060000Z.bfs");
}

/* The folder is removed during writing: a new one is made and has all later windows. */
static void test_removed(void **state)
{
	struct made_sums sums = {}, found;
	unsigned int seed = 0;
	DIR *folder;
	const struct dirent *entry;
	char name[512];

	open_writer();
	add_windows(30, &seed, &sums);
	folder = opendir(path);
	while ((entry = readdir(folder))) {
		snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
		unlink(name);
	}
	closedir(folder);
	assert_int_equal(rmdir(path), 0);
	sums = (struct made_sums){};
	add_windows(30, &seed, &sums);
	store_writer_close(writer);
	read_range(0, UINT64_MAX / 4, false, &found);
	assert_memory_equal(&found, &sums, sizeof sums);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_levels_are_equal),
		TEST(test_small_dictionaries),
		TEST(test_many_processes),
		TEST(test_pids),
		TEST(test_not_rolled),
		TEST(test_edges),
		TEST(test_clock),
		TEST(test_limits),
		TEST(test_a_clock_that_is_ahead),
		TEST(test_a_pause_of_a_month),
		TEST(test_one_writer),
		TEST(test_a_writer_that_is_about_to_end),
		TEST(test_damaged),
		TEST(test_exchanged),
		TEST(test_damaged_twice),
		TEST(test_removed),
		TEST(test_strange_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
