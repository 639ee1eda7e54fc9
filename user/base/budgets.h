/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * budgets: limits for the files and processes of one user: open descriptors, remembered mappings,
 * CPU time spent reading them, and waits for those that don't answer. A user with thousands of large
 * files then loses only their own names and stacks. Files of root below our own root folder have no limit; files of a container's
 * root count as one user's, by filesystem.
 */
#ifndef BASE_BUDGETS_H
#define BASE_BUDGETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/table.h"

#define BUDGETS_UNLIMITED UINT32_MAX

/* The budget of one user. */
struct budget {
	uid_t user;
	dev_t device; /* for root in a container; else 0 */
	uint32_t n_open;
	uint64_t n_mapped;
	uint64_t cpu_ns;
	uint32_t n_hung;
	uint64_t n_refused; /* files not opened or read, lists of mappings cut short, records
			       dropped */
};

struct budgets {
	struct budget *items;
	size_t n, items_capacity;
	struct table index;
	uint32_t most_open;		/* 0: any number */
	bool is_full;			/* somebody had that many once */
	uint32_t n_hung;		/* of all users together */
	uint64_t most_mapped, n_mapped; /* all users together: at most four times as many */
	/* The CPU time of a user: this much at once, and this share of the time since. */
	uint64_t cpu_ns, since_ns; /* since_ns: monotonic; 0: no more than @cpu_ns */
	double cpu_share;
	/* The process that was last asked for, its budget, and until when (monotonic) that counts.
	 */
	uint32_t process, process_budget;
	uint64_t process_until;
};

void budgets_done(struct budgets *budgets);

/*
 * Finds the budget of the file @fd, mapped by a process whose root folder is ours (@is_our_root) or
 * not. Errors: -ENOMEM. *@ret may be BUDGETS_UNLIMITED, which the functions below accept.
 */
int budgets_find(struct budgets *budgets, int fd, bool is_our_root, uint32_t *ret);

/*
 * The budget of whoever runs process @pid, whose root folder is ours or another one. A user who
 * keeps /proc from saying so has it all the same. Errors: -ENOMEM.
 */
int budgets_find_process(struct budgets *budgets, uint32_t pid, uint32_t *ret);
/* *@ret_is_there: whether there is such a process; if not, *@ret is BUDGETS_UNLIMITED. */
int budgets_find_living(struct budgets *budgets, uint32_t pid, uint32_t *ret, bool *ret_is_there);
/* The same, or what it was a moment ago. Returns BUDGETS_UNLIMITED also if there is no memory. */
uint32_t budgets_of_process(struct budgets *budgets, uint32_t pid);

/* Takes @n mappings, or none if the user or all together have too many. Nothing is counted then. */
bool budgets_map(struct budgets *budgets, uint32_t budget, uint64_t n);
void budgets_unmap(struct budgets *budgets, uint32_t budget, uint64_t n);
bool budgets_has_room(const struct budgets *budgets, uint32_t budget, uint64_t n);

/* Whether the user may have one more descriptor. */
bool budgets_may_open(const struct budgets *budgets, uint32_t budget);

/* Takes a descriptor. Returns false, and counts that, if the user has too many. */
bool budgets_open(struct budgets *budgets, uint32_t budget);
void budgets_close(struct budgets *budgets, uint32_t budget);

/* A process or file of the user of process @pid did not answer, which cost us some time. */
void budgets_hang(struct budgets *budgets, uint32_t pid);
/* Whether the user's others may be asked; counts if not. */
bool budgets_may_ask(struct budgets *budgets, uint32_t budget);

/* Whether a file may be read: there is CPU time left. */
bool budgets_may_read(const struct budgets *budgets, uint32_t budget);
void budgets_spend(struct budgets *budgets, uint32_t budget, uint64_t cpu_ns);
void budgets_refuse(struct budgets *budgets, uint32_t budget);

/* The refusals of all users together, and the user with most. */
struct budgets_refused {
	uint64_t n;
	uid_t user;
};
struct budgets_refused budgets_refused(const struct budgets *budgets);

#endif
