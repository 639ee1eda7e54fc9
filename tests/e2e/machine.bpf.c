/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The machine of bpf/machine.h in BPF, over memory of whoever calls: see same_machine.c. */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>

#include "bpf/wire.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct bf_machine machine;
struct bf_text text;
__u64 tls, memory_start, memory_bytes;

static __always_inline int walk_read(void *memory, void *to, u32 n, u64 from)
{
	if (from < memory_start || from - memory_start > memory_bytes - n ||
	    bpf_probe_read_user(to, n, (void *)from)) {
		__builtin_memset(to, 0, 8);
		for (u32 i = 0; i < n && i < 128; i++)
			((volatile char *)to)[i] = 0;
		return -1;
	}
	return 0;
}

static __always_inline void chain_copy(u64 *to, const u64 *from, u32 n) {}

#include "bpf/machine.h"

__noinline int one_op(struct bf_machine *of)
{
	return of ? machine_step(of, &text, NULL) : 1;
}

__noinline int some_ops(struct bf_machine *of)
{
	for (int i = 0; of && i < 128; i++)
		if (one_op(of))
			return 1;
	return !of;
}

SEC("syscall")
int run_machine(void *ctx)
{
	machine_begin(&machine, tls);
	for (int i = 0; i < BF_MACHINE_OPS / 128; i++)
		if (some_ops(&machine))
			break;
	machine_finish(&machine);
	return 0;
}
