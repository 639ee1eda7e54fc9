/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/elf_reach.h"

#include <errno.h>
#include <stdlib.h>

#include "base/system.h"
#include "base/x86.h"

#define MAX_FUNCTION 65536 /* bytes to look at */

int elf_reach_open(struct elf_reach *reach, struct elf_file *file)
{
	int r;

	*reach = (struct elf_reach){.file = file, .value = UINT64_MAX};
	r = elf_starts_open(&reach->starts, file);
	reach->has_starts = r == 0;
	return r == -ENOMEM ? r : 0;
}

void elf_reach_done(struct elf_reach *reach)
{
	if (reach->has_starts)
		elf_starts_done(&reach->starts);
	*reach = (struct elf_reach){};
}

static bool jumps_maybe(const struct x86_insn *insn)
{
	return (insn->opcode >= 0x70 && insn->opcode <= 0x7f) ||
	       (insn->opcode >= 0xe0 && insn->opcode <= 0xe3) ||
	       (insn->opcode >= X86_0F(0x80) && insn->opcode <= X86_0F(0x8f) && !insn->is_vex);
}

/* Whether nothing runs on to what follows @insn: a return, a jump, a trap. */
static bool goes_nowhere(const struct x86_insn *insn)
{
	switch (insn->opcode) {
	case 0xc2:
	case 0xc3:
	case 0xe9:
	case 0xeb:
	case 0xcc:
	case 0xf4:
	case X86_0F(0x0b): return true;
	case 0xff: return (insn->reg & 7) == 4;
	default: return false;
	}
}

/*
 * The length of the function that begins @code: up to where nothing runs on, and no branch so far
 * leads beyond. Too short rather than too long: what only a table or a jump back leads to is left
 * out.
 */
static size_t function_length(const uint8_t *code, size_t n)
{
	size_t at = 0, furthest = 0;
	struct x86_insn insn;

	while (at < n && x86_decode(code + at, n - at, &insn) == 0) {
		at += insn.length;
		if (jumps_maybe(&insn) && insn.imm > 0 && (uint64_t)insn.imm < n - at &&
		    at + insn.imm > furthest)
			furthest = at + insn.imm;
		if (goes_nowhere(&insn) && furthest < at)
			break;
	}
	return at;
}

/* Finds the end of the function at @value. */
static uint64_t find_end(const struct elf_file *file, uint64_t value)
{
	_cleanup_free_ uint8_t *code = NULL;
	uint64_t offset, n;

	if (!elf_file_offset(file, value, &offset, &n))
		return value;
	if (n > MAX_FUNCTION)
		n = MAX_FUNCTION;
	code = malloc(n + 1);
	if (!code || elf_file_read(file, offset, code, n) < 0)
		return value;
	return value + function_length(code, n);
}

bool elf_reach_has(struct elf_reach *reach, uint64_t value, uint64_t address)
{
	struct elf_function function;

	if (address == value)
		return true;
	if (reach->has_starts && elf_starts_find(&reach->starts, reach->file, address, &function))
		return function.start == value;
	if (reach->file->machine != EM_X86_64)
		return true;
	if (reach->value != value) {
		reach->value = value;
		reach->end = find_end(reach->file, value);
	}
	return address < reach->end;
}
