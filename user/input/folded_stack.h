/* SPDX-License-Identifier: GPL-2.0-or-later */
/* folded_stack: turns the pieces of a folded line into the sample that unfolds to them. */
#ifndef INPUT_FOLDED_STACK_H
#define INPUT_FOLDED_STACK_H

#include "input/pieces.h"

/* No program has stacks this deep; longer input is not a stack. */
#define FOLDED_MAX_FRAMES ((size_t)1 << 20)

/* One piece of the line. */
struct folded_frame {
	uint32_t end;  /* offset of its `;` from the line's start */
	uint32_t hash; /* of the piece */
	uint32_t piece;
	uint32_t location;     /* on the first side; PIECE_UNSET for the line's first piece */
	uint32_t n_separators; /* from the line's second piece up to here */
};

/* A line, and buffers for what it becomes. */
struct folded_stack {
	struct pieces *pieces;
	struct folded_frame *frames;
	size_t n, capacity;
	uint32_t *locations;
	size_t locations_capacity;
	bool no_inline; /* drop inlined functions */

	/* Seen in all lines so far. */
	bool has_running, has_waiting; /* reasons: [on-cpu]; others */
	bool has_no_thread;	       /* a root other than `comm-PID/TID` */
};

void folded_stack_done(struct folded_stack *stack);

/*
 * Reads the line as a sample of the profile of @side, without its weights. Adds the stack and the
 * wakers to the profile. Errors: -ENOMEM, -E2BIG.
 */
int folded_stack_read(struct folded_stack *stack, int side, struct profile_sample *ret);

/*
 * Adds the line's sample to the profile of @side, with the @count and @nanoseconds given.
 * Errors: -ENOMEM, -E2BIG.
 */
int folded_stack_add(struct folded_stack *stack, int side, uint64_t count, uint64_t nanoseconds);

#endif
