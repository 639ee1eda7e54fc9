/* SPDX-License-Identifier: GPL-2.0-or-later */
/* event_find: resolves the events of -e on this machine, before anything is loaded. */
#ifndef COLLECT_EVENT_FIND_H
#define COLLECT_EVENT_FIND_H

#include "collect/counters.h"
#include "collect/event.h"
#include "collect/probe_file.h"
#include "collect/probe_job.h"

struct event {
	const struct event_request *request;
	struct counter counter; /* of a counter; or for opening a tracepoint or probe */
	struct probe_file file; /* the probed file; or .path NULL */
	struct event_places *places;
	/* How the kernel samples: at a rate in Hz, or else … */
	unsigned int frequency;
	uint64_t sample_period; /* … one sample per this many events; */
	uint64_t bpf_period;	/* and which of these to take: see BF_PERIOD_NONE */
	bool is_counted;	/* samples weigh events */
};

/*
 * @frequency: for events sampled by frequency. @pid: the process whose files are meant, or 0.
 * @reader: reads files to probe; NULL: we do. Errors: -EINVAL unknown, with the nearest names;
 * -ENODEV, -EPERM, … for what this machine lacks; *failure gives the reason. After success, call
 * event_done().
 */
int event_find(const struct event_request *request, unsigned int frequency, uint32_t pid,
	       struct reader *reader, struct event *ret, struct failure *failure);
void event_done(struct event *event);

/* These need only the request. The number of events per sample; 0: by frequency. */
uint64_t event_period(const struct event_request *request);
/* Whether its samples weigh events; otherwise they measure time. */
bool event_is_counted(const struct event_request *request);
/* How BPF counts it: BF_PERIOD_… or a period. */
uint64_t event_bpf_period(const struct event_request *request);

/* Explains @error from opening it in @failure; returns the error to go on with. */
int event_refuse(const struct event_request *request, int error, struct failure *failure);

/* Why this machine has no hardware counters; NULL: it has a PMU. */
const char *hardware_missing(void);

#endif
