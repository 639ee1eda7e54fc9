/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * elf_plt: names the stubs through which a file calls functions of other files.
 *
 * Stubs have no symbols, but are in the order of their relocations in .rela.plt, all of one size,
 * after a header; .plt.sec (x86 with IBT) has no header. If the sizes don't add up, nothing is
 * named. x86 linkers deviate from that order for functions chosen at load time (IFUNC), so there
 * the stub's jump must agree. 64-bit x86 and Arm only: other stubs have other layouts.
 */
#include <errno.h>
#include <string.h>

#include "symbol/demangle.h"
#include "symbol/elf_symbols.h"

struct stubs {
	uint64_t start, offset, size, n; /* @offset: in the file */
	const Elf64_Shdr *relocations, *symbols;
};

static bool find_stubs(struct elf_file *file, struct stubs *ret)
{
	const Elf64_Shdr *plt, *relocations;
	uint64_t header, n, size;

	if (file->is_32 || (file->machine != EM_X86_64 && file->machine != EM_AARCH64))
		return false;
	relocations = elf_file_section(file, ".rela.plt");
	plt = elf_file_section(file, ".plt.sec");
	header = plt ? 0 : file->machine == EM_AARCH64 ? 32 : 16;
	if (!plt)
		plt = elf_file_section(file, ".plt");
	if (!plt || !relocations || relocations->sh_entsize != sizeof(Elf64_Rela) ||
	    relocations->sh_link >= file->n_sections || plt->sh_size < header)
		return false;
	n = relocations->sh_size / sizeof(Elf64_Rela);
	size = plt->sh_size - header;
	if (!n || size % n || (size / n != 16 && size / n != 24))
		return false;
	*ret = (struct stubs){plt->sh_addr + header, plt->sh_offset + header, size / n, n};
	ret->relocations = relocations;
	ret->symbols = &file->sections[relocations->sh_link];
	return true;
}

/* Whether x86 stub @index jumps through the pointer at @slot: `jmp *disp32(%rip)`. */
static bool jumps_through(const struct elf_file *file, const struct stubs *stubs, uint64_t index,
			  uint64_t slot)
{
	uint8_t code[24];
	int32_t displacement;

	if (elf_file_read(file, stubs->offset + index * stubs->size, code, stubs->size) < 0)
		return false;
	for (size_t i = 0; i + 6 <= stubs->size; i++) {
		if (code[i] != 0xff || code[i + 1] != 0x25)
			continue;
		memcpy(&displacement, code + i + 2, sizeof displacement);
		if (stubs->start + index * stubs->size + i + 6 + displacement == slot)
			return true;
	}
	return false;
}

static int add_name(struct elf_file *file, const struct stubs *stubs, uint64_t index,
		    struct strings *strings, uint32_t *ret_id)
{
	char name[1024], text[DEMANGLED_SIZE + sizeof "@plt"];
	Elf64_Rela relocation;
	size_t n;

	if (elf_file_read(file, stubs->relocations->sh_offset + index * sizeof relocation,
			  &relocation, sizeof relocation) < 0)
		return 0;
	if (file->machine == EM_X86_64 && !jumps_through(file, stubs, index, relocation.r_offset))
		return 0;
	if (elf_symbols_read(file, stubs->symbols, ELF64_R_SYM(relocation.r_info), name,
			     sizeof name) < 0 ||
	    !*name)
		return 0;
	n = demangle(name, text);
	memcpy(text + n, "@plt", sizeof "@plt");
	return strings_add(strings, text, ret_id);
}

int elf_plt_resolve(struct elf_file *file, struct lookups *lookups, struct strings *strings)
{
	struct stubs stubs;

	if (!find_stubs(file, &stubs))
		return 0;
	lookups_cut(lookups, stubs.start);
	for (size_t i = lookups_lower_bound(lookups, stubs.start); i < lookups->n; i++) {
		uint64_t index = (lookups->addresses[i] - stubs.start) / stubs.size;
		int r;

		if (index >= stubs.n)
			break;
		lookups_cut(lookups, stubs.start + index * stubs.size);
		lookups_cut(lookups, stubs.start + (index + 1) * stubs.size);
		if (lookups->names[i])
			continue;
		r = add_name(file, &stubs, index, strings, &lookups->names[i]);
		if (r < 0)
			return r;
	}
	lookups_cut(lookups, stubs.start + stubs.n * stubs.size);
	return 0;
}
