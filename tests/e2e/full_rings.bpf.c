/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counts a sample of a given stack, as a program of the profiler does: see full_rings.c. */
#include "bpf/profiler.bpf.c"

__u64 kernel_stack;

SEC("syscall")
int count_sample(void *ctx)
{
	struct scratch_stacks *stacks = scratch_get(SCRATCH_SAMPLE);
	struct bf_count_key key = {.kernel_stack = kernel_stack};

	if (!stacks)
		return 0;
	stacks->user.stack.id = 0;
	stacks->kernel.type = BF_EVENT_STACK;
	stacks->kernel.n = BF_MAX_FRAMES;
	stacks->kernel.id = kernel_stack;
	if (count(&key, 0, 0))
		publish_stacks(stacks);
	return 0;
}
