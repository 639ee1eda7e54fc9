/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * join: two profiles that were recorded one after the other become one.
 */
#ifndef COLLECT_JOIN_H
#define COLLECT_JOIN_H

#include "core/profile.h"

/*
 * Adds all that @from holds to @to, its time included. Neither was symbolized yet. @mappings, with
 * room for as many as @from has, gets what each mapping of @from is in @to. Errors: -ENOMEM,
 * -E2BIG; @to is valid and holds a part of @from then.
 */
int profile_join(struct profile *to, const struct profile *from, uint32_t *mappings);

#endif
