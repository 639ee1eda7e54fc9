/* SPDX-License-Identifier: GPL-2.0-or-later */
/* names_cached: takes names from the cache (names_cache.h), asks for missing ones and caches them.
 */
#ifndef SYMBOL_NAMES_CACHED_H
#define SYMBOL_NAMES_CACHED_H

#include "symbol/names_ask.h"
#include "symbol/names_cache.h"

/* Whether the names from the file @fd may be cached; -1: the vDSO. Sets *@ret to the file's key. */
bool names_cached_key(const struct names_asker *asker, const struct names_source *source, int fd,
		      struct names_key *ret);

/*
 * The same as names_ask(). Debug information that takes too long or too much is left for later, or
 * for good; the names of symbols are there at once.
 */
int names_cached_ask(struct names_asker *asker, const struct names_source *source,
		     const struct names_key *key, const struct lookups *lookups,
		     const struct debug_place *place, struct file_names *ret);

/*
 * Names @lookups in the kernel. Caches functions of the kernel itself, which stay where they are;
 * those of modules and BPF programs do not. Errors: -ENOMEM, -E2BIG; see kernel_names_find().
 */
int names_cached_kernel(struct names_asker *asker, struct lookups *lookups, int *ret_refused);

#endif
