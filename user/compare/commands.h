/* SPDX-License-Identifier: GPL-2.0-or-later */
/* commands: compares two versions of a program whose commands have different names. */
#ifndef COMPARE_COMMANDS_H
#define COMPARE_COMMANDS_H

#include "core/stacks.h"

/*
 * If all stacks of each side have one command, and it differs between the sides, makes both one
 * command `BASE → NEW`. Call it after the last stacks_add(), before stacks_finish(). Does nothing
 * if the roots are threads. Errors: -ENOMEM, -E2BIG; the stacks stay as they are.
 */
int commands_align(struct stacks *stacks);

#endif
