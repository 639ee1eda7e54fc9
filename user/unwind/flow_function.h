/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * flow_function: follows the ways through one function of a stack_flow. A function that contradicts
 * itself is tried again, each time with one more call taken as one that does not return.
 */
#ifndef UNWIND_FLOW_FUNCTION_H
#define UNWIND_FLOW_FUNCTION_H

#include "base/x86.h"
#include "unwind/stack_flow.h"

/* What an instruction does: nothing follows it, it jumps, it jumps to a computed address. */
bool flow_stops(const struct x86_insn *insn);
bool flow_jumps(const struct x86_insn *insn);
bool flow_jumps_anywhere(const struct x86_insn *insn);

/* Returns the length of the padding instruction at @at, or 0. */
uint8_t flow_padding(const struct stack_flow *flow, uint32_t at);

/*
 * Follows the code of the function at flow->start from @at on, in @state; with @needs_proof, keeps
 * it only if a way leads out. Returns 1 if it was kept, 0 if not, -ENOMEM.
 */
int flow_follow(struct stack_flow *flow, uint32_t at, uint16_t state, bool needs_proof);

#endif
