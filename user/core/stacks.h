/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stacks: profiles read as stacks of names, ready to be sorted and swept. What pictures, reports
 * and comparisons are made from.
 *
 *	profile ──stacks_add()──▶ stacks ──stacks_finish()──▶ sorted ──tree_build()──▶ tree
 *
 * A stack is a run of numbers in @ids, root first; each number names a frame. stacks_finish()
 * numbers the frames in bytewise order of what they are in folded lines, `;` behind them, and sorts
 * the stacks by these numbers. So whatever begins with the same frames lies together, and one sweep
 * sees every node of the tree of all stacks, children in the order of their names, without that
 *tree ever being there: memory follows what is kept of it.
 *
 * A stack belongs to one of two sides. Of one profile: SIDE_WAITING and SIDE_RUNNING in
 * PROFILE_WALL, else all on SIDE_NEW. Of a comparison: SIDE_BASE and SIDE_NEW.
 *
 * Nothing points into the profiles, which may be freed.
 */
#ifndef CORE_STACKS_H
#define CORE_STACKS_H

#include "core/select.h"

enum stacks_side {
	SIDE_NEW = 0,
	SIDE_WAITING = 0,
	SIDE_BASE = 1,
	SIDE_RUNNING = 1,
	N_SIDES,
};

struct stacks_frame {
	uint32_t name;	 /* string id; never of "", which is read as "[unknown]" */
	uint32_t module; /* string id: the mapping's file without folders, "[kernel]"; 0: not known
			  */
	uint8_t kind;	 /* enum frame_kind */
	bool is_waker;	 /* behind a separator */
};

struct stacks_entry {
	uint64_t first; /* in @ids */
	uint32_t n;
	uint8_t side;
	uint64_t weight; /* as it was counted: samples on-CPU, else nanoseconds */
	uint64_t
		width; /* as it is drawn: the weight, in a comparison scaled, see stacks_finish() */
	double variance; /* of the weight, in its unit squared: what chance alone does to it */
};

/* What is known of a recording; string ids of the stacks, 0 when unknown. See struct profile. */
struct stacks_facts {
	enum profile_mode mode;
	uint32_t command_line, host, kernel;
	uint64_t start_realtime_ns, duration_ns;
	double frequency;
	bool by_thread; /* root frames are threads */
	/* What was sampled, where it was asked for by name; see struct profile_event. */
	uint32_t event, unit;
	bool is_counted, is_unsampled;
	uint64_t period;
};

/* How profiles are read. Strings stay the caller's, and must outlive stacks_done(). */
struct stacks_options {
	struct unfold_options unfold;
	struct select_options select; /* what the profiles went through before: told, not done */
	bool reverse;  /* merge from the leaves; what is folded under [idle] stays there */
	bool in_order; /* a flame chart: stacks stay as they came, and only neighbours merge */
	bool no_idle;	      /* leave out what waits for work, unless that is all there is */
	bool merge_recursion; /* a function that calls itself is one frame */
	bool merge_modules;   /* frames are told apart by their names alone: a comparison, where
				 files have other names in each release */
	const char *base;     /* stacks begin at their first frame that matches this one; those that
			     have none are whole; extended regular expression; NULL: all are */
};

/* How the widths of a comparison come about. */
enum stacks_scale {
	SCALE_NORMALIZED, /* both sides are equally wide: shares are compared */
	SCALE_ABSOLUTE,	  /* weights are compared as they are */
};

struct stacks {
	struct stacks_options options;
	struct strings strings;
	struct stacks_frame *frames;
	size_t n_frames, frames_capacity;
	struct table frame_index;
	uint32_t *ids;
	size_t n_ids, ids_capacity;
	struct stacks_entry *entries;
	size_t n_entries, entries_capacity;
	bool is_comparison;
	enum stacks_scale scale;	    /* of a comparison, once it is finished */
	struct stacks_facts facts[N_SIDES]; /* of one profile: facts[SIDE_NEW] */
	uint64_t totals[N_SIDES];	    /* weights of what was added */
	uint64_t idle;			    /* weight of what was left out by no_idle */
	uint64_t width;			    /* of all: the sum of the entries' widths */
};

/* Errors: -ENOMEM. stacks_done() is fine after a failure, and on a zeroed struct. */
int stacks_init(struct stacks *stacks, const struct stacks_options *options);
void stacks_done(struct stacks *stacks);

/*
 * Adds all samples of @profile that weigh something. @side: SIDE_NEW, or SIDE_BASE for what the
 * other is compared with, and has to come first (of what is no comparison, what was running is told
 * apart here). Several profiles of one side add up. The profile only gets strings added.
 * Errors: -ENOMEM; -E2BIG past 2^32 - 2 distinct frames or 2^32 - 2 in one stack; -EOVERFLOW if the
 * weights pass 64 bits; -EINVAL for an expression that regcomp() refuses.
 */
int stacks_add(struct stacks *stacks, struct profile *profile, enum stacks_side side);

/*
 * Numbers the frames, sorts the stacks, sets widths. In a comparison (a side SIDE_BASE was added,
 * or @is_comparison set) a stack's width is its weight times a factor of its side: normalized, each
 * side is STACKS_SIDE_WIDTH wide, up to what rounding down leaves. Call it once.
 * Errors: -ENOMEM.
 */
#define STACKS_SIDE_WIDTH (1ULL << 52)
int stacks_finish(struct stacks *stacks, enum stacks_scale scale);

/*
 * Sorts by ranks of the frames: @ranks[is_leaf][frame]. Equal stacks come to lie side by side. For
 * stacks_finish(), and for those who need an order of their own.
 */
void stacks_sort(struct stacks *stacks, const uint32_t *const ranks[2]);

/* What weights count: the event's unit or name, "samples", or "nanoseconds". */
const char *stacks_unit(const struct stacks *stacks);

/* Whether weights are nanoseconds. */
bool stacks_is_time(const struct stacks *stacks);

/* Whether nobody knows how many samples a side's weights come from: then chance has no measure. */
static inline bool stacks_is_unsampled(const struct stacks *stacks)
{
	return stacks->facts[SIDE_NEW].is_unsampled || stacks->facts[SIDE_BASE].is_unsampled;
}

/* The name of a frame. */
static inline const char *stacks_name(const struct stacks *stacks, uint32_t frame)
{
	return strings_get(&stacks->strings, stacks->frames[frame].name);
}

#endif
