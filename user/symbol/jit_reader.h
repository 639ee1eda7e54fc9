/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * jit_reader: reads a JIT's files about its code through one buffer. The files reach gigabytes and
 * belong to other processes, which may still write to them or cut them short; mapping them could
 * kill us.
 */
#ifndef SYMBOL_JIT_READER_H
#define SYMBOL_JIT_READER_H

#include "base/strings.h"

#define JIT_BUFFER_SIZE (256 * 1024)

/* The source of an address: a string id and a number from 1; 0 when unknown. */
struct jit_line {
	uint32_t file, line;
};

struct jit_reader {
	int fd;
	uint64_t size;	 /* of the file when it was opened; later data is not read */
	uint64_t offset; /* of the buffer in the file */
	size_t n;	 /* bytes in it */
	char *buffer;
};

/* The caller keeps @fd. Errors: -ENOMEM; -EINVAL if it is not a regular file. */
int jit_reader_init(struct jit_reader *reader, int fd);
void jit_reader_done(struct jit_reader *reader);

/*
 * The bytes from @offset on, *@ret_n of them and at least @least (up to JIT_BUFFER_SIZE), valid
 * until the next call; NULL if there are fewer.
 */
const char *jit_reader_at(struct jit_reader *reader, uint64_t offset, size_t least, size_t *ret_n);

/* The first offset from @offset on that is not in a hole: a sparse file costs nothing. */
uint64_t jit_reader_skip_hole(const struct jit_reader *reader, uint64_t offset);

/*
 * Interns the text at @offset, without blanks around it. It ends at @end, at a NUL, or after @size
 * bytes. *ret_id is 0 if it is empty. Errors: -ENOMEM, -E2BIG.
 */
int jit_reader_name(struct jit_reader *reader, uint64_t offset, uint64_t size, char end,
		    struct strings *strings, uint32_t *ret_id);

#endif
