/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* All differences between kernel versions, each with the change that made it. */
#ifndef BPF_COMPAT_BPF_H
#define BPF_COMPAT_BPF_H

/*
 * 6.2 (9bb00b2895cb): sleepable programs hold the RCU lock only where they say so. Since 6.4
 * (6fcd486b3a0a), helpers accept a task's pointers only under it.
 */
extern void bpf_rcu_read_lock(void) __ksym __weak;
extern void bpf_rcu_read_unlock(void) __ksym __weak;

/* 5.14 (2f064a59a11f): task_struct.state became __state. */
static __always_inline u32 task_state(struct task_struct *task)
{
	if (bpf_core_field_exists(task->__state))
		return BPF_CORE_READ(task, __state);
	return BPF_CORE_READ(task, state);
}

/* 5.16 (bcf9033e5449): with THREAD_INFO_IN_TASK the CPU moved back into thread_info. */
static __always_inline u32 task_cpu(struct task_struct *task)
{
	if (bpf_core_field_exists(task->thread_info.cpu))
		return BPF_CORE_READ(task, thread_info.cpu);
	return BPF_CORE_READ(task, cpu);
}

#define PF_IO_WORKER   0x00000010
#define PF_USER_WORKER 0x00004000
#define PF_KTHREAD     0x00200000

/*
 * Whether the thread never runs user code: the kernel's own, or io_uring's or vhost's in a process.
 * 6.4 (54e6842d0775): PF_USER_WORKER, whose bit had another meaning before.
 */
static __always_inline bool is_kernel_thread(struct task_struct *task)
{
	struct kernel_clone_args *args = NULL;
	u32 flags = PF_KTHREAD | PF_IO_WORKER;

	if (bpf_core_field_exists(args->user_worker))
		flags |= PF_USER_WORKER;
	return task->flags & flags;
}

/* Whether its last wait was uninterruptible: only those count as load. */
static __always_inline bool contributes_to_load(struct task_struct *task)
{
	return BPF_CORE_READ_BITFIELD(task, sched_contributes_to_load);
}

/*
 * The run queue of @task's cgroup on its CPU, where a quota throttles it. Read by copying: for each
 * load of a typed pointer, the verifier (since 6.2) searches BTF several times.
 */
static __always_inline struct cfs_rq *quota_queue(struct task_struct *task)
{
	return bpf_core_field_exists(task->se.cfs_rq) ? BPF_CORE_READ(task, se.cfs_rq) : NULL;
}

/*
 * The total time it was throttled, ns, without a throttling that still lasts. 6.6 (677ea015f231):
 * by rq_clock, only while it has threads. 5.19 (64eaf50731ac): throttled_clock_task_time, without
 * interrupts, became throttled_clock_pelt_time, scaled.
 */
static __always_inline u64 throttled_time(struct cfs_rq *queue)
{
	if (bpf_core_field_exists(queue->throttled_clock_self_time))
		return BPF_CORE_READ(queue, throttled_clock_self_time);
	if (bpf_core_field_exists(queue->throttled_clock_pelt_time))
		return BPF_CORE_READ(queue, throttled_clock_pelt_time);
	if (bpf_core_field_exists(queue->throttled_clock_task_time))
		return BPF_CORE_READ(queue, throttled_clock_task_time);
	return 0;
}

/* When its current throttling began; 0: it is not throttled, or the start is unknown. */
static __always_inline u64 throttled_since(struct cfs_rq *queue)
{
	if (!bpf_core_field_exists(queue->throttled_clock_self))
		return 0;
	return BPF_CORE_READ(queue, throttled_clock_self);
}

/* 6.1 (7f203bc89eb6): cgroup.ancestor_ids[] became ancestors[]. */
static __always_inline u64 cgroup_ancestor_id(struct cgroup *cgroup, u32 level)
{
	struct cgroup *ancestor;
	u64 id = 0;

	if (!bpf_core_field_exists(cgroup->ancestors)) {
		bpf_core_read(&id, sizeof id, &cgroup->ancestor_ids[level]);
		return id;
	}
	if (bpf_core_read(&ancestor, sizeof ancestor, &cgroup->ancestors[level]))
		return 0;
	return BPF_CORE_READ(ancestor, kn, id);
}

#endif
