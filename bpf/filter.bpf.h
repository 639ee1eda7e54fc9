/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Decides which threads are recorded. A thread must pass every active filter. */
#ifndef BPF_FILTER_BPF_H
#define BPF_FILTER_BPF_H

static __always_inline bool comm_matches(struct task_struct *task)
{
	u64 states = 1;
	char comm[BF_COMM_LEN];

	BPF_CORE_READ_INTO(&comm, task, comm);
	for (int i = 0; i < BF_COMM_LEN; i++) {
		u8 byte = comm[i];

		if (!byte)
			break;
		states = (states & config.glob.step[byte]) << 1 | (states & config.glob.stay);
	}
	return states & config.glob.accept;
}

#define MAX_CGROUP_DEPTH 64

/*
 * The level of config.cgroup_id, if @cgroup is below it. Its path does not show that: it may begin
 * at the root of a cgroup namespace, or of a mounted part of the tree. 0: it is elsewhere.
 */
__noinline u32 find_cgroup_depth(u64 address)
{
	struct cgroup *cgroup = (void *)address;
	u32 level = BPF_CORE_READ(cgroup, level);

	for (u32 i = 0; i < MAX_CGROUP_DEPTH && i <= level; i++)
		if (cgroup_ancestor_id(cgroup, i) == config.cgroup_id)
			return i + 1;
	return 0;
}

static __always_inline bool in_cgroup(struct task_struct *task)
{
	struct css_set *set = BPF_CORE_READ(task, cgroups);
	/* Not inside BPF_CORE_READ: clang would relocate the access to config, too. */
	int subsys = config.cgroup_subsys;
	u32 depth = control.cgroup_depth;
	struct cgroup *cgroup;

	if (subsys < 0)
		cgroup = BPF_CORE_READ(set, dfl_cgrp);
	else
		cgroup = BPF_CORE_READ(set, subsys[subsys & 15], cgroup);
	if (!depth) {
		depth = find_cgroup_depth((u64)cgroup);
		control.cgroup_depth = depth;
		return depth;
	}
	return (u32)BPF_CORE_READ(cgroup, level) + 1 >= depth &&
	       cgroup_ancestor_id(cgroup, depth - 1) == config.cgroup_id;
}

static __always_inline bool on_wanted_cpu(u32 cpu)
{
	if (!config.by_cpu)
		return true;
	cpu &= BF_MAX_CPUS - 1;
	return config.cpus[cpu / 64] >> (cpu % 64) & 1;
}

static __always_inline bool is_target_pid(u32 pid)
{
	return bpf_map_lookup_elem(&target_pids, &pid);
}

/* Processes between a target and an existing descendant. */
#define MAX_ANCESTORS 64

/* Whether an ancestor of @task's process is a target. */
static __always_inline bool descends_from_target(struct task_struct *task)
{
	for (int i = 0; i < MAX_ANCESTORS; i++) {
		u32 pid;

		task = BPF_CORE_READ(task, real_parent);
		if (!task || !BPF_CORE_READ(task, tgid))
			return false;
		pid = config.in_pid_namespace ? id_here(BPF_CORE_READ(task, group_leader))
					      : BPF_CORE_READ(task, tgid);
		if (is_target_pid(pid))
			return true;
	}
	return false;
}

#define TARGET_LIVES 1
#define TARGET_ENDED 2

static __always_inline void add_target(u32 pid)
{
	u8 state = TARGET_LIVES;

	if (bpf_map_update_elem(&target_pids, &pid, &state, BPF_ANY))
		stat_add(BF_STAT_TARGETS_FULL, 1);
}

/*
 * @task's process, @pid, runs its last thread, which still has its memory and files to give back:
 * it stays a target until it is freed. Without room for that, it is none from now on.
 */
static __always_inline void target_ends(struct task_struct *task, u32 pid)
{
	u32 tgid = task->tgid;
	u8 state = TARGET_ENDED;

	if (bpf_map_update_elem(&ended_pids, &tgid, &pid, BPF_ANY))
		bpf_map_delete_elem(&target_pids, &pid);
	else
		bpf_map_update_elem(&target_pids, &pid, &state, BPF_ANY);
}

/* A process's first thread is freed after all others. Its id may be another target's already. */
static __always_inline void target_freed(struct task_struct *task)
{
	u32 tgid = task->tgid, *pid;
	u8 *state;

	if ((u32)task->pid != tgid)
		return;
	pid = bpf_map_lookup_elem(&ended_pids, &tgid);
	if (!pid)
		return;
	state = bpf_map_lookup_elem(&target_pids, pid);
	if (state && *state == TARGET_ENDED)
		bpf_map_delete_elem(&target_pids, pid);
	bpf_map_delete_elem(&ended_pids, &tgid);
}

/*
 * Whether children of @task are targets. Until the window opens, its own parents may not be listed
 * yet: processes born unlisted are found here, existing ones by the listing.
 */
static __always_inline bool is_followed(struct task_struct *task)
{
	if (!config.follow)
		return false;
	return is_target_pid(process_id(task)) ||
	       (!control.window_start && descends_from_target(task));
}

/* Checks properties that never change in a thread's life. */
static __always_inline bool has_wanted_id(struct task_struct *task)
{
	u32 tid = thread_id(task);

	if (config.in_pid_namespace && !tid)
		return false;
	if (config.by_pid && !is_target_pid(process_id(task)))
		return false;
	return !config.by_tid || bpf_map_lookup_elem(&target_tids, &tid);
}

static __always_inline bool passes(struct task_struct *task)
{
	return has_wanted_id(task) && (!config.by_cgroup || in_cgroup(task));
}

/*
 * Checks properties that rarely change: such a thread's periods are measured. Not for idle threads.
 */
static __always_inline bool measured(struct task_struct *task)
{
	return task->pid && passes(task);
}

static __always_inline bool wanted(struct task_struct *task)
{
	return measured(task) && (!config.by_comm || comm_matches(task));
}

#endif
