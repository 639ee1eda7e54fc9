/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * functions: the weight of each function, wherever it is called. Tables show it.
 *
 * A function's total counts a stack once, however often the function is on it (recursion). The same
 * goes for modules, commands and reasons.
 */
#ifndef CORE_FUNCTIONS_H
#define CORE_FUNCTIONS_H

#include "core/tree.h"

struct functions {
	struct tree_side (*frames)[N_SIDES]; /* per group, by its number */
	size_t n;
};

/*
 * Counts groups of frames of @stacks, which need not be finished: @groups[frame] < @n_groups is the
 * frame's group; UINT32_MAX: none. *@ret has one item per group. A stack's self weight belongs to
 * the group of its last frame that has one. Errors: -ENOMEM.
 */
int functions_count_groups(const struct stacks *stacks, const uint32_t *groups, size_t n_groups,
			   struct functions *ret);
void functions_done(struct functions *functions);

#endif
