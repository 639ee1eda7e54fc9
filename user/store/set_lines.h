/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * set_lines: sets as lines of index.jsonl, one JSON object each.
 *
 * Keys that are not known are left alone. What is read may have been written by anyone: text is
 * only text, numbers have bounds, and a set whose files have names that no set of ours has is none.
 */
#ifndef STORE_SET_LINES_H
#define STORE_SET_LINES_H

#include <stdio.h>

#include "core/sets.h"

/* What all lines begin with, also where a program has put spaces in. */
#define SET_LINE_START "{\"bpfflame\""

/* Writes the line with its newline. */
void set_line_write(const struct sets *sets, const struct set *set, FILE *stream);

/* Adds the set of a line, which ends with a NUL. Errors: -EINVAL: it is none, nothing was added;
 * -ENOMEM, -E2BIG. */
int set_line_read(const char *line, struct sets *sets);

#endif
