/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * compact: merges equal stacks of a side, so that many runs take the memory of their distinct
 * stacks only.
 */
#ifndef COMPARE_COMPACT_H
#define COMPARE_COMPACT_H

#include "core/stacks.h"

/*
 * Merges equal stacks of @stacks, which must be neither finished nor kept in order of time. More
 * can be added afterwards. Costs a sort. Errors: -ENOMEM; the stacks stay valid.
 */
int stacks_compact(struct stacks *stacks);

#endif
