/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * event_list: lists the events of this machine and, for kinds that it lacks, the reason. Needs no
 * rights for what anyone can read.
 */
#ifndef COLLECT_EVENT_LIST_H
#define COLLECT_EVENT_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/failure.h"

enum listed_kind {
	LISTED_SOFTWARE,
	LISTED_HARDWARE,
	LISTED_CACHE,
	LISTED_PMU,
	LISTED_TRACEPOINT,
	LISTED_UPROBE,
	LISTED_KPROBE,
	LISTED_USDT,
	N_LISTED_KINDS,
};

/* "software", "hardware", … */
const char *listed_kind_name(enum listed_kind kind);

struct listed_event {
	enum listed_kind kind;
	char *name;	   /* as -e takes it; owned */
	const char *alias; /* another name, or NULL */
	const char *help;  /* what it counts, or "" */
	bool is_form;	   /* capitals are to be filled in */
};

struct event_list {
	struct listed_event *items;
	size_t n, capacity;
	struct failure missing[N_LISTED_KINDS]; /* why a kind has none, and the fix */
};

/* Tries counters by opening them. Errors: -ENOMEM. Call event_list_done() in any case. */
int event_list_machine(struct event_list *list);

/*
 * The USDT probes of a file, or of all files that a process has mapped, read by @reader. Errors:
 * -errno, explained in *failure.
 */
struct reader;
int event_list_file(struct event_list *list, const char *name, struct reader *reader,
		    struct failure *failure);
int event_list_process(struct event_list *list, uint32_t pid, struct reader *reader,
		       struct failure *failure);

/* By kind, then by name. */
void event_list_sort(struct event_list *list);
void event_list_done(struct event_list *list);

#endif
