/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * load: loads and attaches the BPF programs. It chooses those that the mode needs, the best
 * available hook, and the sizes of the maps.
 */
#ifndef COLLECT_LOAD_H
#define COLLECT_LOAD_H

#include "collect/collect.h"
#include "collect/deferred.h"
#include "bpf/wire.h"

struct profiler; /* the skeleton */
struct bpf_link;

struct loaded {
	struct profiler *skel;
	struct bpf_link *exec_link; /* or NULL */
	struct deferred leaving, at_end;
	const char *hook;	    /* off-CPU; "" on-CPU */
	/* Time taken by interrupts, and the hypervisor, is not charged to the thread. */
	bool takes_interrupts, takes_steal;
};

/*
 * Loads and attaches everything except the sampling events. Don't move @ret. Errors: see
 * collect_open().
 */
int load_profiler(const struct collect_options *options, struct loaded *ret,
		  struct failure *failure);

/* Whether polling (collect/polling.c) can take the place of the program at each switch. */
bool load_may_poll(const struct loaded *loaded);

/* Takes that program away, and puts it back. Errors: libbpf's. */
void load_detach_hook(struct loaded *loaded);
int load_attach_hook(struct loaded *loaded);

/* Waits for the last programs, which are needed when a window closes. */
int load_end(struct loaded *loaded, const struct collect_options *options, struct failure *failure);
void loaded_done(struct loaded *loaded);

/* Returns when every program that is running now has ended, or after 0.1 s if one is delayed. */
void load_wait_for_programs(const struct profiler *skel);

#endif
