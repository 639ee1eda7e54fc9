/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * series_function: which rows of a store have a function. A node of a ledger has what its parent
 * has, so each node, and each name, is looked at once a file: a month is quick.
 */
#ifndef CMD_SERIES_FUNCTION_H
#define CMD_SERIES_FUNCTION_H

#include "core/matcher.h"
#include "store/ledger.h"

struct series_function {
	struct matcher matcher; /* by strings of the ledger at hand */
	struct matcher marks;	/* by enum off_reason; MARK_TRUNCATED after them */
	bool *has;		/* by node */
	size_t n, capacity;	/* nodes */
};

/*
 * @expression: as of --function, which also matches commands and causes; NULL: all rows have it.
 * Errors: -EINVAL. series_function_done() is due either way.
 */
int series_function_init(struct series_function *function, const char *expression);
void series_function_done(struct series_function *function);

/* Looks at what is new in @ledger; @is_first: it is another one. Errors: -ENOMEM. */
int series_function_read(struct series_function *function, const struct ledger *ledger,
			 bool is_first);

/* Whether a row of it has the function: 1, 0, or -ENOMEM. */
int series_function_test(struct series_function *function, const struct ledger *ledger,
			 const struct ledger_row *row);

#endif
