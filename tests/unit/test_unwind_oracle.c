/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwind tables of real programs, compared with elfutils' libdw: the rules must agree at every byte
 * of code. Where a rule can't be expressed, the table must say BF_CFA_UNSUPPORTED or BF_SAVED_LOST;
 * the number of such rows is printed for each file.
 *
 * UNWIND_ORACLE_FILES, separated by spaces, replaces the files below, for example to compare the
 * programs of another machine.
 */
#include "unit/cmocka_all.h"

#include <elfutils/libdw.h>
#include <dwarf.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unit/vdso.h"
#include "unwind/table.h"

#define MOST_ENTRY_BYTES 64

struct comparison {
	const char *name;
	Elf *elf;
	Dwarf_CFI *cfi;
	struct elf_file file;
	struct unwind_table table;
	int sp, fp, ra;
	uint64_t entries; /* entries that only we recognize, in bytes */
	uint64_t bytes, read, rows, unsupported, lost, differences, refused;
	bool is_after_signal;
};

static bool fits(int64_t offset)
{
	return offset % 8 == 0 && offset / 8 >= INT16_MIN && offset / 8 <= INT16_MAX;
}

/* Recognizes a register plus a number, as @op pushes it. */
static bool read_breg(const Dwarf_Op *op, int64_t *reg, int64_t *offset)
{
	if (op->atom == DW_OP_bregx) {
		*reg = op->number;
		*offset = op->number2;
		return true;
	}
	*reg = op->atom - DW_OP_breg0;
	*offset = op->number;
	return op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31;
}

/* Recognizes a register that holds the value, as @op says. */
static bool read_reg(const Dwarf_Op *op, int64_t *reg)
{
	*reg = op->atom == DW_OP_regx ? (int64_t)op->number : op->atom - DW_OP_reg0;
	return op->atom == DW_OP_regx || (op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31);
}

static bool is_plt(const Dwarf_Op *ops, size_t n)
{
	static const uint8_t atoms[] = {DW_OP_breg7, DW_OP_breg16, DW_OP_lit15, DW_OP_and, 0,
					DW_OP_ge,    DW_OP_lit3,   DW_OP_shl,	DW_OP_plus};

	if (n != sizeof atoms || ops[0].number != 8 || ops[1].number != 0 ||
	    ops[4].atom <= DW_OP_lit0 || ops[4].atom > DW_OP_lit15)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (atoms[i] && ops[i].atom != atoms[i])
			return false;
	}
	return true;
}

/* Offsets of registers in a signal frame, by DWARF number: rax, rdx, rcx, rbx, … */
static const uint8_t numbers[16] = {13, 12, 14, 11, 9, 8, 10, 15, 0, 1, 2, 3, 4, 5, 6, 7};

static bool plain_cfa(const struct comparison *c, int64_t reg, int64_t offset, struct bf_rule *rule)
{
	rule->cfa_offset = offset;
	if (reg == c->sp)
		rule->cfa = BF_CFA_SP;
	else if (reg == c->fp)
		rule->cfa = BF_CFA_FP;
	else if (reg < 16 && c->table.machine == EM_X86_64)
		rule->cfa = BF_CFA_REGISTER;
	if (rule->cfa == BF_CFA_REGISTER)
		rule->reg = numbers[reg];
	return rule->cfa != BF_CFA_NONE;
}

static bool stored_cfa(const struct comparison *c, int64_t reg, int64_t offset, const Dwarf_Op *ops,
		       size_t n, struct bf_rule *rule)
{
	if (reg != c->sp && reg != c->fp)
		return false;
	if (n > 1 || (n == 1 && (ops[0].atom != DW_OP_plus_uconst || ops[0].number > 255)))
		return false;
	rule->cfa = reg == c->sp ? BF_CFA_SP_DEREF : BF_CFA_FP_DEREF;
	rule->cfa_offset = offset;
	rule->addend = n ? ops[0].number : 0;
	return true;
}

/* OpenSSL's bn_mul_mont: breg7 offset, breg reg 0, lit8, mul, plus, deref, plus_uconst 8. */
static bool indexed_cfa(const Dwarf_Op *ops, size_t n, struct bf_rule *rule)
{
	int64_t sp, offset, index, zero;

	if (n != 7 || !read_breg(&ops[0], &sp, &offset) || !read_breg(&ops[1], &index, &zero) ||
	    sp != 7 || index >= 16 || zero != 0 || ops[2].atom != DW_OP_lit8 ||
	    ops[3].atom != DW_OP_mul || ops[4].atom != DW_OP_plus || ops[5].atom != DW_OP_deref ||
	    ops[6].atom != DW_OP_plus_uconst || ops[6].number != 8)
		return false;
	*rule = (struct bf_rule){
		.cfa = BF_CFA_SP_INDEXED, .reg = numbers[index], .cfa_offset = offset};
	return true;
}

static bool want_cfa(const struct comparison *c, Dwarf_Frame *frame, struct bf_rule *rule)
{
	int64_t reg, offset;
	Dwarf_Op *ops;
	size_t n;

	assert_int_equal(dwarf_frame_cfa(frame, &ops, &n), 0);
	if (c->table.machine == EM_X86_64 && is_plt(ops, n)) {
		*rule = (struct bf_rule){
			.cfa = BF_CFA_PLT, .cfa_offset = 8, .addend = ops[4].atom - DW_OP_lit0};
		return true;
	}
	if (c->table.machine == EM_X86_64 && indexed_cfa(ops, n, rule))
		return true;
	if (n == 0 || !read_breg(&ops[0], &reg, &offset))
		return false;
	if (n == 1)
		return plain_cfa(c, reg, offset, rule);
	if (n == 2 && ops[1].atom == DW_OP_plus_uconst)
		return plain_cfa(c, reg, offset + ops[1].number, rule);
	return ops[1].atom == DW_OP_deref && stored_cfa(c, reg, offset, ops + 2, n - 2, rule);
}

/* Where register @reg is saved. @undefined: it has no value. */
static uint8_t want_saved(const struct comparison *c, Dwarf_Frame *frame, int reg,
			  int16_t *ret_offset, bool *undefined)
{
	Dwarf_Op memory[3], *ops;
	int64_t base, offset = 0;
	size_t n;

	assert_int_equal(dwarf_frame_register(frame, reg, memory, &ops, &n), 0);
	*undefined = n == 0 && ops == memory;
	if (n == 0)
		return ops ? BF_SAVED_LOST : BF_SAVED_SAME;
	if (n == 1 && reg == c->ra && read_reg(&ops[0], &base) && base < 16 &&
	    c->table.machine == EM_X86_64) {
		*ret_offset = numbers[base];
		return BF_SAVED_LEAF;
	}
	if (ops[0].atom == DW_OP_call_frame_cfa && n <= 2 &&
	    (n == 1 || ops[1].atom == DW_OP_plus_uconst)) {
		offset = n == 2 ? ops[1].number : 0;
		*ret_offset = fits(offset) ? offset / 8 : 0;
		return fits(offset) ? BF_SAVED_CFA : BF_SAVED_LOST;
	}
	/* Expressions start with the CFA on the stack. */
	if (ops[0].atom == DW_OP_call_frame_cfa) {
		ops++;
		n--;
	}
	if (n == 1 && read_breg(&ops[0], &base, &offset) && base == c->fp && fits(offset)) {
		*ret_offset = offset / 8;
		return BF_SAVED_FP;
	}
	return BF_SAVED_LOST;
}

/* The caller's stack pointer is the CFA. */
static bool sp_is_cfa(const struct comparison *c, Dwarf_Frame *frame)
{
	Dwarf_Op memory[3], *ops;
	size_t n;

	assert_int_equal(dwarf_frame_register(frame, c->sp, memory, &ops, &n), 0);
	return (n == 0 && !ops) || (n == 0 && ops == memory && c->table.machine == EM_AARCH64) ||
	       (n == 2 && ops[0].atom == DW_OP_call_frame_cfa && ops[1].atom == DW_OP_stack_value);
}

/* libdw refuses registers that are set after an expression; no unwinder does. */
static bool is_known(Dwarf_Frame *frame)
{
	Dwarf_Op *ops;
	size_t n;

	return dwarf_frame_cfa(frame, &ops, &n) == 0;
}

static struct bf_rule want_rule(const struct comparison *c, Dwarf_Frame *frame, bool is_signal)
{
	const struct bf_rule unsupported = {.cfa = BF_CFA_UNSUPPORTED};
	bool undefined, ra_undefined, known;
	struct bf_rule rule = {};

	known = want_cfa(c, frame, &rule);
	if (is_signal && (c->table.machine == EM_AARCH64 ||
			  (rule.cfa == BF_CFA_SP_DEREF && rule.cfa_offset == 160)))
		return (struct bf_rule){.cfa = BF_CFA_SIGNAL};
	rule.ra = want_saved(c, frame, c->ra, &rule.ra_offset, &ra_undefined);
	rule.fp = want_saved(c, frame, c->fp, &rule.fp_offset, &undefined);
	if (c->table.machine == EM_X86_64) {
		rule.bx = want_saved(c, frame, 3, &rule.bx_offset, &undefined);
		/* libdw does not know that functions preserve it. */
		if (undefined)
			rule.bx = BF_SAVED_SAME;
	}
	if (ra_undefined)
		return (struct bf_rule){.cfa = BF_CFA_ENTRY};
	if (!known || is_signal || rule.ra == BF_SAVED_LOST || !sp_is_cfa(c, frame) ||
	    (rule.ra == BF_SAVED_SAME && c->table.machine == EM_X86_64))
		return unsupported;
	return rule;
}

static void report(struct comparison *c, uint64_t offset, const struct bf_rule *want,
		   const struct bf_rule *got)
{
	const struct bf_rule none = {};

	if (c->differences++ >= 3)
		return;
	for (int i = 0; i < 2; i++) {
		const struct bf_rule *rule = i ? got : want;

		if (!rule)
			rule = &none;
		print_error("%s %#lx %s: cfa %d reg %d offset %d, fp %d %d, ra %d %d, bx %d %d\n",
			    c->name, (unsigned long)offset, i ? "got " : "want", rule->cfa,
			    rule->reg, rule->cfa_offset, rule->fp, rule->fp_offset, rule->ra,
			    rule->ra_offset, rule->bx, rule->bx_offset);
	}
}

static void compare_at(struct comparison *c, uint64_t offset, const struct bf_rule *want)
{
	const struct bf_rule *got = unwind_table_find(&c->table, offset);

	/* Entries that no CFI marks are known by name. */
	if (!want && got &&
	    (got->cfa == BF_CFA_PLANTED || got->cfa == BF_CFA_ENTRY || got->cfa == BF_CFA_CLONE)) {
		c->bytes++;
		return;
	}
	/*
	 * glibc's __start_context has rows as if it had been called: some of its bytes are an
	 * entry.
	 */
	if (want && got && got->cfa == BF_CFA_ENTRY && c->entries++ < MOST_ENTRY_BYTES)
		return;
	/* Where libdw knows nothing, rows may come from the code itself: test_unwind_code.c. */
	if (!want)
		c->read += got != NULL;
	else if (!got || memcmp(got, want, sizeof *got) != 0)
		report(c, offset, want, got);
}

/* Compares the row at @address, to its end or to @end. Returns where that is. */
static uint64_t compare_row(struct comparison *c, uint64_t address, uint64_t end, uint64_t shift)
{
	Dwarf_Addr row_start, row_end;
	struct bf_rule want;
	Dwarf_Frame *frame;
	bool is_signal, known;

	if (dwarf_cfi_addrframe(c->cfi, address, &frame) != 0) {
		/* The kernel sees a thread that leaves a signal frame in the byte after it. */
		c->bytes += c->is_after_signal;
		if (!c->is_after_signal)
			compare_at(c, address - shift, NULL);
		c->is_after_signal = false;
		return address + 1;
	}
	assert_true(dwarf_frame_info(frame, &row_start, &row_end, &is_signal) >= 0);
	c->is_after_signal = is_signal;
	known = is_known(frame);
	if (known)
		want = want_rule(c, frame, is_signal);
	free(frame);
	c->rows++;
	if (!known) {
		c->refused++;
		row_end = row_end < end ? row_end : end;
		c->bytes += row_end - address;
		return row_end;
	}
	c->unsupported += want.cfa == BF_CFA_UNSUPPORTED;
	c->lost += want.fp == BF_SAVED_LOST;
	for (; address < row_end && address < end; address++, c->bytes++)
		compare_at(c, address - shift, &want);
	return address;
}

static void compare_code(struct comparison *c)
{
	for (size_t i = 0; i < c->file.n_segments; i++) {
		const Elf64_Phdr *segment = &c->file.segments[i];
		uint64_t address = segment->p_vaddr, end = address + segment->p_filesz;

		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
			continue;
		while (address < end)
			address =
				compare_row(c, address, end, segment->p_vaddr - segment->p_offset);
	}
}

static uint64_t compare(struct comparison *c)
{
	bool is_arm;

	assert_non_null(c->elf);
	c->cfi = dwarf_getcfi_elf(c->elf);
	assert_non_null(c->cfi);
	assert_int_equal(unwind_table_build(&c->file, &c->table), 0);
	is_arm = c->table.machine == EM_AARCH64;
	c->sp = is_arm ? 31 : 7;
	c->fp = is_arm ? 29 : 6;
	c->ra = is_arm ? 30 : 16;
	compare_code(c);
	print_message("%s: %lu rows, %lu bytes of code, %lu rows unsupported, %lu with the frame "
		      "pointer lost, %lu refused by libdw, %lu bytes differ\n",
		      c->name, (unsigned long)c->rows, (unsigned long)c->bytes,
		      (unsigned long)c->unsupported, (unsigned long)c->lost,
		      (unsigned long)c->refused, (unsigned long)c->differences);
	assert_int_equal(c->bytes + c->read, c->table.code_bytes);
	assert_int_equal(c->read, c->table.read_bytes);
	unwind_table_done(&c->table);
	elf_file_done(&c->file);
	dwarf_cfi_end(c->cfi);
	elf_end(c->elf);
	return c->differences;
}

static uint64_t compare_file(const char *path)
{
	struct comparison c = {.name = strrchr(path, '/') + 1};
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint64_t differences;

	assert_true(fd >= 0);
	c.elf = elf_begin(fd, ELF_C_READ, NULL);
	assert_int_equal(elf_file_open(&c.file, fd), 0);
	differences = compare(&c);
	close(fd);
	return differences;
}

/* The first file that matches: further matches are other versions or names of it. */
static bool find_file(const char *pattern, char path[static 512])
{
	glob_t found;
	bool any = glob(pattern, 0, NULL, &found) == 0;

	if (any)
		snprintf(path, 512, "%s", found.gl_pathv[0]);
	globfree(&found);
	return any;
}

static void test_files(void **state)
{
	static const char *const patterns[] = {
		"/usr/lib/*-linux-gnu/libc.so.6",
		"/usr/lib/*-linux-gnu/ld-linux-*.so.*",
		"/usr/lib/*-linux-gnu/libm.so.6",
		"/usr/lib/*-linux-gnu/libgcc_s.so.1",
		"/usr/lib/*-linux-gnu/libstdc++.so.6",
		"/usr/lib/*-linux-gnu/libcrypto.so.3",
		"/usr/lib/*-linux-gnu/libffi.so.8",
		"/usr/bin/bash",
		"/usr/bin/perl",
		"/usr/bin/python3",
		"/usr/bin/node",
	};
	const char *chosen = getenv("UNWIND_ORACLE_FILES");
	uint64_t differences = 0;
	char path[512], *list, *rest = NULL;

	if (chosen) {
		list = strdup(chosen);
		for (char *file = strtok_r(list, " ", &rest); file;
		     file = strtok_r(NULL, " ", &rest))
			differences += compare_file(file);
		free(list);
	} else {
		for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
			if (find_file(patterns[i], path))
				differences += compare_file(path);
			else
				print_message("%s: not here\n", patterns[i]);
		}
	}
	assert_int_equal(differences, 0);
}

static void test_vdso(void **state)
{
	struct comparison c = {.name = "[vdso]"};
	size_t size;
	void *image = vdso_image(&size);

	if (!image)
		skip();
	c.elf = elf_memory(image, size);
	assert_int_equal(elf_file_open_image(&c.file, image, size), 0);
	assert_int_equal(compare(&c), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_vdso),
	};

	elf_version(EV_CURRENT);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
