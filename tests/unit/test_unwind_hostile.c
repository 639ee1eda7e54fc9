/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Malicious call frame information: it must not cost more time and memory than its size justifies,
 * and must give an error or a sound table. A reader that repeats work or believes a number would
 * take hours, or all memory, for many of these.
 */
#include "unit/made_table.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "unit/check_table.h"

#define SECTION_SIZE (20u << 20)
#define MAX_SECONDS  8	/* with sanitizers; quadratic time would be hours */
#define MAX_GROWTH   12 /* bytes per byte of the section */

static uint64_t table_bytes(void)
{
	uint64_t n = table.n_parts * sizeof *table.parts;

	for (uint32_t i = 0; i < table.n_parts; i++)
		n += table.parts[i].n_words * sizeof(uint32_t);
	return n;
}

/* Builds the table of the section, which must be sound and cheap. */
static void build_sound(void)
{
	clock_t start = clock();
	const char *error;
	uint64_t bound;

	if (made.section)
		made_end_section();
	bound = (uint64_t)MAX_GROWTH * (made.n - SECTIONS) + (9u << 20);
	build_table();
	assert_true((clock() - start) / CLOCKS_PER_SEC < MAX_SECONDS);
	error = check_table(&table);
	if (error)
		fail_msg("%s", error);
	assert_true(table_bytes() < bound);
}

static bool has_room(size_t n)
{
	return made.n + n < SECTIONS + SECTION_SIZE;
}

static void fill(uint8_t byte)
{
	size_t n = SECTIONS + SECTION_SIZE - made.n;

	memset(made.bytes + made.n, byte, n);
	made.n += n;
}

static void test_one_range(void **state)
{
	uint32_t n = 0;

	begin_eh(EM_X86_64);
	for (; has_room(64); n++)
		FDE(0x2000, 0x100000, DW_CFA_def_cfa_offset, n % 100, DW_CFA_advance_loc | 1);
	build_sound();
	assert_true(n > 900000);
	assert_int_equal(table.n_functions, 1);
	assert_int_equal(table.n_skipped, n - 1);
	expect(0x2000, SP_RULE(0));
	done();
}

/* Each begins one byte after the one before, and none ends. */
static void test_nested(void **state)
{
	uint32_t n = 0;

	begin_eh(EM_X86_64);
	for (; has_room(64); n++)
		FDE(0x2000 + n, CODE_SIZE - n, DW_CFA_def_cfa_offset, n % 100);
	/* A later part has room again. */
	FDE(0x800000, 0x1000, DW_CFA_def_cfa_offset, 101);
	build_sound();
	assert_true(table.n_functions > 50000);
	assert_true(table.n_skipped > 500000);
	assert_int_equal(table.n_functions + table.n_skipped, n + 1);
	expect(0x2000 + 4321, SP_RULE(21));
	expect(0x800000, SP_RULE(101));
	done();
}

/* More distinct rules than a part can hold; and the code after them. */
static void test_rules(void **state)
{
	begin_eh(EM_X86_64);
	begin_fde(0x2000, 0x200000);
	for (uint32_t i = 0; i < 200000; i++) {
		OPS(DW_CFA_def_cfa_offset);
		put_uleb(i);
		OPS(DW_CFA_advance_loc | 1);
	}
	end_entry();
	FDE(0x400000, 0x1000, DW_CFA_def_cfa_offset, 101);
	build_sound();
	assert_int_equal(table.n_skipped, 1);
	expect(0x2000 + 10000, SP_RULE(10000));
	expect_nothing(0x2000 + 199999);
	expect_nothing(0x2000 + 0x1fffff);
	expect(0x400000, SP_RULE(101));
	assert_true(table.parts[0].n_words > BF_SEGMENT_WORDS - 4 * BF_PART_PAGES);
	done();
}

/*
 * Rules whose second half cancels what the first adds to their hash (table_part.c): rbx is saved
 * somewhere, and the CFA's offset is chosen to match.
 */
static void test_collisions(void **state)
{
	uint32_t i = 0, at = 0x2000;

	begin_eh(EM_X86_64);
	for (; at + 64 * 16 < CODE_END; at += 64 * 16) {
		begin_fde(at, 64 * 16);
		for (uint32_t n = 0; n < 64; i++) {
			int16_t place = i;
			uint64_t half = (uint64_t)BF_SAVED_CFA << 48 |
					(uint64_t)(uint16_t)place << 32 | 0xffff0000;
			int32_t offset = half * 0x9e3779b97f4a7c15 >> 32;

			if (offset < 0)
				continue;
			OPS(DW_CFA_offset_extended_sf, 3);
			put_sleb(-place);
			OPS(DW_CFA_def_cfa_offset);
			put_uleb(offset);
			OPS(DW_CFA_advance_loc | 16);
			n++;
		}
		end_entry();
	}
	build_sound();
	assert_true(table.n_rules > 30000);
	done();
}

static void test_remember_storm(void **state)
{
	begin_eh(EM_X86_64);
	begin_fde(0x2000, 0x1000);
	OPS(DW_CFA_advance_loc | 1);
	fill(DW_CFA_remember_state);
	end_entry();
	build_sound();
	assert_int_equal(table.n_skipped, 1);
	expect(0x2000, SP_RULE(8));
	expect_nothing(0x2001);
	done();

	begin_eh(EM_X86_64);
	begin_fde(0x2000, 0x1000);
	while (has_room(16))
		OPS(DW_CFA_remember_state, DW_CFA_def_cfa_offset, 99, DW_CFA_restore_state);
	end_entry();
	build_sound();
	expect(0x2fff, SP_RULE(8));
	done();
}

static void test_advance_storm(void **state)
{
	static const uint8_t ops[] = {DW_CFA_advance_loc, DW_CFA_advance_loc | 1,
				      DW_CFA_advance_loc1, DW_CFA_nop, DW_CFA_set_loc};

	for (size_t i = 0; i < sizeof ops; i++) {
		begin_eh(EM_X86_64);
		begin_fde(0x2000, 0x1000);
		fill(ops[i]);
		end_entry();
		build_sound();
		expect(0x2000, SP_RULE(8));
		done();
	}
	begin_eh(EM_X86_64);
	begin_fde(0x2000, CODE_SIZE);
	for (uint8_t i = 0; has_room(16); i = (i + 1) % 127)
		OPS(DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset, i);
	end_entry();
	build_sound();
	expect(0x2001 + 130, SP_RULE(3));
	done();
}

/* A long program before every function. */
static void test_long_cie(void **state)
{
	begin_eh(EM_X86_64);
	begin_cie((struct made_cie){});
	for (uint32_t i = 0; i < 2 << 20; i++)
		OPS(DW_CFA_def_cfa_offset, 16);
	end_entry();
	for (uint32_t i = 0; has_room(64); i++)
		FDE(0x2000 + i, 1, DW_CFA_nop);
	build_sound();
	expect(0x2000, SP_RULE(16));
	done();
}

/* As many CIEs as there is room for, each with an FDE far after it. */
static void test_many_cies(void **state)
{
	static size_t cies[200000];
	size_t n = sizeof cies / sizeof *cies;

	begin_eh(EM_X86_64);
	for (size_t i = 0; i < n; i++) {
		begin_cie((struct made_cie){});
		OPS(DW_CFA_def_cfa_offset, i % 100);
		end_entry();
		cies[i] = made.cie;
	}
	for (size_t i = 0; i < n; i++) {
		made.cie = cies[i * 7919 % n];
		FDE(0x2000 + i, 1, DW_CFA_nop);
	}
	build_sound();
	/* As many as fit into a part. */
	assert_true(table.n_functions > 50000);
	expect(0x2000, SP_RULE(0));
	expect(0x2000 + 1, SP_RULE(19));
	done();
}

/* FDEs whose CIE is an FDE, comes later, is no entry, or is the FDE itself. */
static void test_wrong_cies(void **state)
{
	size_t first, fde;

	begin_eh(EM_X86_64);
	first = made.cie;
	fde = made.n;
	FDE(0x2000, 0x10, DW_CFA_nop);
	made.cie = fde;
	FDE(0x2010, 0x10, DW_CFA_nop);
	made.cie = first + 4;
	FDE(0x2020, 0x10, DW_CFA_nop);
	made.cie = made.n;
	FDE(0x2030, 0x10, DW_CFA_nop);
	made.cie = made.n + 100;
	FDE(0x2040, 0x10, DW_CFA_nop);
	made.cie = 0;
	FDE(0x2050, 0x10, DW_CFA_nop);
	build_sound();
	assert_int_equal(table.n_functions, 1);
	assert_int_equal(table.n_skipped, 5);
	expect_nothing(0x2010);
	done();
}

static void test_ranges(void **state)
{
	static const uint64_t starts[] = {0, 1, INT64_MAX, UINT64_MAX, UINT64_MAX - CODE_SHIFT};

	made_begin(EM_X86_64);
	made_begin_section(MADE_EH);
	put_cie((struct made_cie){.encoding = DW_EH_PE_udata8});
	for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
		FDE(starts[i] - CODE_SHIFT, UINT64_MAX, DW_CFA_nop);
	FDE(0x2000, UINT64_MAX, DW_CFA_advance_loc4, 0xff, 0xff, 0xff, 0xff, DW_CFA_advance_loc4,
	    0xff, 0xff, 0xff, 0xff);
	build_sound();
	assert_int_equal(table.n_functions, 1);
	expect_nothing(0x1fff);
	expect(CODE_END - 1, SP_RULE(8));
	expect_nothing(CODE_END);
	done();
}

/* Steps that add up to more than 64 bits. */
static void test_wrapping_locations(void **state)
{
	made_begin(EM_X86_64);
	made_begin_section(MADE_EH);
	made.cie = made.n;
	begin_entry();
	put_number(0, 4);
	OPS(1, 'z', 'R', 0);
	put_uleb(UINT64_MAX / 2);
	put_sleb(INT64_MIN);
	OPS(16, 1, DW_EH_PE_udata4, DW_CFA_def_cfa, 7, 8, DW_CFA_offset | 16, 0);
	end_entry();
	made.encoding = DW_EH_PE_udata4;
	made.has_sizes = true;
	FDE(0x2000, 0x1000, DW_CFA_advance_loc | 3, DW_CFA_def_cfa_offset, 99);
	FDE(0x3000, 0x1000, DW_CFA_advance_loc | 1, DW_CFA_advance_loc | 1, DW_CFA_advance_loc | 1);
	FDE(0x4000, 0x1000, DW_CFA_def_cfa_offset_sf, 1, DW_CFA_offset | 6, 1);
	build_sound();
	expect(0x2000, .cfa = BF_CFA_SP, .cfa_offset = 8, .ra = BF_SAVED_CFA);
	expect(0x2fff, .cfa = BF_CFA_SP, .cfa_offset = 8, .ra = BF_SAVED_CFA);
	expect_nothing(0x4000);
	done();
}

static void expect_no_entry(uint64_t length, bool is_64)
{
	begin_eh(EM_X86_64);
	FDE(0x2000, 0x10, DW_CFA_nop);
	if (is_64)
		put_number(UINT32_MAX, 4);
	put_number(length, is_64 ? 8 : 4);
	FDE(0x2010, 0x10, DW_CFA_nop);
	build_sound();
	expect(0x2000, SP_RULE(8));
	expect_nothing(0x2010);
	assert_int_equal(table.n_skipped, 1);
	done();
}

static void test_wrong_lengths(void **state)
{
	expect_no_entry(0x7fffffff, false);
	expect_no_entry(0xfffffffe, false);
	expect_no_entry(UINT64_MAX, true);
	expect_no_entry(UINT64_MAX - 11, true);
	expect_no_entry((uint64_t)1 << 32, true);
	expect_no_entry(1 << 20, false);
}

/* A number, a string, an expression and augmentation data that extend to the end. */
static void test_endless(void **state)
{
	static const uint8_t ops[] = {DW_CFA_def_cfa_offset, DW_CFA_def_cfa_expression,
				      DW_CFA_offset_extended_sf, DW_CFA_def_cfa_register};

	for (size_t i = 0; i < sizeof ops; i++) {
		begin_eh(EM_X86_64);
		begin_fde(0x2000, 0x100);
		OPS(DW_CFA_advance_loc | 1, ops[i]);
		fill(0xff);
		end_entry();
		build_sound();
		assert_int_equal(table.n_skipped, 1);
		expect(0x2000, SP_RULE(8));
		expect_nothing(0x2001);
		done();
	}
	made_begin(EM_X86_64);
	made_begin_section(MADE_EH);
	begin_entry();
	OPS(0, 0, 0, 0, 1);
	fill('z');
	end_entry();
	build_sound();
	assert_int_equal(table.n_skipped, 1);
	assert_int_equal(table.n_parts, 0);
	done();
}

/* Most of the file has no bytes on disk, and all of it is one function. */
static void test_sparse_file(void **state)
{
	uint64_t size = (uint64_t)1 << 40;
	int fd = memfd_create("sparse", MFD_CLOEXEC);
	const char *error;

	made_begin(EM_X86_64);
	made_begin_section(MADE_EH);
	put_cie((struct made_cie){.encoding = DW_EH_PE_udata8});
	FDE(0x2000, size, DW_CFA_nop);
	made_end_section();
	made.segments[0].p_filesz = made.segments[0].p_memsz = size;
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, size), 0);
	assert_int_equal(pwrite(fd, made.bytes, 0x1000, 0), 0x1000);
	assert_int_equal(pwrite(fd, made.bytes + SECTIONS, 0x1000, SECTIONS), 0x1000);
	assert_int_equal(elf_file_open(&file, fd), 0);
	assert_int_equal(unwind_table_build(&file, &table), 0);
	elf_file_done(&file);
	close(fd);
	error = check_table(&table);
	if (error)
		fail_msg("%s", error);
	expect(0x2000, SP_RULE(8));
	expect(0x12345678, SP_RULE(8));
	assert_true(table_bytes() < 16 << 20);
	assert_true(table.n_parts <= (uint64_t)1 << 32 >> BF_PART_SHIFT);
	done();
}

/* The file is truncated during reading. */
static void test_shrinking_file(void **state)
{
	int fd = memfd_create("shrinking", MFD_CLOEXEC);

	begin_eh(EM_X86_64);
	FDE(0x2000, 0x10, DW_CFA_nop);
	made_end_section();
	assert_true(fd >= 0);
	assert_int_equal(write(fd, made.bytes, made.n), made.n);
	assert_int_equal(elf_file_open(&file, fd), 0);
	assert_int_equal(ftruncate(fd, made.n - 8), 0);
	assert_int_equal(unwind_table_build(&file, &table), -ENOEXEC);
	elf_file_done(&file);
	close(fd);
	made_done();
}

/* The code is far from all of them. */
static void test_many_segments(void **state)
{
	begin_eh(EM_X86_64);
	for (uint32_t i = 0; has_room(64); i++)
		FDE(0x2000 + i, 1, DW_CFA_nop);
	made_end_section();
	made.section = MADE_NONE;
	made.header->e_phoff = made.n;
	made.header->e_phnum = 1000;
	for (size_t i = 0; i < 1000; i++) {
		Elf64_Phdr segment = made.segments[0];

		segment.p_vaddr = (i + 1) << 40;
		put(&segment, sizeof segment);
	}
	build_sound();
	assert_int_equal(table.n_functions, 0);
	done();
}

/* A section with every kind of entry. */
static void put_all_sorts(enum made_section section)
{
	made_begin_section(section);
	put_cie((struct made_cie){.augmentation = "zPLR", .version = 3});
	FDE(0x2000, 0x200, DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset, 16, DW_CFA_offset | 6, 2,
	    DW_CFA_advance_loc1, 90, DW_CFA_remember_state, DW_CFA_def_cfa_expression, 3,
	    DW_OP_breg6, 0x78, DW_OP_deref, DW_CFA_expression, 6, 2, DW_OP_breg6, 0,
	    DW_CFA_advance_loc2, 60, 0, DW_CFA_restore_state, DW_CFA_restore | 6,
	    DW_CFA_advance_loc4, 1, 0, 0, 0, DW_CFA_def_cfa_sf, 7, 0x7e);
	FDE(0x2200, 0x10, DW_CFA_undefined, 16);
	put_cie((struct made_cie){.version = 4});
	FDE(0x2300, 0x10, DW_CFA_val_expression, 3, 1, DW_OP_lit0, DW_CFA_register, 12, 13,
	    DW_CFA_val_offset_sf, 14, 0x7f);
	made_end_section();
}

static void test_truncated(void **state)
{
	size_t size;

	made_begin(EM_X86_64);
	put_all_sorts(MADE_EH);
	size = made.n - SECTIONS;
	for (size_t n = 1; n <= size; n++) {
		/* At the end of the file, where reading too far is noticed. */
		uint8_t *copy = malloc(SECTIONS + n);

		memcpy(copy, made.bytes, SECTIONS + n);
		((Elf64_Shdr *)(copy + 0x400))[MADE_EH].sh_size = n;
		assert_int_equal(elf_file_open_image(&file, copy, SECTIONS + n), 0);
		assert_int_equal(unwind_table_build(&file, &table), 0);
		assert_null(check_table(&table));
		assert_int_equal(table.n_functions, n == size ? 3 : table.n_functions);
		unwind_table_done(&table);
		elf_file_done(&file);
		free(copy);
	}
	made_done();
}

static void test_damaged(void **state)
{
	uint64_t random = 88172645463325252;
	size_t size, debug;

	made_begin(EM_X86_64);
	put_all_sorts(MADE_EH);
	debug = made.n;
	put_all_sorts(MADE_DEBUG);
	size = made.n - SECTIONS;
	for (int i = 0; i < 4000; i++) {
		uint8_t *byte, was;

		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		byte = made.bytes + SECTIONS + random % size;
		was = *byte;
		*byte = random >> 32;
		build_table();
		assert_null(check_table(&table));
		unwind_table_done(&table);
		/* Damage accumulates for a while. */
		if (i % 16)
			*byte = was;
		else
			memcpy(made.bytes + SECTIONS, made.bytes + debug, debug - SECTIONS);
	}
	made_done();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_range),
		cmocka_unit_test(test_nested),
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_collisions),
		cmocka_unit_test(test_remember_storm),
		cmocka_unit_test(test_advance_storm),
		cmocka_unit_test(test_long_cie),
		cmocka_unit_test(test_many_cies),
		cmocka_unit_test(test_wrong_cies),
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_wrapping_locations),
		cmocka_unit_test(test_wrong_lengths),
		cmocka_unit_test(test_endless),
		cmocka_unit_test(test_sparse_file),
		cmocka_unit_test(test_shrinking_file),
		cmocka_unit_test(test_many_segments),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
