/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * set_lines: sets as lines of index.jsonl, one JSON object each.
 *
 * Unknown keys are ignored. Anyone may have written the list: text stays text, numbers have bounds,
 * and a set whose files have names other than ours is rejected.
 */
#ifndef STORE_SET_LINES_H
#define STORE_SET_LINES_H

#include <stdio.h>

#include "core/sets.h"

/* All lines begin with this, even if a program has inserted spaces later. */
#define SET_LINE_START "{\"bpfflame\""

/* Writes the line with its newline. */
void set_line_write(const struct sets *sets, const struct set *set, FILE *stream);

/*
 * Adds the set of a NUL-terminated line. Errors: -EINVAL: not a set, nothing added; -ENOMEM,
 * -E2BIG.
 */
int set_line_read(const char *line, struct sets *sets);

#endif
