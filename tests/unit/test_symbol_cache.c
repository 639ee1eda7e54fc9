/* SPDX-License-Identifier: GPL-2.0-or-later */
/* names_cache: what it keeps, what it drops, and that it stays correct when processes die. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/system.h"
#include "symbol/names_cache.h"

static struct names_cache *cache;
static struct strings strings;

static int setup(void **state)
{
	return names_cache_new(1 << 20, &cache) | strings_init(&strings);
}

static int teardown(void **state)
{
	names_cache_free(cache);
	strings_done(&strings);
	return 0;
}

static struct names_key key_of(uint64_t inode)
{
	return (struct names_key){.kind = MAPPING_FILE, .device = 1, .inode = inode, .size = 100};
}

static uint32_t text(const char *value)
{
	uint32_t id;

	assert_int_equal(strings_add(&strings, value, &id), 0);
	return id;
}

/* One address with the name @name and two frames; the inner one is on line 7. */
static void write_name(const struct names_key *key, uint64_t address, const char *name, bool final)
{
	struct named_address item = {address + 0x1000, text(name), 0, 2};
	struct dwarf_frame frames[] = {{text("inner"), text("a.c"), 7},
				       {text(name), text("b.c"), 8}};
	struct file_names names = {
		.id = {0xfe}, .id_n = 1, .items = &item, .n = 1, .frames = frames, .n_frames = 2};

	names_cache_write(cache, key, &address, &names, &strings, final);
}

/* The name of @address, or "" if unknown; checks everything that is kept with it. */
static const char *read_name(const struct names_key *key, uint64_t address, bool final)
{
	static char name[64];
	const struct names_question question = {.addresses = &address, .n = 1};
	struct file_names names;
	bool found = false;
	int r;

	*name = '\0';
	assert_int_equal(file_names_none(&question, 0, &names), 0);
	r = names_cache_read(cache, key, &address, final, &strings, &names, &found);
	assert_int_equal(r, found);
	if (found) {
		const struct named_address *item = &names.items[0];

		snprintf(name, sizeof name, "%s", strings_get(&strings, item->name));
		assert_int_equal(item->address, address + 0x1000);
		assert_int_equal(item->n_frames, 2);
		assert_string_equal(strings_get(&strings, names.frames[item->first].function),
				    "inner");
		assert_int_equal(names.frames[item->first].line, 7);
		assert_string_equal(strings_get(&strings, names.frames[item->first + 1].file),
				    "b.c");
		assert_int_equal(names.id_n, 1);
		assert_int_equal(names.id[0], 0xfe);
	}
	file_names_done(&names);
	return name;
}

static void test_kept(void **state)
{
	struct names_key one = key_of(1), other = key_of(2);
	struct names_cache_stats stats;

	assert_string_equal(read_name(&one, 5, false), "");
	write_name(&one, 5, "five", true);
	write_name(&other, 5, "its five", true);
	assert_string_equal(read_name(&one, 5, false), "five");
	assert_string_equal(read_name(&other, 5, false), "its five");
	assert_string_equal(read_name(&one, 6, false), "");
	other.ctime_ns = 1; /* its contents were replaced */
	assert_string_equal(read_name(&other, 5, false), "");
	names_cache_stats(cache, &stats);
	assert_int_equal(stats.hits, 2);
	assert_int_equal(stats.misses, 3);
	assert_int_equal(stats.evictions, 0);
}

/* Names from symbols are used until debug information is read. */
static void test_symbols_first(void **state)
{
	struct names_key key = key_of(1);

	write_name(&key, 5, "symbol", false);
	assert_string_equal(read_name(&key, 5, false), "symbol");
	assert_string_equal(read_name(&key, 5, true), "");
	write_name(&key, 5, "dwarf", true);
	assert_string_equal(read_name(&key, 5, false), "dwarf");
	assert_string_equal(read_name(&key, 5, true), "dwarf");
}

/* A span of @before and @after around @address, unnamed with @name NULL. */
static void write_span(const struct names_key *key, uint64_t address, const char *name,
		       uint16_t before, uint16_t after, bool final)
{
	struct named_address item = {0x9000 + address, name ? text(name) : 0, 0, 0, before, after};
	struct file_names names = {.id = {0xfe}, .id_n = 1, .items = &item, .n = 1};

	names_cache_write(cache, key, &address, &names, &strings, final);
}

/* Whether @address is known, its name and its virtual address. */
static bool find_span(const struct names_key *key, uint64_t address, const char **ret_name,
		      uint64_t *ret_address)
{
	const struct names_question question = {.addresses = &address, .n = 1};
	struct file_names names;
	bool found = false;

	assert_int_equal(file_names_none(&question, 0, &names), 0);
	assert_true(names_cache_read(cache, key, &address, false, &strings, &names, &found) >= 0);
	*ret_name = strings_get(&strings, names.items[0].name);
	*ret_address = names.items[0].address;
	file_names_done(&names);
	return found;
}

/* An answer holds for its span, which ends at the borders of its block, whatever it claims. */
static void test_spans(void **state)
{
	const uint64_t block = 7 * NAMES_BLOCK;
	struct names_key key = key_of(1), other = key_of(2);
	const char *name;
	uint64_t address;

	write_span(&key, block + 100, "sin", 20, 30, true);
	assert_true(find_span(&key, block + 80, &name, &address));
	assert_string_equal(name, "sin");
	assert_int_equal(address, 0x9000 + block + 80);
	assert_true(find_span(&key, block + 129, &name, &address));
	assert_int_equal(address, 0x9000 + block + 129);
	assert_false(find_span(&key, block + 79, &name, &address));
	assert_false(find_span(&key, block + 130, &name, &address));
	assert_false(find_span(&other, block + 100, &name, &address));
	assert_false(find_span(&key, block + NAMES_BLOCK + 100, &name, &address));

	write_span(&key, block + 600, NULL, 65535, 65535, true);
	assert_true(find_span(&key, block + 1023, &name, &address));
	assert_string_equal(name, "");
	assert_int_equal(address, 0x9000 + block + 600); /* of its function */
	assert_false(find_span(&key, block - 1, &name, &address));
	assert_false(find_span(&key, block + NAMES_BLOCK, &name, &address));
}

/* A span from symbols hides nothing that debug information said of an address in it. */
static void test_span_after_address(void **state)
{
	struct names_key key = key_of(1);

	write_name(&key, 5, "dwarf", true);
	write_span(&key, 6, "symbol", 6, 50, false);
	assert_string_equal(read_name(&key, 5, true), "dwarf");
	assert_string_equal(read_name(&key, 5, false), "dwarf");
}

/* Nor if that is in the older half. */
static void test_span_after_older_address(void **state)
{
	struct names_key key = key_of(1);

	write_name(&key, 5, "dwarf", true);
	/* More than one half, less than both. */
	for (uint64_t i = 1; i < 9000; i++)
		write_name(&key, i * NAMES_BLOCK, "other", true);
	write_span(&key, 6, "symbol", 6, 50, false);
	assert_string_equal(read_name(&key, 5, false), "dwarf");
}

static void test_effort(void **state)
{
	struct names_key key = key_of(1);
	struct names_cache_stats stats;

	assert_int_equal(names_cache_effort(cache, &key), NAMES_AT_ONCE);
	names_cache_postpone(cache, &key, monotonic_ns() + 100 * NSEC_PER_SEC);
	assert_int_equal(names_cache_effort(cache, &key), NAMES_LATER);
	assert_false(names_cache_is_due(cache, &key));
	names_cache_postpone(cache, &key, 0);
	assert_true(names_cache_is_due(cache, &key));
	names_cache_give_up(cache, &key, "/usr/bin/huge");
	names_cache_give_up(cache, &key, "/usr/bin/huge");
	names_cache_postpone(cache, &key, 0);
	assert_int_equal(names_cache_effort(cache, &key), NAMES_SYMBOLS);
	assert_false(names_cache_is_due(cache, &key));
	names_cache_stats(cache, &stats);
	assert_int_equal(stats.n_given_up, 1);
	assert_false(names_cache_is_resting(cache, &key));
	names_cache_rest(cache, &key, monotonic_ns() + 100 * NSEC_PER_SEC);
	assert_true(names_cache_is_resting(cache, &key));
	names_cache_rest(cache, &key, monotonic_ns());
	assert_false(names_cache_is_resting(cache, &key));
	assert_string_equal(stats.given_up, "/usr/bin/huge");
}

/* Never grows; items that are requested repeatedly stay; no address gets another one's name. */
static void test_bounded(void **state)
{
	struct names_key key = key_of(1);
	struct names_cache_stats stats;
	char name[64];

	write_name(&key, 0, "always", true);
	for (uint64_t i = 1; i < 50000; i++) {
		snprintf(name, sizeof name, "name %lu", (unsigned long)i);
		write_name(&key, i, name, true);
		if (i % 100 == 0)
			assert_string_equal(read_name(&key, 0, false), "always");
	}
	assert_string_equal(read_name(&key, 49999, false), "name 49999");
	assert_string_equal(read_name(&key, 49000, false), "name 49000");
	assert_string_equal(read_name(&key, 1, false), "");
	names_cache_stats(cache, &stats);
	assert_in_range(stats.evictions, 30000, 50000);
}

/* Learned by one process, found by another. */
static void test_processes(void **state)
{
	struct names_key key = key_of(1);
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		write_name(&key, 5, "by the child", true);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_string_equal(read_name(&key, 5, false), "by the child");
}

/* Killed anywhere, many times: the next process goes on, with correct names or none. */
static void test_killed(void **state)
{
	struct names_key key = key_of(1);
	struct names_cache_stats stats;
	char name[64];

	srand(1);
	for (int i = 0; i < 100; i++) {
		pid_t pid = fork();

		if (pid == 0)
			for (uint64_t k = 0;; k = (k + 1) % 1000) {
				snprintf(name, sizeof name, "name %lu", (unsigned long)k);
				write_name(&key, k, name, true);
			}
		usleep(rand() % 2000);
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		for (uint64_t k = 0; k < 1000; k += 37) {
			const char *found = read_name(&key, k, false);

			snprintf(name, sizeof name, "name %lu", (unsigned long)k);
			if (*found)
				assert_string_equal(found, name);
		}
	}
	names_cache_stats(cache, &stats);
	assert_true(stats.hits > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(test_symbols_first, setup, teardown),
		cmocka_unit_test_setup_teardown(test_spans, setup, teardown),
		cmocka_unit_test_setup_teardown(test_span_after_address, setup, teardown),
		cmocka_unit_test_setup_teardown(test_span_after_older_address, setup, teardown),
		cmocka_unit_test_setup_teardown(test_effort, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bounded, setup, teardown),
		cmocka_unit_test_setup_teardown(test_processes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_killed, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
