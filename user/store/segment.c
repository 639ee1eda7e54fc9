/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/segment.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/output.h"

#define HEADER_BYTES 64
#define BLOCK_BYTES  40 /* before what is packed */
#define WINDOW_LOG   20 /* of zstd: how far back it looks, and so how much memory both sides need */
#define SCAN_BYTES   (64 << 10)
#define PACK_LEVEL   9
/* Windows of totals are so small that tables of codes cost more time to read than they save room. */
#define SERIES_PACK_LEVEL (-1)

static const char magic[8] = "BPFFLAME", mark[4] = "BFWI";

/* Numbers in a file have their lowest byte first. */
static void put32(uint8_t *to, uint32_t value)
{
	value = htole32(value);
	memcpy(to, &value, sizeof value);
}

static void put64(uint8_t *to, uint64_t value)
{
	value = htole64(value);
	memcpy(to, &value, sizeof value);
}

static uint32_t get32(const uint8_t *from)
{
	uint32_t value;

	memcpy(&value, from, sizeof value);
	return le32toh(value);
}

static uint64_t get64(const uint8_t *from)
{
	uint64_t value;

	memcpy(&value, from, sizeof value);
	return le64toh(value);
}

/* Writing */

struct segment_packer {
	uint8_t *block; /* the last one, with its head */
	size_t n, capacity;
};

static void packer_free(struct segment_packer *packer)
{
	if (!packer)
		return;
	free(packer->block);
	free(packer);
}

static int write_bytes(int fd, const uint8_t *bytes, size_t n, uint64_t at)
{
	while (n) {
		ssize_t written = pwrite(fd, bytes, n, at);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return written < 0 ? -errno : -EIO;
		bytes += written;
		n -= written;
		at += written;
	}
	return 0;
}

/* One write, or none of it. */
static int write_whole(struct segment_writer *writer, const uint8_t *bytes, size_t n)
{
	int r = write_bytes(writer->fd, bytes, n, writer->bytes);

	if (r < 0) {
		/* Where even that fails, readers see that the block is not whole. */
		(void)!ftruncate(writer->fd, writer->bytes);
		return r;
	}
	writer->bytes += n;
	writer->is_dirty = true;
	return 0;
}

static int write_header(struct segment_writer *writer)
{
	const struct segment_header *header = &writer->header;
	uint8_t bytes[HEADER_BYTES] = {};

	memcpy(bytes, magic, sizeof magic);
	put32(bytes + 8, SEGMENT_VERSION);
	put32(bytes + 12, header->kind);
	put64(bytes + 16, header->level);
	put64(bytes + 24, header->start);
	memcpy(bytes + 32, header->boot_id, sizeof header->boot_id);
	put32(bytes + 60, crc32(0, bytes, 60));
	return write_whole(writer, bytes, sizeof bytes);
}

static int create(struct segment_writer *writer, const struct place *place, const char *name)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	int r;

	writer->packer = calloc(1, sizeof *writer->packer);
	if (!writer->packer)
		return -ENOMEM;
	r = ledger_init(&writer->ledger);
	if (r < 0)
		return r;
	writer->fd = openat(place->fd, name, flags, output_mode());
	if (writer->fd < 0)
		return -errno;
	return write_header(writer);
}

int segment_create(struct segment_writer *writer, const struct place *place, const char *name,
		   const struct segment_header *header)
{
	int r;

	*writer = SEGMENT_WRITER_NONE;
	writer->header = *header;
	writer->marks = LEDGER_MARKS_NONE;
	snprintf(writer->name, sizeof writer->name, "%s", name /* escaped later */);
	r = create(writer, place, name);
	if (r < 0) {
		if (writer->fd >= 0)
			unlinkat(place->fd, name, 0);
		segment_close(writer);
	}
	return r;
}

/* One frame; each part has a code of its own. */
static bool pack_parts(ZSTD_CCtx *context, int level, ZSTD_outBuffer *to,
		       const struct ledger_bytes *window)
{
	ZSTD_inBuffer from = {.src = window->bytes};

	ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level);
	ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, WINDOW_LOG);
	ZSTD_CCtx_setPledgedSrcSize(context, window->n);
	for (size_t i = 0; i <= window->n_cuts; i++) {
		bool is_last = i == window->n_cuts;

		from.size = is_last ? window->n : window->cuts[i];
		if (ZSTD_compressStream2(context, to, &from, is_last ? ZSTD_e_end : ZSTD_e_flush))
			return false;
	}
	return true;
}

/* The context is large, and there are five files: none is kept between windows. */
static size_t pack_bytes(int level, uint8_t *bytes, size_t capacity,
			 const struct ledger_bytes *window)
{
	ZSTD_outBuffer to = {.dst = bytes, .size = capacity};
	ZSTD_CCtx *context = ZSTD_createCCtx();
	bool is_packed = context && pack_parts(context, level, &to, window);

	ZSTD_freeCCtx(context);
	return is_packed ? to.pos : 0;
}

static int pack(struct segment_packer *packer, int level, const struct ledger_bytes *window)
{
	size_t bound = BLOCK_BYTES + ZSTD_compressBound(window->n), packed;

	if (bound > packer->capacity) {
		uint8_t *grown = realloc(packer->block, bound);

		if (!grown)
			return -ENOMEM;
		packer->block = grown;
		packer->capacity = bound;
	}
	packed = pack_bytes(level, packer->block + BLOCK_BYTES, packer->capacity - BLOCK_BYTES,
			    window);
	if (!packed)
		return -ENOMEM;
	packer->n = BLOCK_BYTES + packed;
	return 0;
}

static void put_head(struct segment_packer *packer, const struct store_window *window, size_t raw)
{
	uint8_t *head = packer->block;
	size_t packed = packer->n - BLOCK_BYTES;

	memcpy(head, mark, sizeof mark);
	put32(head + 4, packed);
	put32(head + 8, raw);
	put32(head + 12, window->gap);
	put64(head + 16, window->start);
	put64(head + 24, window->span);
	put32(head + 32, crc32(0, head + BLOCK_BYTES, packed));
	put32(head + 36, crc32(0, head, 36));
}

int segment_append(struct segment_writer *writer, const struct store_window *window)
{
	struct ledger_bytes encoded;
	int r = ledger_encode(&writer->ledger, window, &writer->marks, &encoded);

	ledger_clear_rows(&writer->ledger);
	if (r < 0)
		return r;
	r = pack(writer->packer,
		 writer->header.kind == SEGMENT_SERIES ? SERIES_PACK_LEVEL : PACK_LEVEL, &encoded);
	free(encoded.bytes);
	if (r < 0)
		return r;
	put_head(writer->packer, window, encoded.n);
	return segment_retry(writer);
}

int segment_retry(struct segment_writer *writer)
{
	return write_whole(writer, writer->packer->block, writer->packer->n);
}

int segment_sync(struct segment_writer *writer)
{
	if (writer->fd < 0 || !writer->is_dirty)
		return 0;
	writer->is_dirty = false;
	return fdatasync(writer->fd) < 0 ? -errno : 0;
}

void segment_close(struct segment_writer *writer)
{
	segment_sync(writer);
	if (writer->fd >= 0)
		close(writer->fd);
	packer_free(writer->packer);
	ledger_done(&writer->ledger);
	*writer = SEGMENT_WRITER_NONE;
}

/* Reading */

struct segment_ahead {
	bool pays; /* the last block was small */
	uint64_t at;
	size_t n;
	uint8_t bytes[64 << 10];
};

struct segment_unpacker {
	ZSTD_DCtx *context;
	uint8_t *packed, *raw;
	size_t packed_capacity, raw_capacity;
};

static void unpacker_free(struct segment_unpacker *unpacker)
{
	if (!unpacker)
		return;
	ZSTD_freeDCtx(unpacker->context);
	free(unpacker->packed);
	free(unpacker->raw);
	free(unpacker);
}

/* As pread(), of what was written before the file was opened. Of small blocks, reads several at
 * once. */
static ssize_t read_at(const struct segment_reader *reader, void *bytes, size_t n, uint64_t at)
{
	struct segment_ahead *ahead = reader->ahead;
	bool is_there = at >= ahead->at && at + n <= ahead->at + ahead->n;

	if (!is_there && (!ahead->pays || n > sizeof ahead->bytes))
		return pread(reader->fd, bytes, n, at);
	if (!is_there) {
		ssize_t got = pread(reader->fd, ahead->bytes, sizeof ahead->bytes, at);

		ahead->at = at;
		ahead->n = got < 0 ? 0 : got;
		if (got < (ssize_t)n)
			n = ahead->n;
		if (got < 0)
			return got;
	}
	memcpy(bytes, ahead->bytes + (at - ahead->at), n);
	return n;
}

static int read_header(struct segment_reader *reader)
{
	uint8_t bytes[HEADER_BYTES];
	ssize_t n = read_at(reader, bytes, sizeof bytes, 0);

	if (n < 0)
		return -errno;
	if ((size_t)n < sizeof bytes)
		return n >= (ssize_t)sizeof magic && memcmp(bytes, magic, sizeof magic) != 0
			       ? -EBADMSG
			       : -ENODATA;
	if (memcmp(bytes, magic, sizeof magic) != 0)
		return -EBADMSG;
	reader->header = (struct segment_header){
		.version = get32(bytes + 8),
		.kind = get32(bytes + 12),
		.level = get64(bytes + 16),
		.start = get64(bytes + 24),
	};
	memcpy(reader->header.boot_id, bytes + 32, sizeof reader->header.boot_id);
	if (reader->header.version != SEGMENT_VERSION &&
	    reader->header.version != LEDGER_OLD_LAYOUT)
		return -EPROTONOSUPPORT;
	return get32(bytes + 60) != crc32(0, bytes, 60) || reader->header.kind >= N_SEGMENT_KINDS ||
			       !reader->header.level
		       ? -EBADMSG
		       : 0;
}

static int begin_reading(struct segment_reader *reader)
{
	struct stat st;
	int r;

	if (!reader->ahead)
		return -ENOMEM;
	if (fstat(reader->fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EBADMSG;
	r = read_header(reader);
	if (r < 0)
		return r;
	reader->bytes = st.st_size;
	return ledger_init(&reader->ledger);
}

int segment_open(struct segment_reader *reader, int fd)
{
	int r;

	*reader = (struct segment_reader){.fd = fd, .ahead = calloc(1, sizeof *reader->ahead)};
	segment_rewind(reader);
	r = begin_reading(reader);
	if (r < 0)
		segment_reader_done(reader);
	return r;
}

void segment_reader_done(struct segment_reader *reader)
{
	ledger_done(&reader->ledger);
	unpacker_free(reader->unpacker);
	reader->unpacker = NULL;
	free(reader->ahead);
	reader->ahead = NULL;
	if (reader->fd >= 0)
		close(reader->fd);
	reader->fd = -1;
}

/* Whether it is one whose sum is right. */
static bool take_head(const uint8_t *bytes, struct segment_block *ret)
{
	if (memcmp(bytes, mark, sizeof mark) != 0 || get32(bytes + 36) != crc32(0, bytes, 36))
		return false;
	*ret = (struct segment_block){.packed = get32(bytes + 4),
				      .raw = get32(bytes + 8),
				      .gap = get32(bytes + 12),
				      .start = get64(bytes + 16),
				      .span = get64(bytes + 24),
				      .sum = get32(bytes + 32)};
	return ret->raw <= LEDGER_MAX_BYTES && ret->packed <= ZSTD_compressBound(ret->raw) &&
	       ret->gap < N_STORE_GAPS && ret->start <= 1ULL << 62 && ret->span <= 1ULL << 62;
}

/* Finds the next head after damage. Returns its offset, or 0: there is none. */
static uint64_t find_head(const struct segment_reader *reader, uint64_t from)
{
	uint8_t bytes[SCAN_BYTES];
	struct segment_block block;

	while (from + BLOCK_BYTES <= reader->bytes) {
		ssize_t n = pread(reader->fd, bytes, sizeof bytes, from);

		if (n < BLOCK_BYTES)
			return 0;
		for (const uint8_t *at = bytes, *end = bytes + n - BLOCK_BYTES + 1;
		     (at = memmem(at, end - at + sizeof mark - 1, mark, sizeof mark)); at++)
			if (take_head(at, &block))
				return from + (at - bytes);
		from += n - BLOCK_BYTES + 1;
	}
	return 0;
}

/* The head at the reader's position. Returns 1, or 0: there is no whole one. */
static int read_head(const struct segment_reader *reader, struct segment_block *ret)
{
	uint8_t bytes[BLOCK_BYTES];
	ssize_t n = read_at(reader, bytes, sizeof bytes, reader->at);

	if (n < 0)
		return -errno;
	return n == sizeof bytes && take_head(bytes, ret);
}

/* Whether the head at the reader's position is one whose block is there. */
static int peek_here(const struct segment_reader *reader, struct segment_block *ret)
{
	int r = reader->at + BLOCK_BYTES <= reader->bytes ? read_head(reader, ret) : 0;

	return r > 0 && ret->packed > reader->bytes - reader->at - BLOCK_BYTES ? 0 : r;
}

int segment_peek(struct segment_reader *reader, struct segment_block *ret)
{
	struct segment_block block;
	uint64_t end = reader->at;
	int r = peek_here(reader, &block);

	/* The block before may be shorter than its head says. */
	if (r == 0 && reader->at < reader->bytes)
		reader->at = reader->searched;
	while (r == 0 && reader->at < reader->bytes) {
		uint64_t next = find_head(reader, reader->at);

		reader->at = next ? next : reader->bytes;
		r = peek_here(reader, &block);
		if (r == 0)
			reader->at++;
	}
	if (r <= 0) {
		reader->at = end;
		return r;
	}
	if (reader->at > end)
		reader->damaged += reader->at - end;
	reader->searched = reader->at + BLOCK_BYTES;
	reader->ahead->pays = block.packed < sizeof reader->ahead->bytes / 8;
	*ret = block;
	return 1;
}

void segment_pass(struct segment_reader *reader, const struct segment_block *block)
{
	reader->at += BLOCK_BYTES + block->packed;
}

void segment_rewind(struct segment_reader *reader)
{
	reader->at = reader->searched = HEADER_BYTES;
	reader->damaged = 0;
}

uint64_t segment_rest(const struct segment_reader *reader)
{
	return reader->bytes > reader->at ? reader->bytes - reader->at : 0;
}

static int make_room(uint8_t **bytes, size_t *capacity, size_t n)
{
	uint8_t *grown;

	if (n <= *capacity)
		return 0;
	grown = realloc(*bytes, n);
	if (!grown)
		return -ENOMEM;
	*bytes = grown;
	*capacity = n;
	return 0;
}

static int make_unpacker(struct segment_reader *reader)
{
	struct segment_unpacker *unpacker;

	if (reader->unpacker)
		return 0;
	unpacker = calloc(1, sizeof *unpacker);
	if (unpacker)
		unpacker->context = ZSTD_createDCtx();
	if (!unpacker || !unpacker->context) {
		unpacker_free(unpacker);
		return -ENOMEM;
	}
	ZSTD_DCtx_setParameter(unpacker->context, ZSTD_d_windowLogMax, WINDOW_LOG);
	reader->unpacker = unpacker;
	return 0;
}

/* Reads and unpacks the block's bytes. Errors: -EBADMSG, -ENOMEM, -errno. */
static int unpack(struct segment_reader *reader, const struct segment_block *block)
{
	struct segment_unpacker *unpacker = reader->unpacker;
	int r = make_room(&unpacker->packed, &unpacker->packed_capacity, block->packed + 1);
	ssize_t got;
	size_t n;

	if (r < 0)
		return r;
	r = make_room(&unpacker->raw, &unpacker->raw_capacity, block->raw + 1);
	if (r < 0)
		return r;
	got = read_at(reader, unpacker->packed, block->packed, reader->at + BLOCK_BYTES);
	if (got < 0)
		return -errno;
	if ((size_t)got < block->packed || crc32(0, unpacker->packed, got) != block->sum)
		return -EBADMSG;
	n = ZSTD_decompressDCtx(unpacker->context, unpacker->raw, block->raw, unpacker->packed,
				got);
	return ZSTD_isError(n) || n != block->raw ? -EBADMSG : 0;
}

/* @ret NULL: only names are wanted. */
static int decode(struct segment_reader *reader, const struct segment_block *block,
		  struct store_window *ret)
{
	unsigned int layout = reader->header.version;
	const uint8_t *raw;
	int r = make_unpacker(reader);

	if (r < 0)
		return r;
	r = unpack(reader, block);
	if (r < 0)
		return r;
	raw = reader->unpacker->raw;
	return ret ? ledger_decode(&reader->ledger, raw, block->raw, layout, ret)
		   : ledger_decode_names(&reader->ledger, raw, block->raw, layout);
}

static int read_block(struct segment_reader *reader, const struct segment_block *block,
		      struct store_window *ret)
{
	int r = decode(reader, block, ret);

	if (r == -EBADMSG)
		reader->damaged += BLOCK_BYTES + block->packed;
	if (r == 0 || r == -EBADMSG)
		segment_pass(reader, block);
	return r;
}

int segment_read(struct segment_reader *reader, const struct segment_block *block,
		 struct store_window *ret)
{
	return read_block(reader, block, ret);
}

int segment_read_names(struct segment_reader *reader, const struct segment_block *block)
{
	return read_block(reader, block, NULL);
}
