/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * segment: a file of a store: windows of one level, one after the other. The layout is in
 * docs/store.md.
 *
 * A file is written by one process from its beginning and never appended to by another one; it is
 * read by any number, also while it grows. A window is one block, appended by one write: whoever
 * dies leaves whole blocks and at most a piece of one. A block is packed alone and says where in
 * the dictionaries it begins: one that is damaged costs its window, and the names that were new in
 * it.
 */
#ifndef STORE_SEGMENT_H
#define STORE_SEGMENT_H

#include <sys/types.h>

#include "base/place.h"
#include "store/ledger_code.h"

#define SEGMENT_VERSION	  LEDGER_LAYOUT
#define SEGMENT_NAME_SIZE 64

enum segment_kind {
	SEGMENT_STACKS,
	SEGMENT_SERIES, /* rows without stacks and pids */
	N_SEGMENT_KINDS,
};

struct segment_header {
	uint32_t version; /* another one than ours: nothing else is known of the file */
	enum segment_kind kind;
	uint64_t level; /* ns: how long its windows are, as a rule */
	uint64_t start; /* ns since 1970 */
	uint8_t boot_id[16];
};

/* The facts about a window that need no unpacking. */
struct segment_block {
	uint32_t packed, raw; /* bytes */
	uint64_t start, span; /* as in struct store_window */
	uint32_t gap;	      /* enum store_gap */
	uint32_t sum;	      /* CRC-32 of what is packed */
};

/* --- writing --- */

struct segment_writer {
	int fd; /* -1: none */
	char name[SEGMENT_NAME_SIZE];
	struct segment_header header;
	struct ledger ledger; /* of the file; its rows are those of the window that is open */
	struct ledger_marks marks;
	struct segment_packer *packer;
	uint64_t bytes; /* of whole blocks, with the header */
	bool is_dirty;	/* written since it was synced */
};

/* Makes file @name. Errors: -EEXIST, -ENOMEM, -errno. */
int segment_create(struct segment_writer *writer, const struct place *place, const char *name,
		   const struct segment_header *header);
/*
 * Appends the ledger's rows as a window, and clears them. After an error the file ends before that
 * window, and takes no other: segment_retry() writes it, or segment_close() is due.
 * Errors: -ENOSPC, -EDQUOT, -ENOMEM, -E2BIG, -errno.
 */
int segment_append(struct segment_writer *writer, const struct store_window *window);
int segment_retry(struct segment_writer *writer);
int segment_sync(struct segment_writer *writer);
/* Syncs and closes it. Fine on SEGMENT_WRITER_NONE. */
void segment_close(struct segment_writer *writer);

#define SEGMENT_WRITER_NONE ((struct segment_writer){.fd = -1})

/* --- reading --- */

struct segment_reader {
	int fd;
	struct segment_header header;
	struct ledger ledger;	     /* its rows: of the last window read */
	uint64_t at;		     /* offset of the next block … */
	uint64_t bytes;		     /* … of so many that the file had */
	uint64_t searched;	     /* heads are looked for from here on, where there is none */
	uint64_t damaged;	     /* bytes that were passed over so far */
	struct segment_ahead *ahead; /* what was read of the file at once */
	struct segment_unpacker *unpacker;
};

/*
 * Takes over @fd. Errors: -EBADMSG no segment; -EPROTONOSUPPORT another version (the header's
 * number is set); -ENODATA not even a header, yet; -ENOMEM; -errno. segment_reader_done() is due
 * after success.
 */
int segment_open(struct segment_reader *reader, int fd);
void segment_reader_done(struct segment_reader *reader);

/*
 * The next block's head, without reading it; bytes that are none are passed over. Returns 1, or 0
 * at the end: of the file, or of what is whole of it, see segment_rest(). Errors: -errno.
 */
int segment_peek(struct segment_reader *reader, struct segment_block *ret);
/* Passes over it: names that are new in it are damaged ones in later windows. */
void segment_pass(struct segment_reader *reader, const struct segment_block *block);
/* Back to the first block, before any was read. */
void segment_rewind(struct segment_reader *reader);
/*
 * Reads the window that segment_peek() announced. Errors: -EBADMSG it is damaged, and passed over;
 * -ENOMEM; -errno.
 */
int segment_read(struct segment_reader *reader, const struct segment_block *block,
		 struct store_window *ret);
/* The same of a window that nobody wants: what is new in it may have a name in later ones. */
int segment_read_names(struct segment_reader *reader, const struct segment_block *block);
/* Bytes after the last whole block. */
uint64_t segment_rest(const struct segment_reader *reader);

#endif
