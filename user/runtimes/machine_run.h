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

/*
 * Runs the text of a range that @walk has come to, moves @walk, and puts frames after the @n of
 * @frames, which has room for BF_MAX_FRAMES. Returns how many words. *@ret_end: as range_end() of
 * bpf/machine.h says. The ranges of a walk share machine->turns, which the caller sets to 0.
 */
uint32_t machine_run_range(struct bf_machine *machine, const struct bf_text *text,
			   struct bf_walk *walk, const struct runtime_memory *memory, __u64 *frames,
			   uint32_t n, int *ret_end);

#endif
