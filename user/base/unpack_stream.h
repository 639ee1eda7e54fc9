/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * unpack_stream: unpacks a compressed file, piece by piece. The first bytes identify gzip (RFC
 * 1952), zstd (RFC 8878) and xz (https://tukaani.org/xz/xz-file-format.txt). A file has one or more
 * parts in a row.
 */
#ifndef BASE_UNPACK_STREAM_H
#define BASE_UNPACK_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UNPACKER_MAGIC 6		   /* bytes that identify any of them */
#define UNPACKER_BLOCK ((size_t)128 << 10) /* of the file */

#define UNPACKER_ENDED 1

struct unpacker;

struct codec {
	const char *name;
	uint8_t magic[UNPACKER_MAGIC];
	size_t n_magic;
	void *(*begin)(void); /* NULL: no memory */
	void (*end)(void *state);
	/*
	 * Unpacks up to @n bytes to @to from the unpacker's input. *@ret_n may be 0: it needs more
	 * of the file. Returns 0, or UNPACKER_ENDED after the last byte. Errors: -ENODATA the file
	 * is cut off; -EINVAL it is damaged; -ENOMEM.
	 */
	int (*run)(struct unpacker *unpacker, char *to, size_t n, size_t *ret_n);
};

struct unpacker {
	const struct codec *codec;
	void *state;
	bool in_part;	 /* between the beginning of a part and its end */
	bool file_ended; /* set by the caller, who refills @input once @n is 0 */
	const uint8_t *next;
	size_t n;
	uint8_t input[UNPACKER_BLOCK];
};

/* The codec of a file that begins with these bytes; NULL: not compressed. */
const struct codec *codec_find(const void *bytes, size_t n);

/* NULL: no memory. */
struct unpacker *unpacker_new(const struct codec *codec);
void unpacker_free(struct unpacker *unpacker);

#endif
