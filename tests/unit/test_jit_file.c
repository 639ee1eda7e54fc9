/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frames that are found in memory beside code become a file, of which tables are made. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/cmocka_all.h"
#include "unwind/jit_file.h"
#include "unwind/table.h"

#define BEFORE 0x7f0000000000ULL /* where the bytes are, … */
#define CODE   0x7f0000001000ULL /* … and the code */
#define SIZE   0x1000

static uint8_t bytes[SIZE];
static size_t n;

static void put(const void *from, size_t size)
{
	assert_true(n + size <= sizeof bytes);
	memcpy(bytes + n, from, size);
	n += size;
}

static void put32(uint32_t word)
{
	put(&word, sizeof word);
}

static size_t put_cie(void)
{
	static const uint8_t rest[] = {1,    'z',  'R', 0, 1,	 0x78, 16, 1,
				       0x1b, 0x0c, 7,	8, 0x90, 1,    0,  0};
	size_t at = n;

	put32(4 + sizeof rest);
	put32(0);
	put(rest, sizeof rest);
	return at;
}

/* A function of 16 bytes whose CFA is 16 bytes above its stack pointer. */
static void put_fde(size_t cie, uint64_t address)
{
	static const uint8_t rest[] = {0, 0x0e, 16, 0, 0, 0, 0, 0};

	put32(12 + sizeof rest);
	put32(n - cie);
	put32(address - (BEFORE + n));
	put32(16);
	put(rest, sizeof rest);
}

static int make(void)
{
	return jit_file_make(bytes, n, BEFORE, CODE, CODE + SIZE);
}

static int build(int fd, struct unwind_table *ret)
{
	struct elf_file elf;
	int r = elf_file_open(&elf, fd);

	if (r < 0)
		return r;
	r = unwind_table_build(&elf, ret);
	elf_file_done(&elf);
	return r;
}

/* Whether the table has a rule for the function at @address, and no other next to it. */
static bool knows(const struct unwind_table *table, uint64_t address)
{
	uint64_t offset = address - CODE + JIT_CODE_OFFSET;

	return unwind_table_find(table, offset + 8) && !unwind_table_find(table, offset + 24);
}

static int begin(void **state)
{
	memset(bytes, 0, sizeof bytes);
	n = 0;
	return 0;
}

static void frames_become_a_table(void **state)
{
	struct unwind_table table;
	size_t cie;
	int fd;

	put("data", 4);
	cie = put_cie();
	put_fde(cie, CODE + 0x100);
	put_fde(cie, CODE + 0x200);
	put_fde(cie, CODE + 8 * SIZE); /* of other code */
	fd = make();
	assert_true(fd >= 0);
	assert_int_equal(build(fd, &table), 0);
	assert_true(knows(&table, CODE + 0x100));
	assert_true(knows(&table, CODE + 0x200));
	unwind_table_done(&table);
	close(fd);
}

/* Of several pieces of code that were made one after the other, with data or ends between. */
static void frames_in_several_places_are_one_table(void **state)
{
	static const char data[64] = "\xff\xff\xff\xff not a record";
	struct unwind_table table;
	int fd;

	put_fde(put_cie(), CODE + 0x100);
	put32(0);
	put_fde(put_cie(), CODE + 0x200);
	put(data, sizeof data);
	put_cie(); /* without frames */
	put32(0);
	put_fde(put_cie(), CODE + 0x300);
	put32(0);
	fd = make();
	assert_true(fd >= 0);
	assert_int_equal(build(fd, &table), 0);
	assert_true(knows(&table, CODE + 0x100));
	assert_true(knows(&table, CODE + 0x200));
	assert_true(knows(&table, CODE + 0x300));
	unwind_table_done(&table);
	close(fd);
}

static void other_memory_has_none(void **state)
{
	size_t cie;

	assert_int_equal(make(), -ENOENT);
	put("some text, and more of it", 24);
	assert_int_equal(make(), -ENOENT);
	cie = put_cie();
	assert_int_equal(make(), -ENOENT); /* no frame */
	put_fde(cie, CODE);
	bytes[cie + 8] = 4; /* another version */
	assert_int_equal(make(), -ENOENT);
	bytes[cie + 8] = 1;
	n -= 4; /* the last record is cut off */
	assert_int_equal(make(), -ENOENT);
}

static void hostile_memory_is_survived(void **state)
{
	unsigned int seed = 1;
	size_t made = 0;

	for (unsigned int turn = 0; turn < 5000; turn++) {
		struct unwind_table table;
		int fd;

		begin(state);
		for (unsigned int k = 0; k < 3; k++)
			put_fde(put_cie(), CODE + 0x100 * k);
		for (unsigned int k = rand_r(&seed) % 4; k; k--)
			bytes[rand_r(&seed) % n] = rand_r(&seed);
		fd = make();
		if (fd < 0)
			continue;
		if (build(fd, &table) == 0)
			unwind_table_done(&table);
		close(fd);
		made++;
	}
	assert_in_range(made, 2500, 5000);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(frames_become_a_table, begin),
		cmocka_unit_test_setup(frames_in_several_places_are_one_table, begin),
		cmocka_unit_test_setup(other_memory_has_none, begin),
		cmocka_unit_test_setup(hostile_memory_is_survived, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
