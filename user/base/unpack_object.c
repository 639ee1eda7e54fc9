/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/unpack_object.h"

#include <endian.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define GZIP_WINDOW (15 + 16) /* of inflateInit2(): what gzip writes */
#define MAX_OBJECT  (16u << 20)
#define MIN_GZIP    18 /* bytes, without any content */

const void *unpack_object(const unsigned char *packed, size_t n, size_t *ret_n)
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

void unpack_object_free(const void **data)
{
	free((void *)*data);
	*data = NULL;
}
