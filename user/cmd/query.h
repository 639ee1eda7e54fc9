/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * query: answers about a store, where the daemon and not a user calls `bpfflame query`.
 */
#ifndef CMD_QUERY_H
#define CMD_QUERY_H

#include <stdio.h>

#include "base/failure.h"

enum query_kind {
	QUERY_CPU,	 /* a pprof file of running threads, as those of Go's runtime */
	QUERY_WAITS,	 /* … of waiting ones */
	QUERY_PROFILE,	 /* any format; none: the tables as JSON */
	QUERY_DIFF,	 /* of two ranges; any format of comparisons */
	QUERY_WORSE,	 /* what grew since the days before, JSON */
	QUERY_FUNCTIONS, /* functions and processes by name, JSON */
	QUERY_SERIES,
	QUERY_LIST,
};

/*
 * Writes the answer; @argv: words of `bpfflame query`, of which only those that say what is of
 * interest may be there. For a confined process that may read the store. Errors, explained:
 * -EINVAL the words; -ENODATA there is nothing to answer from; others as of store_read().
 */
int query_answer(enum query_kind kind, int argc, char **argv, FILE *stream,
		 struct failure *failure);

#endif
