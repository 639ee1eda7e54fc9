/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stacks: profiles read as stacks of names, ready to be sorted and swept. Pictures, reports and
 * comparisons are made from them.
 *
 *	profile ──stacks_add()──▶ stacks ──stacks_finish()──▶ sorted ──tree_build()──▶ tree
 *
 * A stack is a run of numbers in @ids, root first; each number is a frame's. stacks_finish()
 * numbers the frames in the bytewise order of their texts in folded lines, with the `;`, and sorts
 * the stacks by these numbers. Stacks with a common beginning are then neighbours, and one sweep
 * visits every node of the tree of all stacks, children in the order of their names. The tree
 * itself is never built: memory follows the nodes that are kept.
 *
 * A stack belongs to one of two sides. In a single profile these are SIDE_WAITING and SIDE_RUNNING
 * for PROFILE_WALL, else all is SIDE_NEW; in a comparison, SIDE_BASE and SIDE_NEW.
 *
 * Nothing points into the profiles, which may be freed.
 */
#ifndef CORE_STACKS_H
#define CORE_STACKS_H

#include "core/marks.h"
#include "core/select.h"

enum stacks_side {
	SIDE_NEW = 0,
	SIDE_WAITING = 0,
	SIDE_BASE = 1,
	SIDE_RUNNING = 1,
	N_SIDES,
};

struct stacks_frame {
	uint32_t name;	 /* string id; never of "", which becomes "[unknown]" */
	uint32_t module; /* string id: the file without folders, "[kernel]"; 0: unknown */
	uint8_t kind;	 /* enum frame_kind */
	bool is_waker;	 /* after a separator */
};

struct stacks_entry {
	uint64_t first; /* in @ids */
	uint32_t n;
	uint8_t side;
	uint64_t weight; /* as counted: samples on-CPU, else nanoseconds */
	uint64_t width;	 /* as drawn: the weight; in a comparison scaled by stacks_finish() */
	double variance; /* of the weight, in its unit squared, by chance alone */
};

/* Facts about a recording; string ids of the stacks, 0 when unknown. See struct profile. */
struct stacks_facts {
	enum profile_mode mode;
	uint32_t command_line, host, kernel;
	uint64_t start_realtime_ns, duration_ns;
	double frequency;
	bool by_thread; /* root frames are threads */
	/* The sampled event, if it was requested by name; see struct profile_event. */
	uint32_t event, unit;
	bool is_counted, is_unsampled;
	uint64_t period;
};

/* How to read profiles. The strings belong to the caller and must outlive stacks_done(). */
struct stacks_options {
	struct unfold_options unfold;
	struct select_options select; /* already applied to the profiles; only for display */
	bool reverse;	      /* merge from the leaves; frames folded under [idle] stay there */
	bool in_order;	      /* a flame chart: keep the order of stacks, merge only neighbours */
	bool no_idle;	      /* leave out waits for work, unless there is nothing else */
	bool header;	      /* folded lines begin with comments that say what is known of them */
	bool merge_recursion; /* a function that calls itself is one frame */
	bool merge_modules;   /* distinguish frames by name only: for comparisons, since releases
				 have different file names */
	bool per_second;      /* the caller has divided each profile's times by its length */
	const char *base;     /* begin stacks at their first frame that matches; stacks without one
				 stay whole; extended regular expression; NULL: do not */
};

/* How the widths of a comparison are determined. */
enum stacks_scale {
	SCALE_NORMALIZED, /* both sides are equally wide: compare shares */
	SCALE_ABSOLUTE,	  /* compare weights as they are */
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
	enum stacks_scale scale;	    /* of a finished comparison */
	struct stacks_facts facts[N_SIDES]; /* a single profile's are in facts[SIDE_NEW] */
	uint64_t totals[N_SIDES];	    /* of all added weights */
	uint64_t idle;			    /* weight left out by no_idle */
	uint64_t width;			    /* of everything: the sum of the entries' widths */
};

/* Errors: -ENOMEM. stacks_done() is fine after a failure, and on a zeroed struct. */
int stacks_init(struct stacks *stacks, const struct stacks_options *options);
void stacks_done(struct stacks *stacks);

/*
 * Adds all samples of @profile with a weight. @side: SIDE_NEW, or SIDE_BASE for what it is compared
 * with, which comes first (for a single profile, this function itself separates running). Several
 * profiles of one side add up. The profile only gets strings added.
 * Errors: -ENOMEM; -E2BIG past 2^32 - 2 distinct frames or 2^32 - 2 in one stack; -EOVERFLOW if the
 * weights exceed 64 bits; -EINVAL for an expression that regcomp() refuses.
 */
int stacks_add(struct stacks *stacks, struct profile *profile, enum stacks_side side);

/*
 * Numbers the frames, sorts the stacks, sets widths. In a comparison (a side SIDE_BASE was added,
 * or @is_comparison is set) a stack's width is its weight times a factor of its side. When
 * normalized, each side is STACKS_SIDE_WIDTH wide, except for rounding down. Call it once.
 * Errors: -ENOMEM.
 */
#define STACKS_SIDE_WIDTH (1ULL << 52)
int stacks_finish(struct stacks *stacks, enum stacks_scale scale);

/*
 * Sorts by ranks of the frames: @ranks[is_leaf][frame]. Equal stacks become neighbours. For
 * stacks_finish(), and for callers that need another order.
 */
void stacks_sort(struct stacks *stacks, const uint32_t *const ranks[2]);

/* What weights count: the event's unit or name, "samples", or "nanoseconds". */
const char *stacks_unit(const struct stacks *stacks);

/* Whether weights are nanoseconds. */
bool stacks_is_time(const struct stacks *stacks);

/* Whether a side's number of samples is unknown: chance then has no measure. */
static inline bool stacks_is_unsampled(const struct stacks *stacks)
{
	return stacks->facts[SIDE_NEW].is_unsampled || stacks->facts[SIDE_BASE].is_unsampled;
}

static inline const char *stacks_name(const struct stacks *stacks, uint32_t frame)
{
	return strings_get(&stacks->strings, stacks->frames[frame].name);
}

/* Whether a frame is not code but this mark, and not a waker's. */
bool stacks_is_mark(const struct stacks *stacks, uint32_t frame, enum mark mark);

#endif
