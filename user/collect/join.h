/* SPDX-License-Identifier: GPL-2.0-or-later */
/* join: joins two profiles that were recorded one after the other. */
#ifndef COLLECT_JOIN_H
#define COLLECT_JOIN_H

#include "core/profile.h"

/*
 * Adds all of @from to @to, including its time. Neither may be symbolized yet. @mappings has room
 * for the mappings of @from, and gets the index in @to of each. Errors: -ENOMEM, -E2BIG; @to is
 * then valid and holds a part of @from.
 */
int profile_join(struct profile *to, const struct profile *from, uint32_t *mappings);

#endif
