/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * made_cfi: call frame information written by hand, byte for byte, and an ELF file around it.
 *
 * Code begins at CODE_OFFSET and is mapped CODE_SHIFT higher, so that a test notices when offsets
 * and addresses are mixed up. The sections are in data, which is not executable.
 */
#ifndef TESTS_MADE_CFI_H
#define TESTS_MADE_CFI_H

#include <dwarf.h>
#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/elf_file.h"

#define CODE_OFFSET 0x1000
#define CODE_SHIFT  0x400000
#define CODE_SIZE   (9u << 20)
#define CODE_END    (CODE_OFFSET + CODE_SIZE)
#define DATA_SHIFT  0x2000000
#define DATA_SIZE   (40u << 20)
#define POINTERS    CODE_END		/* what indirect addresses point at */
#define SECTIONS    (CODE_END + 0x1000) /* where the sections begin */
#define TEXT_BASE   (CODE_OFFSET + CODE_SHIFT)
#define GOT_BASE    (POINTERS + DATA_SHIFT)

/* Indexes of sections in the section header table. */
enum made_section { MADE_NONE, MADE_EH, MADE_DEBUG, MADE_TEXT, MADE_GOT, MADE_NAMES, N_MADE };

struct made {
	uint8_t *bytes; /* of the file */
	Elf64_Ehdr *header;
	Elf64_Phdr *segments;
	Elf64_Shdr *sections;
	size_t n;     /* of bytes; the next byte goes here */
	size_t entry; /* the length of the entry being written */
	bool is_64;
	enum made_section section;
	uint8_t encoding; /* of the last CIE */
	bool has_sizes;	  /* of the last CIE */
	uint8_t address_size;
	size_t cie;
};

static struct made made;

static void put(const void *bytes, size_t n)
{
	memcpy(made.bytes + made.n, bytes, n);
	made.n += n;
}

#define OPS(...) put((const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static inline void put_number(uint64_t value, size_t size)
{
	put(&value, size);
}

static inline void put_uleb(uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		OPS(value | 0x80);
	OPS(value);
}

static inline void put_sleb(int64_t value)
{
	for (; value < -64 || value > 63; value >>= 7)
		OPS(value | 0x80);
	OPS(value & 0x7f);
}

static void made_begin(uint16_t machine)
{
	static const char names[] = "\0.eh_frame\0.debug_frame\0.text\0.got\0.shstrtab";

	made = (struct made){.bytes = calloc(1, SECTIONS + DATA_SIZE)};
	made.header = (Elf64_Ehdr *)made.bytes;
	*made.header = (Elf64_Ehdr){
		.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = machine,
		.e_version = EV_CURRENT,
		.e_phoff = 0x100,
		.e_shoff = 0x400,
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 2,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = N_MADE,
		.e_shstrndx = MADE_NAMES,
	};
	made.segments = (Elf64_Phdr *)(made.bytes + 0x100);
	made.segments[0] = (Elf64_Phdr){PT_LOAD,   PF_R | PF_X, CODE_OFFSET, TEXT_BASE,
					TEXT_BASE, CODE_SIZE,	CODE_SIZE,   0x1000};
	made.segments[1] = (Elf64_Phdr){PT_LOAD,  PF_R | PF_W, POINTERS,  GOT_BASE,
					GOT_BASE, DATA_SIZE,   DATA_SIZE, 0x1000};
	made.sections = (Elf64_Shdr *)(made.bytes + 0x400);
	made.sections[MADE_EH] = (Elf64_Shdr){.sh_name = 1, .sh_type = SHT_NULL};
	made.sections[MADE_DEBUG] = (Elf64_Shdr){.sh_name = 11, .sh_type = SHT_NULL};
	made.sections[MADE_TEXT] = (Elf64_Shdr){.sh_name = 24,
						.sh_type = SHT_PROGBITS,
						.sh_addr = TEXT_BASE,
						.sh_offset = CODE_OFFSET,
						.sh_size = CODE_SIZE};
	made.sections[MADE_GOT] = (Elf64_Shdr){.sh_name = 30,
					       .sh_type = SHT_PROGBITS,
					       .sh_addr = GOT_BASE,
					       .sh_offset = POINTERS,
					       .sh_size = 0x1000};
	made.sections[MADE_NAMES] = (Elf64_Shdr){
		.sh_name = 35, .sh_type = SHT_STRTAB, .sh_offset = 0x800, .sh_size = sizeof names};
	memcpy(made.bytes + 0x800, names, sizeof names);
	made.n = SECTIONS;
}

static void made_done(void)
{
	free(made.bytes);
	made = (struct made){};
}

/* Appends to @section until made_end_section(). */
static void made_begin_section(enum made_section section)
{
	made.section = section;
	made.n = (made.n + 7) & ~(size_t)7;
	made.sections[section].sh_type = SHT_PROGBITS;
	made.sections[section].sh_offset = made.n;
	/* .debug_frame is not mapped. */
	if (section == MADE_EH)
		made.sections[section].sh_addr = made.n + DATA_SHIFT;
}

static void made_end_section(void)
{
	made.sections[made.section].sh_size = made.n - made.sections[made.section].sh_offset;
}

static void begin_entry(void)
{
	if (made.is_64)
		put_number(UINT32_MAX, 4);
	made.entry = made.n;
	put_number(0, made.is_64 ? 8 : 4);
}

static void end_entry(void)
{
	size_t size = made.is_64 ? 8 : 4;
	uint64_t n = made.n - made.entry - size;

	memcpy(made.bytes + made.entry, &n, size);
}

struct made_cie {
	const char *augmentation; /* NULL: "zR", or none in .debug_frame */
	uint8_t version;	  /* 0: 1 */
	uint8_t encoding;	  /* 0: pcrel, sdata4; PE_ABSPTR needs no R */
	uint8_t code_factor;	  /* 0: 1 */
	uint8_t ra;		  /* 0: the machine's */
	uint8_t address_size;	  /* 0: 8 */
	uint8_t segment_size;	  /* of version 4 */
	bool bare;		  /* without the usual rules */
	bool no_data;		  /* the augmentation's data is missing */
};

/* A CIE's header. Writes augmentation data for the letters known here. */
static void begin_cie(struct made_cie cie)
{
	bool is_debug = made.section == MADE_DEBUG, is_arm = made.header->e_machine == EM_AARCH64;
	const char *augmentation = cie.augmentation ? cie.augmentation : is_debug ? "" : "zR";
	uint8_t data[32], n = 0;

	made.cie = made.n;
	made.has_sizes = *augmentation == 'z';
	made.encoding = DW_EH_PE_absptr;
	made.address_size = cie.address_size ? cie.address_size : 8;
	begin_entry();
	put_number(is_debug ? UINT64_MAX : 0, is_debug && made.is_64 ? 8 : 4);
	OPS(cie.version ? cie.version : 1);
	put(augmentation, strlen(augmentation) + 1);
	if (cie.version == 4)
		OPS(made.address_size, cie.segment_size);
	put_uleb(cie.code_factor ? cie.code_factor : is_arm ? 4 : 1);
	put_sleb(-8);
	if (cie.version >= 3)
		put_uleb(cie.ra ? cie.ra : is_arm ? 30 : 16);
	else
		OPS(cie.ra ? cie.ra : is_arm ? 30 : 16);
	for (; *augmentation; augmentation++) {
		if (*augmentation == 'R') {
			made.encoding =
				cie.encoding ? cie.encoding : DW_EH_PE_pcrel | DW_EH_PE_sdata4;
			data[n++] = made.encoding;
		} else if (*augmentation == 'L') {
			data[n++] = DW_EH_PE_udata4;
		} else if (*augmentation == 'P') {
			data[n++] = DW_EH_PE_indirect | DW_EH_PE_udata4;
			n += 4;
		}
	}
	if (made.has_sizes) {
		if (cie.no_data) {
			made.encoding = DW_EH_PE_absptr;
			n = 0;
		}
		put_uleb(n);
		put(data, n);
	}
	if (cie.bare)
		return;
	if (is_arm)
		OPS(DW_CFA_def_cfa, 31, 0);
	else
		OPS(DW_CFA_def_cfa, 7, 8, DW_CFA_offset | 16, 1);
}

static void put_cie(struct made_cie cie)
{
	begin_cie(cie);
	end_entry();
}

static void put_sized(uint64_t value, uint8_t encoding)
{
	switch (encoding & 0x0f) {
	case DW_EH_PE_absptr: put_number(value, made.address_size); break;
	case DW_EH_PE_uleb128: put_uleb(value); break;
	case DW_EH_PE_sleb128: put_sleb(value); break;
	case DW_EH_PE_udata2:
	case DW_EH_PE_sdata2: put_number(value, 2); break;
	case DW_EH_PE_udata4:
	case DW_EH_PE_sdata4: put_number(value, 4); break;
	default: put_number(value, 8);
	}
}

/* Writes @address in the encoding of the last CIE. */
static void put_address(uint64_t address)
{
	static size_t n_pointers;
	uint64_t base = 0;

	if (made.encoding & DW_EH_PE_indirect) {
		size_t at = n_pointers++ % 64 * 8;

		memcpy(made.bytes + POINTERS + at, &address, sizeof address);
		address = POINTERS + DATA_SHIFT + at;
	}
	switch (made.encoding & 0x70) {
	case DW_EH_PE_pcrel: base = made.n + DATA_SHIFT; break;
	case DW_EH_PE_textrel: base = TEXT_BASE; break;
	case DW_EH_PE_datarel: base = GOT_BASE; break;
	case DW_EH_PE_aligned:
		while (made.n % 8)
			OPS(0);
	}
	put_sized(address - base, made.encoding);
}

/*
 * Begins an FDE of the last CIE, for the code at file offset @offset; the caller adds its program.
 */
static void begin_fde(uint64_t offset, uint64_t size)
{
	begin_entry();
	if (made.section == MADE_DEBUG)
		put_number(made.cie - made.sections[MADE_DEBUG].sh_offset, made.is_64 ? 8 : 4);
	else
		put_number(made.n - made.cie, 4);
	put_address(offset + CODE_SHIFT);
	put_sized(size, made.encoding);
	if (made.has_sizes)
		OPS(0);
}

#define FDE(offset, size, ...)                                                                     \
	do {                                                                                       \
		begin_fde(offset, size);                                                           \
		OPS(__VA_ARGS__);                                                                  \
		end_entry();                                                                       \
	} while (0)

#endif
