/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rights: what this process may do to the kernel, and of what it may not, why, and what mends it: a
 * capability, a filter of system calls, a namespace, a limit. Nothing is asked before it has
 * failed: only the kernel knows, and security modules have their own word.
 */
#ifndef COLLECT_RIGHTS_H
#define COLLECT_RIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/failure.h"

/* Where the process lives tells who can give it rights, and how that is said there. */
enum rights_place { PLACE_HOST, PLACE_DOCKER, PLACE_KUBERNETES };

struct rights {
	uint64_t capabilities;	/* in effect, a bit for each of linux/capability.h */
	bool is_root;		/* by its user id, in its own user namespace */
	bool in_user_namespace; /* its capabilities mean nothing outside of it */
	bool can_gain_none;	/* no_new_privs: neither sudo nor file capabilities have effect */
	bool bpf_filtered,
		perf_filtered; /* the system call itself is refused, by seccomp or the like */
	bool locked_down;      /* confidentiality: BPF may not read the kernel's memory */
	bool memory_limited;   /* RLIMIT_MEMLOCK is set */
	enum rights_place place;
};

/* Reads them. Calls bpf() and perf_event_open() with arguments that are wrong in any case. */
void rights_read(struct rights *ret);

/* What was tried when the kernel refused. */
enum rights_of { RIGHTS_BPF, RIGHTS_PERF_EVENTS };

/*
 * Whether @error, a negative errno of loading BPF programs or opening perf events, comes of rights
 * that @rights lacks; if so, *failure says which, and what mends it.
 */
bool rights_explain_with(const struct rights *rights, enum rights_of tried, int error,
			 struct failure *failure);
/* The same by the rights of this process. */
bool rights_explain(enum rights_of tried, int error, struct failure *failure);

#define RIGHTS_MEND_SIZE 256
/* What lets files and memory maps of other processes be read, where some were not; or "". */
void rights_mend_files(char *text, size_t size);

/* Whether thread @id exists, though /proc does not show it to us (hidepid). */
bool rights_is_hidden(uint32_t id);

#endif
