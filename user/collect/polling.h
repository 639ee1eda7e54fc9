/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * polling: looks at all threads now and then, in place of a program at each switch
 * (bpf/polling.bpf.h). Sums stay exact; stacks of waits are rough, and their cost does not depend
 * on how often threads switch.
 */
#ifndef COLLECT_POLLING_H
#define COLLECT_POLLING_H

#include <stdbool.h>
#include <stdint.h>

struct collector;

struct polling {
	bool is_on;
	uint64_t next_ns; /* CLOCK_MONOTONIC: the next look */
};

/* Begins, or ends. Errors: as of collect_poll(). */
int polling_set(struct collector *collector, bool on);

/* Looks, if it is time to. Errors: of reading from the kernel. */
int polling_step(struct collector *collector);

#endif
