/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stack_state: what is known about the registers between two instructions of an x86-64 function:
 * the distance of the stack pointer from the canonical frame address (CFA), and where the caller's
 * values are of the registers that a function must preserve (System V ABI, 3.2.1).
 */
#ifndef UNWIND_STACK_STATE_H
#define UNWIND_STACK_STATE_H

#include "bpf/wire.h"
#include "base/x86.h"

/* The followed registers: the stack pointer, and those that a function must preserve. */
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

/*
 * A value is a distance from the CFA; STACK_ALIGNED and a distance from where the function has
 * aligned its stack; or one of these.
 */
enum {
	STACK_OTHER = INT32_MIN, /* unknown */
	STACK_CALLERS,		 /* the caller's value of this register */
	STACK_OUTERMOST,	 /* for the stack pointer: there is no caller */
	STACK_SIGNAL,		 /* for the stack pointer: the frame is a signal's */
	STACK_LOWEST,		 /* distances are above */
	STACK_ALIGNED = 1 << 30,
};

struct stack_state {
	int32_t value[N_STACK_REGISTERS];
	int32_t saved[N_STACK_REGISTERS]; /* where the caller's value is; 0: nowhere */
	/*
	 * Assembly that aligns its stack may keep the old stack pointer in a register that calls
	 * may change: what that was, and which.
	 */
	int32_t old;
	uint32_t old_register; /* enum x86_register; X86_NOTHING: none */
	/* Or on the stack that it has aligned: where, and what that was. */
	int32_t kept_at; /* 0: nowhere */
	int32_t kept;
};

/* At a function's first instruction; where signal handlers return to. */
extern const struct stack_state stack_start, stack_signal;

/*
 * Goes on over an instruction; over a call, to where it returns. Returns false for steps that no
 * compiled function makes, or that we don't understand.
 */
bool stack_step(struct stack_state *state, const struct x86_insn *insn);

/* Whether a function may return here, or jump to another one. */
bool stack_may_leave(const struct stack_state *state);

/* Whether the stack is aligned as calls require; true if unknown. */
bool stack_is_aligned(const struct stack_state *state);

/* Keeps in @state what both agree on. Returns false if they contradict each other. */
bool stack_join(struct stack_state *state, const struct stack_state *other);

/* The rule for unwinding from here; .cfa is BF_CFA_NONE if there is none. */
struct bf_rule stack_rule(const struct stack_state *state);

#endif
