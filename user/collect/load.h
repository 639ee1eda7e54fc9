/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * load: gets the BPF programs into the kernel and attached: chooses those that the mode needs, the
 * best hook that this kernel lets us have, and the sizes of the maps.
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
	/* What interrupts, and the hypervisor, take of a thread's time is not charged to it. */
	bool takes_interrupts, takes_steal;
};

/*
 * Loads and attaches everything but the sampling events. Keep @ret where it is. Errors: see
 * collect_open().
 */
int load_profiler(const struct collect_options *options, struct loaded *ret,
		  struct failure *failure);

/* Waits for the last programs, which are needed when a window closes. */
int load_end(struct loaded *loaded, const struct collect_options *options, struct failure *failure);
void loaded_done(struct loaded *loaded);

/* Returns when every program that runs now has ended; or after 0.1 s, if one is held up so long. */
void load_wait_for_programs(const struct profiler *skel);

#endif
