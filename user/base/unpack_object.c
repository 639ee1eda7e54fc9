/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/unpack_object.h"

#include <endian.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#define GZIP_WINDOW (15 + 16) /* of inflateInit2(): what gzip writes */
#define MAX_OBJECT  (16u << 20)
#define MIN_GZIP    18 /* bytes, without any content */

static const void *unpack_gzip(const unsigned char *packed, size_t n, size_t *ret_n)
{
	z_stream stream = {.next_in = (unsigned char *)packed, .avail_in = n};
	uint32_t size;
	uint8_t *bytes;
	int r;

	if (n < MIN_GZIP || inflateInit2(&stream, GZIP_WINDOW) != Z_OK)
		return NULL;
	memcpy(&size, packed + n - sizeof size, sizeof size);
	size = le32toh(size);
	bytes = size <= MAX_OBJECT ? malloc(size + 1) : NULL;
	stream.next_out = bytes;
	stream.avail_out = size;
	r = bytes ? inflate(&stream, Z_FINISH) : Z_MEM_ERROR;
	inflateEnd(&stream);
	if (r != Z_STREAM_END || stream.avail_out) {
		free(bytes);
		return NULL;
	}
	*ret_n = size;
	return bytes;
}

static const void *unpack_zstd(const unsigned char *packed, size_t n, size_t *ret_n)
{
	unsigned long long size = ZSTD_getFrameContentSize(packed, n);
	uint8_t *bytes = size <= MAX_OBJECT ? malloc(size + 1) : NULL;

	if (!bytes || ZSTD_decompress(bytes, size, packed, n) != size) {
		free(bytes);
		return NULL;
	}
	*ret_n = size;
	return bytes;
}

const void *unpack_object(const unsigned char *packed, size_t n, size_t *ret_n)
{
	static const uint8_t zstd[] = {0x28, 0xb5, 0x2f, 0xfd};

	return n > sizeof zstd && memcmp(packed, zstd, sizeof zstd) == 0
		       ? unpack_zstd(packed, n, ret_n)
		       : unpack_gzip(packed, n, ret_n);
}

void unpack_object_free(const void **data)
{
	free((void *)*data);
	*data = NULL;
}
