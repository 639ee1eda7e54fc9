/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/section.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/unpack_section.h"

#define SMALL	  (1u << 20) /* bytes: harmless, however well they are packed */
#define MAX_RATIO 64 /* debug information packs to a fifth, long tables to a twentieth */

#define WINDOW_SIZE   8192
#define STRING_GLANCE 256 /* most strings end within it */
/* Values of ch_type; older elf.h don't have the second. */
#define PACKED_ZLIB 1
#define PACKED_ZSTD 2

/* Skips the head of @n bytes that a compressed section begins with. */
static int step_over_head(struct section *section, void *head, size_t n)
{
	if (section->stored < n)
		return -ENOEXEC;
	section->offset += n;
	section->stored -= n;
	return elf_file_read(section->file, section->offset - n, head, n);
}

static int read_head(struct section *section)
{
	bool is_32 = section->file->is_32;
	union {
		Elf32_Chdr narrow;
		Elf64_Chdr wide;
	} head;
	uint32_t type;
	int r = step_over_head(section, &head, is_32 ? sizeof head.narrow : sizeof head.wide);

	if (r < 0)
		return r;
	type = is_32 ? head.narrow.ch_type : head.wide.ch_type;
	section->size = is_32 ? head.narrow.ch_size : head.wide.ch_size;
	section->packing = type == PACKED_ZLIB	 ? PACKING_ZLIB
			   : type == PACKED_ZSTD ? PACKING_ZSTD
						 : PACKING_UNKNOWN;
	return 0;
}

/* "ZLIB" and the size, most significant byte first. The file may hold plain bytes nevertheless. */
static int read_old_head(struct section *section)
{
	uint8_t head[12];
	int r = step_over_head(section, head, sizeof head);

	if (r < 0)
		return r;
	if (memcmp(head, "ZLIB", 4) != 0) {
		section->offset -= sizeof head;
		section->stored += sizeof head;
		return 0;
	}
	section->packing = PACKING_ZLIB;
	section->size = 0;
	for (size_t i = 4; i < sizeof head; i++)
		section->size = section->size << 8 | head[i];
	return 0;
}

int section_open(struct section *ret, const struct elf_file *file, const Elf64_Shdr *header,
		 bool is_zdebug, uint64_t *room)
{
	struct section section = {
		.file = file,
		.size = header->sh_size,
		.offset = header->sh_offset,
		.stored = header->sh_size,
		.room = room,
	};
	int r = 0;

	if (header->sh_offset > file->size || header->sh_size > file->size - header->sh_offset)
		return -ENOEXEC;
	if (header->sh_flags & SHF_COMPRESSED)
		r = read_head(&section);
	else if (is_zdebug)
		r = read_old_head(&section);
	if (r < 0)
		return r;
	/* It was made to fill our memory. */
	if (section.packing != PACKING_NONE && section.size > SMALL &&
	    section.size / MAX_RATIO > section.stored)
		return -ENOEXEC;
	*ret = section;
	return 0;
}

void section_done(struct section *section)
{
	free(section->unpacked);
	free(section->window);
	*section = (struct section){};
}

static int unpack(struct section *section)
{
	struct packed packed = {section->file, section->offset, section->stored};
	uint8_t *bytes;
	int r;

	/* The room is used up permanently: a damaged section is not unpacked again and again. */
	if (section->packing == PACKING_UNKNOWN)
		return -ENOEXEC;
	if (section->size > *section->room)
		return -EFBIG;
	*section->room -= section->size;
	bytes = malloc(section->size);
	if (!bytes)
		return -EFBIG;
	r = section->packing == PACKING_ZLIB ? unpack_zlib(packed, bytes, section->size)
					     : unpack_zstd(packed, bytes, section->size);
	if (r < 0) {
		free(bytes);
		section->packing = PACKING_UNKNOWN;
		return r;
	}
	section->unpacked = bytes;
	return 0;
}

/* Unpacks a packed section; returns whether @offset is in it. */
static int prepare(struct section *section, uint64_t offset)
{
	if (offset >= section->size)
		return -ENOEXEC;
	if (section->packing == PACKING_NONE || section->unpacked)
		return 0;
	return unpack(section);
}

static int fill_window(struct section *section, uint64_t offset, size_t n)
{
	uint64_t left = section->size - offset;
	int r;

	if (n < WINDOW_SIZE)
		n = left < WINDOW_SIZE ? left : WINDOW_SIZE;
	r = array_reserve(section->window, section->window_capacity, 0, n);
	if (r < 0)
		return r;
	section->window_n = 0;
	r = elf_file_read(section->file, section->offset + offset, section->window, n);
	if (r < 0)
		return r;
	section->window_offset = offset;
	section->window_n = n;
	return 0;
}

int section_view(struct section *section, uint64_t offset, size_t n, const uint8_t **ret_bytes,
		 size_t *ret_n)
{
	int r = prepare(section, offset);

	if (r < 0)
		return r;
	if (n > section->size - offset)
		n = section->size - offset;
	if (section->unpacked) {
		*ret_bytes = section->unpacked + offset;
		*ret_n = n;
		return 0;
	}
	if (n > SECTION_VIEW_MAX)
		return -ENOEXEC;
	if (offset < section->window_offset ||
	    offset - section->window_offset > section->window_n ||
	    n > section->window_n - (offset - section->window_offset)) {
		r = fill_window(section, offset, n);
		if (r < 0)
			return r;
	}
	*ret_bytes = section->window + (offset - section->window_offset);
	*ret_n = n;
	return 0;
}

int section_load(struct section *section, uint64_t offset, size_t n, uint8_t **buffer,
		 size_t *capacity, const uint8_t **ret_bytes)
{
	int r = prepare(section, offset);

	if (r < 0)
		return r;
	if (n > section->size - offset)
		return -ENOEXEC;
	if (section->unpacked) {
		*ret_bytes = section->unpacked + offset;
		return 0;
	}
	if (n > *capacity || !*buffer) {
		/* The old contents are not needed: realloc() would copy them. */
		free(*buffer);
		*capacity = 0;
		*buffer = malloc(n + 1);
		if (!*buffer)
			return -EFBIG;
		*capacity = n;
	}
	r = elf_file_read(section->file, section->offset + offset, *buffer, n);
	if (r == 0)
		*ret_bytes = *buffer;
	return r;
}

int section_number(struct section *section, uint64_t offset, size_t n, uint64_t *ret)
{
	const uint8_t *bytes;
	uint64_t number = 0;
	size_t got;
	int r = section_view(section, offset, n, &bytes, &got);

	if (r < 0)
		return r;
	if (got < n)
		return -ENOEXEC;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	memcpy(&number, bytes, n);
#else
	memcpy((uint8_t *)&number + sizeof number - n, bytes, n);
#endif
	*ret = number;
	return 0;
}

int section_string(struct section *section, uint64_t offset, char *buffer, size_t size)
{
	const size_t glances[] = {STRING_GLANCE, size};

	for (size_t i = 0; i < sizeof glances / sizeof *glances; i++) {
		const uint8_t *bytes, *stop;
		size_t n, length;
		int r = section_view(section, offset, glances[i], &bytes, &n);

		if (r < 0)
			return r;
		stop = memchr(bytes, '\0', n);
		if (!stop && n < size && n == glances[i])
			continue;
		if (!stop && n < size)
			return -ENOEXEC;
		length = stop ? (size_t)(stop - bytes) : n;
		if (length >= size)
			length = size - 1;
		memcpy(buffer, bytes, length);
		buffer[length] = '\0';
		return 0;
	}
	return -ENOEXEC;
}
