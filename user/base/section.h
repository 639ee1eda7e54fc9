/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * section: the bytes of one section of an ELF file, compressed or not.
 *
 * A plain section is read through a window of some KB, whatever its size. A compressed one can only
 * be read from the front, so it is unpacked whole at the first access; the caller limits the total
 * for all sections of a file.
 */
#ifndef BASE_SECTION_H
#define BASE_SECTION_H

#include "base/elf_file.h"

/* The largest view of a plain section. */
#define SECTION_VIEW_MAX (4u << 20)

enum packing {
	PACKING_NONE,
	PACKING_ZLIB,
	PACKING_ZSTD,
	PACKING_UNKNOWN,
};

struct section {
	const struct elf_file *file; /* NULL: there is no such section */
	uint64_t size;		     /* unpacked */
	uint64_t offset, stored;     /* in the file: where, and how much, packed or not */
	enum packing packing;
	uint64_t *room; /* bytes that may still be unpacked; shared */
	uint8_t *unpacked;

	uint64_t window_offset;
	size_t window_n, window_capacity;
	uint8_t *window;
};

/*
 * Sets *@ret to the section of @header; @is_zdebug: an old-style compressed section, `.zdebug_*`.
 * Reads only the head of a compressed section. @file and @room must outlive it. Errors: -ENOEXEC if
 * it is not within the file, its head is damaged, or it is packed so well that it was made to fill
 * memory; read errors.
 */
int section_open(struct section *ret, const struct elf_file *file, const Elf64_Shdr *header,
		 bool is_zdebug, uint64_t *room);
void section_done(struct section *section);

/*
 * The @n bytes at @offset, or fewer at the section's end; *@ret_n is their number, at least one.
 * They stay valid until the next view of the section. Errors: -ENOEXEC past the end, damaged, or
 * more than SECTION_VIEW_MAX; -EFBIG no room to unpack it; -ENOMEM; read errors.
 */
int section_view(struct section *section, uint64_t offset, size_t n, const uint8_t **ret_bytes,
		 size_t *ret_n);

/*
 * All @n bytes at @offset, however many, in the section or in *@buffer, which grows. They stay
 * valid until either changes. Errors: as above.
 */
int section_load(struct section *section, uint64_t offset, size_t n, uint8_t **buffer,
		 size_t *capacity, const uint8_t **ret_bytes);

/* The number of @n bytes at @offset. Errors: as above. */
int section_number(struct section *section, uint64_t offset, size_t n, uint64_t *ret);

/* Copies the string at @offset, cut to @size - 1 bytes. Errors: as above; -ENOEXEC: no end. */
int section_string(struct section *section, uint64_t offset, char *buffer, size_t size);

#endif
