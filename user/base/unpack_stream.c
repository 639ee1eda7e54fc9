/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/unpack_stream.h"

#include <errno.h>
#include <limits.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#define XZ_MEMORY_MAX (256ULL << 20) /* xz -9 takes 65 MB */

static unsigned int as_unsigned(size_t n)
{
	return n < UINT_MAX ? n : UINT_MAX;
}

/* gzip */

/* zlib: require a gzip header. */
#define GZIP_ONLY 16

static void *begin_gzip(void)
{
	z_stream *z = calloc(1, sizeof *z);

	if (z && inflateInit2(z, GZIP_ONLY + MAX_WBITS) != Z_OK) {
		free(z);
		return NULL;
	}
	return z;
}

static void end_gzip(void *state)
{
	inflateEnd(state);
	free(state);
}

/* Zeros after a part fill up a tape's block. */
static void skip_zeros(struct unpacker *unpacker)
{
	while (unpacker->n && !*unpacker->next) {
		unpacker->next++;
		unpacker->n--;
	}
}

static int run_gzip(struct unpacker *unpacker, char *to, size_t n, size_t *ret_n)
{
	z_stream *z = unpacker->state;
	int r;

	if (!unpacker->in_part)
		skip_zeros(unpacker);
	if (!unpacker->n)
		return !unpacker->file_ended ? 0 : unpacker->in_part ? -ENODATA : UNPACKER_ENDED;
	if (!unpacker->in_part && inflateReset2(z, GZIP_ONLY + MAX_WBITS) != Z_OK)
		return -EINVAL;
	z->next_in = (Bytef *)unpacker->next;
	z->avail_in = unpacker->n;
	z->next_out = (Bytef *)to;
	z->avail_out = as_unsigned(n);
	r = inflate(z, Z_NO_FLUSH);
	unpacker->next = z->next_in;
	unpacker->n = z->avail_in;
	unpacker->in_part = r != Z_STREAM_END;
	*ret_n = (char *)z->next_out - to;
	return r == Z_OK || r == Z_STREAM_END ? 0 : r == Z_MEM_ERROR ? -ENOMEM : -EINVAL;
}

/* zstd */

static void *begin_zstd(void)
{
	return ZSTD_createDCtx();
}

static void end_zstd(void *state)
{
	ZSTD_freeDCtx(state);
}

static int run_zstd(struct unpacker *unpacker, char *to, size_t n, size_t *ret_n)
{
	ZSTD_inBuffer in = {unpacker->next, unpacker->n, 0};
	ZSTD_outBuffer out = {to, n, 0};
	size_t r;

	if (!unpacker->n && unpacker->file_ended && !unpacker->in_part)
		return UNPACKER_ENDED;
	if (!unpacker->n && !unpacker->in_part)
		return 0;
	r = ZSTD_decompressStream(unpacker->state, &out, &in);
	unpacker->next += in.pos;
	unpacker->n -= in.pos;
	*ret_n = out.pos;
	if (ZSTD_isError(r))
		return ZSTD_getErrorCode(r) == ZSTD_error_memory_allocation ? -ENOMEM : -EINVAL;
	unpacker->in_part = r != 0;
	return unpacker->in_part && !out.pos && !in.pos && unpacker->file_ended ? -ENODATA : 0;
}

/* xz */

static void *begin_xz(void)
{
	lzma_stream *xz = calloc(1, sizeof *xz);

	if (xz && lzma_stream_decoder(xz, XZ_MEMORY_MAX, LZMA_CONCATENATED) != LZMA_OK) {
		free(xz);
		return NULL;
	}
	return xz;
}

static void end_xz(void *state)
{
	lzma_end(state);
	free(state);
}

static int run_xz(struct unpacker *unpacker, char *to, size_t n, size_t *ret_n)
{
	lzma_stream *xz = unpacker->state;
	lzma_ret r;

	xz->next_in = unpacker->next;
	xz->avail_in = unpacker->n;
	xz->next_out = (uint8_t *)to;
	xz->avail_out = n;
	r = lzma_code(xz, unpacker->file_ended ? LZMA_FINISH : LZMA_RUN);
	unpacker->next = xz->next_in;
	unpacker->n = xz->avail_in;
	*ret_n = (char *)xz->next_out - to;
	switch (r) {
	case LZMA_OK: return 0;
	case LZMA_STREAM_END: return UNPACKER_ENDED;
	/* It needs more input to go on. */
	case LZMA_BUF_ERROR: return unpacker->file_ended ? -ENODATA : 0;
	case LZMA_MEM_ERROR:
	case LZMA_MEMLIMIT_ERROR: return -ENOMEM;
	default: return -EINVAL;
	}
}

static const struct codec codecs[] = {
	{"gzip", {0x1f, 0x8b}, 2, begin_gzip, end_gzip, run_gzip},
	{"zstd", {0x28, 0xb5, 0x2f, 0xfd}, 4, begin_zstd, end_zstd, run_zstd},
	{"xz", {0xfd, '7', 'z', 'X', 'Z', 0}, 6, begin_xz, end_xz, run_xz},
};

const struct codec *codec_find(const void *bytes, size_t n)
{
	for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++)
		if (n >= codecs[i].n_magic &&
		    memcmp(bytes, codecs[i].magic, codecs[i].n_magic) == 0)
			return &codecs[i];
	return NULL;
}

struct unpacker *unpacker_new(const struct codec *codec)
{
	struct unpacker *unpacker = calloc(1, sizeof *unpacker);

	if (!unpacker)
		return NULL;
	unpacker->codec = codec;
	unpacker->state = codec->begin();
	if (unpacker->state)
		return unpacker;
	free(unpacker);
	return NULL;
}

void unpacker_free(struct unpacker *unpacker)
{
	if (!unpacker)
		return;
	unpacker->codec->end(unpacker->state);
	free(unpacker);
}
