/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the BPF programs and the loader exchange: the configuration (one constant struct), the
 * control words (mapped memory), the keys and values of the maps, the events of the ring buffer.
 * The only header that both sides include; all fields have fixed sizes and no hidden padding.
 */
#ifndef BPF_WIRE_H
#define BPF_WIRE_H

#ifndef __bpf__
#include <linux/types.h>
#endif

/* Of the user half and of the kernel half; the kernel's own default. One less than a power of 2. */
#define BF_MAX_FRAMES  127
#define BF_HASH_KEYS   (BF_MAX_FRAMES + 2)
#define BF_MAX_CPUS    4096
#define BF_COMM_LEN    16
#define BF_GLOB_STATES 64
#define BF_MAX_EVENTS  16 /* a power of 2 */
#define BF_TIMERS      2  /* that sample by the clock */

/* Why a thread is not running. */
enum bf_reason {
	BF_REASON_NONE, /* it is */
	BF_REASON_SLEEP,
	BF_REASON_DISK,
	BF_REASON_STOPPED,
	BF_REASON_PREEMPTED,
	BF_REASON_RUNQUEUE,
	BF_REASON_THROTTLED, /* by a quota of CPU time */
	BF_REASON_RUNTIME, /* it is: no sample but its exact CPU time, in --wall */
	N_BF_REASONS,
};

/*
 * A command-name pattern as an automaton with one bit a state: from state i a byte c leads to i + 1
 * where bit i of step[c] is set, and back to i where bit i of stay is set (a `*`). The name matches
 * when bit accept is set at its end.
 */
struct bf_glob {
	__u64 step[256];
	__u64 stay;
	__u64 accept;
};

/* In place of how many events make one that is taken: */
#define BF_PERIOD_OWN  0      /* the counter has seen to it, and says for how many it stands */
#define BF_PERIOD_NONE ~0ULL /* samples count, not events */

/* Fixed before the programs are loaded: what is off costs nothing, the verifier removes it. */
struct bf_config {
	__u8 by_pid;	/* only processes in `target_pids` */
	__u8 by_tid;	/* only threads in `target_tids` */
	__u8 by_comm;	/* only command names that match `glob` */
	__u8 by_cgroup; /* only below cgroup `cgroup_id` */
	__u8 by_cpu;	/* off-CPU: only periods that began on one of `cpus` */
	__u8 follow;	/* children of targets are targets */
	__u8 keep_tid;	/* count each thread on its own */
	__u8 user_stacks;
	__u8 kernel_stacks;
	__u8 sampling; /* on-CPU */
	__u8 offcpu;
	__u8 capture_out;     /* off-CPU: no hook after the switch, stacks are taken before it */
	__u8 keep_runtime;    /* count each thread's exact CPU time */
	__u8 filters_periods; /* by_comm, by_cpu, or min_block, max_block */
	__u8 waker_depth;     /* record who woke, who had woken that one, …; 0: not */
	__u8 waker_tid;	      /* tell each waker apart, not only those that end a futex wait */
	__u8 events;	      /* what -e names is sampled, too: programs can be nested */
	__u8 in_pid_namespace; /* ids are told as one below the machine's has them */
	__u8 has_rcu_lock;     /* programs that sleep must say what they hold on to */
	__u8 holds_queue;      /* off-CPU: the hook is where the run queue is locked */
	__u8 pad[4];
	__u32 command_pid;    /* becomes a target at its exec; 0: none */
	__s32 cgroup_subsys;  /* index of the v1 controller; -1: cgroup v2 */
	__u64 cgroup_id;
	__u64 every;			  /* nanoseconds: windows of that length; 0: one */
	__u64 min_block, max_block;	  /* nanoseconds, both included */
	__u64 interrupts, interrupts_end; /* code through which they enter the kernel; or 0 */
	__u32 counts_high;		  /* entries of a count map that call for a drain */
	__u32 events_high;		  /* bytes in the ring buffer that wake the loader */
	__u32 snapshots_high;		  /* … above which no snapshots are sent */
	__u32 kernel_depth;		  /* frames of a kernel stack that the kernel gives */
	__u64 cpus[BF_MAX_CPUS / 64];
	__u64 event_periods[BF_MAX_EVENTS]; /* one event in so many is taken, or BF_PERIOD_… */
	struct bf_glob glob;
	__u64 timers[BF_TIMERS]; /* on-CPU only, what it is sampled by: their periods, ns; or 0 */
	struct bf_hash_key {
		__u64 lower[2], upper[2];
	} hash_keys[BF_HASH_KEYS]; /* random */
};

/*
 * The open window of several, by the scheduler's clock: [start, end). Those after it follow at
 * config.every, should the loader be late with the next one.
 */
struct bf_window {
	__u64 start, end;
	__u64 number; /* from 0 */
};

/*
 * Changed while recording, through mapped memory. The scheduler's clock is what it keeps its books
 * by (sched_clock(), in ns), or CLOCK_MONOTONIC with capture_out.
 */
struct bf_control {
	__u64 window_start, window_end; /* CLOCK_MONOTONIC ns; nothing outside is counted */
	__u64 switch_start, switch_end; /* the same moments by the scheduler's clock */
	__u64 clock_offset;		/* CLOCK_MONOTONIC less the scheduler's clock */
	__u64 least_offset;		/* the least that was seen while calibrating */
	__u64 pid_namespace;		/* the one whose ids are told: its address */
	__u64 timers_start;		/* config.timers began: CLOCK_MONOTONIC ns */
	__u64 offcpu_period;		/* ns: one point in each such stretch is sampled; 0: all */
	/* Off-CPU, with config.every: one is written while programs read the other. */
	struct bf_window windows[2];
	__u64 close_at;	    /* for the task iterator: the end, by the scheduler's clock, … */
	__u64 close_window; /* … of the window of that number */
	__u32 calibrating;		/* clock_offset is being found */
	__u32 epoch;			/* its lowest bit says which count map is filled */
	__u32 counts_used[2];
	__u32 seen_used;
	__u32 drain_wanted; /* set by BPF when a map fills up */
	__u32 window;	    /* its lowest bit says which of `windows` is the open one */
	__u32 pid_level;    /* how many namespaces are above pid_namespace */
	__u32 cgroup_depth; /* set by BPF: cgroups from the root to config.cgroup_id; 0: unknown */
	__u32 pad;
};

/* One row of the profile. A stack id is a keyed hash of its frames; 0: no frames. */
struct bf_count_key {
	__u64 kernel_stack, user_stack;
	__u64 wakers;	     /* id of a struct bf_wakers_event; 0: none */
	__u64 process_start; /* boot-time ns; with pid and exec_id it names one program image */
	__u32 pid, tid;	     /* tid: 0 unless keep_tid */
	__u32 exec_id;
	__u8 reason; /* enum bf_reason */
	__u8 kernel_thread;
	__u8 event;  /* number of the event that was sampled */
	__u8 window; /* number of the window, modulo 256 */
	char comm[BF_COMM_LEN];
};

struct bf_count {
	__u64 samples;	   /* or off-CPU periods */
	__u64 nanoseconds; /* off-CPU time, or of BF_REASON_RUNTIME CPU time; or the number of
			      events that the samples stand for */
	__u64 since;	   /* CLOCK_MONOTONIC ns: the first of them */
};

/* A thread that woke another one, and where it was then; all else 0: an interrupt. */
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
	BF_END_STUCK,	    /* the caller's frame would not lie above this one */
	BF_END_UNSUPPORTED, /* the unwind row says more than a rule can hold */
	BF_END_NO_ROWS,	    /* code without unwind rows, and no chain of frame pointers */
	BF_END_BUDGET,	    /* the unwind table had no room */
	BF_END_UNMAPPED,    /* a return address that leads to no code */
	BF_END_32_BIT,	    /* 32-bit code of a 64-bit machine */
	/* What BPF does not know and the loader may: the walk stands before the frame in question.
	 */
	BF_END_PROCESS, /* the mappings of this program image */
	BF_END_MAPPING, /* what is mapped there */
	BF_END_TABLE,	/* the unwind table of the file mapped there */
	N_BF_ENDS,
};

/*
 * The frames of a stack id not seen before; leaf first. User frames are return addresses but for
 * the leaf and those with BF_FRAME_EXACT: what a signal interrupted.
 */
#define BF_FRAME_EXACT (1ULL << 63)
struct bf_stack_event {
	__u32 type;
	__u16 n;
	__u16 end; /* enum bf_end; of a kernel half BF_END_ENTRY or BF_END_DEPTH */
	__u64 id;
	__u64 time; /* CLOCK_MONOTONIC ns, at most BF_SLICE_NS before; 0: not said */
	__u64 frames[BF_MAX_FRAMES];
};
#define BF_SLICE_NS (1ULL << 16)

/* x86-64's registers, in the order in which a signal frame has them (struct sigcontext). */
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

/* A walk up a user stack: the registers of the frame it stands at. What is not here is lost. */
struct bf_walk {
	__u64 pc, sp, fp;
	__u64 lr; /* arm64: the link register */
	/* x86-64: those of the leaf, or of what the last signal on the way interrupted. */
	__u64 leaf[N_BF_REGISTERS];
	__u64 bx_at;	/* x86-64: where rbx is; BF_BX_IN_LEAF: in leaf[BF_REGISTER_BX] */
	__u8 exact;	/* pc is where the thread stands, or stood; else it is a return address */
	__u8 is_leaf;	/* nothing was unwound yet */
	__u8 guessed;	/* the frame before was left by its frame pointer, without a row */
	__u8 end;	/* enum bf_end */
	__u8 is_32;	/* x86-64: the thread runs 32-bit code */
	__u8 n_stacks;	/* times that the caller's stack was another one, which lies lower */
	__u16 pad;
};

#define BF_BX_IN_LEAF 0
#define BF_BX_UNKNOWN (~0ULL)

/* Bytes of stack memory in a snapshot; whole pages. */
#define BF_SNAPSHOT_SMALL  8192
#define BF_SNAPSHOT_MEDIUM 24576
#define BF_SNAPSHOT_LARGE  65536

/* A function on the stack that is probed at its return: where its return address was. */
struct bf_return {
	__u64 at, to;
};
#define BF_SNAPSHOT_RETURNS 16

/*
 * A stack that BPF could not walk to its end for want of a mapping or table: as far as it came, and
 * the memory above. The loader walks on and keeps the frames under @id, which no other stack has.
 */
struct bf_snapshot_event {
	__u32 type;
	__u16 n; /* frames so far */
	__u16 pad;
	__u64 id;
	__u64 frames[BF_MAX_FRAMES];
	struct bf_walk walk;
	__u64 process_start;
	__u32 pid, exec_id;
	__u64 time;	     /* CLOCK_MONOTONIC ns */
	__u64 memory_start;  /* address of memory[0] */
	__u64 memory_bytes;  /* from there, … */
	__u64 memory_unread; /* the first of which are unset */
	/* The instruction at walk.pc, if that could be read and walk.exact says that it is one. */
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

/* Who woke a thread, who had woken that one while the first waited, …: ids of wakers. */
struct bf_wakers_event {
	__u32 type;
	__u32 n;
	__u64 id;
	__u64 wakers[BF_MAX_WAKERS];
};

/* A process: born, gone, or (from the task iterator) there from the start. */
struct bf_process_event {
	__u32 type;
	__u32 pid;
	__u32 parent_pid;
	__u32 exec_id;
	__u64 start; /* boot-time ns */
	__u64 time;  /* CLOCK_MONOTONIC ns */
};

/*
 * Unwind tables and mappings lie in segments: the inner maps of `segments`, one array of words
 * each. Word 0 holds the epoch in which it was last used, word 1 how often it was emptied; what is
 * stored begins at BF_SEGMENT_FIRST.
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
 *	rows			offset in page << 20 | where its rule is, from the part's start
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
 * How the canonical frame address (DWARF 5, 6.4) is found: a register (enum bf_register) plus
 * @cfa_offset, …
 */
enum bf_cfa {
	BF_CFA_NONE,
	BF_CFA_SP,
	BF_CFA_FP,
	BF_CFA_REGISTER, /* @reg: of a leaf any; of a caller rbx, or what calls may change */
	BF_CFA_SP_DEREF, /* what is stored there, plus @addend */
	BF_CFA_FP_DEREF,
	/* x86-64: what is stored at sp + 8 * @reg + @cfa_offset, plus 8; at the leaf only. */
	BF_CFA_SP_INDEXED,
	BF_CFA_PLT,	/* x86-64: sp + 8, and 8 more from byte @addend of an entry of 16 on */
	BF_CFA_SIGNAL,	/* a signal frame: all registers lie in it */
	BF_CFA_ENTRY,	/* no caller: the return address is undefined */
	BF_CFA_CLONE,	/* x86-64: behind clone(2): sp + 8, or, where that gave 0, no caller */
	BF_CFA_PLANTED, /* no caller: who made a coroutine's stack has put a return address there */
	BF_CFA_UNSUPPORTED,
	N_BF_CFAS,
};

/* Where the caller's value of a register is. */
enum bf_saved {
	BF_SAVED_SAME, /* still in the register */
	BF_SAVED_CFA,  /* in memory, @…_offset words of 8 bytes from the CFA */
	BF_SAVED_FP,   /* in memory, @…_offset words of 8 bytes from the frame pointer */
	BF_SAVED_LEAF, /* return address only: in the register of number @ra_offset, of a leaf */
	BF_SAVED_LOST, /* nowhere, or where a rule can't tell */
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
	/* x86-64: rbx, which code that aligns its stack counts from while it calls others. */
	__s16 bx_offset;
	__u8 bx; /* enum bf_saved */
	__u8 pad;
};

/* Where a part of a file's table is. Index 0 is no table. */
struct bf_table {
	__u32 segment; /* 0: not there, the loader is to be asked */
	__u32 at;      /* word; 0: there is none, see BF_NO_ROWS and BF_NO_ROOM */
};

/* What stands for a segment where there is no part. */
#define BF_NO_ROWS BF_MAX_SEGMENTS	 /* nothing is known of this code */
#define BF_NO_ROOM (BF_MAX_SEGMENTS + 1) /* the budget is used up */

#define BF_MAPPING_FILE	   1 /* a file's code, not generated */
#define BF_MAPPING_GO	   2 /* Go's: frame pointers lead from one stack to another, 0 ends them */
#define BF_MAPPING_NO_ROOM 4 /* there was no room in `tables` for the file */
#define BF_MAPPING_INDEX   8 /* no mapping: where those of [start, end) lie, sorted */

/*
 * Executable memory of a process. The n'th part of the file that it reaches into has index @table +
 * n of `tables`.
 *
 * With BF_MAPPING_INDEX: @table is a segment that was emptied @flags >> 8 times, 24 bits of it, where
 * @offset >> 32 is the word at which the lowest 32 bits of @offset mappings begin.
 */
struct bf_mapping {
	__u64 start, end; /* [start, end) */
	__u64 offset;	  /* in the file */
	__u32 table;	  /* 0: none */
	__u32 flags;	  /* BF_MAPPING_… */
};
#define BF_INDEX_SHIFT 8

/* The mappings of a program image: sorted, not overlapping. */
struct bf_process {
	__u64 start; /* boot-time ns; with exec_id, whether it still is that image */
	__u32 exec_id;
	__u32 segment, at; /* word, a multiple of 8 */
	__u32 n;	   /* up to BF_MAX_MAPPINGS; more by an index */
	__u32 emptied;	   /* as word 1 of the segment was then */
	__u16 is_whole;	   /* what is in no mapping is not worth asking the loader about */
	__u16 is_changing; /* libraries come and go: stacks say when they were */
};
#define BF_MAX_MAPPINGS 1024

/* Every way to lose something, and a few totals. */
enum bf_stat {
	BF_STAT_SAMPLES,	/* counted: samples or off-CPU periods */
	BF_STAT_COUNTS_FULL,	/* samples lost: no room in the count map */
	BF_STAT_EVENTS_FULL,	/* stacks or process events lost: no room in the ring buffer */
	BF_STAT_STORAGE_FAILED, /* off-CPU periods lost: no memory for a thread's timestamps */
	BF_STAT_TARGETS_FULL,	/* children not followed: no room in `target_pids` */
	BF_STAT_SNAPSHOTS_FULL, /* stacks cut off: no room for their snapshot */
	BF_STAT_SNAPSHOTS,	/* stacks that the loader had to walk */
	BF_STAT_THREADS,	/* threads whose periods are measured */
	BF_STAT_PERIODS,	/* off-CPU periods seen, kept or not, of threads that ended */
	BF_STAT_KEPT,		/* of these */
	BF_STAT_WAKINGS,	/* wake-ups of which the waker was taken */
	BF_STAT_KEEPING_NS,	/* time spent on those */
	/* Of these: measured off-CPU time less what was counted for it; may be negative. */
	BF_STAT_RESIDUE_NS,
	BF_STAT_VARIANCE_US2, /* of that difference, square microseconds */
	BF_STAT_UNKNOWN_WAKERS, /* periods that were kept, without their waker */
	/* Of the threads that are there as a window closes; for each run of the iterator anew. */
	BF_STAT_OPEN_PERIODS,
	BF_STAT_OPEN_RESIDUE_NS,
	BF_STAT_OPEN_VARIANCE_US2,
	BF_STAT_EVENTS_NESTED,	/* events lost that came while another one was in the ring buffer */
	N_BF_STATS,
};

/* Kernel addresses that want names, and their names: bpf/names.bpf.c. */
#define BF_KERNEL_NAMES	   128
#define BF_KERNEL_NAME_LEN 640 /* the kernel's KSYM_NAME_LEN, and a module's name */
struct bf_kernel_names {
	__u64 addresses[BF_KERNEL_NAMES];
	char names[BF_KERNEL_NAMES][BF_KERNEL_NAME_LEN]; /* FUNCTION[ [MODULE]], or 0xADDRESS */
	__u32 n;
};

_Static_assert(sizeof(struct bf_count_key) == 64, "padding in struct bf_count_key");
_Static_assert(sizeof(struct bf_waker) == 56, "padding in struct bf_waker");
_Static_assert(sizeof(struct bf_process_event) == 32, "padding in struct bf_process_event");
_Static_assert(sizeof(struct bf_stack_event) == 24 + 8 * BF_MAX_FRAMES, "padding");
_Static_assert(sizeof(struct bf_control) == 176, "padding in struct bf_control");
_Static_assert(sizeof(struct bf_rule) == 4 * BF_RULE_WORDS, "padding in struct bf_rule");
_Static_assert(sizeof(struct bf_mapping) == 32, "padding in struct bf_mapping");
_Static_assert(sizeof(struct bf_process) == 32, "padding in struct bf_process");

#endif
