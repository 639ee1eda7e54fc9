/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * unwinder: gives the BPF programs, on demand, the data for unwinding user stacks.
 *
 * A stack that they could not walk to its end arrives as a snapshot. It is walked to its end here,
 * and the mappings of its process and the tables of the files on it are put into the maps: the next
 * similar stack does not need us. Nothing is made for files that no stack touches.
 */
#ifndef COLLECT_UNWINDER_H
#define COLLECT_UNWINDER_H

#include "bpf/wire.h"
#include "collect/frame_programs.h"
#include "collect/process.h"
#include "collect/raw_stacks.h"
#include "collect/tables.h"

struct profiler;

struct unwinder {
	struct profiler *skel;
	struct processes *processes;
	struct raw_stacks *stacks;
	struct segments segments;
	struct tables tables;
	struct frame_programs programs;
	struct range_walk *range; /* for walks through runtimes' code; NULL: none was seen */
	bool no_runtimes;   /* none of their frames are wanted */
	uint64_t asked_at;  /* when /proc was last asked for an unrecorded mapping */
	uint64_t n_refused; /* processes whose mappings did not fit */
};

/*
 * @budget_bytes: of all tables and mappings; 0: no user stacks are recorded. Long work calls the
 * callback now and then; it must not call the unwinder or change @processes. Errors: -ENOMEM.
 */
int unwinder_init(struct unwinder *unwinder, struct profiler *skel, struct processes *processes,
		  struct raw_stacks *stacks, uint64_t budget_bytes, unwind_yield_fn yield,
		  void *context);
void unwinder_done(struct unwinder *unwinder);

/*
 * Walks a snapshot to its end and keeps its frames. Call it when the mappings are those of the
 * snapshot's time. Errors: -ENOMEM.
 */
int unwinder_walk(struct unwinder *unwinder, const struct bf_snapshot_event *event);

/* Loads what any stack of @process may need, in advance. Errors: -ENOMEM. */
int unwinder_prepare(struct unwinder *unwinder, uint32_t process);

/* Updates the mappings in BPF. Call it after applying events. Errors: -ENOMEM. */
int unwinder_sync(struct unwinder *unwinder);

/*
 * Call it when all programs have ended that ran at the last call: after each drain. Errors:
 * -ENOMEM.
 */
int unwinder_reclaim(struct unwinder *unwinder);

#endif
