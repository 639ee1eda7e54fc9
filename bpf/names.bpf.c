/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Names kernel addresses: the kernel looks them up in its own table, in a microsecond each, with
 * the rights for recording. Reading /proc/kallsyms takes 80 ms, and CAP_SYSLOG.
 */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>

#include "bpf/wire.h"

struct bf_kernel_names request;

char LICENSE[] SEC("license") = "Dual BSD/GPL";

SEC("syscall")
int name_addresses(void *ctx)
{
	static const char format[] = "%ps";

	for (u32 i = 0; i < BF_KERNEL_NAMES && i < request.n; i++)
		bpf_snprintf(request.names[i], BF_KERNEL_NAME_LEN, format, &request.addresses[i],
			     sizeof request.addresses[i]);
	return 0;
}
