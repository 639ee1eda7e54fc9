/* SPDX-License-Identifier: GPL-2.0-or-later */
/* call_tree: a tree in reading order, heaviest first. */
#ifndef REPORT_CALL_TREE_H
#define REPORT_CALL_TREE_H

#include "core/tree.h"
#include "report/ranking.h"

/* A node in depth-first order; the root has no line. */
struct call_line {
	uint32_t node;
	uint32_t elided; /* its elided child, unless that has a line of its own; else TREE_NONE */
	uint32_t level;	 /* the roots' children: 0. An only child has its parent's level */
	bool is_branch;	 /* not an only child */
	bool is_last;	 /* last branch of its level, or continues that one */
};

/* Don't move it once it is made. */
struct call_tree {
	struct stacks callers; /* of a tree of callers; borrows frames and strings */
	struct tree tree;
	struct call_line *lines;
	size_t n_lines;
};

/*
 * Makes the tree of calls, from the command on. @percent: leave out nodes below this share of
 * everything. Errors: -ENOMEM, -E2BIG.
 */
int call_tree_make(const struct report_source *source, double percent, struct call_tree *ret);

/*
 * Makes the tree of callers of the functions that match the extended regular expression @pattern:
 * these are the first level, with their callers below. Of a stack with several matches, only the
 * outermost counts; wakers never match, reasons do. @percent: of all matches. Errors: -ENOMEM,
 * -E2BIG; -EINVAL for the expression.
 */
int call_tree_make_callers(const struct report_source *source, const char *pattern, double percent,
			   struct call_tree *ret);
void call_tree_done(struct call_tree *tree);

#endif
