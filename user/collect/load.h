/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * load: gets the BPF programs into the kernel and attached: chooses those that the mode needs, the
 * best hook that this kernel lets us have, and the sizes of the maps.
 */
#ifndef COLLECT_LOAD_H
#define COLLECT_LOAD_H

#include "collect/collect.h"
#include "bpf/wire.h"

struct profiler; /* the skeleton */

/*
 * Loads and attaches everything but the sampling events. *ret_hook names the off-CPU hook (""
 * on-CPU). profiler__destroy() undoes it. Errors: see collect_open().
 */
int load_profiler(const struct collect_options *options, struct profiler **ret,
		  const char **ret_hook, struct failure *failure);

/* Returns when every program that runs now has ended. */
void load_wait_for_programs(void);

#endif
