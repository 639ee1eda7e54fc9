/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stack_state: what is known of the registers between two instructions of an x86-64 function: how
 * far the stack pointer is from the canonical frame address (CFA), and where the values are that
 * the caller had in the registers a function must preserve (System V ABI, 3.2.1).
 */
#ifndef UNWIND_STACK_STATE_H
#define UNWIND_STACK_STATE_H

#include "bpf/wire.h"
#include "unwind/x86.h"

/* The registers that are followed: the stack pointer, and those that a function must preserve. */
enum stack_register {
	STACK_SP,
	STACK_BX,
	STACK_BP,
	STACK_R12,
	STACK_R13,
	STACK_R14,
	STACK_R15,
	N_STACK_REGISTERS,
};

/* A value is a distance from the CFA, or one of these. */
enum {
	STACK_OTHER = INT32_MIN, /* not known */
	STACK_CALLERS,		 /* what the caller had in this register */
	STACK_OUTERMOST,	 /* of the stack pointer: there is no caller */
	STACK_SIGNAL,		 /* of the stack pointer: the frame is a signal's */
	STACK_LOWEST,		 /* distances are above */
};

struct stack_state {
	int32_t value[N_STACK_REGISTERS];
	int32_t saved[N_STACK_REGISTERS]; /* where the caller's value is; 0: nowhere */
};

/* At a function's first instruction; where there is no caller; where signal handlers return to. */
extern const struct stack_state stack_start, stack_outermost, stack_signal;

/*
 * Goes on over an instruction; over a call, to where it returns. Returns false when the function
 * does what no compiled function does, or what is not understood.
 */
bool stack_step(struct stack_state *state, const struct x86_insn *insn);

/* Whether a function may return here, or jump to another one. */
bool stack_may_leave(const struct stack_state *state);

/* Whether the stack is as calls ask for; true when that is not known. */
bool stack_is_aligned(const struct stack_state *state);

/* Keeps in @state what both know. Returns false when the two contradict each other. */
bool stack_join(struct stack_state *state, const struct stack_state *other);

/* The rule for unwinding from here; .cfa is BF_CFA_NONE when there is none. */
struct bf_rule stack_rule(const struct stack_state *state);

#endif
