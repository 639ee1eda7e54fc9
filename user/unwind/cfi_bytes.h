/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cfi_bytes: reads numbers from untrusted bytes.
 *
 * A read past the end gives 0, moves to the end and sets a mark. So a parser may read on and check
 * the mark once, and loops that run to the end always end.
 */
#ifndef UNWIND_CFI_BYTES_H
#define UNWIND_CFI_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct cfi_bytes {
	const uint8_t *at, *end;
	bool damaged;
};

static inline size_t cfi_left(const struct cfi_bytes *bytes)
{
	return bytes->end - bytes->at;
}

static inline void cfi_damage(struct cfi_bytes *bytes)
{
	bytes->damaged = true;
	bytes->at = bytes->end;
}

/* Skips @n bytes and returns a pointer to them, or NULL. */
static inline const uint8_t *cfi_skip(struct cfi_bytes *bytes, uint64_t n)
{
	const uint8_t *at = bytes->at;

	if (n > cfi_left(bytes)) {
		cfi_damage(bytes);
		return NULL;
	}
	bytes->at += n;
	return at;
}

#define CFI_FIXED(type)                                                                            \
	static inline type##_t cfi_##type(struct cfi_bytes *bytes)                                 \
	{                                                                                          \
		type##_t value = 0;                                                                \
		const uint8_t *at = cfi_skip(bytes, sizeof value);                                 \
                                                                                                   \
		if (at)                                                                            \
			memcpy(&value, at, sizeof value);                                          \
		return value;                                                                      \
	}

CFI_FIXED(uint8)
CFI_FIXED(uint16)
CFI_FIXED(uint32)
CFI_FIXED(uint64)

/* LEB128 (DWARF 5, 7.6). Bits above 64 are dropped, as all other readers do. */
static inline uint64_t cfi_leb128(struct cfi_bytes *bytes, bool is_signed)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		byte = cfi_uint8(bytes);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += shift < 64 ? 7 : 0;
	} while (byte & 0x80);
	if (is_signed && shift < 64 && (byte & 0x40))
		value |= ~(uint64_t)0 << shift;
	return value;
}

static inline uint64_t cfi_uleb128(struct cfi_bytes *bytes)
{
	if (bytes->at < bytes->end && *bytes->at < 0x80)
		return *bytes->at++;
	return cfi_leb128(bytes, false);
}

static inline int64_t cfi_sleb128(struct cfi_bytes *bytes)
{
	return cfi_leb128(bytes, true);
}

#endif
