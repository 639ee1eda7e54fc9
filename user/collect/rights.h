/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rights: what this process may do to the kernel and, for what it may not, the reason and the fix:
 * a capability, a filter of system calls, a namespace, a limit. It is used only after a failure:
 * only the kernel knows, and security modules decide for themselves.
 */
#ifndef COLLECT_RIGHTS_H
#define COLLECT_RIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/failure.h"

/* The process's environment decides who can give it rights, and how that is written there. */
enum rights_place { PLACE_HOST, PLACE_DOCKER, PLACE_KUBERNETES };

struct rights {
	uint64_t capabilities;	/* in effect, a bit for each of linux/capability.h */
	bool is_root;		/* by its user id, in its own user namespace */
	bool in_user_namespace; /* its capabilities don't apply outside of it */
	bool can_gain_none;	/* no_new_privs: neither sudo nor file capabilities have effect */
	bool bpf_filtered, perf_filtered; /* the call itself is refused, by seccomp or the like */
	bool perf_restricted;		  /* kernel.perf_event_paranoid is 3 or more */
	bool locked_down;    /* confidentiality: BPF may not read the kernel's memory */
	bool memory_limited; /* RLIMIT_MEMLOCK is set */
	enum rights_place place;
};

/* Reads them. Calls bpf() and perf_event_open() with invalid arguments. */
void rights_read(struct rights *ret);

/* The attempt that the kernel refused. */
enum rights_of { RIGHTS_BPF, RIGHTS_PERF_EVENTS };

/*
 * Whether @error, a negative errno of loading BPF programs or opening perf events, comes from
 * missing @rights; if so, *failure names them and the fix.
 */
bool rights_explain_with(const struct rights *rights, enum rights_of tried, int error,
			 struct failure *failure);
/* The same for the rights of this process. */
bool rights_explain(enum rights_of tried, int error, struct failure *failure);

/* Whether @error is -EMFILE: too few files may be open. If so, the fix is added to *failure. */
bool rights_explain_files(int error, struct failure *failure);
/* Whether @error may be for a limit of memory; the same. */
bool rights_explain_memory(int error, struct failure *failure);

#define RIGHTS_FIX_SIZE 256
/*
 * Writes how to gain access to files and memory maps of other processes, if some were unreadable;
 * or "".
 */
void rights_fix_for_files(char *text, size_t size);

/* Whether thread @id exists although /proc hides it from us (hidepid). */
bool rights_is_hidden(uint32_t id);

#endif
