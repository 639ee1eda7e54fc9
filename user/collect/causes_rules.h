/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * causes_rules: what functions say about waits, as tables of names.
 *
 * Names are compared without leading underscores, kernel functions also without the compiler's
 * suffixes (.isra.0), user functions without versions and arguments; a system call's functions are
 * all called sys_NAME, whatever the processor (__x64_sys_futex, __do_sys_futex, ksys_read).
 */
#ifndef COLLECT_CAUSES_RULES_H
#define COLLECT_CAUSES_RULES_H

#include "core/profile.h"

/*
 * A rule's verdict on waiting for work. User functions say more than the kernel's; of several on
 * one stack, the strongest counts.
 */
enum idle {
	IDLE_NO,
	IDLE_IF_USER, /* if a rule for user functions says so */
	IDLE_YES,
	IDLE_IF_LONG,	/* if such waits last long on average */
	IDLE_IF_PARENT, /* if a process's main thread waits so and its children are recorded, too */
	IDLE_SURELY,	/* whatever these waits take */
	NEVER_IDLE,	/* for user functions: overrides those above */
	ALWAYS_IDLE,	/* for user functions: overrides all others */
};

/* A rule's verdict on frames of interrupts. */
enum entry {
	ENTRY_NONE,
	ENTRY_END,	/* a thread's own code, which may also run before an interrupt returns */
	ENTRY_EVIDENCE, /* only interrupts get here */
	ENTRY_LAST,	/* the same, and the interrupted code follows */
	ENTRY_SHARED,	/* ENTRY_LAST after evidence; also reached by system calls and faults */
};

struct rule {
	const char *names; /* separated by spaces; * at either end matches anything */
	enum off_reason reason;
	enum idle idle;
	uint8_t within; /* applies only to this many innermost frames; 0: anywhere */
	uint32_t over;	/* OVER(…): the reasons of inner functions that it overrides */
	enum entry entry;
};

/* The scheduler's own reason; a rule with it also stops the search further out. */
#define STAY REASON_NONE
/* Not a reason: the function is one of the scheduler's, which come before all others. */
#define SCHEDULER    N_OFF_REASONS
#define OVER(reason) (1u << (reason))

enum rules {
	RULES_KERNEL, /* reasons, by functions of the kernel */
	RULES_USER,   /* whether it is idle, by functions of programs; without reasons */
	RULES_ENTRY,  /* interrupts, by functions of the kernel */
	N_RULES,
};

struct pattern;

/* The names of a table, prepared for lookup. */
struct rulebook {
	enum rules kind;
	struct pattern *patterns; /* those without a * first, sorted */
	size_t n_patterns, capacity, n_exact;
};

/* Errors: -ENOMEM. rulebook_done() is fine after that, and on a zeroed struct. */
int rulebook_init(struct rulebook *book, enum rules kind);
void rulebook_done(struct rulebook *book);

/*
 * The number of the rule for @function, or -1. Of several matching names with a *, the longest
 * counts.
 */
int rulebook_find(const struct rulebook *book, const char *function);

/* The table; *@ret_n: the number of its rules, at most 250. NULL if nobody asks. */
const struct rule *rules_of(enum rules kind, size_t *ret_n);

#endif
