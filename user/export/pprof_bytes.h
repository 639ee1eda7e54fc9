/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pprof_bytes: protobuf's encoding, written field by field:
 * https://protobuf.dev/programming-guides/encoding/
 */
#ifndef EXPORT_PPROF_BYTES_H
#define EXPORT_PPROF_BYTES_H

#include <string.h>

#include "base/array.h"
#include "core/pprof_fields.h"
#include "export/gzip.h"

#define PPROF_MAX_VARINT 10
#define PPROF_MAX_NUMBER                                                                           \
	(1 + PPROF_MAX_VARINT) /* a field that is one; ours have numbers below 16 */

struct pprof_bytes {
	uint8_t *at;
	size_t n, capacity;
};

/* A buffer of the caller's that is large enough for everything to come. */
#define PPROF_BYTES_IN(room) ((struct pprof_bytes){.at = (room), .capacity = sizeof(room)})

/* Errors: -ENOMEM. */
static inline int pprof_reserve(struct pprof_bytes *bytes, size_t n)
{
	return array_reserve(bytes->at, bytes->capacity, bytes->n, n);
}

/* The caller made room, as for all functions that return nothing. */
static inline void pprof_put_varint(struct pprof_bytes *bytes, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		bytes->at[bytes->n++] = value | 0x80;
	bytes->at[bytes->n++] = value;
}

static inline void pprof_put_tag(struct pprof_bytes *bytes, unsigned int field)
{
	pprof_put_varint(bytes, field << 3);
}

/* Writes the number and the length of a field of @n bytes; the caller writes the bytes next. */
static inline void pprof_put_head(struct pprof_bytes *bytes, unsigned int field, size_t n)
{
	pprof_put_varint(bytes, field << 3 | 2);
	pprof_put_varint(bytes, n);
}

/* Writes nothing for zero. */
static inline void pprof_put_number(struct pprof_bytes *bytes, unsigned int field, uint64_t value)
{
	if (!value)
		return;
	pprof_put_tag(bytes, field);
	pprof_put_varint(bytes, value);
}

/* A message, or packed numbers. Makes room. Errors: -ENOMEM. */
static inline int pprof_put_bytes(struct pprof_bytes *bytes, unsigned int field,
				  const struct pprof_bytes *part)
{
	int r = pprof_reserve(bytes, 2 * PPROF_MAX_VARINT + part->n);

	if (r < 0)
		return r;
	pprof_put_head(bytes, field, part->n);
	if (part->n)
		memcpy(bytes->at + bytes->n, part->at, part->n);
	bytes->n += part->n;
	return 0;
}

/* Writes a field of the message at the top. */
static inline void pprof_write_bytes(struct gzip *gzip, unsigned int field, const void *at,
				     size_t n)
{
	uint8_t room[2 * PPROF_MAX_VARINT];
	struct pprof_bytes head = PPROF_BYTES_IN(room);

	pprof_put_head(&head, field, n);
	gzip_write(gzip, head.at, head.n);
	if (n)
		gzip_write(gzip, at, n);
}

#endif
