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

/* The same for a thread that is not running; only from sleepable programs. */
static __always_inline u32 unwind_blocked(struct task_struct *task, u64 *frames)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	u64 fp = REGS_FP(regs);
	struct frame_record record;
	u32 n;

	frames[0] = REGS_PC(regs);
	for (n = 1; n < BF_MAX_FRAMES; n++) {
		if (bpf_copy_from_user_task(&record, sizeof record, (void *)fp, task, 0))
			break;
		if (!record.pc || record.fp <= fp) {
			if (record.pc)
				frames[n++] = record.pc;
			break;
		}
		frames[n] = record.pc;
		fp = record.fp;
	}
	return n;
}

#endif
