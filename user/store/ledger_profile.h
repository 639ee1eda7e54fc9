/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ledger_profile: a ledger as a profile, as a recording with --wall would have made it.
 */
#ifndef STORE_LEDGER_PROFILE_H
#define STORE_LEDGER_PROFILE_H

#include "store/ledger.h"

/* The elided part, microseconds of the total. */
struct ledger_elided {
	uint64_t running, waiting;
	uint64_t total_running, total_waiting;
};

/* What a stack begins with. */
enum ledger_group {
	LEDGER_COMM,
	LEDGER_UNIT,
	LEDGER_CGROUP,
	LEDGER_CONTAINER,
	LEDGER_CAUSE,
	N_LEDGER_GROUPS,
};

/* Outermost first, each once; @n 0: the command alone. */
struct ledger_grouping {
	uint8_t by[N_LEDGER_GROUPS]; /* enum ledger_group */
	size_t n;
};

/* @text: `unit,comm`. Errors: -EINVAL. */
int ledger_grouping_parse(const char *text, struct ledger_grouping *ret);

/*
 * Adds @ledger to @profile, which becomes one of PROFILE_WALL. @ledger may have been read or
 * filled; its strings are gone afterwards, so only ledger_done() is due. @grouping: NULL as one
 * with @n 0. Where it has more than @most_nodes nodes, those with less than a millionth of what
 * ran, and of what waited, end in one frame `[elided]`; 0: none do. Errors: -ENOMEM, -E2BIG.
 */
int ledger_profile(struct ledger *ledger, const struct ledger_grouping *grouping, size_t most_nodes,
		   struct profile *profile, struct ledger_elided *ret_elided);

#endif
