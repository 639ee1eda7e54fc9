/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * collect: records windows of the machine, back to back, each into a profile.
 *
 *	collect_open → collect_start → (collect_step → collect_take) … → collect_stop →
 *	collect_take → collect_free
 *
 * Inside, data flows one way: BPF count maps → drain → locate → profile. Events beside it (new
 * stacks, forks, exits, mmaps) arrive through ring buffers, which one epoll descriptor watches.
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
	bool has_ended;
};

struct collect_options {
	enum profile_mode mode;
	const uint32_t *pids, *tids; /* none: no such filter */
	size_t n_pids, n_tids;
	const char *comm;	     /* a glob, or NULL */
	const char *cgroup;	     /* a path, or NULL */
	const struct cpu_list *cpus; /* or NULL: all */
	uint32_t command_pid;	     /* waits to exec, and is recorded from then on; 0: none */
	bool no_children;
	bool threads; /* keep each thread's samples separate */
	bool no_user, no_kernel;
	bool no_runtimes;		    /* leave frames of runtimes out */
	bool native_frames;		    /* keep the frames of interpreters' loops beside them */
	unsigned int frequency;		    /* Hz */
	const struct event_request *events; /* to sample; none: cycles or cpu-clock */
	size_t n_events;		    /* up to PROFILE_MAX_EVENTS */
	uint64_t unwind_memory;		    /* bytes: limit for unwind tables */
	uint64_t min_block_ns, max_block_ns;
	/* Off-CPU time is sampled at one point per this many ns of a thread's; 0: keep all. */
	uint64_t offcpu_period_ns; /* PERIOD_AUTO: as long as necessary for a low cost */
	uint64_t every_ns;	   /* windows of this length, back to back; 0: one */
	bool time_programs;	   /* for collect_kernel_ns() */
	/*
	 * For a low cost where processes come and go: their stacks wait for the next look, a tenth
	 * of a second; waits within an exec or exit may be without their user half; the CPU time
	 * that a thread takes to end may count in the next window.
	 */
	bool is_frugal;
	unsigned int waker_depth;  /* record the waker, its own waker, …; 0: none */
	struct reader *reader;	   /* reads others' files; NULL: we do */
	int stop_fd;		   /* readable: end the recording soon; -1: none */
	const struct reader_debug *debug; /* for code without .eh_frame; NULL: don't search */
	/* NULL, or called for each row that is counted, with whose it is. */
	void (*on_process)(void *context, const struct collect_process *process);
	void *on_process_context;
	const char *hook; /* force one of the off-CPU hooks (tests), or NULL */
	FILE *log;	  /* for libbpf's warnings and the verifier's log, or NULL */
};

/* Counts and losses of one window. */
struct collect_stats {
	uint64_t samples;	/* or off-CPU periods counted */
	uint64_t periods, kept; /* off-CPU periods seen; kept */
	uint64_t counts_full, events_full, storage_failed, targets_full; /* lost in BPF */
	uint64_t lost_stacks;	    /* samples counted, frames lost */
	uint64_t nested_events;	    /* events during the handling of another one */
	uint64_t lost_records;	    /* mmap and exec records */
	uint64_t throttled;	    /* times the kernel paused sampling */
	uint64_t ended_ns; /* CPU time of processes that began and ended in it, on-CPU, of all */
	uint64_t unknown_processes; /* samples of processes with unknown mappings */
	uint64_t unopened_files;    /* mapped files that could not be opened */
	uint64_t refused_files;	    /* attempts to open one that we had no right to */
	uint64_t lost_wakers;	    /* kept periods whose waker never arrived */
	uint64_t unknown_wakers;    /* kept periods with an unknown waker */
	/* Off-CPU sampling. */
	uint64_t offcpu_period_ns;   /* the last one in use; 0: all kept */
	uint64_t offcpu_measured_ns; /* the exact total, if the profile's is an estimate … */
	uint64_t offcpu_interval_ns; /* … which is this close in 95 of 100 recordings */
	uint64_t taken_ns;	     /* part of off-CPU time in which threads may not have waited */
	uint64_t threads;	     /* whose time was kept */
	uint64_t kernel_bytes; /* memory of the maps and of the threads' storage */
	uint64_t drains;
	size_t distinct_stacks;
	size_t processes;
	/* Unwinding. */
	uint64_t snapshots, snapshots_full; /* stacks walked outside of BPF; cut off for no room */
	uint64_t tables_built, tables_failed;
	uint64_t tables_unread;	 /* files that took too long or killed their reader … */
	const char *unread;	 /* … the first of them; the collector's */
	struct budgets_refused refused; /* files of users with too many or too slow ones */
	uint64_t tables_refused;	/* files and processes without room */
	uint64_t unwind_bytes, evictions;
	/* Runtimes. */
	uint64_t chains, chains_empty; /* stacks with their frames; without, where there is one */
	uint64_t chains_unread, chains_deep; /* cut off: memory not readable; too many */
	uint64_t nameless_code;	   /* functions without a name: their memory was gone or changed */
	uint64_t runtimes_unknown; /* runtimes whose frames are not found, … */
	const char *runtime_problem; /* … and why, of the first; the collector's, or NULL */
};

struct collector;

/*
 * Loads and attaches everything; counts nothing yet. After a failure, *failure gives the reason and
 * the fix. Errors: -EPERM, -ESRCH (a target does not exist), -EINVAL (an option), -ENOSYS (this
 * kernel can't), -ENOMEM, others of the kernel.
 */
int collect_open(const struct collect_options *options, struct collector **ret,
		 struct failure *failure);
void collect_free(struct collector *collector);

/* Opens the window for exactly @duration_ns, or, if that is 0, until collect_stop(). */
int collect_start(struct collector *collector, uint64_t duration_ns, struct failure *failure);

/* When the window was opened, CLOCK_MONOTONIC ns. */
uint64_t collect_window_start(const struct collector *collector);

/* Readable when collect_step() has something to do at once. */
int collect_fd(const struct collector *collector);

/* The longest to wait between two steps. */
uint64_t collect_patience_ns(const struct collector *collector);

/* Lets off-CPU stacks cost @factor (0 … 1) of the usual limit. */
void collect_spare(struct collector *collector, double factor);

/*
 * Looks at all threads about once a second, in place of running a program at each switch; or back
 * to that. Errors: -EOPNOTSUPP unless collect_may_poll(); of attaching the program.
 */
int collect_poll(struct collector *collector, bool on);
bool collect_may_poll(const struct collector *collector);

/*
 * Takes a @divisor-th of the samples of running threads; 1: all. For PROFILE_WALL, whose times are
 * exact at any rate: the samples only distribute them.
 */
void collect_thin(struct collector *collector, unsigned int divisor);
/* The CPU time that the programs in the kernel have taken, estimated, ns; if they are timed. */
uint64_t collect_kernel_ns(const struct collector *collector);

/*
 * Ends the open window at @moment_ns, CLOCK_MONOTONIC, earlier than it would; later ones are
 * every_ns apart from there. Each boundary costs a visit to every thread that waits. Errors:
 * -EAGAIN: that is too near, or the window has just begun, or ends by then.
 */
int collect_cut(struct collector *collector, uint64_t moment_ns);

/* Empties ring buffers and, when due, maps. Call it when collect_fd() is readable, and in time. */
int collect_step(struct collector *collector, struct failure *failure);

/* Closes the window if it is still open, counts waiting threads, drains the rest, and detaches. */
int collect_stop(struct collector *collector, struct failure *failure);

/*
 * A finished window with everything counted in it. At a boundary between two, every event is on one
 * side, and off-CPU time counts on each for exactly its part there.
 */
struct collect_window {
	struct profile *profile; /* owned */
	/*
	 * For symbolize(): sources[i] is the source of the profile's mapping i. Owned, but its
	 * descriptors belong to the collector and are valid until the next call into it.
	 */
	struct mapping_source *sources;
	struct collect_stats stats;
	uint64_t number; /* from 0, by time */
	uint64_t end_ns; /* CLOCK_MONOTONIC */
	uint64_t n;	 /* joined in it: the caller came late */
	bool is_last;
};

/*
 * Takes the oldest finished window that is not taken yet. Returns 1, or 0 if there is none: before
 * the first boundary; after collect_stop(), only once the last one is taken. Windows that are not
 * taken in time are joined, so that memory stays bounded and nothing is lost. Errors: -ENOMEM,
 * -errno of reading from the kernel.
 */
int collect_take(struct collector *collector, struct collect_window *ret, struct failure *failure);
/* Fine on a zeroed struct. */
void collect_window_done(struct collect_window *window);

/* "cycles" or "cpu-clock"; off-CPU, the current hook. */
const char *collect_source(const struct collector *collector);

/* The file that event @number of -e probes, or NULL. */
const char *collect_event_path(const struct collector *collector, size_t number);

/* The current hook in the two modes that measure off-CPU time; else "". */
const char *collect_hook(const struct collector *collector);

/*
 * Call after symbolize(): finds why threads waited (causes.h) and hides the switch's own frames at
 * the leaf of off-CPU stacks. Marks stacks that end at an entry of Go's runtime, and those of
 * brand-new threads, as complete. Errors: -ENOMEM.
 */
int collect_finish_stacks(struct profile *profile, const struct collect_options *options);

#endif
