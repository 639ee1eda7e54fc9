/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unwind tables of a made Go program: rows for each kind of function, in each form of its table. */
#include "unit/cmocka_all.h"

#include "unit/made_go.h"
#include "unwind/table.h"

static uint64_t image[GO_IMAGE_SIZE / 8];
static struct elf_file file;
static struct unwind_table table;

static void build(void)
{
	assert_int_equal(elf_file_open_image(&file, image, sizeof image), 0);
	assert_int_equal(unwind_table_build(&file, &table), 0);
	elf_file_done(&file);
}

static void build_made(struct made_go go)
{
	memset(image, 0, sizeof image);
	made_go(&go, (uint8_t *)image);
	build();
}

/* The rule for byte @at of function @i. */
static const struct bf_rule *rule_at(size_t i, uint32_t at)
{
	return unwind_table_find(&table, GO_FILE(GO_TEXT) + made_go_functions[i].start + at);
}

/* The frame has @size bytes; the caller's frame pointer is saved, or still in its register. */
static void expect_frame(size_t i, uint32_t at, int32_t size, bool is_saved)
{
	const struct bf_rule want = {
		.cfa = BF_CFA_SP,
		.cfa_offset = size + 8,
		.fp = is_saved ? BF_SAVED_CFA : BF_SAVED_SAME,
		.fp_offset = is_saved ? -2 : 0,
		.ra = BF_SAVED_CFA,
		.ra_offset = -1,
		.bx = BF_SAVED_LOST,
	};
	const struct bf_rule *rule = rule_at(i, at);

	if (!rule || memcmp(rule, &want, sizeof want) != 0)
		fail_msg("function %zu, byte %#x: cfa %d%+d, fp %d%+d", i, at,
			 rule ? rule->cfa : -1, rule ? rule->cfa_offset : 0, rule ? rule->fp : 0,
			 rule ? rule->fp_offset : 0);
}

static void expect_frames(size_t i, uint32_t from, uint32_t to, int32_t size, bool is_saved)
{
	for (uint32_t at = from; at < to; at++)
		expect_frame(i, at, size, is_saved);
}

static void expect_cfa(size_t i, uint32_t from, uint32_t to, enum bf_cfa cfa)
{
	for (uint32_t at = from; at < to; at++) {
		assert_non_null(rule_at(i, at));
		assert_int_equal(rule_at(i, at)->cfa, cfa);
	}
}

static void expect_all(void)
{
	const struct bf_rule *rule;

	/* The frame pointer is saved one instruction after the frame is allocated, … */
	expect_frames(0, 0, 8, 0, false);
	expect_frames(0, 8, 0xd, 24, false);
	expect_frames(0, 0xd, 0x69, 24, true);
	expect_frames(0, 0x69, 0x80, 0, false);
	/* … or before. */
	expect_frames(1, 0, 1, 0, false);
	expect_frames(1, 1, 8, 8, true);
	expect_frames(1, 8, 0x30, 40, true);
	expect_frames(1, 0x30, 0x31, 8, true);
	expect_frames(1, 0x31, 0x40, 0, false);
	expect_frames(2, 0, 0x20, 0, false);
	/* systemstack: from the switch of the stack pointer on, unwinds by the frame pointer. */
	expect_frames(3, 0, 1, 0, false);
	expect_frames(3, 1, 8, 8, true);
	expect_cfa(3, 8, 0x40, BF_CFA_FP);
	rule = rule_at(3, 0x10);
	assert_int_equal(rule->cfa_offset, 16);
	assert_int_equal(rule->fp, BF_SAVED_CFA);
	assert_int_equal(rule->fp_offset, -2);
	assert_int_equal(rule->ra_offset, -1);
	/* mcall never returns. */
	expect_frames(4, 0, 7, 0, false);
	expect_cfa(4, 7, 0x40, BF_CFA_ENTRY);
	expect_cfa(5, 0, 0x1f, BF_CFA_ENTRY);
	/* A signal handler returns to the first byte, so the byte before is looked up. */
	expect_cfa(5, 0x1f, 0x20, BF_CFA_SIGNAL);
	expect_cfa(6, 0, 0x20, BF_CFA_SIGNAL);
	for (uint32_t at = 0; at < 0x40; at++)
		assert_null(rule_at(7, at));
	assert_true(table.is_go);
}

static void test_rows(void **state)
{
	static const struct made_go forms[] = {
		{.version = 18},
		{.version = 20},
		{.version = 20, .no_text = true},
		{.version = 20, .no_sections = true},
		{.version = 20, .is_relocated = true, .is_merged = true},
		{.version = 20, .no_module = true},
	};

	for (size_t i = 0; i < MADE_COUNT(forms); i++) {
		build_made(forms[i]);
		expect_all();
		unwind_table_done(&table);
	}
}

/* Go 1.16 has no flags: names show which functions are special. */
static void test_no_flags(void **state)
{
	memset(image, 0, sizeof image);
	made_go(&(struct made_go){.version = 16}, (uint8_t *)image);
	for (size_t i = 0; i < GO_N_FUNCTIONS; i++) {
		uint8_t *records = (uint8_t *)image + GO_FILE(GO_TABLE) + 0x1000;
		uint64_t record;

		memcpy(&record, records + 16 * i + 8, 8);
		assert_int_equal(records[record + 41], made_go_functions[i].flags);
		records[record + 41] = 0;
	}
	build();
	expect_all();
	unwind_table_done(&table);
}

/* The entry point is an entry, whatever its frame. */
static void test_entry(void **state)
{
	Elf64_Ehdr *header = (Elf64_Ehdr *)image;

	memset(image, 0, sizeof image);
	made_go(&(struct made_go){.version = 20}, (uint8_t *)image);
	header->e_entry = GO_TEXT + made_go_functions[2].start;
	build();
	expect_cfa(2, 0, 0x20, BF_CFA_ENTRY);
	unwind_table_done(&table);
}

/* An impossible frame size, and a program that stops halfway: no rows there. */
static void test_damaged_sizes(void **state)
{
	uint8_t *values = (uint8_t *)image + GO_FILE(GO_TABLE) + 0x500 + 1;

	memset(image, 0, sizeof image);
	made_go(&(struct made_go){.version = 20}, (uint8_t *)image);
	/* main.work: 0 for 8 bytes, 24 for 0x61, … */
	assert_memory_equal(values, "\2\x08\x30\x61", 4);
	values[2] = 0x05; /* -3 */
	build();
	expect_frames(0, 0, 8, 0, false);
	for (uint32_t at = 8; at < 0x69; at++)
		assert_null(rule_at(0, at));
	unwind_table_done(&table);
	values[2] = 0x30;
	values[3] = 0;
	build();
	expect_frames(0, 0, 8, 0, false);
	for (uint32_t at = 8; at < 0x80; at++)
		assert_null(rule_at(0, at));
	expect_frames(1, 8, 0x30, 40, true);
	unwind_table_done(&table);
}

/* A function that neither saves nor sets the frame pointer leaves it in place. */
static void test_unsaved(void **state)
{
	uint8_t *code = (uint8_t *)image + GO_FILE(GO_TEXT);

	memset(image, 0, sizeof image);
	made_go(&(struct made_go){.version = 20}, (uint8_t *)image);
	code[0xc] = 8;	   /* mov %rbp,8(%rsp) */
	code[0x80] = 0x90; /* no push %rbp */
	build();
	expect_frames(0, 8, 0x69, 24, false);
	expect_frames(1, 8, 0x30, 40, false);
	unwind_table_done(&table);
}

/* Go up to 1.20, a frame of the frame pointer only: mov %rbp,(%rsp) has no displacement. */
static void test_smallest_frame(void **state)
{
	uint8_t *code = (uint8_t *)image + GO_FILE(GO_TEXT);

	memset(image, 0, sizeof image);
	made_go(&(struct made_go){.version = 18}, (uint8_t *)image);
	memcpy(code + 0x80, "\x90\x48\x89\x2c\x24\x90\x90\x90", 8);
	build();
	expect_frames(1, 1, 5, 8, false);
	expect_frames(1, 5, 8, 8, true);
	expect_frames(1, 8, 0x30, 40, true);
	unwind_table_done(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),	cmocka_unit_test(test_no_flags),
		cmocka_unit_test(test_entry),	cmocka_unit_test(test_damaged_sizes),
		cmocka_unit_test(test_unsaved), cmocka_unit_test(test_smallest_frame),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
