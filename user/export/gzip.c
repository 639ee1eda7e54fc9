/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/gzip.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#define WINDOW_BITS 15
#define AS_GZIP	    16 /* added to the window bits: a gzip header instead of zlib's */
#define MEMORY	    8  /* zlib's default */

struct gzip {
	z_stream z;
	FILE *stream;
	size_t n; /* bytes waiting in @in */
	unsigned char in[64 << 10], out[64 << 10];
};

int gzip_new(FILE *stream, int level, struct gzip **ret)
{
	struct gzip *gzip = malloc(sizeof *gzip);

	if (!gzip)
		return -ENOMEM;
	gzip->z = (z_stream){0};
	gzip->stream = stream;
	gzip->n = 0;
	if (deflateInit2(&gzip->z, level, Z_DEFLATED, WINDOW_BITS + AS_GZIP, MEMORY,
			 Z_DEFAULT_STRATEGY) != Z_OK) {
		free(gzip);
		return -ENOMEM;
	}
	*ret = gzip;
	return 0;
}

/* Deflates the waiting bytes. */
static void flush(struct gzip *gzip, int how)
{
	gzip->z.next_in = gzip->in;
	gzip->z.avail_in = gzip->n;
	do {
		gzip->z.next_out = gzip->out;
		gzip->z.avail_out = sizeof gzip->out;
		deflate(&gzip->z, how);
		fwrite_unlocked(gzip->out /* ours */, 1, sizeof gzip->out - gzip->z.avail_out,
				gzip->stream);
	} while (!gzip->z.avail_out);
	gzip->n = 0;
}

void gzip_write(struct gzip *gzip, const void *bytes, size_t n)
{
	while (n) {
		size_t room = sizeof gzip->in - gzip->n, part = n < room ? n : room;

		memcpy(gzip->in + gzip->n, bytes, part);
		gzip->n += part;
		bytes = (const char *)bytes + part;
		n -= part;
		if (gzip->n == sizeof gzip->in)
			flush(gzip, Z_NO_FLUSH);
	}
}

void gzip_finish(struct gzip *gzip)
{
	flush(gzip, Z_FINISH);
}

void gzip_free(struct gzip *gzip)
{
	if (!gzip)
		return;
	deflateEnd(&gzip->z);
	free(gzip);
}
