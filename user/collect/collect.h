/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * collect: records windows of the machine, back to back, into a profile each.
 *
 *	collect_open → collect_start → (collect_step → collect_take) … → collect_stop →
 *	collect_take → collect_free
 *
 * Inside, data flows one way: BPF count maps → drain → locate → profile. What comes beside it (new
 * stacks, forks, exits, mmaps) arrives through ring buffers, which one epoll descriptor watches.
 */
#ifndef COLLECT_COLLECT_H
#define COLLECT_COLLECT_H

#include <stdio.h>

#include "base/budgets.h"
#include "base/elf_file.h"
#include "base/failure.h"
#include "base/reader.h"
#include "base/system.h"
#include "collect/event.h"
#include "core/profile.h"
#include "core/source.h"

#define PERIOD_AUTO UINT64_MAX

/* A process that is in a window. */
struct collect_process {
	uint32_t pid, parent_pid; /* parent_pid: 0 when its fork was not seen */
	uint64_t start;		  /* boot-time ns */
	const char *exe;	  /* as it sees it; "" when not known. Good for the call */
};

struct collect_options {
	enum profile_mode mode;
	const uint32_t *pids, *tids; /* none: no such filter */
	size_t n_pids, n_tids;
	const char *comm;	     /* a glob, or NULL */
	const char *cgroup;	     /* a path, or NULL */
	const struct cpu_list *cpus; /* or NULL: all */
	uint32_t command_pid; /* a process that waits to exec: recorded from then on; 0: none */
	bool no_children;
	bool threads; /* keep each thread's samples apart */
	bool no_user, no_kernel;
	unsigned int frequency;		    /* Hz */
	const struct event_request *events; /* what is sampled; none: cycles or cpu-clock */
	size_t n_events;		    /* up to PROFILE_MAX_EVENTS */
	uint64_t unwind_memory;		    /* bytes: the most that unwind tables may use */
	uint64_t min_block_ns, max_block_ns;
	/* Off-CPU time is sampled at one point in each so many ns of a thread's; 0: all is kept. */
	uint64_t offcpu_period_ns; /* PERIOD_AUTO: as long as keeps the cost low */
	uint64_t every_ns;	   /* windows of this length, back to back; 0: one */
	unsigned int waker_depth;  /* record who woke, and who had woken that one, …; 0: not */
	struct reader *reader;	   /* what is in files of others is read there; NULL: by us */
	int stop_fd;		   /* readable: the recording shall end soon; -1: none */
	const struct reader_debug
		*debug;	  /* of code without .eh_frame; or NULL: none is looked for */
	/* NULL, or called for each row that is counted, with whose it is. */
	void (*on_process)(void *context, const struct collect_process *process);
	void *on_process_context;
	const char *hook; /* force one of the off-CPU hooks (tests), or NULL */
	FILE *log;	  /* where libbpf's warnings and the verifier's log go, or NULL */
};

/* What was counted and what was lost in one window. */
struct collect_stats {
	uint64_t samples;	/* or off-CPU periods counted */
	uint64_t periods, kept; /* off-CPU periods seen, and of these kept */
	uint64_t counts_full, events_full, storage_failed, targets_full; /* lost in BPF */
	uint64_t lost_stacks;	    /* samples counted, frames lost */
	uint64_t nested_events;	    /* events that came while another one was handled */
	uint64_t lost_records;	    /* mmap and exec records */
	uint64_t throttled;	    /* times the kernel paused sampling */
	uint64_t unknown_processes; /* samples of processes whose mappings are not known */
	uint64_t unopened_files;    /* mapped files that could not be opened */
	uint64_t lost_wakers;	    /* kept periods whose waker never arrived */
	uint64_t unknown_wakers;    /* kept periods of which the waker is not known */
	/* Off-CPU sampling. */
	uint64_t offcpu_period_ns;   /* the last one in use; 0: all was kept */
	uint64_t offcpu_measured_ns; /* the exact total, where the profile's is an estimate … */
	uint64_t offcpu_interval_ns; /* … and lies within this of it in 95 of 100 recordings */
	uint64_t taken_ns;     /* off-CPU time may have up to that much that threads did not wait */
	uint64_t threads;      /* of which time was kept */
	uint64_t kernel_bytes; /* memory of the maps and of the threads' storage */
	uint64_t drains;
	size_t distinct_stacks;
	size_t processes;
	/* Unwinding. */
	uint64_t snapshots,
		snapshots_full; /* stacks walked outside of BPF; cut off for want of room */
	uint64_t tables_built, tables_failed;
	uint64_t tables_unread;	 /* files that took too long or killed their reader … */
	const char *unread;	 /* … the first of them; the collector's */
	struct budgets_refused refused; /* files of users whose others were too many, or took too long */
	uint64_t tables_refused; /* files and processes that there was no room for */
	uint64_t unwind_bytes, evictions;
};

struct collector;

/*
 * Loads and attaches everything; nothing is counted yet. On failure *failure says why and what
 * mends it. Errors: -EPERM, -ESRCH (a target does not exist), -EINVAL (an option), -ENOSYS (this
 * kernel cannot), -ENOMEM, others of the kernel.
 */
int collect_open(const struct collect_options *options, struct collector **ret,
		 struct failure *failure);
void collect_free(struct collector *collector);

/* Opens the window, for exactly @duration_ns, or, with 0, until collect_stop(). */
int collect_start(struct collector *collector, uint64_t duration_ns, struct failure *failure);

/* When the window was opened, CLOCK_MONOTONIC ns. */
uint64_t collect_window_start(const struct collector *collector);

/* Readable when collect_step() has something to do at once. */
int collect_fd(const struct collector *collector);

/* The longest to wait between two steps. */
uint64_t collect_patience_ns(const struct collector *collector);

/* Empties ring buffers and, when due, maps. Call it when collect_fd() says so, and in time. */
int collect_step(struct collector *collector, struct failure *failure);

/* Closes the window if it is still open, counts the threads that still wait, drains the rest, and
 * detaches. */
int collect_stop(struct collector *collector, struct failure *failure);

/*
 * A window that is over, with all that was counted in it. Of a boundary between two, every event
 * lies on one side, and off-CPU time on each for exactly the part that lies there.
 */
struct collect_window {
	struct profile *profile; /* owned */
	/* For symbolize(): sources[i] tells of the profile's mapping i. Owned; the descriptors in
	 * it are the collector's, and good until the next call into it. */
	struct mapping_source *sources;
	struct collect_stats stats;
	uint64_t number; /* from 0, by time: (start - collect_window_start()) / every_ns */
	uint64_t n;	 /* so many in one: who takes them came late */
	bool is_last;
};

/*
 * Takes the oldest window that is over and not taken yet. Returns 1, or 0 if there is none: before
 * the first boundary; after collect_stop() only once the last one was taken. Windows that nobody
 * takes in time are joined, so that memory stays bounded and nothing is lost.
 * Errors: -ENOMEM, -errno of reading from the kernel.
 */
int collect_take(struct collector *collector, struct collect_window *ret, struct failure *failure);
/* Fine on a zeroed one. */
void collect_window_done(struct collect_window *window);

/* "cycles" or "cpu-clock"; off-CPU, the hook in use. */
const char *collect_source(const struct collector *collector);

/* The file that event @number of -e probes, or NULL. */
const char *collect_event_path(const struct collector *collector, size_t number);

/* The hook in use in both modes that measure off-CPU time; else "". */
const char *collect_hook(const struct collector *collector);

/*
 * After symbolize(): finds why threads waited (causes.h); hides the switch's own frames at the leaf
 * of off-CPU stacks; stacks that end at an entry of Go's runtime, and those of threads that were
 * just made, are complete. Errors: -ENOMEM.
 */
int collect_finish_stacks(struct profile *profile, const struct collect_options *options);

#endif
