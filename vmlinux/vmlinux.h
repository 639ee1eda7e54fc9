/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel's types as far as the BPF programs use them. Every access is relocated by field name
 * when the programs are loaded (CO-RE), so order, size and missing fields do not matter, and the
 * machine that builds needs no BTF. Fields that only some kernels have stand here, too: the loader
 * searches the kernel's whole BTF for each type, so a flavour for each would slow every start down.
 * bpf/compat.bpf.h looks at them, and says which kernels have which.
 */
#ifndef VMLINUX_H
#define VMLINUX_H

typedef unsigned char __u8;
typedef short __s16;
typedef unsigned short __u16;
typedef int __s32;
typedef unsigned int __u32;
typedef long long __s64;
typedef unsigned long long __u64;
typedef __u8 u8;
typedef __u16 u16;
typedef __s32 s32;
typedef __u32 u32;
typedef __s64 s64;
typedef __u64 u64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u64 __be64;
typedef __u16 __sum16;
typedef __u32 __wsum;
typedef int pid_t;
typedef _Bool bool;
enum { false = 0, true = 1 };

/* From include/uapi/linux/bpf.h: numbers that never change. */
enum {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
};
enum { BPF_ANY = 0, BPF_NOEXIST = 1 };
enum { BPF_F_NO_PREALLOC = 1, BPF_F_MMAPABLE = 1 << 10 };
enum { BPF_LOCAL_STORAGE_GET_F_CREATE = 1 };
enum { BPF_RB_NO_WAKEUP = 1, BPF_RB_FORCE_WAKEUP = 2 };
enum { BPF_RB_AVAIL_DATA = 0 };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
	int counter;
} atomic_t;

struct kernfs_node {
	u64 id;
};

struct cgroup {
	int level;
	struct kernfs_node *kn;
	struct cgroup *ancestors[1]; /* some kernels */
	u64 ancestor_ids[1];	     /* some kernels */
};

struct cgroup_subsys_state {
	struct cgroup *cgroup;
};

struct css_set {
	struct cgroup_subsys_state *subsys[16];
	struct cgroup *dfl_cgrp;
};

struct signal_struct {
	atomic_t live;
	unsigned long long sum_sched_runtime;
};

struct xol_area {
	unsigned long vaddr;
};

struct uprobes_state {
	struct xol_area *xol_area;
};

struct mm_struct {
	unsigned long start_code;
	unsigned long start_stack;
	struct uprobes_state uprobes_state;
};

struct return_instance {
	unsigned long stack;
	unsigned long orig_ret_vaddr;
	struct return_instance *next;
};

struct uprobe_task {
	struct return_instance *return_instances;
};

struct sched_entity {
	unsigned int on_rq; /* a byte since 6.12 */
	u64 sum_exec_runtime;
	u64 prev_sum_exec_runtime;
	struct cfs_rq *cfs_rq;
};

struct cfs_rq {
	u64 throttled_clock_self;      /* some kernels, as all that follow */
	u64 throttled_clock_self_time;
	u64 throttled_clock_pelt_time;
	u64 throttled_clock_task_time;
};

struct sched_info {
	unsigned long long run_delay;
	unsigned long long last_arrival;
	unsigned long long last_queued;
};

struct pid_namespace;

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

struct thread_info {
	u32 cpu; /* some kernels */
};

struct thread_struct {
	unsigned long fsbase; /* x86-64 */
	struct {
		unsigned long tp_value;
	} uw; /* arm64 */
};

struct task_struct {
	struct thread_info thread_info;
	unsigned int __state; /* some kernels */
	long state;	      /* some kernels */
	unsigned int cpu;     /* some kernels */
	unsigned int flags;
	unsigned int on_cpu; /* a byte since 7.0: only unsigned fields may shrink */
	unsigned int on_rq;
	struct sched_entity se;
	struct mm_struct *mm;
	pid_t pid;
	pid_t tgid;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	u64 start_time;
	u64 start_boottime;
	unsigned sched_contributes_to_load : 1;
	unsigned long nvcsw;
	unsigned long nivcsw;
	struct sched_info sched_info;
	char comm[16];
	struct signal_struct *signal;
	u64 self_exec_id;
	struct css_set *cgroups;
	struct uprobe_task *utask;
	struct thread_struct thread;
};

struct kernel_clone_args {
	u32 io_thread : 1;
	u32 user_worker : 1; /* some kernels */
};

struct pt_regs; /* bpf/registers.bpf.h: struct saved_registers */

struct seq_file;

#pragma clang attribute pop

/* As iterators are called since there are any: nothing to relocate. */
struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

#endif
