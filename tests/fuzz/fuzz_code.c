/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libFuzzer: any bytes as x86-64 code. The first byte gives the distance between functions' starts.
 * The resulting rules must be safe for the BPF programs, and the work proportional to the number of
 * bytes.
 *
 * Seeds: objcopy -O binary --only-section=.text FILE seed
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/check_table.h"
#include "unwind/flow_run.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

#define ADDRESS 0x401000
#define GAP	64 /* between two ranges */

static void check(const struct stack_flow *flow)
{
	const char *error = NULL;

	for (uint32_t at = 0; at < flow->n && !error; at++) {
		const struct stack_state *state = stack_flow_state(flow, at);
		struct bf_rule rule = state ? stack_rule(state) : (struct bf_rule){};
		struct x86_insn insn;

		if (rule.cfa == BF_CFA_NONE)
			continue;
		error = check_rule(&rule);
		if (rule.cfa == BF_CFA_SP && rule.cfa_offset < 8)
			error = "a frame without a return address";
		if (!error && x86_decode(flow->code + at, flow->n - at, &insn) < 0)
			error = "a state at what is no instruction";
	}
	if (error) {
		fprintf(stderr, "%s\n", error);
		abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	struct flow_range ranges[2] = {};
	struct stack_flow flow = {.ranges = ranges, .n_ranges = 2, .guesses = n};
	uint8_t step;

	if (n < 4)
		return 0;
	step = *bytes++;
	flow.code = bytes;
	flow.n = n - 1;
	ranges[0] = (struct flow_range){.address = ADDRESS, .n = flow.n / 2};
	ranges[1] = (struct flow_range){
		.address = ADDRESS + flow.n / 2 + GAP, .at = flow.n / 2, .n = flow.n - flow.n / 2};
	if (stack_flow_init(&flow) < 0)
		return 0;
	for (uint32_t at = 0; step && at < flow.n + GAP; at += step)
		stack_flow_add(&flow, ADDRESS + at);
	if (flow_run(&flow) == 0)
		check(&flow);
	stack_flow_done(&flow);
	return 0;
}
