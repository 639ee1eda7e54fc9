/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * empty: attaches a BPF program that does nothing to each scheduler hook that a profiler may use,
 * says "ready", and keeps them until its standard input ends. What BPF statistics show for these
 * is the price of measuring.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <stdio.h>

static const char *const hooks[] = {"sched_switch", "sched_wakeup", "sched_exit_tp"};

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

int main(void)
{
	int attached = 0;

	libbpf_set_print(no_messages);
	for (size_t i = 0; i < sizeof(hooks) / sizeof(*hooks); i++)
		attached += attach_empty(hooks[i]) >= 0;
	if (!attached)
		return 1;
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
