/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * collector: shared by collector.c (how it starts, steps and stops), tasks.c (how it goes through
 * all tasks), closing.c (how a window becomes a profile that can be taken) and polling.c (how
 * threads are looked at).
 */
#ifndef COLLECT_COLLECTOR_H
#define COLLECT_COLLECTOR_H

#include "collect/code_names.h"
#include "collect/collect.h"
#include "collect/drain.h"
#include "collect/events.h"
#include "collect/load.h"
#include "collect/locate.h"
#include "collect/missing_memory.h"
#include "collect/period.h"
#include "collect/cpu_times.h"
#include "collect/sampler.h"
#include "collect/stats.h"
#include "collect/timeline.h"
#include "collect/unwinder.h"
#include "collect/wakers.h"
#include "collect/windows.h"

struct polling {
	bool is_on;
	uint64_t next_ns; /* CLOCK_MONOTONIC: the next look */
};

struct collector {
	struct collect_options options;
	struct loaded loaded;
	struct profiler *skel; /* its */
	struct sampler sampler;
	struct events sampled; /* what it, and others, sample */
	struct ring_buffer *events;
	int epoll_fd;
	struct timeline timeline;
	struct processes processes;
	struct raw_stacks stacks;
	struct unwinder unwinder;
	struct code_names code_names;
	struct missing_memory missing_memory;
	struct wakers wakers;
	struct locator locator;
	struct drain drain;
	struct cpu_times cpu_times;
	struct period period;
	struct polling polling;
	struct windows windows;
	struct profile *profile; /* of the open window */
	struct stats_mark begin; /* at its beginning */
	struct stats_open open;	 /* of the threads existing then */
	uint64_t start_realtime_ns;
	int timer_fd;			 /* fires at boundaries; -1: none */
	uint64_t paced_ns, paced_cpu_ns; /* last check of our CPU share; CPU time used by then */
	uint64_t records_since; /* CLOCK_MONOTONIC: execs and mmaps are reported from here on */
	uint64_t last_drain_ns, n_drains;
	uint64_t over_at;	   /* when we first waited for the reader after the end; 0: never */
	uint64_t last_adjusted_ns; /* the clock */
	uint64_t answered_ns;	   /* the last snapshot; CLOCK_MONOTONIC */
	int event_error;	   /* of the ring buffer's callback */
	int nice;		   /* ours, before the recording */
};

/* Of two variants of a program, the one chosen by load_profiler(). */
struct bpf_program *collector_loaded_one(struct bpf_program *a, struct bpf_program *b);

/* Runs an iterator; @fn gets its output so far after each step. */
int collector_iterate(struct bpf_program *program,
		      int (*fn)(struct collector *collector, const char *bytes, size_t n),
		      struct collector *collector);

/*
 * Enters the processes to record that exist, with their mappings; those that options name can be
 * unwound at once.
 */
int collector_read_existing(struct collector *collector, struct failure *failure);

/* Has the iterator visit all threads, as they were at control.close_at. */
int collector_visit_threads(struct collector *collector);

/* Reads the rings and applies their events. */
int collector_read_events(struct collector *collector);

/* Empties the map being filled: rows up to the last window go into the profile. */
int collector_read_rows(struct collector *collector);

/* Puts a row into the profile, or aside. */
int collector_add_row(struct collector *collector, const struct bf_count_key *key,
		      const struct bf_count *count);

/* Call after reading rows: cleans up caches and ended processes. */
int collector_tidy(struct collector *collector);

/* The number of the window that is open now, by the clock. */
uint64_t collector_window_now(const struct collector *collector);

/* Begins to look at threads, or ends. Errors: as of collect_poll(). */
int polling_set(struct collector *collector, bool on);

/* Looks, if it is time to. Errors: of reading from the kernel. */
int polling_step(struct collector *collector);

/* Closes all windows before window @number, which has begun and is open afterwards. */
int closing_close_before(struct collector *collector, uint64_t number);

/* Fits the end of the open window to the scheduler's clock, if that is due: see window_adjust(). */
void closing_adjust_clock(struct collector *collector);

/* Closes the last window at the end of the recording. */
int closing_close_last(struct collector *collector);

/* Prepares the collector's profile for a window. Errors: -ENOMEM. */
int closing_describe(struct collector *collector);

#endif
