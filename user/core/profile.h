/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * profile: the currency of bpfflame. Collectors and parsers make one; renderers, reports and
 * exporters take one.
 *
 * Five arrays linked by index, no pointers inside, every item kept once:
 *
 *	sample ──▶ stack ──▶ location ──▶ mapping
 *	             (leaf first)  └────▶ frames (names; innermost inlined function first)
 *
 * All text is a string id of @strings. A location has no frames until symbolize() named it.
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
	PROFILE_WALL, /* both: of each thread, running and waiting */
	N_PROFILE_MODES,
};

/* What a mapping's addresses mean. */
enum mapping_kind {
	MAPPING_UNKNOWN, /* no mapping was known: absolute addresses */
	MAPPING_FILE,	 /* addresses are file offsets */
	MAPPING_KERNEL,	 /* kernel addresses */
	MAPPING_VDSO,	 /* offsets into the vDSO image */
	MAPPING_ANON,	 /* one process's memory without a file (JIT code): absolute addresses */
	N_MAPPING_KINDS,
};

enum frame_kind {
	FRAME_USER,
	FRAME_KERNEL,  /* suffix _[k] */
	FRAME_INLINED, /* suffix _[i] */
	FRAME_JIT,     /* suffix _[j] */
	/* Not code. */
	FRAME_NOTE,	 /* the command, [truncated], [idle], [interrupt] */
	FRAME_SEPARATOR, /* `--`: whoever woke the thread comes behind it */
	FRAME_RUNNING,	 /* the reason leaves: [on-cpu] … */
	FRAME_RUNNABLE,	 /* … waiting for nothing but a CPU … */
	FRAME_WAITING,	 /* … all others */
	N_FRAME_KINDS,
};

/*
 * Why a thread was not running. The scheduler tells the first ones; causes.h finds the finer ones
 * by what the kernel half of the stack says.
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
	STACK_TRUNCATED,   /* not; nothing else is known */
	STACK_DEPTH,	   /* it has more frames than are kept */
	STACK_MEMORY,	   /* its memory could not be read */
	STACK_BROKEN,	   /* what lies there is no chain of frames */
	STACK_UNSUPPORTED, /* its unwind information says what we can't follow */
	STACK_NO_ROWS,	   /* code without unwind information or frame pointers */
	STACK_UNMAPPED,	   /* it leads to memory of which no mapping was known */
	STACK_32_BIT,	   /* 32-bit code, which is not unwound */
	STACK_BUDGET,	   /* the memory for unwind tables was used up */
	STACK_LOST, /* it was too long for a ring buffer, or is gone: a dying process, an exec */
	STACK_UNSAMPLED, /* none was taken: only the thread's CPU time is known */
	N_STACK_ENDS,
};

struct profile_mapping {
	enum mapping_kind kind;
	uint32_t path;		       /* as the process saw it */
	uint32_t build_id;	       /* lower-case hex, or 0 */
	uint64_t device, inode;	       /* tell files of the same path apart; 0 when unknown */
	uint32_t version;	       /* of the file's content, where it changed meanwhile */
	uint64_t start, limit, offset; /* one place where it was mapped */
	/* MAPPING_ANON: the program image whose memory it is; 0 for the others. */
	uint32_t pid, exec_id;
	uint64_t process_start; /* boot-time ns */
	/* Of a pprof file: what it calls the mapping, and (enum mapping_symbols) knows of it. */
	uint32_t file;
	uint8_t symbols;
};

enum mapping_symbols {
	SYMBOLS_TOLD = 1 << 0, /* else: as its locations are */
	SYMBOLS_FUNCTIONS = 1 << 1,
	SYMBOLS_FILES = 1 << 2,
	SYMBOLS_LINES = 1 << 3,
	SYMBOLS_INLINED = 1 << 4,
};

struct profile_frame {
	enum frame_kind kind;
	uint32_t function;
	uint32_t file, line; /* 0 when unknown */
	uint32_t detail;     /* of @extras; 0: nothing else is known */
};

struct profile_location {
	uint32_t mapping;
	bool is_return;	 /* a caller's frame: its call instruction lies before @address */
	bool hidden;	 /* left out when the stack is read as names */
	bool is_named;	 /* nothing but its names is known: it has no address */
	bool is_unnamed; /* its names are but those that were made of its address */
	bool is_folded;	 /* pprof's: several symbols of this name are at the address */
	uint64_t address;
	uint32_t first_frame, n_frames;
};

struct profile_stack {
	uint64_t first; /* in @stack_locations */
	uint32_t n;
	uint32_t sample; /* the first one that has it, + 1; 0: none. For profile_add_sample() */
	enum stack_end end;
};

/* Who ended a wait, and who had woken that one before. */
struct profile_waker {
	uint32_t stack; /* where it was when it woke the other */
	uint32_t comm;
	uint32_t pid, tid; /* tid: 0 unless it matters which thread it was: locks, --threads */
	bool is_interrupt; /* not the thread: what came in between; only the interrupt's frames
			      count */
	uint32_t next;	   /* the one that woke this one while the other waited; 0: not known */
};

struct profile_sample {
	uint32_t stack;
	uint32_t comm;
	uint32_t pid, tid;
	enum off_reason reason;
	bool is_idle;		 /* it waits for work, see causes.h */
	uint8_t event;		 /* in @events: what was sampled */
	uint32_t waker;		 /* 0: none, or not known */
	uint32_t labels, values; /* of @extras: a chain of labels, a row; 0: none */
	uint64_t count;		 /* samples, or off-CPU periods that were kept */
	/* Off-CPU time, in PROFILE_WALL also CPU time; of an event that is counted, how many of it
	 * the samples stand for; else 0. */
	uint64_t nanoseconds;
};

/* What was sampled on the CPU, where it was asked for by name: -e. */
struct profile_event {
	uint32_t name;	   /* string id: as it was asked for, without its period */
	bool is_counted;   /* a sample weighs the events that it stands for, not 1 */
	bool is_unsampled; /* counted, and how many samples that took is not known */
	uint32_t unit;	   /* string id: what is counted ("bytes"); 0: the name says it */
	uint64_t period;   /* events a sample; 0: by frequency */
	double frequency;  /* Hz; 0: by period */
};

#define PROFILE_MAX_EVENTS 16

/* What a pprof file says, in a comment, of a profile that is by thread. */
#define PROFILE_BY_THREAD "roots: threads"

struct profile {
	enum profile_mode mode;
	bool in_order; /* samples stay as they arrive: only neighbours are added up */
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
		n_hidden;	      /* those of events that are not shown: where, and how many */
	struct profile_waker *wakers; /* the first stands for none */
	size_t n_wakers, wakers_capacity;

	struct table mapping_index, location_index, waker_index;
	struct table stack_index;  /* of those that are needed by now: the first @n_used */
	struct table sample_index; /* only those that are not the first one of their stack */

	/* How and when it was recorded; string ids, 0 when unknown. */
	uint32_t command_line, host, kernel;
	bool by_thread;		    /* it was asked for by thread: --threads */
	uint64_t start_realtime_ns; /* since 1970 */
	uint64_t duration_ns;
	double frequency; /* Hz, on-CPU */
	struct profile_event events[PROFILE_MAX_EVENTS];
	uint32_t n_events; /* 0: nothing was asked for by name */
	uint32_t event;	   /* the one that is shown, see profile_show_event() */
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
 * A location of which only the names are known, as in files that hold no addresses: found again by
 * its mapping and @frames, of which there is one or more, innermost inlined function first.
 */
int profile_add_named(struct profile *profile, uint32_t mapping, const struct profile_frame *frames,
		      uint32_t n, uint32_t *ret_location);

/* @locations: leaf first. */
int profile_add_stack(struct profile *profile, const uint32_t *locations, uint32_t n,
		      enum stack_end end, uint32_t *ret_stack);

/* The same of a stack that the caller knows is not there: a third of the work. */
int profile_append_stack(struct profile *profile, const uint32_t *locations, uint32_t n,
			 enum stack_end end, uint32_t *ret_stack);

/* A chain is added from its far end on: @waker's next is there already. */
int profile_add_waker(struct profile *profile, const struct profile_waker *waker,
		      uint32_t *ret_waker);

/* Adds @sample's count and time to the sample equal in everything else. */
int profile_add_sample(struct profile *profile, const struct profile_sample *sample);

/*
 * To be called by whoever changed in place what tells samples apart, so that profile_add_sample()
 * finds them. Samples that became equal are not merged. Errors: -ENOMEM; some are not found then.
 */
int profile_index_samples(struct profile *profile);

/*
 * Gives @location its names, innermost inlined function first; replaces earlier ones.
 */
int profile_set_frames(struct profile *profile, uint32_t location,
		       const struct profile_frame *frames, uint32_t n);

/*
 * From then on @samples are those of @event alone, in an order that may be another one; those of
 * the others come back when theirs is shown. What is removed from the end of @samples in between
 * stays away. To be called after the last sample was added.
 */
void profile_show_event(struct profile *profile, uint32_t event);

/* The event that is shown; NULL: nothing was asked for by name. */
const struct profile_event *profile_event(const struct profile *profile);

/* How a profile is read as stacks of names. */
struct unfold_options {
	bool no_threads;	  /* one root per command, though the profile is by thread */
	bool threads;		  /* root frame `comm-PID/TID` in place of the command */
	bool no_reason;		  /* leave the reason leaf out */
	bool no_kernel;		  /* leave the kernel halves out */
	bool fold_idle;		  /* collect what waits for work under one root frame, `[idle]` */
	unsigned int waker_depth; /* how far a chain of wakers is followed; 0: not at all */
	bool no_inline;
	bool lines; /* `function (file.c:12)`, where they are known */
};

#define MAPPING_NONE UINT32_MAX

struct named_frame {
	uint32_t name;		  /* string id */
	uint32_t mapping;	  /* whose code it is; MAPPING_NONE for what is no code */
	uint32_t location, frame; /* what it is the name of; frame: index in @frames. Code only */
	enum frame_kind kind;
	bool is_waker; /* of the part that begins with the separator */
};

/*
 * Reads samples as stacks of names. Set @profile and @options, zero the rest; both must stay, and
 * the profile only gets strings added meanwhile.
 */
struct unfolder {
	struct profile *profile;
	const struct unfold_options *options;

	struct named_frame *frames; /* of the latest sample */
	size_t n;
	size_t n_same; /* so many of them, at least, are what they were of the sample before */

	/* Its own. */
	size_t capacity, depths_capacity;
	size_t *depths; /* how many frames there are once so many locations were read */
	struct profile_sample before;
	bool has_before, is_waker;
};

/*
 * Sets @frames to those of @sample, root (the command) first, as the contract orders them.
 *
 *	[idle] comm [truncated] user frames, kernel frames [reason]
 *		-- the waker's frames, leaf first [truncated] comm-TID  -- those of its waker …
 *
 * Adds the texts of what is no code to the profile's strings. Errors: -ENOMEM, -E2BIG.
 */
int unfolder_next(struct unfolder *unfolder, const struct profile_sample *sample);
/* Fine on a zeroed one. */
void unfolder_done(struct unfolder *unfolder);

/*
 * What unfolder_next() calls @frame, a string id: with --lines, its function and, in brackets, the
 * file without folders. Errors: -ENOMEM, -E2BIG.
 */
int profile_name_frame(struct profile *profile, const struct unfold_options *options,
		       const struct profile_frame *frame, uint32_t *ret_name);

/* Whether root frames are threads. */
static inline bool unfold_threads(const struct profile *profile,
				  const struct unfold_options *options)
{
	return options->threads || (profile->by_thread && !options->no_threads);
}

/* Whether samples weigh the events that they stand for. */
static inline bool profile_is_counted(const struct profile *profile)
{
	return profile->n_events && profile->events[profile->event].is_counted;
}

/* Whether nobody knows how many samples there were. */
static inline bool profile_is_unsampled(const struct profile *profile)
{
	return profile_is_counted(profile) && profile->events[profile->event].is_unsampled;
}

/*
 * What a sample weighs in a picture: samples on-CPU, or events that are counted; else microseconds
 * (rounded).
 */
uint64_t profile_sample_weight(const struct profile *profile, const struct profile_sample *sample);

/* "oncpu", "offcpu" or "wall". */
const char *profile_mode_name(enum profile_mode mode);
/* Whether the thread could run, and had no CPU. */
bool off_reason_is_runnable(enum off_reason reason);
/* `[sleep]`, … ; "" for REASON_NONE. */
const char *off_reason_text(enum off_reason reason);
/* "_[k]", "_[i]", "_[j]" or "". */
const char *frame_kind_suffix(enum frame_kind kind);

#endif
