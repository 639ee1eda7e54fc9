/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/stack_flow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* Values of flow->at: 0 nothing is known, INSIDE an instruction, or a state's number from 1 on. */
#define INSIDE	   0xffff
#define TRIED	   0x8000 /* belongs to the current function, which may still be refused */
#define MAX_STATES 0x7000
#define N_SLOTS	   0x10000
#define MAX_TRIES  32 /* per function, with more and more calls that do not return */
#define NOWHERE	   UINT32_MAX
/* Instructions to follow per byte of code; compiled code needs less than one. */
#define STEPS_PER_BYTE 6
#define GUESSES_WON    64 /* added by a correct guess */
#define MANY_REFUSED   64 /* functions */
#define MAX_ROUNDS     4
#define BREATHE_AFTER  16 /* functions */

/* Flags of flow->marks. */
enum {
	MAYBE_START = 1, /* called by possible data: it needs proof */
	IS_START = 2,
	ENDLESS = 4,  /* a call that does not return */
	PROVEN = 8,   /* a way leads out of the current function */
	RETURNS = 16, /* a function that starts here may return */
};

/* An instruction that was reached. */
struct flow_visit {
	uint32_t at;
	uint32_t call;	 /* the last call on the way, or NOWHERE */
	uint32_t target; /* of a jump or call; NOWHERE: none, or outside */
	uint8_t length;
	bool is_call, goes_on, leaves, returns;
};

/* A call that may not return, so nothing is known after it; in a function followed later. */
struct flow_doubt {
	uint32_t at, target;
	uint32_t start; /* of the function that contains it */
	uint8_t length;
};

/* A place to go on from. */
struct flow_way {
	uint32_t at, call;
	uint16_t state;
	bool returns; /* from @call */
};

enum verdict { GOES_ON, ENDS, REFUSED };

int stack_flow_init(struct stack_flow *flow)
{
	flow->at = calloc(flow->n + 1, sizeof *flow->at);
	flow->slots = calloc(N_SLOTS, sizeof *flow->slots);
	flow->marks = calloc(flow->n + 1, 1);
	flow->steps_left = (uint64_t)flow->n * STEPS_PER_BYTE;
	flow->guesses_left = flow->guesses;
	if (flow->at && flow->slots && flow->marks)
		return 0;
	stack_flow_done(flow);
	return -ENOMEM;
}

void stack_flow_end(struct stack_flow *flow)
{
	const struct stack_flow known = {
		.at = flow->at,
		.states = flow->states,
		.n_functions = flow->n_functions,
	};

	free(flow->slots);
	free(flow->marks);
	free(flow->starts);
	free(flow->visits);
	free(flow->ways);
	free(flow->returns);
	free(flow->calls);
	free(flow->endless);
	free(flow->doubts);
	*flow = known;
}

void stack_flow_done(struct stack_flow *flow)
{
	stack_flow_end(flow);
	free(flow->at);
	free(flow->states);
	*flow = (struct stack_flow){};
}

const struct stack_state *stack_flow_state(const struct stack_flow *flow, uint32_t at)
{
	uint16_t number = flow->at[at];

	return number && number != INSIDE ? &flow->states[(number & ~TRIED) - 1] : NULL;
}

uint32_t stack_flow_next(const struct stack_flow *flow, uint32_t at, uint32_t end)
{
	uint16_t number = flow->at[at];

	do
		at++;
	while (at < end && (flow->at[at] == number || flow->at[at] == INSIDE));
	return at;
}

/* Returns the range that holds byte @at of the code. */
static const struct flow_range *find_range(const struct stack_flow *flow, uint32_t at)
{
	size_t low = 0, n = flow->n_ranges;

	while (n > 1) {
		size_t half = n / 2;

		if (flow->ranges[low + half].at <= at)
			low += half;
		n -= half;
	}
	return &flow->ranges[low];
}

/* Returns the byte of the code at @address, or NOWHERE. */
static uint32_t find_address(const struct stack_flow *flow, uint64_t address)
{
	size_t low = 0, n = flow->n_ranges;

	if (!n)
		return NOWHERE;
	while (n > 1) {
		size_t half = n / 2;

		if (flow->ranges[low + half].address <= address)
			low += half;
		n -= half;
	}
	address -= flow->ranges[low].address;
	return address < flow->ranges[low].n ? flow->ranges[low].at + address : NOWHERE;
}

/* @kind: IS_START, MAYBE_START. */
static int add_start(struct stack_flow *flow, uint32_t at, uint8_t kind)
{
	if (at == NOWHERE || (flow->marks[at] & (kind | IS_START)))
		return 0;
	if (array_reserve(flow->starts, flow->starts_capacity, flow->n_starts, 1) < 0)
		return -ENOMEM;
	flow->marks[at] |= kind;
	flow->starts[flow->n_starts++] = at;
	return 0;
}

int stack_flow_add(struct stack_flow *flow, uint64_t address)
{
	return add_start(flow, find_address(flow, address), IS_START);
}

bool stack_flow_has(const struct stack_flow *flow, uint64_t address)
{
	return find_address(flow, address) != NOWHERE;
}

static uint32_t hash_state(const struct stack_state *state)
{
	const uint32_t *words = (const uint32_t *)state;
	uint64_t hash = 0;

	for (size_t i = 0; i < sizeof *state / sizeof *words; i++)
		hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15;
	return hash >> 32;
}

/* Returns the number of @state; 0: there are too many. */
static uint16_t number_state(struct stack_flow *flow, const struct stack_state *state)
{
	uint32_t slot = hash_state(state) % N_SLOTS;

	while (flow->slots[slot]) {
		if (memcmp(&flow->states[flow->slots[slot] - 1], state, sizeof *state) == 0)
			return flow->slots[slot];
		slot = (slot + 1) % N_SLOTS;
	}
	if (flow->n_states == MAX_STATES)
		return 0;
	if (array_reserve(flow->states, flow->states_capacity, flow->n_states, 1) < 0) {
		flow->no_memory = true;
		return 0;
	}
	flow->states[flow->n_states++] = *state;
	flow->slots[slot] = flow->n_states;
	return flow->n_states;
}

static void add_way(struct stack_flow *flow, struct flow_way way)
{
	if (array_reserve(flow->ways, flow->ways_capacity, flow->n_ways, 1) < 0)
		flow->no_memory = true;
	else
		flow->ways[flow->n_ways++] = way;
}

static void add_return(struct stack_flow *flow, struct flow_way way)
{
	if (array_reserve(flow->returns, flow->returns_capacity, flow->n_returns, 1) < 0)
		flow->no_memory = true;
	else
		flow->returns[flow->n_returns++] = way;
}

static void add_call(struct stack_flow *flow, uint32_t at)
{
	if (at == NOWHERE || (flow->marks[at] & IS_START))
		return;
	if (array_reserve(flow->calls, flow->calls_capacity, flow->n_calls, 1) < 0)
		flow->no_memory = true;
	else
		flow->calls[flow->n_calls++] = at;
}

/* Another way to @at contradicts this one: blame the nearest call before it. */
static enum verdict refuse(struct stack_flow *flow, uint32_t at, uint32_t call)
{
	flow->blamed = call;
	for (size_t i = 0; i < flow->n_visits; i++) {
		uint32_t other = flow->visits[i].call;

		if (flow->visits[i].at == at && other != NOWHERE && other < at &&
		    (call == NOWHERE || call >= at || other > call))
			flow->blamed = other;
	}
	return REFUSED;
}

/* Marks an instruction as reached. Returns false if others overlap it. */
static bool visit(struct stack_flow *flow, const struct flow_way *way, uint8_t length)
{
	if (array_reserve(flow->visits, flow->visits_capacity, flow->n_visits, 1) < 0) {
		flow->no_memory = true;
		return false;
	}
	for (uint32_t i = 1; i < length; i++)
		if (flow->at[way->at + i])
			return false;
	for (uint32_t i = 1; i < length; i++)
		flow->at[way->at + i] = INSIDE;
	flow->at[way->at] = way->state | TRIED;
	flow->visits[flow->n_visits++] = (struct flow_visit){
		.at = way->at, .call = way->call, .target = NOWHERE, .length = length};
	return true;
}

/* Reaches a known instruction. */
static enum verdict merge(struct stack_flow *flow, struct flow_way *way)
{
	uint16_t number = flow->at[way->at], joined;
	struct stack_state state;

	if (number == INSIDE)
		return refuse(flow, way->at, way->call);
	if ((number & ~TRIED) == way->state)
		return ENDS;
	state = *stack_flow_state(flow, way->at);
	if (!stack_join(&state, &flow->states[way->state - 1]))
		return refuse(flow, way->at, way->call);
	joined = number_state(flow, &state);
	if (joined == (number & ~TRIED))
		return ENDS;
	if (!joined || !(number & TRIED))
		return refuse(flow, way->at, way->call);
	flow->at[way->at] = joined | TRIED;
	way->state = joined;
	return GOES_ON;
}

/* Leaves the function, for another one or for its caller. */
static enum verdict leave(struct stack_flow *flow, const struct flow_way *way)
{
	const struct stack_state *state = &flow->states[way->state - 1];

	if (state->value[STACK_SP] == STACK_OUTERMOST || stack_may_leave(state))
		return ENDS;
	flow->blamed = way->call;
	return REFUSED;
}

/* Whether another function starts at @at. */
static bool is_other_start(const struct stack_flow *flow, uint32_t at)
{
	return at != flow->start && (flow->marks[at] & IS_START);
}

/* Follows a jump to @target. */
static enum verdict jump(struct stack_flow *flow, const struct flow_way *way, uint32_t target)
{
	if (target == NOWHERE || is_other_start(flow, target))
		return leave(flow, way);
	add_way(flow, (struct flow_way){target, way->call, way->state, false});
	return ENDS;
}

/* A jump to a computed address: from a table, or to another function. */
static enum verdict jump_computed(struct stack_flow *flow, const struct flow_way *way,
				  const struct x86_insn *insn)
{
	struct stack_state state = flow->states[way->state - 1];

	if (insn->is_memory && insn->base == X86_IP)
		return leave(flow, way);
	if (state.value[STACK_SP] == STACK_OUTERMOST)
		return ENDS;
	/* It may be either, so the code after the function must agree with both. */
	if (flow->computed && !stack_join(&state, &flow->states[flow->computed - 1]))
		return REFUSED;
	flow->computed = number_state(flow, &state);
	return flow->computed ? ENDS : REFUSED;
}

/* A call: its target starts a function. What follows it waits until everything else is followed. */
static enum verdict follow_call(struct stack_flow *flow, const struct flow_way *way,
				const struct x86_insn *insn, uint64_t address)
{
	const struct stack_state *state = &flow->states[way->state - 1];
	uint32_t next = way->at + insn->length;
	bool is_aligned = stack_is_aligned(state);

	/* Compilers align the stack for calls; a tried way that does not is no code. */
	if ((flow->is_guess || way->call != NOWHERE) && !is_aligned) {
		flow->blamed = way->call;
		return REFUSED;
	}
	if (insn->opcode == 0xe8) {
		if (insn->imm == 0) /* not a call: it reads the instruction pointer */
			return REFUSED;
		add_call(flow, find_address(flow, address + insn->length + insn->imm));
	}
	if (is_aligned && !(flow->marks[way->at] & ENDLESS))
		add_return(flow, (struct flow_way){next, way->at, way->state, true});
	return ENDS;
}

static bool is_unconditional_stop(const struct x86_insn *insn)
{
	return insn->opcode == 0xf4 || insn->opcode == 0xcc || insn->opcode == X86_0F(0x0b);
}

static bool is_conditional_jump(const struct x86_insn *insn)
{
	return (insn->opcode >= 0x70 && insn->opcode <= 0x7f) ||
	       (insn->opcode >= 0xe0 && insn->opcode <= 0xe3) ||
	       (insn->opcode >= X86_0F(0x80) && insn->opcode <= X86_0F(0x8f) && !insn->is_vex);
}

static bool is_call(const struct x86_insn *insn)
{
	return insn->opcode == 0xe8 || (insn->opcode == 0xff && (insn->reg & 7) == 2);
}

static bool is_jump(const struct x86_insn *insn)
{
	return insn->opcode == 0xe9 || insn->opcode == 0xeb;
}

static bool is_computed_jump(const struct x86_insn *insn)
{
	return insn->opcode == 0xff && (insn->reg & 7) == 4;
}

/* Notes where @insn leads, for prove(). */
static void note_ways(const struct stack_flow *flow, struct flow_visit *visit,
		      const struct x86_insn *insn, uint64_t target)
{
	bool jumps = is_jump(insn), jumps_maybe = is_conditional_jump(insn);

	visit->is_call = is_call(insn);
	visit->returns = insn->opcode == 0xc3;
	if (jumps || jumps_maybe || insn->opcode == 0xe8)
		visit->target = find_address(flow, target);
	/* A jump through a table proves nothing for a guessed start. */
	visit->leaves = visit->returns || (is_computed_jump(insn) && !flow->is_guess) ||
			((jumps || jumps_maybe) && visit->target == NOWHERE);
	visit->goes_on =
		!visit->leaves && !jumps && !is_computed_jump(insn) && !is_unconditional_stop(insn);
	visit->goes_on |= jumps_maybe;
}

/* Follows what @insn does other than going on. The state is the one before it. */
static enum verdict branch(struct stack_flow *flow, const struct flow_way *way,
			   const struct x86_insn *insn, uint64_t target)
{
	enum verdict verdict;

	if (insn->opcode == 0xc2)
		return REFUSED;
	if (insn->opcode == 0xc3)
		return leave(flow, way);
	if (is_unconditional_stop(insn))
		return ENDS;
	if (is_jump(insn))
		return jump(flow, way, find_address(flow, target));
	if (is_computed_jump(insn))
		return jump_computed(flow, way, insn);
	if (!is_conditional_jump(insn))
		return GOES_ON;
	verdict = jump(flow, way, find_address(flow, target));
	return verdict == ENDS ? GOES_ON : verdict;
}

/* Code whose address is taken is called from elsewhere. */
static void note_address(struct stack_flow *flow, const struct x86_insn *insn, uint64_t address)
{
	if (insn->opcode == 0x8d && insn->base == X86_IP)
		add_call(flow, find_address(flow, address + insn->length + insn->disp));
}

/* Goes on over one instruction of @range. */
static enum verdict follow_insn(struct stack_flow *flow, const struct flow_range *range,
				struct flow_way *way)
{
	uint32_t end = range->at + range->n;
	uint64_t address = range->address + (way->at - range->at), target;
	struct stack_state state;
	struct x86_insn insn;
	enum verdict verdict;

	if (!flow->steps_left || x86_decode(flow->code + way->at, end - way->at, &insn) < 0)
		return refuse(flow, way->at, way->call);
	flow->steps_left--;
	target = address + insn.length + insn.imm;
	if (!flow->at[way->at]) {
		if (!visit(flow, way, insn.length))
			return refuse(flow, way->at, way->call);
		note_ways(flow, &flow->visits[flow->n_visits - 1], &insn, target);
	}
	note_address(flow, &insn, address);
	verdict = branch(flow, way, &insn, target);
	if (verdict == REFUSED && flow->blamed == NOWHERE)
		flow->blamed = way->call;
	if (verdict != GOES_ON)
		return verdict;
	state = flow->states[way->state - 1];
	if (!stack_step(&state, &insn) ||
	    (flow->is_guess && state.value[STACK_SP] == STACK_OUTERMOST)) {
		flow->blamed = way->call;
		return REFUSED;
	}
	if (memcmp(&state, &flow->states[way->state - 1], sizeof state) != 0)
		way->state = number_state(flow, &state);
	if (!way->state)
		return REFUSED;
	if (is_call(&insn))
		return follow_call(flow, way, &insn, address);
	way->at += insn.length;
	return GOES_ON;
}

/* Follows one way to its end. */
static enum verdict follow_way(struct stack_flow *flow, struct flow_way way)
{
	const struct flow_range *range = find_range(flow, way.returns ? way.call : way.at);
	uint32_t end = range->at + range->n;
	enum verdict verdict = GOES_ON;

	while (verdict == GOES_ON) {
		if (way.at >= end || is_other_start(flow, way.at))
			verdict = leave(flow, &way);
		else if (flow->at[way.at])
			verdict = merge(flow, &way);
		if (verdict == GOES_ON)
			verdict = follow_insn(flow, range, &way);
	}
	return verdict;
}

/* Follows all ways. Returns from calls, which may never happen, come last. */
static bool follow_ways(struct stack_flow *flow)
{
	while ((flow->n_ways || flow->n_returns) && !flow->no_memory) {
		struct flow_way way = flow->n_ways ? flow->ways[--flow->n_ways]
						   : flow->returns[--flow->n_returns];

		if (follow_way(flow, way) == REFUSED)
			return false;
	}
	return !flow->no_memory;
}

/* Forgets the tried function. */
static void roll_back(struct stack_flow *flow)
{
	for (size_t i = 0; i < flow->n_visits; i++) {
		memset(&flow->at[flow->visits[i].at], 0, flow->visits[i].length * sizeof *flow->at);
		flow->marks[flow->visits[i].at] &= ~PROVEN;
	}
	flow->n_visits = 0;
}

static bool try_once(struct stack_flow *flow, uint32_t start, uint16_t state)
{
	flow->n_visits = flow->n_ways = flow->n_returns = flow->n_calls = 0;
	flow->blamed = NOWHERE;
	add_way(flow, (struct flow_way){start, NOWHERE, state, false});
	return follow_ways(flow);
}

/* Whether a way leads out from @at. */
static bool is_proven(const struct stack_flow *flow, uint32_t at)
{
	if (at >= flow->n || is_other_start(flow, at))
		return true;
	return (flow->marks[at] & PROVEN) || (flow->at[at] && !(flow->at[at] & TRIED));
}

static bool prove_visit(struct stack_flow *flow, const struct flow_visit *visit)
{
	if (flow->marks[visit->at] & PROVEN)
		return false;
	if (!visit->leaves &&
	    !(visit->goes_on && !(flow->marks[visit->at] & ENDLESS) &&
	      is_proven(flow, visit->at + visit->length)) &&
	    !(visit->target != NOWHERE && !visit->is_call && is_proven(flow, visit->target)))
		return false;
	flow->marks[visit->at] |= PROVEN;
	return true;
}

/* Marks the instructions from which a way leads out. Later visits are mostly further on. */
static void prove(struct stack_flow *flow)
{
	bool changed = true;

	while (changed && flow->steps_left > flow->n_visits) {
		changed = false;
		flow->steps_left -= flow->n_visits / 4;
		for (size_t i = flow->n_visits; i-- > 0;)
			changed |= prove_visit(flow, &flow->visits[i]);
	}
}

static bool set_endless(struct stack_flow *flow, uint32_t call)
{
	if (call == NOWHERE || (flow->marks[call] & ENDLESS))
		return false;
	if (array_reserve(flow->endless, flow->endless_capacity, flow->n_endless, 1) < 0) {
		flow->no_memory = true;
		return false;
	}
	flow->marks[call] |= ENDLESS;
	flow->endless[flow->n_endless++] = call;
	return true;
}

/* Whether @visit calls a function known to return, at least sometimes. */
static bool is_return_known(const struct stack_flow *flow, const struct flow_visit *visit)
{
	return !flow->contradicted && visit->target != NOWHERE &&
	       (flow->marks[visit->target] & RETURNS);
}

/* Marks calls after which no way leads out as not returning. Returns whether there are any. */
static bool find_endless(struct stack_flow *flow)
{
	bool found = false;

	prove(flow);
	for (size_t i = 0; i < flow->n_visits; i++) {
		const struct flow_visit *visit = &flow->visits[i];

		if (visit->is_call && !is_proven(flow, visit->at + visit->length) &&
		    !is_return_known(flow, visit))
			found |= set_endless(flow, visit->at);
	}
	return found;
}

/* Tries until nothing contradicts, and everything after a call is proven. */
static bool try_often(struct stack_flow *flow, uint32_t at, uint16_t state)
{
	uint32_t computed = flow->computed;

	for (unsigned int i = 0; i < MAX_TRIES && !flow->no_memory; i++) {
		bool consistent = try_once(flow, at, state);

		if (consistent && !find_endless(flow))
			return true;
		roll_back(flow);
		flow->computed = computed;
		flow->contradicted |= !consistent;
		if (!consistent && !set_endless(flow, flow->blamed))
			break;
	}
	return false;
}

static int add_doubt(struct stack_flow *flow, const struct flow_visit *visit)
{
	if (!visit->is_call || visit->target == NOWHERE || !(flow->marks[visit->at] & ENDLESS))
		return 0;
	if (array_reserve(flow->doubts, flow->doubts_capacity, flow->n_doubts, 1) < 0)
		return -ENOMEM;
	flow->doubts[flow->n_doubts++] =
		(struct flow_doubt){visit->at, visit->target, flow->start, visit->length};
	return 0;
}

static int keep(struct stack_flow *flow, bool proven)
{
	int r = 0;

	for (size_t i = 0; i < flow->n_visits && r == 0; i++) {
		flow->at[flow->visits[i].at] &= ~TRIED;
		flow->marks[flow->visits[i].at] &= ~PROVEN;
		flow->marks[flow->start] |= flow->visits[i].returns ? RETURNS : 0;
		r = add_doubt(flow, &flow->visits[i]);
	}
	for (size_t i = 0; i < flow->n_calls && r == 0; i++)
		if (!flow->at[flow->calls[i]])
			r = add_start(flow, flow->calls[i], proven ? IS_START : MAYBE_START);
	return r;
}

/* Follows the code from @at on, in @state. Returns 1 if it was kept, 0 if not, -ENOMEM. */
static int follow(struct stack_flow *flow, uint32_t at, uint16_t state, bool needs_proof)
{
	uint32_t computed = flow->computed;
	int r;

	flow->n_endless = 0;
	flow->is_guess = needs_proof;
	flow->contradicted = false;
	if (try_often(flow, at, state)) {
		bool proven = flow->marks[at] & PROVEN;

		if (proven || (!needs_proof && (at == flow->start || !flow->contradicted))) {
			r = keep(flow, proven);
			return r < 0 ? r : 1;
		}
	}
	roll_back(flow);
	flow->computed = computed;
	for (size_t i = 0; i < flow->n_endless; i++)
		flow->marks[flow->endless[i]] &= ~ENDLESS;
	return flow->no_memory ? -ENOMEM : 0;
}

/* Returns the length of the padding instruction at @at, or 0. */
static uint8_t padding_length(const struct stack_flow *flow, uint32_t at)
{
	const struct flow_range *range = find_range(flow, at);
	struct x86_insn insn;

	if (x86_decode(flow->code + at, range->at + range->n - at, &insn) < 0)
		return 0;
	if (insn.opcode == 0x90 || insn.opcode == 0xcc ||
	    (insn.opcode == X86_0F(0x1f) && !insn.is_vex))
		return insn.length;
	return 0;
}

/* Returns the next byte from @at on, before @end, that is neither known nor padding. */
static uint32_t next_unknown(const struct stack_flow *flow, uint32_t at, uint32_t end)
{
	uint8_t n;

	while (at < end) {
		if (flow->at[at])
			at++;
		else if ((n = padding_length(flow, at)))
			at += n;
		else
			break;
	}
	return at;
}

/* After a function's jump to a computed address, the code up to the next function is its target. */
static int follow_computed(struct stack_flow *flow, uint32_t start)
{
	const struct flow_range *range = find_range(flow, start);
	uint32_t at = start, end = range->at + range->n;
	int r = 1;

	while (r > 0 && flow->computed) {
		at = next_unknown(flow, at, end);
		if (at >= end || is_other_start(flow, at))
			break;
		r = follow(flow, at, flow->computed, true);
	}
	return r < 0 ? r : 0;
}

/* The code that signal handlers return to, `mov $15,%rax; syscall`: after a nop in all libcs. */
static const uint8_t restorer[] = {0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05};

static bool is_restorer(const struct stack_flow *flow, uint32_t start)
{
	const struct flow_range *range = find_range(flow, start);

	return start > range->at && flow->code[start - 1] == 0x90 && !flow->at[start - 1] &&
	       range->n - (start - range->at) >= sizeof restorer &&
	       memcmp(flow->code + start, restorer, sizeof restorer) == 0;
}

/* Return addresses are looked up by the byte before: the nop. */
static void mark_restorer(struct stack_flow *flow, uint32_t start)
{
	uint16_t state = number_state(flow, &stack_signal);

	if (!state)
		return;
	flow->at[start - 1] = state;
	for (uint32_t i = 0; i < sizeof restorer; i++)
		flow->at[start + i] = INSIDE;
}

static int follow_function(struct stack_flow *flow, uint32_t start, bool needs_proof)
{
	uint16_t state = number_state(flow, &stack_start);
	int r;

	if (is_restorer(flow, start)) {
		mark_restorer(flow, start);
		return 1;
	}

	flow->start = start;
	flow->computed = 0;
	if (!state)
		return 0;
	r = follow(flow, start, state, needs_proof);
	flow->n_functions += r > 0;
	flow->n_refused += r == 0 && !needs_proof;
	if (r > 0 && flow->computed) {
		int s = follow_computed(flow, start);

		return s < 0 ? s : r;
	}
	return r;
}

/* Whether the code follows other rules, like V8's, and agrees with ours only by chance. */
static bool is_foreign(const struct stack_flow *flow)
{
	return flow->n_refused > MANY_REFUSED && flow->n_refused > flow->n_functions;
}

static int follow_starts(struct stack_flow *flow)
{
	int r = 0;

	while (flow->next_start < flow->n_starts && r >= 0 && !is_foreign(flow)) {
		uint32_t start = flow->starts[flow->next_start++];

		if (flow->breathe && flow->next_start % BREATHE_AFTER == 0)
			flow->breathe(flow->context);

		if (!flow->at[start])
			r = follow_function(flow, start, !(flow->marks[start] & IS_START));
	}
	return r < 0 ? r : 0;
}

/* Skips to after the next instruction that ends a block. */
static uint32_t next_block(const struct stack_flow *flow, uint32_t at, uint32_t end)
{
	struct x86_insn insn;

	while (at < end && !flow->at[at]) {
		if (x86_decode(flow->code + at, end - at, &insn) < 0)
			return at + 1;
		at += insn.length;
		if (insn.opcode == 0xc3 || insn.opcode == 0xe9 || insn.opcode == 0xeb ||
		    is_unconditional_stop(&insn) || (insn.opcode == 0xff && (insn.reg & 7) == 4))
			break;
	}
	return at;
}

/* Goes on after a call that turned out to return. Returns 1 if anything follows, 0 if not. */
static int follow_doubt(struct stack_flow *flow, const struct flow_doubt *doubt)
{
	static const struct x86_insn call = {.opcode = 0xe8};
	const struct flow_range *range = find_range(flow, doubt->at);
	struct stack_state state = *stack_flow_state(flow, doubt->at);
	uint32_t next = doubt->at + doubt->length;
	uint16_t number;

	if (!(flow->marks[doubt->target] & RETURNS) || next >= range->at + range->n ||
	    flow->at[next] || !stack_step(&state, &call))
		return 0;
	number = number_state(flow, &state);
	flow->start = doubt->start;
	flow->computed = 0;
	return number ? follow(flow, next, number, false) : 0;
}

/* Each call may decide about others; more rounds than this are not worth it. */
static int follow_doubts(struct stack_flow *flow)
{
	bool more = true;
	int r = 0;

	for (unsigned int round = 0; round < MAX_ROUNDS && more && r >= 0; round++) {
		more = false;
		for (size_t i = 0; i < flow->n_doubts && r >= 0; i++) {
			struct flow_doubt doubt = flow->doubts[i];

			r = follow_doubt(flow, &doubt);
			more |= r > 0;
		}
		if (r >= 0)
			r = follow_starts(flow);
	}
	return r < 0 ? r : 0;
}

/* Tries whether a function begins at @at. Returns 1 if so, 0 if not, -ENOMEM. */
static int guess(struct stack_flow *flow, uint32_t at)
{
	uint64_t left = flow->steps_left;
	int r;

	if (flow->breathe)
		flow->breathe(flow->context);
	r = follow_function(flow, at, true);
	flow->guesses_left += r > 0 ? GUESSES_WON : -(int64_t)(left - flow->steps_left) - 1;
	if (flow->guesses_left > flow->guesses)
		flow->guesses_left = flow->guesses;
	return r;
}

/* Code that nothing seems to call begins after known code, and needs proof. */
static int follow_rest(struct stack_flow *flow, const struct flow_range *range)
{
	uint32_t at = range->at, end = range->at + range->n;
	int r = 0;

	while (r == 0 && flow->guesses_left > 0 && !is_foreign(flow)) {
		at = next_unknown(flow, at, end);
		if (at >= end)
			break;
		r = guess(flow, at);
		if (r > 0)
			r = follow_starts(flow);
		else if (r == 0)
			at = next_block(flow, at, end);
	}
	return r;
}

int stack_flow_run(struct stack_flow *flow)
{
	int r = follow_starts(flow);

	if (r == 0)
		r = follow_doubts(flow);
	for (size_t i = 0; i < flow->n_ranges && r == 0; i++)
		r = follow_rest(flow, &flow->ranges[i]);
	if (r == 0)
		r = follow_doubts(flow);
	if (is_foreign(flow)) {
		memset(flow->at, 0, flow->n * sizeof *flow->at);
		flow->n_functions = 0;
	}
	return flow->no_memory ? -ENOMEM : r;
}
