/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * moment: points of time as people type them.
 *
 *	-1h, -30m, -2d	before now	now, today, yesterday, tuesday	(the day's beginning)
 *	14:03, 14:03:20	today		yesterday 14:03, tuesday 14:03
 *	2026-11-17	2026-11-17 14:03	2026-11-17T14:03:20.5Z, …+01:00
 *
 * Local time, unless a zone is there: the first one of two that are called the same; where clocks
 * skip it, the moment at which they do.
 */
#ifndef CLI_MOMENT_H
#define CLI_MOMENT_H

#include <stdint.h>

#include "base/failure.h"

/* @now_ns: since 1970, and so is the result. Errors: -EINVAL. */
int moment_parse(const char *text, uint64_t now_ns, uint64_t *ret_ns);

/* The same, explained. */
int moment_read(const char *text, uint64_t now_ns, uint64_t *ret_ns, struct failure *failure);

/* Explains a range [@from, @to) in which no moment is. Errors: -EINVAL. */
int moment_check_range(uint64_t from, uint64_t to, struct failure *failure);

#define MOMENT_SIZE 40
/* `2026-11-17 14:03:20`, local. */
const char *moment_text(uint64_t ns, char text[static MOMENT_SIZE]);
/* `2026-11-17T13:03:20Z`, with milliseconds where they are not 0. */
const char *moment_utc(uint64_t ns, char text[static MOMENT_SIZE]);

#endif
