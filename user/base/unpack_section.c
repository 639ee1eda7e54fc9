/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/unpack_section.h"

#include <errno.h>
#include <stdlib.h>

#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#define PIECE_SIZE (64 * 1024)
/* Limits for the memory of decoders: the packer chooses it, and real ones stay below. */
#define ZSTD_WINDOW_LOG_MAX 27
#define XZ_MEMORY_MAX	    (192u << 20)

/* Reads the next piece into @piece. Returns its size, 0 at the end, or an error. */
static ssize_t next_piece(struct packed *packed, uint8_t *piece)
{
	size_t n = packed->n < PIECE_SIZE ? packed->n : PIECE_SIZE;
	int r = elf_file_read(packed->file, packed->offset, piece, n);

	if (r < 0)
		return r;
	packed->offset += n;
	packed->n -= n;
	return n;
}

static int inflate_pieces(z_stream *stream, struct packed *packed, uint8_t *piece, size_t size)
{
	size_t left = size;

	for (;;) {
		int status = Z_OK;

		if (stream->avail_in == 0) {
			ssize_t n = next_piece(packed, piece);

			if (n <= 0)
				return n < 0 ? n : -ENOEXEC;
			stream->next_in = piece;
			stream->avail_in = n;
		}
		stream->avail_out = left < (1u << 30) ? left : 1u << 30;
		left -= stream->avail_out;
		status = inflate(stream, Z_NO_FLUSH);
		left += stream->avail_out;
		if (left == 0)
			return 0;
		if (status != Z_OK)
			return status == Z_MEM_ERROR ? -ENOMEM : -ENOEXEC;
	}
}

int unpack_zlib(struct packed packed, uint8_t *to, size_t size)
{
	z_stream stream = {.next_out = to};
	uint8_t *piece = malloc(PIECE_SIZE);
	int r = -ENOMEM;

	if (piece && inflateInit(&stream) == Z_OK) {
		r = inflate_pieces(&stream, &packed, piece, size);
		inflateEnd(&stream);
	}
	free(piece);
	return r;
}

static int zstd_pieces(ZSTD_DCtx *context, struct packed *packed, uint8_t *piece,
		       ZSTD_outBuffer *out)
{
	ZSTD_inBuffer in = {.src = piece};

	ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG_MAX);
	while (out->pos < out->size) {
		size_t status, before = out->pos;

		if (in.pos == in.size) {
			ssize_t n = next_piece(packed, piece);

			if (n < 0)
				return n;
			in.size = n;
			in.pos = 0;
		}
		status = ZSTD_decompressStream(context, out, &in);
		if (ZSTD_isError(status) || (in.size == 0 && out->pos == before))
			return -ENOEXEC;
	}
	return 0;
}

int unpack_zstd(struct packed packed, uint8_t *to, size_t size)
{
	ZSTD_outBuffer out = {.dst = to, .size = size};
	ZSTD_DCtx *context = ZSTD_createDCtx();
	uint8_t *piece = malloc(PIECE_SIZE);
	int r = -ENOMEM;

	if (context && piece)
		r = zstd_pieces(context, &packed, piece, &out);
	ZSTD_freeDCtx(context);
	free(piece);
	return r;
}

/* Makes room for more output, within @limit. */
static int grow(lzma_stream *stream, uint8_t **bytes, size_t *capacity, size_t limit)
{
	size_t used = *capacity - stream->avail_out, wanted = *capacity ? *capacity * 2 : 1 << 20;
	uint8_t *grown;

	if (*capacity >= limit)
		return -EFBIG;
	if (wanted > limit)
		wanted = limit;
	grown = realloc(*bytes, wanted);
	if (!grown)
		return -ENOMEM;
	*bytes = grown;
	*capacity = wanted;
	stream->next_out = grown + used;
	stream->avail_out = wanted - used;
	return 0;
}

static int xz_pieces(lzma_stream *stream, struct packed *packed, uint8_t *piece, size_t limit,
		     uint8_t **bytes)
{
	size_t capacity = 0;

	for (;;) {
		lzma_ret status;
		int r = stream->avail_out ? 0 : grow(stream, bytes, &capacity, limit);

		if (r < 0)
			return r;
		if (stream->avail_in == 0) {
			ssize_t n = next_piece(packed, piece);

			if (n < 0)
				return n;
			stream->next_in = piece;
			stream->avail_in = n;
		}
		status = lzma_code(stream, packed->n || stream->avail_in ? LZMA_RUN : LZMA_FINISH);
		if (status == LZMA_STREAM_END)
			return 0;
		if (status != LZMA_OK)
			return status == LZMA_MEM_ERROR ? -ENOMEM : -ENOEXEC;
	}
}

int unpack_xz(struct packed packed, size_t limit, uint8_t **ret, size_t *ret_n)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	uint8_t *bytes = NULL, *piece = malloc(PIECE_SIZE);
	int r = -ENOMEM;

	if (piece && lzma_stream_decoder(&stream, XZ_MEMORY_MAX, 0) == LZMA_OK) {
		r = xz_pieces(&stream, &packed, piece, limit, &bytes);
		if (r == 0) {
			*ret = bytes;
			*ret_n = stream.total_out;
			bytes = NULL;
		}
	}
	lzma_end(&stream);
	free(bytes);
	free(piece);
	return r;
}
