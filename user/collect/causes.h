/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * causes: why threads wait, by the names in the kernel half of their stacks.
 *
 * One table of rules, from kernel functions to reasons, made of names that Linux has had from 5.15
 * to today; what no rule knows stays what the scheduler called it.
 */
#ifndef COLLECT_CAUSES_H
#define COLLECT_CAUSES_H

#include "core/profile.h"

/*
 * Of a symbolized profile: gives the samples with REASON_SLEEP and REASON_DISK their finer reason
 * where a rule knows it, marks those that wait for work (is_idle), and the wakers that were
 * interrupts (is_interrupt), of whose stacks only the interrupt's own frames are kept.
 * Errors: -ENOMEM.
 */
int causes_apply(struct profile *profile);

#endif
