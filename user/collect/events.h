/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * events: what a recording samples on the CPU: the events of -e, or time by the best available
 * clock. The sampler opens counters on each CPU; tracepoints and probes are opened once, for all.
 */
#ifndef COLLECT_EVENTS_H
#define COLLECT_EVENTS_H

#include "collect/collect.h"
#include "collect/event_find.h"
#include "collect/sampler.h"

struct profiler;
struct bf_config;

struct events {
	struct event *items; /* in the order of -e */
	size_t n;
	struct sampler_event sampled[SAMPLER_MAX_EVENTS]; /* those opened by the sampler */
	size_t n_sampled;
	struct bpf_link **links; /* the others' */
	size_t n_links, links_capacity;
	char *source; /* what is sampled, in words */
};

/* Finds the events. Errors: see event_find(). Call events_done() in any case. */
int events_find(struct events *events, const struct collect_options *options,
		struct failure *failure);
void events_done(struct events *events);

/* Configures the programs, before they are loaded. */
void events_configure(const struct collect_options *options, struct bf_config *config);
void events_choose_programs(struct profiler *skel, const struct collect_options *options);

/* Attaches tracepoints and probes, and prepares the list for the sampler. */
int events_attach(struct events *events, const struct collect_options *options,
		  struct profiler *skel, struct failure *failure);

/* Describes the samples to @profile. Errors: -ENOMEM. */
int events_describe(const struct events *events, struct profile *profile);

/* Events lost because a program of ours was running. */
uint64_t events_missed(const struct profiler *skel);

#endif
