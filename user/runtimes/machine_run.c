/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "runtimes/machine_run.h"

#include <string.h>

static inline int walk_read(void *memory, void *to, __u32 n, __u64 from)
{
	const struct runtime_memory *target = memory;
	const struct runtime_piece piece = {from, n, to};
	int r = target->read(target->context, &piece, 1);

	if (r < 0)
		memset(to, 0, n);
	return r;
}

static inline void chain_copy(__u64 *to, const __u64 *from, __u32 n)
{
	memcpy(to, from, n * sizeof *to);
}

#include "bpf/machine.h"

void machine_run(struct bf_machine *machine, const struct bf_text *text, uint64_t tls,
		 const struct runtime_memory *memory)
{
	machine->base = 0;
	machine_begin(machine, tls);
	for (uint32_t i = 0; i < BF_MACHINE_OPS; i++)
		if (machine_step(machine, text, (void *)memory))
			break;
	machine_finish(machine);
}

uint32_t machine_run_range(struct bf_machine *machine, const struct bf_text *text,
			   struct bf_walk *walk, const struct runtime_memory *memory, __u64 *frames,
			   uint32_t n, int *ret_end)
{
	machine->parameters[0] = memory->bias;
	range_begin(machine, walk);
	for (uint32_t i = 0; i < BF_MACHINE_OPS; i++)
		if ((i % BF_TURN_OPS == 0 && !range_take_turn(machine)) ||
		    machine_step(machine, text, (void *)memory))
			break;
	return range_end(machine, walk, frames, n, ret_end);
}
