/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Ids of processes and threads as numbered in bpfflame's own PID namespace, and so in /proc, in
 * records of perf events and on the command line. Those outside have none: 0.
 */
#ifndef BPF_IDS_BPF_H
#define BPF_IDS_BPF_H

static __always_inline u32 id_here(struct task_struct *task)
{
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	u32 level = control.pid_level;
	struct upid here;

	/* Reaped tasks have no ids any more. */
	if (!pid || BPF_CORE_READ(pid, level) < level ||
	    bpf_core_read(&here, sizeof here, &pid->numbers[level]))
		return 0;
	return (u64)here.ns == control.pid_namespace ? here.nr : 0;
}

static __always_inline u32 thread_id(struct task_struct *task)
{
	return config.in_pid_namespace ? id_here(task) : task->pid;
}

static __always_inline u32 process_id(struct task_struct *task)
{
	return config.in_pid_namespace ? id_here(BPF_CORE_READ(task, group_leader)) : task->tgid;
}

#endif
