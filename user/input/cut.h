/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cut: finds the next `;` and hashes the text before it in one pass, 16 bytes and one
 * multiplication at a time. `;` bytes of a word are found like zero bytes: see "Determine if a word
 * has a zero byte", https://graphics.stanford.edu/~seander/bithacks.html. The hash is the folded
 * product of 64-bit words, as in wyhash.
 */
#ifndef INPUT_CUT_H
#define INPUT_CUT_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct cut {
	uint32_t n; /* bytes before the `;` */
	uint32_t hash;
};

static inline uint64_t cut_word(const char *text)
{
	uint64_t word;

	memcpy(&word, text, sizeof word);
	return le64toh(word);
}

/* The high bit of the first `;` byte, and of no byte before it. */
static inline uint64_t cut_semicolons(uint64_t word)
{
	uint64_t differing = word ^ 0x3b3b3b3b3b3b3b3bULL;

	return (differing - 0x0101010101010101ULL) & ~differing & 0x8080808080808080ULL;
}

/* The bytes of @word before the one whose high bit is @mark. */
static inline uint64_t cut_before(uint64_t word, unsigned int bytes)
{
	return word & ((1ULL << (bytes * 8)) - 1);
}

static inline uint64_t cut_multiply(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* The piece at @text. The caller makes sure that a `;` follows; up to 15 bytes past it are read. */
static inline struct cut cut_at(const char *text)
{
	uint64_t hash = 0x9e3779b97f4a7c15ULL;

	for (size_t n = 0;; n += 16) {
		uint64_t low = cut_word(text + n), high = cut_word(text + n + 8);
		uint64_t in_low = cut_semicolons(low), in_high = cut_semicolons(high);

		if (in_low) {
			unsigned int bytes = __builtin_ctzll(in_low) / 8;

			n += bytes;
			hash = cut_multiply(hash ^ cut_before(low, bytes),
					    0xd6e8feb86659fd93ULL ^ n);
			return (struct cut){n, hash};
		}
		if (in_high) {
			unsigned int bytes = __builtin_ctzll(in_high) / 8;

			n += 8 + bytes;
			hash = cut_multiply(hash ^ low,
					    cut_before(high, bytes) ^ 0xa0761d6478bd642fULL);
			hash = cut_multiply(hash, 0xd6e8feb86659fd93ULL ^ n);
			return (struct cut){n, hash};
		}
		hash = cut_multiply(hash ^ low, high ^ 0xe7037ed1a0b428dbULL);
	}
}

#endif
