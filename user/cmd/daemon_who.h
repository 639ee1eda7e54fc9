/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * daemon_who: who the processes of a window are: their executables and cgroups, read while they
 * live; one that lived too short for that has its parent's cgroup.
 */
#ifndef CMD_DAEMON_WHO_H
#define CMD_DAEMON_WHO_H

#include "collect/collect.h"
#include "store/ledger.h"

struct who_entry {
	uint32_t pid;
	uint64_t start;
	uint32_t exe, cgroup; /* string ids */
	uint32_t window;      /* the last one that it was in … */
	uint32_t first;	      /* … and the first */
	bool has_cgroup;      /* its own */
};

struct who {
	struct strings strings;
	struct who_entry *entries;
	size_t n, capacity;
	struct table index;  /* by pid and start */
	struct table by_pid; /* the one that came last */
	uint32_t window;
	unsigned int n_read; /* files, since the last step */
	int error;	     /* -ENOMEM: some are not known */
};

/* Errors: -ENOMEM. */
int who_init(struct who *who);
void who_done(struct who *who);

/* As collect_options.on_process: @context is a struct who. */
void who_note(void *context, const struct collect_process *process);
/* After each step of the collector. */
void who_step(struct who *who);

/* Those of the window that is over, sorted by pid; malloc'ed. Errors: -ENOMEM. */
int who_list(const struct who *who, struct ledger_who **ret, size_t *ret_n);
/* The next window begins: those that were in none for a while are forgotten. Errors: -ENOMEM. */
int who_next(struct who *who);

#endif
