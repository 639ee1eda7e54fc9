/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libFuzzer: any bytes as call frame information, or as a file with it. The table must be safe for
 * the BPF programs, and no larger than its source allows.
 *
 *	clang -g -O1 -fsanitize=fuzzer,address,undefined -D_GNU_SOURCE -I. -Iuser \
 *		tests/fuzz/fuzz_unwind.c user/unwind/cfi.c user/unwind/cfi_program.c \
 *		user/unwind/table.c user/unwind/table_part.c user/base/elf_file.c
 *
 * The first byte gives the kind of the others: see enum kind. Seeds:
 *
 *	{ printf '\000'; cat FILE; } >corpus/file
 *	objcopy -O binary --only-section=.eh_frame FILE section
 *	{ printf '\001'; cat section; } >corpus/section
 */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/check_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

enum kind { FILE_IMAGE, EH_X86_64, EH_AARCH64, DEBUG_X86_64, DEBUG_AARCH64, N_KINDS };

#define CODE_OFFSET	0x1000
#define CODE_ADDRESS	0
#define SECTION_ADDRESS 0x300000 /* with code around it, as in real files */
#define CODE_SIZE	0x5ff000 /* one and a half parts of a table */
#define DATA_OFFSET	(CODE_OFFSET + CODE_SIZE)
#define MAX_SECTION	(1 << 20)

struct headers {
	Elf64_Ehdr header;
	Elf64_Phdr segment;
	Elf64_Shdr sections[3];
	char names[32];
};

static uint8_t image[DATA_OFFSET + MAX_SECTION];

/* A file around the section. */
static size_t wrap(enum kind kind, const uint8_t *bytes, size_t n)
{
	bool is_debug = kind >= DEBUG_X86_64;
	struct headers *headers = (struct headers *)image;

	n = n < MAX_SECTION ? n : MAX_SECTION;
	*headers = (struct headers){
		.header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			   .e_machine = kind == EH_X86_64 || kind == DEBUG_X86_64 ? EM_X86_64
										  : EM_AARCH64,
			   .e_phoff = offsetof(struct headers, segment),
			   .e_shoff = offsetof(struct headers, sections),
			   .e_phentsize = sizeof(Elf64_Phdr),
			   .e_phnum = 1,
			   .e_shentsize = sizeof(Elf64_Shdr),
			   .e_shnum = 3,
			   .e_shstrndx = 2},
		.segment = {PT_LOAD, PF_R | PF_X, CODE_OFFSET, CODE_ADDRESS, 0, CODE_SIZE},
		.sections = {{0},
			     {.sh_name = 1,
			      .sh_type = SHT_PROGBITS,
			      .sh_addr = SECTION_ADDRESS,
			      .sh_offset = DATA_OFFSET,
			      .sh_size = n},
			     {.sh_type = SHT_STRTAB,
			      .sh_offset = offsetof(struct headers, names),
			      .sh_size = sizeof headers->names}},
	};
	strcpy(headers->names + 1, is_debug ? ".debug_frame" : ".eh_frame");
	memcpy(image + DATA_OFFSET, bytes, n);
	return DATA_OFFSET + n;
}

static void check(const struct unwind_table *table, size_t n)
{
	const char *error = check_table(table);
	size_t words = 0;

	for (uint32_t i = 0; i < table->n_parts; i++)
		words += table->parts[i].n_words;
	if (!error && words * 4 > 12 * n + (9 << 20))
		error = "a table much larger than its source";
	if (error) {
		fprintf(stderr, "%s\n", error);
		abort();
	}
	for (uint64_t offset = 0; offset < DATA_OFFSET + 0x2000; offset += 32749)
		unwind_table_find(table, offset);
}

static void build(const uint8_t *bytes, size_t n)
{
	struct unwind_table table;
	struct elf_file file;

	if (elf_file_open_image(&file, bytes, n) < 0)
		return;
	if (unwind_table_build(&file, &table) == 0) {
		check(&table, n);
		unwind_table_done(&table);
	}
	elf_file_done(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	enum kind kind;

	if (!n)
		return 0;
	kind = *bytes++ % N_KINDS;
	n--;
	if (kind == FILE_IMAGE)
		build(bytes, n);
	else
		build(image, wrap(kind, bytes, n));
	return 0;
}
