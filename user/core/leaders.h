/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * leaders: the few lines that say where the time goes: what ran longest, and what waited longest.
 *
 * Running is told by the function that ran, waiting by the last one of the program's own code: that
 * a thread waits in poll() says little, that its event loop called it says more. Not a program's
 * own are the C library, the C++, Rust, Go and Java runtimes, and the kernel. Code without a name
 * gives way to the named function that called it. What has nothing of its own is told by the last
 * frame there is.
 */
#ifndef CORE_LEADERS_H
#define CORE_LEADERS_H

#include "core/stacks.h"

enum leaders_of { LEADERS_RUNNING, LEADERS_WAITING, N_LEADERS_OF };

/* All text is the stacks', or the leaders'. */
struct leader {
	const char *function, *module; /* module: "" when unknown */
	enum frame_kind kind;
	const char *command; /* the stacks' first frame, of a thread its command */
	const char *reason;  /* `[futex]`; "" of what ran */
	uint64_t weight;
};

struct leaders {
	struct leader *rows; /* the heaviest first */
	size_t n;
	uint64_t weight; /* of all rows */
	struct strings commands;
};

/*
 * The rows of @stacks, a finished or unfinished profile that is not reversed. What waits for work
 * and is folded under
 * `[idle]` is in none. Errors: -ENOMEM; *@ret needs no leaders_done() then.
 */
int leaders_find(const struct stacks *stacks, enum leaders_of of, struct leaders *ret);
void leaders_done(struct leaders *leaders);

#endif
