/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How PCRE2 is found, and regular expressions that it has compiled.
 *
 * A file that defines `pcre2_jit_match_8` is it. That function calls what was compiled, or has it
 * called by another one, which makes a stack for matches first. Where these calls return to is
 * found by their instructions: the address of the arguments, which lie in the frame of
 * pcre2_jit_match_8(), is given just before them.
 *
 * An expression has one frame, of any size. All its code keeps the address of the arguments in rbp,
 * or in rbx while it begins. They lead to the return address, and that to the registers that were
 * saved below it: the caller's rbp, and one that has the expression. It says where its code is. So
 * a frame is believed if the return address is one of the two, if code of the expression runs, and
 * if that begins as it should. Where a leaf just begins or ends, its instructions say how much it
 * has saved.
 */
#include "runtimes/pcre2.h"

#include <stdio.h>
#include <string.h>

#include "runtimes/elf_find.h"
#include "runtimes/text.h"

#define MOST_CODE    4096 /* bytes of a function */
#define MOST_BETWEEN 16	  /* from where the address is given to the call, bytes */
#define LEA_BYTES    5	  /* lea N(%rsp),%rdi, N < 128 */
#define CALL_BYTES   5
#define REACH_BYTES  128 /* of the function that makes a stack, up to its call */

static bool is_call_by_register(const uint8_t *code)
{
	return code[0] == 0xff && (code[1] & 0xf8) == 0xd0;
}

/* The address after the first such call of the function at @address, or 0. */
static uint64_t find_return(const struct elf_file *elf, uint64_t address)
{
	uint8_t code[REACH_BYTES];

	if (elf_find_bytes(elf, address, code, sizeof code) < 0)
		return 0;
	for (uint32_t i = 0; i + 2 <= sizeof code; i++)
		if (is_call_by_register(code + i))
			return address + i + 2;
	return 0;
}

/* Notes which call gets the arguments whose address is taken at @code, @n bytes at @address. */
static void find_call(const struct elf_file *elf, const uint8_t *code, uint32_t n, uint64_t address,
		      uint64_t addresses[static N_PCRE2_OFFSETS])
{
	if (code[LEA_BYTES] == 0xe8) {
		int32_t distance;

		memcpy(&distance, code + LEA_BYTES + 1, sizeof distance);
		addresses[PCRE2_RETURN_OWN] =
			find_return(elf, address + LEA_BYTES + CALL_BYTES + distance);
	}
	for (uint32_t i = LEA_BYTES; i + 2 <= n && code[LEA_BYTES] != 0xe8; i++)
		if (is_call_by_register(code + i)) {
			addresses[PCRE2_RETURN] = address + i + 2;
			addresses[PCRE2_ARGUMENTS] = code[LEA_BYTES - 1];
			return;
		}
}

static int examine(struct elf_file *elf, struct runtime_facts *ret)
{
	static const uint8_t lea[] = {0x48, 0x8d, 0x7c, 0x24};
	struct elf_wanted match = {"pcre2_jit_match_8", true};
	uint64_t addresses[N_PCRE2_OFFSETS] = {};
	uint8_t code[MOST_CODE];
	int r = elf_find_symbols(elf, &match, 1);
	uint32_t n;

	ret->runtime = r <= 0 || elf->machine != EM_X86_64 ? 0 : ret->runtime;
	if (!ret->runtime)
		return r < 0 ? r : 0;
	n = match.size < sizeof code ? match.size : sizeof code;
	if (elf_find_bytes(elf, match.address, code, n) < 0)
		n = 0;
	for (uint32_t i = 0; i + MOST_BETWEEN <= n; i++)
		if (memcmp(code + i, lea, sizeof lea) == 0)
			find_call(elf, code + i, MOST_BETWEEN, match.address + i, addresses);
	ret->version = 10 << 8;
	ret->code_shift = elf_find_code_shift(elf);
	for (int i = 0; i < N_PCRE2_OFFSETS; i++) {
		/* Without a JIT, or of another build: it has nothing to show. */
		if (!addresses[i] || addresses[i] > INT32_MAX)
			ret->runtime = 0;
		ret->offsets[i] = addresses[i];
	}
	return 0;
}

static bool is_sound(const struct runtime_facts *facts)
{
	const uint32_t *o = facts->offsets;

	return o[PCRE2_RETURN] && o[PCRE2_RETURN] <= INT32_MAX && o[PCRE2_RETURN_OWN] &&
	       o[PCRE2_RETURN_OWN] <= INT32_MAX && o[PCRE2_ARGUMENTS] && o[PCRE2_ARGUMENTS] < 128;
}

/* --- the text --- */

#define PC    BF_REGISTER_WALK_PC
#define SP    BF_REGISTER_WALK_SP
#define RBP   BF_REGISTER_WALK_FP
#define EXACT BF_REGISTER_WALK_EXACT
#define RBX   BF_REGISTER_WALK_LEAF_BX

enum { ARGUMENTS, SLOT, OWN, GIVEN, IS_LAST, R5, R6, CODE, ZERO = 9, SAVED_RBP };

#define MOST_FRAME 0x11000 /* bytes: sljit has 65536 for variables */

/* Where the window has things: saved registers, and what they lead to. */
#define SAVED_AT  0
#define OTHERS_AT 8 /* words */

enum label {
	LABEL_AGAIN,
	LABEL_ON_GIVEN,
	LABEL_OWN,
	LABEL_FRAME,
	LABEL_EXPRESSION,
	LABEL_FUNCTION,
	LABEL_NEXT,
	LABEL_NOT_OURS,
	LABEL_EDGES,
	LABEL_EDGE,
	LABEL_CALLER,
	LABEL_RESTORES,			    /* … one for each edge */
	LABEL_NO_EDGE = LABEL_RESTORES + 6, /* likewise */
	N_LABELS = LABEL_NO_EDGE + 6,
};
_Static_assert((int)N_LABELS <= TEXT_LABELS, "all have room");

/* SLOT = where the return address is, by ARGUMENTS. */
static void write_slot(struct text_writer *text, const uint32_t *o)
{
	text_label(text, LABEL_AGAIN);
	text_op(text, BF_OP_ADDI, SLOT, ARGUMENTS, 0, -8 - (int32_t)o[PCRE2_ARGUMENTS]);
	text_try(text, R5, SLOT, 0);
	text_if_register(text, R5, BF_EQ, GIVEN, LABEL_FRAME);
	text_try(text, SLOT, ARGUMENTS, PCRE2_STACK);
	text_op(text, BF_OP_ADDI, SLOT, SLOT, 0, -8);
	text_try(text, R5, SLOT, 0);
	text_if_register(text, R5, BF_NE, OWN, LABEL_NEXT);
	text_label(text, LABEL_FRAME);
	text_op(text, BF_OP_SUB, R6, SLOT, SP, 0);
	text_if(text, R6, BF_GE, MOST_FRAME, LABEL_NEXT);
}

/* CODE = the function of the expression that a saved register has, if PC is in it. */
static void write_expression(struct text_writer *text)
{
	text_op(text, BF_OP_TRY, SAVED_AT, SLOT, PCRE2_SAVED - 1, -8 * PCRE2_SAVED);
	text_load(text, SAVED_RBP, 8, SAVED_AT);
	for (int i = 1; i < PCRE2_SAVED; i++) {
		text_load(text, CODE, 8, 8 * (SAVED_AT + i));
		text_op(text, BF_OP_TRY, OTHERS_AT, CODE, 1, PCRE2_MAGIC);
		for (int k = 0; k < 2; k++) {
			text_load(text, R6, 4, 8 * (OTHERS_AT + k));
			text_if(text, R6, BF_EQ, PCRE2_MAGIC_VALUE, LABEL_EXPRESSION);
		}
	}
	text_jump(text, LABEL_NEXT);
	text_label(text, LABEL_EXPRESSION);
	text_try(text, R6, CODE, PCRE2_COMPILED);
	text_op(text, BF_OP_TRY, OTHERS_AT, R6, PCRE2_SIZES / 8 + PCRE2_WAYS - 1, 0);
	for (int i = 0; i < PCRE2_WAYS; i++) {
		text_load(text, CODE, 8, 8 * (OTHERS_AT + i));
		text_op(text, BF_OP_SUB, ZERO, PC, CODE, 0);
		text_op(text, BF_OP_ADD, ZERO, ZERO, EXACT, 0);
		text_op(text, BF_OP_ADDI, ZERO, ZERO, 0, -1);
		text_load(text, R6, 8, 8 * (OTHERS_AT + i) + PCRE2_SIZES);
		text_if_register(text, ZERO, BF_LT, R6, LABEL_FUNCTION);
	}
	text_jump(text, LABEL_NEXT);
	text_label(text, LABEL_FUNCTION);
	text_op(text, BF_OP_ADDI, ZERO, CODE, 0, 0);
	text_op(text, BF_OP_TRY, 0, CODE, 0, 0);
	text_load(text, R6, 2, 0);
	text_op(text, BF_OP_IF, R6, BF_NE, 1, PCRE2_BRANCH_TARGET);
	text_op(text, BF_OP_ADDI, ZERO, CODE, 0, PCRE2_BRANCH_TARGET_BYTES);
	text_op(text, BF_OP_TRY, 0, ZERO, 0, 0);
	text_load(text, R6, 4, 0);
	text_if(text, R6, BF_NE, PCRE2_SAVES_1, LABEL_NEXT);
	text_load(text, R6, 4, 4);
	text_if(text, R6, BF_EQ, PCRE2_SAVES_2, LABEL_CALLER);
	text_label(text, LABEL_NEXT);
	text_if(text, EXACT, BF_EQ, 0, LABEL_NOT_OURS);
	text_if(text, IS_LAST, BF_NE, 0, LABEL_EDGES);
	text_op(text, BF_OP_SET, IS_LAST, 0, 0, 1);
	text_op(text, BF_OP_ADDI, ARGUMENTS, RBX, 0, 0);
	text_jump(text, LABEL_AGAIN);
	text_label(text, LABEL_NOT_OURS);
	text_op(text, BF_OP_END, 0, 0, 0, 0);
}

/* A leaf between its first or last instructions: SLOT, by how much of a function is before it. */
static void write_edges(struct text_writer *text)
{
	static const uint8_t lengths[] = {0, 1, 3, 5, 7, 8}; /* of the first instructions */

	text_label(text, LABEL_EDGES);
	text_op(text, BF_OP_ADDI, SAVED_RBP, RBP, 0, 0);
	text_op(text, BF_OP_ADDI, CODE, PC, 0, 0);
	for (int i = 0; i <= PCRE2_SAVED; i++) {
		text_op(text, BF_OP_TRY, 0, PC, 0, -lengths[i]);
		text_load(text, R5, 4, 0);
		text_load(text, R6, 4, 4);
		text_op(text, BF_OP_ADDI, SLOT, SP, 0, 8 * i);
		text_if(text, R5, BF_NE, PCRE2_SAVES_1, LABEL_RESTORES + i);
		text_if(text, R6, BF_EQ, PCRE2_SAVES_2, LABEL_EDGE);
		text_label(text, LABEL_RESTORES + i);
		text_op(text, BF_OP_ADDI, SLOT, SP, 0, 8 * (PCRE2_SAVED - i));
		text_if(text, R5, BF_NE, PCRE2_RESTORES_1, LABEL_NO_EDGE + i);
		text_if(text, R6, BF_EQ, PCRE2_RESTORES_2, LABEL_EDGE);
		text_label(text, LABEL_NO_EDGE + i);
	}
	text_op(text, BF_OP_END, 0, 0, 0, 0);
	text_label(text, LABEL_EDGE);
	text_try(text, R5, SLOT, 0);
	text_if_register(text, R5, BF_EQ, GIVEN, LABEL_CALLER);
	text_if_register(text, R5, BF_EQ, OWN, LABEL_CALLER);
	text_op(text, BF_OP_END, 0, 0, 0, 0);
}

static int pcre2_write(const struct runtime_facts *facts, struct bf_text *ret)
{
	const uint32_t *o = facts->offsets;
	struct text_writer text;

	text_begin(&text, ret);
	text_op(&text, BF_OP_PARAMETER, R5, 0, 0, 0);
	text_op(&text, BF_OP_ADDI, GIVEN, R5, 0, o[PCRE2_RETURN]);
	text_op(&text, BF_OP_ADDI, OWN, R5, 0, o[PCRE2_RETURN_OWN]);
	text_op(&text, BF_OP_SET, IS_LAST, 0, 0, 0);
	text_op(&text, BF_OP_ADDI, ARGUMENTS, RBP, 0, 0);
	write_slot(&text, o);
	write_expression(&text);
	write_edges(&text);
	text_label(&text, LABEL_CALLER);
	text_op(&text, BF_OP_SET, ZERO, 0, 0, 0);
	text_op(&text, BF_OP_EMIT, CODE, ZERO, ZERO, PCRE2_EXPRESSION);
	text_op(&text, BF_OP_ADDI, SLOT, SLOT, 0, 8);
	text_op(&text, BF_OP_CALLER, R5, SLOT, SAVED_RBP, 0);
	text_op(&text, BF_OP_END, 0, 0, 0, 0);
	return text_end(&text);
}

/* The text that it was compiled from is not kept. */
static int describe(const struct runtime_facts *facts, const struct runtime_memory *memory,
		    const struct runtime_frame *frame, struct runtime_code *ret)
{
	snprintf(ret->name, sizeof ret->name, "PCRE2 JIT");
	ret->is_compiled = true;
	return 0;
}

const struct runtime runtime_pcre2 = {
	.name = "PCRE2",
	.language = "pcre2",
	.has_one_number = true,
	.gives_way = true,
	.examine = examine,
	.is_sound = is_sound,
	.write_range = pcre2_write,
	.describe = describe,
};
