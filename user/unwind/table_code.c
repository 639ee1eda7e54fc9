/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/table_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/system.h"
#include "unwind/flow_run.h"

#define MAX_CODE     (16u << 20)
#define N_SYMBOLS    1024 /* read at a time */
#define MAX_SYMBOLS  (1u << 22)
#define MAX_NAME     512
#define FEW_GUESSES  1024
#define LEAST_LENGTH 16 /* of code: shorter pieces are padding between functions */

void table_code_done(struct table_code *code)
{
	stack_flow_done(&code->flow);
	free(code->bytes);
	free(code->ranges);
	*code = (struct table_code){};
}

/* Whether the bytes are nops of any length, int3, or zeros. */
static bool is_padding(const uint8_t *bytes, size_t n)
{
	struct x86_insn insn;

	for (size_t at = 0; at < n; at += insn.length) {
		insn.length = 1;
		if (bytes[at] == 0x90 || bytes[at] == 0xcc || bytes[at] == 0)
			continue;
		if (x86_decode(bytes + at, n - at, &insn) < 0 || insn.is_vex ||
		    (insn.opcode != X86_0F(0x1f) && insn.opcode != 0x90))
			return false;
	}
	return true;
}

int table_code_add(struct table_code *code, uint64_t address, uint64_t offset, uint64_t n)
{
	struct stack_flow *flow = &code->flow;
	int r;

	if (n < LEAST_LENGTH)
		return 0;
	if (n > MAX_CODE - flow->n)
		return -ENOSPC;
	if (array_reserve(code->bytes, code->capacity, flow->n, n) < 0 ||
	    array_reserve(code->ranges, code->ranges_capacity, code->n_ranges, 1) < 0)
		return -ENOMEM;
	r = elf_file_read(code->file, offset, code->bytes + flow->n, n);
	if (r < 0 || is_padding(code->bytes + flow->n, n))
		return r;
	code->ranges[code->n_ranges++] =
		(struct flow_range){.address = address, .offset = offset, .at = flow->n, .n = n};
	flow->n += n;
	return 0;
}

/*
 * Whether it names a part of a function that the compiler put elsewhere; these have symbols, too.
 */
static bool is_part(struct elf_file *file, uint32_t names, uint32_t name)
{
	char text[MAX_NAME];

	return elf_file_string(file, names, name, text, sizeof text) == 0 &&
	       strstr(text, ".cold") != NULL;
}

static int add_symbols(struct table_code *code, const Elf64_Sym *symbols, size_t n, uint32_t names)
{
	const struct flow_range *last = &code->ranges[code->n_ranges - 1];
	uint64_t start = code->ranges[0].address, size = last->address + last->n - start;

	for (size_t i = 0; i < n; i++) {
		uint8_t type = ELF64_ST_TYPE(symbols[i].st_info);
		int r;

		if ((type != STT_FUNC && type != STT_GNU_IFUNC) ||
		    symbols[i].st_shndx == SHN_UNDEF || symbols[i].st_value - start >= size ||
		    !stack_flow_has(&code->flow, symbols[i].st_value) ||
		    is_part(code->file, names, symbols[i].st_name))
			continue;
		r = stack_flow_add(&code->flow, symbols[i].st_value);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Adds functions at the symbols. Unreadable symbols give none. */
static int read_symbols(struct table_code *code, const Elf64_Shdr *section)
{
	_cleanup_free_ Elf64_Sym *symbols = malloc(N_SYMBOLS * sizeof *symbols);
	uint64_t left = section->sh_size / sizeof *symbols, offset = section->sh_offset;

	if (!symbols)
		return -ENOMEM;
	if (left > MAX_SYMBOLS)
		left = MAX_SYMBOLS;
	while (left) {
		size_t n = left < N_SYMBOLS ? left : N_SYMBOLS;
		int r;

		if (elf_file_read(code->file, offset, symbols, n * sizeof *symbols) < 0)
			return 0;
		r = add_symbols(code, symbols, n, section->sh_link);
		if (r < 0)
			return r;
		offset += n * sizeof *symbols;
		left -= n;
	}
	return 0;
}

#define ENTRY_BYTES 48

/*
 * Adds main(), whose address the entry passes to the C library as the first argument: in `lea` or
 * `mov`.
 */
static int add_main(struct table_code *code)
{
	uint64_t address = code->file->entry, offset, n;
	uint8_t bytes[ENTRY_BYTES];
	struct x86_insn insn;

	if (!elf_file_offset(code->file, address, &offset, &n) || n < sizeof bytes ||
	    elf_file_read(code->file, offset, bytes, sizeof bytes) < 0)
		return 0;
	for (size_t at = 0; at < sizeof bytes; at += insn.length) {
		if (x86_decode(bytes + at, sizeof bytes - at, &insn) < 0 || insn.opcode == 0xe8)
			break;
		if (insn.opcode == 0x8d && insn.reg == X86_DI && insn.base == X86_IP)
			return stack_flow_add(&code->flow,
					      address + at + insn.length + insn.disp);
		if (insn.opcode == 0xc7 && !insn.is_memory && insn.rm == X86_DI)
			return stack_flow_add(&code->flow, (uint32_t)insn.imm);
	}
	return 0;
}

#define PLT_ENTRY 16

/*
 * Adds the stubs through which a file calls functions of others, or of its own that have variants:
 * their jumps lead anywhere, and linkers don't write call frame information for all of them. Those
 * of static programs don't say how large they are: GNU's linker aligns them to their size.
 */
static int add_stubs(struct table_code *code, const Elf64_Shdr *section)
{
	uint64_t given = section->sh_entsize ?: section->sh_addralign;
	uint64_t size = given == PLT_ENTRY / 2 ? PLT_ENTRY / 2 : PLT_ENTRY;
	uint64_t address = section->sh_addr;
	char name[MAX_NAME];

	if (elf_file_string(code->file, code->file->names_section, section->sh_name, name,
			    sizeof name) < 0 ||
	    (strncmp(name, ".plt", 4) != 0 && strcmp(name, ".iplt") != 0))
		return 0;
	for (uint64_t left = section->sh_size;
	     left >= size && stack_flow_has(&code->flow, address); left -= size) {
		int r = stack_flow_add(&code->flow, address);

		if (r < 0)
			return r;
		address += size;
	}
	return 0;
}

/* Frees what is no longer needed once the states are known. */
static void free_code(struct table_code *code)
{
	stack_flow_end(&code->flow);
	free(code->bytes);
	code->bytes = NULL;
	code->capacity = 0;
}

/* Follows the code from all places where functions are known to begin. */
static int follow(struct table_code *code)
{
	struct stack_flow *flow = &code->flow;
	int r = stack_flow_init(flow);

	if (r < 0)
		return r;
	r = stack_flow_add(flow, code->file->entry);
	if (r < 0)
		return r;
	r = add_main(code);
	if (r < 0)
		return r;
	for (size_t i = 0; i < code->file->n_sections; i++) {
		const Elf64_Shdr *section = &code->file->sections[i];

		if (section->sh_type == SHT_SYMTAB || section->sh_type == SHT_DYNSYM)
			r = read_symbols(code, section);
		else if (section->sh_type == SHT_PROGBITS && (section->sh_flags & SHF_EXECINSTR))
			r = add_stubs(code, section);
		if (r < 0)
			return r;
	}
	return flow_run(flow);
}

int table_code_run(struct table_code *code, unwind_yield_fn yield, void *context)
{
	struct stack_flow *flow = &code->flow;
	int r;

	if (!code->n_ranges)
		return 0;
	flow->code = code->bytes;
	flow->ranges = code->ranges;
	flow->n_ranges = code->n_ranges;
	/* If call frame information covers most of the file, the rest is mostly data. */
	flow->guesses = code->is_most ? flow->n : FEW_GUESSES;
	flow->is_assembly = !code->is_most;
	flow->yield = yield;
	flow->context = context;
	r = follow(code);
	if (!flow->n_functions)
		code->n_ranges = 0;
	free_code(code);
	return r;
}

/* Writes the rows of @range. */
static int write_range(const struct table_code *code, struct table_writer *writer,
		       const struct flow_range *range)
{
	uint32_t at = range->at, end = at + range->n;

	for (; at < end; at = stack_flow_next(&code->flow, at, end)) {
		const struct stack_state *state = stack_flow_state(&code->flow, at);
		struct bf_rule rule = state ? stack_rule(state) : (struct bf_rule){};
		uint64_t offset = range->offset + (at - range->at);
		int r = rule.cfa != BF_CFA_NONE ? table_writer_row(writer, offset, &rule)
						: table_writer_gap(writer, offset);

		if (r < 0)
			return r;
	}
	return table_writer_gap(writer, range->offset + range->n);
}

int table_code_write(struct table_code *code, struct table_writer *writer, uint64_t from,
		     uint64_t to)
{
	while (code->next < code->n_ranges && code->ranges[code->next].offset < from)
		code->next++;
	while (code->next < code->n_ranges && code->ranges[code->next].offset < to) {
		int r = write_range(code, writer, &code->ranges[code->next++]);

		if (r < 0 && r != -ENOSPC)
			return r;
	}
	return 0;
}
