/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * empty HOOK…: attaches a BPF program that does nothing to each of these scheduler hooks
 * (sched_switch, sched_waking, sched_exit_tp, …), prints "ready", and keeps them until its standard
 * input ends. The loss under these is the lower bound for any tool on the same hooks; their BPF
 * statistics show the price of measuring.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <stdio.h>

static int attach_empty(const char *hook)
{
	static const struct bpf_insn instructions[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = BPF_TRACE_RAW_TP);
	int id = libbpf_find_vmlinux_btf_id(hook, BPF_TRACE_RAW_TP), program;

	if (id < 0)
		return id;
	options.attach_btf_id = id;
	program = bpf_prog_load(BPF_PROG_TYPE_TRACING, "empty", "GPL", instructions,
				sizeof(instructions) / sizeof(*instructions), &options);
	if (program < 0)
		return program;
	return bpf_raw_tracepoint_open(NULL, program);
}

static int no_messages(enum libbpf_print_level level, const char *format, va_list arguments)
{
	(void)level, (void)format, (void)arguments;
	return 0;
}

int main(int argc, char **argv)
{
	libbpf_set_print(no_messages);
	for (int i = 1; i < argc; i++) {
		if (attach_empty(argv[i]) < 0) {
			fprintf(stderr, "empty: %s: cannot attach\n", argv[i]);
			return 1;
		}
	}
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
