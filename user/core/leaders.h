/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * leaders: the few lines that say where the time goes: what ran longest, and what waited longest.
 *
 * A running thread is named by the function that ran, a waiting one by the last function of the
 * program's own code: that a thread waits in poll() says little, that its event loop called it says
 * more. The C library, the C++, Rust, Go and Java runtimes and the kernel are not the program's
 * own. Code without a name gives way to the named function that called it; a stack with nothing of
 * its own is named by its last frame.
 *
 * In both cases an interpreter gives way to the last function that it runs, if that is known.
 */
#ifndef CORE_LEADERS_H
#define CORE_LEADERS_H

#include "core/stacks.h"

enum leaders_of { LEADERS_RUNNING, LEADERS_WAITING, N_LEADERS_OF };

/* What a frame is in a search for the function that a thread waits in. */
enum leaders_code {
	CODE_FOREIGN,  /* a library's that programs wait through, the kernel's, or none */
	CODE_NAMELESS, /* the program's own, or an interpreter's, whose name says nothing */
	CODE_OWN,
};

enum leaders_code leaders_code(const struct stacks *stacks, const struct stacks_frame *frame);

/* All text belongs to the stacks or to the leaders. */
struct leader {
	const char *function, *module; /* module: "" when unknown */
	enum frame_kind kind;
	const char *command; /* the stack's first frame; for a thread, its command */
	const char *reason;  /* `[futex]`; "" for running code */
	uint64_t weight;
};

struct leaders {
	struct leader *rows; /* heaviest first */
	size_t n;
	uint64_t weight; /* of all rows */
	struct strings commands;
};

/*
 * Finds the rows of @stacks, finished or not, of one profile and not reversed. Waits for work that
 * are folded under `[idle]` are left out. Errors: -ENOMEM; *@ret then needs no leaders_done().
 */
int leaders_find(const struct stacks *stacks, enum leaders_of of, struct leaders *ret);
void leaders_done(struct leaders *leaders);

#endif
