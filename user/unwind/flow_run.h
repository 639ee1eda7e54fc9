/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * flow_run: finds the functions of a stack_flow and follows each: those that were added, those that
 * they call, what a computed jump may lead to, code after calls that turn out to return, and last,
 * by guesses that need proof, what nothing seems to call.
 */
#ifndef UNWIND_FLOW_RUN_H
#define UNWIND_FLOW_RUN_H

#include "unwind/stack_flow.h"

/* Follows all functions. Errors: -ENOMEM. */
int flow_run(struct stack_flow *flow);

#endif
