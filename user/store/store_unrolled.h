/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * store_unrolled: finds what a writer that died had not rolled up.
 *
 * The clock can't say it, for it is set back now and then: windows are rolled up in the order in
 * which they were recorded. So what decides is the boot, and the boot-time when a window ended.
 */
#ifndef STORE_STORE_UNROLLED_H
#define STORE_STORE_UNROLLED_H

#include "store/store_files.h"

/* A file with windows that are not in the level above. */
struct store_unrolled {
	const struct store_file *file;
	uint64_t end;	/* when its last window ended (boot-time ns) */
	uint64_t until; /* windows of its boot that ended up to here are in the level above */
};

/*
 * Lists the files of level @from with windows that level @to lacks, in the order in which they were
 * recorded, a boot after the other; what can't be read is passed over. *@ret is malloc'ed and
 * refers to @files. Errors: -ENOMEM.
 */
int store_unrolled_list(const struct store_files *files, enum store_level from, enum store_level to,
			struct store_unrolled **ret, size_t *ret_n);

#endif
