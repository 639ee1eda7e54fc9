/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * top: the few lines at the end of a recording's summary that say where the time goes: what ran
 * longest and what waited longest, see core/leaders.h.
 */
#ifndef REPORT_TOP_H
#define REPORT_TOP_H

#include <stdio.h>

#include "base/json.h"
#include "core/stacks.h"

/*
 * Writes at most @limit lines of each, as shares of the weight of @stacks; omits an empty list.
 * @columns: of the terminal; 0: 100. Both return -ENOMEM; -EINVAL for a comparison.
 */
int top_text(const struct stacks *stacks, size_t limit, unsigned int columns, FILE *stream);
/* Writes two members of the open object: "hottest" and "waits". */
int top_json(const struct stacks *stacks, size_t limit, struct json *json);

#endif
