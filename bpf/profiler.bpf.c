/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The programs, a few lines each. The loader chooses which to load. */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "bpf/wire.h"
#include "bpf/compat.bpf.h"
#include "bpf/registers.bpf.h"
#include "bpf/maps.bpf.h"
#include "bpf/cost.bpf.h"
#include "bpf/ids.bpf.h"
#include "bpf/filter.bpf.h"
#include "bpf/sample.bpf.h"
#include "bpf/offcpu.bpf.h"
#include "bpf/polling.bpf.h"
#include "bpf/events.bpf.h"

/* "GPL" for the kernel's licence check; BSD-2-Clause is an alternative. */
char LICENSE[] SEC("license") = "Dual BSD/GPL";

/*
 * The current thread is about to lose its memory. Attached to sched_process_exec, which comes
 * before that since 6.16, and to sched_prepare_exec, new in 6.10 (5c5fad46e48c); raw, so that one
 * program serves both. First in this file: the others are verified beside it.
 */
SEC("beside/raw_tp")
int on_leaving(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u64 began = run_begins();

	if (!config.is_frugal || is_sampled_soon(task))
		remember_stack(task);
	run_ends(began);
	return 0;
}

static __always_inline void take_sample(struct saved_registers *ctx, u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct scratch_stacks *stacks;

	if (!control.window_start || !wanted(task))
		return;
	if (now < control.window_start || now >= control.window_end)
		return;
	stacks = scratch_get(SCRATCH_SAMPLE);
	if (!stacks)
		return;
	capture_current(ctx, ctx, stacks);
	key_of_sample(stacks, task, window_of_sample(now));
	if (count(&stacks->key, 0, 0))
		publish_stacks(stacks);
}

SEC("perf_event")
int on_sample(struct saved_registers *ctx)
{
	u64 now = bpf_ktime_get_ns();

	take_sample(ctx, now);
	run_ends(now);
	return 0;
}

/* Events named by -e: counters, then tracepoints, then probes. */
SEC("perf_event")
int on_counter(struct counter_context *ctx)
{
	take_event(ctx, (struct saved_registers *)ctx, ctx->period);
	return 0;
}

/* The kernel's side of a tracepoint; the thread's registers show what caused it. */
SEC("tracepoint")
int on_tracepoint(void *ctx)
{
	take_event(ctx, (struct saved_registers *)NULL, 1);
	return 0;
}

/* Probes of user code and of the kernel's. */
SEC("kprobe")
int on_probe(struct saved_registers *ctx)
{
	take_event(ctx, ctx, 1);
	return 0;
}

/* If there is no hook after the switch; and for ending threads, in --wall. */
SEC("tp_btf/sched_switch")
int on_switch(u64 *ctx)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	u64 began;

	if (config.capture_out) {
		began = switch_begins(prev->sched_info.last_arrival);
		switching(ctx, prev, next);
		switch_ends(began);
	}
	if (config.keep_runtime && (task_state(prev) & TASK_DEAD))
		thread_dead(prev);
	return 0;
}

/*
 * Not sched_waking: from here on the thread is in a run queue, and the time that follows is its
 * delay.
 */
SEC("tp_btf/sched_wakeup")
int on_wakeup(u64 *ctx)
{
	thread_woken((struct task_struct *)ctx[0]);
	return 0;
}

/* Not sched_wakeup, which may run on the CPU that the thread is sent to. */
SEC("tp_btf/sched_waking")
int on_waking(u64 *ctx)
{
	waking(ctx, (struct task_struct *)ctx[0]);
	return 0;
}

static __always_inline int runs_again(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u64 began = switch_begins(task->sched_info.last_arrival);

	switched(ctx, task);
	switch_ends(began);
	return 0;
}

/* After the switch, as the thread that runs again: the best available hook comes first. */
SEC("tp_btf/sched_exit_tp")
int on_switched_tp(u64 *ctx)
{
	return runs_again(ctx);
}

SEC("fentry/finish_task_switch")
int on_switched_fentry(u64 *ctx)
{
	return runs_again(ctx);
}

SEC("kprobe/finish_task_switch")
int on_switched_kprobe(struct pt_regs *ctx)
{
	return runs_again(ctx);
}

/* Run once by the loader itself: finds its namespace, and so the ids it knows. */
SEC("raw_tp")
int find_pid_namespace(void *ctx)
{
	struct pid *pid = BPF_CORE_READ(bpf_get_current_task_btf(), thread_pid);
	u32 level = BPF_CORE_READ(pid, level);
	struct upid here;

	if (bpf_core_read(&here, sizeof here, &pid->numbers[level]))
		return 0;
	control.pid_level = level;
	control.pid_namespace = (u64)here.ns;
	return 0;
}

static __always_inline void process_event_init(struct bf_process_event *event, u32 type,
					       struct task_struct *task)
{
	*event = (struct bf_process_event){
		.type = type,
		.pid = process_id(task),
		.exec_id = task->self_exec_id,
		.start = BPF_CORE_READ(task, group_leader, start_boottime),
		.time = bpf_ktime_get_ns(),
	};
}

/* A child has its parent's mappings, at the same addresses. */
static __always_inline void inherit_mappings(struct task_struct *parent, struct task_struct *child)
{
	struct bf_process *known = bpf_task_storage_get(&processes, parent->group_leader, 0, 0);
	struct bf_process *own;

	if (!known || known->exec_id != (u32)parent->self_exec_id)
		return;
	own = bpf_task_storage_get(&processes, child, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!own)
		return; /* its first stack requests them */
	*own = *known;
	own->start = child->start_boottime;
}

/* Its mappings may become another's as soon as the loader knows. */
static __always_inline void forget_mappings(struct task_struct *task)
{
	struct bf_process *known = bpf_task_storage_get(&processes, task->group_leader, 0, 0);

	if (known)
		known->exec_id = ~0u;
}

static __always_inline void forked(struct task_struct *parent, struct task_struct *child)
{
	u32 pid = process_id(child);
	struct bf_process_event event;

	if (config.in_pid_namespace && !pid)
		return;
	if (child->tgid != parent->tgid) {
		if (config.by_pid) {
			if (!is_followed(parent))
				return;
			add_target(pid);
		}
		inherit_mappings(parent, child);
		process_event_init(&event, BF_EVENT_FORK, child);
		event.parent_pid = process_id(parent);
		event.parent_exec_id = parent->self_exec_id;
		event.parent_start = BPF_CORE_READ(parent, group_leader, start_boottime);
		send(&event, sizeof event);
	}
	if (config.offcpu)
		thread_born(child);
}

SEC("tp_btf/sched_process_fork")
int on_fork(u64 *ctx)
{
	u64 began = run_begins();

	forked((struct task_struct *)ctx[0], (struct task_struct *)ctx[1]);
	run_ends(began);
	return 0;
}

/* For --wall --comm. The task still has its old name. */
SEC("tp_btf/task_rename")
int on_rename(u64 *ctx)
{
	thread_renamed((struct task_struct *)ctx[0], 0);
	return 0;
}

/*
 * The command that bpfflame starts is recorded from here: its first instruction comes next. A
 * thread other than the first takes over the process's id.
 */
SEC("tp_btf/sched_process_exec")
int on_exec(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	u32 pid = process_id(task), old_tid = ctx[1];

	if (config.keep_runtime && old_tid != (u32)task->pid)
		thread_takes_over(task, old_tid);
	if (!config.command_pid || pid != config.command_pid)
		return 0;
	add_target(pid);
	if (config.offcpu)
		thread_execs(task);
	return 0;
}

/* @task is the last thread of its process. Threads that end beside it may not be in the sum yet. */
static __always_inline void count_ended(struct task_struct *task)
{
	u64 runtime;

	if (!control.window_start ||
	    BPF_CORE_READ(task, group_leader, start_time) < control.window_start)
		return;
	runtime = BPF_CORE_READ(task, signal, sum_sched_runtime) + task->se.sum_exec_runtime;
	if (task->pid != task->tgid)
		runtime += BPF_CORE_READ(task, group_leader, se.sum_exec_runtime);
	stat_add(BF_STAT_ENDED_NS, runtime);
}

static __always_inline void exits(struct task_struct *task)
{
	struct bf_process_event event;
	u32 pid = process_id(task);

	if (is_polling())
		thread_polled_last(task);
	/* What follows may count in the next window; without this, samples of its life have no
	 * time. */
	if (config.ends_at_free)
		thread_renamed(task, 0);
	if (config.offcpu)
		thread_exits(task);
	if (BPF_CORE_READ(task, signal, live.counter) > 0 || (config.in_pid_namespace && !pid))
		return;
	if (config.sampling && !config.offcpu && !config.by_pid)
		count_ended(task);
	if (config.by_pid) {
		if (!is_target_pid(pid))
			return;
		target_ends(task, pid);
	}
	process_event_init(&event, BF_EVENT_EXIT, task);
	forget_mappings(task);
	send(&event, sizeof event);
}

SEC("tp_btf/sched_process_exit")
int on_exit(u64 *ctx)
{
	u64 began = run_begins();

	exits((struct task_struct *)ctx[0]);
	run_ends(began);
	return 0;
}

/* Some time after its end, also for those to whom a program at each switch costs too much. */
SEC("tp_btf/sched_process_free")
int on_free(u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	u64 began = run_begins();

	if (config.by_pid)
		target_freed(task);
	if (config.ends_at_free)
		thread_dead(task);
	run_ends(began);
	return 0;
}

/* Before the window opens: visits every process, and each thread's state. */
static __always_inline int visit_task(struct bpf_iter__task *ctx, bool sleepable)
{
	struct task_struct *task = ctx->task;
	struct bf_process_event event;

	if (!task)
		return 0;
	if (config.by_pid && config.follow && !is_target_pid(process_id(task)) &&
	    descends_from_target(task))
		add_target(process_id(task));
	if (config.offcpu)
		thread_found(task, sleepable);
	if (task->pid == task->tgid && !(task->flags & PF_KTHREAD)) {
		process_event_init(&event, BF_EVENT_FORK, task);
		bpf_seq_write(ctx->meta->seq, &event, sizeof event);
	}
	return 0;
}

SEC("iter/task")
int on_each_task_at_start(struct bpf_iter__task *ctx)
{
	return visit_task(ctx, false);
}

/* With capture_out a thread's stacks are needed before it wakes. */
SEC("iter.s/task")
int on_each_task_at_start_stacks(struct bpf_iter__task *ctx)
{
	return visit_task(ctx, true);
}

/*
 * After a window closes: visits waiting threads, and sums that only the thread has. Writes a word
 * for each counted thread, so that the loader reads in steps and can empty the maps in between.
 */
static __always_inline void visit_task_at_end(struct bpf_iter__task *ctx, bool sleepable)
{
	struct task_struct *task = ctx->task;
	struct found found = {};
	struct thread *thread;
	u32 word = 0;

	if (!task || !task->pid)
		return;
	thread = thread_find(task);
	if (!thread)
		return;
	newborn_waits(thread, task);
	if (!thread->in_at)
		return;
	if (config.ends_at_free && (task_state(task) & TASK_DEAD) && !task->on_cpu)
		thread_dead(task);
	if (thread_waits(thread, task, sleepable, &found))
		bpf_seq_write(ctx->meta->seq, &word, sizeof word);
	sum_up(thread, task);
	if (config.keep_runtime)
		runtime_until_close(thread, task, &found);
}

SEC("beside/iter.s")
int on_each_task_at_end(struct bpf_iter__task *ctx)
{
	visit_task_at_end(ctx, true);
	return 0;
}

/* Where switches rest: some time in a window, and after it closes. */
SEC("iter.s/task")
int on_each_task_polled(struct bpf_iter__task *ctx)
{
	look_at(ctx);
	return 0;
}

/* Before 5.18: another thread's user memory can't be read. */
SEC("iter/task")
int on_each_task_at_end_kernel_only(struct bpf_iter__task *ctx)
{
	visit_task_at_end(ctx, false);
	return 0;
}
