/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * machine_run: the machine of bpf/machine.h on the host, over memory that is read through a
 * function.
 */
#ifndef RUNTIMES_MACHINE_RUN_H
#define RUNTIMES_MACHINE_RUN_H

#include "runtimes/runtime.h"

/*
 * Runs @text from its start, for a thread with thread pointer @tls. @machine's parameters are
 * the caller's, and its chain is there afterwards: words[0 … header - 1].
 */
void machine_run(struct bf_machine *machine, const struct bf_text *text, uint64_t tls,
		 const struct runtime_memory *memory);

#endif
