/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * process: the program images that ran, and their executable mappings.
 *
 * A program image is one process between two execs: (pid, start time, number of execs), the same
 * three that the BPF programs put into every row, so reused pids and execs are never confused. An
 * image is kept for some drains after its end, since its rows may still be counted, and while
 * somebody holds a reference.
 *
 * A forked process shares its parent's list of mappings until one of them changes.
 */
#ifndef COLLECT_PROCESS_H
#define COLLECT_PROCESS_H

#include "collect/files.h"
#include "collect/jit_files.h"
#include "collect/segments.h"
#include "runtimes/runtime.h"

struct mapping {
	uint64_t start, end; /* [start, end) */
	uint64_t offset;     /* in the file */
	uint32_t file;	     /* the list holds a reference */
};

/* Where a list of mappings is stored for BPF; the unwinder's. */
struct list_rooms {
	struct room *rooms; /* the first holds the mappings, or an index of the others */
	uint32_t n;
	uint8_t class;	/* size class of the first */
	bool turn;	/* which half of each BPF reads */
	uint32_t count; /* of entries in the first */
	uint64_t version;
};

struct mapping_list {
	uint32_t n_references;
	uint64_t version;      /* unique to this state of this list */
	struct mapping *items; /* sorted by start, not overlapping */
	size_t n, capacity;
	/* Of a long one: what it counts for in files.budgets, and for whom. */
	size_t n_charged;
	uint32_t budget;
	bool is_cut; /* mappings are left out: its user has too many */
	struct list_rooms rooms;
};

struct process {
	uint32_t n_references; /* 0: unused */
	uint32_t pid, exec_id;
	uint32_t parent_pid; /* when it was forked; 0 when that was not seen */
	uint64_t start;	    /* boot-time ns; 0 when unknown */
	uint64_t since;	    /* monotonic ns: its exec; 0: not seen */
	uint64_t serial;    /* unique to this image */
	uint64_t listed_at; /* monotonic ns: /proc shows everything up to then; or 0 */
	uint64_t forked_from; /* serial of the image it was forked from; 0: none, or unknown */
	struct mapping_list *mappings;
	/* Its earlier mappings, from before files were replaced: oldest first. */
	struct past_mappings {
		struct mapping_list *list; /* with a reference */
		uint64_t until;		   /* monotonic ns */
	} * past;
	uint32_t n_past;
	uint64_t changing_until; /* monotonic ns: libraries come and go until then; 0: they don't */
	uint32_t ended; /* number of the sweep before which it ended, from 1; 0: it lives */
	bool is_changed;	 /* it is in processes.changed */
	bool is_behind;		 /* records of its mappings were dropped */
	bool is_in_window;	 /* the open window's profile has memory of it, and a reference */
	/* Its runtimes (collect/process_runtime.h): in which mappings they were looked for, and how
	 * many files were known to be one then; … */
	struct {
		uint64_t version, n_known;
		uint32_t n;
		struct runtime_place {
			uint32_t file;
			int64_t shift; /* where it is mapped, less its offset */
		} places[BF_PROCESS_RUNTIMES];
	} runtimes;
	/* … and what it has said of itself, by their numbers; owned, or NULL. */
	struct process_runtime *said[RUNTIME_ROWS];
	/* Version of the mappings, and monotonic ns before which they are not looked at again: for
	 * collect/jit_frames.h. */
	uint64_t looked_around, look_at;
	/* The unwinder's: */
	bool is_wanted;	   /* BPF has seen this process, or its parent */
	uint32_t n_misses; /* addresses of its stacks outside of all mappings of this version */
	uint64_t pushed;   /* version of the mappings that BPF knows; 0: none */
	uint64_t searched; /* version of those whose files were all looked at; 0: none */
};

struct processes {
	struct files files;
	struct jit_files jit_files;
	struct process *processes;
	struct pool pool;
	struct table by_image, by_pid; /* by_pid: each pid's latest image */
	uint64_t last_version, last_serial;
	/* With a reference each: images whose mappings changed since the unwinder took them. */
	uint32_t *changed;
	size_t n_changed, changed_capacity;
	uint32_t *ended;
	size_t n_ended, ended_capacity;
	uint32_t sweeps;   /* calls of processes_sweep() */
	uint64_t swept_at; /* monotonic ns: the last of these */
	size_t n_changing; /* images whose libraries come and go */
	size_t n_past;	   /* their kept lists */
	size_t n_behind;   /* images that are */
	/* Called with the rooms of a list that is freed. */
	void (*release_rooms)(void *context, struct list_rooms *rooms);
	void *release_context;
};

void processes_init(struct processes *processes);
void processes_done(struct processes *processes);

/* The image, or TABLE_NONE. */
uint32_t processes_find(const struct processes *processes, uint32_t pid, uint64_t start,
			uint32_t exec_id);
/* The latest image of @pid, as far as events show, or TABLE_NONE. */
uint32_t processes_latest(const struct processes *processes, uint32_t pid);

/* Take and put a reference. */
void processes_hold(struct processes *processes, uint32_t process);
void processes_put(struct processes *processes, uint32_t process);

/* Adds an image without mappings, now the latest of its pid. Errors: -ENOMEM. */
int processes_add(struct processes *processes, uint32_t pid, uint64_t start, uint32_t exec_id,
		  uint32_t *ret_process);

/* Adds an image that was forked from @parent: it has the same mappings. */
int processes_fork(struct processes *processes, uint32_t parent_pid, uint32_t pid, uint64_t start,
		   uint32_t exec_id);
/* The next image of a process that was exec'ed at @time (monotonic ns): no mappings yet. */
int processes_exec(struct processes *processes, uint32_t pid, uint64_t time);
int processes_exit(struct processes *processes, uint32_t pid);

/*
 * Adds a mapping, made at @time, to what runs as @pid, and takes over the reference to its file; it
 * replaces older ones that it covers. Errors: -ENOMEM.
 */
int processes_map(struct processes *processes, uint32_t pid, const struct mapping *mapping,
		  uint64_t time);

/* Notes once that the unwinder must look at an image. Errors: -ENOMEM. */
int processes_note_change(struct processes *processes, uint32_t process);
/* Gives one of the noted images, with a reference; TABLE_NONE: none. */
uint32_t processes_take_changed(struct processes *processes);

/* Adds what /proc/PID/maps shows now. An ended process is no error. Errors: -ENOMEM. */
int processes_read_maps(struct processes *processes, uint32_t process);

/* Notes that a mapping of what runs as @pid was not applied. */
void processes_fall_behind(struct processes *processes, uint32_t pid);
/* Reads them at @now (monotonic ns). Errors: -ENOMEM. */
int processes_catch_up(struct processes *processes, uint32_t process, uint64_t now);

/* Adds what /proc/PID/maps shows at @address. Errors: -ENOMEM. */
int processes_read_mapping(struct processes *processes, uint32_t process, uint64_t address);

/* The mappings at @time; 0: now. */
const struct mapping_list *process_mappings(const struct process *process, uint64_t time);

/* The mapping that contains @address, or NULL. */
const struct mapping *mapping_find(const struct mapping_list *list, uint64_t address);

/*
 * Puts images that ended some calls ago, and mappings from before the last call. Call it after each
 * drain. Errors: -ENOMEM.
 */
int processes_sweep(struct processes *processes);

/*
 * The image; if no event reported it, it is added with its state in /proc, if it still runs.
 * Errors: -ENOMEM.
 */
int processes_see(struct processes *processes, uint32_t pid, uint64_t start, uint32_t exec_id,
		  uint32_t *ret_process);

#endif
