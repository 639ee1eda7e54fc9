/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * folded_stack: the pieces of a folded line, read as the sample that unfolds to them.
 */
#ifndef INPUT_FOLDED_STACK_H
#define INPUT_FOLDED_STACK_H

#include "input/pieces.h"

/* No program has stacks like that; what looks like one is no stack. */
#define FOLDED_MAX_FRAMES ((size_t)1 << 20)

/* One piece of the line. */
struct folded_frame {
	uint32_t end;  /* where its `;` is, in bytes from the line's start */
	uint32_t hash; /* of the piece */
	uint32_t piece;
	uint32_t location;     /* on the first side; of the line's first piece: PIECE_UNSET */
	uint32_t n_separators; /* up to here, the line's first piece left out */
};

/* A line, and room for what becomes of it. */
struct folded_stack {
	struct pieces *pieces;
	struct folded_frame *frames;
	size_t n, capacity;
	uint32_t *locations;
	size_t locations_capacity;
	bool no_inline; /* leave inlined functions out */

	/* What was seen in all lines so far. */
	bool has_running, has_waiting; /* reasons: [on-cpu], others */
	bool has_no_thread;	       /* a root that is not `comm-PID/TID` */
};

void folded_stack_done(struct folded_stack *stack);

/*
 * What the line says of a sample of the profile of @side: all but its weights. Adds its stack and
 * wakers to the profile. Errors: -ENOMEM, -E2BIG.
 */
int folded_stack_read(struct folded_stack *stack, int side, struct profile_sample *ret);

/*
 * Adds the line's sample to the profile of @side, with the @count and @nanoseconds given.
 * Errors: -ENOMEM, -E2BIG.
 */
int folded_stack_add(struct folded_stack *stack, int side, uint64_t count, uint64_t nanoseconds);

#endif
