/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The maps. The loader sets sizes given as 1. Hash maps are preallocated: the programs run where
 * nothing may be allocated.
 */
#ifndef BPF_MAPS_BPF_H
#define BPF_MAPS_BPF_H

const volatile struct bf_config config;
struct bf_control control __attribute__((aligned(64)));
struct bf_ticks ticks[BF_MAX_CPUS];

/* The profile, twice: one is filled while the other is drained. */
struct counts_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct bf_count_key);
	__type(value, struct bf_count);
};
struct counts_map counts_a SEC(".maps"), counts_b SEC(".maps");

/* Stack ids whose frames are already in the ring buffer: a cache, which the loader may empty. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, u64);
	__type(value, u32);
} seen_stacks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} events SEC(".maps");

/* An NMI that interrupts a writer of `events` on this CPU finds this set, and does not spin. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} spare_events SEC(".maps");

struct target_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u8);
};
struct target_map target_pids SEC(".maps"), target_tids SEC(".maps");

/* Targets that have ended: their ids as in `target_pids` by the kernel's, until they are freed. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u32);
} ended_pids SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, N_BF_STATS);
	__type(key, u32);
	__type(value, u64);
} stats SEC(".maps");

/* The data for unwinding; the loader adds it when a walk ends for lack of it. */
struct segment {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u32[BF_SEGMENT_WORDS]);
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, u32);
	__array(values, struct segment);
} segments SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct bf_table);
} tables SEC(".maps");
/*
 * Belongs to the first thread of each process; the kernel frees it with the task. Look-ups are safe
 * in an NMI: before 6.2 they find nothing while this CPU is inside another one.
 */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct bf_process);
} processes SEC(".maps");

/* How the frames of runtimes are found, and what of that in which processes. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, BF_MAX_TEXTS);
	__type(key, u32);
	__type(value, struct bf_text);
} texts SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, BF_MAX_RUNTIMES);
	__type(key, u32);
	__type(value, struct bf_runtime);
} runtimes SEC(".maps");

/*
 * The user stacks of threads that are about to lose their memory: an exec and an exit continue in
 * the kernel for long. Valid while the registers at the kernel's entry are the same.
 */
#define LAST_FRAMES 127 /* one less than a power of 2 */
struct last_stack {
	u64 pc, sp; /* pc: 0 while the rest is being written */
	u32 exec_id;
	u32 pad;
	/* The beginning of a struct bf_stack_event. */
	u8 stack[__builtin_offsetof(struct bf_stack_event, frames) + LAST_FRAMES * sizeof(u64)];
};
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct last_stack);
} last_stacks SEC(".maps");

#define sampling_period() control.offcpu_period
#define random_word()	  ((u64)bpf_get_prandom_u32())
#include "bpf/weigh.h"

/* A thread's off-CPU time; times are by the scheduler's clock. */
struct thread {
	/*
	 * What most switches read: it fits, with the kernel's pointer before it, into one cache
	 * line, which is cold as a rule.
	 */
	u64 in_at;   /* when it last got a CPU, or was first seen … */
	u64 runtime; /* … and the CPU time charged by then */
	u64 off;     /* off-CPU time since it was first seen, of finished periods */
	struct stretch stretch;
	u32 window;	 /* the last one in which a period ended */
	u32 quota_at;	 /* as of when `queue` and `throttled` are, by QUOTA_CLOCK() */
	u32 n_voluntary; /* switches it had caused by blocking, at in_at */
	u8 is_newborn;	 /* waits for its first CPU */
	u8 is_exiting : 1, is_dead : 1 /* in --wall */;
	u8 is_outside, is_skipped; /* by_cgroup: it is outside; or was, some of the time */
	/* What they only change. */
	u64 run_delay; /* time spent waiting for CPUs, at in_at */
	u32 n_periods; /* number of finished and visited ones */
	u16 cpu;       /* at in_at */
	u32 pid, tid;  /* kept for after it is reaped; in a PID namespace only */
	u32 cgroups;   /* by_cgroup: as last checked, part of an address to compare */
	/* Since it was first seen: */
	u64 since;	 /* when that was */
	u64 counted;	 /* CPU time */
	u64 off_visited; /* off-CPU time of periods unfinished when a window closed; the iterator's */
	/* As of entering `window`, the first time a period ended in it. */
	u64 off_before;
	s64 residue_before;
	/* The ongoing period, if in_at is `moved_to`: its time in earlier windows. */
	u64 moved_to;
	u64 before;
	u64 waking_at; /* when it was last woken, if `wakings` knows by whom; else 0 */
	/* Its cgroup's queue, part of the address, and its total throttled time, us, at quota_at. */
	u32 queue, throttled;
	/* With capture_out, from when it last lost its CPU; else from the iterator. */
	u64 kernel_stack, user_stack;
	u64 woken_at; /* capture_out only */
};
_Static_assert(__builtin_offsetof(struct thread, run_delay) == 56, "one cache line");
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread);
} threads SEC(".maps");

/* The wakers of a thread: ids. The second one had woken the first, … */
struct woken {
	u32 n;
	u32 pad;
	u64 wakers[BF_MAX_WAKERS];
};
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct woken);
} wakings SEC(".maps");

/* Buffers for building a stack: one per half, and separate ones for programs that can interrupt. */
enum scratch { SCRATCH_SAMPLE, SCRATCH_SWITCH, SCRATCH_WAKING, SCRATCH_ITERATOR, N_SCRATCHES };
_Static_assert(N_SCRATCHES == BF_SCRATCHES, "one for each use");
/* One of the runtimes of the process whose stack is walked. */
struct unwind_runtime {
	u64 bias;		     /* of its file */
	u64 anchor;		     /* of what of its chain is not in the stack yet: … */
	u32 at, end;		     /* … [at, end) of machine.words */
	u32 number;		     /* 0: there are no more */
	u32 is_range;		     /* its text runs in ranges, … */
	u64 kept[BF_REGISTERS_KEPT]; /* … and has left this to its next range */
};
#define NO_RUNTIME BF_PROCESS_RUNTIMES
/* A user stack while it is built. */
struct unwind {
	struct saved_registers registers; /* of user mode, on the way to the walk */
	struct bf_walk walk;
	u32 segment, at, n_mappings, emptied; /* of the process: struct bf_process */
	u16 is_whole, is_changing;
	u32 exec_id;	/* of the image whose addresses are on the stack */
	u64 trampoline; /* the return address that return probes plant; 0: none */
	u64 returns;	/* the kernel's list of these, from the current frame on: … */
	struct bf_return next, rest[BF_SNAPSHOT_RETURNS]; /* … the first, and the following ones */
	struct unwind_runtime runtimes[BF_PROCESS_RUNTIMES];
	u64 tls;	 /* the thread pointer */
	u64 anchor;	 /* the least of the chains', … */
	u32 least;	 /* … and whose that is; NO_RUNTIME: all are in the stack */
	u32 n_chained;	 /* words of all chains */
	u16 is_placed;	 /* some of these are in the stack */
	u16 is_unread;	 /* a chain is cut off: memory could not be read … */
	u16 is_deep;	 /* … or there is more than is kept */
	u16 has_ranges;	 /* some texts run in ranges; … */
	u16 is_in_range; /* … one is running; */
	u16 range_of;	 /* whose; */
	u16 in_machine;	 /* whose is in the machine, or NO_RUNTIME; */
	u16 range_last;	 /* whose the last range was, or NO_RUNTIME: it is tried first */
	u16 range_tries; /* of others that have just found that the code is not theirs */
	u16 n_ranges;	 /* words of frames that ranges have given */
	struct bf_stack_event stack;
	/* After the stack: for the verifier, what is copied there may reach into this. */
	struct bf_machine machine;
	/* By what a snapshot is recognized (bpf/snapshot.bpf.h), while it is found. */
	u64 id, code;
	u64 page[4096 / sizeof(u64)];
};
/* The kept part of an off-CPU period, which may span two windows. */
#define THROTTLED_ALL (1 << 16)
struct kept {
	u32 blocked_reason, queued_reason;
	u64 throttled; /* share of the queued time: of THROTTLED_ALL */
	u64 length;    /* ns blocked, of which the parts are; of several waits the mean */
	struct kept_part {
		u64 blocked, queued; /* weights, ns */
		u64 wakers;	     /* id; for the blocked part */
		u64 window;	     /* number */
	} last, before;		     /* in the window of its end; in the one before */
};
struct scratch_stacks {
	struct bf_count_key key;     /* the stack has no room for it */
	struct kept kept;	     /* SCRATCH_SWITCH; */
	struct bf_wakers_event wakers; /* its wakers */
	struct bf_waker_event waker; /* SCRATCH_WAKING */
	struct bf_stack_event kernel;
	struct unwind user;
};
/* Buffers of each CPU, one CPU's after the other's: a per-CPU map has no room for such values. */
struct scratch_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct scratch_stacks);
};
struct scratch_map scratch SEC(".maps");

/* Programs at tracepoints of processes can be preempted by others of their kind. */
struct last_walk {
	u32 is_busy;
	u32 pad;
	struct unwind user;
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct last_walk);
} last_walks SEC(".maps");

/* Events that -e names: bpf/events.bpf.h */
struct scratch_map event_scratches SEC(".maps");

/* How often each buffer was taken and given back: odd while in use. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, BF_EVENT_SCRATCHES);
	__type(key, u32);
	__type(value, u64);
} event_uses SEC(".maps");

/* How many programs are in the ring buffer on this CPU. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} ring_users SEC(".maps");

static __always_inline void ring_enter(long change)
{
	u32 zero = 0;
	u64 *users = config.events ? bpf_map_lookup_elem(&ring_users, &zero) : NULL;

	if (users)
		__sync_fetch_and_add(users, change);
}

static __always_inline bool ring_is_busy(void)
{
	u32 zero = 0;
	u64 *users = bpf_map_lookup_elem(&ring_users, &zero);

	return users && *users;
}

static __always_inline void stat_add(u32 stat, u64 n)
{
	u64 *value = bpf_map_lookup_elem(&stats, &stat);

	if (value)
		__sync_fetch_and_add(value, n);
}

#endif
