/* SPDX-License-Identifier: GPL-2.0-or-later */
/* search: functions and processes by their names, the heaviest first. */
#ifndef REPORT_SEARCH_H
#define REPORT_SEARCH_H

#include <stdio.h>

#include "core/stacks.h"

struct search_options {
	const char *expression; /* of the names of functions and commands; NULL: all */
	size_t limit;		/* functions, and processes; 0: all */
	bool json;		/* else text */
};

/*
 * @profile: of times; @stacks: made of it, finished, neither reversed nor a comparison. Errors:
 * -ENOMEM, -E2BIG, -EINVAL the expression; a failed write shows in ferror(@stream).
 */
int search_write(const struct profile *profile, const struct stacks *stacks,
		 const struct search_options *options, FILE *stream);

#endif
