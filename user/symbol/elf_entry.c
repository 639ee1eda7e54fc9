/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * elf_entry: names the functions where threads begin, for which stripped files have no symbol: the
 * file's entry point is `_start`, and the code after the system call that makes a thread is libc's
 * `clone3` or `clone`. So every stack has a meaningful root.
 */
#include <errno.h>
#include <string.h>

#include "symbol/elf_symbols.h"

#define START_SIZE 64 /* bytes: _start() is shorter in every libc */
#define CLONE_SIZE 96 /* bytes from the system call on: what the new thread runs before its own code */
#define MOST_CODE  (1024 + CLONE_SIZE)

struct call {
	uint16_t machine;
	uint8_t code[8], n;
	const char *name;
};

/* Loading the system call's number, and the call. */
static const struct call calls[] = {
	{EM_X86_64, {0xb8, 0xb3, 0x01, 0x00, 0x00, 0x0f, 0x05}, 7, "clone3"},
	{EM_X86_64, {0xb8, 0x38, 0x00, 0x00, 0x00, 0x0f, 0x05}, 7, "clone"},
	{EM_AARCH64, {0x68, 0x36, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4}, 8, "clone3"},
	{EM_AARCH64, {0x88, 0x1b, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4}, 8, "clone"},
};

/* The call among the @most bytes before @address, or NULL. */
static const char *clone_before(const struct elf_file *file, uint64_t address, size_t most)
{
	const Elf64_Shdr *section = elf_file_code_section(file, address);
	uint8_t code[MOST_CODE];
	uint64_t within = section ? address - section->sh_addr : 0;
	size_t n = within < most ? within : most;

	if (!section || section->sh_type == SHT_NOBITS ||
	    elf_file_read(file, section->sh_offset + within - n, code, n) < 0)
		return NULL;
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
		if (calls[i].machine == file->machine && memmem(code, n, calls[i].code, calls[i].n))
			return calls[i].name;
	return NULL;
}

bool elf_entry_is_near(const struct elf_file *file, uint64_t from, uint64_t to)
{
	size_t n = to - 1 - from + CLONE_SIZE;

	return n > MOST_CODE || clone_before(file, to - 1, n);
}

int elf_entry_resolve(struct elf_file *file, struct lookups *lookups, struct strings *strings)
{
	lookups_cut(lookups, file->entry);
	lookups_cut(lookups, file->entry + START_SIZE);
	for (size_t i = 0; i < lookups->n; i++) {
		const char *name = NULL;
		int r;

		if (lookups->names[i])
			continue;
		if (file->entry && lookups->addresses[i] - file->entry < START_SIZE)
			name = "_start";
		else
			name = clone_before(file, lookups->addresses[i], CLONE_SIZE);
		r = name ? strings_add(strings, name, &lookups->names[i]) : 0;
		if (r < 0)
			return r;
	}
	return 0;
}
