/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Every difference between kernel versions, each with the change that made it. The `___` flavours
 * are relocated as the type before the underscores.
 */
#ifndef BPF_COMPAT_BPF_H
#define BPF_COMPAT_BPF_H

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* 5.14 (2f064a59a11f): task_struct.state became __state. */
struct task_struct___state {
	unsigned int __state;
};
struct task_struct___before_5_14 {
	long state;
};

/* 5.16 (bcf9033e5449): with THREAD_INFO_IN_TASK the CPU moved back into thread_info. */
struct thread_info___cpu {
	u32 cpu;
};
struct task_struct___thread_info {
	struct thread_info___cpu thread_info;
};
struct task_struct___before_5_16 {
	unsigned int cpu;
};

/* 6.1 (7f203bc89eb6): cgroup.ancestor_ids[] became ancestors[]. */
struct cgroup___ancestors {
	struct cgroup *ancestors[1];
};
struct cgroup___before_6_1 {
	u64 ancestor_ids[1];
};

/* 6.4 (54e6842d0775): PF_USER_WORKER, whose bit was another's before. */
struct kernel_clone_args {
	u32 io_thread : 1;
	u32 user_worker : 1;
};

/*
 * 6.6 (677ea015f231): throttled time by rq_clock, where there are threads. 5.19 (64eaf50731ac):
 * throttled_clock_task_time, without interrupts, became throttled_clock_pelt_time, scaled.
 */
struct cfs_rq___self {
	u64 throttled_clock_self;
	u64 throttled_clock_self_time;
};
struct cfs_rq___before_6_6 {
	u64 throttled_clock_pelt_time;
};
struct cfs_rq___before_5_19 {
	u64 throttled_clock_task_time;
};

#pragma clang attribute pop

/*
 * 6.2 (9bb00b2895cb): programs that sleep hold the RCU lock only where they say so, and what a task
 * points to is good for a helper under it only (since 6.4, 6fcd486b3a0a).
 */
extern void bpf_rcu_read_lock(void) __ksym __weak;
extern void bpf_rcu_read_unlock(void) __ksym __weak;

static __always_inline u32 task_state(struct task_struct *task)
{
	struct task_struct___state *now = (void *)task;

	if (bpf_core_field_exists(now->__state))
		return BPF_CORE_READ(now, __state);
	return BPF_CORE_READ((struct task_struct___before_5_14 *)task, state);
}

static __always_inline u32 task_cpu(struct task_struct *task)
{
	struct task_struct___thread_info *now = (void *)task;

	if (bpf_core_field_exists(now->thread_info.cpu))
		return BPF_CORE_READ(now, thread_info.cpu);
	return BPF_CORE_READ((struct task_struct___before_5_16 *)task, cpu);
}

#define PF_IO_WORKER   0x00000010
#define PF_USER_WORKER 0x00004000
#define PF_KTHREAD     0x00200000

/* One that never runs code of a user's: the kernel's own, or io_uring's or vhost's in a process. */
static __always_inline bool is_kernel_thread(struct task_struct *task)
{
	struct kernel_clone_args *args = NULL;
	u32 flags = PF_KTHREAD | PF_IO_WORKER;

	if (bpf_core_field_exists(args->user_worker))
		flags |= PF_USER_WORKER;
	return task->flags & flags;
}

/* Whether the last thing it blocked for was uninterruptible; what counts as load does so. */
static __always_inline bool contributes_to_load(struct task_struct *task)
{
	return BPF_CORE_READ_BITFIELD(task, sched_contributes_to_load);
}

/*
 * The run queue of @task's cgroup on its CPU, where a quota throttles it. Not followed as a pointer
 * to a type: since 6.2 the verifier searches all of BTF, several times, for each that it meets.
 */
static __always_inline struct cfs_rq *quota_queue(struct task_struct *task)
{
	return bpf_core_field_exists(task->se.cfs_rq) ? BPF_CORE_READ(task, se.cfs_rq) : NULL;
}

/* How long it was throttled in all its life, ns, but for a time that is not over. */
static __always_inline u64 throttled_time(struct cfs_rq *queue)
{
	struct cfs_rq___self *now = (void *)queue;
	struct cfs_rq___before_6_6 *before_6_6 = (void *)queue;
	struct cfs_rq___before_5_19 *before_5_19 = (void *)queue;

	if (bpf_core_field_exists(now->throttled_clock_self_time))
		return BPF_CORE_READ(now, throttled_clock_self_time);
	if (bpf_core_field_exists(before_6_6->throttled_clock_pelt_time))
		return BPF_CORE_READ(before_6_6, throttled_clock_pelt_time);
	if (bpf_core_field_exists(before_5_19->throttled_clock_task_time))
		return BPF_CORE_READ(before_5_19, throttled_clock_task_time);
	return 0;
}

/* Since when it is throttled; 0: it is not, or that is not known. */
static __always_inline u64 throttled_since(struct cfs_rq *queue)
{
	struct cfs_rq___self *now = (void *)queue;

	if (!bpf_core_field_exists(now->throttled_clock_self))
		return 0;
	return BPF_CORE_READ(now, throttled_clock_self);
}

static __always_inline u64 cgroup_ancestor_id(struct cgroup *cgroup, u32 level)
{
	struct cgroup___ancestors *now = (void *)cgroup;
	struct cgroup *ancestor;
	u64 id = 0;

	if (!bpf_core_field_exists(now->ancestors)) {
		struct cgroup___before_6_1 *before = (void *)cgroup;

		bpf_core_read(&id, sizeof id, &before->ancestor_ids[level]);
		return id;
	}
	if (bpf_core_read(&ancestor, sizeof ancestor, &now->ancestors[level]))
		return 0;
	return BPF_CORE_READ(ancestor, kn, id);
}

#endif
