/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stack_flow: what is known of how x86-64 code without call frame information uses its stack.
 * flow_run.h finds it out by following each way through a function from its start.
 *
 * A called function starts with the return address on top of the stack, and the effect of every
 * instruction is known. So a state is right if every step to it was possible. Two kinds of step may
 * not be: a call may never return, and after a jump to a computed address any code may be its
 * target. Such steps are tried: from there on, a way must lead to where the function is left, with
 * its stack and the caller's registers restored. All ways to a place must agree. A function that
 * contradicts itself is left out as a whole.
 *
 * Time and memory follow the number of bytes, whatever they hold.
 */
#ifndef UNWIND_STACK_FLOW_H
#define UNWIND_STACK_FLOW_H

#include "unwind/stack_state.h"

/* A contiguous piece of code. Ranges ascend and don't overlap. */
struct flow_range {
	uint64_t address;
	uint64_t offset; /* in the file */
	uint32_t at, n;	 /* in flow->code */
};

/* Values of flow->at: 0 where nothing is known, FLOW_INSIDE, or a state's number from 1 on. */
#define FLOW_INSIDE  0xffff /* an instruction */
#define FLOW_TRIED   0x8000 /* belongs to the current function, which may still be refused */
#define FLOW_NOWHERE UINT32_MAX
#define FLOW_CERTAIN 0x80000000 /* flag of flow->calls: nothing was assumed on the way there */

/* Flags of flow->marks. */
enum {
	FLOW_MAYBE_START = 1, /* called by possible data: it needs proof */
	FLOW_IS_START = 2,
	FLOW_ENDLESS = 4,    /* a call that does not return */
	FLOW_PROVEN = 8,     /* a way leads out of the current function */
	FLOW_RETURNS = 16,   /* a function that starts here may return */
	FLOW_IS_CALLED = 32, /* in flow->calls */
};

/* A call that may not return, so nothing is known after it; in a function followed later. */
struct flow_doubt {
	uint32_t at, target; /* FLOW_NOWHERE: computed, or elsewhere */
	uint32_t start; /* of the function that contains it */
	uint8_t length;
};

struct flow_visit;
struct flow_way;

struct stack_flow {
	/* The caller's. */
	const uint8_t *code;
	uint32_t n;
	const struct flow_range *ranges;
	size_t n_ranges;
	int64_t guesses; /* instructions to follow in vain where no known start is left */
	bool is_assembly; /* all of it: what compilers make has call frame information */
	void (*yield)(void *context); /* called about every millisecond; or NULL */
	void *context;
	/* For each byte: the state before the instruction that begins there. */
	uint16_t *at;
	struct stack_state *states;
	size_t n_states, states_capacity;
	uint16_t *slots;  /* numbers of states by their hash, open addressing; 0: free */
	uint8_t *marks;	  /* for each byte: what begins there */
	uint32_t *starts; /* to follow */
	size_t n_starts, starts_capacity, next_start;
	struct flow_doubt *doubts;
	size_t n_doubts, doubts_capacity;
	uint64_t steps_left;
	int64_t guesses_left;
	uint32_t n_functions, n_refused;
	/* The function being followed. */
	struct flow_visit *visits;
	size_t n_visits, visits_capacity;
	struct flow_way *ways;
	size_t n_ways, ways_capacity;
	struct flow_way *returns; /* from calls: followed last */
	size_t n_returns, returns_capacity;
	uint32_t *calls; /* what it calls or takes the address of; FLOW_CERTAIN */
	size_t n_calls, calls_capacity;
	uint32_t *endless; /* calls that do not return */
	size_t n_endless, endless_capacity;
	uint32_t start;
	uint32_t blamed;   /* the call that led to a contradiction */
	uint32_t computed; /* the state at its jumps to computed addresses; 0: none */
	bool is_guess;	   /* its start is guessed */
	bool contradicted; /* it contradicted itself until some call was marked endless */
	bool may_not_leave; /* a way may also end with a last call, or where the code stops */
	bool no_memory;
};

/* The caller sets its members of @flow, the others are 0. Errors: -ENOMEM. */
int stack_flow_init(struct stack_flow *flow);
void stack_flow_done(struct stack_flow *flow);

/* Adds a function at virtual address @address, if that lies in a range. Errors: -ENOMEM. */
int stack_flow_add(struct stack_flow *flow, uint64_t address);

/* Whether virtual address @address lies in a range. */
bool stack_flow_has(const struct stack_flow *flow, uint64_t address);

/* Frees all except what stack_flow_state() and stack_flow_next() need. The code may go, too. */
void stack_flow_end(struct stack_flow *flow);

/* The state before the instruction that begins at byte @at of the code; NULL: unknown. */
const struct stack_state *stack_flow_state(const struct stack_flow *flow, uint32_t at);
/* The first byte after @at with another state, or @end. */
uint32_t stack_flow_next(const struct stack_flow *flow, uint32_t at, uint32_t end);

/* --- for those that follow the code */

/* Returns the range that holds byte @at of the code. */
const struct flow_range *flow_find_range(const struct stack_flow *flow, uint32_t at);
/* Returns the byte of the code at virtual address @address, or FLOW_NOWHERE. */
uint32_t flow_find_address(const struct stack_flow *flow, uint64_t address);

/* Adds a function. @kind: FLOW_IS_START or FLOW_MAYBE_START. Errors: -ENOMEM. */
int flow_add_start(struct stack_flow *flow, uint32_t at, uint8_t kind);
/* Whether another function starts at @at. */
bool flow_is_other_start(const struct stack_flow *flow, uint32_t at);

/* Returns the number of @state; 0: there are too many, or flow->no_memory. */
uint16_t flow_number_state(struct stack_flow *flow, const struct stack_state *state);

#endif
