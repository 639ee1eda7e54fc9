/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * daemon_budget: how much is done without, so that recording costs no more than it may.
 *
 * CPU time and memory are looked at each minute. Above a budget the next step is taken, far above
 * it two of them; below both for five minutes one is taken back, or later if that was wrong before.
 * The last step is taken at once where those before it could not save enough: that programs run at
 * each switch is most of what recording costs a machine that switches often. It is taken back once
 * the machine switches less often. No step makes a total wrong: names come later, stacks of waits
 * are sampled at larger distances, running threads half as often.
 */
#ifndef CMD_DAEMON_BUDGET_H
#define CMD_DAEMON_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

enum daemon_effort {
	EFFORT_ALL,
	EFFORT_NAMES_LATER,  /* files are not asked for names */
	EFFORT_FEWER_STACKS, /* waits cost half of what they may … */
	EFFORT_FEWEST,	     /* … a quarter */
	EFFORT_HALF_RATE,    /* and half of the samples are taken */
	EFFORT_LOOKS,	     /* and threads are looked at now and then, in place of each switch */
	N_EFFORTS,
};

/* What all processes and programs have used so far. */
struct daemon_use {
	uint64_t cpu_ns;
	uint64_t names_ns, programs_ns; /* of it: for names, which can wait; by BPF programs */
	uint64_t switches;		/* of threads, of the whole machine */
	uint64_t bytes;			/* of memory, now */
};

struct daemon_budget {
	double share;		 /* of one CPU; 0: no budget */
	uint64_t most_bytes;	 /* of memory; 0: no budget */
	uint64_t look_ns;	 /* a minute, but for tests */
	enum daemon_effort most; /* the last step that there is */
	unsigned int n_looks;	 /* the minute after the start does not count, but for programs */
	uint64_t looked_at;	 /* monotonic ns; 0: never … */
	struct daemon_use had;	 /* … and what had been used by then */
	uint64_t below_since;	 /* 0: it was above at the last look */
	uint64_t back_at;	 /* when a step was last taken back */
	unsigned int n_wrong;	 /* how often that was wrong */
	double used, names, programs;		 /* in the last minute, of one CPU */
	double switches;			 /* in the last minute, a nanosecond */
	double programs_before, switches_before; /* the same before the last step */
	enum daemon_effort effort;
};

#define DAEMON_BUDGET_WINDOWS 6 /* between two looks */

/* Whether it is time for daemon_budget_look(). */
bool daemon_budget_is_due(const struct daemon_budget *budget, uint64_t now_ns);

/*
 * Returns 1 where steps were taken, -1 where one was taken back, 0 else. What starting costs, and
 * learning the first names, does not count.
 */
int daemon_budget_look(struct daemon_budget *budget, uint64_t now_ns, const struct daemon_use *use);

/* Savings: "names are put off", … */
const char *daemon_effort_text(enum daemon_effort effort);

#endif
