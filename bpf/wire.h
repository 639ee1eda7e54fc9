/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The interface between the BPF programs and the loader: the configuration (one constant struct),
 * the control words (mapped memory), the keys and values of the maps, the events of the ring
 * buffer. The only header that both sides include; all fields have fixed sizes and no hidden
 * padding.
 */
#ifndef BPF_WIRE_H
#define BPF_WIRE_H

#ifndef __bpf__
#include <linux/types.h>
#endif

/*
 * Words of a user half, one or (BF_FRAME_RUNTIME) two a frame; one less than a power of 2. Of a
 * kernel half: the kernel's own default.
 */
#define BF_MAX_FRAMES	 2047
#define BF_KERNEL_FRAMES 127
#define BF_HASH_KEYS	 (BF_MAX_FRAMES + 5)
#define BF_MAX_CPUS	 4096
#define BF_COMM_LEN	 16
#define BF_MAX_EVENTS	 16 /* a power of 2 */
#define BF_SCRATCHES	 4  /* of each CPU: buffers for stacks, … */
#define BF_EVENT_SCRATCHES 4 /* … and those for the stacks of -e's events */
#define BF_TIMERS	 8  /* of each CPU, that sample by the clock */

/* Why a thread is not running. */
enum bf_reason {
	BF_REASON_NONE, /* it runs */
	BF_REASON_SLEEP,
	BF_REASON_TIMER, /* the same, where the system call, if it polls, polls no file */
	BF_REASON_DISK,
	BF_REASON_STOPPED,
	BF_REASON_PREEMPTED,
	BF_REASON_RUNQUEUE,
	BF_REASON_THROTTLED, /* by a quota of CPU time */
	BF_REASON_RUNTIME,   /* it runs: no sample but its exact CPU time, in --wall */
	N_BF_REASONS,
};

/*
 * A command-name pattern as an automaton with one bit per state: byte c leads from state i to i + 1
 * where bit i of step[c] is set, and back to i where bit i of stay is set (a `*`). The name matches
 * if bit accept is set at its end.
 */
struct bf_glob {
	__u64 step[256];
	__u64 stay;
	__u64 accept;
};

/* Special values instead of a number of events per sample: */
#define BF_PERIOD_OWN  0 /* the counter counts itself, and gives the number of events per sample */
#define BF_PERIOD_NONE ~0ULL /* samples count, not events */

/* Fixed before the programs are loaded: the verifier removes features that are off. */
struct bf_config {
	__u8 by_pid;	/* only processes in `target_pids` */
	__u8 by_tid;	/* only threads in `target_tids` */
	__u8 by_comm;	/* only command names that match `glob` */
	__u8 by_cgroup; /* only below cgroup `cgroup_id` */
	__u8 by_cpu;	/* off-CPU: only periods that began on one of `cpus` */
	__u8 follow;	/* children of targets are targets */
	__u8 keep_tid;	/* count each thread separately */
	__u8 user_stacks;
	__u8 kernel_stacks;
	__u8 sampling; /* on-CPU */
	__u8 offcpu;
	__u8 capture_out;      /* off-CPU: no hook after the switch; take stacks before it */
	__u8 keep_runtime;     /* count each thread's exact CPU time */
	__u8 is_frugal;	       /* what is unlikely to be sampled is not prepared for */
	__u8 ends_at_free;     /* keep_runtime: threads are looked at after their end, not at it */
	__u8 time_programs;    /* count the CPU time of the programs themselves */
	__u8 filters_periods;  /* by_comm, by_cpu, or min_block, max_block */
	__u8 waker_depth;      /* record the waker, its own waker, …; 0: none */
	__u8 waker_tid;	       /* distinguish every waker, not only those that end a futex wait */
	__u8 events;	       /* sample the events of -e, too: programs can be nested */
	__u8 in_pid_namespace; /* use the ids of a namespace below the machine's */
	__u8 has_rcu_lock;     /* sleepable programs must lock what they use */
	__u8 holds_queue;      /* off-CPU: the run queue is locked at the hook */
	__u8 has_loop;	       /* bpf_loop() */
	__u8 runtimes;	       /* frames of runtimes are found */
	__u8 pad[1];
	__u32 command_pid;   /* becomes a target at its exec; 0: none */
	__s32 cgroup_subsys; /* index of the v1 controller; -1: cgroup v2 */
	__u64 cgroup_id;
	__u64 every;			  /* nanoseconds: windows of that length; 0: one */
	__u64 min_block, max_block;	  /* nanoseconds, both included */
	__u64 interrupts, interrupts_end; /* the code through which they enter the kernel; or 0 */
	__u32 counts_high;		  /* entries of a count map that trigger a drain */
	__u32 events_high;		  /* bytes in the ring buffer that wake the loader */
	__u32 snapshots_high;		  /* … above which no snapshots are sent */
	__u32 kernel_depth;		  /* the kernel's limit of frames in a kernel stack */
	__u64 cpus[BF_MAX_CPUS / 64];
	__u64 event_periods[BF_MAX_EVENTS]; /* one sample per this many events, or BF_PERIOD_… */
	struct bf_glob glob;
	struct bf_hash_key {
		__u64 lower[2], upper[2];
	} hash_keys[BF_HASH_KEYS]; /* random */
};

/*
 * The open window of several, by the scheduler's clock: [start, end). Later ones follow at
 * config.every, if the loader is late with the next.
 */
struct bf_window {
	__u64 start, end;
	__u64 number; /* from 0 */
};

/*
 * Where windows of equal length begin to be counted, by CLOCK_MONOTONIC: window @number at @start.
 * Another one where a window ended earlier.
 */
struct bf_base {
	__u64 start, number;
};

/*
 * When a CPU's timers sample it next, or sampled it last: CLOCK_MONOTONIC ns; 0: not known. Changed
 * while recording, through mapped memory.
 */
struct bf_ticks {
	__u64 at[BF_TIMERS];
};

/* Bits; programs at switches look for them. */
enum bf_at_switches {
	BF_SWITCHES_CALIBRATE = 1, /* clock_offset is being determined */
	BF_SWITCHES_REST = 2,	   /* they are not measured: bpf/polling.bpf.h */
};

/*
 * Changed while recording, through mapped memory. The scheduler's clock is the one of its books
 * (sched_clock(), in ns), or CLOCK_MONOTONIC with capture_out.
 */
struct bf_control {
	/* What most switches read with config.every: one cache line, which changes rarely. */
	struct bf_window windows[2]; /* one is written while programs read the other */
	__u32 window;		     /* its lowest bit selects the open one of them */
	__u32 at_switches;	     /* of enum bf_at_switches */
	__u64 zero; /* always, which the verifier does not know */
	/* The same without. */
	__u64 switch_start, switch_end; /* the window by the scheduler's clock */
	__u64 window_start, window_end; /* by CLOCK_MONOTONIC ns; nothing outside counts */
	__u64 clock_offset;		/* CLOCK_MONOTONIC less the scheduler's clock */
	__u64 least_offset;		/* the least seen while calibrating */
	__u64 pid_namespace;		/* whose ids are used: its address */
	__u64 offcpu_period;		/* ns: one point per such stretch is sampled; 0: all */
	struct bf_base bases[2];	/* with config.every: likewise, for samples */
	__u64 close_at;	    /* for the task iterator: the end, by the scheduler's clock, … */
	__u64 close_window; /* … of the window of that number */
	__u32 epoch;	    /* its lowest bit selects the count map to fill */
	__u32 counts_used[2];
	__u32 seen_used;
	__u32 drain_wanted; /* set by BPF when a map gets full */
	__u32 base;	    /* its lowest bit selects the one of `bases` */
	__u32 pid_level;    /* namespaces above pid_namespace */
	__u32 cgroup_depth; /* set by BPF: levels from the root to config.cgroup_id; 0: unknown */
	__u32 answers;	    /* how often snapshots were answered */
	__u32 unsent;	    /* set by BPF: what a row of this epoch refers to could not be sent */
};

/* One row of the profile. A stack id is a keyed hash of its frames; 0: no frames. */
struct bf_count_key {
	__u64 kernel_stack, user_stack;
	__u64 wakers;	     /* id of a struct bf_wakers_event; 0: none */
	__u64 process_start; /* boot-time ns; identifies a program image with pid and exec_id */
	__u32 pid, tid;	     /* tid: 0 unless keep_tid */
	__u32 exec_id;
	__u8 reason; /* enum bf_reason */
	__u8 kernel_thread;
	__u8 event;  /* number of the sampled event */
	__u8 window; /* number of the window, modulo 256 */
	char comm[BF_COMM_LEN];
};

struct bf_count {
	__u64 samples;	   /* or off-CPU periods */
	__u64 nanoseconds; /* off-CPU time, for BF_REASON_RUNTIME CPU time; or events sampled */
	__u64 waits;	   /* how many waits that off-CPU time is likely to be; of BF_WAIT each */
	__u64 since;	   /* CLOCK_MONOTONIC ns: the first of the samples */
};

#define BF_WAIT 1024

/* A thread that woke another one, and its stacks; all else 0: an interrupt. */
struct bf_waker {
	__u64 kernel_stack, user_stack;
	__u64 process_start; /* boot-time ns */
	__u32 pid, tid;	     /* tid: 0 unless waker_tid, or the other waited for a futex */
	__u32 exec_id;
	__u8 kernel_thread;
	__u8 pad[3];
	char comm[BF_COMM_LEN];
};

#define BF_MAX_WAKERS 8

enum bf_event_type {
	BF_EVENT_STACK,
	BF_EVENT_SNAPSHOT,
	BF_EVENT_WAKER,
	BF_EVENT_WAKERS,
	BF_EVENT_FORK,
	BF_EVENT_EXIT,
	BF_EVENT_DRAIN, /* only a type: a count map is half full */
	N_BF_EVENT_TYPES,
};

/* Why a walk up a stack ended. */
enum bf_end {
	BF_END_NONE,	    /* it goes on */
	BF_END_ENTRY,	    /* the thread's entry: the stack is complete */
	BF_END_DEPTH,	    /* there are more than BF_MAX_FRAMES */
	BF_END_MEMORY,	    /* the stack's memory could not be read */
	BF_END_STUCK,	    /* the caller's frame would not be above this one */
	BF_END_UNSUPPORTED, /* the unwind row needs more than a rule can express */
	BF_END_NO_ROWS,	    /* code without unwind rows or a chain of frame pointers */
	BF_END_BUDGET,	    /* the unwind table did not fit */
	BF_END_UNMAPPED,    /* a return address that leads to no code */
	BF_END_32_BIT,	    /* 32-bit code of a 64-bit machine */
	/* BPF lacks this but the loader may know it: the walk is at the frame before. */
	BF_END_PROCESS, /* the mappings of this program image */
	BF_END_MAPPING, /* the mapping there */
	BF_END_TABLE,	/* the unwind table of the file mapped there */
	N_BF_ENDS,
};

/*
 * The frames of a new stack id, leaf first. User frames are return addresses, except the leaf and
 * those with BF_FRAME_EXACT, which a signal interrupted.
 *
 * A frame that a runtime keeps for its language has two words: BF_FRAME_RUNTIME with the address of
 * its code object, a kind of the runtime's choosing, and the runtime as its owner; then a detail
 * (where in the code) and, in the upper half, a check that another object at the same address does
 * not have. The frames of one
 * activation of an interpreter come before the native frame that runs them; if that was not found,
 * nothing follows.
 */
#define BF_FRAME_EXACT	    (1ULL << 63)
#define BF_FRAME_RUNTIME    (1ULL << 62)
#define BF_FRAME_KIND_SHIFT 56
#define BF_FRAME_KINDS	    64
#define BF_FRAME_OWNER_SHIFT 48
#define BF_FRAME_OWNERS	    256
#define BF_FRAME_CODE	    ((1ULL << 48) - 1)
struct bf_stack_event {
	__u32 type;
	__u16 n;
	__u16 end; /* enum bf_end; for a kernel half BF_END_ENTRY or BF_END_DEPTH */
	__u64 id;
	__u64 time; /* CLOCK_MONOTONIC ns, at most BF_SLICE_NS before; 0: unknown */
	/* Whose it is, if it has frames of a runtime or lacks memory; else 0: these addresses are one
	 * process's. */
	__u64 process_start;
	__u32 pid, exec_id;
	__u64 sp;  /* BF_END_MEMORY: from where on the stack was not read; else 0 */
	__u64 tls; /* the thread pointer, if so */
	__u64 frames[BF_MAX_FRAMES];
};
#define BF_SLICE_NS (1ULL << 16)

/*
 * Frame programs. How the frames of a runtime are found is written by the loader for each build of
 * it, as a text of operations; bpf/machine.h runs them. They read memory and compute; they can't
 * write.
 *
 * A chain is what a text gives: for each activation of an interpreter, innermost first, a header
 * and its frames. The header holds how many words follow, above BF_FRAME_CODE, and the anchor: an
 * address within the native frame that runs it; BF_NO_ANCHOR: none is known.
 */
#define BF_TEXT_OPS	1024 /* a power of 2 */
#define BF_MAX_TEXTS	64
#define BF_MAX_RUNTIMES 1024
#define BF_PARAMETERS	8 /* a power of 2 */
/* Of one process, at most; each walk runs the texts of all. A power of 2. */
#define BF_PROCESS_RUNTIMES 4
#define BF_CHAIN_WORDS	(BF_MAX_FRAMES + 1)
#define BF_CHAIN_SHIFT	48
#define BF_NO_ANCHOR	BF_FRAME_CODE
#define BF_MACHINE_OPS	131072 /* of a chain or a range, at most */
/* The ranges of a walk share these turns of BF_TURN_OPS; each takes one at least. */
#define BF_TURN_OPS    64
#define BF_RANGE_TURNS 2560 /* an interpreted frame takes about 75 operations */

/* What an operation does with its operands: registers @a, @b, @c and the number @value. */
enum bf_code {
	BF_OP_END,	 /* ends the chain: it is whole */
	BF_OP_READ,	 /* the window from word @a on = @c + 1 words of memory at @b + @value */
	BF_OP_TRY,	 /* the same; what can't be read is 0 */
	BF_OP_LOAD,	 /* @a = the 1 << @c bytes of the window at byte @value, which is aligned */
	BF_OP_SET,	 /* @a = @value, sign-extended; so are all that follow */
	BF_OP_PARAMETER, /* @a = the process's parameter @value */
	BF_OP_ADDI,	 /* @a = @b + @value */
	BF_OP_ANDI,
	BF_OP_MULI,
	BF_OP_SHL,
	BF_OP_SHR,
	BF_OP_ADD, /* @a = @b + @c */
	BF_OP_SUB,
	BF_OP_XOR,
	BF_OP_JUMP,   /* skips @value operations, which may be negative */
	BF_OP_IF,     /* skips @c of them, -128 … 127, if @a has the relation @b to @value … */
	BF_OP_IFR,    /* … or to register @value */
	BF_OP_EMIT,   /* a frame: code @a, detail @b, check @c, kind @value */
	BF_OP_STOP,   /* the end of an activation, whose anchor is @a */
	BF_OP_CALLER, /* the walk is in the caller: pc @a, stack pointer @b, frame pointer @c */
	N_BF_OPS,
};
enum bf_relation { BF_EQ, BF_NE, BF_LT, BF_GE, BF_ANY, BF_NONE }; /* unsigned; bits in common */

struct bf_op {
	__u8 code, a, b, c;
	__s32 value;
};
struct bf_text {
	struct bf_op ops[BF_TEXT_OPS];
};

/*
 * When a text runs. A chain: at the start of each walk. A range: where a walk comes to code that is
 * no file's; the text gives its frames and moves the walk on to the first caller that is none of
 * the runtime's. If it does neither, the code is none of the runtime's.
 */
enum bf_hook { BF_HOOK_CHAIN, BF_HOOK_RANGE };

/*
 * A frame program and its parameters, for one process. Number 0 is none. Parameter 0 is the
 * process's own: of bf_process.biases. Parameter 1: not 0 if the stack was taken before the memory is read
 * that is not on it.
 */
struct bf_runtime {
	__u32 text;
	__u16 hook;  /* enum bf_hook */
	__u16 owner; /* its frames'; processes have one runtime of each owner */
	__u64 parameters[BF_PARAMETERS];
};

#define BF_REGISTERS	16
#define BF_REGISTER_TLS 15 /* set when a program starts: the thread pointer */
/* In a range, the first ones keep what they had in the range before; in a walk's first one, they are
 * 0. … */
#define BF_REGISTERS_KEPT 8
/* … Where the walk is. BF_OP_CALLER sets the first four. */
#define BF_REGISTER_WALK_PC	  14
#define BF_REGISTER_WALK_SP	  13
#define BF_REGISTER_WALK_FP	  12
#define BF_REGISTER_WALK_EXACT	  11 /* 1: pc is no return address */
#define BF_REGISTER_WALK_LEAF	  10 /* if so, x86-64's r13, … */
#define BF_REGISTER_WALK_LEAF_DX  9  /* … rdx, … */
#define BF_REGISTER_WALK_LEAF_BX  8  /* … and rbx */
#define BF_REGISTER_WALK_BUILT_IN 15 /* 1: where the walk began, code is BF_MAPPING_BUILT_IN,
					* and the runtime's */
#define BF_WINDOW_BYTES		  256

/* Why a chain ends. */
enum bf_chain_end {
	BF_CHAIN_GOES_ON,
	BF_CHAIN_WHOLE,
	BF_CHAIN_MEMORY, /* memory could not be read */
	BF_CHAIN_BUDGET, /* after BF_MACHINE_OPS */
	BF_CHAIN_TEXT,	 /* the text has no such operation */
	BF_CHAIN_STUCK,	 /* a caller whose frame is not above */
};

struct bf_machine {
	__u64 registers[BF_REGISTERS];
	__u8 window[BF_WINDOW_BYTES];
	__u64 parameters[BF_PARAMETERS];
	__u32 text, at; /* the next operation */
	__u32 header;	/* where the open activation's will be: up to there, the chain is known */
	__u32 n;	/* words, with those of the open activation */
	__u8 end;	/* enum bf_chain_end */
	__u8 is_cut;	/* there were more frames than have room */
	__u16 turns;	/* of this walk's ranges so far */
	__u16 owner;	/* of the frames; 0: nobody else has any, nor code that is built in */
	__u16 base;	/* where the words of this text begin: those before are others' */
	__u64 words[BF_CHAIN_WORDS];
};

/* x86-64's registers in the order of a signal frame (struct sigcontext). */
enum bf_register {
	BF_REGISTER_R8,
	BF_REGISTER_R9,
	BF_REGISTER_R10,
	BF_REGISTER_R11,
	BF_REGISTER_R12,
	BF_REGISTER_R13,
	BF_REGISTER_R14,
	BF_REGISTER_R15,
	BF_REGISTER_DI,
	BF_REGISTER_SI,
	BF_REGISTER_BP,
	BF_REGISTER_BX,
	BF_REGISTER_DX,
	BF_REGISTER_AX,
	BF_REGISTER_CX,
	BF_REGISTER_SP,
	BF_REGISTER_IP,
	N_BF_REGISTERS,
};

/* A walk up a user stack: the registers of the current frame. Others are lost. */
struct bf_walk {
	__u64 pc, sp, fp;
	__u64 lr; /* arm64: the link register */
	/* x86-64: of the leaf, or of what the last signal on the way interrupted. */
	__u64 leaf[N_BF_REGISTERS];
	__u64 bx_at;   /* x86-64: where rbx is; BF_BX_IN_LEAF: in leaf[BF_REGISTER_BX] */
	__u8 exact;    /* pc is the thread's position; else a return address */
	__u8 is_leaf;  /* nothing is unwound yet */
	__u8 guessed;  /* the previous frame was left by its frame pointer, without a row */
	__u8 end;      /* enum bf_end */
	__u8 is_32;    /* x86-64: the thread runs 32-bit code */
	__u8 n_stacks; /* times that the caller's stack was another one, at a lower address */
	__u8 built_in; /* if the walk is in a range: whose BF_MAPPING_BUILT_IN pc's mapping is; 0: no */
	__u8 pad;
};

#define BF_BX_IN_LEAF 0
#define BF_BX_UNKNOWN (~0ULL)

/* Words of a snapshot: frames so far, then what is left of the chains, one after the other. */
#define BF_SNAPSHOT_WORDS 255

/* Bytes of stack memory in a snapshot; whole pages. */
#define BF_SNAPSHOT_SMALL  8192
#define BF_SNAPSHOT_MEDIUM 24576
#define BF_SNAPSHOT_LARGE  65536

/* A function on the stack with a return probe: its return address and place. */
struct bf_return {
	__u64 at, to;
};
#define BF_SNAPSHOT_RETURNS 16

/*
 * A stack that BPF could not walk to its end for lack of a mapping or table: the walk so far, and
 * the memory above. The loader walks on and keeps the frames under @id, which is unique.
 */
struct bf_snapshot_event {
	__u32 type;
	__u16 n;       /* words of frames so far */
	__u16 n_chain; /* words of the chain after them */
	__u64 id;
	__u64 words[BF_SNAPSHOT_WORDS];
	struct bf_walk walk;
	__u64 process_start;
	__u32 pid, exec_id;
	__u64 time;	     /* CLOCK_MONOTONIC ns */
	__u64 memory_start;  /* address of memory[0] */
	__u64 memory_bytes;  /* from there, … */
	__u64 memory_unread; /* the first of which are unset */
	/* The instruction at walk.pc, if readable and if walk.exact. */
	__u32 code;
	__u32 has_code;
	struct bf_return returns[BF_SNAPSHOT_RETURNS];
	__u64 n_returns;
	__u8 memory[]; /* BF_SNAPSHOT_SMALL, _MEDIUM or _LARGE */
};

/* A waker not seen before. */
struct bf_waker_event {
	__u32 type;
	__u32 pad;
	__u64 id;
	struct bf_waker waker;
};

/* The wakers of a thread, each woken by the next one while the thread waited: ids. */
struct bf_wakers_event {
	__u32 type;
	__u32 n;
	__u64 id;
	__u64 wakers[BF_MAX_WAKERS];
};

/* A process: new, gone, or (from the task iterator) existing at the start. */
struct bf_process_event {
	__u32 type;
	__u32 pid;
	__u32 parent_pid; /* of a new one */
	__u32 exec_id;
	__u64 start; /* boot-time ns */
	__u64 time;  /* CLOCK_MONOTONIC ns */
	__u64 parent_start;
	__u32 parent_exec_id;
	__u32 padding;
};

/*
 * Unwind tables and mappings are in segments: the inner maps of `segments`, one array of words
 * each. Word 0 holds the epoch of its last use, word 1 how often it was emptied; data begins at
 * BF_SEGMENT_FIRST.
 */
#define BF_SEGMENT_WORDS (1u << 16) /* 32-bit words: 256 KiB */
#define BF_SEGMENT_FIRST 8
#define BF_MAX_SEGMENTS	 16384

/*
 * A file's table is cut into parts of 256 KiB of file offsets, each in one segment: small functions
 * may need a row every five bytes. A part, in words:
 *
 *	n_pages
 *	directory[n_pages + 1]	where the rows of each 4 KiB page begin, from the part's start
 *	rules			struct bf_rule, 4-byte aligned
 *	rows			offset in page << 20 | place of its rule, from the part's start
 *
 * The rows of a page ascend; one holds from its offset to the next one's, the last to the page's
 * end. Before the first, and where the rule is 0, nothing is known.
 */
#define BF_PART_SHIFT	 18
#define BF_PAGE_SHIFT	 12
#define BF_PART_PAGES	 (1u << (BF_PART_SHIFT - BF_PAGE_SHIFT))
#define BF_ROW_RULE_BITS 20
#define BF_RULE_WORDS	 4

/*
 * How the canonical frame address (DWARF 5, 6.4) is computed: a register (enum bf_register) plus
 * @cfa_offset, …
 */
enum bf_cfa {
	BF_CFA_NONE,
	BF_CFA_SP,
	BF_CFA_FP,
	BF_CFA_REGISTER, /* @reg: any in a leaf; rbx in a caller, or one that calls may change */
	BF_CFA_SP_DEREF, /* the value stored there, plus @addend */
	BF_CFA_FP_DEREF,
	/* x86-64: the value stored at sp + 8 * @reg + @cfa_offset, plus 8; in the leaf only. */
	BF_CFA_SP_INDEXED,
	BF_CFA_PLT,	/* x86-64: sp + 8, and 8 more from byte @addend of a 16-byte entry on */
	BF_CFA_SIGNAL,	/* a signal frame: holds all registers */
	BF_CFA_ENTRY,	/* no caller: the return address is undefined */
	BF_CFA_CLONE,	/* x86-64: after clone(2): sp + 8, or no caller where that returned 0 */
	BF_CFA_PLANTED, /* no caller: the return address was planted for a new coroutine */
	BF_CFA_UNSUPPORTED,
	N_BF_CFAS,
};

/* Where the caller's value of a register is. */
enum bf_saved {
	BF_SAVED_SAME, /* still in the register */
	BF_SAVED_CFA,  /* in memory, @…_offset words of 8 bytes from the CFA */
	BF_SAVED_FP,   /* in memory, @…_offset words of 8 bytes from the frame pointer */
	BF_SAVED_LEAF, /* return address only: in the leaf's register number @ra_offset */
	BF_SAVED_LOST, /* nowhere, or where a rule can't express it */
	N_BF_SAVEDS,
};

struct bf_rule {
	__u8 cfa; /* enum bf_cfa */
	__u8 fp;  /* enum bf_saved */
	__u8 ra;  /* enum bf_saved */
	union {
		__u8 reg;
		__u8 addend; /* bytes */
	};
	__s32 cfa_offset; /* bytes */
	__s16 fp_offset, ra_offset;
	/* x86-64: rbx, which code that aligns its stack relies on while it calls others. */
	__s16 bx_offset;
	__u8 bx; /* enum bf_saved */
	__u8 pad;
};

/* Where a part of a file's table is. Index 0 is no table. */
struct bf_table {
	__u32 segment; /* 0: missing, ask the loader */
	__u32 at;      /* word; 0: none, see BF_NO_ROWS and BF_NO_ROOM */
};

/* Values of segment that mean there is no part. */
#define BF_NO_ROWS BF_MAX_SEGMENTS	 /* nothing is known about this code */
#define BF_NO_ROOM (BF_MAX_SEGMENTS + 1) /* the budget is used up */

#define BF_MAPPING_FILE	    1  /* a file's code, not generated */
#define BF_MAPPING_GO	    2  /* Go's: frame pointers lead from stack to stack, 0 ends them */
#define BF_MAPPING_NO_ROOM  4  /* `tables` had no room for the file */
#define BF_MAPPING_INDEX    8  /* no mapping: where the sorted ones of [start, end) are */
#define BF_MAPPING_BUILT_IN 16 /* generated, but part of a runtime's file: @flags >> 8 owns it */

/*
 * Executable memory of a process. The n'th part of the file that it covers has index @table + n of
 * `tables`.
 *
 * With BF_MAPPING_INDEX: @table is a segment that was emptied @flags >> 8 times, 24 bits of it;
 * @offset >> 32 is the word where the lowest 32 bits of @offset mappings begin.
 */
struct bf_mapping {
	__u64 start, end; /* [start, end) */
	__u64 offset;	  /* in the file */
	__u32 table;	  /* 0: none */
	__u32 flags;	  /* BF_MAPPING_… */
};
#define BF_INDEX_SHIFT 8
#define BF_OWNER_SHIFT 8

/* The mappings of a program image: sorted, not overlapping. */
struct bf_process {
	__u64 start; /* boot-time ns; with exec_id, shows whether it is still that image */
	/* Where the files of its runtimes are mapped, less where they want to be. */
	__u64 biases[BF_PROCESS_RUNTIMES];
	__u32 exec_id;
	__u32 segment, at; /* word, a multiple of 8 */
	__u32 n;	   /* up to BF_MAX_MAPPINGS; more by an index */
	__u32 emptied;	   /* word 1 of the segment at that time */
	/* Numbers of what finds the frames of its runtimes; from the first 0 on, there are no more. */
	__u32 runtimes[BF_PROCESS_RUNTIMES];
	__u16 is_whole;	   /* don't ask the loader about addresses outside of mappings */
	__u16 is_changing; /* libraries come and go: stacks give their time */
};
#define BF_MAX_MAPPINGS 1024

/* Every way to lose something, and a few totals. */
enum bf_stat {
	BF_STAT_SAMPLES,	/* counted samples or off-CPU periods */
	BF_STAT_COUNTS_FULL,	/* samples lost: no room in the count map */
	BF_STAT_EVENTS_FULL,	/* stacks or process events lost: no room in the ring buffer */
	BF_STAT_STORAGE_FAILED, /* off-CPU periods lost: no memory for a thread's timestamps */
	BF_STAT_TARGETS_FULL,	/* children not followed: no room in `target_pids` */
	BF_STAT_SNAPSHOTS_FULL, /* stacks cut off: no room for their snapshot */
	BF_STAT_SNAPSHOTS,	/* stacks that the loader had to walk */
	BF_STAT_THREADS,	/* threads with measured periods */
	BF_STAT_PERIODS,	/* off-CPU periods seen, kept or not, of threads that ended */
	BF_STAT_KEPT,		/* of these */
	BF_STAT_WAKINGS,	/* wake-ups with a recorded waker */
	BF_STAT_KEEPING_NS,	/* time spent recording those */
	BF_STAT_PROGRAMS_NS,	/* time spent in programs: see bpf/cost.bpf.h */
	/* Of these: measured off-CPU time less its counted weight; may be negative. */
	BF_STAT_RESIDUE_NS,
	BF_STAT_VARIANCE_US2,	/* of that difference, square microseconds */
	BF_STAT_UNKNOWN_WAKERS, /* periods that were kept without their waker */
	/* Of threads that exist when a window closes; reset for each run of the iterator. */
	BF_STAT_OPEN_PERIODS,
	BF_STAT_OPEN_RESIDUE_NS,
	BF_STAT_OPEN_VARIANCE_US2,
	BF_STAT_CHAINS,	       /* walks with frames of a runtime */
	BF_STAT_CHAINS_EMPTY,  /* walks in processes that have one, without any */
	BF_STAT_CHAINS_UNREAD, /* walks whose frames of a runtime are cut off: memory could not be
				  read … */
	BF_STAT_CHAINS_DEEP,   /* … or more frames than are kept, or operations than are run */
	BF_STAT_EVENTS_NESTED, /* events lost during another one in the ring buffer */
	BF_STAT_ENDED_NS,      /* CPU time of processes that began and ended in the window */
	N_BF_STATS,
};

/* Kernel addresses to name, and their names: bpf/names.bpf.c. */
#define BF_KERNEL_NAMES	   128
#define BF_KERNEL_NAME_LEN 640 /* the kernel's KSYM_NAME_LEN, and a module's name */
struct bf_kernel_names {
	__u64 addresses[BF_KERNEL_NAMES];
	char names[BF_KERNEL_NAMES][BF_KERNEL_NAME_LEN]; /* FUNCTION[ [MODULE]], or 0xADDRESS */
	__u32 n;
};

_Static_assert(sizeof(struct bf_count_key) == 64, "padding in struct bf_count_key");
_Static_assert(sizeof(struct bf_waker) == 56, "padding in struct bf_waker");
_Static_assert(__builtin_offsetof(struct bf_waker, comm) == 56 - BF_COMM_LEN,
	       "padding after struct bf_waker");
_Static_assert(sizeof(struct bf_process_event) == 48, "padding in struct bf_process_event");
_Static_assert(sizeof(struct bf_stack_event) == 56 + 8 * BF_MAX_FRAMES, "padding");
_Static_assert(sizeof(struct bf_op) == 8, "padding in struct bf_op");
_Static_assert(sizeof(struct bf_runtime) == 8 + 8 * BF_PARAMETERS, "padding in struct bf_runtime");
_Static_assert(__builtin_offsetof(struct bf_control, switch_start) == 64, "one cache line");
_Static_assert(sizeof(struct bf_control) == 216, "padding in struct bf_control");
_Static_assert(sizeof(struct bf_rule) == 4 * BF_RULE_WORDS, "padding in struct bf_rule");
_Static_assert(sizeof(struct bf_mapping) == 32, "padding in struct bf_mapping");
_Static_assert(sizeof(struct bf_process) == 32 + 12 * BF_PROCESS_RUNTIMES, "padding");

#endif
