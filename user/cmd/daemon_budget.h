/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * daemon_budget: how much is done without, so that recording costs no more than it may.
 *
 * CPU time and memory are looked at each minute. Above a budget the next step is taken, far above it
 * two of them; below both for five minutes one is taken back. No step makes a total wrong: names come later, stacks of
 * waits are sampled at larger distances, running threads half as often.
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
	N_EFFORTS,
};

struct daemon_budget {
	double share;	      /* of one CPU; 0: no budget */
	uint64_t most_bytes;  /* of memory; 0: no budget */
	uint64_t look_ns;     /* a minute, but for tests */
	unsigned int n_looks; /* the minute after the start does not count */
	uint64_t looked_at;   /* monotonic ns; 0: never … */
	uint64_t cpu_ns;      /* … and what had been used by then */
	uint64_t below_since; /* 0: it was above at the last look */
	double used;	      /* in the last minute, of one CPU */
	uint64_t bytes;	      /* at the last look */
	enum daemon_effort effort;
};

#define DAEMON_BUDGET_WINDOWS 6 /* between two looks */

/* Whether it is time for daemon_budget_look(). */
bool daemon_budget_is_due(const struct daemon_budget *budget, uint64_t now_ns);

/*
 * @cpu_ns: used so far; @bytes: of memory, now. Returns 1 where steps were taken, -1 where one was
 * taken back, 0 else. What starting costs, and learning the first names, does not count.
 */
int daemon_budget_look(struct daemon_budget *budget, uint64_t now_ns, uint64_t cpu_ns,
		       uint64_t bytes);

/* Savings: "names are put off", … */
const char *daemon_effort_text(enum daemon_effort effort);

#endif
