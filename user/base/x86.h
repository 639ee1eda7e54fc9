/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * x86: decodes one x86-64 instruction as far as following the stack needs it: its length, its
 * operands and the general registers that it may write. Refuses unknown instructions; in doubt,
 * reports a register as written.
 *
 * Source: Intel's Software Developer's Manual, volume 2, chapter 2 and appendix A.
 */
#ifndef BASE_X86_H
#define BASE_X86_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Numbers as instructions encode them, not DWARF's. */
enum x86_register {
	X86_AX,
	X86_CX,
	X86_DX,
	X86_BX,
	X86_SP,
	X86_BP,
	X86_SI,
	X86_DI,
	X86_R8,
	X86_R11 = 11,
	X86_R12,
	X86_R13,
	X86_R14,
	X86_R15,
	N_X86_REGISTERS,
	X86_IP,	     /* as the base of an address */
	X86_NOTHING, /* no base, no index, or an irrelevant one */
};

/* An opcode of map 0F as one number. */
#define X86_0F(opcode) (0x0f00 | (opcode))

struct x86_insn {
	uint8_t length;
	uint16_t opcode; /* the byte; 0x0fXX, 0x38XX and 0x3aXX in the other maps */
	bool is_vex;	 /* VEX or EVEX */
	bool is_wide;	 /* 64-bit operands by REX.W */
	bool has_66;
	uint8_t repeat; /* 0xf2, 0xf3 or 0 */
	bool has_modrm;
	bool is_memory; /* the r/m operand is in memory */
	uint8_t reg, rm;
	uint8_t opcode_reg;  /* in the opcode's lower three bits */
	uint8_t base, index; /* of the address */
	int32_t disp;
	int64_t imm;	 /* sign-extended; for a jump: from the next instruction */
	uint16_t writes; /* bit set of general registers, without the stack pointer's own steps */
};

#define X86_MAX_LENGTH 15

/* Decodes the instruction at @bytes, of which @n are available. Errors: -ENOEXEC it is unknown. */
int x86_decode(const uint8_t *bytes, size_t n, struct x86_insn *ret);

#endif
