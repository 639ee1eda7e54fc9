/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * events: what a recording samples on the CPU: what -e names, or time by the best clock there is.
 * Counters are opened on each CPU by the sampler; tracepoints and probes once, for all.
 */
#ifndef COLLECT_EVENTS_H
#define COLLECT_EVENTS_H

#include "collect/collect.h"
#include "collect/event_find.h"
#include "collect/sampler.h"

struct profiler;
struct bf_config;

struct events {
	struct event *items; /* as -e gave them */
	size_t n;
	struct sampler_event sampled[SAMPLER_MAX_EVENTS]; /* those that the sampler opens */
	size_t n_sampled;
	struct bpf_link **links; /* the others' */
	size_t n_links, links_capacity;
	char *source; /* what is sampled, in words */
};

/* Finds them. Errors: see event_find(). events_done() is due either way. */
int events_find(struct events *events, const struct collect_options *options,
		struct failure *failure);
void events_done(struct events *events);

/* For the programs that are about to be loaded. */
void events_configure(const struct collect_options *options, struct bf_config *config);
void events_choose_programs(struct profiler *skel, const struct collect_options *options);

/* Attaches tracepoints and probes, and says what the sampler is to open. */
int events_attach(struct events *events, const struct collect_options *options,
		  struct profiler *skel, struct failure *failure);

/* Tells @profile what its samples are. Errors: -ENOMEM. */
int events_describe(const struct events *events, struct profile *profile);

/* Events lost because they came while a program of ours was running. */
uint64_t events_missed(const struct profiler *skel);

#endif
