/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * folded_stack: every line must be written back unchanged. A piece therefore gets the meaning of
 * its place only if unfolder_next() would put it there; otherwise it is a frame of that name. An
 * apparent chain of wakers that breaks the rules becomes frames, from its separator on.
 */
#include "input/folded_stack.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* The longest chain of wakers that is recorded. */
#define MAX_WAKERS 8

/* The parts of a line, as indexes of its frames. */
struct parts {
	bool is_idle;
	size_t command;
	enum stack_end end;
	size_t first, limit; /* the stack's own frames */
	enum off_reason reason;
	size_t wakers[MAX_WAKERS + 1]; /* the separators, and the line's end */
	size_t n_wakers;
};

void folded_stack_done(struct folded_stack *stack)
{
	free(stack->frames);
	free(stack->locations);
}

static inline const struct piece *piece_at(const struct folded_stack *stack, size_t i)
{
	return &stack->pieces->items[stack->frames[i].piece];
}

static enum off_reason reason_at(const struct folded_stack *stack, size_t i)
{
	const struct piece *piece = piece_at(stack, i);

	return piece->mark == MARK_REASON ? piece->reason : REASON_NONE;
}

/* Sets the bounds of the chain of wakers, if there is one that would be written so. */
static void find_wakers(const struct folded_stack *stack, struct parts *parts)
{
	size_t n = 0;

	for (size_t i = parts->first; i < stack->n; i++) {
		if (piece_at(stack, i)->mark != MARK_SEPARATOR)
			continue;
		/* Each has at least a name, and a recording never writes more than MAX_WAKERS. */
		if (n == MAX_WAKERS || i + 1 == stack->n ||
		    piece_at(stack, i + 1)->mark == MARK_SEPARATOR)
			return;
		parts->wakers[n++] = i;
	}
	if (!n)
		return;
	if (parts->wakers[0] > parts->first) {
		enum off_reason reason = reason_at(stack, parts->wakers[0] - 1);

		/* A thread on a CPU's queue waits for no other thread. */
		if (off_reason_is_runnable(reason))
			return;
	}
	parts->limit = parts->wakers[0];
	parts->wakers[n] = stack->n;
	parts->n_wakers = n;
}

static void find_parts(const struct folded_stack *stack, struct parts *parts)
{
	size_t i = 0;

	if (stack->n > 1 && piece_at(stack, 0)->mark == MARK_IDLE) {
		parts->is_idle = true;
		i++;
	}
	parts->command = i++;
	if (i < stack->n && piece_at(stack, i)->mark == MARK_TRUNCATED) {
		parts->end = STACK_TRUNCATED;
		i++;
	}
	parts->first = i;
	parts->limit = stack->n;
	if (stack->frames[stack->n - 1].n_separators)
		find_wakers(stack, parts);
	if (parts->limit > parts->first)
		parts->reason = reason_at(stack, parts->limit - 1);
	parts->limit -= parts->reason != REASON_NONE;
}

static int locate(struct folded_stack *stack, size_t i, int side, uint32_t *ret_location)
{
	if (side == 0) {
		*ret_location = stack->frames[i].location;
		return 0;
	}
	return pieces_locate(stack->pieces, stack->frames[i].piece, side, ret_location);
}

/* Adds the stack of frames [@first, @limit). @leaf_first: they are in that order in the line. */
static int add_stack(struct folded_stack *stack, int side, size_t first, size_t limit,
		     bool leaf_first, enum stack_end end, uint32_t *ret_stack)
{
	uint32_t n = 0;
	int r = array_reserve(stack->locations, stack->locations_capacity, 0, limit - first + 1);

	if (r < 0)
		return r;
	for (size_t k = 0; k < limit - first; k++) {
		size_t i = leaf_first ? first + k : limit - 1 - k;

		if (stack->no_inline && piece_at(stack, i)->kind == FRAME_INLINED)
			continue;
		r = locate(stack, i, side, &stack->locations[n++]);
		if (r < 0)
			return r;
	}
	return profile_add_stack(stack->pieces->profiles[side], stack->locations, n, end,
				 ret_stack);
}

/* Reads the waker's name from the last piece of its part. */
static int name_waker(struct folded_stack *stack, int side, size_t i, struct profile_waker *waker)
{
	struct strings *strings = &stack->pieces->profiles[side]->strings;
	int r = pieces_command(stack->pieces, stack->frames[i].piece, side, &waker->comm);
	char text[256];
	size_t n;

	if (r < 0)
		return r;
	n = strings_length(strings, waker->comm);
	if (!piece_split_waker(strings_get(strings, waker->comm), n, &n, &waker->tid))
		return 0;
	memcpy(text, strings_get(strings, waker->comm), n);
	return strings_add_bytes(strings, text, n, &waker->comm);
}

/* Reads the waker between the separators @first - 1 and @limit: frames, leaf first, and a name. */
static int add_waker(struct folded_stack *stack, int side, size_t first, size_t limit,
		     uint32_t *waker_id)
{
	struct profile_waker waker = {.next = *waker_id};
	enum stack_end end = STACK_COMPLETE;
	size_t name = limit - 1;
	int r;

	limit = name;
	if (piece_at(stack, name)->mark == MARK_INTERRUPT) {
		waker.is_interrupt = true;
	} else {
		r = name_waker(stack, side, name, &waker);
		if (r < 0)
			return r;
		if (limit > first && piece_at(stack, limit - 1)->mark == MARK_TRUNCATED) {
			end = STACK_TRUNCATED;
			limit--;
		}
	}
	r = add_stack(stack, side, first, limit, true, end, &waker.stack);
	if (r < 0)
		return r;
	return profile_add_waker(stack->pieces->profiles[side], &waker, waker_id);
}

static void note(struct folded_stack *stack, const struct parts *parts)
{
	if (parts->reason == REASON_ONCPU)
		stack->has_running = true;
	else if (parts->reason != REASON_NONE)
		stack->has_waiting = true;
	if (!piece_at(stack, parts->command)->is_thread)
		stack->has_no_thread = true;
}

int folded_stack_read(struct folded_stack *stack, int side, struct profile_sample *ret)
{
	struct parts parts = {.reason = REASON_NONE};
	struct profile_sample sample = {0};
	int r;

	find_parts(stack, &parts);
	sample.is_idle = parts.is_idle;
	sample.reason = parts.reason;
	r = pieces_command(stack->pieces, stack->frames[parts.command].piece, side, &sample.comm);
	if (r < 0)
		return r;
	r = add_stack(stack, side, parts.first, parts.limit, false, parts.end, &sample.stack);
	for (size_t i = parts.n_wakers; i-- > 0 && r == 0;)
		r = add_waker(stack, side, parts.wakers[i] + 1, parts.wakers[i + 1], &sample.waker);
	if (r < 0)
		return r;
	note(stack, &parts);
	*ret = sample;
	return 0;
}

int folded_stack_add(struct folded_stack *stack, int side, uint64_t count, uint64_t nanoseconds)
{
	struct profile_sample sample;
	int r = folded_stack_read(stack, side, &sample);

	if (r < 0)
		return r;
	sample.count = count;
	sample.nanoseconds = nanoseconds;
	return profile_add_sample(stack->pieces->profiles[side], &sample);
}
