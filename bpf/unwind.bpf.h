/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * User stacks, by frame pointers. The two functions at the end are all that others call.
 */
#ifndef BPF_UNWIND_BPF_H
#define BPF_UNWIND_BPF_H

/* What a frame pointer points at: the caller's frame pointer, then the return address. */
struct frame_record {
	u64 fp, pc;
};

/*
 * Writes the user stack of the current thread, leaf first, into @frames (BF_MAX_FRAMES long).
 * Returns the number of frames, 0 if there is nothing to read.
 */
static __always_inline u32 unwind_current(void *ctx, u64 *frames)
{
	long bytes = bpf_get_stack(ctx, frames, BF_MAX_FRAMES * sizeof *frames, BPF_F_USER_STACK);

	return bytes > 0 ? bytes / sizeof *frames : 0;
}

struct blocked_walk {
	struct task_struct *task;
	u64 *frames;
	u64 fp;
	u32 n;
};

static long step_blocked(u32 index, struct blocked_walk *walk)
{
	struct frame_record record;
	u64 *frames = walk->frames;

	/* By index, not by n: the verifier must not tell one call from the next. */
	if (index >= BF_MAX_FRAMES - 1 ||
	    bpf_copy_from_user_task(&record, sizeof record, (void *)walk->fp, walk->task, 0) ||
	    !record.pc)
		return 1;
	frames[index + 1] = record.pc;
	walk->n = index + 2;
	/* The stack grows down: callers' records lie above. */
	if (record.fp <= walk->fp)
		return 1;
	walk->fp = record.fp;
	return 0;
}

/*
 * The same for a thread that is not running; only from sleepable programs. A callback, since the
 * verifier would walk a loop over a helper that can fail 127 times: 190 ms of loading.
 */
static __always_inline u32 unwind_blocked(struct task_struct *task, u64 *frames)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	struct blocked_walk walk = {task, frames, REGS_FP(regs), 1};

	frames[0] = REGS_PC(regs);
	bpf_loop(BF_MAX_FRAMES - 1, step_blocked, &walk, 0);
	return walk.n;
}

#endif
