/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cursor: reads untrusted bytes in order, never past their end.
 *
 * A read past the end gives 0 and marks the cursor as bad for good, so callers may read a whole
 * record and check once. Numbers are in the host's byte order, which elf_file requires of the file.
 */
#ifndef SYMBOL_CURSOR_H
#define SYMBOL_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct cursor {
	const uint8_t *at, *end;
	const uint8_t *start;
	uint64_t start_offset; /* of @start, in the section */
	bool bad;
};

static inline struct cursor cursor_make(const uint8_t *bytes, size_t n, uint64_t offset)
{
	return (struct cursor){bytes, bytes + n, bytes, offset, false};
}

/* Its offset in the section. */
static inline uint64_t cursor_offset(const struct cursor *cursor)
{
	return cursor->start_offset + (cursor->at - cursor->start);
}

static inline size_t cursor_left(const struct cursor *cursor)
{
	return cursor->end - cursor->at;
}

static inline void cursor_fail(struct cursor *cursor)
{
	cursor->bad = true;
	cursor->at = cursor->end;
}

static inline void cursor_skip(struct cursor *cursor, uint64_t n)
{
	if (n > cursor_left(cursor))
		cursor_fail(cursor);
	else
		cursor->at += n;
}

/* A number of @n bytes, at most 8. */
static inline uint64_t cursor_number(struct cursor *cursor, size_t n)
{
	uint64_t number = 0;

	if (n > cursor_left(cursor)) {
		cursor_fail(cursor);
		return 0;
	}
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	memcpy(&number, cursor->at, n);
#else
	memcpy((uint8_t *)&number + sizeof number - n, cursor->at, n);
#endif
	cursor->at += n;
	return number;
}

static inline uint8_t cursor_u8(struct cursor *cursor)
{
	if (cursor->at == cursor->end) {
		cursor_fail(cursor);
		return 0;
	}
	return *cursor->at++;
}

static inline uint16_t cursor_u16(struct cursor *cursor)
{
	return cursor_number(cursor, 2);
}

static inline uint32_t cursor_u32(struct cursor *cursor)
{
	return cursor_number(cursor, 4);
}

static inline uint64_t cursor_u64(struct cursor *cursor)
{
	return cursor_number(cursor, 8);
}

/* LEB128 (DWARF 5, 7.6); drops bits above 64. */
static inline uint64_t cursor_leb(struct cursor *cursor, bool is_signed)
{
	uint64_t number = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		byte = cursor_u8(cursor);
		if (shift < 64) {
			number |= (uint64_t)(byte & 0x7f) << shift;
			shift += 7;
		}
	} while (byte & 0x80);
	if (is_signed && shift < 64 && (byte & 0x40))
		number |= ~0ull << shift;
	return number;
}

static inline uint64_t cursor_uleb(struct cursor *cursor)
{
	return cursor_leb(cursor, false);
}

static inline int64_t cursor_sleb(struct cursor *cursor)
{
	return cursor_leb(cursor, true);
}

static inline void cursor_skip_leb(struct cursor *cursor)
{
	while (cursor_u8(cursor) & 0x80)
		;
}

/* Skips the text that begins here, with its NUL. */
static inline void cursor_skip_text(struct cursor *cursor)
{
	const uint8_t *stop = memchr(cursor->at, '\0', cursor_left(cursor));

	if (stop)
		cursor->at = stop + 1;
	else
		cursor_fail(cursor);
}

#endif
