/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * query_diff: compares ranges of a store, as `bpfflame diff --per-second` does: two of them; or
 * one, of a day at most, with the same time of the seven days before.
 */
#ifndef CMD_QUERY_DIFF_H
#define CMD_QUERY_DIFF_H

#include <stdio.h>

#include "base/failure.h"
#include "cmd/query_options.h"

/* The name of a range for whatever reads inputs, malloc'ed; NULL: no memory. @to: NULL: now. */
char *query_range(const struct query *query, const char *from, const char *to);
/* Adds more ranges, of the same store, to such a name. Errors: -ENOMEM. */
int query_add_ranges(char **name, const struct query_ranges *more);

/* Writes the files that the user asked for, or text. Returns an exit code. */
int query_diff_run(struct query *query, struct failure *failure);

/*
 * Writes the first format of -f, JSON or text to @stream. For a confined process that may read the
 * store. Errors: -EINVAL the ranges; those of diff_answer().
 */
int query_diff_answer(struct query *query, FILE *stream, struct failure *failure);

/*
 * Writes what grew since the days before, as JSON or text. Days of which at least half of the range
 * was recorded are the runs of the base: how they differ says what a change is worth. For a
 * confined process, too. Errors: also -ENODATA there is no such day.
 */
int query_worse_answer(struct query *query, FILE *stream, struct failure *failure);

#endif
