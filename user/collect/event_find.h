/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * event_find: what the events that -e names are on this machine, before anything is loaded.
 */
#ifndef COLLECT_EVENT_FIND_H
#define COLLECT_EVENT_FIND_H

#include "collect/counters.h"
#include "collect/event.h"
#include "collect/probe_file.h"
#include "collect/probe_job.h"

struct event {
	const struct event_request *request;
	struct counter counter; /* of a counter, or what tracepoints and probes are opened as */
	struct probe_file file; /* that is probed; or .path NULL */
	struct event_places *places;
	/* How the kernel samples: a rate in Hz, else 0 and … */
	unsigned int frequency;
	uint64_t sample_period; /* … one sample in so many events; */
	uint64_t bpf_period;	/* and which of these are taken: see BF_PERIOD_NONE */
	bool is_counted;	/* samples weigh events */
};

/*
 * @frequency: of what is sampled by frequency. @pid: a process whose files are meant, or 0.
 * @reader: reads files that get a probe; NULL: they are read here.
 * Errors: -EINVAL unknown, with the nearest names; -ENODEV, -EPERM, … for what this machine lacks;
 * *failure says why. event_done() is due after success. */
int event_find(const struct event_request *request, unsigned int frequency, uint32_t pid,
	       struct reader *reader, struct event *ret, struct failure *failure);
void event_done(struct event *event);

/* What its name alone tells. How many events a sample is taken of; 0: by frequency. */
uint64_t event_period(const struct event_request *request);
/* Whether its samples weigh events; else they stand for time. */
bool event_is_counted(const struct event_request *request);
/* How BPF counts it: BF_PERIOD_… or a period. */
uint64_t event_bpf_period(const struct event_request *request);

/* Why @error came of opening it; fills in @failure and returns the error to go on with. */
int event_refuse(const struct event_request *request, int error, struct failure *failure);

/* Why this machine has no hardware counters; NULL: it has a PMU. */
const char *hardware_missing(void);

#endif
