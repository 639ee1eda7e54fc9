/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * top: the few lines that answer where the time goes, at the end of a recording's summary: what ran
 * longest and what waited longest, see core/leaders.h.
 */
#ifndef REPORT_TOP_H
#define REPORT_TOP_H

#include <stdio.h>

#include "base/json.h"
#include "core/stacks.h"

/*
 * At most @limit lines of each, shares of all that @stacks weigh; nothing for what there is none
 * of.
 * @columns: of the terminal; 0: 100. Errors of both: -ENOMEM; -EINVAL for a comparison.
 */
int top_text(const struct stacks *stacks, size_t limit, unsigned int columns, FILE *stream);
/* Two members of the object that is open: "hottest" and "waits". */
int top_json(const struct stacks *stacks, size_t limit, struct json *json);

#endif
