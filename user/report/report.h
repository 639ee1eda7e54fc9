/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * report: writes a profile as text for a person at a terminal, or as JSON.
 *
 * Everything is a share of the whole recording. Tables cover code and who ran it; wakers, after
 * their separator, are only in the tree. With unfold_options.fold_idle, waits for work are one row
 * at the end of each table, `[idle]`.
 */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include <stdio.h>

#include "core/stacks.h"

enum report_by {
	REPORT_FUNCTIONS,
	REPORT_WAITS, /* what waited, and where in the program's own code: core/leaders.h */
	REPORT_COMMANDS,
	REPORT_MODULES,
	REPORT_THREADS,
	REPORT_REASONS,
	N_REPORT_BY
};

struct report_options {
	bool by[N_REPORT_BY]; /* which tables; none set: those worth showing */
	bool by_total;	      /* sort by total instead of self */
	size_t limit;	      /* rows of the table of functions; 0: all */
	size_t group_limit;   /* rows of each other table; 0: all */
	bool tree;	      /* show the call tree; in text, instead of tables */
	double tree_percent;  /* leave out nodes below this share of their tree */
	const char *callers;  /* extended regular expression: show the tree of callers of such
				 functions; in text, instead of tables; NULL: no */
	bool colour;	      /* escape sequences */
	unsigned int columns; /* of the terminal; 0: 100; at least 40 */
};

/* The most nodes of a tree that are written, whatever tree_percent is. */
#define REPORT_MAX_NODES 20000

/*
 * @stacks are finished, neither reversed nor a comparison. Both return -ENOMEM; -EINVAL for an
 * expression that regcomp() refuses and for a comparison; a failed write shows in ferror(@stream).
 */
int report_text(const struct stacks *stacks, const struct report_options *options, FILE *stream);
int report_json(const struct stacks *stacks, const struct report_options *options, FILE *stream);

/* "functions", "commands", …, the names that --by takes. */
extern const char *const report_by_names[N_REPORT_BY];

#endif
