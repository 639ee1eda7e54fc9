/* SPDX-License-Identifier: GPL-2.0-or-later */
/* made_table: the unwind table of a file made by hand (made_cfi.h), and its expected contents. */
#ifndef TESTS_MADE_TABLE_H
#define TESTS_MADE_TABLE_H

#include "unit/cmocka_all.h"
#include "unit/made_cfi.h"
#include "unwind/table.h"

static struct elf_file file;
static struct unwind_table table;

static int try_build(void)
{
	int r;

	assert_int_equal(elf_file_open_image(&file, made.bytes, SECTIONS + DATA_SIZE), 0);
	r = unwind_table_build(&file, &table);
	elf_file_done(&file);
	return r;
}

static inline void build_table(void)
{
	assert_int_equal(try_build(), 0);
	assert_int_equal(table.machine, made.header->e_machine);
}

/* Begins a file with .eh_frame and the usual CIE. */
static inline void begin_eh(uint16_t machine)
{
	made_begin(machine);
	made_begin_section(MADE_EH);
	put_cie((struct made_cie){});
}

static inline void finish_eh(void)
{
	made_end_section();
	build_table();
}

static inline void done(void)
{
	unwind_table_done(&table);
	made_done();
}

static inline void expect_at(uint64_t offset, struct bf_rule want, int line)
{
	const struct bf_rule *rule = unwind_table_find(&table, offset);

	if (rule && memcmp(rule, &want, sizeof want) == 0)
		return;
	if (!rule)
		fail_msg("line %d: no rule at %#lx", line, (unsigned long)offset);
	fail_msg("line %d: at %#lx cfa %d%+d (%d), fp %d%+d, ra %d%+d, bx %d%+d", line,
		 (unsigned long)offset, rule->cfa, rule->cfa_offset, rule->reg, rule->fp,
		 rule->fp_offset, rule->ra, rule->ra_offset, rule->bx, rule->bx_offset);
}

static inline void expect_nothing_at(uint64_t offset, int line)
{
	if (unwind_table_find(&table, offset))
		fail_msg("line %d: a rule at %#lx", line, (unsigned long)offset);
}

#define expect(offset, ...)    expect_at(offset, (struct bf_rule){__VA_ARGS__}, __LINE__)
#define expect_nothing(offset) expect_nothing_at(offset, __LINE__)

/* A rule of x86-64 with the return address just below the CFA, where a call puts it. */
#define RULE(kind, offset)                                                                         \
	.cfa = (kind), .cfa_offset = (offset), .ra = BF_SAVED_CFA, .ra_offset = -1
#define FP(kind, offset) .fp = (kind), .fp_offset = (offset)
#define BX(kind, offset) .bx = (kind), .bx_offset = (offset)
#define SP_RULE(offset)	 RULE(BF_CFA_SP, offset)
#define UNSUPPORTED_RULE .cfa = BF_CFA_UNSUPPORTED

#endif
