/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * summary: what a recording came to: on stderr for people, on stdout as JSON for programs.
 */
#ifndef RECORD_SUMMARY_H
#define RECORD_SUMMARY_H

#include "record/command.h"
#include "record/options.h"
#include "record/snapshots.h"
#include "record/unnamed.h"
#include "record/unseen.h"

struct summary {
	const struct record_options *options;
	const char *source;			     /* the event; off-CPU, the hook */
	const char *hook;			     /* "" on-CPU */
	const char *event_paths[PROFILE_MAX_EVENTS]; /* of probed files; or NULL */
	struct totals totals;
	const struct reader *reader; /* that was used */
	struct command command;
	const struct window_files *files;
	const char *files_fix; /* what lets it read others' files; "" if it has the right to */
	const struct unseen *unseen;
	const struct unnamed *unnamed;
	const struct stacks *top;	     /* what ran and waited longest; NULL with --every */
	const struct snapshots_counts *sets; /* of --every; or NULL */
	double startup_seconds;		     /* start of the program → sampling */
	double start_delay_seconds;	     /* in which it waited for a CPU */
	bool came_too_late;		     /* the targets had ended when it was ready */
	double write_seconds;		     /* end of the window → files written */
};

/* How the command ended, or that it still runs; nothing without one. */
void summary_print_command(const struct command *command, FILE *stream);
void summary_print(const struct summary *summary, FILE *stream);
void summary_print_json(const struct summary *summary, FILE *stream);

#endif
