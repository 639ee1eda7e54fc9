/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * report: a profile as text that a person reads in a terminal, or as JSON.
 *
 * Everything is a share of the whole that was recorded. What tables are about is code and who ran
 * it: wakers, behind their separator, only stand in the tree. With unfold_options.fold_idle, what
 * waits for work is one row at the end of each table, `[idle]`.
 */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include <stdio.h>

#include "core/stacks.h"

enum report_by {
	REPORT_FUNCTIONS,
	REPORT_WAITS, /* what waited, where in the program's own code: core/leaders.h */
	REPORT_COMMANDS,
	REPORT_MODULES,
	REPORT_THREADS,
	REPORT_REASONS,
	N_REPORT_BY
};

struct report_options {
	bool by[N_REPORT_BY]; /* which tables; none set: those that have something to tell */
	bool by_total;	      /* sort by total in place of self */
	size_t limit;	      /* rows of the table of functions; 0: all */
	size_t group_limit;   /* rows of each other table; 0: all */
	bool tree;	      /* the call tree; in text, in place of tables */
	double tree_percent;  /* what is below this share of its tree is left out */
	const char *callers;  /* extended regular expression: the tree of who calls such functions;
				 in text, in place of tables; NULL: no */
	bool colour;	      /* escape sequences */
	unsigned int columns; /* of the terminal; 0: 100; never fewer than 40 */
};

/* The most nodes of a tree that are written, whatever tree_percent is. */
#define REPORT_MAX_NODES 20000

/*
 * @stacks are finished, neither reversed nor a comparison.
 * Errors of both: -ENOMEM; -EINVAL for an expression that regcomp() refuses and for a comparison; a
 * failed write shows in ferror(@stream).
 */
int report_text(const struct stacks *stacks, const struct report_options *options, FILE *stream);
int report_json(const struct stacks *stacks, const struct report_options *options, FILE *stream);

/* "functions", "commands", …, as --by has them. */
extern const char *const report_by_names[N_REPORT_BY];

#endif
