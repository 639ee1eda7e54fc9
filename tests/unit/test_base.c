/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/cmocka_all.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/json.h"
#include "base/process_stat.h"
#include "base/strings.h"
#include "base/system.h"
#include "cli/parse.h"

static bool number_equal(const void *items, uint32_t position, const void *key)
{
	return ((const uint32_t *)items)[position] == *(const uint32_t *)key;
}

static void table_finds_what_was_added(void **state)
{
	enum { N = 10000 };
	static uint32_t numbers[N];
	struct table table = {};

	for (uint32_t i = 0; i < N; i++) {
		/* Few distinct hashes, so that probing has to walk past other items. */
		numbers[i] = i * 7;
		assert_int_equal(table_add(&table, numbers[i] % 97, i), 0);
	}
	for (uint32_t i = 0; i < N; i++)
		assert_int_equal(
			table_find(&table, numbers[i] % 97, number_equal, numbers, &numbers[i]), i);
	assert_int_equal(table_find(&table, 5 % 97, number_equal, numbers, &(uint32_t){5}),
			 TABLE_NONE);
	/* Removing an item never hides another. */
	for (uint32_t i = 0; i < sizeof numbers / sizeof *numbers; i += 2)
		table_remove(&table, numbers[i] % 97, i);
	for (uint32_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		assert_int_equal(
			table_find(&table, numbers[i] % 97, number_equal, numbers, &numbers[i]),
			i % 2 ? i : TABLE_NONE);
	table_done(&table);
	assert_int_equal(table_find(&table, 0, number_equal, numbers, &numbers[0]), TABLE_NONE);
}

static void table_holds_equal_items_once(void **state)
{
	uint32_t *items = NULL, position;
	size_t n = 0, capacity = 0;
	struct table table = {};

	for (uint32_t i = 0; i < 300; i++) {
		uint32_t item = i % 100 + 7;

		assert_int_equal(table_intern(&table, item % 10, number_equal, items, capacity, n,
					      &item, &position),
				 0);
		assert_int_equal(position, i % 100);
		assert_int_equal(items[position], item);
	}
	assert_int_equal(n, 100);
	table_done(&table);
	free(items);
}

static void strings_are_kept_once(void **state)
{
	struct strings strings;
	uint32_t a, b, c, empty;

	assert_int_equal(strings_init(&strings), 0);
	assert_int_equal(strings_add(&strings, "", &empty), 0);
	assert_int_equal(empty, 0);
	assert_int_equal(strings_add(&strings, "malloc", &a), 0);
	assert_int_equal(strings_add_bytes(&strings, "mallocator", 6, &b), 0);
	assert_int_equal(strings_add(&strings, "malloc2", &c), 0);
	assert_int_equal(a, b);
	assert_int_not_equal(a, c);
	assert_string_equal(strings_get(&strings, a), "malloc");
	assert_int_equal(strings_length(&strings, a), 6);
	assert_int_equal(strings_length(&strings, c), 7);
	for (int i = 0; i < 5000; i++) {
		char text[32];
		uint32_t id;

		snprintf(text, sizeof text, "function_%d", i);
		assert_int_equal(strings_add(&strings, text, &id), 0);
		assert_string_equal(strings_get(&strings, id), text);
	}
	assert_string_equal(strings_get(&strings, c), "malloc2");
	strings_done(&strings);
}

/* Growing moves what is added. */
static void strings_take_parts_of_their_own(void **state)
{
	for (int n = 1; n < 300; n++) {
		char filler[300] = "", text[] = "event: page-faults";
		struct strings strings;
		uint32_t whole, part;

		memset(filler, 'x', n);
		assert_int_equal(strings_init(&strings), 0);
		assert_int_equal(strings_add(&strings, text, &whole), 0);
		assert_int_equal(strings_add(&strings, filler, &part), 0);
		assert_int_equal(strings_add(&strings, strings_get(&strings, whole) + 7, &part), 0);
		assert_string_equal(strings_get(&strings, part), "page-faults");
		strings_done(&strings);
	}
}

static void cpu_lists(void **state)
{
	struct cpu_list list;

	assert_int_equal(cpu_list_parse("0,2-5", &list), 0);
	assert_int_equal(cpu_list_count(&list), 5);
	assert_false(cpu_list_has(&list, 1));
	assert_true(cpu_list_has(&list, 5));
	assert_int_equal(cpu_list_parse("63-64", &list), 0);
	assert_true(cpu_list_has(&list, 64));
	for (const char *const *bad =
		     (const char *const[]){"", "x", "1,", "3-1", "-1", "1-", "1 2", "0x1", NULL};
	     *bad; bad++)
		assert_int_equal(cpu_list_parse(*bad, &list), -EINVAL);
	assert_int_equal(cpu_list_parse("4096", &list), -ERANGE);
	assert_int_equal(cpu_list_parse("0-99999999999999999999", &list), -ERANGE);
	assert_true(cpu_list_has(&list, 64)); /* the list is unchanged */
	assert_int_equal(cpu_list_online(&list), 0);
	assert_true(cpu_list_count(&list) >= 1);
}

static void times(void **state)
{
	static const struct {
		const char *text;
		uint64_t unit, ns;
	} good[] = {
		{"30", NSEC_PER_SEC, 30 * NSEC_PER_SEC},
		{"0.5", NSEC_PER_SEC, NSEC_PER_SEC / 2},
		{"500us", NSEC_PER_SEC, 500000},
		{"100", 1000, 100000},
		{"10ms", 1000, 10000000},
		{"2s", 1000, 2 * NSEC_PER_SEC},
		{"5m", 1000, 300 * NSEC_PER_SEC},
		{"1h", 1, 3600 * NSEC_PER_SEC},
		{"2w", 1, 14 * 24 * 3600 * NSEC_PER_SEC},
		{"1y", 1, 365 * 24 * 3600 * NSEC_PER_SEC},
		{"7ns", 1000, 7},
		{"0", 1000, 0},
	};
	uint64_t ns = 42;

	for (const char *const *bad =
		     (const char *const[]){"", "s", "-1", "1x", "1 s", "1..2", "nan", "inf", "1e9",
					   "99999999999999999999", "0x10", "1sec", NULL};
	     *bad; bad++) {
		assert_int_equal(parse_time(*bad, NSEC_PER_SEC, &ns), -EINVAL);
		assert_int_equal(ns, 42);
	}
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		assert_int_equal(parse_time(good[i].text, good[i].unit, &ns), 0);
		assert_int_equal(ns, good[i].ns);
	}
}

static void id_lists(void **state)
{
	uint32_t *ids = NULL;
	size_t n = 0;

	assert_int_equal(parse_ids("12,7", &ids, &n), 0);
	assert_int_equal(parse_ids("1", &ids, &n), 0);
	assert_int_equal(n, 3);
	assert_int_equal(ids[0], 12);
	assert_int_equal(ids[2], 1);
	for (const char *const *bad = (const char *const[]){"", "0", "a", "1,", ",1", "1,,2", "-3",
							    "4294967296", "1 2", NULL};
	     *bad; bad++)
		assert_int_equal(parse_ids(*bad, &ids, &n), -EINVAL);
	free(ids);
}

static void expect_json(struct json json, const char *text, const char *expected)
{
	char *bytes;
	size_t size;

	json.stream = open_memstream(&bytes, &size);
	json_text(&json, NULL, text);
	fclose(json.stream);
	assert_string_equal(bytes, expected);
	free(bytes);
}

/* Browsers act on a page's text even where it is escaped. */
static void json_in_pages(void **state)
{
	struct json page = {.is_in_page = true}, file = {.is_in_page = false};
	const char *text = "</script>é\n\033\xc2\x9b\u061c\u200e\u202e\u2028\u2069\x80";

	expect_json(
		file, text,
		"\"</script>é\\u000a\\u001b\\u009b\\u061c\\u200e\\u202e\\u2028\\u2069\\ufffd\"");
	expect_json(page, text,
		    "\"\\u003c/"
		    "script>é\\u000a\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\\ufffd\"");
}

static void json_is_escaped(void **state)
{
	char text[512] = "";
	FILE *stream = fmemopen(text, sizeof text, "w");
	struct json json = {.stream = stream};

	json_open(&json, NULL, '{');
	json_text(&json, "a\"b", "x\n\\\x01\xff\xc3\xa9\xed\xa0\x80");
	json_count(&json, "n", UINT64_MAX);
	json_open(&json, "list", '[');
	json_number(&json, NULL, 1.5, 2);
	json_bool(&json, NULL, true);
	json_close(&json, ']');
	json_close(&json, '}');
	fclose(stream);
	assert_string_equal(
		text, "{\"a\\\"b\":\"x\\u000a\\\\\\u0001\\ufffd\xc3\xa9\\ufffd\\ufffd\\ufffd\","
		      "\"n\":18446744073709551615,\"list\":[1.50,true]}");
}

static void files_are_read_whole(void **state)
{
	char path[] = "/tmp/bpfflame-test-XXXXXX", text[8], *bytes;
	int fd = mkstemp(path);
	size_t size;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "12345\n", 6), 6);
	close(fd);
	assert_int_equal(read_text_file(path, text, sizeof text), 0);
	assert_string_equal(text, "12345");
	assert_int_equal(read_number_file(path, 1), 12345);
	assert_int_equal(read_whole_file(path, &bytes, &size), 0);
	assert_int_equal(size, 6);
	free(bytes);
	unlink(path);
	assert_int_equal(read_number_file(path, 1), 1);
	assert_int_equal(read_whole_file(path, &bytes, &size), -ENOENT);
}

/* Fields 5 to 22, of which 14, 15, 20 and 22 are read. */
#define STAT_REST "0 0 0 0 0 0 0 0 0 30 12 0 0 20 0 7 0 4711"

static void stat_of_any_name(void **state)
{
	uint64_t tick_ns = NSEC_PER_SEC / sysconf(_SC_CLK_TCK);
	struct process_stat stat;

	assert_true(process_stat_parse("42 (a) R 9 (b\n) c) S 3 " STAT_REST " 0 0", &stat));
	assert_int_equal(stat.pid, 42);
	assert_string_equal(stat.comm, "a) R 9 (b\n) c");
	assert_int_equal(stat.state, 'S');
	assert_int_equal(stat.parent, 3);
	assert_int_equal(stat.n_threads, 7);
	assert_int_equal(stat.cpu_ns, 42 * tick_ns);
	assert_int_equal(stat.start_ns, 4711 * tick_ns);
	assert_true(process_stat_parse("1 () R 0 " STAT_REST, &stat));
	assert_string_equal(stat.comm, "");
	assert_false(process_stat_parse("", &stat));
	assert_false(process_stat_parse("1 a S 0 " STAT_REST, &stat));
	assert_false(process_stat_parse(")( S 0 " STAT_REST, &stat));
	assert_false(process_stat_parse("1 (a)", &stat));
	assert_false(process_stat_parse("1 (a) S 0 0", &stat));
}

static void stat_of_ourselves(void **state)
{
	struct process_stat stat;
	uint64_t now = boottime_ns();

	assert_int_equal(process_stat_read(getpid(), &stat), 0);
	assert_int_equal(stat.pid, getpid());
	assert_int_equal(stat.parent, getppid());
	assert_int_equal(stat.state, 'R');
	assert_in_range(stat.start_ns, 1, now);
	assert_int_equal(process_stat_read(UINT32_MAX, &stat), -ENOENT);
}

static void who_waits_for_a_cpu(void **state)
{
	struct timespec moment = {.tv_nsec = 1000000};
	pid_t child = fork();

	if (child == 0)
		for (;;)
			pause();
	while (process_is_runnable(child))
		nanosleep(&moment, NULL);
	assert_true(process_is_runnable(getpid()));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_false(process_is_runnable(child));
	assert_false(process_is_runnable(0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_waits_for_a_cpu),
		cmocka_unit_test(table_finds_what_was_added),
		cmocka_unit_test(table_holds_equal_items_once),
		cmocka_unit_test(strings_are_kept_once),
		cmocka_unit_test(strings_take_parts_of_their_own),
		cmocka_unit_test(cpu_lists),
		cmocka_unit_test(times),
		cmocka_unit_test(id_lists),
		cmocka_unit_test(json_is_escaped),
		cmocka_unit_test(json_in_pages),
		cmocka_unit_test(stat_of_any_name),
		cmocka_unit_test(stat_of_ourselves),
		cmocka_unit_test(files_are_read_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
