/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * functions: what each function weighs, wherever it stands. What tables are made of.
 *
 * A function's total counts a stack once, however often the function is on it (recursion); so does
 * that of a module, a command, a reason.
 */
#ifndef CORE_FUNCTIONS_H
#define CORE_FUNCTIONS_H

#include "core/tree.h"

struct functions {
	struct tree_side (*frames)[N_SIDES]; /* one for each frame of the stacks, by its number */
	size_t n;
};

/* The functions of @stacks, which need not be finished. Errors: -ENOMEM. */
int functions_count(const struct stacks *stacks, struct functions *ret);

/*
 * The same, by groups of frames: @groups[frame] < @n_groups is the group of a frame; UINT32_MAX:
 * none. *@ret has one item for each group. A stack's self weight belongs to the group of its last
 * frame that is in one. Errors: -ENOMEM.
 */
int functions_count_groups(const struct stacks *stacks, const uint32_t *groups, size_t n_groups,
			   struct functions *ret);
void functions_done(struct functions *functions);

#endif
