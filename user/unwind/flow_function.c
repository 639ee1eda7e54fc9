/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/flow_function.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"

#define MAX_TRIES   32	/* per function, with more and more calls that do not return */
#define MAX_PADDING 256 /* bytes between two functions */

/* An instruction that was reached. */
struct flow_visit {
	uint32_t at;
	uint32_t call;	 /* the last call on the way, or FLOW_NOWHERE */
	uint32_t target; /* of a jump or call; FLOW_NOWHERE: none, or outside */
	uint8_t length;
	bool is_call, goes_on, leaves, returns, stops;
};

/* A place to go on from. */
struct flow_way {
	uint32_t at, call;
	uint16_t state;
	bool returns; /* from @call */
};

enum verdict { GOES_ON, ENDS, REFUSED };

uint8_t flow_padding(const struct stack_flow *flow, uint32_t at)
{
	const struct flow_range *range = flow_find_range(flow, at);
	struct x86_insn insn;

	if (x86_decode(flow->code + at, range->at + range->n - at, &insn) < 0)
		return 0;
	if (insn.opcode == 0x90 || insn.opcode == 0xcc ||
	    (insn.opcode == X86_0F(0x1f) && !insn.is_vex))
		return insn.length;
	return 0;
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

/* Code that starts a function, if @way is one. */
static void add_call(struct stack_flow *flow, const struct flow_way *way, uint32_t at)
{
	bool is_certain = !flow->is_guess && way->call == FLOW_NOWHERE;

	if (at == FLOW_NOWHERE || (flow->marks[at] & FLOW_IS_START))
		return;
	if (array_reserve(flow->calls, flow->calls_capacity, flow->n_calls, 1) < 0)
		flow->no_memory = true;
	else
		flow->calls[flow->n_calls++] = at | (is_certain ? FLOW_CERTAIN : 0);
	flow->marks[at] |= FLOW_IS_CALLED;
}

/* Whether the call at @at is of a function here that no way is known to return from. */
static bool is_suspect(const struct stack_flow *flow, uint32_t at)
{
	const struct flow_range *range = at == FLOW_NOWHERE ? NULL : flow_find_range(flow, at);
	struct x86_insn insn;
	uint32_t target;

	if (!range || x86_decode(flow->code + at, range->at + range->n - at, &insn) < 0 ||
	    insn.opcode != 0xe8)
		return false;
	target = flow_find_address(flow, range->address + (at - range->at) + insn.length + insn.imm);
	return target != FLOW_NOWHERE && !(flow->marks[target] & FLOW_RETURNS);
}

/*
 * Whether @way comes with more on the stack than the way before it: arguments of a call that never
 * returned.
 */
static bool is_deeper(const struct stack_flow *flow, const struct flow_way *way)
{
	uint16_t number = flow->at[way->at] & ~FLOW_TRIED;
	int32_t ours = flow->states[way->state - 1].value[STACK_SP], theirs;

	if (flow->at[way->at] == FLOW_INSIDE || !number)
		return false;
	theirs = flow->states[number - 1].value[STACK_SP];
	return ours >= STACK_LOWEST && theirs >= STACK_LOWEST && ours < theirs;
}

/*
 * Another way to the same place contradicts @way: blame the nearest call before it, unless only the
 * other one is of a function that may never return.
 */
static enum verdict refuse(struct stack_flow *flow, const struct flow_way *way)
{
	uint32_t at = way->at, call = way->call;

	flow->blamed = call;
	for (size_t i = 0; i < flow->n_visits; i++) {
		uint32_t other = flow->visits[i].call;
		bool is_nearer = other < at && (call == FLOW_NOWHERE || call >= at || other > call);

		if (flow->visits[i].at != at || other == FLOW_NOWHERE)
			continue;
		if (is_suspect(flow, call) != is_suspect(flow, other))
			is_nearer = is_suspect(flow, other);
		else if (call != FLOW_NOWHERE && is_deeper(flow, way))
			is_nearer = false;
		if (is_nearer)
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
		flow->at[way->at + i] = FLOW_INSIDE;
	flow->at[way->at] = way->state | FLOW_TRIED;
	flow->visits[flow->n_visits++] = (struct flow_visit){
		.at = way->at, .call = way->call, .target = FLOW_NOWHERE, .length = length};
	return true;
}

/* Reaches a known instruction. */
static enum verdict merge(struct stack_flow *flow, struct flow_way *way)
{
	uint16_t number = flow->at[way->at], joined;
	struct stack_state state;

	if (number == FLOW_INSIDE)
		return refuse(flow, way);
	if ((number & ~FLOW_TRIED) == way->state)
		return ENDS;
	state = flow->states[(number & ~FLOW_TRIED) - 1];
	if (!stack_join(&state, &flow->states[way->state - 1]))
		return refuse(flow, way);
	joined = flow_number_state(flow, &state);
	if (joined == (number & ~FLOW_TRIED))
		return ENDS;
	if (!joined || !(number & FLOW_TRIED))
		return refuse(flow, way);
	flow->at[way->at] = joined | FLOW_TRIED;
	way->state = joined;
	return GOES_ON;
}

/* Leaves the function, for another one or for its caller. */
static enum verdict leave(struct stack_flow *flow, const struct flow_way *way)
{
	const struct stack_state *state = &flow->states[way->state - 1];

	if (state->value[STACK_SP] == STACK_OUTERMOST || stack_may_leave(state))
		return ENDS;
	/* Assembly's own functions may change any register; that is what they do if all is certain. */
	if (!flow->is_guess && way->call == FLOW_NOWHERE &&
	    state->value[STACK_SP] == stack_start.value[STACK_SP])
		return ENDS;
	flow->blamed = way->call;
	return REFUSED;
}

/* Follows a jump to @target. */
static enum verdict jump(struct stack_flow *flow, const struct flow_way *way, uint32_t target)
{
	if (target == FLOW_NOWHERE || flow_is_other_start(flow, target))
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
	flow->computed = flow_number_state(flow, &state);
	return flow->computed ? ENDS : REFUSED;
}

/* Whether the code at @at is known, and may be called: assembly shares the ends of functions. */
static bool is_shared_end(const struct stack_flow *flow, uint32_t at)
{
	uint16_t number = flow->at[at];

	return flow->is_assembly && number && number != FLOW_INSIDE && !(number & FLOW_TRIED) &&
	       memcmp(&flow->states[number - 1], &stack_start, sizeof stack_start) == 0;
}

/* Whether @insn at @address calls a function that is known to return. */
static bool calls_known(const struct stack_flow *flow, const struct x86_insn *insn,
			uint64_t address)
{
	uint32_t target = FLOW_NOWHERE;

	if (insn->opcode == 0xe8)
		target = flow_find_address(flow, address + insn->length + insn->imm);
	return target != FLOW_NOWHERE &&
	       ((flow->marks[target] & FLOW_RETURNS) || is_shared_end(flow, target));
}

/* A call: its target starts a function. What follows it waits until everything else is followed. */
static enum verdict follow_call(struct stack_flow *flow, struct flow_way *way,
				const struct x86_insn *insn, uint64_t address)
{
	const struct stack_state *state = &flow->states[way->state - 1];
	uint32_t next = way->at + insn->length;
	bool is_aligned = stack_is_aligned(state);

	/*
	 * Compilers align the stack for calls; a tried way that does not is no code. Assembly may
	 * leave it as it is for functions of its own. After other calls that would be one excuse
	 * too many.
	 */
	if (!is_aligned && way->call == FLOW_NOWHERE && calls_known(flow, insn, address)) {
		way->at = next;
		return GOES_ON;
	}
	if ((flow->is_guess || way->call != FLOW_NOWHERE) && !is_aligned) {
		flow->blamed = way->call;
		return REFUSED;
	}
	if (insn->opcode == 0xe8) {
		if (insn->imm == 0) /* not a call: it reads the instruction pointer */
			return REFUSED;
		add_call(flow, way, flow_find_address(flow, address + insn->length + insn->imm));
	}
	if (is_aligned && !(flow->marks[way->at] & FLOW_ENDLESS))
		add_return(flow, (struct flow_way){next, way->at, way->state, true});
	return ENDS;
}

bool flow_stops(const struct x86_insn *insn)
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

bool flow_jumps(const struct x86_insn *insn)
{
	return insn->opcode == 0xe9 || insn->opcode == 0xeb;
}

bool flow_jumps_anywhere(const struct x86_insn *insn)
{
	return insn->opcode == 0xff && (insn->reg & 7) == 4;
}

/* Notes where @insn leads, for prove(). */
static void note_ways(const struct stack_flow *flow, struct flow_visit *visit,
		      const struct x86_insn *insn, uint64_t target)
{
	bool jumps = flow_jumps(insn), jumps_maybe = is_conditional_jump(insn);

	visit->is_call = is_call(insn);
	visit->returns = insn->opcode == 0xc3;
	visit->stops = flow_stops(insn);
	if (jumps || jumps_maybe || insn->opcode == 0xe8)
		visit->target = flow_find_address(flow, target);
	/* A jump through a table proves nothing for a guessed start. */
	visit->leaves = visit->returns || (flow_jumps_anywhere(insn) && !flow->is_guess) ||
			((jumps || jumps_maybe) && visit->target == FLOW_NOWHERE);
	visit->goes_on =
		!visit->leaves && !jumps && !flow_jumps_anywhere(insn) && !flow_stops(insn);
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
	if (flow_stops(insn))
		return ENDS;
	if (flow_jumps(insn))
		return jump(flow, way, flow_find_address(flow, target));
	if (flow_jumps_anywhere(insn))
		return jump_computed(flow, way, insn);
	if (!is_conditional_jump(insn))
		return GOES_ON;
	verdict = jump(flow, way, flow_find_address(flow, target));
	return verdict == ENDS ? GOES_ON : verdict;
}

/* Code whose address is taken is called from elsewhere. */
static void note_address(struct stack_flow *flow, const struct flow_way *way,
			 const struct x86_insn *insn, uint64_t address)
{
	if (insn->opcode == 0x8d && insn->base == X86_IP)
		add_call(flow, way, flow_find_address(flow, address + insn->length + insn->disp));
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
		return refuse(flow, way);
	flow->steps_left--;
	target = address + insn.length + insn.imm;
	if (!flow->at[way->at]) {
		if (!visit(flow, way, insn.length))
			return refuse(flow, way);
		note_ways(flow, &flow->visits[flow->n_visits - 1], &insn, target);
	}
	note_address(flow, way, &insn, address);
	verdict = branch(flow, way, &insn, target);
	if (verdict == REFUSED && flow->blamed == FLOW_NOWHERE)
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
		way->state = flow_number_state(flow, &state);
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
	const struct flow_range *range = flow_find_range(flow, way.returns ? way.call : way.at);
	uint32_t end = range->at + range->n;
	enum verdict verdict = GOES_ON;

	while (verdict == GOES_ON) {
		if (way.at >= end || flow_is_other_start(flow, way.at))
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
		flow->marks[flow->visits[i].at] &= ~FLOW_PROVEN;
	}
	flow->n_visits = 0;
}

static bool try_once(struct stack_flow *flow, uint32_t start, uint16_t state)
{
	while (flow->n_calls)
		flow->marks[flow->calls[--flow->n_calls] & ~FLOW_CERTAIN] &= ~FLOW_IS_CALLED;
	flow->n_visits = flow->n_ways = flow->n_returns = 0;
	flow->blamed = FLOW_NOWHERE;
	add_way(flow, (struct flow_way){start, FLOW_NOWHERE, state, false});
	return follow_ways(flow);
}

/* Whether a way leads out from @at. */
static bool is_proven(const struct stack_flow *flow, uint32_t at)
{
	if (at >= flow->n || flow_is_other_start(flow, at))
		return true;
	return (flow->marks[at] & FLOW_PROVEN) || (flow->at[at] && !(flow->at[at] & FLOW_TRIED));
}

/* Whether it is plausible that nothing follows @visit: another function begins there. */
static bool ends_well(const struct stack_flow *flow, const struct flow_visit *visit)
{
	const struct flow_range *range = flow_find_range(flow, visit->at);
	uint32_t begin = visit->at + visit->length, at = begin, end = range->at + range->n;
	uint8_t n;

	if (!visit->is_call)
		return visit->stops;
	while (at < end && at - begin < MAX_PADDING && (n = flow_padding(flow, at)))
		at += n;
	return at >= end ||
	       (at != flow->start &&
		(flow->marks[at] & (FLOW_IS_START | FLOW_MAYBE_START | FLOW_IS_CALLED)));
}

static bool prove_visit(struct stack_flow *flow, const struct flow_visit *visit)
{
	if (flow->marks[visit->at] & FLOW_PROVEN)
		return false;
	if (!visit->leaves && !(flow->may_not_leave && ends_well(flow, visit)) &&
	    !(visit->goes_on && !(flow->marks[visit->at] & FLOW_ENDLESS) &&
	      is_proven(flow, visit->at + visit->length)) &&
	    !(visit->target != FLOW_NOWHERE && !visit->is_call && is_proven(flow, visit->target)))
		return false;
	flow->marks[visit->at] |= FLOW_PROVEN;
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
	if (call == FLOW_NOWHERE || (flow->marks[call] & FLOW_ENDLESS))
		return false;
	if (array_reserve(flow->endless, flow->endless_capacity, flow->n_endless, 1) < 0) {
		flow->no_memory = true;
		return false;
	}
	flow->marks[call] |= FLOW_ENDLESS;
	flow->endless[flow->n_endless++] = call;
	return true;
}

/* Whether @visit calls a function known to return, at least sometimes. */
static bool is_return_known(const struct stack_flow *flow, const struct flow_visit *visit)
{
	return !flow->contradicted && visit->target != FLOW_NOWHERE &&
	       (flow->marks[visit->target] & FLOW_RETURNS);
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
	if (!visit->is_call || !(flow->marks[visit->at] & FLOW_ENDLESS))
		return 0;
	if (array_reserve(flow->doubts, flow->doubts_capacity, flow->n_doubts, 1) < 0)
		return -ENOMEM;
	flow->doubts[flow->n_doubts++] =
		(struct flow_doubt){visit->at, visit->target, flow->start, visit->length};
	return 0;
}

static int keep(struct stack_flow *flow, bool proven)
{
	for (size_t i = 0; i < flow->n_visits; i++) {
		int r;

		flow->at[flow->visits[i].at] &= ~FLOW_TRIED;
		flow->marks[flow->visits[i].at] &= ~FLOW_PROVEN;
		flow->marks[flow->start] |= flow->visits[i].returns ? FLOW_RETURNS : 0;
		r = add_doubt(flow, &flow->visits[i]);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < flow->n_calls; i++) {
		bool is_certain = proven || (flow->calls[i] & FLOW_CERTAIN);
		uint32_t at = flow->calls[i] & ~FLOW_CERTAIN;
		int r;

		if (flow->at[at])
			continue;
		r = flow_add_start(flow, at, is_certain ? FLOW_IS_START : FLOW_MAYBE_START);
		if (r < 0)
			return r;
	}
	return 0;
}

int flow_follow(struct stack_flow *flow, uint32_t at, uint16_t state, bool needs_proof)
{
	uint32_t computed = flow->computed;
	int r;

	flow->n_endless = 0;
	flow->is_guess = needs_proof;
	flow->contradicted = false;
	if (try_often(flow, at, state)) {
		bool proven = flow->marks[at] & FLOW_PROVEN;

		if (proven || (!needs_proof && (at == flow->start || !flow->contradicted))) {
			r = keep(flow, proven);
			return r < 0 ? r : 1;
		}
	}
	roll_back(flow);
	flow->computed = computed;
	for (size_t i = 0; i < flow->n_endless; i++)
		flow->marks[flow->endless[i]] &= ~FLOW_ENDLESS;
	return flow->no_memory ? -ENOMEM : 0;
}
