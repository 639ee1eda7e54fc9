/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * timeline: puts the events of many ring buffers (fork, exit and snapshots from BPF, mmap and exec
 * from the kernel's records) into the order in which they happened, and applies them.
 */
#ifndef COLLECT_TIMELINE_H
#define COLLECT_TIMELINE_H

#include "bpf/wire.h"
#include "collect/process.h"
#include "collect/record_share.h"
#include "collect/records.h"

struct timeline {
	struct timeline_event *events;
	size_t n_events, events_capacity;
	size_t n_snapshots; /* of these */
	size_t snapshot_bytes;
	uint64_t n_cut;	     /* snapshots whose memory did not fit */
	size_t record_bytes; /* of the waiting records of mappings */
	uint64_t n_dropped;  /* records of mappings that did not fit */
	struct record_share share;
};

/*
 * Gets a snapshot when the mappings are those of its time. May note more events. Its errors end
 * timeline_apply().
 */
typedef int (*snapshot_fn)(void *context, const struct bf_snapshot_event *event);

void timeline_done(struct timeline *timeline);

/*
 * Each notes an event. Errors: -ENOMEM. A mapping is not noted if its process's user has too many
 * (see record_share.h) or too many wait: the process is then read from /proc later, if it lives.
 */
int timeline_add_record(struct timeline *timeline, struct processes *processes,
			const struct record *record);
int timeline_add_process(struct timeline *timeline, const struct bf_process_event *event);
/* Too many snapshots lose their memory, and keep the frames that BPF found. */
int timeline_add_snapshot(struct timeline *timeline, const struct bf_snapshot_event *event);

/*
 * Applies, in order, what happened before @until (CLOCK_MONOTONIC ns). Opens files newly mapped by
 * recorded processes: call it often, since short-lived processes end soon.
 */
int timeline_apply(struct timeline *timeline, struct processes *processes, uint64_t until,
		   snapshot_fn on_snapshot, void *context);

/* Whether a fork or an exec of @pid was noted and is not applied. */
bool timeline_awaits_image(const struct timeline *timeline, uint32_t pid);

/*
 * Reads the mappings of processes some of whose records were dropped, when their users have cause
 * for no more. Call it after each drain. Errors: -ENOMEM.
 */
int timeline_catch_up(struct timeline *timeline, struct processes *processes);

#endif
