/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * totals: the results of a recording, added up window by window, so that the windows need not be
 * kept. A single window is the sum of one. No pointers inside: a process that writes a window
 * passes them to the recording one in shared memory.
 */
#ifndef RECORD_TOTALS_H
#define RECORD_TOTALS_H

#include "record/time_table.h"
#include "collect/collect.h"
#include "symbol/symbolize.h"

/* For the samples of one event. */
struct sample_totals {
	uint64_t running, waiting; /* samples; parts of off-CPU periods */
	uint64_t weight;
	uint64_t ends[N_STACK_ENDS];	 /* weight by how far the stack could be unwound */
	uint64_t frames, unnamed_frames; /* weighted by samples */
};

struct totals {
	uint64_t windows; /* recorded ones */
	uint64_t joined;  /* of these, those joined with the previous one */
	uint64_t start_realtime_ns, duration_ns;
	struct sample_totals samples; /* of all events */
	struct sample_totals events[PROFILE_MAX_EVENTS];
	struct time_table times;
	/*
	 * Counts are sums. Things that exist in every window (files, memory, distinct stacks) have
	 * the maximum of any window.
	 */
	struct collect_stats stats;
	struct symbol_stats symbols;
};

/* From one window, before its samples are processed. */
void totals_begin(const struct collect_window *window, struct totals *ret);
/* From one symbolized window: everything. The profile may show another event afterwards. */
void totals_of_window(const struct collect_window *window, const struct symbol_stats *symbols,
		      struct totals *ret);

/* Adds those of a later window. */
void totals_add(struct totals *totals, const struct totals *window);

#endif
