/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* registers: the user's, as the kernel saves them, and while it does so. */
#ifndef BPF_REGISTERS_BPF_H
#define BPF_REGISTERS_BPF_H

/*
 * The user's registers, as the kernel saves them (its struct pt_regs) and as a sampling program
 * gets them: the same order, which ptrace(2) and perf made part of the ABI. Not relocated.
 */
#if defined(__TARGET_ARCH_x86)
struct saved_registers {
	u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax;
	u64 ip, cs, flags, sp, ss;
};
#define registers_pc(registers)	   ((registers)->ip)
#define registers_call(registers)  ((registers)->orig_ax)
#define registers_first(registers) ((registers)->di) /* argument */
#define registers_second(registers) ((registers)->si)
#define IS_FUTEX(call)	((call) == 202)
#define IS_SELECT(call) ((call) == 23 || (call) == 270)
#define IS_POLL(call)	((call) == 7 || (call) == 271)
#elif defined(__TARGET_ARCH_arm64)
struct saved_registers {
	u64 regs[31];
	u64 sp, pc, pstate;
};
#define registers_pc(registers)	   ((registers)->pc)
#define registers_call(registers)  ((registers)->regs[8])
#define registers_first(registers) ((registers)->regs[0]) /* argument */
#define registers_second(registers) ((registers)->regs[1])
#define IS_FUTEX(call)	((call) == 98)
#define IS_SELECT(call) ((call) == 72)
#define IS_POLL(call)	((call) == 73)
#endif

/* The context of a program at a perf event: the ABI's struct bpf_perf_event_data. */
struct counter_context {
	struct saved_registers registers;
	u64 period;
};

/* A thread's own data (TLS): glibc and musl put it at the top of its stack. */
static __always_inline u64 thread_data(struct task_struct *task)
{
#if defined(__TARGET_ARCH_x86)
	return BPF_CORE_READ(task, thread.fsbase);
#elif defined(__TARGET_ARCH_arm64)
	return BPF_CORE_READ(task, thread.uw.tp_value);
#endif
}

/* Kernel addresses are the upper half. */
#define is_kernel_address(address) ((s64)(address) < 0)
#define in_user_mode(registers)	   (!is_kernel_address(registers_pc(registers)))

/* One word of what @task, which is not running, entered the kernel with: all need too much stack. */
#define entered_with(task, word)                                                                   \
	({                                                                                         \
		const struct saved_registers *_registers = (void *)bpf_task_pt_regs(task);         \
		u64 _value = 0;                                                                    \
		bpf_probe_read_kernel(&_value, sizeof _value, &word(_registers));                  \
		_value;                                                                            \
	})

static __always_inline bool waits_for_futex(struct task_struct *task)
{
	return IS_FUTEX(entered_with(task, registers_call));
}

/*
 * Whether @task, which polls, polls no file: a sleep. Other calls may look like one. A function of its
 * own, for callers have no stack left: Linux 6.1 allows 512 bytes for all that are active.
 */
static __noinline bool sleeps_by_poll(struct task_struct *task)
{
	u64 call = entered_with(task, registers_call);

	if (IS_SELECT(call))
		return !(u32)entered_with(task, registers_first);
	return IS_POLL(call) && !(u32)entered_with(task, registers_second);
}

/*
 * The registers with which @task entered the kernel. @live: those that a sample interrupted in the
 * kernel; NULL: none.
 *
 * A counter's interrupt can't be masked (NMI), so it also hits while the kernel saves the user's
 * registers, or restores them (arch/x86/entry/entry_64.S); the stack then still holds those of the
 * previous entry. They are pushed one by one, from the last word down, and popped upwards, so the
 * values below the stack pointer are in the registers.
 */
#if defined(__TARGET_ARCH_x86)
#define USER_DS	   0x2b
#define USER_CS	   0x33
#define USER_CS_32 0x23

/* Whether @task runs 32-bit code, or entered the kernel from it. */
static __always_inline bool is_32_bit(struct task_struct *task)
{
	struct saved_registers *saved = (void *)bpf_task_pt_regs(task);
	u64 cs = 0;

	bpf_probe_read_kernel(&cs, sizeof cs, &saved->cs);
	return (u16)cs == USER_CS_32;
}

/* Here are the data that CPUs need at every entry, one CPU after another (asm/cpu_entry_area.h). */
#define ENTRY_AREAS	       0xfffffe0000000000
#define in_entry_area(address) ((address) >> 39 == ENTRY_AREAS >> 39)

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct x86_hw_tss {
	u64 sp2;
};
struct tss_struct {
	struct x86_hw_tss x86_tss;
};
struct cpu_entry_area {
	struct tss_struct tss;
};
#pragma clang attribute pop

/*
 * The user's stack pointer, which SYSCALL's entry keeps in the CPU's area until it is pushed. An
 * NMI in the kernel has its stack in that area, with the registers that @context leads to.
 */
static __always_inline u64 entering_sp(void *context)
{
	u64 first = ENTRY_AREAS + 4096, size = bpf_core_type_size(struct cpu_entry_area), at = 0;
	struct cpu_entry_area *area;

	bpf_probe_read_kernel(&at, sizeof at, context);
	if (!in_entry_area(at) || !size)
		return 0;
	area = (void *)(at - (at - first) % size);
	return BPF_CORE_READ(area, tss.x86_tss.sp2);
}

#define WORD(name) (__builtin_offsetof(struct saved_registers, name))

static __always_inline void user_registers(struct saved_registers *live, struct task_struct *task,
					   struct saved_registers *ret)
{
	long saved = bpf_task_pt_regs(task);
	u64 base, sp, popped;

	if (!live) {
		bpf_probe_read_kernel(ret, sizeof *ret, (void *)saved);
		return;
	}
	/* For the verifier: an address to compute with. */
	bpf_probe_read_kernel(&base, sizeof base, &saved);
	sp = live->sp;
	/* An exception in user code begins on a stack of the CPU, a page. */
	if (in_entry_area(sp)) {
		u64 entered = (sp | 4095) + 1 - sizeof *ret;

		bpf_probe_read_kernel(ret, sizeof *ret, (void *)entered);
		if (ret->cs == USER_CS && ret->ss == USER_DS)
			base = entered;
	}
	/* SYSCALL leaves the stack pointer alone; rcx has its place. */
	popped = is_kernel_address(sp) ? sp - base : sizeof *ret;
	bpf_probe_read_kernel(ret, sizeof *ret, (void *)base);
	if (!popped || popped > sizeof *ret)
		return;
#define TAKE(name, from)                                                                           \
	do {                                                                                       \
		if (WORD(name) < popped)                                                           \
			ret->name = (from);                                                        \
	} while (0)
	TAKE(r15, live->r15);
	TAKE(r14, live->r14);
	TAKE(r13, live->r13);
	TAKE(r12, live->r12);
	TAKE(bp, live->bp);
	TAKE(bx, live->bx);
	TAKE(r11, live->r11);
	TAKE(r10, live->r10);
	TAKE(r9, live->r9);
	TAKE(r8, live->r8);
	TAKE(ax, live->ax);
	TAKE(cx, live->cx);
	TAKE(dx, live->dx);
	TAKE(si, live->si);
	TAKE(di, live->di);
	TAKE(ip, live->cx);
	/*
	 * With page table isolation, it is where CR3 is made; CR3's low bits are the number of a
	 * table.
	 */
	TAKE(sp, is_kernel_address(sp) || sp & 7 ? entering_sp(live) : sp);
#undef TAKE
}
#else
static __always_inline bool is_32_bit(struct task_struct *task)
{
	return false;
}

static __always_inline void user_registers(struct saved_registers *live, struct task_struct *task,
					   struct saved_registers *ret)
{
	bpf_probe_read_kernel(ret, sizeof *ret, (void *)bpf_task_pt_regs(task));
}
#endif

#endif
