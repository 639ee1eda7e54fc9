/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * summary: what a recording came to: on stderr for people, on stdout as JSON for programs.
 */
#ifndef CMD_SUMMARY_H
#define CMD_SUMMARY_H

#include "cmd/command.h"
#include "cmd/options.h"
#include "symbol/symbolize.h"

struct summary {
	const struct record_options *options;
	const struct profile *profile;
	const char *source; /* the event; off-CPU, the hook */
	const char *hook;   /* "" on-CPU */
	struct collect_stats stats;
	struct symbol_stats symbols;
	struct command command;
	const struct output_files *files;
	double startup_seconds; /* start of the program → sampling */
	double write_seconds;	/* end of the window → files written */
};

/* The share of all samples that is lost, in percent: what --max-loss is held against. */
double summary_loss_percent(const struct summary *summary);

void summary_print(const struct summary *summary, FILE *stream);
void summary_print_json(const struct summary *summary, FILE *stream);

#endif
