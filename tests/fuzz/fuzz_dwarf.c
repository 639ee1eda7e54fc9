/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libFuzzer: any bytes as sections of DWARF, so that none is spent on ELF headers. The input is the
 * sections in the order of the list below, each preceded by its length in 2 bytes. Must not crash,
 * hang or grow; every frame must be complete.
 */
#include <stdlib.h>
#include <string.h>

#include "symbol/dwarf_frames.h"

#define N_SECTIONS 9
#define NAMES_SIZE 256
#define N_LOOKUPS  64
#define CODE	   0x401000 /* where the linker puts it */

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static const char *const names[N_SECTIONS] = {
	".debug_info",	 ".debug_abbrev",   ".debug_str",  ".debug_str_offsets", ".debug_addr",
	".debug_ranges", ".debug_rnglists", ".debug_line", ".debug_line_str",
};

/* An ELF image with valid headers and the input's sections. */
static uint8_t *make_image(const uint8_t *bytes, size_t n, size_t *ret_n)
{
	const size_t headers = sizeof(Elf64_Ehdr) + (N_SECTIONS + 2) * sizeof(Elf64_Shdr);
	uint8_t *image = calloc(1, headers + NAMES_SIZE + n);
	Elf64_Ehdr *elf = (Elf64_Ehdr *)image;
	Elf64_Shdr *section = (Elf64_Shdr *)(elf + 1);
	char *text = (char *)image + headers;
	size_t name = 1, at = headers + NAMES_SIZE;

	if (!image)
		abort();
	memcpy(elf->e_ident, ELFMAG, SELFMAG);
	elf->e_ident[EI_CLASS] = ELFCLASS64;
	elf->e_ident[EI_DATA] = ELFDATA2LSB;
	elf->e_machine = EM_X86_64;
	elf->e_shoff = sizeof *elf;
	elf->e_shentsize = sizeof *section;
	elf->e_shnum = N_SECTIONS + 2;
	elf->e_shstrndx = 1;
	section[1] =
		(Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_offset = headers, .sh_size = NAMES_SIZE};
	for (size_t i = 0; i < N_SECTIONS && n >= 2; i++) {
		size_t size = bytes[0] | bytes[1] << 8;

		bytes += 2;
		n -= 2;
		if (size > n)
			size = n;
		section[i + 2] = (Elf64_Shdr){
			.sh_name = name, .sh_type = SHT_PROGBITS, .sh_offset = at, .sh_size = size};
		memcpy(image + at, bytes, size);
		strcpy(text + name, names[i]);
		name += strlen(names[i]) + 1;
		at += size;
		bytes += size;
		n -= size;
	}
	*ret_n = at;
	return image;
}

static void check(const struct dwarf_frames *frames, const struct strings *strings)
{
	for (size_t i = 0; i < N_LOOKUPS; i++)
		if (frames->first[i] + frames->n[i] > frames->n_frames)
			abort();
	for (size_t i = 0; i < frames->n_frames; i++)
		if (frames->frames[i].function >= strings->n_strings ||
		    frames->frames[i].file >= strings->n_strings)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	uint64_t addresses[N_LOOKUPS];
	uint32_t found[N_LOOKUPS] = {};
	struct lookups lookups = {addresses, found, N_LOOKUPS};
	struct dwarf_frames frames;
	struct strings strings;
	struct dwarf *dwarf;
	struct elf_file file;
	size_t image_n;
	uint8_t *image = make_image(bytes, n, &image_n);
	bool damaged;

	for (size_t i = 0; i < N_LOOKUPS; i++)
		addresses[i] = CODE + 7 * i;
	if (strings_init(&strings) < 0 || elf_file_open_image(&file, image, image_n) < 0)
		abort();
	if (dwarf_open(&dwarf, &file, CODE) == 0) {
		/* Its own sections serve as those that dwz moved out. */
		dwarf->alternate = dwarf;
		if (dwarf_frames_find(dwarf, &lookups, true, &strings, &frames, &damaged) < 0)
			abort();
		check(&frames, &strings);
		dwarf_frames_done(&frames);
		dwarf_free(dwarf);
	}
	elf_file_done(&file);
	strings_done(&strings);
	free(image);
	return 0;
}
