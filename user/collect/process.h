/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * process: which program images ran, and what each had mapped executable.
 *
 * A program image is one process between two execs: (pid, start time, number of execs), the same
 * three that the BPF programs put into every row, so reused pids and execs are never mixed up.
 */
#ifndef COLLECT_PROCESS_H
#define COLLECT_PROCESS_H

#include "collect/files.h"
#include "collect/jit_files.h"
#include "collect/segments.h"

struct mapping {
	uint64_t start, end; /* [start, end) */
	uint64_t offset;     /* in the file */
	uint32_t file;	     /* index in files, or UINT32_MAX */
	uint32_t path;	     /* string id in files.strings */
};

/* Where the mappings lie for BPF; the unwinder's. */
struct process_room {
	struct room room; /* its two halves take turns; segment 0: none yet */
	uint32_t version; /* of the mappings there */
	uint8_t class;	  /* of the room's size */
	bool turn;
	bool wanted; /* BPF met this process, or it was forked from one that BPF knows */
	bool is_pushed;
	uint64_t pushed_at; /* monotonic ns */
};

struct process {
	uint32_t pid, exec_id;
	uint64_t start;		  /* boot-time ns; 0 when unknown */
	uint64_t listed_at;	  /* monotonic ns: what came before is in what /proc has; or 0 */
	struct mapping *mappings; /* sorted by start, not overlapping */
	size_t n_mappings, mappings_capacity;
	uint32_t version;   /* changes with the mappings */
	uint32_t ended;	    /* the sweep before which it ended, counted from 1; 0: it lives */
	bool is_changed;    /* it is in @changed */
	uint64_t exited_at; /* monotonic ns; 0: no event told */
	struct process_room room;
};

struct processes {
	struct files files;
	struct jit_files jit_files;
	struct process *processes;
	size_t n_processes, processes_capacity;
	size_t n_ended;
	struct table by_image, by_pid; /* by_pid: into @latest */
	struct pid_slot *latest;
	size_t n_latest, latest_capacity;
	/* Those that ended, or have other mappings, since the unwinder took them off. */
	uint32_t *changed;
	size_t n_changed, changed_capacity;
	size_t sweep_above;
	uint32_t sweeps;      /* calls of processes_sweep() */
	uint32_t compactions; /* how often indexes changed their meaning */
};

int processes_init(struct processes *processes);
void processes_done(struct processes *processes);

/* The image, or TABLE_NONE. */
uint32_t processes_find(const struct processes *processes, uint32_t pid, uint64_t start,
			uint32_t exec_id);
/* What runs as @pid as far as the events have told, or TABLE_NONE. */
uint32_t processes_latest(const struct processes *processes, uint32_t pid);

/* Adds an image without mappings, now the latest of its pid. Errors: -ENOMEM. */
int processes_add(struct processes *processes, uint32_t pid, uint64_t start, uint32_t exec_id,
		  uint32_t *ret_process);

/* Adds an image that was forked from @parent: it has the same mappings. */
int processes_fork(struct processes *processes, uint32_t parent_pid, uint32_t pid, uint64_t start,
		   uint32_t exec_id);
/* The next image of a process that was exec'ed: no mappings yet. */
int processes_exec(struct processes *processes, uint32_t pid);
/* @time: monotonic ns. */
int processes_exit(struct processes *processes, uint32_t pid, uint64_t time);

/* Adds a mapping to what runs as @pid; what it covers of older ones is gone. */
int processes_map(struct processes *processes, uint32_t pid, const struct mapping *mapping);

/* Puts an image into @changed, once. Errors: -ENOMEM. */
int processes_note_change(struct processes *processes, uint32_t process);

/* Adds what /proc/PID/maps shows now. A process that has ended is no error. Errors: -ENOMEM. */
int processes_read_maps(struct processes *processes, uint32_t process);

/* The mapping that holds @address, or NULL. */
const struct mapping *process_mapping(const struct process *process, uint64_t address);

/*
 * Forgets images that ended before the call before this one, if there are many: more than
 * @sweep_above, and than live. Call it after each
 * drain: rows of an image that ended lately may still be in the map that is being filled. Indexes
 * change.
 */
int processes_sweep(struct processes *processes);

/* The image, added if no event told of it: then as /proc has it, if it still runs. Errors: -ENOMEM.
 */
int processes_meet(struct processes *processes, uint32_t pid, uint64_t start, uint32_t exec_id,
		   uint32_t *ret_process);

#endif
