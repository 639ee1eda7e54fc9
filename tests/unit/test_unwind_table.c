/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwind tables from call frame information written by hand: every rule, every encoding, and the
 * position of rows in a table.
 */
#include "unit/made_table.h"

#include <errno.h>

#include "unit/vdso.h"
#include "unwind/cfi.h"

/* A function as compilers make it, with its surroundings. */
static void test_function(void **state)
{
	begin_eh(EM_X86_64);
	FDE(0x2010, 0x20, DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset, 16, DW_CFA_offset | 6, 2,
	    DW_CFA_advance_loc | 3, DW_CFA_def_cfa_register, 6, DW_CFA_advance_loc | 0x1b,
	    DW_CFA_def_cfa, 7, 8, DW_CFA_nop, DW_CFA_nop);
	finish_eh();
	expect_nothing(0x200f);
	expect(0x2010, SP_RULE(8));
	expect(0x2011, SP_RULE(16), FP(BF_SAVED_CFA, -2));
	expect(0x2013, SP_RULE(16), FP(BF_SAVED_CFA, -2));
	expect(0x2014, RULE(BF_CFA_FP, 16), FP(BF_SAVED_CFA, -2));
	expect(0x202e, RULE(BF_CFA_FP, 16), FP(BF_SAVED_CFA, -2));
	expect(0x202f, SP_RULE(8), FP(BF_SAVED_CFA, -2));
	expect_nothing(0x2030);
	expect_nothing(0x2010 + CODE_SHIFT);
	expect_nothing(UINT64_MAX);
	assert_int_equal(table.n_functions, 1);
	assert_int_equal(table.code_bytes, 0x20);
	assert_int_equal(table.n_skipped, 0);
	done();
}

/* The rule that @ops give in a function with the usual CIE. */
#define expect_ops(rule, ...)                                                                      \
	do {                                                                                       \
		begin_eh(machine);                                                                 \
		FDE(0x2000, 0x100, __VA_ARGS__);                                                   \
		finish_eh();                                                                       \
		expect(0x2000, rule);                                                              \
		done();                                                                            \
	} while (0)
#define RULES(...) __VA_ARGS__

static void test_cfa(void **state)
{
	const uint16_t machine = EM_X86_64;

	expect_ops(RULES(SP_RULE(0x90)), DW_CFA_def_cfa_offset, 0x90, 1);
	expect_ops(RULES(RULE(BF_CFA_FP, 16)), DW_CFA_def_cfa, 6, 16);
	expect_ops(RULES(RULE(BF_CFA_REGISTER, 0), .reg = BF_REGISTER_R10), DW_CFA_def_cfa, 10, 0);
	expect_ops(RULES(RULE(BF_CFA_REGISTER, 8), .reg = BF_REGISTER_AX), DW_CFA_def_cfa_register, 0);
	expect_ops(UNSUPPORTED_RULE, DW_CFA_def_cfa_register, 16);
	expect_ops(UNSUPPORTED_RULE, DW_CFA_def_cfa_register, 0xff, 0xff, 3);
	/* The offset stays, even after a register that can't be used. */
	expect_ops(RULES(SP_RULE(24)), DW_CFA_def_cfa, 17, 24, DW_CFA_def_cfa_register, 7);
	expect_ops(RULES(SP_RULE(-16)), DW_CFA_def_cfa_sf, 7, 2);
	expect_ops(RULES(SP_RULE(80)), DW_CFA_def_cfa_offset_sf, 0x76);
	/* push: the smallest and the largest offset that fit. */
	expect_ops(RULES(SP_RULE(INT32_MAX)), DW_CFA_def_cfa_offset, 0xff, 0xff, 0xff, 0xff, 7);
	begin_eh(machine);
	FDE(0x2000, 0x100, DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset, 0x80, 0x80, 0x80, 0x80,
	    8);
	finish_eh();
	expect(0x2000, SP_RULE(8));
	assert_int_equal(table.n_skipped, 1);
	done();
}

#define EXPRESSION(...)                                                                            \
	DW_CFA_def_cfa_expression, sizeof((const uint8_t[]){__VA_ARGS__}), __VA_ARGS__
#define PLT(n, ...)                                                                                \
	EXPRESSION(DW_OP_breg7, 8, DW_OP_breg16, 0, DW_OP_lit15, DW_OP_and, n, DW_OP_ge,           \
		   DW_OP_lit3, DW_OP_shl, DW_OP_plus __VA_ARGS__)

static void test_cfa_expressions(void **state)
{
	const uint16_t machine = EM_X86_64;

	expect_ops(RULES(RULE(BF_CFA_FP_DEREF, -8)), EXPRESSION(DW_OP_breg6, 0x78, DW_OP_deref));
	expect_ops(RULES(RULE(BF_CFA_SP_DEREF, 152), .addend = 8),
		   EXPRESSION(DW_OP_breg7, 0x98, 1, DW_OP_deref, DW_OP_plus_uconst, 8));
	expect_ops(RULES(RULE(BF_CFA_SP_DEREF, 0), .addend = 16),
		   EXPRESSION(DW_OP_breg7, 0, DW_OP_deref, DW_OP_lit16, DW_OP_plus));
	expect_ops(RULES(RULE(BF_CFA_FP_DEREF, 1)), EXPRESSION(DW_OP_bregx, 6, 1, DW_OP_deref));
	expect_ops(RULES(SP_RULE(24)), EXPRESSION(DW_OP_breg7, 24));
	expect_ops(RULES(RULE(BF_CFA_FP, 24)), EXPRESSION(DW_OP_breg6, 16, DW_OP_plus_uconst, 8));
	expect_ops(RULES(RULE(BF_CFA_REGISTER, 3), .reg = BF_REGISTER_R9), EXPRESSION(DW_OP_breg9, 3));
	/* A later instruction takes precedence. */
	expect_ops(RULES(SP_RULE(32)), EXPRESSION(DW_OP_breg7, 0, DW_OP_deref), DW_CFA_def_cfa, 7,
		   32);
	/* An expression does not change the offset that is also set. */
	expect_ops(RULES(SP_RULE(56)), DW_CFA_def_cfa_offset, 56,
		   EXPRESSION(DW_OP_breg7, 0x98, 4, DW_OP_deref), DW_CFA_def_cfa_register, 7);
	expect_ops(RULES(RULE(BF_CFA_SP_DEREF, 16)), EXPRESSION(DW_OP_breg7, 16, DW_OP_deref),
		   DW_CFA_def_cfa_offset, 56);
	expect_ops(RULES(RULE(BF_CFA_FP, 56)), EXPRESSION(DW_OP_breg7, 16), DW_CFA_def_cfa_offset,
		   56, DW_CFA_def_cfa_register, 6);
	expect_ops(RULES(RULE(BF_CFA_PLT, 8), .addend = 11), PLT(DW_OP_lit11));
	expect_ops(RULES(RULE(BF_CFA_PLT, 8), .addend = 5), PLT(DW_OP_lit5));
	/* Where there is no rule. */
	expect_ops(UNSUPPORTED_RULE, PLT(DW_OP_lit16));
	expect_ops(UNSUPPORTED_RULE, PLT(DW_OP_lit0));
	expect_ops(UNSUPPORTED_RULE, PLT(DW_OP_nop));
	expect_ops(UNSUPPORTED_RULE, PLT(DW_OP_lit11, , DW_OP_nop));
	expect_ops(UNSUPPORTED_RULE, EXPRESSION(DW_OP_breg3, 0, DW_OP_deref));
	expect_ops(UNSUPPORTED_RULE,
		   EXPRESSION(DW_OP_breg7, 0, DW_OP_deref, DW_OP_plus_uconst, 0x80, 2));
	expect_ops(UNSUPPORTED_RULE, EXPRESSION(DW_OP_breg7, 0, DW_OP_deref, DW_OP_deref));
	expect_ops(UNSUPPORTED_RULE, EXPRESSION(DW_OP_breg7, 8, DW_OP_breg9, 0, DW_OP_plus));
	expect_ops(UNSUPPORTED_RULE,
		   EXPRESSION(DW_OP_breg7, 0, DW_OP_deref, DW_OP_plus_uconst, 8, DW_OP_nop));
	expect_ops(UNSUPPORTED_RULE, EXPRESSION(DW_OP_breg7));
	expect_ops(UNSUPPORTED_RULE, EXPRESSION(DW_OP_breg7, 0x80));
	expect_ops(UNSUPPORTED_RULE, DW_CFA_def_cfa_expression, 0);
}

static void test_frame_pointer(void **state)
{
	const uint16_t machine = EM_X86_64;

	expect_ops(RULES(SP_RULE(8), FP(BF_SAVED_CFA, -7)), DW_CFA_offset | 6, 7);
	expect_ops(RULES(SP_RULE(8), FP(BF_SAVED_CFA, -3)), DW_CFA_offset_extended, 6, 3);
	expect_ops(RULES(SP_RULE(8), FP(BF_SAVED_CFA, 5)), DW_CFA_offset_extended_sf, 6, 0x7b);
	expect_ops(RULES(SP_RULE(8), FP(BF_SAVED_CFA, 4)), DW_CFA_GNU_negative_offset_extended, 6,
		   4);
	expect_ops(RULES(SP_RULE(8), FP(BF_SAVED_FP, -2)), DW_CFA_expression, 6, 2, DW_OP_breg6,
		   0x70);
	expect_ops(RULES(SP_RULE(8), FP(BF_SAVED_CFA, INT16_MIN)), DW_CFA_offset | 6, 0x80, 0x80,
		   2);
	expect_ops(RULES(SP_RULE(8)), DW_CFA_offset | 6, 2, DW_CFA_same_value, 6);
	expect_ops(RULES(SP_RULE(8)), DW_CFA_offset | 6, 2, DW_CFA_restore | 6);
	expect_ops(RULES(SP_RULE(8)), DW_CFA_offset | 6, 2, DW_CFA_restore_extended, 6);
	/* So is rbx. */
	expect_ops(RULES(SP_RULE(8), BX(BF_SAVED_CFA, -3), FP(BF_SAVED_CFA, -2)), DW_CFA_offset | 6,
		   2, DW_CFA_offset | 3, 3);
	expect_ops(RULES(SP_RULE(8), BX(BF_SAVED_FP, -5)), DW_CFA_expression, 3, 2, DW_OP_breg6,
		   0x58);
	expect_ops(RULES(SP_RULE(8), BX(BF_SAVED_LOST, 0)), DW_CFA_register, 3, 1);
	expect_ops(RULES(SP_RULE(8), BX(BF_SAVED_LOST, 0)), DW_CFA_undefined, 3);
	expect_ops(RULES(SP_RULE(8)), DW_CFA_offset | 3, 2, DW_CFA_restore | 3);
	expect_ops(RULES(SP_RULE(8)), DW_CFA_offset | 3, 2, DW_CFA_same_value, 3);
	/* Other registers are not followed. */
	expect_ops(RULES(SP_RULE(8)), DW_CFA_offset | 2, 2, DW_CFA_undefined, 12, DW_CFA_register,
		   13, 14, DW_CFA_val_expression, 15, 1, DW_OP_lit1);
	/* Lost: not in memory, too far away, or not at a multiple of 8. */
	expect_ops(RULES(SP_RULE(8), FP(BF_SAVED_LOST, 0)), DW_CFA_undefined, 6);
	expect_ops(RULES(SP_RULE(8), FP(BF_SAVED_LOST, 0)), DW_CFA_register, 6, 3);
	expect_ops(RULES(SP_RULE(8), FP(BF_SAVED_LOST, 0)), DW_CFA_val_offset, 6, 2);
	expect_ops(RULES(SP_RULE(8), FP(BF_SAVED_LOST, 0)), DW_CFA_val_offset_sf, 6, 2);
	expect_ops(RULES(SP_RULE(8), FP(BF_SAVED_LOST, 0)), DW_CFA_val_expression, 6, 2,
		   DW_OP_breg6, 0);
	expect_ops(RULES(SP_RULE(8), FP(BF_SAVED_LOST, 0)), DW_CFA_expression, 6, 2, DW_OP_breg7,
		   0);
	expect_ops(RULES(SP_RULE(8), FP(BF_SAVED_LOST, 0)), DW_CFA_expression, 6, 3, DW_OP_breg6, 0,
		   DW_OP_deref);
	expect_ops(RULES(SP_RULE(8), FP(BF_SAVED_LOST, 0)), DW_CFA_expression, 6, 2, DW_OP_breg6,
		   4);
	expect_ops(RULES(SP_RULE(8), FP(BF_SAVED_LOST, 0)), DW_CFA_offset | 6, 0x81, 0x80, 2);
}

static void test_return_address(void **state)
{
	const uint16_t machine = EM_X86_64;

	expect_ops(RULES(.cfa = BF_CFA_ENTRY), DW_CFA_undefined, 16);
	expect_ops(RULES(.cfa = BF_CFA_SP, .cfa_offset = 8, .ra = BF_SAVED_CFA, .ra_offset = -3),
		   DW_CFA_offset | 16, 3);
	expect_ops(RULES(.cfa = BF_CFA_SP, .cfa_offset = 8, .ra = BF_SAVED_FP, .ra_offset = 1),
		   DW_CFA_expression, 16, 2, DW_OP_breg6, 8);
	expect_ops(RULES(SP_RULE(8)), DW_CFA_undefined, 16, DW_CFA_restore | 16);
	expect_ops(RULES(.cfa = BF_CFA_SP, .ra = BF_SAVED_LEAF, .ra_offset = BF_REGISTER_DI),
		   DW_CFA_def_cfa_offset, 0, DW_CFA_register, 16, 5);
	expect_ops(UNSUPPORTED_RULE, DW_CFA_register, 16, 16);
	expect_ops(UNSUPPORTED_RULE, DW_CFA_same_value, 16);
	expect_ops(UNSUPPORTED_RULE, DW_CFA_val_expression, 16, 1, DW_OP_lit0);
	/* The caller's stack pointer is the CFA; any other rule is unsupported. */
	expect_ops(UNSUPPORTED_RULE, DW_CFA_register, 7, 8);
	expect_ops(UNSUPPORTED_RULE, DW_CFA_offset | 7, 2);
	expect_ops(UNSUPPORTED_RULE, DW_CFA_val_offset, 7, 1);
	expect_ops(RULES(SP_RULE(8)), DW_CFA_val_offset, 7, 0);
	expect_ops(RULES(SP_RULE(8)), DW_CFA_offset | 7, 2, DW_CFA_restore | 7);
	/* Another column holds the return address. */
	made_begin(machine);
	made_begin_section(MADE_EH);
	put_cie((struct made_cie){.ra = 2});
	FDE(0x2000, 0x10, DW_CFA_offset | 2, 1);
	FDE(0x2010, 0x10, DW_CFA_undefined, 2);
	FDE(0x2020, 0x10, DW_CFA_nop);
	finish_eh();
	expect(0x2000, SP_RULE(8));
	expect(0x2010, .cfa = BF_CFA_ENTRY);
	expect(0x2020, UNSUPPORTED_RULE);
	done();
}

static void test_signal_frames(void **state)
{
	made_begin(EM_X86_64);
	made_begin_section(MADE_EH);
	begin_cie((struct made_cie){.augmentation = "zRS", .bare = true});
	OPS(EXPRESSION(DW_OP_breg7, 0xa0, 1, DW_OP_deref));
	end_entry();
	FDE(0x2000, 0x10, DW_CFA_expression, 16, 3, DW_OP_breg7, 0xa8, 1);
	/* The stack pointer is not where Linux saves it. */
	FDE(0x2010, 0x10, EXPRESSION(DW_OP_breg7, 0xa8, 1, DW_OP_deref));
	FDE(0x2020, 0x10, DW_CFA_def_cfa, 7, 8);
	FDE(0x2030, 9, DW_CFA_expression, 16, 3, DW_OP_breg7, 0xa8, 1);
	finish_eh();
	expect(0x2000, .cfa = BF_CFA_SIGNAL);
	expect(0x2010, UNSUPPORTED_RULE);
	expect(0x2020, UNSUPPORTED_RULE);
	expect(0x2038, .cfa = BF_CFA_SIGNAL);
	expect(0x2039, .cfa = BF_CFA_SIGNAL); /* after the system call */
	expect_nothing(0x203a);
	done();
}

static void test_remembered(void **state)
{
	begin_eh(EM_X86_64);
	FDE(0x2000, 0x40, DW_CFA_def_cfa_offset, 16, DW_CFA_remember_state, DW_CFA_def_cfa_offset,
	    24, DW_CFA_remember_state, DW_CFA_advance_loc | 8, DW_CFA_def_cfa, 6, 99,
	    DW_CFA_offset | 6, 2, DW_CFA_advance_loc | 8, DW_CFA_restore_state,
	    DW_CFA_advance_loc | 8, DW_CFA_restore_state, DW_CFA_advance_loc | 8,
	    DW_CFA_GNU_args_size, 0x80, 1);
	/* Nothing is left to restore. */
	FDE(0x2040, 0x40, DW_CFA_advance_loc | 8, DW_CFA_def_cfa_offset, 16, DW_CFA_advance_loc | 8,
	    DW_CFA_restore_state);
	finish_eh();
	expect(0x2000, SP_RULE(24));
	expect(0x2008, RULE(BF_CFA_FP, 99), FP(BF_SAVED_CFA, -2));
	expect(0x2010, SP_RULE(24));
	expect(0x2018, SP_RULE(16));
	expect(0x203f, SP_RULE(16));
	expect(0x2040, SP_RULE(8));
	expect(0x2048, SP_RULE(16));
	expect_nothing(0x2050);
	expect_nothing(0x207f);
	assert_int_equal(table.n_skipped, 1);
	done();
}

static void test_locations(void **state)
{
	made_begin(EM_X86_64);
	made_begin_section(MADE_EH);
	put_cie((struct made_cie){.encoding = DW_EH_PE_udata4, .code_factor = 2});
	FDE(0x10000, 0x30000, DW_CFA_advance_loc1, 0x80, DW_CFA_def_cfa_offset, 16,
	    DW_CFA_advance_loc2, 0, 0x40, DW_CFA_def_cfa_offset, 24, DW_CFA_advance_loc4, 0, 0x80,
	    0, 0, DW_CFA_def_cfa_offset, 32, DW_CFA_set_loc, 0, 0, 0x43, 0, DW_CFA_def_cfa_offset,
	    40, DW_CFA_advance_loc4, 0xff, 0xff, 0xff, 0xff, DW_CFA_def_cfa_offset, 48);
	/* Locations cannot go backwards. */
	FDE(0x50000, 0x100, DW_CFA_advance_loc | 8, DW_CFA_def_cfa_offset, 16, DW_CFA_set_loc, 4, 0,
	    0x45, 0, DW_CFA_def_cfa_offset, 24);
	finish_eh();
	expect(0x100ff, SP_RULE(8));
	expect(0x10100, SP_RULE(16));
	expect(0x180ff, SP_RULE(16));
	expect(0x18100, SP_RULE(24));
	expect(0x28100, SP_RULE(32));
	expect(0x2ffff, SP_RULE(32));
	expect(0x30000, SP_RULE(40));
	expect(0x3ffff, SP_RULE(40));
	expect_nothing(0x40000);
	expect(0x5000f, SP_RULE(8));
	expect_nothing(0x50010);
	done();
}

static void expect_encoding(uint8_t encoding, uint64_t size)
{
	made_begin(EM_X86_64);
	made_begin_section(MADE_EH);
	put_cie((struct made_cie){.encoding = encoding});
	FDE(0x2000, size, DW_CFA_nop);
	FDE(0x2100, size, DW_CFA_def_cfa_offset, 16);
	finish_eh();
	assert_int_equal(table.n_functions, 2);
	expect_nothing(0x1fff);
	expect(0x2000, SP_RULE(8));
	expect(0x2000 + size - 1, SP_RULE(8));
	expect_nothing(0x2000 + size);
	expect(0x2100, SP_RULE(16));
	done();
}

static void test_encodings(void **state)
{
	static const uint8_t sizes[] = {DW_EH_PE_absptr, DW_EH_PE_uleb128, DW_EH_PE_udata4,
					DW_EH_PE_udata8, DW_EH_PE_sleb128, DW_EH_PE_sdata4,
					DW_EH_PE_sdata8};
	static const uint8_t bases[] = {0, DW_EH_PE_pcrel, DW_EH_PE_textrel, DW_EH_PE_datarel};

	for (size_t i = 0; i < sizeof sizes; i++) {
		for (size_t j = 0; j < sizeof bases; j++) {
			/* Below their bases, where unsigned numbers can't reach. */
			if ((sizes[i] == DW_EH_PE_uleb128 || sizes[i] == DW_EH_PE_udata4) &&
			    (bases[j] == DW_EH_PE_pcrel || bases[j] == DW_EH_PE_datarel))
				continue;
			if (sizes[i] | bases[j])
				expect_encoding(sizes[i] | bases[j], 0x40);
		}
	}
	expect_encoding(DW_EH_PE_textrel | DW_EH_PE_udata2, 0x40);
	expect_encoding(DW_EH_PE_textrel | DW_EH_PE_sdata2, 0x40);
	expect_encoding(DW_EH_PE_aligned, 0x40);
	expect_encoding(DW_EH_PE_indirect | DW_EH_PE_udata4, 0x40);
	expect_encoding(DW_EH_PE_indirect | DW_EH_PE_pcrel | DW_EH_PE_sdata4, 0x40);
}

/* A two-byte number, below its base. */
static void test_encoding_negative(void **state)
{
	made_begin(EM_X86_64);
	made.sections[MADE_TEXT].sh_addr = 0x3000 + CODE_SHIFT;
	made_begin_section(MADE_EH);
	put_cie((struct made_cie){.encoding = DW_EH_PE_textrel | DW_EH_PE_sdata2});
	begin_entry();
	put_number(made.n - made.cie, 4);
	put_number(-0x1000, 2);
	put_number(0x40, 2);
	OPS(0);
	end_entry();
	finish_eh();
	expect(0x2000, SP_RULE(8));
	done();
}

static void expect_no_function(struct made_cie cie)
{
	made_begin(EM_X86_64);
	made_begin_section(MADE_EH);
	put_cie(cie);
	FDE(0x2000, 0x10, DW_CFA_nop);
	put_cie((struct made_cie){});
	FDE(0x2020, 0x10, DW_CFA_nop);
	finish_eh();
	expect_nothing(0x2000);
	expect(0x2020, SP_RULE(8));
	assert_true(table.n_skipped >= 1);
	done();
}

static void test_encodings_unknown(void **state)
{
	expect_no_function((struct made_cie){.encoding = DW_EH_PE_omit});
	expect_no_function((struct made_cie){.encoding = DW_EH_PE_funcrel | DW_EH_PE_udata4});
	expect_no_function((struct made_cie){.encoding = 0x60 | DW_EH_PE_udata4});
	expect_no_function((struct made_cie){.encoding = 5});
	expect_no_function((struct made_cie){.augmentation = "zX"});
	expect_no_function((struct made_cie){.augmentation = "eh"});
	expect_no_function((struct made_cie){.augmentation = "R"});
	expect_no_function((struct made_cie){.version = 2});
	expect_no_function((struct made_cie){.version = 5});
	expect_no_function((struct made_cie){.version = 4, .address_size = 2});
	expect_no_function((struct made_cie){.version = 4, .segment_size = 4});
	expect_no_function((struct made_cie){.no_data = true});
}

static void test_augmentations(void **state)
{
	static const char *const texts[] = {"zR", "zPLR", "zRLP", "zRB", "zRG", "z", ""};
	static const uint8_t versions[] = {1, 3, 4};

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		for (size_t j = 0; j < sizeof versions; j++) {
			made_begin(EM_X86_64);
			made_begin_section(MADE_EH);
			put_cie((struct made_cie){.augmentation = texts[i],
						  .version = versions[j]});
			FDE(0x2000, 0x10, DW_CFA_def_cfa_offset, 16);
			finish_eh();
			expect(0x2000, SP_RULE(16));
			assert_int_equal(table.n_skipped, 0);
			done();
		}
	}
}

/* The return address register is one byte, and a longer number in later versions. */
static void test_versions(void **state)
{
	made_begin(EM_X86_64);
	made_begin_section(MADE_EH);
	put_cie((struct made_cie){.version = 1, .ra = 0x90});
	FDE(0x2000, 0x10, DW_CFA_offset_extended, 0x90, 1, 1);
	put_cie((struct made_cie){.version = 3, .ra = 0x90});
	FDE(0x2010, 0x10, DW_CFA_offset_extended, 0x90, 1, 2);
	finish_eh();
	expect(0x2000, SP_RULE(8));
	expect(0x2010, .cfa = BF_CFA_SP, .cfa_offset = 8, .ra = BF_SAVED_CFA, .ra_offset = -2);
	done();
}

/* Entries of both lengths, in both sections; a terminator in between. */
static void test_lengths(void **state)
{
	for (enum made_section section = MADE_EH; section <= MADE_DEBUG; section++) {
		made_begin(EM_X86_64);
		made_begin_section(section);
		put_cie((struct made_cie){});
		FDE(0x2000, 0x10, DW_CFA_nop);
		if (section == MADE_EH)
			put_number(0, 4);
		made.is_64 = true;
		put_cie((struct made_cie){});
		FDE(0x2010, 0x10, DW_CFA_def_cfa_offset, 16);
		/* Other padding is shorter than a length field. */
		OPS(0, 0, 0);
		finish_eh();
		expect(0x2000, SP_RULE(8));
		expect(0x2010, SP_RULE(16));
		assert_int_equal(table.n_skipped, 0);
		done();
	}
}

static void test_debug_frame(void **state)
{
	begin_eh(EM_X86_64);
	FDE(0x2000, 0x10, DW_CFA_def_cfa_offset, 16);
	made_end_section();
	made_begin_section(MADE_DEBUG);
	/* With a CIE that is not the section's first entry. */
	put_cie((struct made_cie){.version = 3});
	put_cie((struct made_cie){.version = 4, .address_size = 4});
	FDE(0x2000, 0x10, DW_CFA_def_cfa_offset, 24);
	FDE(0x2010, 0x10, DW_CFA_def_cfa_offset, 32);
	/* Discarded by the linker. */
	begin_fde(-(uint64_t)CODE_SHIFT, 0x10);
	end_entry();
	finish_eh();
	expect(0x2000, SP_RULE(16));
	expect(0x2010, SP_RULE(32));
	assert_int_equal(table.n_functions, 2);
	unwind_table_done(&table);

	made.sections[MADE_EH].sh_type = SHT_NOBITS;
	build_table();
	expect(0x2000, SP_RULE(24));
	unwind_table_done(&table);

	made.sections[MADE_DEBUG].sh_flags = SHF_COMPRESSED;
	assert_int_equal(try_build(), -ENOEXEC);
	done();
}

/* A header that claims more than may be unpacked, or more than follows. */
static void test_compressed_damaged(void **state)
{
	static const uint64_t sizes[] = {64, 1 << 20, 33 << 20, 1ull << 40};

	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		for (uint32_t type = 0; type < 4; type++) {
			made_begin(EM_X86_64);
			made_begin_section(MADE_DEBUG);
			made.sections[MADE_DEBUG].sh_flags = SHF_COMPRESSED;
			put(&(Elf64_Chdr){.ch_type = type, .ch_size = sizes[i]},
			    sizeof(Elf64_Chdr));
			OPS(0x78, 0x9c, 0, 0, 0, 0);
			made_end_section();
			assert_true(try_build() < 0);
			made_done();
		}
}

/* Errors leave the table as it was. */
static void test_errors(void **state)
{
	static const uint16_t machines[] = {EM_386, EM_RISCV, EM_NONE};

	made_begin(EM_X86_64);
	assert_int_equal(try_build(), -ENOENT);
	made_begin_section(MADE_EH);
	put_cie((struct made_cie){});
	made_end_section();
	for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
		made.header->e_machine = machines[i];
		assert_int_equal(try_build(), -ENOENT);
	}
	made.header->e_machine = EM_X86_64;
	made.sections[MADE_EH].sh_size = SECTIONS + DATA_SIZE;
	assert_int_equal(try_build(), -ENOEXEC);
	made.sections[MADE_EH].sh_size = UINT64_MAX;
	assert_int_equal(try_build(), -ENOEXEC);
	made.sections[MADE_EH].sh_offset = UINT64_MAX - 8;
	made.sections[MADE_EH].sh_size = 64;
	assert_int_equal(try_build(), -ENOEXEC);
	assert_null(table.parts);
	made_done();
}

static void test_arm64(void **state)
{
	const uint16_t machine = EM_AARCH64;

	/* A frame of 256 bytes: stp x29, x30 at its lower end. */
	begin_eh(machine);
	FDE(0x2000, 0x80, DW_CFA_AARCH64_negate_ra_state, DW_CFA_advance_loc | 1,
	    DW_CFA_def_cfa_offset, 0x80, 2, DW_CFA_offset | 29, 32, DW_CFA_offset | 30, 31,
	    DW_CFA_advance_loc | 1, DW_CFA_def_cfa_register, 29, DW_CFA_advance_loc | 8,
	    DW_CFA_restore | 29, DW_CFA_restore | 30, DW_CFA_def_cfa, 31, 0);
	finish_eh();
	expect(0x2000, .cfa = BF_CFA_SP);
	expect(0x2004, .cfa = BF_CFA_SP, .cfa_offset = 256, FP(BF_SAVED_CFA, -32),
	       .ra = BF_SAVED_CFA, .ra_offset = -31);
	expect(0x2008, .cfa = BF_CFA_FP, .cfa_offset = 256, FP(BF_SAVED_CFA, -32),
	       .ra = BF_SAVED_CFA, .ra_offset = -31);
	expect(0x2028, .cfa = BF_CFA_SP);
	done();
	expect_ops(RULES(.cfa = BF_CFA_SP, .cfa_offset = 16, .ra = BF_SAVED_SAME),
		   DW_CFA_def_cfa_offset, 16, 0x2c);
	/* Registers other than x29, x30 and sp are not tracked. */
	expect_ops(UNSUPPORTED_RULE, DW_CFA_def_cfa_register, 12);
	expect_ops(UNSUPPORTED_RULE, DW_CFA_def_cfa_register, 30);
	expect_ops(RULES(.cfa = BF_CFA_ENTRY), DW_CFA_undefined, 30);
	expect_ops(UNSUPPORTED_RULE, DW_CFA_register, 30, 3);
	/* Numbers with a meaning on x86-64 have none here. */
	expect_ops(RULES(.cfa = BF_CFA_SP), DW_CFA_offset | 6, 2, DW_CFA_offset | 16, 2,
		   DW_CFA_undefined, 7, DW_CFA_offset | 3, 2, DW_CFA_offset | 0, 2);
	expect_ops(UNSUPPORTED_RULE, PLT(DW_OP_lit11));
	expect_ops(RULES(.cfa = BF_CFA_SP, FP(BF_SAVED_FP, 0)), DW_CFA_expression, 29, 2,
		   DW_OP_breg29, 0);
	expect_ops(UNSUPPORTED_RULE, DW_CFA_register, 31, 3);

	made_begin(machine);
	made_begin_section(MADE_EH);
	put_cie((struct made_cie){.augmentation = "zRS"});
	FDE(0x2000, 0x10, DW_CFA_def_cfa, 29, 0, DW_CFA_offset | 29, 0);
	put_cie((struct made_cie){.ra = 32});
	FDE(0x2010, 0x10, DW_CFA_nop);
	finish_eh();
	expect(0x2000, .cfa = BF_CFA_SIGNAL);
	expect(0x2010, UNSUPPORTED_RULE);
	done();
}

/* A function that begins in one part of the table and ends two parts later. */
static void test_pages_and_parts(void **state)
{
	const uint64_t part = 1 << BF_PART_SHIFT, page = 1 << BF_PAGE_SHIFT;

	made_begin(EM_X86_64);
	made_begin_section(MADE_EH);
	put_cie((struct made_cie){.encoding = DW_EH_PE_udata4});
	FDE(0x2800, 2 * part, DW_CFA_def_cfa_offset, 16, DW_CFA_set_loc, 0, 0, (part >> 16) + 0x40, 0,
	    DW_CFA_def_cfa_offset, 24, DW_CFA_set_loc, 0, 0x10, (part >> 16) + 0x40, 0,
	    DW_CFA_def_cfa_offset, 32);
	finish_eh();
	assert_int_equal(table.n_parts, 3);
	expect_nothing(0x27ff);
	for (uint64_t at = 0x2800; at < 2 * part + 0x2800; at += page / 2) {
		if (at < part)
			expect(at, SP_RULE(16));
		else if (at < part + page)
			expect(at, SP_RULE(24));
		else
			expect(at, SP_RULE(32));
	}
	expect_nothing(2 * part + 0x2800);
	expect_nothing(2 * part + 0x3000);
	expect_nothing(3 * part);
	assert_int_equal(table.code_bytes, 2 * part);
	/* Every page has a row, and just one. */
	assert_int_equal(table.n_rows, 2 * part / page + 1 + 1);
	assert_int_equal(table.parts[0].words[0], part / page);
	assert_int_equal(table.parts[2].words[0], 3);
	done();
}

/* A row every five bytes for 1 MiB; the small functions of libcufft have one every seven. */
static void test_dense(void **state)
{
	const uint32_t n = (1 << 20) / 10;

	begin_eh(EM_X86_64);
	begin_fde(0x2000, 10 * n);
	for (uint32_t i = 0; i < n; i++)
		OPS(DW_CFA_def_cfa_offset, 16, DW_CFA_advance_loc | 5, DW_CFA_def_cfa_offset, 8,
		    DW_CFA_advance_loc | 5);
	end_entry();
	finish_eh();
	assert_int_equal(table.n_skipped, 0);
	for (uint32_t i = 0; i < n; i++) {
		expect(0x2000 + 10 * i, SP_RULE(16));
		expect(0x2000 + 10 * i + 5, SP_RULE(8));
	}
	done();
}

static void test_merging(void **state)
{
	begin_eh(EM_X86_64);
	/* Out of order; each begins where another ends. */
	FDE(0x2020, 0x10, DW_CFA_advance_loc | 8, DW_CFA_offset | 12, 2, DW_CFA_advance_loc | 4,
	    DW_CFA_def_cfa_offset, 16);
	FDE(0x2000, 0x10, DW_CFA_advance_loc | 4, DW_CFA_nop);
	FDE(0x2010, 0x10, DW_CFA_advance_loc | 4, DW_CFA_def_cfa_offset, 8);
	/* The second part of the table stays empty. */
	FDE(0x800fff, 1, DW_CFA_nop);
	finish_eh();
	assert_int_equal(table.n_functions, 4);
	assert_int_equal(table.n_rows, 3 + 1 + 1);
	assert_int_equal(table.n_rules, 3);
	assert_null(table.parts[1].words);
	expect(0x202b, SP_RULE(8));
	expect(0x202c, SP_RULE(16));
	expect_nothing(0x400000);
	expect_nothing(0x800ffe);
	expect(0x800fff, SP_RULE(8));
	expect_nothing(0x801000);
	done();
}

static void test_overlaps(void **state)
{
	begin_eh(EM_X86_64);
	FDE(0x2000, 0x100, DW_CFA_def_cfa_offset, 16);
	FDE(0x2040, 0x20, DW_CFA_def_cfa_offset, 24);
	FDE(0x2040, 0x80, DW_CFA_def_cfa_offset, 32);
	FDE(0x3000, 0, DW_CFA_def_cfa_offset, 40);
	/* At the end of the file's code, and of the section. */
	FDE(CODE_END - 16, 0x7fffffff, DW_CFA_def_cfa_offset, 48);
	FDE(CODE_END, 16, DW_CFA_def_cfa_offset, 56);
	/* In memory that holds no code. */
	FDE(GOT_BASE - CODE_SHIFT, 16, DW_CFA_def_cfa_offset, 64);
	finish_eh();
	expect(0x203f, SP_RULE(16));
	expect(0x2040, SP_RULE(24));
	expect(0x205f, SP_RULE(24));
	expect_nothing(0x2060);
	expect_nothing(0x20ff);
	expect_nothing(0x3000);
	expect(CODE_END - 1, SP_RULE(48));
	expect_nothing(CODE_END);
	assert_int_equal(table.n_functions, 3);
	assert_int_equal(table.n_skipped, 1);
	done();
}

static void test_vdso(void **state)
{
	uint32_t known = 0;
	size_t size;
	void *image = vdso_image(&size);

	if (!image)
		skip();
	assert_int_equal(elf_file_open_image(&file, image, size), 0);
	assert_int_equal(unwind_table_build(&file, &table), 0);
	for (uint64_t offset = 0; offset < size; offset++)
		known += unwind_table_find(&table, offset) != NULL;
	assert_true(known > 0x200);
	assert_int_equal(known, table.code_bytes);
	assert_int_equal(table.n_skipped, 0);
	elf_file_done(&file);
	unwind_table_done(&table);
}

static int read_from(const struct cfi_section *section, uint32_t offset, uint32_t n)
{
	assert_true(offset + n <= section->n && n <= CFI_WINDOW);
	memcpy(section->bytes, (const uint8_t *)section->context + offset, n);
	return 0;
}

/* A section read in pieces gives the same rows as the whole. */
static void test_pieces(void **state)
{
	struct cfi_section whole = {.address_size = 8, .machine = cfi_machine(EM_X86_64)}, pieces;
	struct cfi_function functions[2];
	uint32_t n = 0;

	begin_eh(EM_X86_64);
	while (made.n - SECTIONS < 5 * CFI_WINDOW / 2)
		FDE(0x2000 + n++, 1, DW_CFA_def_cfa_offset, n % 100);
	whole.bytes = made.bytes + SECTIONS;
	whole.n = whole.window_n = made.n - SECTIONS;
	pieces = whole;
	pieces.context = whole.bytes;
	pieces.bytes = malloc(CFI_WINDOW);
	pieces.window_n = 0;
	pieces.read = read_from;
	for (uint32_t i = 0; i < n; i++) {
		struct cfi_program programs[2];

		assert_int_equal(cfi_next(&whole, &functions[0]), 1);
		assert_int_equal(cfi_next(&pieces, &functions[1]), 1);
		assert_memory_equal(&functions[0], &functions[1], sizeof functions[0]);
		cfi_program_start(&programs[0], &whole, &functions[0]);
		cfi_program_start(&programs[1], &pieces, &functions[0]);
		assert_int_equal(cfi_program_next(&programs[0]), 1);
		assert_int_equal(cfi_program_next(&programs[1]), 1);
		assert_memory_equal(&programs[0].row, &programs[1].row, sizeof programs[0].row);
		if (i % 1000 == 0) /* backwards, too */
			assert_non_null(cfi_fetch(&pieces, 0, 16));
	}
	assert_int_equal(cfi_next(&pieces, &functions[1]), 0);
	assert_null(cfi_fetch(&pieces, pieces.n - 8, 9));
	assert_null(cfi_fetch(&pieces, 0, CFI_WINDOW + 1));
	free(pieces.bytes);
	cfi_section_done(&pieces);
	cfi_section_done(&whole);
	made_done();
}

/* A file whose section is too large to be read whole; its last function is a clone's child. */
static void test_clone_in_pieces(void **state)
{
	static const uint8_t nops[240];
	uint32_t offset = 0x2000;

	begin_eh(EM_X86_64);
	for (; made.n - SECTIONS < 33u << 20; offset += 16) {
		begin_fde(offset, 8);
		put(nops, sizeof nops);
		end_entry();
	}
	FDE(offset, 8, DW_CFA_undefined, 16);
	made_end_section();
	build_table();
	assert_int_equal(unwind_table_find(&table, offset - 8)->cfa, BF_CFA_CLONE);
	for (uint32_t at = 0x2008; at < offset - 8; at += 16)
		assert_null(unwind_table_find(&table, at));
	unwind_table_done(&table);
	made_done();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_function),
		cmocka_unit_test(test_cfa),
		cmocka_unit_test(test_cfa_expressions),
		cmocka_unit_test(test_frame_pointer),
		cmocka_unit_test(test_return_address),
		cmocka_unit_test(test_signal_frames),
		cmocka_unit_test(test_remembered),
		cmocka_unit_test(test_locations),
		cmocka_unit_test(test_encodings),
		cmocka_unit_test(test_encoding_negative),
		cmocka_unit_test(test_encodings_unknown),
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_augmentations),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_debug_frame),
		cmocka_unit_test(test_compressed_damaged),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_clone_in_pieces),
		cmocka_unit_test(test_arm64),
		cmocka_unit_test(test_pages_and_parts),
		cmocka_unit_test(test_dense),
		cmocka_unit_test(test_merging),
		cmocka_unit_test(test_overlaps),
		cmocka_unit_test(test_vdso),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
