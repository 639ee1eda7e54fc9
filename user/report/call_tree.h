/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * call_tree: a tree in the order in which it is read: what weighs most comes first.
 */
#ifndef REPORT_CALL_TREE_H
#define REPORT_CALL_TREE_H

#include "core/tree.h"
#include "report/ranking.h"

/* A node, in depth-first order; the root has none. */
struct call_line {
	uint32_t node;
	uint32_t elided; /* its elided child, if that is no line of its own; else TREE_NONE */
	uint32_t level;	 /* of the roots' children: 0. An only child stands at that of its parent */
	bool is_branch;	 /* not an only child */
	bool is_last;	 /* of its level's branches: it, or the one that it only goes on from */
};

/* It must stay where it was made. */
struct call_tree {
	struct stacks callers; /* of a tree of callers; borrows frames and strings */
	struct tree tree;
	struct call_line *lines;
	size_t n_lines;
};

/*
 * What is called, from the command on. @percent: of all that was recorded; what is below it is
 * left out. Errors: -ENOMEM, -E2BIG.
 */
int call_tree_make(const struct report_source *source, double percent, struct call_tree *ret);

/*
 * Who calls the functions that match the extended regular expression @pattern: they are the first
 * level, their callers stand below them. Of a stack with several matches, only the outermost
 * counts; wakers never match, reasons do. @percent: of all matches. Errors: -ENOMEM, -E2BIG;
 * -EINVAL for the expression.
 */
int call_tree_make_callers(const struct report_source *source, const char *pattern, double percent,
			   struct call_tree *ret);
void call_tree_done(struct call_tree *tree);

#endif
