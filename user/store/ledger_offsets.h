/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ledger_offsets: names of functions that have none, `[app+0x1a20]`, as two numbers: the string
 * that is their module's path, and the offset. There may be more of them than of all other names.
 */
#ifndef STORE_LEDGER_OFFSETS_H
#define STORE_LEDGER_OFFSETS_H

#include <limits.h>

#include "store/ledger.h"

struct ledger_offset {
	uint32_t path; /* a string; 0: this is another kind of name */
	uint64_t offset;
};

#define LEDGER_OFFSET_SIZE (NAME_MAX + 32)

/* One for each string from @first on; a path comes before its names. Errors: -ENOMEM. */
int ledger_offsets_find(const struct ledger *ledger, size_t first, struct ledger_offset **ret);

/* Returns the length of the name, or 0: no path has such a last part. */
size_t ledger_offset_text(const struct strings *strings, const struct ledger_offset *offset,
			  char text[static LEDGER_OFFSET_SIZE]);

#endif
