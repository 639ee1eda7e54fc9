/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/flow_run.h"

#include <errno.h>
#include <string.h>

#include "unwind/flow_function.h"

#define GUESSES_WON  64	  /* added by a correct guess */
#define MANY_REFUSED 64	  /* functions */
#define MANY_BYTES   4096 /* in one piece: more than most tables of data between functions */
#define MAX_ROUNDS   4
#define YIELD_AFTER  16 /* functions */

/* Returns the next byte from @at on, before @end, that is neither known nor padding. */
static uint32_t next_unknown(const struct stack_flow *flow, uint32_t at, uint32_t end)
{
	uint8_t n;

	while (at < end) {
		if (flow->at[at] || !flow->code[at]) /* no function begins with a zero */
			at++;
		else if ((n = flow_padding(flow, at)))
			at += n;
		else
			break;
	}
	return at;
}

/* After a function's jump to a computed address, the code up to the next function is its target. */
static int follow_computed(struct stack_flow *flow, uint32_t start)
{
	const struct flow_range *range = flow_find_range(flow, start);
	uint32_t at = start, end = range->at + range->n;

	while (flow->computed) {
		int r;

		at = next_unknown(flow, at, end);
		if (at >= end || flow_is_other_start(flow, at))
			return 0;
		r = flow_follow(flow, at, flow->computed, true);
		if (r <= 0)
			return r;
	}
	return 0;
}

/* The code that signal handlers return to, `mov $15,%rax; syscall`: after a nop in all libcs. */
static const uint8_t restorer[] = {0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05};

static bool is_restorer(const struct stack_flow *flow, uint32_t start)
{
	const struct flow_range *range = flow_find_range(flow, start);

	return start > range->at && flow->code[start - 1] == 0x90 && !flow->at[start - 1] &&
	       range->n - (start - range->at) >= sizeof restorer &&
	       memcmp(flow->code + start, restorer, sizeof restorer) == 0;
}

/* Return addresses are looked up by the byte before: the nop. */
static void mark_restorer(struct stack_flow *flow, uint32_t start)
{
	uint16_t state = flow_number_state(flow, &stack_signal);

	if (!state)
		return;
	flow->at[start - 1] = state;
	for (uint32_t i = 0; i < sizeof restorer; i++)
		flow->at[start + i] = FLOW_INSIDE;
}

static int follow_function(struct stack_flow *flow, uint32_t start, bool needs_proof)
{
	uint16_t state = flow_number_state(flow, &stack_start);
	int r;

	if (is_restorer(flow, start)) {
		mark_restorer(flow, start);
		return 1;
	}

	flow->start = start;
	flow->computed = 0;
	if (!state)
		return 0;
	r = flow_follow(flow, start, state, needs_proof);
	flow->n_functions += r > 0;
	flow->n_refused += r == 0 && !needs_proof;
	if (r <= 0 || !flow->computed)
		return r;
	r = follow_computed(flow, start);
	return r < 0 ? r : 1;
}

/* Whether the code follows other rules, like V8's, and agrees with ours only by chance. */
static bool is_foreign(const struct stack_flow *flow)
{
	return flow->n_refused > MANY_REFUSED && flow->n_refused > flow->n_functions;
}

static int follow_starts(struct stack_flow *flow)
{
	while (flow->next_start < flow->n_starts && !is_foreign(flow)) {
		uint32_t start = flow->starts[flow->next_start++];
		int r;

		if (flow->yield && flow->next_start % YIELD_AFTER == 0)
			flow->yield(flow->context);

		if (flow->at[start])
			continue;
		r = follow_function(flow, start, !(flow->marks[start] & FLOW_IS_START));
		if (r < 0)
			return r;
	}
	return 0;
}

/* Whether the instruction at @at is `add %al,(%rax)`: zeros between functions. */
static bool is_zeros(const struct stack_flow *flow, uint32_t at, uint32_t end)
{
	return end - at >= 2 && !flow->code[at] && !flow->code[at + 1];
}

/* Skips to after the next instruction that ends a block, or to zeros. */
static uint32_t next_block(const struct stack_flow *flow, uint32_t at, uint32_t end)
{
	struct x86_insn insn;

	while (at < end && !flow->at[at] && !is_zeros(flow, at, end)) {
		if (x86_decode(flow->code + at, end - at, &insn) < 0)
			return at + 1;
		at += insn.length;
		if (insn.opcode == 0xc3 || flow_jumps(&insn) || flow_stops(&insn) ||
		    flow_jumps_anywhere(&insn))
			break;
	}
	return at;
}

/*
 * Goes on after a call that turned out to return, or, if flow->may_not_leave, that may have. Returns
 * 1 if anything follows, 0 if not.
 */
static int follow_doubt(struct stack_flow *flow, const struct flow_doubt *doubt)
{
	const struct flow_range *range = flow_find_range(flow, doubt->at);
	struct stack_state state = *stack_flow_state(flow, doubt->at);
	uint32_t next = doubt->at + doubt->length;
	bool is_known = doubt->target != FLOW_NOWHERE && (flow->marks[doubt->target] & FLOW_RETURNS);
	struct x86_insn call;
	uint16_t number;

	if ((!is_known && !flow->may_not_leave) || next >= range->at + range->n || flow->at[next] ||
	    x86_decode(flow->code + doubt->at, doubt->length, &call) < 0 ||
	    !stack_step(&state, &call))
		return 0;
	number = flow_number_state(flow, &state);
	flow->start = doubt->start;
	flow->computed = 0;
	return number ? flow_follow(flow, next, number, !is_known) : 0;
}

/* Each call may decide about others; more rounds than this are not worth it. */
static int follow_doubts(struct stack_flow *flow)
{
	bool more = true;

	for (unsigned int round = 0; round < MAX_ROUNDS && more; round++) {
		int r;

		more = false;
		for (size_t i = 0; i < flow->n_doubts; i++) {
			struct flow_doubt doubt = flow->doubts[i];

			r = follow_doubt(flow, &doubt);
			if (r < 0)
				return r;
			more |= r > 0;
		}
		r = follow_starts(flow);
		if (r < 0)
			return r;
	}
	return 0;
}

/*
 * Functions that never return prove nothing that follows their calls. Once all other functions are
 * known, the last call of one is right before another.
 */
static int follow_endless(struct stack_flow *flow)
{
	int r;

	for (uint32_t i = 0; i < flow->n; i++)
		if (!flow->at[i])
			flow->marks[i] &= ~FLOW_ENDLESS;
	flow->may_not_leave = true;
	r = follow_doubts(flow);
	flow->may_not_leave = false;
	return r;
}

/*
 * Tries whether a function begins at @at. @most: guesses that may be left then. Returns 1 if so, 0
 * if not, -ENOMEM.
 */
static int guess(struct stack_flow *flow, uint32_t at, int64_t most)
{
	uint64_t left = flow->steps_left;
	int r;

	if (flow->yield)
		flow->yield(flow->context);
	r = follow_function(flow, at, true);
	flow->guesses_left += r > 0 ? GUESSES_WON : -(int64_t)(left - flow->steps_left) - 1;
	if (flow->guesses_left > most)
		flow->guesses_left = most;
	return r;
}

/*
 * Code that nothing seems to call begins after known code, and needs proof. A long piece may well
 * be assembly, which nothing but pointers leads to.
 */
static int follow_rest(struct stack_flow *flow, const struct flow_range *range)
{
	uint32_t at = range->at, end = range->at + range->n;
	bool is_long = range->n >= MANY_BYTES && range->n > flow->guesses;
	int64_t left = flow->guesses_left;
	int r = 0;

	if (is_long)
		flow->guesses_left = range->n;
	while (r == 0 && flow->guesses_left > 0 && !is_foreign(flow)) {
		at = next_unknown(flow, at, end);
		if (at >= end)
			break;
		r = guess(flow, at, is_long ? range->n : flow->guesses);
		if (r > 0)
			r = follow_starts(flow);
		else if (r == 0)
			at = next_block(flow, at, end);
	}
	if (is_long)
		flow->guesses_left = left;
	return r;
}

static int follow_all(struct stack_flow *flow)
{
	int r = follow_starts(flow);

	if (r < 0)
		return r;
	r = follow_doubts(flow);
	if (r < 0)
		return r;
	for (size_t i = 0; i < flow->n_ranges; i++) {
		r = follow_rest(flow, &flow->ranges[i]);
		if (r < 0)
			return r;
	}
	r = follow_doubts(flow);
	if (r < 0 || is_foreign(flow))
		return r;
	return follow_endless(flow);
}

int flow_run(struct stack_flow *flow)
{
	int r = follow_all(flow);

	if (is_foreign(flow)) {
		memset(flow->at, 0, flow->n * sizeof *flow->at);
		flow->n_functions = 0;
	}
	return flow->no_memory ? -ENOMEM : r;
}
