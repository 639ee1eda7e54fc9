/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/debug_links.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "base/system.h"
#include "base/unpack_section.h"
#include "symbol/cursor.h"

#define PIECE_SIZE     (256 * 1024)
#define CRC_SIZE_MAX   (1ull << 30)
#define DEBUG_DATA_MAX (64u << 20)

struct build_id build_id_of(const struct elf_file *file)
{
	struct build_id id;

	id.n = elf_file_build_id(file, id.bytes);
	return id;
}

bool build_id_equal(const struct build_id *a, const struct build_id *b)
{
	return a->n == b->n && memcmp(a->bytes, b->bytes, a->n) == 0;
}

void build_id_text(const struct build_id *id, char text[static 2 * ELF_BUILD_ID_MAX + 1])
{
	text[0] = '\0';
	for (size_t i = 0; i < id->n; i++)
		snprintf(text + 2 * i, 3, "%02x", id->bytes[i]);
}

/* Reads the whole section @name into @buffer. Errors: -ENODATA none; -ENOEXEC larger than @size. */
static int read_section(struct elf_file *file, const char *name, uint8_t *buffer, size_t size,
			size_t *ret_n)
{
	const Elf64_Shdr *section = elf_file_section(file, name);
	int r;

	if (!section || section->sh_type == SHT_NOBITS)
		return -ENODATA;
	if (section->sh_size > size)
		return -ENOEXEC;
	r = elf_file_read(file, section->sh_offset, buffer, section->sh_size);
	if (r == 0)
		*ret_n = section->sh_size;
	return r;
}

int debug_link_read(struct elf_file *file, struct debug_link *ret)
{
	uint8_t bytes[NAME_MAX + 1 + 3 + 4];
	const uint8_t *stop;
	size_t n, length, at;
	int r = read_section(file, ".gnu_debuglink", bytes, sizeof bytes, &n);

	if (r < 0)
		return r;
	stop = memchr(bytes, '\0', n);
	if (!stop || stop == bytes)
		return -ENOEXEC;
	length = stop - bytes;
	at = (length + 1 + 3) & ~3ul;
	if (length > NAME_MAX || at + 4 > n || memchr(bytes, '/', length))
		return -ENOEXEC;
	memcpy(ret->name, bytes, length + 1);
	memcpy(&ret->crc, bytes + at, 4);
	return 0;
}

static uint64_t rest_of(struct cursor *cursor)
{
	return cursor_left(cursor);
}

/* Reads a path and then a build-id, with its length from @read_length. */
static int take_alternate(struct cursor *cursor, uint64_t (*read_length)(struct cursor *),
			  struct debug_alternate_link *ret)
{
	const uint8_t *path = cursor->at;
	size_t length;
	uint64_t n;

	cursor_skip_text(cursor);
	length = cursor->at - path;
	n = read_length(cursor);
	if (cursor->bad || length <= 1 || length > sizeof ret->path || n == 0 ||
	    n > cursor_left(cursor) || n > sizeof ret->id.bytes)
		return -ENOEXEC;
	memcpy(ret->path, path, length);
	memcpy(ret->id.bytes, cursor->at, n);
	ret->id.n = n;
	return 0;
}

int debug_alternate_link_read(struct elf_file *file, struct debug_alternate_link *ret)
{
	uint8_t bytes[PATH_MAX + ELF_BUILD_ID_MAX + 16];
	struct cursor cursor;
	size_t n;
	int r = read_section(file, ".gnu_debugaltlink", bytes, sizeof bytes, &n);

	if (r == 0) {
		cursor = cursor_make(bytes, n, 0);
		return take_alternate(&cursor, rest_of, ret);
	}
	if (r != -ENODATA)
		return r;
	/* DWARF 5, 7.3.6: version, and whether this is the shared file itself. */
	r = read_section(file, ".debug_sup", bytes, sizeof bytes, &n);
	if (r < 0)
		return r;
	cursor = cursor_make(bytes, n, 0);
	if (cursor_u16(&cursor) != 5 || cursor_u8(&cursor) != 0)
		return -ENODATA;
	return take_alternate(&cursor, cursor_uleb, ret);
}

int debug_data_unpack(struct elf_file *file, uint8_t **ret, size_t *ret_n)
{
	const Elf64_Shdr *section = elf_file_section(file, ".gnu_debugdata");

	if (!section || section->sh_type == SHT_NOBITS)
		return -ENODATA;
	return unpack_xz((struct packed){file, section->sh_offset, section->sh_size},
			 DEBUG_DATA_MAX, ret, ret_n);
}

int debug_crc(const struct elf_file *file, uint32_t *ret)
{
	_cleanup_free_ uint8_t *piece = malloc(PIECE_SIZE);
	uint32_t crc = crc32(0, NULL, 0);

	if (!piece)
		return -ENOMEM;
	if (file->size > CRC_SIZE_MAX)
		return -EFBIG;
	for (uint64_t at = 0; at < file->size; at += PIECE_SIZE) {
		size_t n = file->size - at < PIECE_SIZE ? file->size - at : PIECE_SIZE;
		int r = elf_file_read(file, at, piece, n);

		if (r < 0)
			return r;
		crc = crc32(crc, piece, n);
	}
	*ret = crc;
	return 0;
}
