/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * event: parses the argument of -e as text only; event_find.h finds out whether this machine has
 * it.
 *
 *	NAME[:MODIFIERS][:PERIOD] of a counter: cycles:u:1000000
 *	CATEGORY:NAME[:PERIOD]		a tracepoint, with `tracepoint:` before it or not
 *	uprobe:PATH:FUNCTION[+OFFSET][:PERIOD], uretprobe, usdt:PATH:[PROVIDER:]NAME,
 *	kprobe:FUNCTION[+OFFSET][:PERIOD], kretprobe
 *
 * A period is a decimal number, which no function's name is. Modifiers are perf's u and k.
 */
#ifndef COLLECT_EVENT_H
#define COLLECT_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/failure.h"

enum event_kind {
	EVENT_COUNTER,	  /* the kernel's software counters, the processor's, those of a PMU */
	EVENT_TRACEPOINT, /* @group: its category */
	EVENT_UPROBE,	  /* @path, @target: a function, or an offset in the file */
	EVENT_URETPROBE,
	EVENT_USDT, /* @path, @group: the provider or NULL, @target */
	EVENT_KPROBE,
	EVENT_KRETPROBE,
	N_EVENT_KINDS,
};

struct event_request {
	enum event_kind kind;
	char *name; /* as given, without its period */
	char *path; /* of the probed file */
	char *group;
	char *target; /* the counter's, tracepoint's, function's or probe's own name */
	uint64_t offset;
	uint64_t period; /* 0: not given */
	bool user_only, kernel_only;
};

/* Errors: -EINVAL with *failure naming it, -ENOMEM. After success, call event_request_done(). */
int event_parse(const char *text, struct event_request *ret, struct failure *failure);
void event_request_done(struct event_request *request);

/* "counter", "tracepoint", "uprobe", … */
const char *event_kind_name(enum event_kind kind);
/*
 * Whether the kernel counts the events that it drops because another BPF program runs on their CPU.
 * Never those of counters (bpf_overflow_handler()), others since Linux 6.7.
 */
bool event_counts_misses(enum event_kind kind);

#endif
