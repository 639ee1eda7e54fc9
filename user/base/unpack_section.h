/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * unpack_section: unpacks a compressed section of an ELF file. Reads the packed bytes piece by
 * piece, and gives no more than the caller allows.
 */
#ifndef BASE_UNPACK_SECTION_H
#define BASE_UNPACK_SECTION_H

#include "base/elf_file.h"

/* The packed bytes: @n of @file from @offset on. */
struct packed {
	const struct elf_file *file;
	uint64_t offset, n;
};

/*
 * Fill @to with exactly @size bytes from a zlib stream or Zstandard frames.
 * Errors: -ENOEXEC damaged, or fewer bytes; -ENOMEM; read errors.
 */
int unpack_zlib(struct packed packed, uint8_t *to, size_t size);
int unpack_zstd(struct packed packed, uint8_t *to, size_t size);

/*
 * Gives the contents of an .xz file, malloc'ed. Errors: -ENOEXEC damaged; -EFBIG more than @limit;
 * -ENOMEM; read errors.
 */
int unpack_xz(struct packed packed, size_t limit, uint8_t **ret, size_t *ret_n);

#endif
