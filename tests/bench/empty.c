/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * empty HOOK…: attaches a BPF program that does nothing to each of these scheduler hooks
 * (sched_switch, sched_waking, sched_exit_tp, …), prints "ready", and keeps them until its standard
 * input ends. The loss under these is the lower bound for any tool on the same hooks; their BPF
 * statistics show the price of measuring. With a + before its name, a hook's program looks up what
 * it has stored of the current thread, and nothing else: whoever measures threads has to.
 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <stdio.h>

#define INSN(c, d, s, i)                                                                           \
	((struct bpf_insn){.code = (c), .dst_reg = (d), .src_reg = (s), .imm = (i)})
#define SET(to, value) INSN(BPF_ALU64 | BPF_MOV | BPF_K, to, 0, value)
#define CALL(function) INSN(BPF_JMP | BPF_CALL, 0, 0, BPF_FUNC_##function)

/* A word for each thread. */
static int make_storage(void)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_NO_PREALLOC);
	struct btf *btf = btf__new_empty();
	int type = btf__add_int(btf, "int", 4, BTF_INT_SIGNED);

	if (type < 0 || btf__load_into_kernel(btf) < 0)
		return -1;
	options.btf_fd = btf__fd(btf);
	options.btf_key_type_id = options.btf_value_type_id = type;
	return bpf_map_create(BPF_MAP_TYPE_TASK_STORAGE, "threads", 4, 4, 0, &options);
}

static int attach(const char *hook, int storage)
{
	const struct bpf_insn instructions[] = {
		CALL(get_current_task_btf),
		INSN(BPF_LD | BPF_DW | BPF_IMM, BPF_REG_1, BPF_PSEUDO_MAP_FD, storage),
		INSN(0, 0, 0, 0),
		INSN(BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_2, BPF_REG_0, 0),
		SET(BPF_REG_3, 0),
		SET(BPF_REG_4, BPF_LOCAL_STORAGE_GET_F_CREATE),
		CALL(task_storage_get),
		SET(BPF_REG_0, 0),
		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0),
	};
	const size_t all = sizeof instructions / sizeof *instructions, n = storage < 0 ? 2 : all;
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = BPF_TRACE_RAW_TP);
	int id = libbpf_find_vmlinux_btf_id(hook, BPF_TRACE_RAW_TP), program;

	if (id < 0)
		return id;
	options.attach_btf_id = id;
	program = bpf_prog_load(BPF_PROG_TYPE_TRACING, storage < 0 ? "empty" : "storage", "GPL",
				instructions + all - n, n, &options);
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
		bool looks_up = argv[i][0] == '+';
		int storage = looks_up ? make_storage() : -1;

		if ((looks_up && storage < 0) || attach(argv[i] + looks_up, storage) < 0) {
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
