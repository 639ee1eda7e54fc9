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

#define BF_MAX_FRAMES  127 /* of the user half and of the kernel half; the kernel's own default */
#define BF_MAX_CPUS    4096
#define BF_COMM_LEN    16
#define BF_GLOB_STATES 64

/* Why a thread is not running. */
enum bf_reason {
	BF_REASON_NONE, /* it is */
	BF_REASON_SLEEP,
	BF_REASON_DISK,
	BF_REASON_STOPPED,
	BF_REASON_PREEMPTED,
	BF_REASON_RUNQUEUE,
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

/* Fixed before the programs are loaded: what is off costs nothing, the verifier removes it. */
struct bf_config {
	__u8 by_pid;	/* only processes in `target_pids` */
	__u8 by_tid;	/* only threads in `target_tids` */
	__u8 by_comm;	/* only command names that match `glob` */
	__u8 by_cgroup; /* only below cgroup `cgroup_id` */
	__u8 by_cpu;	/* off-CPU: only threads that lost one of `cpus` */
	__u8 follow;	/* children of targets are targets */
	__u8 keep_tid;	/* count each thread on its own */
	__u8 user_stacks;
	__u8 kernel_stacks;
	__u8 offcpu;
	__u8 capture_out;      /* off-CPU: no hook after the switch, stacks are taken before it */
	__u8 switch_has_state; /* sched_switch passes prev_state (5.18) */
	__u32 command_pid;     /* becomes a target at its exec; 0: none */
	__s32 cgroup_subsys;   /* index of the v1 controller; -1: cgroup v2 */
	__u32 cgroup_level;
	__u64 cgroup_id;
	__u64 min_block, max_block; /* nanoseconds, both included */
	__u32 counts_high;	    /* entries of a count map that call for a drain */
	__u32 events_high;	    /* bytes in the ring buffer that wake the loader */
	__u64 cpus[BF_MAX_CPUS / 64];
	struct bf_glob glob;
};

/* Changed while recording, through mapped memory. */
struct bf_control {
	__u64 window_start, window_end; /* CLOCK_MONOTONIC ns; nothing outside is counted */
	__u32 epoch;			/* its lowest bit says which count map is filled */
	__u32 counts_used[2];
	__u32 seen_used;
	__u32 drain_wanted; /* set by BPF when a map fills up */
	__u32 pad;
};

/* One row of the profile. A stack id is the hash of its frames; 0: no frames. */
struct bf_count_key {
	__u64 kernel_stack, user_stack;
	__u64 process_start; /* boot-time ns; with pid and exec_id it names one program image */
	__u32 pid, tid;	     /* tid: 0 unless keep_tid */
	__u32 exec_id;
	__u8 reason; /* enum bf_reason */
	__u8 kernel_thread;
	__u8 pad[2];
	char comm[BF_COMM_LEN];
};

struct bf_count {
	__u64 samples;	   /* or off-CPU periods */
	__u64 nanoseconds; /* off-CPU time */
};

enum bf_event_type {
	BF_EVENT_STACK,
	BF_EVENT_FORK,
	BF_EVENT_EXIT,
	BF_EVENT_DRAIN, /* only a type: a count map is half full */
	N_BF_EVENT_TYPES,
};

/* The frames of a stack id not seen before; leaf first. */
struct bf_stack_event {
	__u32 type;
	__u32 n;
	__u64 id;
	__u64 frames[BF_MAX_FRAMES];
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

/* Every way to lose something, and a few totals. */
enum bf_stat {
	BF_STAT_SAMPLES,	/* counted: samples or off-CPU periods */
	BF_STAT_COUNTS_FULL,	/* samples lost: no room in the count map */
	BF_STAT_EVENTS_FULL,	/* stacks or process events lost: no room in the ring buffer */
	BF_STAT_STORAGE_FAILED, /* off-CPU periods lost: no memory for a thread's timestamps */
	BF_STAT_TARGETS_FULL,	/* children not followed: no room in `target_pids` */
	BF_STAT_SWITCHES,	/* off-CPU periods seen, counted or not */
	N_BF_STATS,
};

_Static_assert(sizeof(struct bf_count_key) == 56, "padding in struct bf_count_key");
_Static_assert(sizeof(struct bf_process_event) == 32, "padding in struct bf_process_event");
_Static_assert(sizeof(struct bf_stack_event) == 16 + 8 * BF_MAX_FRAMES, "padding");
_Static_assert(sizeof(struct bf_control) == 40, "padding in struct bf_control");

#endif
