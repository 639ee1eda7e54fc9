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
 * What a rule says about waiting for work. User functions say more than the kernel's; of those of
 * one stack, the greatest counts.
 */
enum idle {
	IDLE_NO,
	IDLE_IF_USER, /* if a rule for user functions says so */
	IDLE_YES,
	IDLE_IF_LONG, /* if such a wait lasts long */
	IDLE_IF_PARENT, /* if the main thread of a process waits so, whose children are recorded, too */
	NEVER_IDLE,   /* of user functions: whatever the others say */
};

/* What a rule says about the frames of interrupts. */
enum entry {
	ENTRY_NONE,
	ENTRY_END,	/* a thread's own doing, also where it comes before an interrupt returns */
	ENTRY_EVIDENCE, /* only interrupts come here */
	ENTRY_LAST,	/* the same, and behind it is what was interrupted */
	ENTRY_SHARED, /* ENTRY_LAST if there was evidence; else system calls and faults come here */
};

struct rule {
	const char *names; /* between spaces; * at either end stands for anything */
	enum off_reason reason;
	enum idle idle;
	uint8_t within; /* holds only among the innermost so many; 0: anywhere */
	uint32_t over;	/* OVER(…): the reasons of functions further in whose place it takes */
	enum entry entry;
};

/* What the scheduler called it; a rule with it says that no rule further out has a say. */
#define STAY REASON_NONE
/* No reason: the function is one of the scheduler's, which stand before all others. */
#define SCHEDULER    N_OFF_REASONS
#define OVER(reason) (1u << (reason))

enum rules {
	RULES_KERNEL, /* reasons, by functions of the kernel */
	RULES_USER,   /* whether it is idle, by functions of programs; without reasons */
	RULES_ENTRY,  /* interrupts, by functions of the kernel */
	N_RULES,
};

struct pattern;

/* The names of a table, to be looked up. */
struct rulebook {
	enum rules kind;
	struct pattern *patterns; /* first those without a *, sorted */
	size_t n_patterns, capacity, n_exact;
};

/* Errors: -ENOMEM. rulebook_done() is fine after that, and of one that is all 0. */
int rulebook_init(struct rulebook *book, enum rules kind);
void rulebook_done(struct rulebook *book);

/* The number of the rule that knows @function, or -1. Of several names with a * the longest counts.
 */
int rulebook_find(const struct rulebook *book, const char *function);

/* The table; *@ret_n: how many rules it has, at most 250. NULL: nobody asks. */
const struct rule *rules_of(enum rules kind, size_t *ret_n);

#endif
