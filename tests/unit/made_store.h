/* SPDX-License-Identifier: GPL-2.0-or-later */
/* made_store: a store in a folder of its own, and a writer whose clock the test sets. */
#ifndef TESTS_UNIT_MADE_STORE_H
#define TESTS_UNIT_MADE_STORE_H

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "made_windows.h"
#include "store/store_read.h"
#include "store/store_writer.h"

#define WINDOW (10 * NSEC_PER_SEC)
#define HOUR   (3600 * NSEC_PER_SEC)

static char path[64];
static uint64_t clock_ns, ahead_ns; /* ahead: how far the clock was set */
static struct store_writer *writer;
static struct failure failure;

static uint64_t now(void)
{
	return clock_ns;
}

static int make_folder(void **state)
{
	strcpy(path, "/tmp/test_store_writer.XXXXXX");
	clock_ns = MADE_START;
	ahead_ns = 0;
	return mkdtemp(path) ? 0 : -1;
}

static int remove_folder(void **state)
{
	char command[128];

	snprintf(command, sizeof command, "rm -rf %s", path);
	return system(command);
}

static void open_writer_within(const struct store_limits *limits)
{
	const struct store_options options = {
		.path = path, .window_ns = WINDOW, .limits = *limits, .now = now};

	failure.what[0] = '\0';
	if (store_writer_open(&options, &writer, &failure) < 0)
		fail_msg("%s", failure.what);
}

static void open_writer(void)
{
	open_writer_within(&STORE_LIMITS_DEFAULT);
}

static struct store_window window_at(uint64_t start)
{
	return (struct store_window){
		.start = start,
		.span = WINDOW,
		.covered = WINDOW,
		.boot = MADE_BOOT + (start - ahead_ns - MADE_START),
		.windows = 1,
		.millihertz = 19000,
	};
}

/* Writes the next @n windows. @clock_ns: their time. */
static void add_windows(unsigned int n, unsigned int *seed, struct made_sums *sums)
{
	while (n-- > 0) {
		struct store_window window = window_at(clock_ns);
		struct ledger ledger;

		made_window((*seed)++, &ledger, sums);
		assert_int_equal(store_writer_add(writer, &ledger, &window), 0);
		ledger_done(&ledger);
		clock_ns += WINDOW;
	}
}

static int count_window(void *context, const struct ledger *ledger,
			const struct store_window *window, bool is_first)
{
	made_count(ledger, context);
	return 0;
}

static struct store_answer read_range(uint64_t from, uint64_t to, bool is_series,
				      struct made_sums *ret)
{
	const struct store_question question = {.path = path,
						.from = from,
						.to = to,
						.is_series = is_series,
						.on_window = count_window,
						.context = ret};
	struct store_answer answer;

	*ret = (struct made_sums){};
	if (store_read(&question, &answer, &failure) < 0)
		fail_msg("%s", failure.what);
	return answer;
}

/* All windows of one level that can be read from its files. */
static uint64_t read_readable(enum store_level level, struct made_sums *ret, unsigned int *damaged)
{
	struct store_files files;
	uint64_t n = 0;
	int folder = open(path, O_RDONLY | O_DIRECTORY);

	*ret = (struct made_sums){};
	assert_int_equal(store_files_list(folder, &files), 0);
	for (size_t i = 0; i < files.n; i++) {
		struct segment_reader reader;
		struct segment_block block;
		struct store_window window;

		if (files.items[i].level != level)
			continue;
		assert_int_equal(
			segment_open(&reader, openat(folder, files.items[i].name, O_RDONLY)), 0);
		while (segment_peek(&reader, &block) > 0) {
			if (segment_read(&reader, &block, &window) < 0) {
				++*damaged;
				continue;
			}
			made_count(&reader.ledger, ret);
			n++;
		}
		segment_reader_done(&reader);
	}
	store_files_done(&files);
	close(folder);
	return n;
}

/* All windows of one level, read from its files. */
static uint64_t read_level(enum store_level level, struct made_sums *ret)
{
	unsigned int damaged = 0;
	uint64_t n = read_readable(level, ret, &damaged);

	assert_int_equal(damaged, 0);
	return n;
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, make_folder, remove_folder)

#endif
