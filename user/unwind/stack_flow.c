/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/stack_flow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* Instructions to follow per byte of code; compiled code needs less than one. */
#define STEPS_PER_BYTE 6
#define MAX_STATES     0x7000
#define N_SLOTS	       0x10000

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

	return number && number != FLOW_INSIDE ? &flow->states[(number & ~FLOW_TRIED) - 1] : NULL;
}

uint32_t stack_flow_next(const struct stack_flow *flow, uint32_t at, uint32_t end)
{
	uint16_t number = flow->at[at];

	do
		at++;
	while (at < end && (flow->at[at] == number || flow->at[at] == FLOW_INSIDE));
	return at;
}

int stack_flow_add(struct stack_flow *flow, uint64_t address)
{
	return flow_add_start(flow, flow_find_address(flow, address), FLOW_IS_START);
}

bool stack_flow_has(const struct stack_flow *flow, uint64_t address)
{
	return flow_find_address(flow, address) != FLOW_NOWHERE;
}

const struct flow_range *flow_find_range(const struct stack_flow *flow, uint32_t at)
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

uint32_t flow_find_address(const struct stack_flow *flow, uint64_t address)
{
	size_t low = 0, n = flow->n_ranges;

	if (!n)
		return FLOW_NOWHERE;
	while (n > 1) {
		size_t half = n / 2;

		if (flow->ranges[low + half].address <= address)
			low += half;
		n -= half;
	}
	address -= flow->ranges[low].address;
	return address < flow->ranges[low].n ? flow->ranges[low].at + address : FLOW_NOWHERE;
}

int flow_add_start(struct stack_flow *flow, uint32_t at, uint8_t kind)
{
	if (at == FLOW_NOWHERE || (flow->marks[at] & (kind | FLOW_IS_START)))
		return 0;
	if (array_reserve(flow->starts, flow->starts_capacity, flow->n_starts, 1) < 0)
		return -ENOMEM;
	flow->marks[at] |= kind;
	flow->starts[flow->n_starts++] = at;
	return 0;
}

static uint32_t hash_state(const struct stack_state *state)
{
	const uint32_t *words = (const uint32_t *)state;
	uint64_t hash = 0;

	for (size_t i = 0; i < sizeof *state / sizeof *words; i++)
		hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15;
	return hash >> 32;
}

uint16_t flow_number_state(struct stack_flow *flow, const struct stack_state *state)
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

bool flow_is_other_start(const struct stack_flow *flow, uint32_t at)
{
	return at != flow->start && (flow->marks[at] & FLOW_IS_START);
}
