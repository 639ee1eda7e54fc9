/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * compact: equal stacks of a side become one, so that many runs take the memory of what is distinct
 * in them.
 */
#ifndef COMPARE_COMPACT_H
#define COMPARE_COMPACT_H

#include "core/stacks.h"

/*
 * Merges equal stacks of @stacks, which are neither finished nor kept in the order of time; more
 * can be added after it. Costs a sort. Errors: -ENOMEM, the stacks valid.
 */
int stacks_compact(struct stacks *stacks);

#endif
