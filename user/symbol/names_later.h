/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * names_later: the files whose debug information takes too long for a window to wait for. Once the
 * window is written they are read, into the cache, for the windows that follow.
 */
#ifndef SYMBOL_NAMES_LATER_H
#define SYMBOL_NAMES_LATER_H

#include "core/source.h"
#include "symbol/names_cache.h"

struct later_file {
	struct names_key key;
	int fd, root;	     /* the caller's; must stay open */
	char *path;	     /* owned, and below */
	uint64_t *addresses; /* ascending, distinct */
	size_t n;
};

struct names_later {
	struct later_file *items;
	size_t n, capacity;
};

/* Errors: -ENOMEM. */
int names_later_add(struct names_later *later, const struct names_key *key,
		    const struct debug_place *place, int root, const uint64_t *addresses, size_t n);
void names_later_done(struct names_later *later);

/* Until when a file rests whose reading took @took_ns and ended at @now_ns. */
uint64_t names_later_rest(const struct symbolize_options *options, uint64_t now_ns,
			  uint64_t took_ns);

/*
 * Reads them. A file gets 10 s and the reader's memory; what needs more is given up for good. One
 * that was read rests a hundred times as long as that took, 3 000 times with is_frugal.
 * Errors: -ENOMEM.
 */
int names_later_learn(const struct names_later *later, const struct symbolize_options *options);

#endif
