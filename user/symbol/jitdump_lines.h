/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jitdump_lines: files and lines from a DEBUG_INFO record of a jitdump. */
#ifndef SYMBOL_JITDUMP_LINES_H
#define SYMBOL_JITDUMP_LINES_H

#include "symbol/jit_reader.h"

/* The entries of one record. */
struct jitdump_entries {
	uint64_t offset, end; /* in the file */
	uint64_t n;
	uint64_t address; /* of the beginning of their code */
};

/*
 * Sets lines[i] for addresses[i], @n ascending addresses, to the line of the nearest entry before.
 * Incomplete entries end the list. Errors: -ENOMEM, -E2BIG.
 */
int jitdump_lines_resolve(struct jit_reader *reader, const struct jitdump_entries *entries,
			  const uint64_t *addresses, size_t n, struct strings *strings,
			  struct jit_line *lines);

#endif
