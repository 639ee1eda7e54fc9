/* SPDX-License-Identifier: GPL-2.0-or-later */
/* options: the command line of a recording. */
#ifndef RECORD_OPTIONS_H
#define RECORD_OPTIONS_H

#include <stdbool.h>
#include <stdio.h>

#include "base/failure.h"
#include "base/nearest.h"
#include "cli/outputs.h"
#include "cli/view_options.h"
#include "collect/collect.h"
#include "core/source.h"
#include "store/set_rotation.h"

struct record_options {
	struct collect_options collect;
	unsigned int modes;			/* requested, a bit each */
	const struct option_row *offcpu_option; /* the first option for off-CPU time, or NULL */
	struct cpu_list cpus;
	uint32_t *pids, *tids;				 /* owned; collect points to them */
	struct event_request events[PROFILE_MAX_EVENTS]; /* the same */
	bool has_frequency;			/* -F was given */
	bool all;
	bool idle, no_idle;	 /* draw waits for work, or not; neither: depends on the target */
	char **command;		 /* NULL-terminated, or NULL */
	const char *user;	 /* the user it runs as, or NULL: the caller of sudo … */
	bool no_sandbox;	 /* read others' files in this process */
	bool as_root;		 /* … unless this */
	bool exit_status;	 /* exit with its status */
	const char *environment; /* a file with its variables, or NULL */
	uint64_t duration_ns;	 /* 0: until stopped */
	struct set_limits keep;	 /* of the sets of --every */

	struct outputs outputs;
	struct symbolize_options symbolize;
	struct view_options view;
	bool quiet, json, help;
	size_t top; /* lines that say where the time went */
	int verbose;
	double max_loss; /* percent */
};

/* Offers the names of all commands, for a mistyped one. */
typedef void (*offer_commands_fn)(struct nearest *nearest);

/*
 * Returns 0, or -EINVAL with *failure naming the option, or 1 if there is nothing left to do (help
 * was requested). @offer_commands may be NULL.
 */
int options_parse(int argc, char **argv, offer_commands_fn offer_commands,
		  struct record_options *ret, struct failure *failure);
void options_done(struct record_options *options);

#endif
