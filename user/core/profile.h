/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile: the currency of bpfflame. Collectors and parsers make one; renderers, reports and
 * exporters take one.
 *
 * Five arrays linked by index, without pointers inside. Every item is kept once:
 *
 *	sample ──▶ stack ──▶ location ──▶ mapping
 *	             (leaf first)  └────▶ frames (names; innermost inlined function first)
 *
 * All text is a string id of @strings. A location has no frames until symbolize() names it.
 */
#ifndef CORE_PROFILE_H
#define CORE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strings.h"
#include "core/extras.h"

enum profile_mode {
	PROFILE_ONCPU,
	PROFILE_OFFCPU,
	PROFILE_WALL, /* each thread's running and waiting */
	N_PROFILE_MODES,
};

/* The meaning of a mapping's addresses. */
enum mapping_kind {
	MAPPING_UNKNOWN, /* the mapping is unknown: absolute addresses */
	MAPPING_FILE,	 /* addresses are file offsets */
	MAPPING_KERNEL,	 /* kernel addresses */
	MAPPING_VDSO,	 /* offsets into the vDSO image */
	MAPPING_ANON,	 /* one process's memory without a file (JIT code): absolute addresses */
	N_MAPPING_KINDS,
};

enum frame_kind {
	FRAME_USER,
	FRAME_KERNEL,	   /* suffix _[k] */
	FRAME_INLINED,	   /* suffix _[i] */
	FRAME_JIT,	   /* suffix _[j] */
	FRAME_INTERPRETED, /* suffix _[0] */
	/* Not code. */
	FRAME_NOTE,	 /* the command, [truncated], [idle], [interrupt] */
	FRAME_SEPARATOR, /* `--`: the waker of the thread follows */
	FRAME_RUNNING,	 /* leaf that gives the reason: [on-cpu] … */
	FRAME_RUNNABLE,	 /* … waiting only for a CPU … */
	FRAME_WAITING,	 /* … any other */
	N_FRAME_KINDS,
};

/*
 * Why a thread was not running. The scheduler gives the first ones; causes.h finds the finer ones
 * from the kernel half of the stack.
 */
enum off_reason {
	REASON_NONE,  /* a sample of a running thread */
	REASON_ONCPU, /* the same in PROFILE_WALL, where it has a leaf */
	REASON_SLEEP, /* interruptible */
	REASON_DISK,  /* uninterruptible */
	REASON_STOPPED,
	REASON_PREEMPTED,
	REASON_RUNQUEUE,
	REASON_THROTTLED, /* by a quota of CPU time */
	REASON_FUTEX,
	REASON_POLL,
	REASON_TIMER,
	REASON_NETWORK,
	REASON_PIPE,
	REASON_PAGE_FAULT,
	REASON_CHILD,
	REASON_LOCK, /* of the kernel's own */
	REASON_SIGNAL,
	N_OFF_REASONS,
};

/* How far a stack could be unwound. */
enum stack_end {
	STACK_COMPLETE,	   /* to the thread's entry */
	STACK_TRUNCATED,   /* not complete; the cause is unknown */
	STACK_DEPTH,	   /* it has more frames than are kept */
	STACK_MEMORY,	   /* its memory could not be read */
	STACK_BROKEN,	   /* the memory holds no chain of frames */
	STACK_UNSUPPORTED, /* we can't interpret its unwind information */
	STACK_NO_ROWS,	   /* code without unwind information or frame pointers */
	STACK_UNMAPPED,	   /* it leads to memory without a known mapping */
	STACK_32_BIT,	   /* 32-bit code, which we don't unwind */
	STACK_BUDGET,	   /* the memory for unwind tables was full */
	STACK_LOST,	   /* too long for a ring buffer, or gone: a dying process, an exec */
	STACK_UNSAMPLED,   /* not taken: only the thread's CPU time is known */
	N_STACK_ENDS,
};

struct profile_mapping {
	enum mapping_kind kind;
	uint32_t path;		       /* as the process saw it */
	uint32_t build_id;	       /* lower-case hex, or 0 */
	uint64_t device, inode;	       /* distinguish files with the same path; 0 when unknown */
	uint32_t version;	       /* of the file's content, if that changed meanwhile */
	uint64_t start, limit, offset; /* one place where it was mapped */
	/* MAPPING_ANON: the program image that owns the memory; else 0. */
	uint32_t pid, exec_id;
	uint64_t process_start; /* boot-time ns */
	/*
	 * From a pprof file: its name for the mapping, and (enum mapping_symbols) what it knows
	 * about it.
	 */
	uint32_t file;
	uint8_t symbols;
};

enum mapping_symbols {
	SYMBOLS_KNOWN = 1 << 0, /* known; else as its locations have it */
	SYMBOLS_FUNCTIONS = 1 << 1,
	SYMBOLS_FILES = 1 << 2,
	SYMBOLS_LINES = 1 << 3,
	SYMBOLS_INLINED = 1 << 4,
};

struct profile_frame {
	enum frame_kind kind;
	uint32_t function;
	uint32_t file, line; /* 0 when unknown */
	uint32_t detail;     /* of @extras; 0: none */
};

struct profile_location {
	uint32_t mapping;
	bool is_return;	 /* a caller's frame: its call instruction is before @address */
	bool hidden;	 /* left out when the stack is read as names */
	bool is_named;	 /* only its names are known, not its address */
	bool is_unnamed; /* its names only repeat its address */
	bool is_folded;	 /* pprof's: several symbols of this name share the address */
	uint64_t address;
	uint32_t first_frame, n_frames;
};

struct profile_stack {
	uint64_t first; /* in @stack_locations */
	uint32_t n;
	uint32_t sample; /* its first sample, + 1; 0: none. For profile_add_sample() */
	enum stack_end end;
};

/* The waker that ended a wait, and the one before it. */
struct profile_waker {
	uint32_t stack; /* where it was when it woke the other thread */
	uint32_t comm;
	uint32_t pid, tid; /* tid: 0 unless the thread matters: locks, --threads */
	bool is_interrupt; /* an interrupt did it, not the thread; only its frames count */
	uint32_t next;	   /* woke this one while the other waited; 0: unknown */
};

struct profile_sample {
	uint32_t stack;
	uint32_t comm;
	uint32_t pid, tid;
	enum off_reason reason;
	bool is_idle;		 /* it waits for work, see causes.h */
	uint8_t event;		 /* the sampled event, in @events */
	uint32_t waker;		 /* 0: none, or unknown */
	uint32_t labels, values; /* of @extras: a chain of labels, a row; 0: none */
	uint64_t count;		 /* samples, or kept off-CPU periods */
	/*
	 * Off-CPU time; in PROFILE_WALL also CPU time. For a counted event, how many of it the
	 * samples represent. Else 0.
	 */
	uint64_t nanoseconds;
	double waits; /* how many that is, likely; 0: unknown, as in what is read from files */
};

/* An event requested by name (-e) and sampled on the CPU. */
struct profile_event {
	uint32_t name;	   /* string id: as requested, without its period */
	bool is_counted;   /* a sample weighs the events it represents, not 1 */
	bool is_unsampled; /* counted, but the number of samples is unknown */
	uint32_t unit;	   /* string id: what is counted ("bytes"); 0: the name says it */
	uint64_t period;   /* events per sample; 0: by frequency */
	double frequency;  /* Hz; 0: by period */
};

#define PROFILE_MAX_EVENTS 16

/* The comment in a pprof file of a profile by thread. */
#define PROFILE_BY_THREAD "roots: threads"

struct profile {
	enum profile_mode mode;
	bool in_order; /* keep samples in order of arrival: add up neighbours only */
	struct strings strings;

	struct profile_mapping *mappings;
	size_t n_mappings, mappings_capacity;
	struct profile_frame *frames;
	size_t n_frames, frames_capacity;
	struct profile_location *locations;
	size_t n_locations, locations_capacity;
	uint32_t *stack_locations;
	size_t n_stack_locations, stack_locations_capacity;
	struct profile_stack *stacks;
	size_t n_stacks, stacks_capacity;
	struct profile_sample *samples;
	size_t n_samples, samples_capacity;
	size_t hidden_samples,
		n_hidden; /* samples of events that are not shown: where, and how many */
	struct profile_waker *wakers; /* the first means none */
	size_t n_wakers, wakers_capacity;

	struct table mapping_index, location_index, waker_index;
	struct table stack_index;  /* of the stacks needed so far: the first @n_used */
	struct table sample_index; /* only samples that are not their stack's first */

	/* How and when it was recorded; string ids, 0 when unknown. */
	uint32_t command_line, host, kernel;
	bool by_thread;		    /* --threads was given */
	uint64_t start_realtime_ns; /* since 1970 */
	uint64_t duration_ns;
	double frequency; /* Hz, on-CPU */
	struct profile_event events[PROFILE_MAX_EVENTS];
	uint32_t n_events; /* 0: none was requested by name */
	uint32_t event;	   /* the one shown, see profile_show_event() */
	struct extras extras;
};

int profile_new(enum profile_mode mode, struct profile **ret);
void profile_free(struct profile *profile);

/*
 * Each adds an item, or finds the equal one, and returns its index.
 * Errors: -ENOMEM; -E2BIG past 2^32 - 1 items. The profile stays valid.
 */
int profile_add_mapping(struct profile *profile, const struct profile_mapping *mapping,
			uint32_t *ret_mapping);
int profile_add_location(struct profile *profile, uint32_t mapping, uint64_t address,
			 bool is_return, uint32_t *ret_location);

/*
 * Adds a location known only by names, as in files without addresses. It is identified by its
 * mapping and @frames, one or more, innermost inlined function first.
 */
int profile_add_named(struct profile *profile, uint32_t mapping, const struct profile_frame *frames,
		      uint32_t n, uint32_t *ret_location);

/* @locations: leaf first. */
int profile_add_stack(struct profile *profile, const uint32_t *locations, uint32_t n,
		      enum stack_end end, uint32_t *ret_stack);

/* The same for a stack that the caller knows to be new: a third of the work. */
int profile_append_stack(struct profile *profile, const uint32_t *locations, uint32_t n,
			 enum stack_end end, uint32_t *ret_stack);

/* Adds a waker; its @next must exist already, so a chain grows from its far end. */
int profile_add_waker(struct profile *profile, const struct profile_waker *waker,
		      uint32_t *ret_waker);

/* Adds @sample's count and time to the sample that equals it in everything else. */
int profile_add_sample(struct profile *profile, const struct profile_sample *sample);

/*
 * Call this after changing, in place, what distinguishes samples, so that profile_add_sample()
 * finds them. Samples that became equal are not merged. Errors: -ENOMEM; some are not found then.
 */
int profile_index_samples(struct profile *profile);

/* Gives @location its names, innermost inlined function first. Replaces earlier ones. */
int profile_set_frames(struct profile *profile, uint32_t location,
		       const struct profile_frame *frames, uint32_t n);

/*
 * Reduces @samples to those of @event, perhaps in another order; the others return when their event
 * is shown. Samples that are removed from the end of @samples meanwhile stay away. Call it only
 * after the last sample was added.
 */
void profile_show_event(struct profile *profile, uint32_t event);

/* The event shown; NULL: none was requested by name. */
const struct profile_event *profile_event(const struct profile *profile);

/* How to read a profile as stacks of names. */
struct unfold_options {
	bool no_threads;	  /* one root per command, even if the profile is by thread */
	bool threads;		  /* root frame `comm-PID/TID` instead of the command */
	bool no_reason;		  /* leave out the reason leaf */
	bool no_kernel;		  /* leave out the kernel halves */
	bool fold_idle;		  /* collect waits for work under one root frame, `[idle]` */
	unsigned int waker_depth; /* how far to follow a chain of wakers; 0: not at all */
	bool no_inline;
	bool lines; /* `function (file.c:12)`, where known */
};

#define MAPPING_NONE UINT32_MAX

struct named_frame {
	uint32_t name;		  /* string id */
	uint32_t mapping;	  /* whose code it is; MAPPING_NONE if it is not code */
	uint32_t location, frame; /* what it names; frame: index in @frames. Code only */
	enum frame_kind kind;
	bool is_waker; /* belongs to the part after the separator */
};

/*
 * Reads samples as stacks of names. Set @profile and @options, zero the rest. Both must stay, and
 * only strings may be added to the profile meanwhile.
 */
struct unfolder {
	struct profile *profile;
	const struct unfold_options *options;

	struct named_frame *frames; /* of the latest sample */
	size_t n;
	size_t n_same; /* at least this many are unchanged since the previous sample */

	/* Its own. */
	size_t capacity, depths_capacity;
	size_t *depths; /* the number of frames after this many locations */
	/* Names of reasons; 0: not known yet. */
	uint32_t reasons[N_OFF_REASONS];
	struct profile_sample before;
	bool has_before, is_waker;
};

/*
 * Sets @frames to those of @sample, root (the command) first, in the order of folded lines:
 *
 *	[idle] comm [truncated] user frames, kernel frames [reason]
 *		-- the waker's frames, leaf first [truncated] comm-TID  -- those of its waker …
 *
 * Adds the texts of notes to the profile's strings. Errors: -ENOMEM, -E2BIG.
 */
int unfolder_next(struct unfolder *unfolder, const struct profile_sample *sample);
/* Fine on a zeroed struct. */
void unfolder_done(struct unfolder *unfolder);

/*
 * The string id of the name that unfolder_next() gives @frame: its function and, with --lines, the
 * file without folders in brackets. Errors: -ENOMEM, -E2BIG.
 */
int profile_name_frame(struct profile *profile, const struct unfold_options *options,
		       const struct profile_frame *frame, uint32_t *ret_name);

/* Whether root frames are threads. */
static inline bool unfold_threads(const struct profile *profile,
				  const struct unfold_options *options)
{
	return options->threads || (profile->by_thread && !options->no_threads);
}

/* Whether samples weigh the events they represent. */
static inline bool profile_is_counted(const struct profile *profile)
{
	return profile->n_events && profile->events[profile->event].is_counted;
}

/* Whether the number of samples is unknown. */
static inline bool profile_is_unsampled(const struct profile *profile)
{
	return profile_is_counted(profile) && profile->events[profile->event].is_unsampled;
}

/*
 * A sample's weight in a picture: on-CPU samples, or counted events; else microseconds (rounded).
 */
uint64_t profile_sample_weight(const struct profile *profile, const struct profile_sample *sample);

/* "oncpu", "offcpu" or "wall". */
const char *profile_mode_name(enum profile_mode mode);
/* Whether the thread could run but had no CPU. */
bool off_reason_is_runnable(enum off_reason reason);
/* `[sleep]`, … ; "" for REASON_NONE. */
const char *off_reason_text(enum off_reason reason);
/* "_[k]", "_[i]", "_[j]", "_[0]" or "". */
const char *frame_kind_suffix(enum frame_kind kind);

#endif
