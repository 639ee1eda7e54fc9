/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * elf_file: reads the parts of an ELF file that naming addresses needs.
 *
 * The file belongs to somebody else, who may have made it to do harm or may be truncating it now.
 * So it is never mapped (a shrinking file would be SIGBUS) but read, piece by piece, each checked
 * against the size first: a 100 MB binary costs some 100 KB of memory. Headers are widened to their
 * 64-bit form; byte order must be the host's.
 *
 * A 64-bit file without section headers, as sstrip leaves it, gets sections made from the program
 * headers: its code, SHT_DYNSYM and its SHT_STRTAB. They have no names.
 */
#ifndef BASE_ELF_FILE_H
#define BASE_ELF_FILE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ELF_BUILD_ID_MAX 64

struct elf_file {
	int fd; /* the caller's; -1: read @image */
	const uint8_t *image;
	uint64_t size;

	bool is_32;
	uint16_t machine;
	uint64_t entry; /* address of the first instruction; 0: none */
	Elf64_Phdr *segments;
	size_t n_segments;
	Elf64_Shdr *sections;
	size_t n_sections;
	uint32_t names_section;

	/* The last strings read: their neighbours are often needed next. */
	uint64_t window_offset;
	size_t window_n;
	char *window;
};

/*
 * Reads the headers of @fd, which must be a regular file, or of an image in memory. Either must
 * outlive @ret. Errors: -ENOEXEC not ELF, damaged, or of another byte order; -ENOMEM; read errors.
 */
int elf_file_open(struct elf_file *ret, int fd);
int elf_file_open_image(struct elf_file *ret, const void *image, uint64_t size);
/* The vDSO of this process, which the kernel also maps into all others. Errors: -ENOENT none. */
int elf_file_open_vdso(struct elf_file *ret);
void elf_file_done(struct elf_file *file);

/*
 * The processor that the file @fd is for, and its word size: a number that is the same for
 * files of one kind. Errors: -ENOEXEC it is no ELF file.
 */
int elf_file_kind(int fd);
#define ELF_KIND(machine, class) ((machine) << 8 | (class))

/* Whether @fd begins like an ELF file: executable mappings need not be programs. */
bool elf_file_is_elf(int fd);

/* Reads exactly @n bytes. Errors: -ENOEXEC if the file is shorter; read errors. */
int elf_file_read(const struct elf_file *file, uint64_t offset, void *buffer, size_t n);

/*
 * Copies the string at @offset of string table @section, cut to @size - 1 bytes.
 * Errors: -ENOEXEC for no such section or offset, or a string without an end.
 */
int elf_file_string(struct elf_file *file, uint32_t section, uint64_t offset, char *buffer,
		    size_t size);

/* The first section of this name, or NULL. */
const Elf64_Shdr *elf_file_section(struct elf_file *file, const char *name);

/* The section of code that holds virtual address @address, or NULL. */
const Elf64_Shdr *elf_file_code_section(const struct elf_file *file, uint64_t address);

/*
 * The file offset of virtual address @address, and the number of bytes, at least one, from there to
 * the end of the file's part of the segment. Returns false if the file has none.
 */
bool elf_file_offset(const struct elf_file *file, uint64_t address, uint64_t *ret_offset,
		     uint64_t *ret_n);

/*
 * The address where file offset @offset is loaded, preferably as code. Returns false if it is not.
 */
bool elf_file_virtual_address(const struct elf_file *file, uint64_t offset, uint64_t *ret_address);

/* The GNU build-id as in the file. Returns its length; 0: none. */
size_t elf_file_build_id(const struct elf_file *file, uint8_t id[static ELF_BUILD_ID_MAX]);

#endif
