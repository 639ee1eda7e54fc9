/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gzip: writes a gzip file (RFC 1952) as a stream. Equal bytes give equal files: the header
 * holds no time and no name.
 */
#ifndef EXPORT_GZIP_H
#define EXPORT_GZIP_H

#include <stddef.h>
#include <stdio.h>

struct gzip;

/* @level: zlib's, 1 to 9. The caller keeps @stream. Errors: -ENOMEM. */
int gzip_new(FILE *stream, int level, struct gzip **ret);

/* A failed write shows in ferror() of the stream. */
void gzip_write(struct gzip *gzip, const void *bytes, size_t n);

/* Writes the rest and the trailer. */
void gzip_finish(struct gzip *gzip);
void gzip_free(struct gzip *gzip);

#endif
